// What happened, without what it costs: events are facts about releases, and accountants (accountant.h) turn a plan of
// events into (epsilon, delta).
//
// Sensitivities are distances between the noiseless answers of two neighbours, under the plan's own neighbouring
// relation: for replace-one the caller has already counted both versions of the record. The sampled Gaussian is the
// exception, because sampling and relation do not separate: its noise multiplier is sigma over the largest norm ONE
// record may contribute, for both relations, and the accountant picks the pair that belongs to the plan's relation.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "parley/core/result.h"
#include "parley/privacy/units.h"

namespace parley::privacy {

// value(s) + N(0, sigma^2 I), l2-sensitivity.
struct Gaussian {
  double sigma = 0;
  double sensitivity = 0;
  bool operator==(const Gaussian&) const = default;
};

// value(s) + Laplace(scale) per coordinate, l1-sensitivity.
struct Laplace {
  double scale = 0;
  double sensitivity = 0;
  std::int64_t dimensions = 1;
  bool operator==(const Laplace&) const = default;
};

// Integer value(s) + discrete Gaussian, pmf proportional to exp(-x^2/(2 sigma^2)). Both fields count grains; rounding
// to the grain is already part of the sensitivity. l2-sensitivity.
struct DiscreteGaussian {
  double sigma = 0;
  double sensitivity = 0;
  std::int64_t dimensions = 1;
  bool operator==(const DiscreteGaussian&) const = default;
};

// Integer value(s) + discrete Laplace, pmf proportional to exp(-|x|/scale). Both fields count grains; l1-sensitivity.
// For one value and a whole number of grains the accountant uses the exact distribution of the loss; otherwise it
// charges any (sensitivity/scale)-DP mechanism.
struct DiscreteLaplace {
  double scale = 0;
  double sensitivity = 0;
  std::int64_t dimensions = 1;
  bool operator==(const DiscreteLaplace&) const = default;
};

// An index drawn with weights exp(epsilon u / (2 Delta)): epsilon-DP and epsilon-bounded-range.
struct Exponential {
  double epsilon = 0;
  bool operator==(const Exponential&) const = default;
};

// Any epsilon-DP release about which nothing more is known: permute-and-flip, report-noisy-max, randomised response.
struct Pure {
  double epsilon = 0;
  bool operator==(const Pure&) const = default;
};

// Any (epsilon, delta)-DP release.
struct ApproxDp {
  double epsilon = 0;
  double delta = 0;
  bool operator==(const ApproxDp&) const = default;
};

// Any rho-zCDP release.
struct Zcdp {
  double rho = 0;
  bool operator==(const Zcdp&) const = default;
};

// Every record joins with probability sampling_rate, independently (Poisson); the sum of contributions of norm at most
// C gets N(0, (noise_multiplier C)^2 I).
struct SubsampledGaussian {
  double noise_multiplier = 0;
  double sampling_rate = 0;
  bool operator==(const SubsampledGaussian&) const = default;
};

// A release in the clear. It costs infinity, and is asked for by name, never by omission.
struct Unprotected {
  bool operator==(const Unprotected&) const = default;
};

using Mechanism = std::variant<Gaussian, Laplace, DiscreteGaussian, DiscreteLaplace, Exponential, Pure, ApproxDp, Zcdp,
                               SubsampledGaussian, Unprotected>;

// The same mechanism run `count` times in a row on the same data, each run allowed to depend on what
// the earlier ones released.
struct Event {
  Mechanism mechanism;
  std::int64_t count = 1;
  bool operator==(const Event&) const = default;
};

struct Plan {
  Neighbours neighbours = Neighbours::kReplaceOne;
  std::vector<Event> events;
  bool operator==(const Plan&) const = default;
};

// Counts above this are refused: no run has them, and sums of counts then stay exact in a double.
inline constexpr std::int64_t kMaxCount = 1'000'000'000'000;

std::string_view name(const Mechanism& mechanism);  // "gaussian", "subsampled-gaussian", ...

// These refuse what is not a mechanism: sigma = 0, NaN, rates outside (0, 1], counts below 1 or too large. `field`
// names the event in the message, e.g. "events[2]".
Result<void> validate(const Mechanism& mechanism, std::string_view field = "event");
Result<void> validate(const Event& event, std::string_view field = "event");
Result<void> validate(const Plan& plan);

// {"neighbours": "replace-one", "events": [{"mechanism": "gaussian", "sigma": ..., "sensitivity": ..., "count": ...},
// ...]}. Unknown keys and unknown mechanisms are errors that name the closest legal word; `file` is only for messages.
// A plan that was read is valid, and survives to_json and back exactly.
Result<Plan> parse_plan(std::string_view json, std::string_view file = "EVENTS.json");
std::string to_json(const Plan& plan);
Result<Event> parse_event(std::string_view json);  // one element of "events"
std::string to_json(const Event& event);

}  // namespace parley::privacy
