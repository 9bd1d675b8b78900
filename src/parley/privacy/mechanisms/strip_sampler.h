// Exact draws from a decreasing law on the half line, whole numbers or reals, by strips of equal width M = 2^m:
//
//   strip j:     P(j) proportional to f(jM)                      one 64-bit word into an alias table
//   position:    x = jM + lo, lo uniform on [0, M)               one word
//   acceptance:  with probability f(x) / f(jM), else start anew  one word
//
// so P(x) is proportional to f(jM) * f(x)/f(jM) = f(x). Nothing is approximated: where the 64-bit arithmetic cannot
// decide, more digits are drawn and the comparison is repeated in longer integers (see strip_sampler.md).
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "parley/privacy/mechanisms/fixed_exp2.h"
#include "parley/privacy/randomness/generator.h"

namespace parley::privacy {

struct StripLaw;
struct StripWeights;

class StripSampler {
 public:
  // What a draw is.
  enum class Form {
    kMagnitude,   // x itself, whole
    kSigned,      // a random sign times whole x, the two zeros counting as one
    kRoundedReal  // a random sign times real x, rounded to the nearest whole number
  };

  struct Shape {
    Form form;
    int width_exponent = 0;    // m; M = 1 for whole numbers needs neither position nor acceptance
    unsigned table_bits = 64;  // with fewer, more draws are decided exactly; for tests of that
  };

  StripSampler(std::shared_ptr<const StripLaw> law, Shape shape);

  std::int64_t draw(Bits& bits) const;
  void draw(Bits& bits, std::span<std::int64_t> out) const;

 private:
  struct Column {
    std::uint64_t threshold;
    std::uint64_t alias;
  };

  template <Form kForm, bool kSquare>
  bool attempt(const std::uint64_t* words, Bits& bits, std::int64_t& out) const;
  template <Form kForm>
  std::int64_t draw_strip(Bits& bits) const;
  template <Form kForm, bool kSquare>
  void draw_blocks(Bits& bits, std::span<std::int64_t> out) const;
  template <Form kForm>
  void draw_all(Bits& bits, std::span<std::int64_t> out) const;

  [[nodiscard]] bool halves_zero() const;
  void build_table();
  std::uint64_t strip_exactly(Bits& bits) const;
  bool accept_exactly(std::uint64_t strip, std::uint64_t position, std::uint64_t chance, Bits& bits) const;

  std::shared_ptr<const StripLaw> law_;
  Shape shape_;
  std::shared_ptr<const StripWeights> weights_;
  bool square_ = false;
  std::vector<Column> columns_;
  std::vector<std::uint64_t> masses_;      // of the tabulated strips, out of 2^64
  std::vector<std::uint64_t> sure_below_;  // accepting is right for chances below, in units of 2^-63
  unsigned column_shift_ = 63;
  std::uint64_t kappa_ = 0;  // floor(2^64 log2(f(0)/f(M)))
  const FixedExp2* exp2_;
};

}  // namespace parley::privacy
