// labels: slow
#include "parley/algorithms/exact/exact_sparse.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "parley/core/threads.h"
#include "tests/support/sanitized.h"

namespace {

using namespace parley;
using algorithms::Certificate;
using algorithms::ExactSettings;
using algorithms::Fit;
using algorithms::Problem;
using algorithms::Stop;
using glm::Intercept;
using glm::Task;

// A small problem with everything written out, so that the checks below share no code with the solver.
struct Small {
  std::size_t n = 0;
  std::size_t d = 0;
  std::vector<double> x;  // column-major
  std::vector<double> y;
  glm::Objective objective;
  linalg::Matrix features;

  [[nodiscard]] std::size_t classes() const { return static_cast<std::size_t>(objective.classes); }
  [[nodiscard]] bool has_intercept() const { return objective.intercept != Intercept::kNone; }
  [[nodiscard]] std::size_t stride() const { return d + (has_intercept() ? 1 : 0); }
  [[nodiscard]] std::size_t size() const { return stride() * classes(); }
  [[nodiscard]] bool penalised(std::size_t c) const {
    return objective.intercept != Intercept::kFree || c % stride() != d;
  }
  [[nodiscard]] double at(std::size_t i, std::size_t j) const { return j == d ? 1.0 : x[j * n + i]; }

