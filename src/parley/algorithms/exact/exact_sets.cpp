#include "parley/algorithms/exact/exact_sets.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "parley/algorithms/parts/check.h"
#include "parley/algorithms/parts/recorder.h"
#include "parley/glm/batch.h"
#include "parley/glm/sets.h"
#include "parley/linalg/vectors.h"

namespace parley::algorithms {

namespace {

using Vector = std::vector<double>;
using linalg::Index;

constexpr int kGradientSteps = 10;  // between two rounds of Newton's method
constexpr int kNewtonSteps = 20;    // on one face, or on those that it is cut down to
constexpr int kFlatSteps = 3;       // whose gain is below what values can tell
constexpr int kConjugateSteps = 400;
constexpr double kConjugateAccuracy = 1e-3;
constexpr double kFull = 1 - 1e-12;  // of a ball's radius: its border
constexpr double kSufficientDecrease = 1e-4;
constexpr int kPatience = 40;  // rounds without a smaller gap

constexpr Refusal kRefused[] = {
    {Part::kSoftmax, "exact takes losses of one margin over a box or over groups: linear, logistic, squared-hinge"},
    {Part::kL1, "exact takes no l1 penalty over a box or over groups"},
    {Part::kFreeIntercept, "every weight must be in the box or in a group; use \"penalised\" or none"},
    {Part::kBox, kTaken},
    {Part::kL1Groups, kTaken}};

// The set X, part by part.
class Parts {
 public:
  Parts(const glm::Objective& objective, std::size_t width) {
    if (objective.box) {
      box_ = *objective.box;
      return;
    }
    radius_ = *objective.l1_radius / static_cast<double>(objective.l1_groups.size());
    for (const int size : objective.l1_groups) borders_.push_back(borders_.back() + static_cast<std::size_t>(size));
    borders_.back() = width;
  }

  void project(std::span<double> w) const {
    if (box_ > 0) return glm::Box{-box_, box_}.project(w);
    for (std::size_t b = 0; b + 1 < borders_.size(); ++b) glm::L1Ball{radius_}.project(of(w, b));
  }

  // max over s in X of <g, w - s>.
  [[nodiscard]] double gap(std::span<const double> w, std::span<const double> g) const {
    double sum = 0;
    if (box_ > 0) {
      for (std::size_t j = 0; j < w.size(); ++j) sum += w[j] * g[j] + box_ * std::abs(g[j]);
      return sum;
    }
    for (std::size_t b = 0; b + 1 < borders_.size(); ++b)
      sum += std::max(0.0, linalg::dot(of(w, b), of(g, b)) + radius_ * linalg::linf_norm(of(g, b)));
    return sum;
  }

  // The coordinates that may move on the face of w.
  [[nodiscard]] std::vector<Index> face(std::span<const double> w) const {
    std::vector<Index> free;
    for (std::size_t j = 0; j < w.size(); ++j)
      if (box_ > 0 ? std::abs(w[j]) < box_ : w[j] != 0) free.push_back(static_cast<Index>(j));
    return free;
  }

  // Of a direction on the face `free` of w: in a ball that is full the sizes keep their sum.
  void keep_on_face(std::span<const double> w, std::span<const Index> free, std::span<double> direction) const {
    if (box_ > 0) return;
    std::size_t from = 0;
    for (std::size_t b = 0; b + 1 < borders_.size(); ++b) {
      std::size_t to = from;
      double sum = 0;
      for (; to < free.size() && static_cast<std::size_t>(free[to]) < borders_[b + 1]; ++to)
        sum += std::copysign(direction[to], direction[to] * w[static_cast<std::size_t>(free[to])]);
      if (to > from && linalg::l1_norm(of(w, b)) >= kFull * radius_)
        for (std::size_t c = from; c < to; ++c)
          direction[c] -=
              std::copysign(sum / static_cast<double>(to - from), sum * w[static_cast<std::size_t>(free[c])]);
      from = to;
    }
  }

  // w + alpha d with what would leave the face stopped at its border.
  [[nodiscard]] Vector stopped_at_border(std::span<const double> w, std::span<const Index> free,
                                         std::span<const double> direction, double alpha) const {
    Vector moved(w.begin(), w.end());
    for (std::size_t c = 0; c < free.size(); ++c) {
      const auto j = static_cast<std::size_t>(free[c]);
      moved[j] += alpha * direction[c];
      if (box_ == 0 && moved[j] * w[j] < 0) moved[j] = 0;
    }
    project(moved);
    return moved;
  }

 private:
  template <class T>
  [[nodiscard]] std::span<T> of(std::span<T> values, std::size_t ball) const {
    return values.subspan(borders_[ball], borders_[ball + 1] - borders_[ball]);
  }

