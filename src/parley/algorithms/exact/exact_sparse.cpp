#include "parley/algorithms/exact/exact_sparse.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "parley/algorithms/exact/exact_sparse_certificate.h"
#include "parley/algorithms/exact/exact_sparse_columns.h"
#include "parley/algorithms/exact/exact_sparse_loss.h"
#include "parley/algorithms/exact/exact_sparse_quadratic.h"
#include "parley/algorithms/parts/recorder.h"

namespace parley::algorithms {

namespace {

using linalg::Index;

// Problems with no more coordinates than this have them all in the working set.
constexpr std::size_t kSmallProblem = 160;
// A working set admits at most as many newcomers as the support is large, and this many at least.
constexpr std::size_t kLeastNewcomers = 100;
// Zero coordinates whose gradient reaches this share of the penalty are let in early.
constexpr double kNearlyActive = 0.98;
constexpr double kSufficientDecrease = 1e-4;
// Rounds without progress after which a stalled search ends; on the ball mass is moved meanwhile.
constexpr int kPatience = 4;
constexpr int kPatienceOnTheBall = 60;
constexpr int kMassMoves = 64;  // between two Newton steps

class ProximalNewton {
 public:
  ProximalNewton(const Problem& problem, const ExactSettings& settings)
      : problem_(problem),
        objective_(problem.objective),
        settings_(settings),
        loss_(mean_loss(problem)),
        n_(static_cast<std::size_t>(problem.features.rows())),
        d_(static_cast<std::size_t>(problem.features.cols())),
        classes_(static_cast<std::size_t>(objective_.classes)),
        stride_(d_ + (objective_.intercept != glm::Intercept::kNone ? 1 : 0)),
        coefficients_(stride_ * classes_),
        gradient_(coefficients_.size()),
        margins_(n_ * classes_),
        direction_(margins_.size()) {}

  Result<Fit> run(const Observer& observer) {
    Fit fit;
    Recorder record(fit, observer,
                    {.certificate = objective_.l1_radius ? Certificate::kFrankWolfeGap : Certificate::kDualityGap});
    fit.gap = std::numeric_limits<double>::infinity();
    loss_->differentiate(margins_, direction_, 0.0, now_);
    penalty_ = penalty(coefficients_);
    int without_progress = 0;
    for (int iteration = 0;; ++iteration) {
      mean_loss_gradient(problem_, now_.slope, gradient_);
      if (iteration == 0) PARLEY_CHECK(check_finite());
      const double value = now_.value + penalty_;
      const double gap =
          duality_gap(problem_, *loss_, {coefficients_, margins_, now_.slope, gradient_, value, now_.value},
                      1e6 * settings_.tolerance);
      if (!std::isfinite(value) || !std::isfinite(gap))
        return fail(failed("exact: the objective overflows; scale the features"));
      record.keep(value);
      fit.iterations = iteration;
      without_progress = gap < 0.9 * fit.gap ? 0 : without_progress + 1;
      if (gap < fit.gap) keep(fit, value, gap);
      const bool resolved = fit.gap <= settings_.tolerance * std::max(1.0, value);
      const int patience = objective_.l1_radius && !resolved ? kPatienceOnTheBall : kPatience;
      if (gap <= settings_.tolerance * std::min(1.0, value))
        record.end(Stop::kConverged);
      else if (without_progress >= patience && (stalled_ || resolved))
        record.end(resolved ? Stop::kConverged : Stop::kStalled);
      if (record.ended() || !record.show(value, gap) || iteration == settings_.max_iterations) break;
      choose_working_set();
      if (!objective_.l1_radius || without_progress % 4 != 3) take_step();
      if (objective_.l1_radius && without_progress > 0)
        for (int move = 0; move < kMassMoves && move_mass(); ++move)
          mean_loss_gradient(problem_, now_.slope, gradient_);
    }
    return fit;
  }

 private:
  [[nodiscard]] bool penalised(std::size_t c) const {
    return objective_.intercept != glm::Intercept::kFree || c % stride_ != d_;
  }

  [[nodiscard]] double penalty(std::span<const double> coefficients) const {
    double absolute = 0;
    double squares = 0;
    for (std::size_t c = 0; c < coefficients.size(); ++c) {
      if (coefficients[c] == 0.0 || !penalised(c)) continue;
      absolute += std::abs(coefficients[c]);
      squares += coefficients[c] * coefficients[c];
    }
    return objective_.l1 * absolute + 0.5 * objective_.l2 * squares;
  }

  Result<void> check_finite() const {
    for (std::size_t c = 0; c < gradient_.size(); ++c)
      if (!std::isfinite(gradient_[c]))
        return fail(bad_input({.field = fmt::format("column {}", c % stride_ + 1)},
                              "features must be finite numbers whose sums do not overflow"));
    return {};
  }

  void keep(Fit& fit, double value, double gap) const {
    fit.objective = value;
    fit.gap = gap;
    split(problem_, coefficients_, fit);
  }

  // Gradient of the smooth part, l2 included.
  [[nodiscard]] double smooth_gradient(std::size_t c) const {
    return gradient_[c] + (penalised(c) ? objective_.l2 * coefficients_[c] : 0.0);
  }