  [[nodiscard]] double margin(const std::vector<double>& v, std::size_t i, std::size_t k) const {
    double sum = 0;
    for (std::size_t j = 0; j < stride(); ++j) sum += at(i, j) * v[k * stride() + j];
    return sum;
  }
  [[nodiscard]] std::vector<double> margins(const std::vector<double>& v, std::size_t i) const {
    std::vector<double> m(classes());
    for (std::size_t k = 0; k < classes(); ++k) m[k] = margin(v, i, k);
    return m;
  }
  [[nodiscard]] double loss(const std::vector<double>& m, std::size_t i) const {
    if (objective.task == Task::kSoftmax) {
      double top = m[0];
      for (const double t : m) top = std::max(top, t);
      double sum = 0;
      for (const double t : m) sum += std::exp(t - top);
      return top + std::log(sum) - m[static_cast<std::size_t>(y[i])];
    }
    return glm::with_loss(objective.task, [&](auto l) { return l.value(m[0], y[i]); });
  }
  [[nodiscard]] std::vector<double> loss_slope(const std::vector<double>& m, std::size_t i) const {
    if (objective.task == Task::kSoftmax) {
      const double total = loss(m, i) + m[static_cast<std::size_t>(y[i])];
      std::vector<double> slope(m.size());
      for (std::size_t k = 0; k < m.size(); ++k)
        slope[k] = std::exp(m[k] - total) - (static_cast<double>(k) == y[i] ? 1.0 : 0.0);
      return slope;
    }
    return {glm::with_loss(objective.task, [&](auto l) { return l.derivative(m[0], y[i]); })};
  }
  [[nodiscard]] double norm1(const std::vector<double>& v) const {
    double sum = 0;
    for (std::size_t c = 0; c < v.size(); ++c)
      if (penalised(c)) sum += std::abs(v[c]);
    return sum;
  }
  [[nodiscard]] double value(const std::vector<double>& v) const {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += loss(margins(v, i), i);
    double squares = 0;
    for (std::size_t c = 0; c < v.size(); ++c)
      if (penalised(c)) squares += v[c] * v[c];
    return sum / static_cast<double>(n) + objective.l1 * norm1(v) + 0.5 * objective.l2 * squares;
  }
  // Of the mean loss plus l2 term.
  [[nodiscard]] std::vector<double> gradient(const std::vector<double>& v) const {
    std::vector<double> g(v.size());
    for (std::size_t i = 0; i < n; ++i) {
      const std::vector<double> slope = loss_slope(margins(v, i), i);
      for (std::size_t k = 0; k < classes(); ++k)
        for (std::size_t j = 0; j < stride(); ++j) g[k * stride() + j] += slope[k] * at(i, j) / static_cast<double>(n);
    }
    for (std::size_t c = 0; c < v.size(); ++c)
      if (penalised(c)) g[c] += objective.l2 * v[c];
    return g;
  }
  [[nodiscard]] std::vector<double> joined(const Fit& fit) const {
    std::vector<double> v(size());
    for (std::size_t k = 0; k < classes(); ++k) {
      for (std::size_t j = 0; j < d; ++j) v[k * stride() + j] = fit.weights[k * d + j];
      if (has_intercept()) v[k * stride() + d] = fit.intercepts[k];
    }
    return v;
  }
  [[nodiscard]] Result<Fit> solve() const {
    return algorithms::exact_sparse({features, y, objective}, ExactSettings{}, {});
  }
};

double sign(double v) {
  return static_cast<double>(v > 0) - static_cast<double>(v < 0);
}

// Largest violation of the optimality conditions of the penalised problem.
double penalty_violation(const Small& small, const std::vector<double>& v) {
  const std::vector<double> g = small.gradient(v);
  double worst = 0;
  for (std::size_t c = 0; c < v.size(); ++c) {
    const double l1 = small.penalised(c) ? small.objective.l1 : 0.0;
    worst = std::max(worst, v[c] != 0 || l1 == 0 ? std::abs(g[c] + l1 * sign(v[c])) : std::abs(g[c]) - l1);
  }
  return worst;
}

double frank_wolfe_gap(const Small& small, const std::vector<double>& v) {
  const std::vector<double> g = small.gradient(v);
  double gap = 0;
  double steepest = 0;
  for (std::size_t c = 0; c < v.size(); ++c) {
    if (!small.penalised(c)) continue;
    gap += g[c] * v[c];
    steepest = std::max(steepest, std::abs(g[c]));
  }
  return gap + *small.objective.l1_radius * steepest;
}

// Euclidean projection onto the l1 ball by bisection on the threshold: slow and plain.
void project(const Small& small, std::vector<double>& v, double radius) {
  if (small.norm1(v) <= radius) return;
  double low = 0;
  double high = 0;
  for (const double t : v) high = std::max(high, std::abs(t));
  for (int step = 0; step < 100; ++step) {
    const double middle = 0.5 * (low + high);
    double norm = 0;
    for (std::size_t c = 0; c < v.size(); ++c)
      if (small.penalised(c)) norm += std::max(0.0, std::abs(v[c]) - middle);
    (norm > radius ? low : high) = middle;
  }
  for (std::size_t c = 0; c < v.size(); ++c)
    if (small.penalised(c)) v[c] = sign(v[c]) * std::max(0.0, std::abs(v[c]) - high);
}

// Accelerated proximal gradient with restarts (Beck & Teboulle 2009; O'Donoghue & Candes 2015).
double accelerated_optimum(const Small& small, int iterations) {
  double step = 0;
  for (std::size_t i = 0; i < small.n; ++i)
    for (std::size_t j = 0; j < small.stride(); ++j) step += small.at(i, j) * small.at(i, j);
  const double curvature = small.objective.task == Task::kSquaredHinge ? 2.0 : 1.0;
  step = 1.0 / (curvature * step / static_cast<double>(small.n) + small.objective.l2 + 1e-12);
  std::vector<double> v(small.size());
  std::vector<double> ahead = v;
  double momentum = 1;
  double best = small.value(v);
  double last = best;
  for (int t = 0; t < iterations; ++t) {
    const std::vector<double> g = small.gradient(ahead);
    std::vector<double> next(v.size());
    for (std::size_t c = 0; c < v.size(); ++c) {
      const double moved = ahead[c] - step * g[c];
      const double cut = small.penalised(c) ? step * small.objective.l1 : 0.0;
      next[c] = sign(moved) * std::max(0.0, std::abs(moved) - cut);
    }
    if (small.objective.l1_radius) project(small, next, *small.objective.l1_radius);
    const double value = small.value(next);
    best = std::min(best, value);
    if (value > last) momentum = 1;
    last = value;
    const double next_momentum = 0.5 * (1 + std::sqrt(1 + 4 * momentum * momentum));
    for (std::size_t c = 0; c < v.size(); ++c) ahead[c] = next[c] + (momentum - 1) / next_momentum * (next[c] - v[c]);
    momentum = next_momentum;
    v = std::move(next);
  }
  return best;
}

enum class Shape { kTall, kWide, kDuplicated, kCollinear, kConstantAndEmpty };

Small random_problem(Task task, Shape shape, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  Small small;
  small.n = shape == Shape::kWide ? 12 : 40;
  small.d = shape == Shape::kWide ? 25 : 8;
  small.x.resize(small.n * small.d);
  for (double& v : small.x) v = normal(random) < 0.5 ? normal(random) : 0.0;
  const auto copy_column = [&](std::size_t from, std::size_t to, double factor) {
    for (std::size_t i = 0; i < small.n; ++i) small.x[to * small.n + i] = factor * small.x[from * small.n + i];
  };
  if (shape == Shape::kDuplicated) {
    copy_column(0, 1, 1.0);
    copy_column(2, 3, -1.0);
  }
  if (shape == Shape::kCollinear) {
    // One-hot groups: columns 0-2 and 3-5 each add up to the column of ones.
    for (std::size_t i = 0; i < small.n; ++i)
      for (std::size_t j = 0; j < 6; ++j) small.x[j * small.n + i] = 0;
    for (std::size_t i = 0; i < small.n; ++i) {
      small.x[(random() % 3) * small.n + i] = 1;
      small.x[(3 + random() % 3) * small.n + i] = 1;
    }
  }
  if (shape == Shape::kConstantAndEmpty)
    for (std::size_t i = 0; i < small.n; ++i) {
      small.x[i] = 2.5;
      small.x[small.n + i] = 0;
    }
  small.objective.task = task;
  small.objective.classes = task == Task::kSoftmax ? 3 : 1;
  for (std::size_t i = 0; i < small.n; ++i) {
    const double score = small.x[2 * small.n + i] - small.x[4 * small.n + i] + 0.7 * normal(random) + 0.3;
    switch (task) {
      case Task::kLinear:
        small.y.push_back(score + 1);
        break;
      case Task::kSoftmax:
        small.y.push_back(score < -0.5 ? 0 : score < 0.8 ? 1 : 2);
        break;
      default:
        small.y.push_back(score > 0 ? 1 : -1);
    }
  }
  small.features =
      linalg::Matrix::from_dense(static_cast<linalg::Index>(small.n), static_cast<linalg::Index>(small.d), small.x);
  return small;
}

constexpr Task kTasks[] = {Task::kLinear, Task::kLogistic, Task::kSquaredHinge, Task::kSoftmax};
constexpr Shape kShapes[] = {Shape::kTall, Shape::kWide, Shape::kDuplicated, Shape::kCollinear,
                             Shape::kConstantAndEmpty};
constexpr Intercept kIntercepts[] = {Intercept::kNone, Intercept::kFree, Intercept::kPenalised};

std::string describe(const Small& small, Shape shape) {
  return std::string(glm::name(small.objective.task)) + " shape " + std::to_string(static_cast<int>(shape)) +
         " intercept " + std::to_string(static_cast<int>(small.objective.intercept)) + " l1 " +
         std::to_string(small.objective.l1) + " l2 " + std::to_string(small.objective.l2) + " radius " +
         std::to_string(small.objective.l1_radius.value_or(-1));
}

template <class Body>
void for_all_problems(const Body& body) {
  unsigned seed = 1;
  for (const Task task : kTasks)
    for (const Shape shape : kShapes)
      for (const Intercept intercept : kIntercepts) {
        Small small = random_problem(task, shape, seed++);
        small.objective.intercept = intercept;
        body(small, shape);
      }
}

// One thread: these problems are too small to share.
class ExactSparse : public testing::Test {
 protected:
  ExactSparse() { set_thread_count(1); }
  ~ExactSparse() override { set_thread_count(0); }
};

}  // namespace