  double box_ = 0;  // 0: balls
  double radius_ = 0;
  std::vector<std::size_t> borders_ = {0};
};

class FaceNewton {
 public:
  explicit FaceNewton(const Problem& problem)
      : problem_(problem),
        n_(static_cast<std::size_t>(problem.features.rows())),
        d_(static_cast<std::size_t>(problem.features.cols())),
        ones_(problem.objective.intercept == glm::Intercept::kPenalised),
        parts_(problem.objective, d_ + (ones_ ? 1 : 0)),
        here_(at(Vector(d_ + (ones_ ? 1 : 0)))),
        ahead_(here_.w) {
    const std::vector<double> squares = problem.features.column_squared_norms();
    const double sum = std::accumulate(squares.begin(), squares.end(), ones_ ? static_cast<double>(n_) : 0.0);
    largest_ = glm::curvature_bound(problem.objective.task) * sum / static_cast<double>(n_) + problem.objective.l2;
  }

  Result<Fit> run(const ExactSettings& settings, const Observer& observer) {
    Fit fit;
    Recorder record(fit, observer, {.certificate = Certificate::kFrankWolfeGap});
    fit.gap = std::numeric_limits<double>::infinity();
    Vector best = here_.w;
    int without_progress = 0;
    for (int iteration = 0;; ++iteration) {
      const double gap = parts_.gap(here_.w, here_.gradient);
      if (!std::isfinite(here_.value) || !std::isfinite(gap))
        return fail(failed("exact: the objective overflows; scale the features"));
      record.keep(here_.value);
      fit.iterations = iteration;
      without_progress = gap < 0.9 * fit.gap ? 0 : without_progress + 1;
      if (gap < fit.gap) {
        fit.gap = gap;
        best = here_.w;
      }
      if (gap <= settings.tolerance * std::min(1.0, here_.value))
        record.end(Stop::kConverged);
      else if (without_progress >= kPatience)
        record.end(fit.gap <= settings.tolerance * std::max(1.0, here_.value) ? Stop::kConverged : Stop::kStalled);
      if (record.ended() || !record.show(here_.value, gap) || iteration == settings.max_iterations) break;
      for (int step = 0; step < kGradientSteps; ++step) gradient_step();
      int flat = 0;
      for (int step = 0; step < kNewtonSteps && flat < kFlatSteps; ++step) {
        const Moved moved = newton_step();
        if (moved == Moved::kNot) break;
        flat += moved == Moved::kFlat ? 1 : 0;
      }
    }
    record.finish(problem_, best);
    return fit;
  }

 private:
  struct Point {
    Vector w, margins, gradient;
    double value = 0;
  };

  [[nodiscard]] Vector margins_of(std::span<const double> w) const {
    Vector margins(n_);
    problem_.features.multiply(w.first(d_), margins);
    if (ones_)
      for (double& margin : margins) margin += w.back();
    return margins;
  }

  // A'v with the column of ones.
  [[nodiscard]] Vector transposed(std::span<const double> v) const {
    Vector sums(d_ + (ones_ ? 1 : 0));
    problem_.features.multiply_transposed(v, std::span(sums).first(d_));
    if (ones_) sums.back() = std::accumulate(v.begin(), v.end(), 0.0);
    return sums;
  }

  [[nodiscard]] double penalty(std::span<const double> w) const {
    return problem_.objective.l2 / 2 * linalg::squared_norm(w);
  }

  [[nodiscard]] double value_at(std::span<const double> w) const {
    return glm::mean_loss(problem_.objective.task, margins_of(w), problem_.labels) + penalty(w);
  }

  [[nodiscard]] Point at(Vector w) const {
    Point point{.w = std::move(w)};
    point.margins = margins_of(point.w);
    Vector slope(n_);
    point.value = glm::mean_loss_and_derivatives(problem_.objective.task, point.margins, problem_.labels, slope) +
                  penalty(point.w);
    linalg::scale(1 / static_cast<double>(n_), slope);
    point.gradient = transposed(slope);
    linalg::axpy(problem_.objective.l2, point.w, point.gradient);
    return point;
  }

  // One step from ahead_, with the length that its own quadratic model bears out.
  void gradient_step() {
    const Point from = at(ahead_);
    for (;; curvature_ *= 2) {
      Vector next = from.w;
      linalg::axpy(-1 / curvature_, from.gradient, next);
      parts_.project(next);
      Vector moved = next;
      linalg::axpy(-1.0, from.w, moved);
      Point there = at(std::move(next));
      // F(there) <= F(from) + <g(there), moved> for convex F. Told by gradients, which see what values round away.
      Vector turned = there.gradient;
      linalg::axpy(-1.0, from.gradient, turned);
      if (linalg::dot(turned, moved) > curvature_ / 2 * linalg::squared_norm(moved) && curvature_ < 2 * largest_)
        continue;
      Vector way = there.w;
      linalg::axpy(-1.0, here_.w, way);
      if (linalg::dot(there.gradient, way) > 0) {  // uphill: begun anew
        momentum_ = 1;
        ahead_ = here_.w;
        return;
      }
      const double next_momentum = (1 + std::sqrt(1 + 4 * momentum_ * momentum_)) / 2;
      ahead_ = there.w;
      linalg::axpy((momentum_ - 1) / next_momentum, way, ahead_);
      momentum_ = next_momentum;
      here_ = std::move(there);
      curvature_ *= 0.9;
      return;
    }
  }

