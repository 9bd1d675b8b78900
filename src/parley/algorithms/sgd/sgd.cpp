#include "parley/algorithms/sgd/sgd.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string_view>
#include <vector>

#include "parley/algorithms/parts/check.h"
#include "parley/algorithms/parts/descent_length.h"
#include "parley/algorithms/parts/private_terms.h"
#include "parley/algorithms/parts/recorder.h"
#include "parley/algorithms/sgd/sgd_gradient.h"
#include "parley/algorithms/sgd/sgd_plan.h"
#include "parley/algorithms/sgd/sgd_sites.h"
#include "parley/glm/penalties.h"
#include "parley/glm/sets.h"

namespace parley::algorithms {

SgdSettings SgdSettings::read(Toml& settings) {
  SgdSettings sgd;
  int steps = 0;
  if (settings.integer("iterations", steps, at_least(1))) sgd.steps = steps;
  settings.number("batch_rate", sgd.batch_rate, between(0, 1));
  settings.number("step", sgd.step, above(0));
  settings.number("momentum", sgd.momentum, between(0, 1));
  settings.number("clip", sgd.clip, above(0));
  SgdResult result{};
  if (settings.choice<SgdResult>("result", result,
                                 {{"last", SgdResult::kLast}, {"tail-average", SgdResult::kTailAverage}}))
    sgd.result = result;
  std::int64_t seed = 0;
  settings.integer("seed", seed, at_least(0));
  sgd.seed = static_cast<std::uint64_t>(seed);
  return sgd;
}

namespace {

constexpr std::string_view kProvedFromBounds = "sgd takes calibration = \"proved\" and smoothness = \"bounds\"";
constexpr Refusal kRefusedPrivately[] = {
    kNoFreeIntercept, {Part::kPaperCalibration, kProvedFromBounds}, {Part::kPrivateSmoothness, kProvedFromBounds}};

constexpr int kReports = 50;  // objectives are full passes: a run shows this many

// The iterate and everything that happens to it after a sum was released.
class Iterate {
 public:
  Iterate(const Problem& problem, const BatchDerivatives& shape, const SgdPlan& plan)
      : problem_(problem),
        width_(shape.width()),
        columns_(static_cast<std::size_t>(problem.features.cols())),
        plan_(plan),
        averaged_from_(plan.result == SgdResult::kTailAverage ? plan.steps / 2 : plan.steps),
        weights_(shape.coordinates()),
        previous_(shape.coordinates()) {
    if (averaged_from_ < plan.steps) sum_.resize(shape.coordinates());
  }

  [[nodiscard]] std::span<const double> weights() const { return weights_; }

  // W <- project(prox(W - h sum / (q n) + beta (W - W_before)))
  void move(std::span<const double> sum) {
    const double factor = plan_.step / (plan_.rate * plan_.records);
    const glm::Penalty penalty = penalty_of(problem_.objective);
    const bool penalised = penalty.l1 > 0 || penalty.l2 > 0;
    for (std::size_t c = 0; c < weights_.size(); ++c) {
      const double moved = weights_[c] - factor * sum[c] + plan_.momentum * (weights_[c] - previous_[c]);
      previous_[c] = weights_[c];
      weights_[c] = penalised && !is_free(c) ? penalty.prox(plan_.step, moved) : moved;
    }
    project();
    ++moves_;
    if (moves_ > averaged_from_)
      for (std::size_t c = 0; c < sum_.size(); ++c) sum_[c] += weights_[c];
  }

  // The model after the moves so far.
  [[nodiscard]] std::vector<double> model() {
    if (moves_ <= averaged_from_ || sum_.empty()) return weights_;
    std::vector<double> last = weights_;
    for (std::size_t c = 0; c < sum_.size(); ++c) weights_[c] = sum_[c] / (moves_ - averaged_from_);
    project();
    last.swap(weights_);
    return last;
  }

 private:
  [[nodiscard]] bool is_free(std::size_t coordinate) const {
    return coordinate % width_ == columns_ && problem_.objective.intercept == glm::Intercept::kFree;
  }

  void project() {
    const glm::Objective& objective = problem_.objective;
    if (!objective.l1_radius && !objective.sparsity) return;
    std::vector<double> counted;
    for (std::size_t c = 0; c < weights_.size(); ++c)
      if (!is_free(c)) counted.push_back(weights_[c]);
    if (objective.l1_radius) glm::L1Ball{*objective.l1_radius}.project(counted);
    if (objective.sparsity)
      glm::SparseSet{static_cast<std::size_t>(*objective.sparsity), static_cast<std::size_t>(objective.classes)}
          .project(counted);
    auto next = counted.begin();
    for (std::size_t c = 0; c < weights_.size(); ++c)
      if (!is_free(c)) weights_[c] = *next++;
  }

