#include "parley/algorithms/relational/factorised_newton.h"

#include <algorithm>
#include <cmath>

#include "parley/algorithms/exact/exact_sparse_quadratic.h"
#include "parley/algorithms/parts/check.h"
#include "parley/algorithms/parts/recorder.h"
#include "parley/algorithms/relational/joined_newton.h"

namespace parley::algorithms {

namespace {

constexpr Refusal kRefused[] = {
    {Part::kNoL2, "exact over a join needs an l2 penalty above 0"},
    {Part::kL1Radius, "exact over a join takes penalties and no constraint"},
    {Part::kSparsity, "exact over a join takes penalties and no constraint"},
    {Part::kFreeIntercept, "exact over a join penalises every weight; use \"penalised\" or none"}};

// With l1: proximal Newton steps on the Hessian of the tables.
//
//   u  =  argmin  g'(u - w) + 1/2 (u - w)'H(u - w) + l1 |u|_1          (algorithms/exact/exact_sparse_quadratic.h)
//   w  <- w + t (u - w),   t = 1, 1/2, ... until F falls by 1e-4 of what the model promises for a small step
//
// Certificate: with s the smallest subgradient, F - min F <= |s|^2 / (2 l2), since F bends by l2 at least.
class SparseNewton {
 public:
  SparseNewton(const JoinedProblem& problem, const ExactSettings& settings)
      : problem_(problem), l1_(problem.objective.l1), l2_(problem.objective.l2), settings_(settings) {}

  Result<Fit> run(const Observer& observer) {
    const std::size_t size = problem_.penalties().size();
    std::vector<double> weights(size, 0.0), gradient(size);
    Fit fit;
    Recorder record(fit, observer, {.certificate = Certificate::kDualityGap});
    problem_.set_weights(weights);
    double loss = problem_.look(0).loss;
    for (;;) {
      problem_.loss_gradient(gradient);
      for (std::size_t j = 0; j < size; ++j) gradient[j] += l2_ * weights[j];
      const double objective = loss + penalty(weights);
      if (!std::isfinite(objective))
        return fail(bad_input({.field = "features"}, "every value and its square must be finite"));
      fit.weights = weights;
      fit.objective = objective;
      const double wrong = violation(weights, gradient);
      fit.gap = wrong * wrong / (2 * l2_);
      record.keep(objective);
      record.show(objective, fit.gap);
      if (fit.gap <= settings_.tolerance * std::min(1.0, objective)) record.end(Stop::kConverged);
      if (record.ended() || fit.iterations == settings_.max_iterations) return fit;
      std::vector<double> step = towards_minimiser(weights, gradient, wrong);
      problem_.set_line(step);
      const double taken = search(weights, gradient, step, objective, loss);
      if (taken == 0) {
        record.end(Stop::kStalled);
        return fit;
      }
      for (std::size_t j = 0; j < size; ++j) weights[j] += taken * step[j];
      problem_.move(taken);
      ++fit.iterations;
    }
  }

 private:
  [[nodiscard]] double penalty(std::span<const double> weights) const {
    double sum = 0;
    for (const double w : weights) sum += l1_ * std::abs(w) + l2_ / 2 * w * w;
    return sum;
  }
  // The norm of the smallest subgradient.
  [[nodiscard]] double violation(std::span<const double> weights, std::span<const double> gradient) const {
    double squares = 0;
    for (std::size_t j = 0; j < weights.size(); ++j) {
      const double at =
          weights[j] != 0 ? gradient[j] + std::copysign(l1_, weights[j]) : std::max(0.0, std::abs(gradient[j]) - l1_);
      squares += at * at;
    }
    return std::sqrt(squares);
  }
  [[nodiscard]] std::vector<double> towards_minimiser(std::span<const double> weights, std::span<const double> gradient,
                                                      double wrong) {
    const std::size_t size = weights.size();
    std::vector<double> square = problem_.hessian();
    for (std::size_t j = 0; j < size; ++j)
      for (std::size_t k = j + 1; k < size; ++k) square[j * size + k] = square[k * size + j];
    QuadraticModel model(std::move(square), {gradient.begin(), gradient.end()}, {weights.begin(), weights.end()},
                         std::vector<char>(size, 1));
    constexpr double kOfViolation = 1e-4;
    model.minimise(l1_, kOfViolation * wrong / std::sqrt(static_cast<double>(size)));
    std::vector<double> step(model.solution().begin(), model.solution().end());
    for (std::size_t j = 0; j < size; ++j) step[j] -= weights[j];
    return step;
  }
  // How much of the step, and the loss there; 0: none that lowers the objective.
  double search(std::span<const double> weights, std::span<const double> gradient, std::span<const double> step,
                double start, double& loss) {
    constexpr double kShare = 1e-4;
    double promised = 0;
    std::vector<double> moved(weights.begin(), weights.end());
    for (std::size_t j = 0; j < step.size(); ++j)
      promised += gradient[j] * step[j] + l1_ * (std::abs(weights[j] + step[j]) - std::abs(weights[j]));
    const double noise = 1e-15 * std::abs(start);
    for (double t = 1; t > 1e-12; t /= 2) {
      for (std::size_t j = 0; j < step.size(); ++j) moved[j] = weights[j] + t * step[j];
      const double at = problem_.look(t).loss;
      if (at + penalty(moved) > start + kShare * t * promised + noise) continue;
      loss = at;
      return t;
    }
    return 0;
  }

  JoinedNewton problem_;
  double l1_, l2_;
  ExactSettings settings_;
};

}  // namespace

Result<Fit> exact_over_join(const JoinedProblem& problem, const ExactSettings& settings, const Observer& observer) {
  PARLEY_CHECK(algorithms::check(problem.objective, kRefused));
  JoinedNewton smooth(problem);
  const std::size_t size = smooth.penalties().size();
  if (problem.objective.l1 == 0) return newton(smooth, std::vector<double>(size, 0.0), settings, observer);
  PARLEY_CHECK(require(size <= kLargestJoinedHessian, "model.l1",
                       "over a join needs a Hessian of the tables: at most 3000 weights", size));
  return SparseNewton(problem, settings).run(observer);
}

}  // namespace parley::algorithms
