#include "parley/algorithms/coordinate/greedy_cd_noise.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "parley/algorithms/parts/private_steps.h"
#include "parley/privacy/accounting/step_noise.h"
#include "parley/privacy/accounting/textbook.h"
#include "parley/privacy/sensitivity/exact_sums.h"

namespace parley::algorithms {

using privacy::Event;
using privacy::Gate;

namespace {

constexpr double kSignal = 0.06;
constexpr double kMostSteps = 1000;
// Laplace noise can only win while adding up costs is about as good as any accountant: few steps, or cheap privacy.
constexpr std::int64_t kFewSteps = 6;
constexpr double kCheapStep = 1;
constexpr std::size_t kMostKept = 256;

std::vector<Event> whole_run(const GreedyShape& shape, const std::vector<Event>& step) {
  std::vector<Event> events = shape.once;
  for (Event event : step) {
    event.count *= shape.steps;
    events.push_back(event);
  }
  return events;
}

// The exponential mechanism and a Laplace value, scaled together like step_noise() does it for a Gaussian one.
Result<GreedyNoise> laplace_noise(const privacy::Target& target, const GreedyShape& shape, double share) {
  const auto at = [&](double scale) -> Result<GreedyNoise> {
    GreedyNoise noise{.selection_epsilon = std::sqrt(8 * share) * scale,
                      .laplace = true,
                      .value_noise = shape.value_sensitivity / (std::sqrt(2 * (1 - share)) * scale)};
    PARLEY_TRY(const Event value,
               Gate::laplace_event(shape.value_sensitivity, privacy::ExactSums::value_grain(), {noise.value_noise}));
    noise.step = {{privacy::Exponential{noise.selection_epsilon}, 1}, value};
    return noise;
  };
  const auto plan_at = [&](double scale) {
    const auto noise = at(scale);
    return privacy::Plan{target.neighbours,
                         noise ? whole_run(shape, noise->step) : std::vector<Event>{{privacy::Unprotected{}, 1}}};
  };
  const double guess =
      target.epsilon.value() / static_cast<double>(shape.steps) / (std::sqrt(8 * share) + std::sqrt(2 * (1 - share)));
  PARLEY_TRY(const double scale, privacy::largest_scale(plan_at, target, guess));
  return at(scale);
}

Result<GreedyNoise> gaussian_noise(const privacy::Target& target, const GreedyShape& shape, double share) {
  const privacy::Grain grain = privacy::ExactSums::value_grain();
  PARLEY_TRY(const privacy::StepNoise noise,
             privacy::step_noise(target, {.steps = shape.steps,
                                          .share = share,
                                          .value_sensitivity = grain.grains(shape.value_sensitivity),
                                          .once = shape.once}));
  return GreedyNoise{.selection_epsilon = noise.selection_epsilon,
                     .value_noise = noise.value_sigma * grain.value(),
                     .step = noise.step};
}

Result<GreedyNoise> paper_noise(const privacy::Target& target, const GreedyShape& shape) {
  const std::int64_t mechanisms = 2 * shape.steps;
  const double epsilon = target.epsilon.value();
  double low = epsilon / static_cast<double>(mechanisms);  // adding up costs is a composition theorem too
  double high = epsilon;
  const auto within = [&](double each) {
    return privacy::accounting::textbook::advanced_composition_epsilon(each, mechanisms, target.delta.value()) <=
           epsilon;
  };
  for (int i = 0; i < 60; ++i) {
    const double middle = 0.5 * (low + high);
    (within(middle) ? low : high) = middle;
  }
  GreedyNoise noise{
      .selection_epsilon = 2 * low, .noisy_max = true, .laplace = true, .value_noise = shape.value_sensitivity / low};
  PARLEY_TRY(const Event value,
             Gate::laplace_event(shape.value_sensitivity, privacy::ExactSums::value_grain(), {noise.value_noise}));
  noise.step = {{privacy::Pure{noise.selection_epsilon}, 1}, value};
  return noise;
}

Result<GreedyNoise> proved_noise(const privacy::Target& target, const GreedyShape& shape) {
  const double share = shape.share.value_or(algorithms::selection_share(shape.coordinates));
  PARLEY_TRY(GreedyNoise gaussian, gaussian_noise(target, shape, share));
  if (shape.steps > kFewSteps && target.epsilon.value() < kCheapStep * static_cast<double>(shape.steps))
    return gaussian;
  PARLEY_TRY(GreedyNoise laplace, laplace_noise(target, shape, share));
  // The sum of the two squares that the share balances.
  const auto loss = [&](const GreedyNoise& noise) {
    const double selection = 2 * log_candidates(shape.coordinates) / noise.selection_epsilon;
    const double value = (noise.laplace ? std::sqrt(2.0) : 1.0) * noise.value_noise / shape.value_sensitivity;
    return selection * selection + value * value;
  };
  return loss(laplace) < loss(gaussian) ? laplace : gaussian;
}

}  // namespace

double selection_share(std::size_t coordinates) {
  const double log = log_candidates(coordinates);
  return log / (1 + log);
}

std::int64_t greedy_steps(const privacy::Target& target, double records, std::size_t coordinates) {
  // Beyond two visits of every coordinate, steps buy little and their noise stays.
  const double most = std::min(kMostSteps, 2 * static_cast<double>(coordinates));
  return steps_within_signal(target, records, coordinates,
                             {.share = selection_share(coordinates), .signal = kSignal, .most = most});
}

Result<GreedyNoise> greedy_noise(const PrivateTerms& terms, const GreedyShape& shape) {
  if (terms.calibration == privacy::Calibration::kPaper) return paper_noise(terms.target, shape);
  // Calibration takes a tenth of a second and is a function of public numbers: what a table over seeds and settings
  // asks for again is kept.
  if (!shape.once.empty()) return proved_noise(terms.target, shape);
  using Key = std::tuple<double, double, privacy::Neighbours, std::int64_t, std::size_t, double, double>;
  thread_local std::map<Key, GreedyNoise> known;
  const Key key{
      terms.target.epsilon.value(), terms.target.delta.value(), terms.target.neighbours, shape.steps, shape.coordinates,
      shape.value_sensitivity,      shape.share.value_or(0)};
  if (const auto found = known.find(key); found != known.end()) return found->second;
  PARLEY_TRY(GreedyNoise noise, proved_noise(terms.target, shape));
  if (known.size() >= kMostKept) known.clear();
  known.emplace(key, noise);
  return noise;
}

}  // namespace parley::algorithms