  const Problem& problem_;
  std::size_t width_;
  std::size_t columns_;
  SgdPlan plan_;
  int averaged_from_;
  int moves_ = 0;
  std::vector<double> weights_;
  std::vector<double> previous_;
  std::vector<double> sum_;  // of the iterates that are averaged
};

// Tells the observer how a run goes. An objective is a full pass, so a run shows kReports of them, and none
// to nobody.
class Report final : public LinearWatch {
 public:
  Report(const Problem& problem, const Observer& observer, int steps, Fit& fit)
      : problem_(problem),
        watched_(static_cast<bool>(observer)),
        every_(std::max(1, steps / kReports)),
        fit_(fit),
        record_(fit, observer, {.expected = steps}) {}

  [[nodiscard]] bool wants(int step) const override { return watched_ && step % every_ == 0; }
  bool see(int step, std::span<const double> weights) override {
    Fit present;
    set_model(problem_, weights, present);
    fit_.iterations = step;
    record_.keep(present.objective);
    return record_.show(present.objective, fit_.gap);
  }

 private:
  const Problem& problem_;
  bool watched_;
  int every_;
  Fit& fit_;
  Recorder record_;
};

// The norm of a record's derivative at W = 0, at most.
double derivative_at_zero(const Problem& problem, const PrivateTerms& terms) {
  switch (problem.objective.task) {
    case glm::Task::kPoisson:  // refused before
    case glm::Task::kLinear:
      return terms.label_bound;
    case glm::Task::kLogistic:
      return 0.5;
    case glm::Task::kSquaredHinge:
      return 2;
    case glm::Task::kSoftmax:
      return std::sqrt(1 - 1.0 / problem.objective.classes);
  }
  return 1;
}

// Of the data in the open, of public numbers under privacy.
SgdShape shape_of(const Problem& problem) {
  const double constant = problem.objective.intercept == glm::Intercept::kNone ? 0.0 : 1.0;
  SgdShape shape{.records = static_cast<double>(problem.labels.size()),
                 .curvature = glm::curvature_bound(problem.objective.task)};
  if (problem.privacy == nullptr) {
    const std::vector<double> squares = problem.features.row_squared_norms();
    shape.row_norm = std::sqrt(*std::max_element(squares.begin(), squares.end()) + constant);
    return shape;
  }
  const PrivateTerms& terms = *problem.privacy;
  shape.records = terms.records();
  shape.row_norm = std::sqrt(terms.row_bound * terms.row_bound + constant);
  shape.target = terms.target;
  shape.derivative_bound = std::min(terms.derivative_bound, derivative_at_zero(problem, terms));
  shape.margin_scale = problem.objective.task == glm::Task::kLinear ? terms.label_bound : 1.0;
  shape.coordinates = problem.objective.classes * (static_cast<double>(problem.features.cols()) + constant);
  shape.total_curvature = total_curvature(problem.objective);
  shape.l1 = problem.objective.l1;
  shape.l2 = problem.objective.l2;
  shape.loss_of_nothing = loss_of_nothing(problem.objective, terms.label_bound);
  return shape;
}

}  // namespace

Result<Fit> sgd(const Problem& problem, const SgdSettings& settings, const Observer& observer) {
  PARLEY_CHECK(check(problem, {}, kRefusedPrivately));
  const SgdShape shape = shape_of(problem);
  if (!std::isfinite(shape.row_norm)) return fail(bad_input({.field = "features"}, "must be finite numbers"));
  PARLEY_TRY(const SgdPlan plan, sgd_plan(shape, settings));
  BatchDerivatives derivatives(problem);
  Fit fit;
  Report report(problem, observer, plan.steps, fit);
  int allowed = 0;
  if (problem.privacy != nullptr && is_linear(problem, plan)) {
    PARLEY_TRY(const LinearOutcome outcome, descend_linearly(problem, derivatives, plan, report));
    allowed = outcome.allowed;
    fit.iterations = outcome.steps;
    set_model(problem, outcome.weights, fit);
  } else {
    PARLEY_TRY(const std::unique_ptr<SgdSite> site, problem.privacy == nullptr
                                                        ? open_site(problem, derivatives, plan, settings.seed)
                                                        : gated_site(problem, derivatives, plan));
    allowed = site->steps();
    Iterate iterate(problem, derivatives, plan);
    for (bool wanted = true; wanted && fit.iterations < allowed;) {
      PARLEY_TRY(const std::span<const double> sum, site->sum(iterate.weights()));
      iterate.move(sum);
      if (report.wants(++fit.iterations)) wanted = report.see(fit.iterations, iterate.weights());
    }
    set_model(problem, iterate.model(), fit);
  }
  if (fit.iterations == allowed) fit.stop = when_done(allowed, plan.steps);  // whoever asked for an end just then
  if (problem.privacy != nullptr) fit.releases = fit.iterations;
  return fit;
}

}  // namespace parley::algorithms
