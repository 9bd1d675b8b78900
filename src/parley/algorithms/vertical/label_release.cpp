#include "parley/algorithms/vertical/label_release.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "parley/privacy/mechanisms/label_laplace.h"
#include "parley/privacy/mechanisms/randomised_response.h"
#include "parley/privacy/sensitivity/class_labels.h"
#include "parley/privacy/sensitivity/clipped_sum.h"

namespace parley::algorithms {

namespace {

using Mechanism = privacy::LabelNoise::Mechanism;

constexpr std::size_t kClasses = 2;
constexpr int kGrainBits = 20;  // of the bound of numbers
constexpr double kDeviations = 3;

bool are_numbers(glm::Task task) {
  return task == glm::Task::kLinear;
}

}  // namespace

double response_scale(double epsilon) {
  return 1 / std::tanh(epsilon / 2);  // p = 1/(1 + e^-E)
}

double derivative_reach(const LabelRelease::Rule& rule, double plain) {
  const double e = rule.noise.epsilon;
  if (rule.noise.mechanism == Mechanism::kRandomisedResponse) return plain + 0.5 * (response_scale(e) - 1);
  // Of the difference of two entries, halved by the loss; of a number.
  const double deviation = are_numbers(rule.task) ? std::sqrt(2.0) * 2 * rule.label_bound / e : 0.5 * 4 / e;
  return plain + kDeviations * deviation;
}

Result<void> LabelRelease::check(glm::Task task, const privacy::LabelNoise& noise) {
  if (task == glm::Task::kSquaredHinge)
    return fail(bad_input({.field = "labels.privacy"},
                          "has no squared hinge: corrected for the noise, that loss has no minimum; use logistic"));
  if (task == glm::Task::kSoftmax)
    return fail(bad_input({.field = "labels.privacy"}, "is for losses of one margin: linear and logistic"));
  if (are_numbers(task)) {
    if (noise.mechanism == Mechanism::kRandomisedResponse)
      return fail(bad_input({.field = "labels.privacy"}, "randomised response is for classes; numbers take \"laplace\"",
                            "randomised-response"));
    return {};
  }
  if (noise.mechanism == Mechanism::kLaplace) {
    PARLEY_CHECK(privacy::LabelLaplace::make(noise.epsilon, kClasses));
    return {};
  }
  const auto made = privacy::RandomisedResponse::make(noise.epsilon, kClasses);
  if (!made)
    return fail(bad_input({.field = "labels.epsilon"},
                          "must be at most 22 for randomised response: beyond that labels are told as they are",
                          fmt::format("{}", noise.epsilon)));
  return {};
}

Result<std::shared_ptr<const LabelRelease>> LabelRelease::make(std::span<const double> labels, const Rule& rule) {
  PARLEY_CHECK(check(rule.task, rule.noise));
  std::shared_ptr<LabelRelease> made(new LabelRelease(rule, labels.size()));
  if (are_numbers(rule.task)) {
    made->numbers_ = privacy::Private(std::vector<double>(labels.begin(), labels.end()));
    PARLEY_TRY(made->grain_, privacy::Grain::below(rule.label_bound, kGrainBits));
    return std::shared_ptr<const LabelRelease>(std::move(made));
  }
  std::vector<std::size_t> classes;
  classes.reserve(labels.size());
  for (const double label : labels) classes.push_back(label > 0 ? 1 : 0);
  made->classes_ = privacy::Private(std::move(classes));
  return std::shared_ptr<const LabelRelease>(std::move(made));
}

privacy::ClipRule LabelRelease::numbers_rule() const {
  return {
      .bound = rule_.label_bound, .grain = grain_, .neighbours = privacy::Neighbours::kReplaceOne, .unit = rule_.unit};
}

// One step up, because the quotient was rounded.
privacy::LaplaceScale LabelRelease::numbers_scale(double sensitivity) const {
  return {std::nextafter(sensitivity / rule_.noise.epsilon, std::numeric_limits<double>::infinity())};
}

Result<privacy::Event> LabelRelease::event() const {
  if (!are_numbers(rule_.task)) {
    if (rule_.noise.mechanism == Mechanism::kRandomisedResponse) {
      PARLEY_TRY(const auto mechanism, privacy::RandomisedResponse::make(rule_.noise.epsilon, kClasses));
      return privacy::Event{mechanism.event(), 1};
    }
    PARLEY_TRY(const auto mechanism, privacy::LabelLaplace::make(rule_.noise.epsilon, kClasses));
    return privacy::Event{mechanism.event(), 1};
  }
  PARLEY_TRY(const auto probe,
             privacy::clipped_values_l1(privacy::Private(std::vector<double>(records_)), numbers_rule()));
  return privacy::Gate::laplace_event(probe.sensitivity(), grain_, numbers_scale(probe.sensitivity()),
                                      static_cast<std::int64_t>(records_));
}

Result<privacy::Released<std::vector<double>>> LabelRelease::release(privacy::Gate& gate) const {
  PARLEY_TRY(const privacy::Epsilon epsilon, privacy::Epsilon::make(rule_.noise.epsilon));
  if (are_numbers(rule_.task)) {
    PARLEY_TRY(const auto values, privacy::clipped_values_l1(numbers_, numbers_rule()));
    return gate.release(values, numbers_scale(values.sensitivity()));
  }
  PARLEY_TRY(const auto labels, privacy::class_labels(classes_, {.classes = kClasses, .unit = rule_.unit}));
  if (rule_.noise.mechanism == Mechanism::kRandomisedResponse) {
    PARLEY_TRY(const auto told, gate.release(labels, privacy::ByRandomisedResponse{epsilon}));
    return privacy::derive(
        [](const std::vector<std::size_t>& classes, const double& scale) {
          std::vector<double> targets;
          targets.reserve(classes.size());
          for (const std::size_t each : classes) targets.push_back(each == 1 ? scale : -scale);
          return targets;
        },
        told, privacy::Public{response_scale(epsilon.value())});
  }
  PARLEY_TRY(const auto rows, gate.release(labels, privacy::ByOneHotLaplace{epsilon}));
  return privacy::derive(
      [](const std::vector<double>& entries) {
        std::vector<double> targets;
        targets.reserve(entries.size() / kClasses);
        for (std::size_t i = 0; i + 1 < entries.size(); i += kClasses) targets.push_back(entries[i + 1] - entries[i]);
        return targets;
      },
      rows);
}

}  // namespace parley::algorithms