TEST_F(ExactSparse, MeetsTheOptimalityConditionsOfEveryPenalty) {
  for_all_problems([](Small& small, Shape shape) {
    for (const double l1 : {0.3, 0.03, 1e-3, 1e-6})
      for (const double l2 : {0.0, 0.1, 1e-4}) {
        small.objective.l1 = l1;
        small.objective.l2 = l2;
        SCOPED_TRACE(describe(small, shape));
        const auto fit = small.solve();
        ASSERT_TRUE(fit);
        EXPECT_EQ(fit->stop, Stop::kConverged);
        EXPECT_EQ(fit->certificate, Certificate::kDualityGap);
        EXPECT_LE(fit->gap, 1e-10);
        const std::vector<double> v = small.joined(*fit);
        EXPECT_NEAR(fit->objective, small.value(v), 1e-13 * std::max(1.0, fit->objective));
        // A gap e allows a violation of sqrt(2 L e); the curvature L of these problems is below 12.
        EXPECT_LE(penalty_violation(small, v), 5e-5);
      }
  });
}

TEST_F(ExactSparse, AgreesWithLongAcceleratedProximalGradient) {
  PARLEY_SKIP_WHEN_SANITIZED();
  for_all_problems([](Small& small, Shape shape) {
    small.objective.l1 = 0.05;
    small.objective.l2 = shape == Shape::kCollinear ? 0.0 : 0.02;
    SCOPED_TRACE(describe(small, shape));
    const auto fit = small.solve();
    ASSERT_TRUE(fit);
    const double reference = accelerated_optimum(small, 1500);
    EXPECT_LE(fit->objective, reference + 1e-10);
    EXPECT_GE(fit->objective, reference - 1e-6);
  });
}

