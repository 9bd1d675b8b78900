#include "parley/algorithms/horizontal/local_steps.h"

#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>

#include "parley/algorithms/horizontal/private_local_steps.h"
#include "parley/algorithms/sgd/sgd_gradient.h"
#include "parley/data/random.h"
#include "parley/linalg/vectors.h"

namespace parley::algorithms {

namespace {

std::size_t intercepts_per_class(const glm::Objective& objective) {
  return objective.intercept == glm::Intercept::kNone ? 0 : 1;
}

// x <- x - step (share sum + l2 x), and H_tau where it is asked for. Public but for the sum.
struct Step {
  glm::Objective objective;
  double step = 0;
  AfterStep after = AfterStep::kNothing;
  double share = 1;  // 1/b

  void operator()(std::span<const double> sum, std::span<double> parameters) const {
    const std::size_t width = parameters.size() / static_cast<std::size_t>(objective.classes);
    const bool free_intercept = objective.intercept == glm::Intercept::kFree;
    for (std::size_t c = 0; c < parameters.size(); ++c) {
      const double l2 = free_intercept && c % width == width - 1 ? 0.0 : objective.l2;
      parameters[c] -= step * (share * sum[c] + l2 * parameters[c]);
    }
    if (after == AfterStep::kThreshold) keep_largest(objective, parameters);
  }
};

}  // namespace

LocalSettings LocalSettings::read(Toml& settings) {
  LocalSettings local;
  settings.integer("iterations", local.rounds, at_least(1));
  settings.integer("local_steps", local.local_steps, at_least(1));
  settings.number("step", local.step, above(0));
  settings.integer("batch", local.batch, at_least(0));
  settings.number("clip", local.clip, above(0));
  settings.number("batch_growth", local.batch_growth, {.low = 0, .high = 1, .open_low = true});
  return local;
}

std::size_t parameter_count(const glm::Objective& objective, std::size_t columns) {
  return static_cast<std::size_t>(objective.classes) * (columns + intercepts_per_class(objective));
}

std::size_t column_count(const glm::Objective& objective, std::size_t parameters) {
  return parameters / static_cast<std::size_t>(objective.classes) - intercepts_per_class(objective);
}

WeightsAndIntercepts separate(const glm::Objective& objective, std::span<const double> parameters) {
  const std::size_t columns = column_count(objective, parameters.size());
  const std::size_t width = columns + intercepts_per_class(objective);
  WeightsAndIntercepts separated;
  for (std::size_t c = 0; c < parameters.size(); ++c)
    (c % width < columns ? separated.weights : separated.intercepts).push_back(parameters[c]);
  return separated;
}

void keep_largest(const glm::Objective& objective, std::span<double> parameters) {
  assert(objective.sparsity);
  const auto classes = static_cast<std::size_t>(objective.classes);
  const std::size_t width = parameters.size() / classes;
  const std::size_t compete = objective.intercept == glm::Intercept::kFree ? width - 1 : width;
  for (std::size_t k = 0; k < classes; ++k)
    linalg::hard_threshold(parameters.subspan(k * width, compete), static_cast<std::size_t>(*objective.sparsity));
}

std::vector<std::size_t> draw_batch(const LocalSettings& settings, const RowShare& share, std::int64_t round, int k) {
  const std::size_t records = share.labels.size();
  const double wanted =
      std::ceil(static_cast<double>(settings.batch) * std::pow(settings.batch_growth, -static_cast<double>(round)));
  if (settings.batch == 0 || !(wanted < static_cast<double>(records))) {
    std::vector<std::size_t> all(records);
    std::iota(all.begin(), all.end(), std::size_t{0});
    return all;
  }
  data::Random random(settings.seed, static_cast<std::uint64_t>(share.party),
                      static_cast<std::uint64_t>(round) * static_cast<std::uint64_t>(settings.local_steps) +
                          static_cast<std::uint64_t>(k));
  const auto drawn = data::distinct_numbers(random, static_cast<std::uint64_t>(wanted), records);
  return {drawn.begin(), drawn.end()};
}

std::int64_t public_records(const RowShare& share) {
  return share.privacy == nullptr ? static_cast<std::int64_t>(share.labels.size())
                                  : static_cast<std::int64_t>(share.privacy->records());
}

double step_size(const glm::Objective& objective, const LocalSettings& settings, double row_norm) {
  if (settings.step > 0) return settings.step;
  const double constant = static_cast<double>(intercepts_per_class(objective));
  const double curvature = glm::curvature_bound(objective.task) * (row_norm * row_norm + constant) + objective.l2;
  return curvature > 0 ? 1 / curvature : 1.0;
}

privacy::Private<std::vector<double>> open_local_steps(const glm::Objective& objective, const LocalSettings& settings,
                                                       const LocalWork& work, const RowShare& share) {
  const Problem problem{share.features, share.labels, objective};
  BatchDerivatives derivatives(problem);
  PlainBatchSum batch_sum(problem, derivatives, std::numeric_limits<double>::infinity());
  std::vector<double> parameters = work.parameters;
  for (int k = 0; k < settings.local_steps; ++k) {
    const std::vector<std::size_t> batch = draw_batch(settings, share, work.round, k);
    const Step rule{objective, work.step, work.after, 1.0 / static_cast<double>(batch.size())};
    rule(batch_sum.sum(batch, derivatives.at(parameters, batch)), parameters);
  }
  return privacy::Private(std::move(parameters));
}

Result<privacy::Released<std::vector<double>>> local_steps(const glm::Objective& objective,
                                                           const LocalSettings& settings, const LocalWork& work,
                                                           const RowShare& share, PrivateLocalSteps* paid,
                                                           privacy::Gate& gate) {
  if (share.privacy == nullptr) return gate.unprotected(open_local_steps(objective, settings, work, share));
  const privacy::Public rule{Step{objective, work.step, work.after, 1 / paid->expected_batch()}};
  auto parameters =
      privacy::derive([](const std::vector<double>& start) { return start; }, privacy::Public{work.parameters});
  for (int k = 0; k < settings.local_steps; ++k) {
    PARLEY_TRY(const auto sum, paid->sum(parameters.value(), gate));
    parameters = privacy::derive(
        [](const std::vector<double>& from, const std::vector<double>& noisy, const Step& moves) {
          std::vector<double> to = from;
          moves(noisy, to);
          return to;
        },
        parameters, sum, rule);
  }
  return parameters;
}

}  // namespace parley::algorithms
