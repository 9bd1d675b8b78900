// Running a private mechanism a random number of times and keeping the best outcome: what hyper-parameter tuning costs.
// Papernot, Steinke, "Hyperparameter Tuning with Renyi Differential Privacy", ICLR 2022, Theorem 2 with the logarithmic
// distribution (eta = 0):
//
//   P(K = k) = (1-g)^k / (k ln(1/g)),  k = 1, 2, ...         E K = (1/g - 1) / ln(1/g)
//   D_a(tuned) <= D_a(one) + min over b >= 1 of [ (1 - 1/b) D_b(one) + ln(1/g) / b ] + ln(E K) / (a - 1)
//
// One run releases its setting, its model and its score; only those of the run with the best score are kept, and
// neither the others nor K may be seen, not even by how long it took. Proof note: repeat_and_select.md.
#pragma once
#include <cstdint>
#include <span>

#include "parley/core/result.h"
#include "parley/privacy/accounting/event.h"
#include "parley/privacy/randomness/generator.h"
#include "parley/privacy/units.h"

namespace parley::privacy {

class RandomRepetitions {
 public:
  // g = 1/m for the smallest whole m with E K >= expected; expected >= 1.
  static Result<RandomRepetitions> make(double expected);

  [[nodiscard]] std::int64_t draw(Bits& bits) const;  // K, exactly
  [[nodiscard]] double expected() const;              // E K

  // The smallest epsilon proved for the best of K runs at delta. A run costs at most what the dearest of `plans` costs,
  // order by order: which of them it was is released with it, and was chosen without looking at the data.
  [[nodiscard]] Result<double> epsilon_at(std::span<const Plan> plans, Delta delta) const;

 private:
  explicit RandomRepetitions(std::uint64_t m) : m_(m) {}
  std::uint64_t m_;  // 1/g
};

}  // namespace parley::privacy
