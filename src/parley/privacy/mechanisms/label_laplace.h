// Laplace noise on one-hot labels, the baseline of label DP (surveyed by Ghazi et al. 2021). One label changed moves
// two entries by one, an l1-sensitivity of 2, so noise on every entry is epsilon-DP for the label if it has
//   scale 2/epsilon,  standard deviation 2 sqrt(2)/epsilon
// The noise is discrete, on a grain of which 1 is a multiple.
// Proof: label_laplace.md.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "parley/core/result.h"
#include "parley/privacy/accounting/event.h"
#include "parley/privacy/mechanisms/discrete_laplace.h"
#include "parley/privacy/mechanisms/grain.h"
#include "parley/privacy/randomness/generator.h"

namespace parley::privacy {

class LabelLaplace {
 public:
  // The grain, when given, must be at most 1; it is 2^-20 of the scale, and at most 1, when absent.
  static Result<LabelLaplace> make(double epsilon, std::size_t classes, std::optional<Grain> grain = {});

  // Row i of the result, `classes` wide: one-hot of labels[i] plus noise, in steps of the grain.
  Result<std::vector<std::int64_t>> release(std::span<const std::size_t> labels, Bits& bits) const;
  // The largest entry of each released row: a label again, at no further cost. Ties go to the lower class.
  [[nodiscard]] std::vector<std::size_t> most_likely(std::span<const std::int64_t> released) const;

  [[nodiscard]] Grain grain() const { return noise_.grain(); }
  [[nodiscard]] double scale() const { return noise_.grain().value() * noise_.scale_in_grains(); }
  // Of one label. Records are different people, so n labels together cost the same.
  [[nodiscard]] DiscreteLaplace event() const;

 private:
  LabelLaplace(std::size_t classes, DiscreteLaplaceNoise noise) : classes_(classes), noise_(std::move(noise)) {}
  std::size_t classes_;
  DiscreteLaplaceNoise noise_;
};

}  // namespace parley::privacy
