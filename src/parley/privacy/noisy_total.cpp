#include "parley/privacy/noisy_total.h"

#include <algorithm>
#include <cmath>

namespace parley::privacy {

using linalg::Index;

namespace {

constexpr double kFewestGrains = 0x1p22;
constexpr std::size_t kAhead = 16;  // entries lie anywhere: memory is asked for this many ahead of use

const DiscreteGaussianNoise& made(std::optional<DiscreteGaussianNoise>& table, Deviation noise, Grain grain,
                                  std::int64_t steps) {
  // The scale was checked when the total was made; 64^2 steps stay within what the sampler takes.
  if (!table) table = DiscreteGaussianNoise::make_sum(noise.sigma, grain, steps).value();
  return *table;
}

Error no_randomness() {
  return failed("the source of randomness failed; the release was charged and did not happen");
}

}  // namespace

bool NoisyTotal::covers(const BatchSum& sum, Deviation noise) {
  const double grains = sum.grain().grains(noise.sigma);
  return grains >= kFewestGrains && grains * static_cast<double>(kTables) <= 0x1p40;
}

SubsampledGaussian NoisyTotal::event(const BatchSum& sum, Deviation noise, double rate) {
  return {noise.sigma * (1 - 0x1p-40) / sum.contribution(), rate};
}

NoisyTotal::NoisyTotal(Gate& gate, BatchSum& sum, Deviation noise, double scale)
    : gate_(&gate),
      sum_(&sum),
      noise_(noise),
      scale_(scale * sum.grain().value()),
      entries_(sum.coordinates()),
      weights_(sum.coordinates()),
      seen_(sum.width()),
      ones_(kTables + 1),
      many_(kTables + 1),
      owed_(kTables + 1) {}

Result<NoisyTotal> NoisyTotal::make(Gate& gate, BatchSum& sum, Deviation noise, double scale) {
  if (!covers(sum, noise))
    return fail(failed("noise drawn when it is read needs at least 2^22 grains of it"));
  return NoisyTotal(gate, sum, noise, scale);
}

std::int64_t NoisyTotal::noise_of(std::int64_t steps) {
  if (gate_->replays_) return 0;  // a replay has no noise to draw: what is released is told
  std::int64_t total = 0;
  for (; steps > kTables;) {
    const std::int64_t many = std::min(steps / kTables, kTables);
    total += made(many_[static_cast<std::size_t>(many)], noise_, sum_->grain(), many * kTables)
                 .draw(*gate_->bits_);
    steps -= many * kTables;
  }
  if (steps > 0)
    total += made(ones_[static_cast<std::size_t>(steps)], noise_, sum_->grain(), steps).draw(*gate_->bits_);
  return total;
}

void NoisyTotal::settle_alike(std::span<const std::uint32_t> coordinates, std::int64_t owed) {
  noise_drawn_.resize(coordinates.size());
  made(ones_[static_cast<std::size_t>(owed)], noise_, sum_->grain(), owed).draw(*gate_->bits_, noise_drawn_);
  for (std::size_t i = 0; i < coordinates.size(); ++i) {
    Entry& entry = entries_[coordinates[i]];
    entry.count += noise_drawn_[i];
    entry.settled = steps_;
    set_weight(coordinates[i]);
  }
}

// Entries that are owed the same number of steps draw from one law, together. An entry counts as settled
// after its noise was drawn: when the generator fails, what is owed stays owed.
template <class CoordinateAt>
void NoisyTotal::settle(std::size_t count, const CoordinateAt& coordinate_at) {
  if (gate_->replays_) return;  // what a replay shows was settled when it was drawn
  for (auto& coordinates : owed_) coordinates.clear();
  for (std::size_t i = 0; i < count; ++i) {
    if (i + kAhead < count) __builtin_prefetch(&entries_[coordinate_at(i + kAhead)], 1);
    const std::size_t coordinate = coordinate_at(i);
    Entry& entry = entries_[coordinate];
    const std::uint32_t owed = steps_ - entry.settled;
    if (owed == 0) continue;
    if (owed <= kTables) {
      owed_[owed].push_back(static_cast<std::uint32_t>(coordinate));
      continue;
    }
    entry.count += noise_of(owed);
    entry.settled = steps_;
    set_weight(coordinate);
  }
  for (std::size_t owed = 1; owed < owed_.size(); ++owed)
    if (!owed_[owed].empty()) settle_alike(owed_[owed], static_cast<std::int64_t>(owed));
}

Result<std::span<const double>> NoisyTotal::weights_at(const Batch& batch) {
  ++batches_;
  columns_.clear();
  const std::size_t width = sum_->width();
  sum_->for_each_column(batch, [&](std::uint32_t column) {
    if (seen_[column] == batches_) return;
    seen_[column] = batches_;
    columns_.push_back(column);
  });
  try {
    for (std::size_t first = 0; first < entries_.size(); first += width)
      settle(columns_.size(), [&](std::size_t i) { return first + columns_[i]; });
  } catch (const RandomnessFailure&) {
    return fail(no_randomness());
  }
  return std::span<const double>(weights_);
}

Result<std::span<const double>> NoisyTotal::weights() {
  try {
    settle(entries_.size(), [](std::size_t i) { return i; });
  } catch (const RandomnessFailure&) {
    return fail(no_randomness());
  }
  return std::span<const double>(weights_);
}

Result<void> NoisyTotal::add(Batch&& given, std::span<const double> derivatives) {
  const Batch batch = std::move(given);
  PARLEY_CHECK(gate_->draw_from_plan(event(*sum_, noise_, batch.rate())));
  sum_->add_rows(batch, derivatives);
  const std::size_t width = sum_->width();
  for (std::size_t first = 0; first < entries_.size(); first += width)
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (i + kAhead < columns_.size()) __builtin_prefetch(&entries_[first + columns_[i + kAhead]], 1);
      const std::size_t coordinate = first + columns_[i];
      entries_[coordinate].count += sum_->take_count(coordinate);
      set_weight(coordinate);
    }
  ++steps_;
  return {};
}

Result<Released<std::vector<double>>> NoisyTotal::release() {
  return gate_->released_vector(entries_.size(), [&]() -> GridVector {
    settle(entries_.size(), [](std::size_t i) { return i; });
    std::vector<std::int64_t> counts;
    counts.reserve(entries_.size());
    for (const Entry& entry : entries_) counts.push_back(entry.count);
    return {std::move(counts), sum_->grain()};
  });
}

}  // namespace parley::privacy
