#include "parley/algorithms/relational/unit_descent.h"

#include <algorithm>
#include <cmath>

#include "parley/algorithms/parts/check.h"
#include "parley/algorithms/parts/descent_length.h"
#include "parley/algorithms/parts/private_terms.h"
#include "parley/algorithms/parts/recorder.h"
#include "parley/algorithms/relational/unit_sums.h"
#include "parley/algorithms/sgd/sgd_plan.h"
#include "parley/glm/penalties.h"
#include "parley/privacy/accounting/step_noise.h"

namespace parley::algorithms {

namespace {

constexpr Refusal kRefused[] = {
    {Part::kL1Radius, "sgd over a join takes penalties and no constraint"},
    {Part::kSparsity, "sgd over a join takes penalties and no constraint"},
    {Part::kFreeIntercept, "sgd over a join penalises every weight; use \"penalised\" or none"}};

constexpr int kNoiseBits = 30;            // of the deviation, in grains
constexpr double kSmallestClip = 1e-100;  // grids have room around it

Result<void> check_settings(const JoinedProblem& problem, const SgdSettings& settings) {
  PARLEY_CHECK(algorithms::check(problem.objective, kRefused));
  if (problem.privacy == nullptr)
    return fail(bad_input({.field = "algorithm.name"},
                          "sgd over a join is for private runs; without [privacy] exact finds the optimum of one"));
  PARLEY_CHECK(require(settings.batch_rate.value_or(1) == 1, "algorithm.batch_rate",
                       "every unit of a join is in every step: 1, or left out", settings.batch_rate.value_or(1)));
  const double clip = settings.clip.value_or(1);
  PARLEY_CHECK(require(clip >= kSmallestClip && clip <= 1 / kSmallestClip, "algorithm.clip",
                       "must lie between 1e-100 and 1e100", clip));
  if (settings.result == SgdResult::kTailAverage)
    return fail(bad_input({.field = "algorithm.result"}, "over a join is \"last\"", "tail-average"));
  const PrivateTerms& terms = *problem.privacy;
  if (terms.target.neighbours != privacy::Neighbours::kReplaceOne)
    return fail(bad_input({.field = "privacy.neighbours"},
                          "over a join the keys are public, and so is how many units there are; use \"replace-one\"",
                          "add-remove"));
  if (terms.calibration != privacy::Calibration::kProved || terms.smoothness != privacy::Smoothness::kBounds)
    return fail(bad_input({.field = "privacy"}, "sgd takes calibration = \"proved\" and smoothness = \"bounds\""));
  return {};
}

Result<SgdPlan> plan_of(const JoinedProblem& problem, const UnitSums& sums, SgdSettings settings) {
  const PrivateTerms& terms = *problem.privacy;
  const double at_zero = derivative_at_zero(problem.objective, terms.label_bound);
  SgdShape shape{.records = static_cast<double>(sums.rows()),
                 .row_norm = terms.row_bound,
                 .curvature = glm::curvature_bound(problem.objective.task),
                 .target = terms.target,
                 .derivative_bound = std::min(terms.derivative_bound, at_zero),
                 .margin_scale = problem.objective.task == glm::Task::kLinear ? terms.label_bound : 1.0,
                 .coordinates = static_cast<double>(sums.coordinates()),
                 .total_curvature = total_curvature(problem.objective),
                 .l1 = problem.objective.l1,
                 .l2 = problem.objective.l2,
                 .loss_of_nothing = loss_of_nothing(problem.objective, terms.label_bound)};
  const double rows_of_a_unit = static_cast<double>(sums.rows()) / static_cast<double>(sums.units());
  if (!settings.clip) settings.clip = shape.derivative_bound * shape.row_norm * std::sqrt(rows_of_a_unit);
  settings.batch_rate = 1;
  return sgd_plan(shape, settings);
}

// What a step adds up, with its noise.
struct Releases {
  privacy::ClipRule rule;
  privacy::Deviation noise;
  int steps = 0;  // that the budget holds
};

Result<Releases> reserve(const PrivateTerms& terms, const UnitSums& sums, const SgdPlan& plan) {
  PARLEY_TRY(const double multiplier, privacy::gaussian_noise(terms.target, plan.steps));
  PARLEY_TRY(const privacy::Grain grain, privacy::Grain::below(2 * multiplier * plan.clip, kNoiseBits));
  Releases releases{.rule = {plan.clip, grain, terms.target.neighbours, terms.unit}, .noise = {0}};
  // As every sum will state it.
  PARLEY_TRY(const auto nothing,
             privacy::clipped_vector_sum(privacy::Private(privacy::UnitContributions{0, sums.coordinates(), nullptr}),
                                         releases.rule));
  PARLEY_TRY(
      const privacy::StepNoise noise,
      privacy::step_noise(terms.target,
                          {.steps = plan.steps, .share = 0, .value_sensitivity = grain.grains(nothing.sensitivity())}));
  releases.noise = {std::ldexp(noise.value_sigma, grain.exponent)};
  PARLEY_TRY(const std::int64_t steps,
             terms.gate->reserve({.step = noise.step, .steps = plan.steps}, terms.target.delta));
  releases.steps = static_cast<int>(steps);
  return releases;
}

}  // namespace

Result<Fit> sgd_over_join(const JoinedProblem& problem, const SgdSettings& settings, const Observer& observer) {
  PARLEY_CHECK(check_settings(problem, settings));
  const PrivateTerms& terms = *problem.privacy;
  UnitSums sums(problem, terms.derivative_bound);
  if (sums.units() == 0 || sums.rows() == 0 || sums.coordinates() == 0)
    return fail(bad_input({.field = "join"}, "has no rows or no columns to train on"));
  PARLEY_TRY(const SgdPlan plan, plan_of(problem, sums, settings));
  PARLEY_TRY(const Releases releases, reserve(terms, sums, plan));

  const glm::Penalty penalty = penalty_of(problem.objective);
  const double factor = plan.step / static_cast<double>(sums.rows());
  Fit fit;
  fit.weights.assign(sums.coordinates(), 0.0);
  std::vector<double> before = fit.weights;
  Recorder record(fit, observer, {.expected = plan.steps, .otherwise = when_done(releases.steps, plan.steps)});
  sums.move_to(fit.weights);
  while (fit.iterations < releases.steps && !record.ended()) {
    PARLEY_TRY(const auto sum, sums.sum(releases.rule));
    PARLEY_TRY(const auto released, terms.gate->release(sum, releases.noise));
    double penalties = 0;
    for (std::size_t c = 0; c < before.size(); ++c) {
      const double moved = fit.weights[c] - factor * released.value()[c] + plan.momentum * (fit.weights[c] - before[c]);
      before[c] = fit.weights[c];
      fit.weights[c] = penalty.prox(plan.step, moved);
      penalties += penalty.value(fit.weights[c]);
    }
    fit.objective = sums.move_to(fit.weights) + penalties;
    record.step(fit.objective);
  }
  fit.releases = fit.iterations;
  return fit;
}

}  // namespace parley::algorithms
