#include "parley/algorithms/exact/newton.h"

#include <algorithm>
#include <cmath>

#include "parley/algorithms/parts/recorder.h"

namespace parley::algorithms {

namespace {

// F along the line w + t p.
struct Line {
  NewtonProblem& problem;
  double linear = 0;     // of the penalty in t
  double quadratic = 0;  // twice the coefficient of t^2

  double penalty_at_start = 0;

  [[nodiscard]] double penalty(double t) const { return penalty_at_start + t * linear + 0.5 * t * t * quadratic; }
};

struct Step {
  double t = 0;     // 0: none found
  double loss = 0;  // the loss alone at its end
};

// A step whose slope is at most half the slope at the start, and lower than the start.
Step search(const Line& line, double start, double start_slope) {
  constexpr double kSlopeShare = 0.5;
  // Near the optimum differences of F drown in rounding.
  const double noise = 1e-15 * std::abs(start);
  double low = 0;
  double low_slope = start_slope;
  double high = 0;
  double high_slope = 0;
  double t = 1;
  for (int k = 0; k < 80; ++k) {
    const LinePoint point = line.problem.look(t);
    const double slope = point.slope + line.linear + t * line.quadratic;
    const bool flat = std::abs(slope) <= std::max(kSlopeShare * std::abs(start_slope), noise);
    if (flat && point.loss + line.penalty(t) <= start + noise) return {t, point.loss};
    if (slope <= 0) {
      low = t;
      low_slope = slope;
    } else {
      high = t;
      high_slope = slope;
    }
    if (high == 0) {
      t *= std::clamp(start_slope / (start_slope - slope), 2.0, 10.0);
      if (!(t < 1e12)) break;
      continue;
    }
    const double secant = low + (high - low) * low_slope / (low_slope - high_slope);
    t = std::clamp(secant, low + 0.05 * (high - low), high - 0.05 * (high - low));
    if (high - low <= 1e-14 * high) break;
  }
  if (low == 0) return {};
  return {low, line.problem.look(low).loss};
}

double norm(std::span<const double> v) {
  double sum = 0;
  for (const double x : v) sum += x * x;
  return std::sqrt(sum);
}

Error no_minimum() {
  return bad_input({.field = "model.l2"},
                   "the classes can be separated by a linear rule, so without a penalty the loss has no "
                   "minimum; set l2 > 0, l1 > 0 or l1_radius",
                   "0");
}

}  // namespace

long double penalty_mismatch(std::span<const double> penalties, std::span<const double> weights,
                             std::span<const double> image, long double n) {
  const double l2 = *std::max_element(penalties.begin(), penalties.end());
  long double sum = 0;
  for (std::size_t j = 0; j < weights.size(); ++j)
    if (penalties[j] > 0) {
      const long double scaled = image[j] / n;
      sum += 0.5L * l2 * weights[j] * weights[j] + scaled * scaled / (2.0L * l2);
    }
  return sum;
}

Result<Fit> newton(NewtonProblem& problem, std::vector<double> weights, const ExactSettings& settings,
                   const Observer& observer) {
  const std::span<const double> penalties = problem.penalties();
  const std::size_t size = penalties.size();
  const double l2 = size == 0 ? 0 : *std::max_element(penalties.begin(), penalties.end());
  const bool all_penalised = size > 0 && *std::min_element(penalties.begin(), penalties.end()) > 0;

  std::vector<double> gradient(size);
  std::vector<double> step(size);
  Fit best;
  Recorder record(best, observer, {.certificate = l2 > 0 ? Certificate::kDualityGap : Certificate::kGradientNorm});
  best.gap = INFINITY;
  double first_norm = 0;
  bool fresh = true;  // margins are A w, not a sum of steps
  double lowest = INFINITY;
  int since_best = 0;  // iterations without progress of the gap or of the objective
  int escapes = 0;
  constexpr int kPatience = 8;
  constexpr int kEscapes = 10;

  problem.set_weights(weights);
  double loss = problem.look(0).loss;
  if (size == 0) {  // nothing to choose
    best.gap = 0;
    best.objective = loss;
    record.keep(loss);
    record.end(Stop::kConverged);
    return best;
  }
  for (;;) {
    problem.loss_gradient(gradient);
    double penalty = 0;
    double free_part = 0;
    for (std::size_t j = 0; j < size; ++j) {
      penalty += 0.5 * penalties[j] * weights[j] * weights[j];
      gradient[j] += penalties[j] * weights[j];
      if (penalties[j] == 0) free_part += gradient[j] * gradient[j];
    }
    const double objective = loss + penalty;
    const double gradient_norm = norm(gradient);
    if (!std::isfinite(gradient_norm) || !std::isfinite(objective))
      return fail(bad_input({.field = "features"}, "every value and its square must be finite"));
    if (best.iterations == 0) first_norm = gradient_norm;
    const double limit =
        l2 > 0 ? settings.tolerance * std::min(1.0, objective) : settings.tolerance * std::max(1.0, first_norm);
    double gap = l2 > 0 ? (gradient_norm * gradient_norm - free_part) / (2 * l2) : gradient_norm;
    if (l2 > 0 && !all_penalised && gap <= limit) gap = std::max(gap, problem.duality_gap(weights));
    record.keep(objective);
    const bool lower = objective < lowest * (1 - 1e-12);
    lowest = std::min(lowest, objective);
    since_best = lower || gap < 0.5 * best.gap ? 0 : since_best + 1;
    if (gap < best.gap || best.weights.empty()) {
      best.weights = weights;
      best.objective = objective;
      best.gap = gap;
    }
    const bool small = gap <= limit;
    if (small && !fresh) {
      problem.set_weights(weights);
      loss = problem.look(0).loss;
      fresh = true;
      best.history.pop_back();
      best.gap = INFINITY;
      continue;
    }
    if (l2 == 0 && problem.separated()) return fail(no_minimum());
    if (since_best > kPatience) record.end(Stop::kStalled);
    record.show(objective, gap);
    if (small && l2 > 0) record.end(Stop::kConverged);
    if (record.ended() || best.iterations == settings.max_iterations) break;

    problem.newton_step(gradient, std::min(0.1, std::sqrt(gradient_norm / first_norm)), step);
    problem.set_line(step);
    if (small) {
      // A small gradient without a penalty is an optimum only if Newton's method would stay.
      if (problem.line_size() <= 1e-3) {
        record.end(Stop::kConverged);
        break;
      }
      if (++escapes > kEscapes) return fail(no_minimum());
    }
    Line line{.problem = problem, .penalty_at_start = penalty};
    double slope = 0;
    for (std::size_t j = 0; j < size; ++j) {
      line.linear += penalties[j] * weights[j] * step[j];
      line.quadratic += penalties[j] * step[j] * step[j];
      slope += gradient[j] * step[j];
    }
    const Step taken = slope < 0 ? search(line, objective, slope) : Step{};
    if (taken.t == 0) {
      record.end(Stop::kStalled);
      break;
    }
    problem.move(taken.t);
    fresh = false;
    for (std::size_t j = 0; j < size; ++j) weights[j] += taken.t * step[j];
    loss = taken.loss;
    ++best.iterations;
  }
  return best;
}

}  // namespace parley::algorithms
