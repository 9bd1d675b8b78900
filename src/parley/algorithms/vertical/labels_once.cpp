#include "parley/algorithms/vertical/labels_once.h"

#include <algorithm>
#include <cmath>

namespace parley::algorithms {

Result<void> labels_may_leave(bool public_labels) {
  if (public_labels) return {};
  return fail(bad_input(
      {.field = "labels.public"},
      "a private run sends the labels to the coordinator: declare them public to the parties, or do not run"));
}

Result<privacy::Released<std::vector<double>>> send_labels(const ColumnShare& share, bool public_labels, bool& asked,
                                                           privacy::Gate& gate) {
  if (asked) return fail(bad_input({.field = "task"}, "labels are asked for once, before everything else"));
  if (share.privacy != nullptr && !share.labels.empty()) PARLEY_CHECK(labels_may_leave(public_labels));
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
