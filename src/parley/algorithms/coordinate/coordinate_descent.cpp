#include "parley/algorithms/coordinate/coordinate_descent.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "parley/algorithms/parts/check.h"
#include "parley/algorithms/parts/descent_length.h"
#include "parley/algorithms/parts/kept_margins.h"
#include "parley/algorithms/parts/private_steps.h"
#include "parley/algorithms/parts/private_terms.h"
#include "parley/algorithms/parts/recorder.h"
#include "parley/algorithms/parts/smoothness.h"
#include "parley/glm/penalties.h"
#include "parley/linalg/public_random.h"
#include "parley/privacy/accounting/step_noise.h"
#include "parley/privacy/sensitivity/exact_sums.h"

namespace parley::algorithms {

CoordinateSettings CoordinateSettings::read(Toml& settings) {
  CoordinateSettings descent;
  int passes = 0;
  if (settings.integer("passes", passes, at_least(1))) descent.passes = passes;
  settings.number("step", descent.step, above(0));
  settings.number("tolerance", descent.tolerance, at_least(0));
  settings.choice<CoordinateOrder>("order", descent.order,
                                   {{"cyclic", CoordinateOrder::kCyclic}, {"uniform", CoordinateOrder::kUniform}});
  std::int64_t seed = 0;
  settings.integer("seed", seed, at_least(0));
  descent.seed = static_cast<std::uint64_t>(seed);
  return descent;
}

namespace {

using glm::Intercept;
using linalg::Index;

constexpr int kPasses = 100;

constexpr Refusal kRefused[] = {{Part::kL1Radius, "coordinate-descent takes penalties (l1, l2), not constraints"},
                                {Part::kSparsity, "coordinate-descent takes penalties (l1, l2), not constraints"}};
constexpr Refusal kRefusedPrivately[] = {
    kNoFreeIntercept, {Part::kPaperCalibration, "coordinate-descent takes calibration = \"proved\""}};

Result<void> check(const Problem& problem, const CoordinateSettings& settings) {
  PARLEY_CHECK(check(problem, kRefused, kRefusedPrivately));
  if (settings.passes)
    PARLEY_CHECK(require(*settings.passes >= 1, "algorithm.passes", "must be at least 1", *settings.passes));
  if (settings.step)
    PARLEY_CHECK(require(is_positive(*settings.step), "algorithm.step", "must be a number above 0", *settings.step));
  return require(is_not_negative(settings.tolerance), "algorithm.tolerance", "must be a number >= 0",
                 settings.tolerance);
}

// Partial derivatives made when they are asked for: a sum over one column.
class OpenColumns {
 public:
  explicit OpenColumns(const Problem& problem)
      : features_(problem.features),
        rows_(problem.labels.size()),
        columns_(static_cast<std::size_t>(problem.features.cols())),
        classes_(static_cast<std::size_t>(problem.objective.classes)),
        width_(columns_ + (problem.objective.intercept == Intercept::kNone ? 0 : 1)),
        derivatives_(rows_ * classes_) {}

  // Record by record, as KeptMargins tells them; kept class by class.
  void assign(std::span<const double> derivatives) {
    for (std::size_t i = 0; i < rows_; ++i)
      assign_row(static_cast<Index>(i), derivatives.subspan(i * classes_, classes_));
  }
  void assign_row(Index row, std::span<const double> derivatives) {
    for (std::size_t k = 0; k < classes_; ++k) derivatives_[k * rows_ + static_cast<std::size_t>(row)] = derivatives[k];
  }
  void assign_rows(std::span<const Index> rows, std::span<const double> derivatives) {
    for (std::size_t r = 0; r < rows.size(); ++r) assign_row(rows[r], derivatives.subspan(r * classes_, classes_));
  }

  [[nodiscard]] Result<double> partial(std::size_t coordinate) const {
    const auto plane = std::span(derivatives_).subspan(coordinate / width_ * rows_, rows_);
    const std::size_t j = coordinate % width_;
    double sum = 0;
    if (j < columns_)
      sum = features_.column_dot(static_cast<Index>(j), plane);
    else
      for (const double q : plane) sum += q;
    return sum / static_cast<double>(rows_);
  }

  [[nodiscard]] static std::int64_t steps() { return std::numeric_limits<std::int64_t>::max(); }

  // M_j of the coordinates of one class; infinity for a column of zeros, whose weight never moves.
  [[nodiscard]] Result<std::vector<double>> smoothness(const Problem& problem) const {
    const double c = coordinate_curvature(problem.objective.task);
    std::vector<double> of = features_.column_squared_norms();
    for (double& m : of) m = m > 0 ? m * c / static_cast<double>(rows_) : std::numeric_limits<double>::infinity();
    if (width_ != columns_) of.push_back(c);
    return of;
  }