TEST_F(ExactSparse, StaysOnTheBallWithASmallFrankWolfeGap) {
  PARLEY_SKIP_WHEN_SANITIZED();
  for_all_problems([](Small& small, Shape shape) {
    for (const double radius : {1e-9, 0.1, 1.0, 3.0, 1e4})
      for (const double l2 : {0.0, 0.05}) {
        small.objective.l1_radius = radius;
        small.objective.l2 = l2;
        SCOPED_TRACE(describe(small, shape));
        const auto fit = small.solve();
        ASSERT_TRUE(fit);
        EXPECT_EQ(fit->stop, Stop::kConverged);
        EXPECT_EQ(fit->certificate, Certificate::kFrankWolfeGap);
        EXPECT_LE(fit->gap, 1e-10);
        const std::vector<double> v = small.joined(*fit);
        EXPECT_LE(small.norm1(v), radius * (1 + 1e-14));
        EXPECT_NEAR(fit->objective, small.value(v), 1e-13 * std::max(1.0, fit->objective));
        // Without a free intercept the certificate is the textbook gap, up to the rounding of a
        // gradient (whose sums processors add up in different orders) times the radius.
        if (small.objective.intercept != Intercept::kFree) {
          EXPECT_NEAR(frank_wolfe_gap(small, v), fit->gap, 1e-13 * (1 + radius));
        }
      }
  });
}

TEST_F(ExactSparse, CertifiesTheBallWhenColumnsAreNearlyEqual) {
  unsigned seed = 500;
  int stalled = 0;
  for (const Task task : kTasks)
    for (const Intercept intercept : kIntercepts)
      for (const double apart : {1e-2, 1e-4, 1e-6, 1e-9, 1e-12})
        for (const double radius : {0.5, 3.0, 20.0, 100.0})
          for (const double l2 : {0.0, 1e-6}) {
            Small small = random_problem(task, Shape::kTall, seed++);
            std::mt19937_64 random(seed);
            std::normal_distribution<double> normal;
            for (std::size_t j : {std::size_t{0}, std::size_t{2}})
              for (std::size_t i = 0; i < small.n; ++i)
                small.x[(j + 1) * small.n + i] = small.x[j * small.n + i] + apart * normal(random);
            small.features = linalg::Matrix::from_dense(static_cast<linalg::Index>(small.n),
                                                        static_cast<linalg::Index>(small.d), small.x);
            small.objective.intercept = intercept;
            small.objective.l1_radius = radius;
            small.objective.l2 = l2;
            SCOPED_TRACE(describe(small, Shape::kTall) + " apart " + std::to_string(std::log10(apart)));
            const auto fit = small.solve();
            ASSERT_TRUE(fit);
            EXPECT_LE(small.norm1(small.joined(*fit)), radius * (1 + 1e-14));
            if (fit->stop == Stop::kStalled && apart < 1e-6) {  // a known limit, and the fit says so
              EXPECT_LE(fit->gap, 1e-9);
              ++stalled;
              continue;
            }
            EXPECT_EQ(fit->stop, Stop::kConverged);
            EXPECT_LE(fit->gap, 1e-10);
          }
  EXPECT_LE(stalled, 2) << "of 480";
}

TEST_F(ExactSparse, AgreesWithLongProjectedGradientOnTheBall) {
  PARLEY_SKIP_WHEN_SANITIZED();
  for_all_problems([](Small& small, Shape shape) {
    small.objective.l1_radius = 0.8;
    small.objective.l2 = shape == Shape::kCollinear ? 0.0 : 0.02;
    SCOPED_TRACE(describe(small, shape));
    const auto fit = small.solve();
    ASSERT_TRUE(fit);
    const double reference = accelerated_optimum(small, 1500);
    EXPECT_LE(fit->objective, reference + 1e-10);
    EXPECT_GE(fit->objective, reference - 1e-6);
  });
}