  [[nodiscard]] bool all_zero() const {
    return std::all_of(coefficients_.begin(), coefficients_.end(), [](double v) { return v == 0.0; });
  }

  void choose_working_set() {
    std::vector<std::size_t> wanted;
    std::vector<std::size_t> newcomers;
    double steepest = 0;
    for (std::size_t c = 0; c < coefficients_.size(); ++c)
      if (penalised(c)) steepest = std::max(steepest, std::abs(smooth_gradient(c)));
    // On the ball the next multiplier is not known yet: the steepest newcomers, however many fit.
    const double bar = objective_.l1_radius ? 0.2 * steepest : kNearlyActive * std::min(steepest, objective_.l1);
    for (std::size_t c = 0; c < coefficients_.size(); ++c) {
      if (coefficients_[c] != 0.0 || !penalised(c))
        wanted.push_back(c);
      else if (coefficients_.size() <= kSmallProblem || std::abs(gradient_[c]) >= bar)
        newcomers.push_back(c);
    }
    const std::size_t room = std::max(kLeastNewcomers, wanted.size());
    if (coefficients_.size() > kSmallProblem && newcomers.size() > room) {
      const auto steeper = [&](std::size_t a, std::size_t b) {
        const double ga = std::abs(gradient_[a]);
        const double gb = std::abs(gradient_[b]);
        return ga != gb ? ga > gb : a < b;
      };
      std::nth_element(newcomers.begin(), newcomers.begin() + static_cast<std::ptrdiff_t>(room), newcomers.end(),
                       steeper);
      newcomers.resize(room);
    }
    wanted.insert(wanted.end(), newcomers.begin(), newcomers.end());
    std::sort(wanted.begin(), wanted.end());
    // Keeping a set that already holds all that is wanted spares the copying of columns.
    // A much smaller set is worth the copy when its Hessian is computed anew anyway.
    const std::size_t roomy =
        loss_->quadratic() ? 2 * wanted.size() + kLeastNewcomers : wanted.size() + wanted.size() / 8;
    if ((roomy >= working_.size() || coefficients_.size() <= kSmallProblem) &&
        std::includes(working_.begin(), working_.end(), wanted.begin(), wanted.end()))
      return;
    working_ = std::move(wanted);
    std::vector<Coordinate> coordinates;
    for (const std::size_t c : working_)
      coordinates.push_back({static_cast<Index>(c % stride_), static_cast<int>(c / stride_)});
    columns_.assign(problem_.features, std::move(coordinates));
    hessian_.clear();
  }

  void compute_hessian() {
    const std::size_t size = working_.size();
    if (hessian_.size() == size * size && loss_->quadratic()) return;
    hessian_.resize(size * size);
    loss_->hessian(columns_, now_, hessian_);
    if (objective_.l2 > 0)
      for (std::size_t a = 0; a < size; ++a)
        if (penalised(working_[a])) hessian_[a * size + a] += objective_.l2;
  }

  // Minimises the model on the working set and searches the line towards its minimiser.
  void take_step() {
    compute_hessian();
    const std::size_t size = working_.size();
    std::vector<double> origin(size);
    std::vector<double> gradient(size);
    std::vector<char> is_penalised(size);
    for (std::size_t a = 0; a < size; ++a) {
      origin[a] = coefficients_[working_[a]];
      gradient[a] = smooth_gradient(working_[a]);
      is_penalised[a] = penalised(working_[a]) ? 1 : 0;
    }
    QuadraticModel model(std::move(hessian_), gradient, origin, std::move(is_penalised));
    if (objective_.l1_radius) {
      const double radius = *objective_.l1_radius;
      double steepest = 0;
      for (const double g : gradient) steepest = std::max(steepest, std::abs(g));
      const double least = std::max({objective_.l1, 1e-3 * settings_.tolerance / radius, 1e-12 * steepest});
      // At the optimum the multiplier is the steepest gradient.
      model.minimise_on_ball(radius, least, all_zero() ? 0.5 * steepest : steepest, 1e-14 * steepest);
    } else {
      const double wrong = model.violation(objective_.l1);
      // Rough while far, superlinear when near, and as exact as can be when the objective has nothing more to say.
      model.minimise(objective_.l1, wrong * (stalled_ ? 1e-8 : std::min(0.03, wrong / objective_.l1)));
    }
    const std::span<const double> target = model.solution();
    std::vector<double> step(size);
    double slope = 0;  // of the model at the origin: Lee, Sun & Saunders, equation (2.10)
    for (std::size_t a = 0; a < size; ++a) {
      step[a] = target[a] - origin[a];
      slope += gradient[a] * step[a];
      if (penalised(working_[a])) slope += objective_.l1 * (std::abs(target[a]) - std::abs(origin[a]));
    }
    columns_.multiply(step, direction_);
    search_line(target, step, slope);
    hessian_ = std::move(model).release_hessian();
  }

