#include "parley/privacy/noisy_total.h"

#include <algorithm>
#include <cmath>

namespace parley::privacy {

using linalg::Index;

namespace {

constexpr double kFewestGrains = 0x1p22;

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
      counts_(sum.coordinates()),
      settled_(sum.coordinates()),
      weights_(sum.coordinates()),
      seen_(sum.width()),
      ones_(kTables + 1),
      many_(kTables + 1) {}

Result<NoisyTotal> NoisyTotal::make(Gate& gate, BatchSum& sum, Deviation noise, double scale) {
  if (!covers(sum, noise))
    return fail(failed("noise drawn when it is read needs at least 2^22 grains of it"));
  return NoisyTotal(gate, sum, noise, scale);
}

std::int64_t NoisyTotal::noise_of(std::int64_t steps) {
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

void NoisyTotal::set_weight(std::size_t coordinate) {
  weights_[coordinate] = scale_ * static_cast<double>(counts_[coordinate]);
}

void NoisyTotal::settle(std::size_t coordinate) {
  const std::uint32_t owed = steps_ - settled_[coordinate];
  if (owed == 0) return;
  settled_[coordinate] = steps_;
  counts_[coordinate] += noise_of(owed);
  set_weight(coordinate);
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
    for (std::size_t first = 0; first < counts_.size(); first += width)
      for (const std::uint32_t column : columns_) settle(first + column);
  } catch (const RandomnessFailure&) {
    return fail(no_randomness());
  }
  return std::span<const double>(weights_);
}

Result<std::span<const double>> NoisyTotal::weights() {
  try {
    for (std::size_t c = 0; c < counts_.size(); ++c) settle(c);
  } catch (const RandomnessFailure&) {
    return fail(no_randomness());
  }
  return std::span<const double>(weights_);
}

Result<void> NoisyTotal::add(const Batch& batch, std::span<const double> derivatives) {
  PARLEY_CHECK(gate_->draw_from_plan(event(*sum_, noise_, batch.rate())));
  sum_->add_rows(batch, derivatives);
  const std::size_t width = sum_->width();
  for (std::size_t first = 0; first < counts_.size(); first += width)
    for (const std::uint32_t column : columns_) {
      counts_[first + column] += sum_->take_count(first + column);
      set_weight(first + column);
    }
  ++steps_;
  return {};
}

Result<Released<std::vector<double>>> NoisyTotal::release() {
  return gate_->released_vector(counts_.size(), [&]() -> GridVector {
    for (std::size_t c = 0; c < counts_.size(); ++c) settle(c);
    return {counts_, sum_->grain()};
  });
}

}  // namespace parley::privacy