 private:
  const linalg::Matrix& features_;
  const std::size_t rows_;
  const std::size_t columns_;
  const std::size_t classes_;
  const std::size_t width_;
  std::vector<double> derivatives_;
};

// How far a run goes: passes over the coordinates, and the step size as a share of 1/M_j.
struct Extent {
  int passes = kPasses;
  double gamma = 1;
  double reach = std::numeric_limits<double>::infinity();  // that noise allows, for M_j of the bounds
};

// What descent_length.h asks of a run, for weights in units of one over their columns' bounds B_j. With mu the
// sensitivity over the deviation of one Gaussian release that costs the whole target, which P D releases share, gamma
// P = `reach` passes of full steps have the length reach / c and leave noise of deviation sqrt(D) sides R / (mu n)
// times that in a weight.
Result<DescentNoise> noise_of(const Problem& problem, double coordinates) {
  const PrivateTerms& terms = *problem.privacy;
  PARLEY_TRY(const double one_release, privacy::gaussian_noise(terms.target, 1));
  const double sides = terms.target.neighbours == privacy::Neighbours::kReplaceOne ? 2 : 1;
  const double constant = problem.objective.intercept == Intercept::kNone ? 0 : 1;
  double least = std::numeric_limits<double>::infinity(), inverses = constant, inverse_squares = constant;
  for (std::size_t j = 0; j < terms.features->columns(); ++j) {
    const double bound = terms.features->bound(j);
    if (!(bound > 0)) continue;  // its weight never moves
    least = std::min(least, bound);
    inverses += 1 / bound;
    inverse_squares += 1 / (bound * bound);
  }
  const double width = coordinates / problem.objective.classes;
  return DescentNoise{
      .per_length = one_release * std::sqrt(coordinates) * sides * terms.derivative_bound / terms.records(),
      .coordinates = coordinates,
      .row_norm = std::min(std::sqrt(coordinates), terms.row_bound / least + 1),
      .curvature = total_curvature(problem.objective),
      .l1 = problem.objective.l1 * inverses / width,
      .l2 = problem.objective.l2 * inverse_squares / width};
}

// The run goes until the noise of a margin is Y, 1 or the labels' bound, or until noise could cost a share of what
// there is to win.
Result<Extent> extent_of(const Problem& problem, const CoordinateSettings& settings, std::size_t coordinates) {
  Extent extent;
  if (problem.privacy != nullptr) {
    const PrivateTerms& terms = *problem.privacy;
    const double scale = problem.objective.task == glm::Task::kLinear ? terms.label_bound : 1.0;
    PARLEY_TRY(const DescentNoise noise, noise_of(problem, static_cast<double>(coordinates)));
    const double reach = coordinate_curvature(problem.objective.task) *
                         longest_descent(noise, scale / (noise.per_length * noise.row_norm),
                                         kNoiseShare * loss_of_nothing(problem.objective, terms.label_bound));
    extent.passes =
        settings.passes.value_or(static_cast<int>(std::clamp(std::ceil(reach), 1.0, static_cast<double>(kPasses))));
    extent.gamma = std::min(1.0, reach / extent.passes);
    extent.reach = reach;
  }
  extent.passes = settings.passes.value_or(extent.passes);
  extent.gamma = settings.step.value_or(extent.gamma);
  return extent;
}

// The same under privacy: the gate releases each partial derivative. One record's share of a coordinate is at
// most R B_j / n, which is proportional to sqrt(M_j): the noise is the same for every coordinate in units of
// its share.
class PrivateColumns {
 public:
  static Result<PrivateColumns> make(const Problem& problem, std::int64_t steps) {
    const PrivateTerms& terms = *problem.privacy;
    PARLEY_TRY(const std::optional<SmoothnessRelease> release, plan_smoothness(terms));
    const std::vector<privacy::Event> once = release ? std::vector{release->event} : std::vector<privacy::Event>{};
    PARLEY_TRY(privacy::ExactSums sums, exact_sums_of(problem));
    const privacy::Grain grain = privacy::ExactSums::value_grain();
    PARLEY_TRY(
        const privacy::StepNoise noise,
        privacy::step_noise(
            terms.target,
            {.steps = steps, .share = 0, .value_sensitivity = grain.grains(sums.value_sensitivity()), .once = once}));
    PARLEY_TRY(const std::int64_t reserved,
               terms.gate->reserve({.once = once, .step = noise.step, .steps = steps}, terms.target.delta));
    PrivateColumns columns(terms, std::move(sums), {std::ldexp(noise.value_sigma, grain.exponent)}, reserved);
    columns.release_ = release;
    return columns;
  }

  void assign(std::span<const double> derivatives) { sums_.hold(derivatives); }
  void assign_rows(std::span<const Index> rows, std::span<const double> derivatives) {
    sums_.hold_rows(rows, derivatives);
  }
  [[nodiscard]] Result<double> partial(std::size_t coordinate) {
    sums_.add_up(coordinate);
    PARLEY_TRY(const auto released, terms_.gate->release(sums_.value<privacy::L2>(coordinate), noise_));
    return released.value() * sums_.contribution(coordinate);
  }
  [[nodiscard]] Result<std::vector<double>> smoothness(const Problem& problem) const {
    return private_smoothness(problem, release_);
  }
  [[nodiscard]] std::int64_t steps() const { return steps_; }

