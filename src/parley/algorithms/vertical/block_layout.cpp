#include "parley/algorithms/vertical/block_layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "parley/algorithms/parts/check.h"

namespace parley::algorithms {

using Ball = BcfwSettings::Ball;
using Blocks = BcfwSettings::Blocks;
using linalg::Index;

namespace {

// The last of `borders` that is at most `column`.
std::size_t place_of(const std::vector<std::size_t>& borders, std::size_t column) {
  return static_cast<std::size_t>(std::upper_bound(borders.begin(), borders.end(), column) - borders.begin() - 1);
}

}  // namespace

Result<BlockLayout> BlockLayout::make(const glm::Objective& objective, const BcfwSettings& settings,
                                      std::span<const std::size_t> columns) {
  BlockLayout layout;
  layout.what_ = settings.blocks;
  layout.global_ = settings.ball == Ball::kGlobal;
  layout.radii_ = settings.radii;
  for (const std::size_t each : columns) layout.first_.push_back(layout.first_.back() + each);
  if (objective.box) {
    layout.radius_ = *objective.box;
  } else {
    layout.balls_ = layout.first_;
    if (layout.global_) layout.balls_ = {0, layout.columns()};
    if (settings.blocks == Blocks::kGroups) PARLEY_CHECK(layout.lay_out_groups(settings.groups));
    const bool shared = settings.radius == BcfwSettings::Radius::kShare;
    layout.radius_ = *objective.l1_radius / (shared ? static_cast<double>(layout.balls()) : 1);
  }
  const std::size_t sets = layout.box() ? layout.columns() : layout.balls();
  PARLEY_CHECK(require(settings.radii.empty() || settings.radii.size() == sets, "algorithm.radii",
                       fmt::format("needs {} numbers, one for each {}", sets, layout.box() ? "column" : "ball"),
                       settings.radii.size()));
  return layout;
}

Result<void> BlockLayout::lay_out_groups(const std::vector<int>& sizes) {
  balls_ = {0};
  for (const int size : sizes) balls_.push_back(balls_.back() + static_cast<std::size_t>(size));
  PARLEY_CHECK(require(balls_.back() == columns(), "algorithm.blocks",
                       fmt::format("must have as many columns as the parties together, {}", columns()), balls_.back()));
  for (const std::size_t begin : first_)
    PARLEY_CHECK(require(std::binary_search(balls_.begin(), balls_.end(), begin), "algorithm.blocks",
                         "must not put columns of two parties into one group; a party begins with column", begin + 1));
  return {};
}

std::size_t BlockLayout::party_of(std::size_t column) const {
  return place_of(first_, column);
}

std::size_t BlockLayout::ball_of(std::size_t column) const {
  return place_of(balls_, column);
}

double BlockLayout::radius_of(std::size_t column) const {
  return radii_.empty() ? radius_ : radii_[box() ? column : ball_of(column)];
}

std::vector<Index> BlockLayout::borders_of(std::size_t party) const {
  std::vector<Index> borders;
  for (const std::size_t begin : balls_)
    if (begin > first_[party] && begin < first_[party + 1])
      borders.push_back(static_cast<Index>(begin - first_[party]));
  return borders;
}

std::vector<std::size_t> BlockLayout::blocks() const {
  std::vector<std::size_t> blocks;
  for (std::size_t k = 0; k < parties(); ++k)
    blocks.push_back(what_ == Blocks::kParties       ? 1
                     : what_ == Blocks::kCoordinates ? end(k) - begin(k)
                                                     : borders_of(k).size() + 1);
  return blocks;
}

std::size_t BlockLayout::block_begin(std::size_t block) const {
  return what_ == Blocks::kParties ? first_[block] : what_ == Blocks::kGroups ? balls_[block] : block;
}

std::size_t BlockLayout::block_end(std::size_t block) const {
  return what_ == Blocks::kParties ? first_[block + 1] : what_ == Blocks::kGroups ? balls_[block + 1] : block + 1;
}

bool BlockLayout::whole_balls(const BlockSampling& sampling) const {
  return box() || (!global_ && what_ != Blocks::kCoordinates) || sampling.takes_all();
}

BlockLayout::Sampled BlockLayout::sampled(const BlockSampling& sampling, std::int64_t step, std::size_t party) const {
  if (sampling.takes_all()) return {.none = false, .all = true};
  const std::vector<std::size_t> blocks = sampling.draw(step);
  const std::size_t begin = first_[party], end = first_[party + 1];
  if (what_ == Blocks::kParties) {
    const bool taken = std::binary_search(blocks.begin(), blocks.end(), party);
    return {.none = !taken, .all = taken};
  }
  Sampled some;
  for (const std::size_t block : blocks)
    for (std::size_t column = std::max(block_begin(block), begin); column < std::min(block_end(block), end); ++column)
      some.columns.push_back(static_cast<Index>(column - begin));
  some.none = some.columns.empty();
  some.all = some.columns.size() == end - begin;
  if (some.all) some.columns.clear();
  return some;
}

}  // namespace parley::algorithms
