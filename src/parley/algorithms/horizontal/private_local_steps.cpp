#include "parley/algorithms/horizontal/private_local_steps.h"

#include <algorithm>
#include <cmath>

#include "parley/algorithms/parts/check.h"
#include "parley/privacy/mechanisms/poisson_sampling.h"

namespace parley::algorithms {

namespace {

// The norm of a record's gradient at a model of zeros, at most: nothing is cut at the start.
double default_clip(const glm::Objective& objective, const PrivateTerms& terms) {
  const double constant = objective.intercept == glm::Intercept::kNone ? 0.0 : 1.0;
  double derivative = terms.derivative_bound;
  if (objective.task == glm::Task::kLogistic) derivative = std::min(derivative, 0.5);
  if (objective.task == glm::Task::kSoftmax)
    derivative = std::min(derivative * std::sqrt(2.0), std::sqrt(1 - 1.0 / objective.classes));
  return derivative * std::sqrt(terms.row_bound * terms.row_bound + constant);
}

}  // namespace

Result<void> PrivateLocalSteps::check(const glm::Objective& objective, const LocalSettings& settings) {
  PARLEY_CHECK(algorithms::check(objective, {&kNoFreeIntercept, 1}));
  if (settings.batch_growth != 1)
    return fail(bad_input({.field = "algorithm.batch_growth"}, "a private run samples every step at the same rate"));
  return {};
}

Result<std::shared_ptr<PrivateLocalSteps>> PrivateLocalSteps::reserve(const glm::Objective& objective,
                                                                      const LocalSettings& settings,
                                                                      const RowShare& share, privacy::Gate& gate) {
  PARLEY_CHECK(check(objective, settings));
  const PrivateTerms& terms = *share.privacy;
  const double rate = settings.batch == 0 ? 1.0 : std::min(1.0, static_cast<double>(settings.batch) / terms.records());
  PARLEY_TRY(privacy::PoissonSampling sampling, privacy::PoissonSampling::make(rate));
  const std::int64_t steps = std::int64_t{settings.rounds} * settings.local_steps;
  PARLEY_TRY(const double multiplier, privacy::sampled_gaussian_noise(terms.target, rate, steps));
  PARLEY_TRY(privacy::BatchSum sum,
             privacy::BatchSum::make(*terms.features,
                                     {.norm_bound = settings.clip > 0 ? settings.clip : default_clip(objective, terms),
                                      .derivative_bound = terms.derivative_bound,
                                      .classes = objective.classes,
                                      .constant = objective.intercept != glm::Intercept::kNone,
                                      .neighbours = terms.target.neighbours,
                                      .unit = terms.unit,
                                      .noise_multiplier = multiplier}));
  const privacy::Deviation noise{multiplier * sum.contribution()};
  // The multiplier as the gate will compute it from the same two doubles.
  const privacy::SubsampledGaussian event{noise.sigma / sum.contribution(), rate};
  // In whole rounds: an answer takes the noise of all its steps, so a part of a round would be paid for nothing.
  PARLEY_CHECK(gate.reserve({.step = {{event, settings.local_steps}}, .steps = settings.rounds}, terms.target.delta));
  const Problem problem{terms.features->matrix(), share.labels, objective, &terms};
  return std::shared_ptr<PrivateLocalSteps>(new PrivateLocalSteps(problem, std::move(sampling), std::move(sum), noise));
}

Result<privacy::Released<std::vector<double>>> PrivateLocalSteps::sum(std::span<const double> parameters,
                                                                      privacy::Gate& gate) {
  PARLEY_TRY(privacy::Batch batch, gate.sample(sampling_, problem_.labels.size()));
  const auto derivatives = derivatives_.at(parameters, batch.records());
  return gate.release(sum_.sum(std::move(batch), derivatives), noise_);
}

}  // namespace parley::algorithms
