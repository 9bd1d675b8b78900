#include "parley/algorithms/parts/smoothness.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "parley/privacy/sensitivity/clipped_sum.h"

namespace parley::algorithms {

namespace {

constexpr privacy::Grain kGrain{-28};   // g = 2^-28 of a record's largest contribution
constexpr double kChanceOfLess = 0.01;  // that noise takes some M_j below that of the data

privacy::ClipRule clip_rule(const PrivateTerms& terms, double norm) {
  return {.bound = norm, .grain = kGrain, .neighbours = terms.target.neighbours, .unit = terms.unit};
}

// ||((x_ij / B_j)^2)_j|| <= sqrt(sum_j (x_ij / B_j)^2), entries being at most 1; and that is at most X /
// min_j B_j, or sqrt(d).
double norm_of_squares(const PrivateTerms& terms) {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t j = 0; j < terms.features->columns(); ++j) least = std::min(least, terms.features->bound(j));
  return std::min(std::sqrt(static_cast<double>(terms.features->columns())), terms.row_bound / least);
}

}  // namespace

double coordinate_curvature(glm::Task task) {
  return task == glm::Task::kSoftmax ? 0.25 : glm::curvature_bound(task);
}

std::vector<double> smoothness_of_bounds(const Problem& problem) {
  const double c = coordinate_curvature(problem.objective.task);
  std::vector<double> of;
  for (std::size_t j = 0; j < problem.privacy->features->columns(); ++j)
    of.push_back(c * std::pow(problem.privacy->features->bound(j), 2));
  if (problem.objective.intercept != glm::Intercept::kNone) of.push_back(c);
  return of;
}

Result<std::optional<SmoothnessRelease>> plan_smoothness(const PrivateTerms& terms) {
  if (terms.smoothness == privacy::Smoothness::kBounds) return std::nullopt;
  if (terms.calibration == privacy::Calibration::kPaper)
    return fail(bad_input({.field = "privacy.smoothness"},
                          "the paper has no private estimate: use \"bounds\" or calibration = \"proved\""));
  SmoothnessRelease release{.norm = norm_of_squares(terms)};
  PARLEY_TRY(const double whole_target, privacy::gaussian_noise(terms.target, 1));
  const double sensitivity = privacy::column_squares_sensitivity(clip_rule(terms, release.norm));
  release.noise = {whole_target / std::sqrt(kSmoothnessShare) * sensitivity};
  PARLEY_TRY(release.event, privacy::Gate::gaussian_event(sensitivity, kGrain, release.noise));
  const double kappa = std::sqrt(2 * std::log(static_cast<double>(terms.features->columns()) / kChanceOfLess));
  release.floor =
      kappa * release.noise.sigma / terms.records() + kGrain.value() * terms.features->most_records() / terms.records();
  if (!(release.floor < 1))
    return fail(bad_input({.field = "privacy.smoothness"},
                          fmt::format("a private estimate would say nothing: its noise is {:.3g} of the "
                                      "bounds at this number of records and columns; "
                                      "use \"bounds\"",
                                      release.floor)));
  return release;
}

Result<std::vector<double>> private_smoothness(const Problem& problem,
                                               const std::optional<SmoothnessRelease>& release) {
  std::vector<double> of = smoothness_of_bounds(problem);
  if (!release) return of;
  const PrivateTerms& terms = *problem.privacy;
  PARLEY_TRY(const auto squares, privacy::clipped_column_squares(*terms.features, clip_rule(terms, release->norm)));
  PARLEY_TRY(const auto told, terms.gate->release(squares, release->noise));
  std::vector<double> shares;  // of c B_j^2
  for (const double v : told.value())
    shares.push_back(std::min(1.0, std::max(0.0, v) / terms.records() + release->floor));
  const double least = kLeastShare * *std::max_element(shares.begin(), shares.end());
  for (std::size_t j = 0; j < shares.size(); ++j) of[j] *= std::max(shares[j], least);
  return of;
}

}  // namespace parley::algorithms
