// What the selections share: scores become whole numbers of grains, and a gap of g grains below the best (or any
// reference) gets the weight exp(-eta g), held between two integers that are close and proved.
//
//   general scores     eta = epsilon / (2 D)     D = ceil(sensitivity / grain), rounding included
//   monotone scores    eta = epsilon / D
//
// Bounds and proofs: exponential.md.
#pragma once
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "parley/core/result.h"
#include "parley/privacy/mechanisms/fixed_exp2.h"
#include "parley/privacy/mechanisms/grain.h"
#include "parley/privacy/randomness/generator.h"

namespace parley::privacy {

enum class Scores { kGeneral, kMonotone };  // monotone: one more record moves all of them the same way

struct SelectionSettings {
  double epsilon = 0;
  double sensitivity = 0;  // of every single score
  Scores scores = Scores::kGeneral;
  std::optional<Grain> grain{};  // 2^-20 of the sensitivity when absent
};

// Scores on the grid, rounded down.
class ScoreGrid {
 public:
  static Result<ScoreGrid> make(const SelectionSettings& settings);

  // The grid value of a score that check() has let through.
  [[nodiscard]] std::int64_t steps(double score) const {
    // floor() by hand: without SSE4.1 it is a call, and this loop is the hot one.
    const double grains = score * per_grain_;
    const auto towards_zero = static_cast<std::int64_t>(grains);
    return towards_zero - (grains < static_cast<double>(towards_zero) ? 1 : 0);
  }
  [[nodiscard]] std::uint64_t gap(std::int64_t reference, double score) const {
    return static_cast<std::uint64_t>(reference) - static_cast<std::uint64_t>(steps(score));
  }
  [[nodiscard]] bool holds(double score) const { return std::abs(score) < limit_; }  // not NaN either
  // Refuses an empty list and scores that are not finite or leave the grid; gives the largest, in steps.
  [[nodiscard]] Result<std::int64_t> check(std::span<const double> scores) const;

  [[nodiscard]] std::int64_t sensitivity() const { return sensitivity_; }  // in grains, rounding included
  [[nodiscard]] Grain grain() const { return grain_; }

 private:
  ScoreGrid(Grain grain, std::int64_t sensitivity);
  Grain grain_;
  double per_grain_;
  double limit_;
  std::int64_t sensitivity_;
};

class ExactRate;  // eta, as a fraction

class ScoreWeights {
 public:
  using Wide = unsigned __int128;
  static constexpr std::uint64_t kOne = 1ull << FixedExp2::kResultBits;
  static constexpr std::uint64_t kAbove = 32;  // at least this much is added to make a weight an upper bound
  static constexpr std::uint64_t kBand = 128;  // upper bound - kBand < 2^63 exp(-eta gap) <= upper bound

  static Result<ScoreWeights> make(const SelectionSettings& settings, const ScoreGrid& grid);
  // exp(-rate * gap) for a rate that is given as it is.
  static Result<ScoreWeights> with_rate(double rate);

  [[nodiscard]] std::uint64_t upper(std::uint64_t gap) const {
    const Wide y = (Wide{gap} * mantissa_) >> shift_;
    return ((y >> 64) != 0 ? 0 : (*exp2_)(static_cast<std::uint64_t>(y))) + kAbove;
  }

  // Given a place v that is uniform on {0, ..., upper(gap) - 1}, decides an event of probability
  //   2^63 exp(-eta gap) / upper(gap)
  bool accept(std::uint64_t gap, std::uint64_t upper_weight, std::uint64_t place, Bits& bits) const {
    return place + kBand < upper_weight || accept_exactly(gap, place, bits);
  }
  // True with probability exp(-eta gap).
  bool flip(std::uint64_t gap, Bits& bits) const {
    const std::uint64_t chance = bits.next_u64() >> 1;
    const std::uint64_t weight = upper(gap);
    return chance < weight && accept(gap, weight, chance, bits);
  }

  [[nodiscard]] double rate() const { return rate_; }  // eta to double precision, for choosing what needs no proof

 private:
  ScoreWeights(std::shared_ptr<const ExactRate> exact, double rate, std::uint64_t mantissa, unsigned shift);
  static Result<ScoreWeights> of(ExactRate rate);
  bool accept_exactly(std::uint64_t gap, std::uint64_t place, Bits& bits) const;

  std::shared_ptr<const ExactRate> exact_;
  double rate_;
  std::uint64_t mantissa_;  // eta log2(e), rounded down, = mantissa * 2^(-shift - 58)
  unsigned shift_;
  const FixedExp2* exp2_;
};

// Uniform on {0, ..., bound - 1}.
unsigned __int128 below_wide(unsigned __int128 bound, Bits& bits);

}  // namespace parley::privacy
