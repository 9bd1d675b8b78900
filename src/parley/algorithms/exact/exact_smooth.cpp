// One scalar margin per row: squared, logistic and squared hinge losses. Softmax: softmax_newton.h.
//
// Dual value with free intercept b, for alpha with sum_i alpha_i = 0 (Fenchel; phi* the conjugate):
//
//   D(alpha) = -1/n sum_i phi*(alpha_i) - |X'alpha / n|^2 / (2 l2)
//
//   squared         phi*(a) = a^2 / 2 + a y
//   logistic        phi*(a) = p log p + (1 - p) log(1 - p),   p = -y a in [0, 1]
//   squared hinge   phi*(a) = a^2 / 4 + a y,                  y a <= 0
//
// alpha = phi'(margins) sums to zero only at the optimum. Squared: its mean is taken off. Otherwise the alphas of the
// class that weighs more are scaled down; that keeps them in the domain.
#include "parley/algorithms/exact/exact_smooth.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "parley/algorithms/exact/dual_descent.h"
#include "parley/algorithms/exact/newton.h"
#include "parley/algorithms/exact/newton_systems.h"
#include "parley/algorithms/exact/softmax_newton.h"
#include "parley/algorithms/parts/check.h"
#include "parley/algorithms/parts/recorder.h"

namespace parley::algorithms {

namespace {

using glm::Intercept;
using glm::Task;

class ScalarProblem : public NewtonProblem {
 public:
  ScalarProblem(const Problem& problem, const CompactRows& rows, std::span<const double> penalties, Solver solver)
      : task_(problem.objective.task),
        labels_(problem.labels),
        rows_(rows),
        penalties_(penalties),
        margins_(rows.rows()),
        line_(rows.rows()),
        derivatives_(rows.rows()),
        curvatures_(rows.rows()),
        solver_(make_solver(solver, {rows, penalties, task_ == Task::kLinear})) {}

  [[nodiscard]] std::span<const double> penalties() const override { return penalties_; }

  void set_weights(std::span<const double> weights) override {
    rows_.multiply(weights, margins_);
    std::fill(line_.begin(), line_.end(), 0.0);
  }

  void set_line(std::span<const double> step) override { rows_.multiply(step, line_); }

  LinePoint look(double t) override {
    return look_along(task_, {labels_, margins_, line_}, t, derivatives_, curvatures_);
  }

  void move(double t) override {
    for (std::size_t i = 0; i < margins_.size(); ++i) margins_[i] += t * line_[i];
  }

  void loss_gradient(std::span<double> gradient) override {
    rows_.multiply_transposed(derivatives_, gradient);
    for (double& g : gradient) g /= static_cast<double>(rows_.rows());
  }

  void newton_step(std::span<const double> gradient, double forcing, std::span<double> step) override {
    for (double& c : curvatures_) c /= static_cast<double>(rows_.rows());
    solver_->solve(curvatures_, gradient, forcing, step);
  }

  double duality_gap(std::span<const double> weights) override {
    const std::vector<double> dual = balanced_dual();
    const auto n = static_cast<long double>(rows_.rows());
    long double mismatch = 0;  // sum of phi(m) + phi*(alpha)
    for (std::size_t i = 0; i < dual.size(); ++i) mismatch += loss(i) + conjugate(i, dual[i]);
    std::vector<double> image(weights.size());
    rows_.multiply_transposed(dual, image);
    return static_cast<double>(mismatch / n + penalty_mismatch(penalties_, weights, image, n));
  }

  [[nodiscard]] bool separated() const override {
    if (task_ != Task::kLogistic) return false;
    for (std::size_t i = 0; i < margins_.size(); ++i)
      if (!(labels_[i] * margins_[i] > 0)) return false;
    return true;
  }

  [[nodiscard]] double line_size() const override {
    if (task_ != Task::kLogistic) return 0;  // the other losses attain their minimum
    double largest = 0;
    for (const double q : line_) largest = std::max(largest, std::abs(q));
    return largest;
  }

 private:
  [[nodiscard]] std::vector<double> balanced_dual() const {
    std::vector<double> dual = derivatives_;
    long double sum[2] = {};  // of the negative and of the positive entries
    for (const double a : dual) sum[a > 0 ? 1 : 0] += a;
    if (task_ == Task::kLinear) {
      const auto mean = static_cast<double>((sum[0] + sum[1]) / static_cast<long double>(dual.size()));
      for (double& a : dual) a -= mean;
      return dual;
    }
    const bool heavier = sum[1] > -sum[0];
    const auto shrink =
        sum[heavier ? 1 : 0] == 0 ? 1.0 : static_cast<double>(-sum[heavier ? 0 : 1] / sum[heavier ? 1 : 0]);
    for (double& a : dual)
      if ((a > 0) == heavier) a *= shrink;
    return dual;
  }

