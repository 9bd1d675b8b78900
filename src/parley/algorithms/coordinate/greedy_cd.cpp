#include "parley/algorithms/coordinate/greedy_cd.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "parley/algorithms/coordinate/greedy_cd_sites.h"
#include "parley/algorithms/parts/check.h"
#include "parley/algorithms/parts/private_terms.h"
#include "parley/algorithms/parts/recorder.h"
#include "parley/algorithms/parts/smoothness.h"
#include "parley/glm/penalties.h"

namespace parley::algorithms {

GreedySettings GreedySettings::read(Toml& settings) {
  GreedySettings greedy;
  int iterations = 0;
  if (settings.integer("iterations", iterations, at_least(1))) greedy.iterations = iterations;
  settings.number("step", greedy.step, above(0));
  settings.number("share", greedy.share, between(0, 1));
  settings.number("tolerance", greedy.tolerance, at_least(0));
  settings.choice<GreedyRule>("rule", greedy.rule,
                              {{"gs", GreedyRule::kSmooth},
                               {"gs-s", GreedyRule::kSubgradient},
                               {"gs-r", GreedyRule::kStep},
                               {"gs-q", GreedyRule::kDecrease}});
  SmoothnessFrom smoothness{};
  if (settings.choice<SmoothnessFrom>("smoothness", smoothness,
                                      {{"data", SmoothnessFrom::kData}, {"bounds", SmoothnessFrom::kBounds}}))
    greedy.smoothness = smoothness;
  return greedy;
}

namespace {

using glm::Intercept;

constexpr Refusal kRefused[] = {{Part::kL1Radius, "greedy-cd takes penalties (l1, l2), not constraints"},
                                {Part::kSparsity, "greedy-cd takes penalties (l1, l2), not constraints"}};
constexpr Refusal kRefusedPrivately[] = {kNoFreeIntercept};

Result<void> check(const Problem& problem, const GreedySettings& settings) {
  PARLEY_CHECK(check(problem, kRefused, kRefusedPrivately));
  if (settings.rule == GreedyRule::kSmooth && problem.objective.l1 > 0)
    return fail(bad_input({.field = "algorithm.rule"},
                          "gs is for smooth objectives; with an l1 penalty use gs-s, gs-r or gs-q",
                          fmt::format("l1 = {}", problem.objective.l1)));
  if (settings.iterations)
    PARLEY_CHECK(
        require(*settings.iterations >= 1, "algorithm.iterations", "must be at least 1", *settings.iterations));
  PARLEY_CHECK(require(is_positive(settings.step), "algorithm.step", "must be a number above 0", settings.step));
  PARLEY_CHECK(
      require(is_not_negative(settings.tolerance), "algorithm.tolerance", "must be a number >= 0", settings.tolerance));
  if (settings.share)
    PARLEY_CHECK(require(*settings.share > 0 && *settings.share < 1, "algorithm.share", "must lie between 0 and 1",
                         *settings.share));
  if (problem.privacy != nullptr && settings.smoothness == SmoothnessFrom::kData)
    return fail(bad_input({.field = "algorithm.smoothness"},
                          "a private run of greedy-cd takes it from the bounds, or privately (privacy.smoothness)"));
  return {};
}

// M_j of every coordinate of a class. A column of zeros counts like the smallest of the others; it is never worth a
// step.
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
        weights(margins.coordinates()),
        scores(settings.rule, {problem.objective.l1, problem.objective.l2}, weights,
               smoothness(problem, settings.smoothness.value_or(SmoothnessFrom::kData)),
               problem.objective.intercept == Intercept::kFree) {}

  // W_j <- prox(W_j - gamma/M_j g; gamma/M_j psi); returns the change.
  double step(std::size_t j, double partial, double gamma) {
    const glm::Penalty penalty = penalty_at(j);
    privacy::CoordinateModel at = scores.at(j, partial);
    at.smoothness /= gamma;
    const double before = weights[j];
    weights[j] = std::clamp(before + best_step(at, scores.penalty_at(j)), -largest_weight, largest_weight);
    penalties += penalty.value(weights[j]) - penalty.value(before);
    return weights[j] - before;
  }
  [[nodiscard]] glm::Penalty penalty_at(std::size_t j) const {
    const auto [l1, l2] = scores.penalty_at(j);
    return {l1, l2};
  }
  [[nodiscard]] double objective() const { return margins.mean_loss() + penalties; }

  KeptMargins margins;
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

Result<Fit> openly(const Problem& problem, const GreedySettings& settings, const Observer& observer) {
  const int steps = settings.iterations.value_or(1000);
  GreedyPoint point(problem, settings);
  OpenSite site(problem);
  PARLEY_CHECK(refresh(point, site));
  const auto distance = [&] {
    double largest = 0;
    for (std::size_t c = 0; c < point.weights.size(); ++c)
      largest = std::max(largest, point.penalty_at(c).subgradient_distance(point.weights[c], site.sums().gradient(c)));
    return largest;
  };
  if (!std::isfinite(distance()))
    return fail(bad_input({.field = "features"}, "must be finite numbers; the gradient is not"));

  Fit fit;
  Recorder record(fit, observer, {.certificate = Certificate::kGradientNorm, .expected = steps});
  while (fit.iterations < steps && !record.ended()) {
    if (site.best_promise() <= settings.tolerance) {
      PARLEY_CHECK(refresh(point, site));  // what rounding left in the kept sums must not decide
      if (site.best_promise() <= settings.tolerance) {
        record.end(Stop::kConverged);
        break;
      }
    }
    PARLEY_CHECK(step(point, site, settings.step));
    record.step(point.objective());
  }
  PARLEY_CHECK(refresh(point, site));
  fit.gap = distance();
  record.finish(problem, point.weights);
  return fit;
}

Result<Fit> privately(const Problem& problem, const GreedySettings& settings, const Observer& observer) {
  GreedyPoint point(problem, settings);
  const std::int64_t asked = settings.iterations.value_or(
      greedy_steps(problem.privacy->target, problem.privacy->records(), point.weights.size()));
  PARLEY_TRY(const std::optional<SmoothnessRelease> release, plan_smoothness(*problem.privacy));
  PARLEY_TRY(GatedSite site, GatedSite::reserve(problem, asked, settings.share, release));
  PARLEY_TRY(const std::vector<double> smoothness, private_smoothness(problem, release));
  point.scores.set_smoothness(smoothness);
  PARLEY_CHECK(site.rank_by(point.scores));
  point.largest_weight = site.largest_weight(point.scores);
  PARLEY_CHECK(refresh(point, site));

  Fit fit;
  Recorder record(fit, observer, {.expected = site.steps(), .otherwise = when_done(site.steps(), asked)});
  while (fit.iterations < site.steps() && !record.ended()) {
    PARLEY_CHECK(step(point, site, settings.step));
    record.step(point.objective());
  }
  fit.releases = problem.privacy->gate->releases();
  record.finish(problem, point.weights);
  return fit;
}

}  // namespace

Result<Fit> greedy_cd(const Problem& problem, const GreedySettings& settings, const Observer& observer) {
  PARLEY_CHECK(check(problem, settings));
  return problem.privacy == nullptr ? openly(problem, settings, observer) : privately(problem, settings, observer);
}

}  // namespace parley::algorithms
