#include "parley/algorithms/frank_wolfe/frank_wolfe_private.h"

#include <algorithm>
#include <cmath>

#include "parley/algorithms/frank_wolfe/frank_wolfe_vertices.h"
#include "parley/algorithms/parts/descent_length.h"
#include "parley/algorithms/parts/private_steps.h"
#include "parley/algorithms/parts/recorder.h"
#include "parley/algorithms/parts/smoothness.h"
#include "parley/glm/loss.h"
#include "parley/privacy/accounting/calibration.h"

namespace parley::algorithms {

namespace {

constexpr double kDrop = 0.4;
constexpr double kReach = 0.4;  // frank_wolfe_private.h
constexpr double kMostSteps = 1000;
constexpr double kUnsure = 0.2;  // frank_wolfe_private.h

std::size_t coordinates_of(const Problem& problem) {
  const bool constant = problem.objective.intercept == glm::Intercept::kPenalised;
  return static_cast<std::size_t>(problem.objective.classes) *
         (static_cast<std::size_t>(problem.features.cols()) + (constant ? 1 : 0));
}

double largest_bound(const Problem& problem) {
  double bound = problem.objective.intercept == glm::Intercept::kPenalised ? 1 : 0;
  for (std::size_t j = 0; j < static_cast<std::size_t>(problem.features.cols()); ++j)
    bound = std::max(bound, problem.privacy->features->bound(j));
  return bound;
}

// n sqrt(8 rho) / ln m.
double sure_records(const Problem& problem, double one_value) {
  return problem.privacy->records() * 2 / (one_value * log_candidates(2 * coordinates_of(problem)));
}

// What a selection costs.
Result<double> selection_cost(const PrivateTerms& terms, std::int64_t steps) {
  if (terms.calibration == privacy::Calibration::kProved) return privacy::selection_epsilon(terms.target, steps);
  // Talwar et al.: Laplace scale b = R sqrt(8 T ln(1/delta)) / (n epsilon) on every score. Report-noisy-max at scale b
  // costs 2D/b for scores of sensitivity D, which is R/n when a record comes or goes and 2R/n when one takes the place
  // of another.
  const double records = terms.target.neighbours == privacy::Neighbours::kReplaceOne ? 2 : 1;
  return 2 * records * terms.target.epsilon.value() /
         std::sqrt(8 * static_cast<double>(steps) * std::log(1 / terms.target.delta.value()));
}

// Charges all selections, or as many as the budget holds.
Result<VertexPlan> reserve(const PrivateTerms& terms, std::int64_t steps) {
  PARLEY_TRY(const double cost, selection_cost(terms, steps));
  PARLEY_TRY(const privacy::Epsilon epsilon, privacy::Epsilon::make(cost));
  const privacy::Mechanism selection = terms.calibration == privacy::Calibration::kPaper
                                           ? privacy::Mechanism{privacy::Pure{cost}}
                                           : privacy::Mechanism{privacy::Exponential{cost}};
  PARLEY_TRY(const std::int64_t held,
             terms.gate->reserve({.step = {{selection, 1}}, .steps = steps}, terms.target.delta));
  return VertexPlan{epsilon, held};
}

}  // namespace

bool refresh_due(int t, int last) {
  const auto scale = [](int step) { return 2.0 / ((step + 1.0) * (step + 2.0)); };
  return scale(t) <= (1 - kDrop) * scale(last);
}

std::int64_t suggested_steps(const Problem& problem) {
  const PrivateTerms& terms = *problem.privacy;
  const auto one_value = privacy::gaussian_noise(terms.target, 1);
  if (!one_value) return 1;
  const double reach = glm::curvature_bound(problem.objective.task) * *problem.objective.l1_radius *
                       largest_bound(problem) * sure_records(problem, *one_value) / terms.derivative_bound;
  return static_cast<std::int64_t>(std::clamp(std::floor(kReach * std::pow(reach, 2.0 / 3)), 1.0, kMostSteps));
}

double suggested_radius(const Problem& problem, std::int64_t steps) {
  const PrivateTerms& terms = *problem.privacy;
  const double bound = largest_bound(problem), columns = static_cast<double>(problem.features.cols());
  const double square =
      std::min(bound * bound, terms.row_bound * terms.row_bound / columns);  // of a feature, in the mean
  if (!(square > 0)) return *problem.objective.l1_radius;
  const auto one_value = privacy::gaussian_noise(terms.target, 1);
  const double noise = one_value ? 4 * std::sqrt(static_cast<double>(steps)) / sure_records(problem, *one_value) : 1;
  const double most =
      kNoiseShare * std::pow(kUnsure / noise, 2) * loss_of_nothing(problem.objective, terms.label_bound);
  return std::min(*problem.objective.l1_radius, std::sqrt(1.5 * static_cast<double>(steps) * most /
                                                          (coordinate_curvature(problem.objective.task) * square)));
}

Result<Fit> frank_wolfe_private(const Problem& whole, const FrankWolfeSettings& settings, const Observer& observer) {
  Problem problem = whole;
  if (!settings.iterations) problem.objective.l1_radius = suggested_radius(whole, suggested_steps(whole));
  const PrivateTerms& terms = *problem.privacy;
  const std::int64_t asked = settings.iterations ? *settings.iterations : suggested_steps(whole);
  PARLEY_TRY(const VertexPlan plan, reserve(terms, asked));
  PARLEY_TRY(const std::unique_ptr<PrivateVertices> vertices,
             settings.mode != FrankWolfeMode::kPlain && residuals_need_no_clip(problem)
                 ? residual_vertices(problem, settings, plan)
                 : margin_vertices(problem, settings, plan));

  ScaledWeights weights(coordinates_of(problem));
  Fit fit;
  Recorder record(fit, observer, {.expected = plan.steps, .otherwise = when_done(plan.steps, asked)});
  for (int t = 0; t < plan.steps && !record.ended(); ++t) {
    PARLEY_TRY(const glm::Vertex vertex, vertices->select());
    const ScaledWeights::Change change = weights.move(vertex, 2.0 / (t + 2.0));
    PARLEY_CHECK(vertices->follow(weights, change, vertex.coordinate, t));
    record.step(vertices->objective());
  }
  fit.releases = terms.gate->releases();
  record.finish(problem, weights.values());
  return fit;
}

}  // namespace parley::algorithms
