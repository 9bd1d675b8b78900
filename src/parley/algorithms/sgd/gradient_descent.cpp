#include "parley/algorithms/sgd/gradient_descent.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "parley/algorithms/parts/check.h"
#include "parley/algorithms/parts/descent_length.h"
#include "parley/algorithms/parts/private_terms.h"
#include "parley/algorithms/parts/recorder.h"
#include "parley/algorithms/sgd/private_scale.h"
#include "parley/algorithms/sgd/sgd_gradient.h"
#include "parley/glm/penalties.h"
#include "parley/privacy/accounting/accountant.h"
#include "parley/privacy/mechanisms/poisson_sampling.h"
#include "parley/privacy/sensitivity/batch_sum.h"

namespace parley::algorithms {

GradientDescentSettings GradientDescentSettings::read(Toml& settings) {
  GradientDescentSettings descent;
  int steps = 0;
  if (settings.integer("iterations", steps, between(1, 1000000))) descent.steps = steps;
  settings.number("clip", descent.clip, above(0));
  settings.boolean("look", descent.look);
  return descent;
}

namespace {

constexpr std::string_view kTakesPenalties = "gradient-descent takes penalties (l1, l2); sgd takes constraints";
constexpr std::string_view kProvedFromBounds =
    "gradient-descent takes calibration = \"proved\" and smoothness = \"bounds\"";
constexpr Refusal kRefused[] = {{Part::kL1Radius, kTakesPenalties}, {Part::kSparsity, kTakesPenalties}};
constexpr Refusal kRefusedPrivately[] = {
    kNoFreeIntercept, {Part::kPaperCalibration, kProvedFromBounds}, {Part::kPrivateSmoothness, kProvedFromBounds}};

constexpr int kOpenSteps = 1000;
constexpr int kReports = 50;  // objectives are full passes: a run shows this many
constexpr double kRidge = 0.1;
constexpr double kMostSteps = 1000;
constexpr double kOfClasses = 0.7;  // of the derivative at W = 0, which soon is less for most records
constexpr double kFew = 10;
constexpr double kLikely = 0.1;   // of the largest gradient at W = 0 is what data usually show
constexpr double kNearly = 1e-7;  // an open run ends when steps have become so small beside the weights

// W, Z and the mean that becomes the model.
class Accelerated {
 public:
  struct Plan {
    int steps = 1;
    double step = 1;
    double records = 1;
    glm::Penalty penalty;
    bool averages = false;
    bool spares_constant = false;  // no penalty on the intercept
  };
  Accelerated(const BatchDerivatives& shape, const Plan& plan)
      : plan_(plan),
        shape_(shape),
        weights_(shape.coordinates()),
        ahead_(shape.coordinates()),
        sum_(plan.averages ? shape.coordinates() : 0) {}

  [[nodiscard]] std::span<const double> ahead() const { return ahead_; }  // Z

  // The largest that a weight moved.
  double move(std::span<const double> sum) {
    const double momentum = (moves_ + 1.0) / (moves_ + 4.0);
    double moved = 0;
    for (std::size_t c = 0; c < weights_.size(); ++c) {
      const double before = weights_[c];
      const double stepped = ahead_[c] - plan_.step / plan_.records * sum[c];
      weights_[c] = plan_.spares_constant && shape_.is_constant(c) ? stepped : plan_.penalty.prox(plan_.step, stepped);
      ahead_[c] = weights_[c] + momentum * (weights_[c] - before);
      moved = std::max(moved, std::abs(weights_[c] - before));
    }
    ++moves_;
    if (2 * moves_ > plan_.steps) {
      ++averaged_;
      for (std::size_t c = 0; c < sum_.size(); ++c) sum_[c] += weights_[c];
    }
    return moved;
  }

  [[nodiscard]] std::vector<double> model() const {
    if (sum_.empty() || averaged_ == 0) return weights_;
    std::vector<double> mean = sum_;
    for (double& weight : mean) weight /= averaged_;
    return mean;
  }

