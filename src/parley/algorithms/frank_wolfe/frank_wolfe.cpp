#include "parley/algorithms/frank_wolfe/frank_wolfe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "parley/algorithms/frank_wolfe/frank_wolfe_iterate.h"
#include "parley/algorithms/frank_wolfe/frank_wolfe_private.h"
#include "parley/algorithms/parts/check.h"
#include "parley/algorithms/parts/recorder.h"

namespace parley::algorithms {

FrankWolfeSettings FrankWolfeSettings::read(Toml& settings) {
  FrankWolfeSettings frank_wolfe;
  int iterations = 0;
  if (settings.integer("iterations", iterations, at_least(1))) frank_wolfe.iterations = iterations;
  settings.number("gap_tolerance", frank_wolfe.gap_tolerance, at_least(0));
  FrankWolfeStep step{};
  if (settings.choice<FrankWolfeStep>("step", step,
                                      {{"open-loop", FrankWolfeStep::kOpenLoop},
                                       {"short", FrankWolfeStep::kShort},
                                       {"line-search", FrankWolfeStep::kLineSearch}}))
    frank_wolfe.step = step;
  return frank_wolfe;
}

namespace {

constexpr Refusal kRefused[] = {{Part::kNoL1Radius, "frank-wolfe needs the radius of the l1 ball"},
                                {Part::kL1, "frank-wolfe takes the constraint l1_radius instead of an l1 penalty"},
                                {Part::kSparsity, "frank-wolfe takes the constraint l1_radius instead"}};
constexpr Refusal kRefusedPrivately[] = {kNoFreeIntercept};

Result<void> check(const Problem& problem, const FrankWolfeSettings& settings) {
  PARLEY_CHECK(check(problem, kRefused, kRefusedPrivately));
  if (settings.iterations)
    PARLEY_CHECK(
        require(*settings.iterations >= 1, "algorithm.iterations", "must be at least 1", *settings.iterations));
  if (problem.privacy != nullptr && settings.step.value_or(FrankWolfeStep::kOpenLoop) != FrankWolfeStep::kOpenLoop)
    return fail(
        bad_input({.field = "algorithm.step"}, "a private run takes open-loop steps: the others look at the data"));
  PARLEY_CHECK(require(is_not_negative(settings.gap_tolerance), "algorithm.gap_tolerance", "must be a number >= 0",
                       settings.gap_tolerance));
  PARLEY_CHECK(require(settings.mode != FrankWolfeMode::kGram || problem.objective.task == glm::Task::kLinear,
                       "algorithm.mode", "Gram columns serve least squares only", name(problem.objective.task)));
  return check_free_intercept(problem);
}

std::unique_ptr<FrankWolfeIterate> start(const Problem& problem, const FrankWolfeSettings& settings) {
  // A Gram column costs at most one pass over the matrix (less when the column is sparse), once per distinct
  // column; a plain step costs one pass every time. So Gram columns never lose where they apply.
  const bool gram = problem.objective.task == glm::Task::kLinear && settings.mode != FrankWolfeMode::kPlain;
  return gram ? gram_iterate(problem, settings) : margin_iterate(problem);
}

double open_loop(int t) {
  return 2.0 / (t + 2.0);
}

double step_size(FrankWolfeStep rule, int t, FrankWolfeIterate& iterate, const glm::Vertex& vertex) {
  switch (rule) {
    case FrankWolfeStep::kOpenLoop:
      return open_loop(t);
    case FrankWolfeStep::kShort: {
      const Segment segment = iterate.segment(vertex);
      if (segment.slope >= 0) return 0;
      return -segment.slope >= segment.curvature ? 1.0 : -segment.slope / segment.curvature;
    }
    case FrankWolfeStep::kLineSearch:
      return iterate.line_search(vertex);
  }
  return 0;
}

// The lowest point so far. Open-loop steps may go up: a run that is interrupted ends at its best point, which the
// vertices it was sent to make again, and a step costs no copy of the weights. A run that is not ends where its steps
// do, as the papers' and its private twin.
class BestPoint {
 public:
  void see(int t, double objective, double gap) {
    if (t > 0 && !(objective >= objective_)) {
      t_ = t;
      objective_ = objective;
      gap_ = gap;
    }
  }
  void follow(const glm::Vertex& vertex) { vertices_.push_back(vertex); }