TEST_F(ExactSparse, TakesPenaltyAndBallTogether) {
  for (const Task task : kTasks) {
    Small small = random_problem(task, Shape::kTall, 77);
    small.objective.l1 = 0.01;
    const auto penalised_only = small.solve();
    ASSERT_TRUE(penalised_only);
    const double norm = small.norm1(small.joined(*penalised_only));
    small.objective.l1_radius = 2 * norm;
    const auto slack = small.solve();
    ASSERT_TRUE(slack);
    EXPECT_NEAR(slack->objective, penalised_only->objective, 2e-10);
    small.objective.l1_radius = 0.5 * norm;
    const auto tight = small.solve();
    ASSERT_TRUE(tight);
    EXPECT_LE(tight->gap, 1e-10);
    EXPECT_NEAR(small.norm1(small.joined(*tight)), 0.5 * norm, 1e-12 * norm);
    EXPECT_LE(tight->objective, accelerated_optimum(small, 1500) + 1e-10);
  }
}

TEST_F(ExactSparse, ReturnsExactZerosAtAndAboveTheLargestUsefulPenalty) {
  for_all_problems([](Small& small, Shape shape) {
    if (small.objective.intercept == Intercept::kFree) return;
    const std::vector<double> g = small.gradient(std::vector<double>(small.size()));
    double largest = 0;
    for (const double t : g) largest = std::max(largest, std::abs(t));
    // One unit in the last place or two: the solver's sums may round differently from the test's.
    for (const double factor : {1 + 1e-14, 2.0}) {
      small.objective.l1 = factor * largest;
      SCOPED_TRACE(describe(small, shape));
      const auto fit = small.solve();
      ASSERT_TRUE(fit);
      EXPECT_EQ(small.joined(*fit), std::vector<double>(small.size()));
      EXPECT_EQ(fit->gap, 0);
    }
    small.objective.l1 = 0.9 * largest;
    const auto fit = small.solve();
    ASSERT_TRUE(fit);
    EXPECT_GT(small.norm1(small.joined(*fit)), 0);
  });
}

// P(w) - D(theta), each side summed on its own, with theta minus the slopes scaled into the feasible set.
double naive_gap(const Small& small, const std::vector<double>& v) {
  const double n = static_cast<double>(small.n);
  std::vector<double> g = small.gradient(v);
  double steepest = 0;
  for (std::size_t c = 0; c < v.size(); ++c) {
    g[c] -= small.objective.l2 * v[c];
    steepest = std::max(steepest, std::abs(g[c]));
  }
  const auto dual = [&](double scale) {
    double sum = 0;
    for (std::size_t i = 0; i < small.n; ++i) {
      const std::vector<double> u = small.loss_slope(small.margins(v, i), i);
      const auto plogp = [](double p) { return p > 0 ? p * std::log(p) : 0.0; };
      switch (small.objective.task) {
        case Task::kPoisson:
          ADD_FAILURE() << "counts are not among these problems";
          break;
        case Task::kLinear:
          sum -= 0.5 * scale * scale * u[0] * u[0] + scale * u[0] * small.y[i];
          break;
        case Task::kLogistic:
          sum -= plogp(-scale * u[0] * small.y[i]) + plogp(1 + scale * u[0] * small.y[i]);
          break;
        case Task::kSquaredHinge:
          sum -= 0.25 * scale * scale * u[0] * u[0] + scale * u[0] * small.y[i];
          break;
        case Task::kSoftmax:
          for (std::size_t k = 0; k < u.size(); ++k)
            sum -= plogp(scale * u[k] + (static_cast<double>(k) == small.y[i] ? 1.0 : 0.0));
      }
    }
    sum /= n;
    for (const double t : g) {
      const double over = std::max(0.0, scale * std::abs(t) - small.objective.l1);
      if (small.objective.l2 > 0) sum -= 0.5 * over * over / small.objective.l2;
    }
    return sum;
  };
  double best = dual(std::min(1.0, small.objective.l1 / steepest));
  if (small.objective.l2 > 0) best = std::max(best, dual(1.0));
  return small.value(v) - best;
}

