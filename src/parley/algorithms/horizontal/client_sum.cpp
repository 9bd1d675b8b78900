#include "parley/algorithms/horizontal/client_sum.h"

#include <fmt/format.h>

#include <cmath>

namespace parley::algorithms {

using privacy::Contributions;
using privacy::GridVector;
using privacy::L2;
using privacy::Private;
using privacy::Sensitive;

namespace {

constexpr int kNoiseBits = 30;             // of a share, in grains
constexpr double kSafeSide = 1 + 0x1p-30;  // roundings of the deviation
constexpr double kTail = 64;               // deviations of noise that a sum has room for
constexpr double kRoom = 0x1p62;

Result<Sensitive<GridVector, L2>> on_grid(const Private<std::vector<double>>& update, const privacy::ClipRule& rule) {
  return privacy::clipped_vector_sum(update.map([](const std::vector<double>& values) {
    return Contributions{values, values.size()};
  }),
                                     rule);
}

}  // namespace

Result<ClientSum> ClientSum::make(const privacy::Target& target, const ClientSumShape& shape) {
  if (!(shape.clip > 0) || !std::isfinite(shape.clip))
    return fail(bad_input({.field = "algorithm.clip"},
                          "is needed where the unit is the client: the norm that its update may have"));
  if (shape.clients < 2)
    return fail(bad_input({.field = "privacy.unit"},
                          "\"client\" hides one client among others: at least two are needed",
                          fmt::format("{}", shape.clients)));
  if (target.neighbours != privacy::Neighbours::kReplaceOne)
    return fail(bad_input({.field = "privacy.neighbours"}, "who takes part is in the job and public; use replace-one",
                          "add-remove"));
  PARLEY_TRY(const double multiplier, privacy::gaussian_noise(target, shape.rounds));
  const int noisy = shape.fewest > 0 ? shape.fewest : shape.clients;
  if (noisy < 2) return fail(bad_input({.field = "rounds.quorum"}, "hides nobody: a sum of two clients is the least"));
  const double others = std::sqrt(static_cast<double>(noisy - 1));
  PARLEY_TRY(const privacy::Grain grain, privacy::Grain::below(multiplier * 2 * shape.clip / others, kNoiseBits));
  ClientSum sum(target, shape,
                {.bound = shape.clip, .grain = grain, .neighbours = target.neighbours, .unit = privacy::Unit::kClient});
  // The bound as every client's vector will state it.
  PARLEY_TRY(const auto nothing, on_grid(Private(std::vector<double>(shape.parameters, 0.0)), sum.rule_));
  const double sensitivity = nothing.sensitivity();
  sum.noise_ = {multiplier * kSafeSide * sensitivity / others, noisy};
  PARLEY_TRY(sum.event_, privacy::Gate::masked_event(sensitivity, grain, sum.noise_));
  sum.largest_sum_ = shape.clients * (grain.grains(sensitivity) + kTail * grain.grains(sum.noise_.sigma));
  if (!(sum.largest_sum_ < kRoom))
    return fail(bad_input({.field = "privacy.epsilon"},
                          "is too large for this many clients: their sum would not fit in 62 bits",
                          fmt::format("{}", target.epsilon.value())));
  return sum;
}

Result<void> ClientSum::reserve(privacy::Gate& gate) const {
  PARLEY_CHECK(gate.reserve({.step = {event_}, .steps = shape_.rounds}, target_.delta));
  return {};
}

Result<Sensitive<GridVector, L2>> ClientSum::bounded(const Private<std::vector<double>>& update) const {
  return on_grid(update, rule_);
}

}  // namespace parley::algorithms
