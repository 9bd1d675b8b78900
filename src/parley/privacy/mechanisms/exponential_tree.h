// The exponential mechanism for many steps over scores of which few change between steps.
//
// Weights are integers (score_weights.h) under a reference score; sums of groups of 256 weights and, above them, of
// 16 sums each are kept. A changed score changes one weight and the sum of its group at once, and the sums above
// before the next draw; a draw walks down from the root. Integer sums do not drift, so nothing is ever added up
// again to repair them.
//
// The reference follows the best score both ways: up, because weights end at 2^63, and down, because otherwise all
// weights sink into their error band. Moving it recomputes all weights; every draw is exact under every reference.
// Which steps recompute depends on the scores: their timing must not reach a peer.
// Proof: exponential_tree.md.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
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
  // Many at once; all or none.
  Result<void> update(std::span<const std::uint32_t> indices, std::span<const double> scores);
  Result<void> assign(std::span<const double> scores);  // all of them, those that were removed too
  void remove(std::size_t index);                       // never selected again, until it is updated

  // One draw, which costs one event(). Fails when everything was removed.
  Result<std::size_t> select(Bits& bits);

  // For scores |s_i| of pairs +-s_i: one draw from all pairs, P(i, with) proportional to exp(eta |s_i|) and P(i,
  // against) to exp(-eta |s_i|). Costs one event() too.
  struct Side {
    std::size_t index = 0;
    bool with = true;
  };
  Result<Side> select_side(Bits& bits);

  // The same when the tree holds ceilings: of at most `attempts` candidates drawn by their ceilings, each is kept so
  // that the law is that of the true scores, sizes[i] <= ceiling; none when no attempt succeeded, which changes no
  // law. `size_of(i)` is |s_i|.
  template <class SizeOf>
  Result<std::optional<Side>> select_below_ceilings(Bits& bits, int attempts, const SizeOf& size_of);

  [[nodiscard]] Exponential event() const { return event_; }
  [[nodiscard]] double grain() const { return grid_.grain().value(); }
  [[nodiscard]] std::size_t size() const { return leaves_.size(); }
  [[nodiscard]] std::size_t rebuilds() const { return rebuilds_; }

 private:
  using Wide = ScoreWeights::Wide;

  explicit ExponentialTree(const ExponentialSelection& selection);
  [[nodiscard]] std::uint64_t gap(std::size_t index) const {
    return static_cast<std::uint64_t>(reference_) - static_cast<std::uint64_t>(leaves_[index].steps);
  }
  [[nodiscard]] Wide total() const { return levels_.back().front(); }
  void set_weight(std::size_t index, std::uint64_t weight);
  void set_score(std::size_t index, double score);  // that the grid holds
  void rebuild();                                   // with a new reference
  void weigh();                                     // all leaves and sums
  void add_up();                                    // the levels above the groups

  Exponential event_;
  ScoreGrid grid_;
  ScoreWeights weights_;
  std::uint64_t headroom_;  // how far above the best score a new reference is put
  std::int64_t reference_ = 0;
  bool above_reference_ = false;
  bool added_up_ = true;
  std::size_t present_ = 0;
  std::size_t rebuilds_ = 0;
  struct Leaf {                // side by side: a change of a score far from the last one costs one line of memory
    std::int64_t steps = 0;    // the score on its grid
    std::uint64_t weight = 0;  // 0 for what was removed
  };
  std::vector<Leaf> leaves_;
  std::vector<std::vector<Wide>> levels_;  // the last one holds the total alone
};

template <class SizeOf>
Result<std::optional<ExponentialTree::Side>> ExponentialTree::select_below_ceilings(Bits& bits, int attempts,
                                                                                    const SizeOf& size_of) {
  for (; attempts > 0; --attempts) {
    PARLEY_TRY(const std::size_t index, select(bits));
    const double size = size_of(index);
    if (!grid_.holds(size)) return fail(std::move(grid_.check({&size, 1})).error());
    const std::int64_t steps = grid_.steps(size);
    const bool with = bits.next_u64() % 2 == 0;
    // A leaf is one grain above the ceiling's, so that rounding cannot put a score above it.
    const std::int64_t gap = with ? leaves_[index].steps - steps : leaves_[index].steps + steps;
    if (gap < 0) return fail(failed("a score is above its ceiling; nothing was selected"));
    if (weights_.flip(static_cast<std::uint64_t>(gap), bits)) return std::optional<Side>(Side{index, with});
  }
  return std::optional<Side>();
}

}  // namespace parley::privacy