  // The Newton direction on the face: conjugate gradients for H d = -g, all of it projected onto the face.
  [[nodiscard]] Vector direction_on(std::span<const Index> free) const {
    Vector curvatures(n_);
    glm::loss_curvatures(problem_.objective.task, here_.margins, problem_.labels, curvatures);
    linalg::scale(1 / static_cast<double>(n_), curvatures);
    const bool constant = ones_ && !free.empty() && static_cast<std::size_t>(free.back()) == d_;
    const std::size_t columns = free.size() - (constant ? 1 : 0);
    const linalg::Matrix face = problem_.features.select_columns(free.first(columns));
    const auto curved = [&](const Vector& p) {
      Vector margins(n_), product(free.size());
      face.multiply(std::span(p).first(columns), margins);
      for (std::size_t i = 0; i < n_; ++i) margins[i] = (margins[i] + (constant ? p.back() : 0)) * curvatures[i];
      face.multiply_transposed(margins, std::span(product).first(columns));
      if (constant) product.back() = std::accumulate(margins.begin(), margins.end(), 0.0);
      linalg::axpy(problem_.objective.l2, p, product);
      parts_.keep_on_face(here_.w, free, product);
      return product;
    };
    Vector direction(free.size()), residual(free.size());
    for (std::size_t c = 0; c < free.size(); ++c) residual[c] = -here_.gradient[static_cast<std::size_t>(free[c])];
    parts_.keep_on_face(here_.w, free, residual);
    Vector search = residual;
    double size = linalg::squared_norm(residual);
    const double wanted = kConjugateAccuracy * kConjugateAccuracy * size;
    for (int step = 0; step < kConjugateSteps && size > wanted; ++step) {
      const Vector product = curved(search);
      const double along = linalg::dot(search, product);
      if (!(along > 0)) break;
      linalg::axpy(size / along, search, direction);
      linalg::axpy(-size / along, product, residual);
      const double before = size;
      size = linalg::squared_norm(residual);
      linalg::scale(size / before, search);
      linalg::axpy(1.0, residual, search);
    }
    return direction;
  }

  enum class Moved { kNot, kFlat, kDown };

  Moved newton_step() {
    const std::vector<Index> free = parts_.face(here_.w);
    if (free.empty()) return Moved::kNot;
    const Vector direction = direction_on(free);
    double slope = 0;
    for (std::size_t c = 0; c < free.size(); ++c)
      slope += direction[c] * here_.gradient[static_cast<std::size_t>(free[c])];
    if (!(slope < 0)) return Moved::kNot;
    for (double alpha = 1; alpha > 1e-10; alpha /= 4) {
      Vector next = parts_.stopped_at_border(here_.w, free, direction, alpha);
      const double value = value_at(next);
      const bool flat = alpha == 1 && -slope < 1e-14 * std::abs(here_.value);
      if (!flat && !(value <= here_.value + kSufficientDecrease * alpha * slope)) continue;
      here_ = at(std::move(next));
      ahead_ = here_.w;
      momentum_ = 1;
      return flat ? Moved::kFlat : Moved::kDown;
    }
    return Moved::kNot;
  }

  const Problem& problem_;
  std::size_t n_, d_;
  bool ones_;
  Parts parts_;
  Point here_;
  Vector ahead_;  // where the next gradient step begins
  double momentum_ = 1, curvature_ = 1e-3;
  double largest_;  // a bound of the curvature of F
};

Result<void> check_sets(const Problem& problem) {
  PARLEY_CHECK(check(problem, kRefused));
  const std::vector<int>& groups = problem.objective.l1_groups;
  const auto columns = static_cast<double>(problem.features.cols());
  const double sum = std::accumulate(groups.begin(), groups.end(), 0.0);
  return require(groups.empty() || sum == columns, "model.l1_groups",
                 fmt::format("must have as many columns as the table, {}", columns), sum);
}

}  // namespace

Result<Fit> exact_sets(const Problem& problem, const ExactSettings& settings, const Observer& observer) {
  PARLEY_CHECK(check_sets(problem));
  return FaceNewton(problem).run(settings, observer);
}

}  // namespace parley::algorithms