 private:
  PrivateColumns(const PrivateTerms& terms, privacy::ExactSums sums, privacy::Deviation noise, std::int64_t steps)
      : terms_(terms), sums_(std::move(sums)), noise_(noise), steps_(steps) {}
  const PrivateTerms& terms_;
  privacy::ExactSums sums_;
  privacy::Deviation noise_;
  std::int64_t steps_;
  std::optional<SmoothnessRelease> release_;
};

// Steps of gamma / M_j are longer by what M_j is below that of the bounds, and so is their noise.
double gamma_within_reach(const Problem& problem, const CoordinateSettings& settings, const Extent& extent,
                          std::span<const double> smoothness) {
  if (problem.privacy == nullptr || settings.step) return extent.gamma;
  const std::vector<double> of_bounds = smoothness_of_bounds(problem);
  double least = 1;
  for (std::size_t j = 0; j < of_bounds.size(); ++j) least = std::min(least, smoothness[j] / of_bounds[j]);
  return std::min(1.0, least * extent.reach / extent.passes);
}

// Which coordinate a step takes.
class Order {
 public:
  Order(const CoordinateSettings& settings, std::size_t coordinates)
      : order_(settings.order), random_(settings.seed), coordinates_(coordinates) {}

  [[nodiscard]] std::size_t at(std::uint64_t step) const {
    return static_cast<std::size_t>(order_ == CoordinateOrder::kCyclic ? step % coordinates_
                                                                       : random_.below(coordinates_, 0, step));
  }

 private:
  CoordinateOrder order_;
  linalg::PublicRandom random_;
  std::uint64_t coordinates_;
};

template <class Columns>
Result<Fit> descend(const Problem& problem, const CoordinateSettings& settings, const Extent& extent, Columns& columns,
                    const Observer& observer) {
  KeptMargins margins(problem, Upkeep::kAutomatic);
  margins.refresh(columns);
  const glm::Penalty penalty = penalty_of(problem.objective);
  const bool free = problem.objective.intercept == Intercept::kFree;
  const bool may_converge =  // a random pass need not have looked everywhere, and noise has no last pass
      settings.order == CoordinateOrder::kCyclic && settings.tolerance > 0 && problem.privacy == nullptr;
  PARLEY_TRY(const std::vector<double> smoothness, columns.smoothness(problem));
  const double gamma = gamma_within_reach(problem, settings, extent, smoothness);
  const std::size_t coordinates = margins.coordinates();
  const Order order(settings, coordinates);

  std::vector<double> weights(coordinates);
  Fit fit;
  Recorder record(fit, observer, {.expected = extent.passes * static_cast<std::int64_t>(coordinates)});
  for (int pass = 1; !record.ended(); ++pass) {
    double largest_promise = 0;
    for (std::size_t s = 0; s < coordinates; ++s) {
      if (fit.iterations == columns.steps()) {
        record.end(Stop::kBudgetEnded);
        break;
      }
      const std::size_t c = order.at(static_cast<std::uint64_t>(pass - 1) * coordinates + s);
      const double m = smoothness[c % margins.width()] / gamma;
      ++fit.iterations;
      if (!std::isfinite(m)) continue;
      PARLEY_TRY(const double g, columns.partial(c));
      const double moved = weights[c] - g / m;
      const double change = (free && margins.is_constant(c) ? moved : penalty.prox(1 / m, moved)) - weights[c];
      if (change == 0) continue;
      largest_promise = std::max(largest_promise, 0.5 * m * change * change);
      weights[c] += change;
      margins.add(c, change, columns);
    }
    split(problem, weights, fit);
    record.keep(margins.mean_loss() + penalty_value(problem.objective, fit.weights, fit.intercepts));
    if (may_converge && largest_promise <= settings.tolerance) record.end(Stop::kConverged);
    if (pass == extent.passes) record.end(Stop::kIterations);  // an end that is asked for now interrupts nothing
    record.show(fit.history.back(), fit.gap);
  }
  record.finish(problem, weights);
  return fit;
}

}  // namespace

Result<Fit> coordinate_descent(const Problem& problem, const CoordinateSettings& settings, const Observer& observer) {
  PARLEY_CHECK(check(problem, settings));
  const auto constant = problem.objective.intercept == Intercept::kNone ? 0 : 1;
  const auto coordinates = static_cast<std::size_t>(problem.objective.classes) *
                           static_cast<std::size_t>(problem.features.cols() + constant);
  PARLEY_TRY(const Extent extent, extent_of(problem, settings, coordinates));
  if (problem.privacy == nullptr) {
    for (const double squares : problem.features.column_squared_norms())
      if (!std::isfinite(squares))
        return fail(bad_input({.field = "features"}, "must be finite numbers of which squares can be summed"));
    OpenColumns columns(problem);
    return descend(problem, settings, extent, columns, observer);
  }
  PARLEY_TRY(PrivateColumns columns, PrivateColumns::make(problem, static_cast<std::int64_t>(extent.passes) *
                                                                       static_cast<std::int64_t>(coordinates)));
  PARLEY_TRY(Fit fit, descend(problem, settings, extent, columns, observer));
  fit.releases = problem.privacy->gate->releases();
  return fit;
}

}  // namespace parley::algorithms
