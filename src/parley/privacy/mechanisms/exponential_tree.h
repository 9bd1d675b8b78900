// The exponential mechanism for many steps over scores of which few change between steps.
//
// Weights are integers (score_weights.h) under a reference score; sums of groups of 256 weights and, above
// them, of 16 sums each are kept. A changed score changes one weight and the sums above it; a draw walks down
// from the root. Integer sums do not drift, so nothing is ever added up again to repair them.
//
// The reference follows the best score both ways: up, because weights end at 2^63, and down, because
// otherwise all weights sink into their error band. Moving it recomputes all weights; every draw is exact
// under every reference. Which steps recompute depends on the scores: their timing must not reach a peer.
// Proof: exponential_tree.md.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "parley/core/result.h"
#include "parley/privacy/accounting/event.h"
#include "parley/privacy/mechanisms/exponential.h"
#include "parley/privacy/mechanisms/score_weights.h"
#include "parley/privacy/randomness/generator.h"

namespace parley::privacy {

class ExponentialTree {
 public:
  // Draws follow the law of `selection` over the current scores.
  static Result<ExponentialTree> make(const ExponentialSelection& selection, std::span<const double> scores);

  Result<void> update(std::size_t index, double score);
  void remove(std::size_t index);  // never selected again, until it is updated

  // One draw, which costs one event(). Fails when everything was removed.
  Result<std::size_t> select(Bits& bits);

  [[nodiscard]] Exponential event() const { return event_; }
  [[nodiscard]] std::size_t size() const { return steps_.size(); }
  [[nodiscard]] std::size_t rebuilds() const { return rebuilds_; }

 private:
  using Wide = ScoreWeights::Wide;

  explicit ExponentialTree(const ExponentialSelection& selection);
  [[nodiscard]] std::uint64_t gap(std::size_t index) const;
  [[nodiscard]] Wide total() const { return levels_.back().front(); }
  void set_weight(std::size_t index, std::uint64_t weight);
  void rebuild();

  Exponential event_;
  ScoreGrid grid_;
  ScoreWeights weights_;
  std::uint64_t headroom_;  // how far above the best score a new reference is put
  std::int64_t reference_ = 0;
  bool above_reference_ = false;
  std::size_t present_ = 0;
  std::size_t rebuilds_ = 0;
  std::vector<std::int64_t> steps_;
  std::vector<std::uint64_t> leaves_;      // 0 for what was removed
  std::vector<std::vector<Wide>> levels_;  // the last one holds the total alone
};

}  // namespace parley::privacy
