// Block-coordinate Frank-Wolfe at the coordinator: which replies can be true (bcfw.h).
#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "parley/algorithms/parts/check.h"
#include "parley/algorithms/vertical/bcfw.h"

namespace parley::algorithms {

using linalg::Index;

namespace {

bool holds(const std::vector<Index>& ascending, Index j) {
  return std::binary_search(ascending.begin(), ascending.end(), j);
}

}  // namespace

Result<void> Bcfw::check_features(int party, const Reply& reply, std::span<const std::int64_t> needed,
                                  bool may_lack) const {
  const auto k = static_cast<std::size_t>(party);
  if (reply.features.size() != needed.size() && !(may_lack && reply.features.empty()))
    return fail(failed("it does not hold the columns that it must"));
  for (std::size_t f = 0; f < reply.features.size(); ++f) {
    if (reply.features[f].column != needed[f] ||
        static_cast<std::size_t>(needed[f]) >= layout_.end(k) - layout_.begin(k))
      return fail(failed("it holds another column than it must"));
    PARLEY_CHECK(space_.check(reply.features[f]));
  }
  return {};
}

Result<void> Bcfw::check(const Iterate& iterate, int party, const Reply& reply) const {
  const auto k = static_cast<std::size_t>(party);
  const std::size_t base = layout_.begin(k), columns = layout_.end(k) - base;
  if (iterate.phase == kLabels) {
    const std::size_t rates = releases_base_rate() && party == holder_.party ? 1 : 0;
    if (reply.numbers.size() != rates) return fail(failed("it does not hold the base rate where it must"));
    if (!reply.picks.empty() || !reply.features.empty()) return fail(failed("it holds what was not asked for"));
    return check_labels(holder_, terms_.objective.task, party, reply.labels);
  }
  if (!reply.labels.empty()) return fail(failed("it holds labels, which were not asked for"));
  const bool picks = iterate.phase == kPick;
  if (!picks && !reply.picks.empty()) return fail(failed("it holds columns, which were not asked for"));
  if (reply.numbers.size() != (picks && global() ? reply.picks.size() : 0))
    return fail(failed("it does not have one gradient per column"));
  const BlockLayout::Sampled allowed = picks ? layout_.sampled(*sampling_, iterate.step, k) : BlockLayout::Sampled{};
  std::vector<std::int64_t> needed;      // the columns that must come, in their order
  std::size_t last = layout_.columns();  // the ball of the pick before
  for (std::size_t c = 0; c < reply.picks.size(); ++c) {
    const Index each = reply.picks[c];
    // The smallest number has no opposite.
    const Index j = each == std::numeric_limits<Index>::min() ? -1 : std::abs(each) - 1;
    if (j < 0 || static_cast<std::size_t>(j) >= columns || !(allowed.all || holds(allowed.columns, j)) ||
        (c > 0 && j <= std::abs(reply.picks[c - 1]) - 1))
      return fail(failed("it names a column that was not sampled"));
    const std::size_t ball = box() ? c : layout_.ball_of(base + static_cast<std::size_t>(j));
    if (!box() && ball == last) return fail(failed("it names more columns than were asked for"));
    last = ball;
    if (global() && !terms_.is_private && !((each > 0) == (reply.numbers[c] < 0) && reply.numbers[c] != 0))
      return fail(failed("the sign of its column is not that of its gradient"));
    if (!global() && shared_column(iterate.features, base + static_cast<std::size_t>(j)) == nullptr)
      needed.push_back(j);
  }
  if (picks && terms_.is_private && reply.picks.size() != 1)
    return fail(failed("it does not name one column of its own"));
  if (iterate.phase == kFetch) needed = {iterate.fetched.front().column - static_cast<std::int64_t>(base)};
  if (iterate.phase == kColumns) {
    needed.resize(columns);
    std::iota(needed.begin(), needed.end(), std::int64_t{0});
  }
  return check_features(party, reply, needed, picks && terms_.is_private);
}

}  // namespace parley::algorithms
