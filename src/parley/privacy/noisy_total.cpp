#include "parley/privacy/noisy_total.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace parley::privacy {

using linalg::Index;

namespace {

constexpr double kFewestGrains = 0x1p22;
constexpr std::size_t kAhead = 24;  // entries lie anywhere: memory is asked for this many ahead of use

const DiscreteGaussianNoise& made(std::optional<DiscreteGaussianNoise>& table, Deviation noise, Grain grain,
                                  std::int64_t steps) {
  // The scale was checked when the total was made; 64^2 steps stay within what the sampler takes.
  if (!table) table = DiscreteGaussianNoise::make_sum(noise.sigma, grain, steps).value();
  return *table;
}

}  // namespace

bool NoisyTotal::covers(const BatchSum& sum, Deviation noise) {
  const double grains = sum.grain().grains(noise.sigma);
  return grains >= kFewestGrains && grains * static_cast<double>(kTables) <= 0x1p40;
}

SubsampledGaussian NoisyTotal::event(const BatchSum& sum, Deviation noise, double rate) {
  return {noise.sigma * (1 - 0x1p-40) / sum.contribution(), rate};
}

NoisyTotal::NoisyTotal(Gate& gate, BatchSum sum, Deviation noise, double scale)
    : gate_(&gate),
      sum_(std::move(sum)),
      noise_(noise),
      scale_(scale * sum_.grain().value()),
      counts_(sum_.coordinates()),
      weights_(sum_.coordinates()),
      settled_(sum_.width()),
      ones_(kTables + 1),
      many_(kTables + 1),
      columns_(sum_.width() + 1),
      owed_(sum_.width() + 1),
      ordered_(sum_.width()) {}

Result<NoisyTotal> NoisyTotal::make(Gate& gate, BatchSum sum, Deviation noise, double scale) {
  PARLEY_CHECK(gate.check(sum.neighbours(), sum.unit()));
  if (!covers(sum, noise)) return fail(failed("noise drawn when it is read needs at least 2^22 grains of it"));
  return NoisyTotal(gate, std::move(sum), noise, scale);
}

std::int64_t NoisyTotal::noise_of(std::int64_t steps) {
  if (gate_->replays()) return 0;  // a replay has no noise to draw: what is released is told
  std::int64_t total = 0;
  for (; steps > kTables;) {
    const std::int64_t many = std::min(steps / kTables, kTables);
    total += made(many_[static_cast<std::size_t>(many)], noise_, sum_.grain(), many * kTables).draw(*gate_->bits());
    steps -= many * kTables;
  }
  if (steps > 0)
    total += made(ones_[static_cast<std::size_t>(steps)], noise_, sum_.grain(), steps).draw(*gate_->bits());
  return total;
}

void NoisyTotal::draw(std::span<const std::uint32_t> first_of, std::span<const std::uint32_t> long_owed) {
  for (std::uint32_t owed = 1; owed <= kTables; ++owed) {
    const auto alike = std::span(noise_drawn_).subspan(first_of[owed], first_of[owed + 1] - first_of[owed]);
    if (!alike.empty()) made(ones_[owed], noise_, sum_.grain(), owed).draw(*gate_->bits(), alike);
  }
  for (std::size_t i = 0; i < long_owed.size(); ++i) noise_drawn_[first_of[kTables + 1] + i] = noise_of(long_owed[i]);
}