  [[nodiscard]] long double loss(std::size_t i) const {
    return glm::with_loss(task_, [&](auto phi) { return phi.value(margins_[i], labels_[i]); });
  }

  [[nodiscard]] long double conjugate(std::size_t i, long double a) const {
    const long double y = labels_[i];
    if (task_ == Task::kLinear) return a * a / 2 + a * y;
    if (task_ == Task::kSquaredHinge) return a * a / 4 + a * y;
    const long double p = std::clamp(-y * a, 0.0L, 1.0L);
    return (p > 0 ? p * std::log(p) : 0) + (p < 1 ? (1 - p) * std::log1p(-p) : 0);
  }

  Task task_;
  std::span<const double> labels_;
  const CompactRows& rows_;
  std::span<const double> penalties_;
  std::vector<double> margins_;
  std::vector<double> line_;
  std::vector<double> derivatives_;
  std::vector<double> curvatures_;
  std::unique_ptr<NewtonSolver> solver_;
};

// Descent on the dual as far as it is quick: first to a useful model, which the observer may take, then to
// where only the certificate is missing.
std::vector<double> dual_start(NewtonProblem& problem, const CompactRows& rows, const DualObjective& objective,
                               const Observer& observer) {
  std::vector<double> best(rows.columns());
  problem.set_weights(best);
  double lowest = problem.look(0).loss;
  DualDescent descent(rows, objective);
  // Seen on text and dense data: the primal objective is above its minimum by six to eight times what the
  // dual one is below it for the logistic loss, by one to eighty times for the squared hinge.
  const bool logistic = objective.task == Task::kLogistic;
  for (const double target : {logistic ? 1.2e-7 : 1e-6, logistic ? 2e-8 : 3e-8, 8e-9, 1e-9, 1e-11}) {
    const bool quick = descent.descend(target);
    std::vector<double> weights = descent.weights();
    double penalty = 0;
    for (const double w : weights) penalty += objective.l2 / 2 * w * w;
    problem.set_weights(weights);
    const double value = problem.look(0).loss + penalty;
    if (value < lowest) {
      lowest = value;
      best = std::move(weights);
    }
    if (!quick || !go_on(observer, {0, lowest, NAN})) break;
  }
  return best;
}

}  // namespace

Result<Fit> exact_smooth(const Problem& problem, const ExactSettings& settings, const Observer& observer) {
  PARLEY_CHECK(check_free_intercept(problem));
  const glm::Objective& objective = problem.objective;
  const auto classes = static_cast<std::size_t>(objective.classes);
  const bool with_intercept = objective.intercept != Intercept::kNone;
  const CompactRows rows(problem.features,
                         {.constant_column = with_intercept, .several_right_hand_sides = classes > 1});
  std::vector<double> penalties(rows.columns() * classes, objective.l2);
  if (objective.intercept == Intercept::kFree)
    std::fill(penalties.end() - static_cast<std::ptrdiff_t>(classes), penalties.end(), 0.0);

  std::unique_ptr<NewtonProblem> smooth;
  std::vector<double> start(penalties.size());
  if (objective.task == Task::kSoftmax) {
    smooth = softmax_problem(problem, rows, penalties);
  } else {
    const Solver solver = fastest_solver({rows, penalties});
    smooth = std::make_unique<ScalarProblem>(problem, rows, penalties, solver);
    const bool has_dual =
        objective.task != Task::kLinear && objective.l2 > 0 && objective.intercept != Intercept::kFree;
    if (solver == Solver::kCg && has_dual)
      start = dual_start(*smooth, rows, {objective.task, problem.labels, objective.l2}, observer);
  }
  PARLEY_TRY(Fit fit, newton(*smooth, std::move(start), settings, observer));

  // Back to the columns as the caller numbers them, class by class.
  const std::vector<double> found = std::move(fit.weights);
  const auto d = static_cast<std::size_t>(problem.features.cols());
  fit.weights.assign(d * classes, 0.0);
  if (with_intercept) fit.intercepts.assign(classes, 0.0);
  for (std::size_t c = 0; c < rows.columns(); ++c)
    for (std::size_t k = 0; k < classes; ++k) {
      const linalg::Index j = rows.original(c);
      (j < 0 ? fit.intercepts[k] : fit.weights[k * d + static_cast<std::size_t>(j)]) = found[c * classes + k];
    }
  return fit;
}

}  // namespace parley::algorithms
