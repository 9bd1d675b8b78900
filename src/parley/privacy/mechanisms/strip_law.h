// The decreasing weights f that strip_sampler.h draws from, known to any precision. Included by .cpp files only.
//   kLinear     f(x) = exp(-rate x)
//   kSquare     f(x) = exp(-rate x^2)
//   kGeometric  f(x) = base^x, x whole
#pragma once
#include "parley/privacy/mechanisms/exact_arithmetic.h"

namespace parley::privacy {

struct StripLaw {
  enum class Kind { kLinear, kSquare, kGeometric };
  Kind kind;
  Fraction parameter;  // the rate > 0, or the base in (0, 1)

  // f(to) / f(from), 0 <= from <= to.
  [[nodiscard]] Enclosure ratio(const Fraction& from, const Fraction& to, unsigned bits) const;
  // (f(2w) / f(w)) / (f(w) / f(0)): the ratio of neighbouring strips shrinks by this factor from strip to strip.
  [[nodiscard]] Enclosure bend(const Fraction& width, unsigned bits) const;
};

}  // namespace parley::privacy