// Columns that are owed the same number of steps draw from one law, together: they are put in order of it.
// They count as settled already, so when the generator fails the total can never leave.
Result<void> NoisyTotal::settle(std::size_t count) {
  if (gate_->replays()) return {};  // what a replay shows was settled when it was drawn
  if (broken_) return fail(no_randomness());
  constexpr auto kLong = static_cast<std::uint32_t>(kTables) + 1;  // this many steps or more: one by one
  std::array<std::uint32_t, kLong + 2> first_of{};                 // by steps owed: where those columns begin
  // Most are owed few steps, and counting the same number again waits for the last time: four counts in turn.
  std::array<std::array<std::uint32_t, kLong + 1>, 4> counted{};
  for (std::size_t i = 0; i < count; ++i) ++counted[i % 4][std::min(owed_[i], kLong)];
  for (const auto& part : counted)
    for (std::size_t owed = 0; owed <= kLong; ++owed) first_of[owed + 1] += part[owed];
  for (std::size_t owed = 1; owed < first_of.size(); ++owed) first_of[owed] += first_of[owed - 1];
  std::array<std::uint32_t, kLong + 2> next = first_of;
  long_owed_.clear();
  for (std::size_t i = 0; i < count; ++i) {
    ordered_[next[std::min(owed_[i], kLong)]++] = columns_[i];
    if (owed_[i] >= kLong) long_owed_.push_back(owed_[i]);
  }
  noise_drawn_.resize(count);
  broken_ = true;
  try {
    for (std::size_t plane = 0; plane < counts_.size(); plane += settled_.size()) {
      draw(first_of, long_owed_);
      for (std::size_t i = 0; i < count; ++i) {
        if (i + kAhead < count) {
          const std::size_t soon = plane + ordered_[i + kAhead];
          __builtin_prefetch(&counts_[soon], 1);
          __builtin_prefetch(&weights_[soon], 1);
          __builtin_prefetch(&sum_.sums_[soon], 1);
        }
        const std::size_t at = plane + ordered_[i];
        counts_[at] += sum_.take_count(at) + noise_drawn_[i];
        weights_[at] = scale_ * static_cast<double>(counts_[at]);
      }
    }
  } catch (const RandomnessFailure&) {
    return fail(no_randomness());
  }
  broken_ = false;
  return {};
}

Result<void> NoisyTotal::settle_all() {
  std::size_t count = 0;
  for (std::size_t column = 0; column < settled_.size(); ++column) {
    columns_[count] = static_cast<std::uint32_t>(column);
    owed_[count] = steps_ - settled_[column];
    count += owed_[count] != 0 ? 1 : 0;
    settled_[column] = steps_;
  }
  return settle(count);
}

// Which columns are new in a batch cannot be foreseen: a column is written down in any case and counted if
// noise is owed to it.
Result<std::span<const double>> NoisyTotal::weights_at(const Batch& batch) {
  expected_ = 0;
  if (!batch.records().empty() && batch.records().back() >= sum_.records())
    return fail(failed("a batch of another table; nothing was read"));
  std::uint32_t* const columns = columns_.data();
  std::uint32_t* const owed = owed_.data();
  std::uint32_t* const settled = settled_.data();
  const std::uint32_t now = steps_;
  std::size_t count = 0;
  sum_.for_each_column(batch, [&](std::uint32_t column) {
    const std::uint32_t steps = now - settled[column];
    settled[column] = now;
    columns[count] = column;
    owed[count] = steps;
    count += steps != 0 ? 1 : 0;
  });
  PARLEY_CHECK(settle(count));
  expected_ = batch.serial();
  return std::span<const double>(weights_);
}

Result<std::span<const double>> NoisyTotal::weights() {
  PARLEY_CHECK(settle_all());
  return std::span<const double>(weights_);
}

// The batch's sum stays where it was added up until its columns are read again, or the total is: weights_at()
// has taken what was there.
Result<void> NoisyTotal::add(Batch&& given, std::span<const double> derivatives) {
  const Batch batch = std::move(given);
  // The columns that are settled are those of that batch: what another one brings to others would come on top
  // of what waits there, and one rounding and one noise would stand for two steps.
  if (std::exchange(expected_, 0) != batch.serial())
    return fail(failed("a batch is added after its weights were read, once; nothing was added"));
  if (derivatives.size() != batch.records().size() * sum_.classes())
    return fail(failed("a step needs the derivatives of its batch's records; nothing was added"));
  PARLEY_CHECK(gate_->draw_from_plan({event(sum_, noise_, batch.rate()), 1}));
  sum_.add_rows(batch, derivatives);
  ++steps_;
  return {};
}

Result<Released<std::vector<double>>> NoisyTotal::release() {
  PARLEY_CHECK(settle_all());
  return gate_->released<std::vector<double>>(counts_.size(), [&](Bits&) -> Result<std::vector<double>> {
    return values_of({counts_, sum_.grain()});
  });
}

}  // namespace parley::privacy