TEST_F(ExactSparse, ReportsTheGapThatAnIndependentComputationFinds) {
  for_all_problems([](Small& small, Shape shape) {
    if (small.objective.intercept == Intercept::kFree) return;
    small.objective.l1 = 0.02;
    for (const double l2 : {0.0, 0.03}) {
      small.objective.l2 = l2;
      SCOPED_TRACE(describe(small, shape));
      // A loose tolerance leaves a gap that is large beside rounding.
      const auto rough =
          algorithms::exact_sparse({small.features, small.y, small.objective}, ExactSettings{.tolerance = 1e-3}, {});
      ASSERT_TRUE(rough);
      EXPECT_NEAR(rough->gap, naive_gap(small, small.joined(*rough)), 1e-13);
      const auto fine = small.solve();
      ASSERT_TRUE(fine);
      EXPECT_NEAR(fine->gap, naive_gap(small, small.joined(*fine)), 1e-13);
      EXPECT_LE(rough->objective - fine->objective, rough->gap + 1e-14);
    }
  });
}

TEST_F(ExactSparse, GapBoundsTheErrorWithAFreeIntercept) {
  for (const Task task : kTasks)
    for (const Shape shape : kShapes) {
      Small small = random_problem(task, shape, 5);
      small.objective.intercept = Intercept::kFree;
      for (const bool on_ball : {false, true}) {
        small.objective.l1 = on_ball ? 0.0 : 0.02;
        small.objective.l1_radius = on_ball ? std::optional<double>(1.0) : std::nullopt;
        SCOPED_TRACE(describe(small, shape));
        const auto fine = small.solve();
        ASSERT_TRUE(fine);
        int checked = 0;
        const auto observed = algorithms::exact_sparse({small.features, small.y, small.objective}, ExactSettings{},
                                                       [&](const algorithms::Progress& p) {
                                                         EXPECT_GE(p.gap, p.objective - fine->objective - 1e-13);
                                                         ++checked;
                                                         return true;
                                                       });
        ASSERT_TRUE(observed);
        EXPECT_GT(checked, 0);
      }
    }
}

TEST_F(ExactSparse, DoesNotDependOnTheNumberOfThreads) {
  for_all_problems([](Small& small, Shape shape) {
    SCOPED_TRACE(describe(small, shape));
    small.objective.l1 = 0.01;
    set_thread_count(1);
    const auto one = small.solve();
    set_thread_count(2);
    const auto two = small.solve();
    ASSERT_TRUE(one && two);
    EXPECT_EQ(one->weights, two->weights);
    EXPECT_EQ(one->intercepts, two->intercepts);
    EXPECT_EQ(one->gap, two->gap);
  });
}

TEST_F(ExactSparse, ResolvesHugeLabelsRelativeToTheObjective) {
  Small small = random_problem(Task::kLinear, Shape::kTall, 9);
  for (double& y : small.y) y *= 1e6;
  small.objective.l1 = 1e4;
  const auto fit = small.solve();
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->stop, Stop::kConverged);
  EXPECT_GT(fit->objective, 1e9);
  EXPECT_LE(fit->gap, 1e-10 * fit->objective);
}

TEST_F(ExactSparse, RefusesFeaturesThatAreNotNumbers) {
  Small small = random_problem(Task::kLogistic, Shape::kTall, 3);
  small.objective.l1 = 0.1;
  small.x[3 * small.n + 7] = std::nan("");
  small.features =
      linalg::Matrix::from_dense(static_cast<linalg::Index>(small.n), static_cast<linalg::Index>(small.d), small.x);
  const auto fit = small.solve();
  ASSERT_FALSE(fit);
  EXPECT_EQ(fit.error().fault, Fault::kBadInput);
  EXPECT_NE(fit.error().message.find("column 4"), std::string::npos);
}

TEST_F(ExactSparse, KeepsItsBestModelWhenInterrupted) {
  Small small = random_problem(Task::kLogistic, Shape::kTall, 4);
  small.objective.l1 = 1e-3;
  const auto fit = algorithms::exact_sparse({small.features, small.y, small.objective}, ExactSettings{},
                                            [](const algorithms::Progress& p) { return p.iteration < 2; });
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->stop, Stop::kInterrupted);
  EXPECT_EQ(fit->weights.size(), small.d);
  EXPECT_LT(fit->objective, fit->history.front());
}
