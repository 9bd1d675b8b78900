#include "parley/algorithms/parts/check.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "parley/algorithms/parts/private_terms.h"

namespace parley::algorithms {

namespace {

using glm::Intercept;
using glm::Task;

bool fits(double label, const glm::Objective& objective) {
  switch (objective.task) {
    case Task::kLinear:
      return std::isfinite(label);
    case Task::kPoisson:
      return label >= 0 && label <= glm::Poisson::kLargestRate;
    case Task::kLogistic:
    case Task::kSquaredHinge:
      return label == 1.0 || label == -1.0;
    case Task::kSoftmax:
      return label >= 0 && label < objective.classes && label == std::floor(label);
  }
  return false;
}

std::string_view label_rule(Task task) {
  switch (task) {
    case Task::kLinear:
      return "a label must be a finite number";
    case Task::kPoisson:
      return "a label must be a count or another number from 0 to e^20";
    case Task::kLogistic:
    case Task::kSquaredHinge:
      return "a label must be -1 or +1";
    case Task::kSoftmax:
      return "a label must be a class number from 0 to classes - 1";
  }
  return "";
}

Result<void> check(const Problem& problem) {
  const glm::Objective& objective = problem.objective;
  PARLEY_CHECK(require(is_not_negative(objective.l1), "model.l1", "must be a number >= 0", objective.l1));
  PARLEY_CHECK(require(is_not_negative(objective.l2), "model.l2", "must be a number >= 0", objective.l2));
  if (objective.l1_radius)
    PARLEY_CHECK(require(is_positive(*objective.l1_radius), "model.l1_radius", "must be a positive number",
                         *objective.l1_radius));
  const bool softmax = objective.task == Task::kSoftmax;
  PARLEY_CHECK(require(softmax ? objective.classes >= 2 : objective.classes == 1, "classes",
                       softmax ? "softmax needs at least 2 classes" : "must be 1 unless the task is softmax",
                       objective.classes));
  PARLEY_CHECK(require(problem.features.rows() >= 1, "features", "needs at least one row", problem.features.rows()));
  PARLEY_CHECK(require(problem.labels.size() == static_cast<std::size_t>(problem.features.rows()), "labels",
                       "needs one label per row", problem.labels.size()));
  if (!problem.weights.empty())
    PARLEY_CHECK(require(problem.weights.size() == problem.labels.size(), "weights", "needs one weight per row",
                         problem.weights.size()));
  for (std::size_t i = 0; i < problem.weights.size(); ++i)
    PARLEY_CHECK(require(is_not_negative(problem.weights[i]), "weights", "must be numbers >= 0", problem.weights[i]));
  for (std::size_t i = 0; i < problem.labels.size(); ++i)
    if (!fits(problem.labels[i], objective))
      return fail(bad_input({.field = fmt::format("label of row {}", i + 1)}, label_rule(objective.task),
                            fmt::format("{}", problem.labels[i])));
  return {};
}

// A part of a problem as an error names it: the field of the job and its value, "" where none is to be shown.
struct Found {
  const char* field;
  std::string value;
};

Found found(const char* field, double value) {
  return {field, fmt::format("{}", value)};
}

std::optional<Found> find(Part part, const glm::Objective& objective, const PrivateTerms* privacy) {
  switch (part) {
    case Part::kSoftmax:
      if (objective.task == Task::kSoftmax) return Found{"job.task", std::string(name(objective.task))};
      break;
    case Part::kNoL2:
      if (!(objective.l2 > 0)) return found("model.l2", objective.l2);
      break;
    case Part::kL1:
      if (objective.l1 != 0) return found("model.l1", objective.l1);
      break;
    case Part::kL1Radius:
      if (objective.l1_radius) return found("model.l1_radius", *objective.l1_radius);
      break;
    case Part::kNoL1Radius:
      if (!objective.l1_radius) return Found{"model.l1_radius", ""};
      break;
    case Part::kL1Groups:
      if (!objective.l1_groups.empty()) return Found{"model.l1_groups", ""};
      break;
    case Part::kBox:
      if (objective.box) return found("model.box", *objective.box);
      break;
    case Part::kSparsity:
      if (objective.sparsity) return found("model.sparsity", *objective.sparsity);
      break;
    case Part::kNoSparsity:
      if (!objective.sparsity) return Found{"model.sparsity", ""};
      break;
    case Part::kFreeIntercept:
      if (objective.intercept == Intercept::kFree) return Found{"model.intercept", "free"};
      break;
    case Part::kPaperCalibration:
      if (privacy != nullptr && privacy->calibration != privacy::Calibration::kProved) return Found{"privacy", ""};
      break;
    case Part::kPrivateSmoothness:
      if (privacy != nullptr && privacy->smoothness != privacy::Smoothness::kBounds) return Found{"privacy", ""};
      break;
  }
  return std::nullopt;
}

Result<void> refuse(std::span<const Refusal> refused, const glm::Objective& objective, const PrivateTerms* privacy) {
  for (const Refusal& refusal : refused)
    if (const auto there = find(refusal.part, objective, privacy); there && refusal.reason != kTaken)
      return fail(bad_input({.field = there->field}, refusal.reason, there->value));
  return {};
}

constexpr Refusal kRefusedUnlessTaken[] = {
    {Part::kL1Groups, "this algorithm has one l1 ball; exact takes groups with a ball each"},
    {Part::kBox, "this algorithm does not take a box; exact, bcfw and admm-sharing do"}};

Result<void> refuse_sets(std::span<const Refusal> refused, const glm::Objective& objective) {
  for (const Refusal& refusal : kRefusedUnlessTaken) {
    const bool named =
        std::any_of(refused.begin(), refused.end(), [&](const Refusal& other) { return other.part == refusal.part; });
    if (!named) PARLEY_CHECK(refuse({&refusal, 1}, objective, nullptr));
  }
  return {};
}

}  // namespace

bool is_positive(double value) {
  return std::isfinite(value) && value > 0;
}

bool is_not_negative(double value) {
  return std::isfinite(value) && value >= 0;
}

Result<void> check(const glm::Objective& objective, std::span<const Refusal> refused) {
  PARLEY_CHECK(refuse_sets(refused, objective));
  return refuse(refused, objective, nullptr);
}

Result<void> check(const Problem& problem, std::span<const Refusal> refused,
                   std::span<const Refusal> refused_privately) {
  PARLEY_CHECK(check(problem));
  PARLEY_CHECK(refuse_sets(refused, problem.objective));
  PARLEY_CHECK(refuse(refused, problem.objective, problem.privacy));
  if (problem.privacy == nullptr) return {};
  return refuse(refused_privately, problem.objective, problem.privacy);
}

Result<void> check_free_intercept(const Problem& problem) {
  const glm::Objective& objective = problem.objective;
  const bool softmax = objective.task == Task::kSoftmax;
  if (objective.intercept != Intercept::kFree || (!softmax && objective.task != Task::kLogistic)) return {};
  std::vector<bool> seen(softmax ? static_cast<std::size_t>(objective.classes) : 2);
  for (const double y : problem.labels) seen[softmax ? static_cast<std::size_t>(y) : (y > 0 ? 1 : 0)] = true;
  const auto missing = std::find(seen.begin(), seen.end(), false);
  if (missing == seen.end()) return {};
  const auto k = missing - seen.begin();
  return fail(bad_input({.field = "labels"},
                        fmt::format("no row has label {}: a free intercept needs rows of every class; drop the class, "
                                    "or use a penalised intercept or none",
                                    softmax ? k : 2 * k - 1)));
}

}  // namespace parley::algorithms
