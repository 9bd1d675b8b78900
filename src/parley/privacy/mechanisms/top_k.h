// The k best candidates, privately. Two ways to the same law (Durfee, Rogers 2019):
//
//   peeling    k exponential mechanisms, each over what the earlier ones left
//   one shot   Gumbel(1/eta) noise on every score once, the k largest in order
//
// One shot is drawn without any Gumbel variable: the weights are computed once and k are taken without replacement,
// which is that law exactly. Either way costs k adaptive exponential mechanisms of epsilon each, order included.
// Proof: top_k.md.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "parley/core/result.h"
#include "parley/privacy/accounting/event.h"
#include "parley/privacy/mechanisms/exponential.h"
#include "parley/privacy/randomness/generator.h"

namespace parley::privacy {

class TopK {
 public:
  // settings.epsilon is that of each of the k picks.
  static Result<TopK> make(const SelectionSettings& settings, std::size_t k);

  // Indices from the first pick to the last. Needs at least k scores.
  Result<std::vector<std::size_t>> one_shot(std::span<const double> scores, Bits& bits) const;
  Result<std::vector<std::size_t>> peel(std::span<const double> scores, Bits& bits) const;

  [[nodiscard]] Event event() const { return {pick_.event(), static_cast<std::int64_t>(k_)}; }

 private:
  TopK(ExponentialSelection pick, std::size_t k) : pick_(std::move(pick)), k_(k) {}
  [[nodiscard]] Result<void> check(std::span<const double> scores) const;
  ExponentialSelection pick_;
  std::size_t k_;
};

}  // namespace parley::privacy
