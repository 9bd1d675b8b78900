#include "parley/algorithms/greedy_cd.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "parley/algorithms/exact.h"
#include "parley/algorithms/greedy_cd_sites.h"
#include "parley/algorithms/private_terms.h"
#include "parley/algorithms/smoothness.h"

namespace parley::algorithms {

namespace {

using glm::Intercept;

Result<void> check(const Problem& problem, const GreedySettings& settings) {
  PARLEY_CHECK(check(problem, ExactSettings{}));  // what every single-site trainer asks of its problem
  const glm::Objective& objective = problem.objective;
  if (objective.l1_radius)
    return fail(bad_input({.field = "model.l1_radius"}, "greedy-cd takes penalties (l1, l2), not constraints",
                          fmt::format("{}", *objective.l1_radius)));
  if (objective.sparsity)
    return fail(bad_input({.field = "model.sparsity"}, "greedy-cd takes penalties (l1, l2), not constraints",
                          fmt::format("{}", *objective.sparsity)));
  if (settings.rule == GreedyRule::kSmooth && objective.l1 > 0)
    return fail(bad_input({.field = "algorithm.rule"}, "gs is for smooth objectives; with an l1 penalty use gs-s, gs-r or gs-q",
                          fmt::format("l1 = {}", objective.l1)));
  if (settings.iterations && *settings.iterations < 1)
    return fail(bad_input({.field = "algorithm.iterations"}, "must be at least 1", fmt::format("{}", *settings.iterations)));
  if (!(settings.step > 0) || !std::isfinite(settings.step))
    return fail(bad_input({.field = "algorithm.step"}, "must be a number above 0", fmt::format("{}", settings.step)));
  if (!(settings.tolerance >= 0) || !std::isfinite(settings.tolerance))
    return fail(bad_input({.field = "algorithm.tolerance"}, "must be a number >= 0", fmt::format("{}", settings.tolerance)));
  if (settings.share && !(*settings.share > 0 && *settings.share < 1))
    return fail(bad_input({.field = "algorithm.share"}, "must lie between 0 and 1", fmt::format("{}", *settings.share)));
  if (problem.privacy == nullptr) return {};
  if (objective.intercept == Intercept::kFree)
    return fail(bad_input({.field = "model.intercept"}, "a private run takes a penalised intercept or none", "free"));
  if (settings.smoothness == SmoothnessFrom::kData)
    return fail(bad_input({.field = "algorithm.smoothness"},
                          "a private run of greedy-cd takes it from the bounds, or privately (privacy.smoothness)"));
  return {};
}

// M_j of every coordinate of a class. A column of zeros counts like the smallest of the others; it is never worth a step.
std::vector<double> smoothness(const Problem& problem, SmoothnessFrom from) {
  if (problem.privacy != nullptr) return smoothness_of_bounds(problem);
  const double c = coordinate_curvature(problem.objective.task);
  std::vector<double> of(static_cast<std::size_t>(problem.features.cols()), c);
  if (from == SmoothnessFrom::kData) {
    of = problem.features.column_squared_norms();
    double least = std::numeric_limits<double>::infinity();
    for (double& m : of) {
      m *= c / static_cast<double>(problem.labels.size());
      if (m > 0) least = std::min(least, m);
    }
    for (double& m : of)
      if (!(m > 0)) m = std::isfinite(least) ? least : c;
  }
  if (problem.objective.intercept != Intercept::kNone) of.push_back(c);
  return of;
}

struct GreedyPoint {
  GreedyPoint(const Problem& problem, const GreedySettings& settings)
      : margins(problem, settings.upkeep),
        smoothness(algorithms::smoothness(problem, settings.smoothness.value_or(SmoothnessFrom::kData))),
        slopes(smoothness.size()),
        weights(margins.coordinates()),
        scores{settings.rule, glm::penalty_of(problem.objective),
               weights,       smoothness,
               slopes,        problem.objective.intercept == Intercept::kFree} {
    set_slopes();
  }

  void take(std::span<const double> released) {
    std::copy(released.begin(), released.end(), smoothness.begin());
    set_slopes();
  }
  void set_slopes() {
    const bool smooth = scores.rule == GreedyRule::kSmooth;
    for (std::size_t j = 0; j < slopes.size(); ++j) slopes[j] = 1 / std::sqrt(smoothness[j] + (smooth ? scores.penalty_at(j).l2 : 0.0));
    const auto same = [](std::span<const double> of) {
      return std::all_of(of.begin(), of.end(), [&](double value) { return value == of.front(); });
    };
    scores.alike = same(smoothness) && same(slopes);
  }

  // W_j <- prox(W_j - gamma/M_j g; gamma/M_j psi); returns the change.
  double step(std::size_t j, double partial, double gamma) {
    const glm::Penalty penalty = scores.penalty_at(j);
    Coordinate at = scores.at(j, partial);
    at.smoothness /= gamma;
    const double before = weights[j];
    weights[j] = std::clamp(before + best_step(at, penalty), -largest_weight, largest_weight);
    penalties += penalty.value(weights[j]) - penalty.value(before);
    return weights[j] - before;
  }
  [[nodiscard]] double objective() const { return margins.mean_loss() + penalties; }

