#include "parley/privacy/mechanisms/exponential_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "parley/core/threads.h"

namespace parley::privacy {

namespace {

constexpr std::size_t kGroup = 256;
constexpr std::size_t kFanOut = 16;
// A new reference leaves the best score a weight of about 2^55; when the total sinks below 2^40, a new one is
// due.
constexpr int kHeadroomBits = 8;
constexpr unsigned __int128 kLeastTotal = static_cast<unsigned __int128>(1) << 40;
// Candidates lie anywhere: memory is asked for this many changes ahead of use.
constexpr std::size_t kAhead = 12;

std::uint64_t headroom(double rate) {
  const double steps = kHeadroomBits * 0.6931471805599453 / rate;
  return static_cast<std::uint64_t>(std::min(steps, static_cast<double>(kGridLimit) / 4));
}

}  // namespace

ExponentialTree::ExponentialTree(const ExponentialSelection& selection)
    : event_(selection.event()),
      grid_(selection.grid()),
      weights_(selection.weights()),
      headroom_(headroom(weights_.rate())) {}

Result<ExponentialTree> ExponentialTree::make(const ExponentialSelection& selection, std::span<const double> scores) {
  const ScoreGrid& grid = selection.grid();
  PARLEY_CHECK(grid.check(scores));
  ExponentialTree tree(selection);
  tree.leaves_.reserve(scores.size());
  for (const double score : scores) tree.leaves_.push_back({grid.steps(score), 1});
  tree.present_ = scores.size();
  std::size_t width = chunk_count(scores.size(), kGroup);
  tree.levels_.emplace_back(width);
  while (width > 1) {
    width = chunk_count(width, kFanOut);
    tree.levels_.emplace_back(width);
  }
  tree.rebuild();
  tree.rebuilds_ = 0;
  return tree;
}

void ExponentialTree::rebuild() {
  std::int64_t top = std::numeric_limits<std::int64_t>::min();
  for (const Leaf& leaf : leaves_)
    if (leaf.weight != 0) top = std::max(top, leaf.steps);
  reference_ = top + static_cast<std::int64_t>(headroom_);
  above_reference_ = false;
  ++rebuilds_;
  weigh();
}

void ExponentialTree::weigh() {
  auto& groups = levels_.front();
  parallel_chunks(groups.size(), 64, [&](std::size_t first, std::size_t last) {
    for (std::size_t group = first; group < last; ++group) {
      Wide sum = 0;
      for (std::size_t i = group * kGroup; i < std::min(leaves_.size(), (group + 1) * kGroup); ++i) {
        if (leaves_[i].weight != 0) leaves_[i].weight = weights_.upper(gap(i));
        sum += leaves_[i].weight;
      }
      groups[group] = sum;
    }
  });
  add_up();
}

void ExponentialTree::add_up() {
  for (std::size_t level = 1; level < levels_.size(); ++level) {
    auto& sums = levels_[level];
    std::fill(sums.begin(), sums.end(), 0);
    for (std::size_t i = 0; i < levels_[level - 1].size(); ++i) sums[i / kFanOut] += levels_[level - 1][i];
  }
  added_up_ = true;
}

void ExponentialTree::set_weight(std::size_t index, std::uint64_t weight) {
  // Unsigned arithmetic wraps, so adding a negative difference is right too.
  levels_.front()[index / kGroup] += Wide{weight} - leaves_[index].weight;
  leaves_[index].weight = weight;
  added_up_ = false;
}

void ExponentialTree::set_score(std::size_t index, double score) {
  const std::int64_t steps = grid_.steps(score);
  if (leaves_[index].weight == 0) ++present_;
  leaves_[index].steps = steps;
  if (steps > reference_) {
    above_reference_ = true;
    set_weight(index, ScoreWeights::kOne);  // a placeholder: the next draw rebuilds first
  } else {
    set_weight(index, weights_.upper(gap(index)));
  }
}

Result<void> ExponentialTree::update(std::size_t index, double score) {
  if (index >= leaves_.size())
    return fail(
        bad_input({.field = "index"}, fmt::format("must be below {}", leaves_.size()), fmt::format("{}", index)));
  if (!grid_.holds(score)) return fail(std::move(grid_.check({&score, 1})).error());
  set_score(index, score);
  return {};
}

Result<void> ExponentialTree::update(std::span<const std::uint32_t> indices, std::span<const double> scores) {
  if (indices.size() != scores.size())
    return fail(
        bad_input({.field = "scores"}, fmt::format("must be {}", indices.size()), fmt::format("{}", scores.size())));
  if (indices.empty()) return {};
  PARLEY_CHECK(grid_.check(scores));
  if (const auto largest = *std::max_element(indices.begin(), indices.end()); largest >= leaves_.size())
    return fail(
        bad_input({.field = "index"}, fmt::format("must be below {}", leaves_.size()), fmt::format("{}", largest)));
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (i + kAhead < indices.size()) __builtin_prefetch(&leaves_[indices[i + kAhead]], 1);
    set_score(indices[i], scores[i]);
  }
  return {};
}

Result<void> ExponentialTree::assign(std::span<const double> scores) {
  if (scores.size() != leaves_.size())
    return fail(
        bad_input({.field = "scores"}, fmt::format("must be {}", leaves_.size()), fmt::format("{}", scores.size())));
  PARLEY_TRY(const std::int64_t top, grid_.check(scores));
  std::transform(scores.begin(), scores.end(), leaves_.begin(), [&](double score) {
    return Leaf{grid_.steps(score), 1};
  });
  present_ = scores.size();
  // The reference moves only when it must, as after updates one by one: the same bits then give the same draws.
  if (top > reference_)
    rebuild();
  else
    weigh();
  return {};
}

void ExponentialTree::remove(std::size_t index) {
  if (leaves_[index].weight == 0) return;
  --present_;
  set_weight(index, 0);
}

Result<std::size_t> ExponentialTree::select(Bits& bits) {
  if (present_ == 0) return fail(bad_input({.field = "scores"}, "must not be empty"));
  if (!added_up_) add_up();
  if (above_reference_ || total() < kLeastTotal) rebuild();
  for (;;) {
    Wide place = below_wide(total(), bits);
    std::size_t at = 0;
    for (std::size_t level = levels_.size() - 1; level-- > 0;) {
      at *= kFanOut;
      for (; place >= levels_[level][at]; ++at) place -= levels_[level][at];
    }
    std::size_t i = at * kGroup;
    for (; place >= leaves_[i].weight; ++i) place -= leaves_[i].weight;
    if (weights_.accept(gap(i), leaves_[i].weight, static_cast<std::uint64_t>(place), bits)) return i;
  }
}

Result<ExponentialTree::Side> ExponentialTree::select_side(Bits& bits) {
  for (;;) {
    PARLEY_TRY(const std::size_t index, select(bits));
    if (bits.next_u64() % 2 == 0) return Side{index, true};
    if (weights_.flip(2 * static_cast<std::uint64_t>(leaves_[index].steps), bits)) return Side{index, false};
  }
}

}  // namespace parley::privacy
