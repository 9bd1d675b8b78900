#include "parley/glm/model.h"

#include <cmath>
#include <cstdint>

#include "parley/core/text.h"
#include "parley/glm/batch.h"
#include "parley/glm/metrics.h"
#include "parley/glm/objective.h"
#include "parley/linalg/matrix.h"

namespace parley::glm {

namespace {

Result<void> check_numbers(const std::string& field, const std::vector<double>& values, std::size_t expected,
                           bool may_be_empty) {
  if (values.empty() && may_be_empty) return {};
  if (values.size() != expected)
    return fail(bad_input({.field = "model." + field}, "must have " + counted(expected, "entry", "entries"),
                          std::to_string(values.size())));
  for (const double value : values)
    if (!std::isfinite(value))
      return fail(bad_input({.field = "model." + field}, "must hold finite numbers", std::to_string(value)));
  return {};
}

tl::unexpected<Error> not_for(Task task, const char* what) {
  return fail(bad_input({.field = "task"}, std::string("has no ") + what + " to predict", name(task)));
}

}  // namespace

std::size_t Model::outputs() const {
  return task == Task::kSoftmax ? classes.size() : 1;
}

Result<void> Model::check() const {
  const std::size_t d = columns.size();
  const std::size_t expected_classes = has_real_labels(task) ? 0 : 2;
  const bool classes_fit = task == Task::kSoftmax ? classes.size() >= 2 : classes.size() == expected_classes;
  if (!classes_fit)
    return fail(bad_input({.field = "model.classes"}, "must fit the task " + std::string(name(task)),
                          counted(classes.size(), "class", "classes")));
  PARLEY_CHECK(check_numbers("weights", weights, outputs() * d, false));
  PARLEY_CHECK(check_numbers("intercepts", intercepts, outputs(), true));
  PARLEY_CHECK(check_numbers("scales", scales, d, true));
  PARLEY_CHECK(check_numbers("centers", centers, d, true));
  if (!bounds.empty() && bounds.size() != d)
    return fail(bad_input({.field = "model.bounds"}, "must have " + counted(d, "entry", "entries"),
                          std::to_string(bounds.size())));
  if (unit_rows && !centers.empty())
    return fail(bad_input({.field = "model.unit_rows"}, "does not go with centered columns"));
  return {};
}

std::vector<double> Model::raw_weights() const {
  std::vector<double> raw = weights;
  if (!scales.empty())
    for (std::size_t at = 0; at < raw.size(); ++at) raw[at] *= scales[at % columns.size()];
  return raw;
}

std::vector<double> Model::raw_intercepts() const {
  std::vector<double> raw = intercepts;
  raw.resize(outputs(), 0.0);
  if (centers.empty()) return raw;
  const std::vector<double> slopes = raw_weights();
  for (std::size_t at = 0; at < slopes.size(); ++at) {
    const std::size_t j = at % columns.size();
    if (slopes[at] != 0) raw[at / columns.size()] -= slopes[at] * centers[j];
  }
  return raw;
}

Result<std::vector<double>> Model::margins(const linalg::Matrix& features) const {
  PARLEY_CHECK(check());
  if (static_cast<std::size_t>(features.cols()) != columns.size())
    return fail(bad_input({.field = "features"}, "must have the model's " + counted(columns.size(), "column"),
                          std::to_string(features.cols())));
  const auto rows = static_cast<std::size_t>(features.rows());
  std::vector<double> out(rows * outputs());
  if (!unit_rows) {
    compute_margins(features, raw_weights(), raw_intercepts(), out);
    return out;
  }
  compute_margins(features, raw_weights(), {}, out);
  const linalg::Matrix scaled = scales.empty() ? features : features.with_column_scale(scales);
  for (std::size_t i = 0; i < rows; ++i) {
    const double norm = std::sqrt(scaled.row_squared_norm(static_cast<linalg::Index>(i)));
    for (std::size_t k = 0; k < outputs(); ++k) {
      double& margin = out[k * rows + i];
      if (norm > 0) margin /= norm;
      if (!intercepts.empty()) margin += intercepts[k];
    }
  }
  return out;
}

double Model::cut() const {
  return threshold ? std::log(*threshold / (1 - *threshold)) : 0;
}

Result<std::vector<double>> Model::predict_values(const linalg::Matrix& features) const {
  if (!has_real_labels(task)) return not_for(task, "real values");
  PARLEY_TRY(std::vector<double> out, margins(features));
  if (task == Task::kPoisson) std::transform(out.begin(), out.end(), out.begin(), Poisson::rate);
  return out;
}

Result<std::vector<double>> Model::predict_probabilities(const linalg::Matrix& features) const {
  if (task != Task::kLogistic && task != Task::kSoftmax) return not_for(task, "probabilities");
  PARLEY_TRY(std::vector<double> out, margins(features));
  class_probabilities(out, static_cast<std::size_t>(features.rows()), out);
  return out;
}

Result<std::vector<int>> Model::predict_classes(const linalg::Matrix& features) const {
  if (has_real_labels(task)) return not_for(task, "classes");
  PARLEY_TRY(std::vector<double> all, margins(features));
  if (cut() != 0)
    for (double& margin : all) margin -= cut();
  const auto rows = static_cast<std::size_t>(features.rows());
  std::vector<int> out(rows);
  for (std::size_t i = 0; i < rows; ++i) out[i] = predicted_class(all, rows, i);
  return out;
}

}  // namespace parley::glm