  KeptMargins margins;
  std::vector<double> smoothness;
  std::vector<double> slopes;
  std::vector<double> weights;
  GreedyScores scores;
  double largest_weight = std::numeric_limits<double>::infinity();
  double penalties = 0;
};

// Looks at every record afresh.
template <class Site>
Result<void> refresh(GreedyPoint& point, Site& site) {
  point.margins.refresh(site.sums());
  return site.rank_all(point.scores);
}

// One step of the algorithm, whoever answers for the data.
template <class Site>
Result<void> step(GreedyPoint& point, Site& site, double gamma) {
  PARLEY_TRY(const std::size_t j, site.select(point.scores));  // (3)
  PARLEY_TRY(const double partial, site.partial(j));
  const double change = point.step(j, partial, gamma);  // (4)
  if (point.margins.add(j, change, site.sums()) == Changed::kAll) return site.rank_all(point.scores);
  PARLEY_CHECK(site.rank_touched(point.scores));
  return site.rank(j, point.scores);
}

// False when the observer asks for an end.
bool report(const GreedyPoint& point, const Observer& observer, std::int64_t steps, Fit& fit) {
  ++fit.iterations;
  fit.history.push_back(point.objective());
  const double no_certificate = std::numeric_limits<double>::quiet_NaN();
  if (!observer || observer({fit.iterations, fit.history.back(), no_certificate, static_cast<int>(steps)})) return true;
  fit.stop = Stop::kInterrupted;
  return false;
}

void finish(const Problem& problem, const GreedyPoint& point, Fit& fit) {
  for (std::size_t c = 0; c < point.weights.size(); ++c)
    (point.margins.is_constant(c) ? fit.intercepts : fit.weights).push_back(point.weights[c]);
  fit.objective = glm::evaluate(problem.objective, problem.features, problem.labels, fit.weights, fit.intercepts);
  if (!fit.history.empty()) fit.history.back() = fit.objective;
}

Result<Fit> openly(const Problem& problem, const GreedySettings& settings, const Observer& observer) {
  const int steps = settings.iterations.value_or(1000);
  GreedyPoint point(problem, settings);
  OpenSite site(problem);
  PARLEY_CHECK(refresh(point, site));
  const auto distance = [&] {
    double largest = 0;
    for (std::size_t c = 0; c < point.weights.size(); ++c)
      largest = std::max(largest, point.scores.penalty_at(c).subgradient_distance(point.weights[c], site.sums().gradient(c)));
    return largest;
  };
  if (!std::isfinite(distance())) return fail(bad_input({.field = "features"}, "must be finite numbers; the gradient is not"));

  Fit fit{.certificate = Certificate::kGradientNorm, .stop = Stop::kIterations};
  while (fit.iterations < steps) {
    if (site.best_promise() <= settings.tolerance) {
      PARLEY_CHECK(refresh(point, site));  // what rounding left in the kept sums must not decide
      if (site.best_promise() <= settings.tolerance) {
        fit.stop = Stop::kConverged;
        break;
      }
    }
    PARLEY_CHECK(step(point, site, settings.step));
    if (!report(point, observer, steps, fit)) break;
  }
  PARLEY_CHECK(refresh(point, site));
  fit.gap = distance();
  finish(problem, point, fit);
  return fit;
}

Result<Fit> privately(const Problem& problem, const GreedySettings& settings, const Observer& observer) {
  GreedyPoint point(problem, settings);
  const std::int64_t asked =
      settings.iterations.value_or(greedy_steps(problem.privacy->target, problem.privacy->records(), point.weights.size()));
  PARLEY_TRY(const std::optional<SmoothnessRelease> release, plan_smoothness(*problem.privacy));
  PARLEY_TRY(GatedSite site, GatedSite::reserve(problem, asked, settings.share, release));
  PARLEY_TRY(const std::vector<double> smoothness, private_smoothness(problem, release));
  point.take(smoothness);
  PARLEY_CHECK(site.rank_by(point.scores));
  point.largest_weight = site.largest_weight(point.scores);
  PARLEY_CHECK(refresh(point, site));

  Fit fit{.stop = site.steps() < asked ? Stop::kBudgetEnded : Stop::kIterations};
  fit.gap = std::numeric_limits<double>::quiet_NaN();
  while (fit.iterations < site.steps()) {
    PARLEY_CHECK(step(point, site, settings.step));
    if (!report(point, observer, site.steps(), fit)) break;
  }
  fit.releases = problem.privacy->gate->releases();
  finish(problem, point, fit);
  return fit;
}

}  // namespace

Result<Fit> greedy_cd(const Problem& problem, const GreedySettings& settings, const Observer& observer) {
  PARLEY_CHECK(check(problem, settings));
  return problem.privacy == nullptr ? openly(problem, settings, observer) : privately(problem, settings, observer);
}

}  // namespace parley::algorithms
