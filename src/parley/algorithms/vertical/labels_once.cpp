#include "parley/algorithms/vertical/labels_once.h"

#include <algorithm>
#include <cmath>

namespace parley::algorithms {

namespace {

// Randomised response has two answers.
bool told_with(const privacy::LabelNoise& noise, glm::Task task, std::span<const double> targets) {
  if (task == glm::Task::kLinear || noise.mechanism != privacy::LabelNoise::Mechanism::kRandomisedResponse) return true;
  const double scale = response_scale(noise.epsilon);
  return std::all_of(targets.begin(), targets.end(), [&](double t) { return t == scale || t == -scale; });
}

}  // namespace

Result<void> labels_may_leave(bool public_labels) {
  if (public_labels) return {};
  return fail(bad_input(
      {.field = "labels.public"},
      "a private run sends the labels to the coordinator: declare them public to the parties, or do not run"));
}

Result<void> reserve_labels(const ColumnShare& share, bool asked, privacy::Gate& gate) {
  if (asked || !share.noisy_labels || !share.noisy_labels->alone()) return {};
  PARLEY_TRY(const privacy::Event event, share.noisy_labels->event());
  PARLEY_CHECK(gate.reserve({.once = {event}}, *share.noisy_labels->alone()));
  return {};
}

Result<std::vector<privacy::Event>> events_of_labels(const ColumnShare& share) {
  if (!share.noisy_labels) return std::vector<privacy::Event>{};
  PARLEY_TRY(const privacy::Event event, share.noisy_labels->event());
  return std::vector<privacy::Event>{event};
}

Result<privacy::Released<std::vector<double>>> send_labels(const ColumnShare& share, bool public_labels, bool& asked,
                                                           privacy::Gate& gate) {
  if (asked) return fail(bad_input({.field = "task"}, "labels are asked for once, before everything else"));
  if (share.privacy != nullptr && !share.labels.empty()) PARLEY_CHECK(labels_may_leave(public_labels));
  if (share.noisy_labels) {
    auto targets = share.noisy_labels->release(gate);
    if (targets) asked = true;
    return targets;
  }
  asked = true;
  if (share.privacy == nullptr) return gate.unprotected(privacy::Private(share.labels));
  return privacy::derive([](const std::vector<double>& known) { return known; }, privacy::Public{share.labels});
}

Result<void> check_labels(const LabelHolder& holder, glm::Task task, int party, std::span<const double> labels) {
  if (holder.records == 0) return {};
  if (party != holder.party)
    return labels.empty() ? Result<void>{} : fail(failed("it holds labels, which are another party's"));
  if (labels.size() != holder.records)
    return fail(failed("it does not have one label per record that the party introduced"));
  if (holder.noise)
    return told_with(*holder.noise, task, labels)
               ? Result<void>{}
               : fail(failed("it holds labels that the noise of this job does not give"));
  const auto is_class = [&](double y) {
    return task == glm::Task::kSoftmax ? y >= 0 && y < holder.classes && y == std::floor(y) : y == 1 || y == -1;
  };
  if (task != glm::Task::kLinear && !std::all_of(labels.begin(), labels.end(), is_class))
    return fail(failed("it holds labels that are not classes"));
  return {};
}

Result<std::vector<double>> the_labels(std::span<const std::vector<double>* const> sent) {
  const std::vector<double>* labels = nullptr;
  for (const std::vector<double>* each : sent) {
    if (each->empty()) continue;
    if (labels != nullptr) return fail(failed("two parties sent labels; labels.party names the one that holds them"));
    labels = each;
  }
  if (labels == nullptr) return fail(failed("no party sent labels"));
  return *labels;
}

}  // namespace parley::algorithms