  // Goes back to that point, and says which it is.
  int take(FrankWolfeIterate& iterate, std::size_t coordinates, Fit& fit) const {
    if (t_ == 0 || t_ == fit.iterations) return fit.iterations;
    ScaledWeights weights(coordinates);
    for (int t = 0; t < t_; ++t) weights.move(vertices_[static_cast<std::size_t>(t)], open_loop(t));
    iterate.place(std::move(weights));
    fit.gap = gap_;
    return t_;
  }

 private:
  std::vector<glm::Vertex> vertices_;
  int t_ = 0;
  double objective_ = std::numeric_limits<double>::infinity();
  double gap_ = 0;
};

Result<Fit> run(const Problem& problem, const FrankWolfeSettings& settings, const Observer& observer,
                VertexChoice* choice) {
  PARLEY_CHECK(check(problem, settings));
  const int iterations = settings.iterations.value_or(1000);
  const FrankWolfeStep step = settings.step.value_or(FrankWolfeStep::kLineSearch);
  const glm::L1Ball ball{*problem.objective.l1_radius};
  const auto iterate = start(problem, settings);
  // A feature that is not finite makes its coordinate of X'q so, also where q is 0.
  const auto first = iterate->gradient();
  if (const auto bad = std::find_if(first.begin(), first.end(), [](double g) { return !std::isfinite(g); });
      bad != first.end())
    return fail(
        bad_input({.field = "features"}, "must be finite numbers; the gradient is not", fmt::format("{}", *bad)));

  Fit fit;
  Recorder record(fit, observer, {.certificate = Certificate::kFrankWolfeGap});
  const bool may_go_up = step == FrankWolfeStep::kOpenLoop && choice == nullptr;
  BestPoint best;
  for (int t = 0;; ++t) {
    const double objective = iterate->objective();
    const glm::Vertex steepest = iterate->steepest(ball);
    fit.gap = iterate->gradient_dot_weights() - steepest.value * iterate->gradient_at(steepest.coordinate);
    fit.iterations = t;
    if (t > 0) record.keep(objective);
    if (may_go_up) best.see(t, objective, fit.gap);
    if (fit.gap <= settings.gap_tolerance) record.end(Stop::kConverged);
    if (!record.show(objective, fit.gap) || t == iterations) break;

    const glm::Vertex vertex = choice == nullptr ? steepest : choice->choose(iterate->gradient());
    if (may_go_up) best.follow(vertex);
    iterate->move(vertex, step_size(step, t, *iterate, vertex));
  }
  const int last =
      may_go_up && fit.stop == Stop::kInterrupted ? best.take(*iterate, first.size(), fit) : fit.iterations;
  iterate->finish(fit);
  if (last > 0) fit.history[static_cast<std::size_t>(last) - 1] = fit.objective;
  return fit;
}

}  // namespace

Result<Fit> frank_wolfe(const Problem& problem, const FrankWolfeSettings& settings, const Observer& observer) {
  if (problem.privacy == nullptr) return run(problem, settings, observer, nullptr);
  PARLEY_CHECK(check(problem, settings));
  return frank_wolfe_private(problem, settings, observer);
}

Result<Fit> frank_wolfe(const Problem& problem, const FrankWolfeSettings& settings, const Observer& observer,
                        VertexChoice& choice) {
  return run(problem, settings, observer, &choice);
}

ScaledWeights::Change ScaledWeights::move(const glm::Vertex& vertex, double gamma) {
  Change change;
  scale_ *= 1.0 - gamma;
  if (scale_ < 1e-100) {  // also gamma = 1: V must not be divided by a vanishing scale
    change.fold = scale_;
    for (double& value : values_) value *= scale_;
    squared_ *= scale_ * scale_;
    scale_ = 1;
  }
  change.added = gamma * vertex.value / scale_;
  double& value = values_[vertex.coordinate];
  squared_ += change.added * (2.0 * value + change.added);
  value += change.added;
  return change;
}

std::vector<double> ScaledWeights::values() const {
  std::vector<double> all = values_;
  for (double& value : all) value *= scale_;
  return all;
}

double ScaledWeights::squared_distance(const glm::Vertex& vertex) const {
  return vertex.value * vertex.value - 2.0 * vertex.value * (*this)[vertex.coordinate] + squared_norm();
}

}  // namespace parley::algorithms
