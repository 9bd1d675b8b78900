#include "parley/algorithms/greedy_cd.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "parley/algorithms/exact.h"
#include "parley/algorithms/largest_score.h"

namespace parley::algorithms {

namespace {

using glm::Intercept;

Result<void> check(const Problem& problem, const GreedySettings& settings) {
  PARLEY_CHECK(check(problem, ExactSettings{}));  // what every single-site trainer asks of its problem
  const glm::Objective& objective = problem.objective;
  if (objective.l1_radius)
    return fail(bad_input({.field = "l1_radius"}, "greedy-cd takes penalties (l1, l2), not constraints",
                          fmt::format("{}", *objective.l1_radius)));
  if (objective.sparsity)
    return fail(bad_input({.field = "sparsity"}, "greedy-cd takes penalties (l1, l2), not constraints",
                          fmt::format("{}", *objective.sparsity)));
  if (settings.rule == GreedyRule::kSmooth && objective.l1 > 0)
    return fail(bad_input({.field = "rule"}, "gs is for smooth objectives; with an l1 penalty use gs-s, gs-r or gs-q",
                          fmt::format("l1 = {}", objective.l1)));
  if (settings.iterations < 1)
    return fail(bad_input({.field = "iterations"}, "must be at least 1", fmt::format("{}", settings.iterations)));
  if (!(settings.step > 0) || !std::isfinite(settings.step))
    return fail(bad_input({.field = "step"}, "must be a number above 0", fmt::format("{}", settings.step)));
  if (!(settings.tolerance >= 0) || !std::isfinite(settings.tolerance))
    return fail(bad_input({.field = "tolerance"}, "must be a number >= 0", fmt::format("{}", settings.tolerance)));
  return {};
}

// sup of the second derivative of the loss along one margin.
double coordinate_curvature(glm::Task task) {
  return task == glm::Task::kSoftmax ? 0.25 : glm::curvature_bound(task);
}

// M_j of every coordinate of a class. A column of zeros counts like the smallest of the others; it is never worth a step.
std::vector<double> smoothness(const Problem& problem, SmoothnessFrom from) {
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

// Who looks at the data on behalf of the algorithm: it ranks coordinates and tells partial derivatives.
class OpenSite {
 public:
  OpenSite(const Problem& problem, KeptMargins& margins) : sums_(problem), largest_(sums_.coordinates()) {
    margins.refresh(sums_);
  }

  PlainSums& sums() { return sums_; }
  void rank_all(const GreedyScores& scores) {
    for (std::size_t c = 0; c < sums_.coordinates(); ++c) rank(c, scores);
  }
  void rank_touched(const GreedyScores& scores) {
    for (const std::uint32_t c : sums_.touched()) rank(c, scores);
    sums_.forget_touched();
  }
  void rank(std::size_t c, const GreedyScores& scores) { largest_.update(c, scores.score(c, sums_.gradient(c))); }

  std::size_t select() { return largest_.select(); }
  [[nodiscard]] double partial(std::size_t coordinate) const { return sums_.gradient(coordinate); }
  // What the best step promises to take off the objective.
  [[nodiscard]] double promise(std::size_t coordinate) const {
    return 0.5 * largest_[coordinate] * largest_[coordinate];
  }

 private:
  PlainSums sums_;
  LargestScore largest_;
};

struct GreedyPoint {
  GreedyPoint(const Problem& problem, const GreedySettings& settings)
      : margins(problem, settings.upkeep),
        smoothness(algorithms::smoothness(problem, settings.smoothness)),
        weights(margins.coordinates()),
        scores{settings.rule, glm::penalty_of(problem.objective), weights, smoothness,
               problem.objective.intercept == Intercept::kFree} {}

  // W_j <- prox(W_j - gamma/M_j g; gamma/M_j psi); returns the change.
  double step(std::size_t j, double partial, double gamma) {
    const glm::Penalty penalty = scores.penalty_at(j);
    Coordinate at = scores.at(j, partial);
    at.smoothness /= gamma;
    const double change = best_step(at, penalty);
    penalties += penalty.value(weights[j] + change) - penalty.value(weights[j]);
    weights[j] += change;
    return change;
  }
  [[nodiscard]] double objective() const { return margins.mean_loss() + penalties; }

  KeptMargins margins;
  std::vector<double> smoothness;
  std::vector<double> weights;
  GreedyScores scores;
  double penalties = 0;
};

void split(const GreedyPoint& point, Fit& fit) {
  for (std::size_t c = 0; c < point.weights.size(); ++c)
    (point.margins.is_constant(c) ? fit.intercepts : fit.weights).push_back(point.weights[c]);
}

}  // namespace

Result<Fit> greedy_cd(const Problem& problem, const GreedySettings& settings, const Observer& observer) {
  PARLEY_CHECK(check(problem, settings));
  GreedyPoint point(problem, settings);
  OpenSite site(problem, point.margins);
  site.rank_all(point.scores);
  const auto distance = [&] {
    double largest = 0;
    for (std::size_t c = 0; c < point.weights.size(); ++c)
      largest = std::max(largest, point.scores.penalty_at(c).subgradient_distance(point.weights[c], site.partial(c)));
    return largest;
  };
  if (!std::isfinite(distance()))
    return fail(bad_input({.field = "features"}, "must be finite numbers; the gradient is not"));

  Fit fit{.certificate = Certificate::kGradientNorm, .stop = Stop::kIterations};
  while (fit.iterations < settings.iterations) {
    std::size_t j = site.select();  // (3)
    if (site.promise(j) <= settings.tolerance) {
      point.margins.refresh(site.sums());  // what rounding left in the kept sums must not decide
      site.rank_all(point.scores);
      j = site.select();
      if (site.promise(j) <= settings.tolerance) {
        fit.stop = Stop::kConverged;
        break;
      }
    }
    const double change = point.step(j, site.partial(j), settings.step);  // (4)
    if (point.margins.add(j, change, site.sums()) == Changed::kAll)
      site.rank_all(point.scores);
    else
      site.rank_touched(point.scores);
    site.rank(j, point.scores);
    fit.history.push_back(point.objective());
    ++fit.iterations;
    if (observer && !observer({fit.iterations, fit.history.back(), std::numeric_limits<double>::quiet_NaN(),
                               settings.iterations})) {
      fit.stop = Stop::kInterrupted;
      break;
    }
  }
  point.margins.refresh(site.sums());
  fit.gap = distance();
  split(point, fit);
  fit.objective = glm::evaluate(problem.objective, problem.features, problem.labels, fit.weights, fit.intercepts);
  if (!fit.history.empty()) fit.history.back() = fit.objective;
  return fit;
}

}  // namespace parley::algorithms