 private:
  Plan plan_;
  const BatchDerivatives& shape_;
  int moves_ = 0;
  int averaged_ = 0;
  std::vector<double> weights_;
  std::vector<double> ahead_;
  std::vector<double> sum_;
};

// Shows every few iterations to whoever watches.
class Shown {
 public:
  Shown(const Problem& problem, const Observer& observer, int steps, Fit& fit)
      : problem_(problem),
        watched_(static_cast<bool>(observer)),
        every_(std::max(1, steps / kReports)),
        fit_(fit),
        record_(fit, observer, {.expected = steps}) {}

  // False when the observer asks for an end.
  template <class Model>
  bool step(const Model& model) {
    if (++fit_.iterations % every_ != 0 || !watched_) return true;
    Fit present;
    set_model(problem_, model(), present);
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

Result<Fit> descend_openly(const Problem& problem, const GradientDescentSettings& settings, const Observer& observer) {
  const std::vector<double> squares = problem.features.row_squared_norms();
  const double constant = problem.objective.intercept == glm::Intercept::kNone ? 0 : 1;
  const double n = static_cast<double>(squares.size());
  const double mean = std::accumulate(squares.begin(), squares.end(), 0.0) / n + constant;
  if (!std::isfinite(mean)) return fail(bad_input({.field = "features"}, "must be finite numbers"));
  const double curvature = glm::curvature_bound(problem.objective.task) * mean;
  const int steps = settings.steps.value_or(kOpenSteps);
  BatchDerivatives derivatives(problem);
  PlainBatchSum sums(problem, derivatives, settings.clip.value_or(std::numeric_limits<double>::infinity()));
  std::vector<std::size_t> everybody(squares.size());
  std::iota(everybody.begin(), everybody.end(), std::size_t{0});
  Accelerated iterate(derivatives, {.steps = steps,
                                    .step = curvature > 0 ? 1 / curvature : 1,
                                    .records = n,
                                    .penalty = penalty_of(problem.objective),
                                    .spares_constant = problem.objective.intercept == glm::Intercept::kFree});
  Fit fit;
  Shown shown(problem, observer, steps, fit);
  bool wanted = true;
  bool there = false;
  while (wanted && !there && fit.iterations < steps) {
    const double moved = iterate.move(sums.sum(everybody, derivatives.at(iterate.ahead(), everybody)));
    wanted = shown.step([&] { return iterate.model(); });
    double largest = 1e-300;
    for (const double weight : iterate.ahead()) largest = std::max(largest, std::abs(weight));
    there = moved <= kNearly * largest;
  }
  set_model(problem, iterate.model(), fit);
  if (there) fit.stop = Stop::kConverged;
  return fit;
}

// The norm of a record's derivative at W = 0, at most.
double derivative_at_zero(const Problem& problem) {
  switch (problem.objective.task) {
    case glm::Task::kPoisson:  // refused before
    case glm::Task::kLinear:
      return 0.25 * problem.privacy->label_reach();  // few labels are at their bound
    case glm::Task::kLogistic:
      return 0.5;
    case glm::Task::kSquaredHinge:
      return 2;
    case glm::Task::kSoftmax:
      return kOfClasses * std::sqrt(1 - 1.0 / problem.objective.classes);
  }
  return 1;
}

// What a private run needs, of public numbers and of what was looked at.
struct PrivatePlan {
  double constant = 0;
  double derivative = 1;  // R0
  double unit = 1;        // Y: of the labels, where they have one
  double mu = 1;
  double sides = 2;
  double coordinates = 1;
  double curvature = 1;  // c
  double records = 1;
  std::optional<double> stated_clip;

  [[nodiscard]] double norm(double of_rows) const { return std::sqrt(of_rows * of_rows + constant); }  // X
  [[nodiscard]] double clip(double x) const { return stated_clip.value_or(x * derivative); }
  [[nodiscard]] double ridge(double x) const {
    return std::min(kRidge * std::sqrt(coordinates), x) * sides * clip(x) / (unit * mu * records);
  }
  [[nodiscard]] int steps(double x) const {
    return static_cast<int>(std::clamp(std::ceil(2 * std::sqrt(curvature * x * x / ridge(x))), 1.0, kMostSteps));
  }
};

Result<PrivatePlan> plan_of(const Problem& problem, const GradientDescentSettings& settings) {
  const PrivateTerms& terms = *problem.privacy;
  PrivatePlan plan;
  plan.constant = problem.objective.intercept == glm::Intercept::kNone ? 0 : 1;
  plan.derivative = std::min(terms.derivative_bound, derivative_at_zero(problem));
  if (problem.objective.task == glm::Task::kLinear) plan.unit = terms.label_reach();
  PARLEY_TRY(const double one_release, privacy::gaussian_noise(terms.target, 1));
  plan.mu = 1 / one_release;
  plan.sides = terms.target.neighbours == privacy::Neighbours::kReplaceOne ? 2 : 1;
  plan.coordinates = problem.objective.classes * (static_cast<double>(problem.features.cols()) + plan.constant);
  plan.curvature = glm::curvature_bound(problem.objective.task);
  plan.records = terms.records();
  plan.stated_clip = settings.clip;
  return plan;
}

// z: the least noise multiplier, to a thousandth, at which the looks and all steps together cost the target. The share
// of the looks gives where to begin; what is proved decides.
Result<double> noise_beside(const Looks& looks, const privacy::Target& target, int steps) {
  PARLEY_TRY(double noise, privacy::sampled_gaussian_noise(target, 1, steps));
  const std::vector<privacy::Event> once = looks.events();
  if (once.empty()) return noise;
  noise /= std::sqrt(1 - looks.share());
  for (int tries = 0; tries < 200; ++tries, noise *= 1.0005) {
    privacy::Plan plan{target.neighbours, once};
    plan.events.push_back({privacy::SubsampledGaussian{noise, 1}, steps});
    PARLEY_TRY(const double epsilon, privacy::epsilon_at(plan, target.delta));
    if (epsilon <= target.epsilon.value()) return noise;
  }
  return fail(failed("no noise was found at which the run costs what it may"));
}

// A sum whose noise is the multiplier that was charged, to the last digit: the quotient of two doubles meets it for a
// clip nearby.
struct ChargedSum {
  privacy::BatchSum sum;
  privacy::Deviation noise;
};
Result<ChargedSum> sum_with(double multiplier, const privacy::GridFeatures& features, privacy::BatchSettings settings) {
  settings.noise_multiplier = multiplier;
  for (int tries = 0; tries < 1000; ++tries, settings.norm_bound *= 1 - 1e-12) {
    PARLEY_TRY(privacy::BatchSum sum, privacy::BatchSum::make(features, settings));
    const double nearly = multiplier * sum.contribution();
    for (const double sigma : {nearly, std::nextafter(nearly, 0.0), std::nextafter(nearly, 2 * nearly)})
      if (sigma / sum.contribution() == multiplier) return ChargedSum{std::move(sum), {sigma}};
  }
  return fail(failed("no clip was found whose noise is what was charged"));
}

Result<Fit> descend_on_columns(const Problem& problem, const GradientDescentSettings& settings,
                               const Observer& observer) {
  const PrivateTerms& terms = *problem.privacy;
  PARLEY_TRY(PrivatePlan plan, plan_of(problem, settings));
  // A stated penalty is that of the features and labels as the job has them: their scale stays.
  const bool penalty_is_ours = problem.objective.l1 == 0 && problem.objective.l2 == 0;
  const bool moves_labels = penalty_is_ours && plan.constant > 0 && problem.objective.task == glm::Task::kLinear;
  PARLEY_TRY(const Looks looks, plan_looks(terms, {.numbers = settings.look && penalty_is_ours,
                                                   .labels = settings.look && moves_labels,
                                                   .rows = settings.look}));
  // Of rows that nobody has looked at yet, about half the bound.
  const double expected = looks.rows ? 0.5 * terms.row_bound : terms.row_bound;
  const int steps = settings.steps.value_or(plan.steps(plan.norm(expected)));
  PARLEY_TRY(const double noise, noise_beside(looks, terms.target, steps));
  PARLEY_TRY(const std::int64_t allowed,
             terms.gate->reserve(
                 {.once = looks.events(), .step = {{privacy::SubsampledGaussian{noise, 1}, 1}}, .steps = steps},
                 terms.target.delta));

  // Features in the scale that was found. A scale is kept apart from the stored numbers: nothing is copied but what the
  // narrower bound clips.
  std::vector<double> factor(terms.features->columns(), 1.0);
  double row_norm = terms.row_bound;
  double most = 1;  // that a bound grows by
  if (looks.rows) {
    PARLEY_TRY(row_norm, norm_of_rows(terms, *looks.rows));
    // Rows far shorter than the one of an intercept would pay for it alone.
    most = std::max(1.0, 1 / row_norm);
    row_norm *= most;
    std::fill(factor.begin(), factor.end(), most);
  }
  if (looks.numbers) {
    PARLEY_TRY(const std::vector<double> scales, scales_of_numbers(terms, *looks.numbers));
    for (std::size_t k = 0; k < scales.size(); ++k) factor[terms.numbers[k]] *= 1 / scales[k];
  }
  std::vector<double> scale(factor.size());
  std::vector<double> bounds(factor.size());
  for (std::size_t j = 0; j < factor.size(); ++j) {
    scale[j] = terms.features->scale(j) * factor[j];
    bounds[j] = terms.features->bound(j) * most;
  }
  std::optional<std::size_t> stated;
  if (terms.target.neighbours == privacy::Neighbours::kAddRemove) stated = static_cast<std::size_t>(terms.records());
  PARLEY_TRY(const privacy::GridFeatures features,
             privacy::GridFeatures::make(problem.features.with_column_scale(std::move(scale)), bounds, stated));
  PrivateTerms found = terms;
  found.features = &features;
  // Labels from the middle of their range, which an intercept gives back.
  LabelRange range{moves_labels ? terms.label_middle : 0, std::numeric_limits<double>::infinity()};
  if (looks.labels) {
    PARLEY_TRY(range, range_of_labels(terms, problem.labels, *looks.labels));
    plan.derivative *= range.reach / terms.label_reach();
    plan.unit = range.reach;
  }
  const double middle = range.middle;
  std::vector<double> labels(problem.labels.begin(), problem.labels.end());
  for (double& label : labels) label = std::clamp(label - middle, -range.reach, range.reach);
  const Problem scaled{features.matrix(), labels, problem.objective, &found};

  const double x = plan.norm(row_norm);
  glm::Penalty penalty = penalty_of(problem.objective);
  Fit fit;
  if (penalty_is_ours) penalty.l2 = *(fit.l2_used = plan.ridge(x));
  BatchDerivatives derivatives(scaled);
  PARLEY_TRY(ChargedSum charged, sum_with(noise, features,
                                          {.norm_bound = plan.clip(x),
                                           .derivative_bound = terms.derivative_bound,
                                           .classes = problem.objective.classes,
                                           .constant = plan.constant > 0,
                                           .neighbours = terms.target.neighbours,
                                           .unit = terms.unit}));
  PARLEY_TRY(const privacy::PoissonSampling everybody, privacy::PoissonSampling::make(1));
  Accelerated iterate(derivatives, {.steps = static_cast<int>(allowed),
                                    .step = 1 / (plan.curvature * x * x + penalty.l2),
                                    .records = plan.records,
                                    .penalty = penalty,
                                    .averages = true,
                                    .spares_constant = penalty_is_ours});
  // The model of the features and labels as the job has them.
  const auto model = [&] {
    std::vector<double> weights = iterate.model();
    for (std::size_t c = 0; c < weights.size(); ++c)
      weights[c] = derivatives.is_constant(c) ? weights[c] + middle : weights[c] * factor[c % derivatives.width()];
    return weights;
  };
  Shown shown(problem, observer, static_cast<int>(allowed), fit);
  for (bool wanted = true; wanted && fit.iterations < allowed;) {
    PARLEY_TRY(privacy::Batch batch, terms.gate->sample(everybody, problem.labels.size()));
    const auto at = derivatives.at(iterate.ahead(), batch.records());
    PARLEY_TRY(const auto sum, terms.gate->release(charged.sum.sum(std::move(batch), at), charged.noise));
    iterate.move(sum.value());
    wanted = shown.step(model);
  }
  set_model(problem, model(), fit);
  if (fit.iterations == allowed) fit.stop = when_done(allowed, steps);
  fit.releases = fit.iterations + static_cast<std::int64_t>(looks.events().size());
  return fit;
}

// The same of the column of ones alone.
Result<Fit> descend_on_intercept(const Problem& problem, const GradientDescentSettings& settings,
                                 const Observer& observer) {
  const linalg::Matrix none = linalg::Matrix::from_dense(problem.features.rows(), 0, {});
  std::optional<std::size_t> stated;
  PrivateTerms terms = *problem.privacy;
  if (terms.target.neighbours == privacy::Neighbours::kAddRemove) stated = static_cast<std::size_t>(terms.records());
  PARLEY_TRY(const privacy::GridFeatures features, privacy::GridFeatures::make(none, {}, stated));
  terms.features = &features;
  terms.row_bound = 0;
  terms.numbers.clear();
  terms.finds_row_norm = false;
  PARLEY_TRY(Fit fit,
             descend_on_columns({features.matrix(), problem.labels, problem.objective, &terms}, settings, observer));
  fit.weights.assign(static_cast<std::size_t>(problem.features.cols()) * problem.objective.classes, 0.0);
  fit.objective = evaluate(problem.objective, problem.features, problem.labels, fit.weights, fit.intercepts);
  fit.remark =
      "at this number of records, columns and epsilon the noise would be as large as what data usually show: the model "
      "is the base rate alone; more records, fewer columns or a larger epsilon would tell more";
  return fit;
}

Result<Fit> descend_privately(const Problem& problem, const GradientDescentSettings& settings,
                              const Observer& observer) {
  PARLEY_TRY(const double noise, noise_beside_likely_signal(problem));
  const bool hopeless = noise >= 1 && problem.objective.intercept == glm::Intercept::kPenalised;
  const bool as_told = settings.steps || settings.clip || problem.objective.l1 > 0 || problem.objective.l2 > 0;
  return hopeless && !as_told ? descend_on_intercept(problem, settings, observer)
                              : descend_on_columns(problem, settings, observer);
}

}  // namespace

Result<double> noise_beside_likely_signal(const Problem& problem) {
  PARLEY_TRY(const PrivatePlan plan, plan_of(problem, {}));
  // Of tables without a schema most columns may be empty in most rows: a few decide.
  const double size = std::sqrt(plan.coordinates);
  return (problem.privacy->finds_row_norm ? std::min(size, kFew) : size) * plan.sides /
         (kLikely * plan.mu * plan.records);
}

Result<Fit> gradient_descent(const Problem& problem, const GradientDescentSettings& settings,
                             const Observer& observer) {
  PARLEY_CHECK(check(problem, kRefused, kRefusedPrivately));
  return problem.privacy == nullptr ? descend_openly(problem, settings, observer)
                                    : descend_privately(problem, settings, observer);
}

}  // namespace parley::algorithms