  // Newton's model knows a direction of hardly any curvature, as nearly equal columns have one, to the few digits that
  // its Hessian has. On the ball such directions are left to pairwise Frank-Wolfe steps (Lacoste-Julien & Jaggi 2015):
  // mass of the l1 norm moves from the coordinate that has most reason to lose it, or from what the ball has left over,
  // to the steepest one, as far as the objective itself falls. False when nothing moved.
  bool move_mass() {
    double most = *objective_.l1_radius;  // that can move
    double worst = 0;                     // slope of giving up mass, with its sign
    std::size_t from = working_.size(), to = working_.size();
    double steepest = 0;
    for (std::size_t a = 0; a < working_.size(); ++a)
      if (penalised(working_[a])) most -= std::abs(coefficients_[working_[a]]);
    const bool room = most > 1e-14 * *objective_.l1_radius;
    if (!room) worst = -std::numeric_limits<double>::infinity();
    for (std::size_t a = 0; a < working_.size(); ++a) {
      const std::size_t c = working_[a];
      if (!penalised(c)) continue;
      const double g = smooth_gradient(c), w = coefficients_[c];
      if (std::abs(g) > steepest) {
        steepest = std::abs(g);
        to = a;
      }
      const double slope = (w > 0 ? g : -g) + objective_.l1;
      if (w != 0 && slope > worst) {
        worst = slope;
        from = a;
      }
    }
    if (to == working_.size() || (!room && from == working_.size())) return false;
    std::vector<double> step(working_.size());
    if (from < working_.size()) {
      const double w = coefficients_[working_[from]];
      most = std::abs(w);
      step[from] -= w > 0 ? 1.0 : -1.0;
    }
    step[to] -= smooth_gradient(working_[to]) > 0 ? 1.0 : -1.0;
    if (objective_.l1 - steepest - worst >= 0 || !(most > 0)) return false;
    columns_.multiply(step, direction_);
    double squares = 0, inner = 0;  // of the step, and with the weights
    for (std::size_t a = 0; a < step.size(); ++a) {
      squares += step[a] * step[a];
      inner += step[a] * coefficients_[working_[a]];
    }
    const double linear = from < working_.size() ? 0.0 : objective_.l1;  // mass that comes from nowhere is penalised
    const auto slope_at = [&](double length) {
      loss_->differentiate(margins_, direction_, length, trial_);
      return std::inner_product(trial_.slope.begin(), trial_.slope.end(), direction_.begin(), linear) +
             objective_.l2 * (inner + length * squares);
    };
    double length = most;
    if (slope_at(most) > 0) {
      double low = 0, high = most;
      for (int halving = 0; halving < 60 && high - low > 1e-15 * most; ++halving) {
        length = 0.5 * (low + high);
        (slope_at(length) > 0 ? high : low) = length;
      }
      length = low;
    }
    if (length == 0) return false;
    for (std::size_t a = 0; a < step.size(); ++a) coefficients_[working_[a]] += length * step[a];
    if (from < working_.size() && from != to && length == most) coefficients_[working_[from]] = 0.0;
    loss_->differentiate(margins_, direction_, length, trial_);
    for (std::size_t i = 0; i < margins_.size(); ++i) margins_[i] += length * direction_[i];
    std::swap(now_, trial_);
    penalty_ = penalty(coefficients_);
    return true;
  }

  void search_line(std::span<const double> target, std::span<const double> step, double slope) {
    const double before = now_.value + penalty_;
    // Below this the objective cannot tell a good step from a bad one; Newton's step is taken on trust
    // and the gap, which is computed without cancellation, decides.
    const double resolution = 1e-14 * std::abs(before);
    stalled_ = -slope <= resolution;
    std::vector<double> trial = coefficients_;
    for (double length = 1;; length *= 0.5) {
      for (std::size_t a = 0; a < step.size(); ++a)
        trial[working_[a]] = length == 1 ? target[a] : coefficients_[working_[a]] + length * step[a];
      loss_->differentiate(margins_, direction_, length, trial_);
      const double trial_penalty = penalty(trial);
      const double after = trial_.value + trial_penalty;
      if (stalled_ || after <= before + kSufficientDecrease * length * slope || length < 1e-10) {
        if (length < 1e-10) stalled_ = true;
        coefficients_.swap(trial);
        for (std::size_t i = 0; i < margins_.size(); ++i) margins_[i] += length * direction_[i];
        std::swap(now_, trial_);
        penalty_ = trial_penalty;
        return;
      }
    }
  }

  const Problem& problem_;
  const glm::Objective& objective_;
  const ExactSettings& settings_;
  std::unique_ptr<MeanLoss> loss_;
  std::size_t n_, d_, classes_, stride_;
  std::vector<double> coefficients_;  // class by class, each class with its intercept last
  std::vector<double> gradient_;      // of the mean loss by coefficient
  std::vector<double> margins_, direction_;
  Slopes now_, trial_;
  double penalty_ = 0;
  bool stalled_ = false;
  std::vector<std::size_t> working_;  // ascending
  WorkingColumns columns_;
  std::vector<double> hessian_;
};

}  // namespace

Result<Fit> exact_sparse(const Problem& problem, const ExactSettings& settings, const Observer& observer) {
  return ProximalNewton(problem, settings).run(observer);
}

}  // namespace parley::algorithms
