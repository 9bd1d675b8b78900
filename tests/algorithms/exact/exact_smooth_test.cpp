#include "parley/algorithms/exact/exact_smooth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "parley/algorithms/exact/exact.h"
#include "parley/core/threads.h"

using namespace parley;
using namespace parley::algorithms;
using glm::Intercept;
using glm::Task;
using linalg::Index;
using linalg::Matrix;

namespace {

struct Table {
  Matrix features;
  std::vector<double> labels;
};

struct Shape {
  Index rows;
  Index cols;
  double density;
};

// Labels follow a linear rule with noise, so that no task is trivial and classes overlap.
Table table(Task task, Shape shape, int classes = 1, unsigned seed = 1) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  std::vector<double> dense(static_cast<std::size_t>(shape.rows) * static_cast<std::size_t>(shape.cols));
  for (double& x : dense) x = uniform(random) < shape.density ? normal(random) : 0.0;
  std::vector<double> truth(static_cast<std::size_t>(shape.cols * classes));
  for (double& w : truth) w = normal(random);
  Table result{Matrix::from_dense(shape.rows, shape.cols, dense), {}};
  for (Index i = 0; i < shape.rows; ++i) {
    std::vector<double> margins;
    for (int k = 0; k < classes; ++k) {
      double m = normal(random);
      for (Index j = 0; j < shape.cols; ++j)
        m += dense[static_cast<std::size_t>(j * shape.rows + i)] * truth[static_cast<std::size_t>(k * shape.cols + j)] /
             std::sqrt(shape.cols * shape.density);
      margins.push_back(m);
    }
    const auto top = std::max_element(margins.begin(), margins.end()) - margins.begin();
    result.labels.push_back(task == Task::kSoftmax  ? static_cast<double>(top)
                            : task == Task::kLinear ? margins[0]
                                                    : (margins[0] > 0 ? 1.0 : -1.0));
  }
  return result;
}

// Objective and gradient by the definitions, in long double.
struct Plain {
  long double objective = 0;
  std::vector<long double> weights;     // gradient, class by class
  std::vector<long double> intercepts;  // gradient
};

Plain plain(const Table& data, const glm::Objective& objective, const Fit& fit) {
  const auto n = static_cast<std::size_t>(data.features.rows());
  const auto d = static_cast<std::size_t>(data.features.cols());
  const auto classes = static_cast<std::size_t>(objective.classes);
  Plain result;
  result.weights.assign(d * classes, 0);
  result.intercepts.assign(classes, 0);
  for (std::size_t i = 0; i < n; ++i) {
    const auto row = data.features.row(static_cast<Index>(i));
    std::vector<long double> m(classes);
    for (std::size_t k = 0; k < classes; ++k) {
      m[k] = fit.intercepts.empty() ? 0.0L : fit.intercepts[k];
      for (const auto& e : row)
        m[k] += static_cast<long double>(e.value) * fit.weights[k * d + static_cast<std::size_t>(e.column)];
    }
    const long double y = data.labels[i];
    std::vector<long double> slope(classes);
    switch (objective.task) {
      case Task::kPoisson:
        ADD_FAILURE() << "counts are not among these problems";
        break;
      case Task::kLinear:
        result.objective += (m[0] - y) * (m[0] - y) / 2 / n;
        slope[0] = m[0] - y;
        break;
      case Task::kLogistic:
        result.objective += std::log1p(std::exp(-y * m[0])) / n;
        slope[0] = -y / (1 + std::exp(y * m[0]));
        break;
      case Task::kSquaredHinge: {
        const long double slack = std::max(0.0L, 1 - y * m[0]);
        result.objective += slack * slack / n;
        slope[0] = -2 * y * slack;
        break;
      }
      case Task::kSoftmax: {
        long double total = 0;
        for (const long double v : m) total += std::exp(v);
        const auto label = static_cast<std::size_t>(y);
        result.objective += (std::log(total) - m[label]) / n;
        for (std::size_t k = 0; k < classes; ++k) slope[k] = std::exp(m[k]) / total - (k == label ? 1 : 0);
        break;
      }
    }
    for (std::size_t k = 0; k < classes; ++k) {
      for (const auto& e : row) result.weights[k * d + static_cast<std::size_t>(e.column)] += slope[k] * e.value / n;
      result.intercepts[k] += slope[k] / n;
    }
  }
  for (std::size_t j = 0; j < fit.weights.size(); ++j) {
    result.objective += objective.l2 / 2 * fit.weights[j] * fit.weights[j];
    result.weights[j] += static_cast<long double>(objective.l2) * fit.weights[j];
  }
  for (std::size_t k = 0; k < fit.intercepts.size(); ++k)
    if (objective.intercept == Intercept::kPenalised) {
      result.objective += objective.l2 / 2 * fit.intercepts[k] * fit.intercepts[k];
      result.intercepts[k] += static_cast<long double>(objective.l2) * fit.intercepts[k];
    }
  return result;
}

double squared_norm(const Plain& gradient, bool with_intercepts) {
  long double sum = 0;
  for (const long double g : gradient.weights) sum += g * g;
  if (with_intercepts)
    for (const long double g : gradient.intercepts) sum += g * g;
  return static_cast<double>(sum);
}

Result<Fit> solve(const Table& data, const glm::Objective& objective, const ExactSettings& settings = {}) {
  return exact({data.features, data.labels, objective}, settings, {});
}

struct Case {
  const char* name;
  Task task;
  int classes;
  Shape shape;
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.name;
}

class EverySmoothProblem : public testing::TestWithParam<Case> {};

}  // namespace

TEST_P(EverySmoothProblem, EndsWithACertificateThatTheDefinitionsConfirm) {
  const Case& c = GetParam();
  const Table data = table(c.task, c.shape, c.classes);
  for (const Intercept intercept : {Intercept::kNone, Intercept::kFree, Intercept::kPenalised})
    for (const double l2 : {1.0, 1e-3, 1e-6}) {
      SCOPED_TRACE(testing::Message() << "l2 " << l2 << ", intercept " << static_cast<int>(intercept));
      const glm::Objective objective{.task = c.task, .classes = c.classes, .l2 = l2, .intercept = intercept};
      const auto fit = solve(data, objective);
      ASSERT_TRUE(fit) << fit.error().message;
      EXPECT_EQ(fit->stop, Stop::kConverged);
      EXPECT_EQ(fit->certificate, Certificate::kDualityGap);
      EXPECT_LE(fit->gap, 1e-10);
      EXPECT_EQ(fit->intercepts.size(), intercept == Intercept::kNone ? 0U : static_cast<std::size_t>(c.classes));
      const Plain truth = plain(data, objective, *fit);
      EXPECT_NEAR(fit->objective, static_cast<double>(truth.objective), 1e-13 * std::max(1.0, fit->objective));
      EXPECT_LE(squared_norm(truth, intercept != Intercept::kNone) / (2 * l2), 1e-10);
    }
}

TEST_P(EverySmoothProblem, IsTheSameToTheLastBitForOneAndTwoThreads) {
  const Case& c = GetParam();
  const Table data = table(c.task, c.shape, c.classes);
  const glm::Objective objective{.task = c.task, .classes = c.classes, .l2 = 1e-2, .intercept = Intercept::kFree};
  const int before = thread_count();
  set_thread_count(1);
  const auto one = solve(data, objective);
  set_thread_count(2);
  const auto two = solve(data, objective);
  set_thread_count(before);
  ASSERT_TRUE(one && two);
  EXPECT_EQ(one->weights, two->weights);
  EXPECT_EQ(one->intercepts, two->intercepts);
  EXPECT_EQ(one->gap, two->gap);
}

// Tall: the Gram matrix is factored. Short: the kernel is. Wide: conjugate gradients.
INSTANTIATE_TEST_SUITE_P(Smooth, EverySmoothProblem,
                         testing::Values(Case{"TallSquared", Task::kLinear, 1, {700, 12, 1.0}},
                                         Case{"TallLogistic", Task::kLogistic, 1, {1200, 20, 0.5}},
                                         Case{"TallSquaredHinge", Task::kSquaredHinge, 1, {1200, 20, 0.9}},
                                         Case{"TallSoftmax", Task::kSoftmax, 4, {600, 9, 0.8}},
                                         Case{"ShortSquared", Task::kLinear, 1, {25, 300, 0.6}},
                                         Case{"ShortLogistic", Task::kLogistic, 1, {30, 400, 1.0}},
                                         Case{"ShortSquaredHinge", Task::kSquaredHinge, 1, {30, 400, 0.5}},
                                         Case{"WideSquared", Task::kLinear, 1, {900, 2000, 0.01}},
                                         Case{"WideLogistic", Task::kLogistic, 1, {900, 2000, 0.01}},
                                         Case{"WideSquaredHinge", Task::kSquaredHinge, 1, {900, 2000, 0.01}},
                                         Case{"WideSoftmax", Task::kSoftmax, 3, {300, 700, 0.02}}),
                         [](const auto& each) { return std::string(each.param.name); });

TEST(ExactSmooth, RefusesClassesThatALineSeparatesWhenNothingIsPenalised) {
  const Table data{Matrix::from_dense(4, 1, std::vector<double>{-2, -1, 1, 3}), {-1, -1, 1, 1}};
  for (const Intercept intercept : {Intercept::kNone, Intercept::kFree}) {
    const auto fit = solve(data, {.task = Task::kLogistic, .intercept = intercept});
    ASSERT_FALSE(fit);
    EXPECT_EQ(fit.error().fault, Fault::kBadInput);
    EXPECT_THAT(fit.error().message, testing::HasSubstr("separated"));
  }
  const Table classes{data.features, {0, 0, 1, 1}};
  EXPECT_FALSE(solve(classes, {.task = Task::kSoftmax, .classes = 2}));
}

TEST(ExactSmooth, RefusesClassesThatALineSeparatesButForTies) {
  // At 1 both classes occur; all else is on its own side: the weights still run away.
  const Table data{Matrix::from_dense(5, 2, std::vector<double>{0, 1, 1, 2, 3, 1, 1, 1, 1, 1}), {-1, -1, 1, 1, 1}};
  const auto fit = solve(data, {.task = Task::kLogistic});
  ASSERT_FALSE(fit);
  EXPECT_THAT(fit.error().message, testing::HasSubstr("separated"));
}

TEST(ExactSmooth, SolvesSeparableClassesWithTheSquaredHinge) {
  const Table data{Matrix::from_dense(4, 1, std::vector<double>{-2, -1, 1, 3}), {-1, -1, 1, 1}};
  const auto fit = solve(data, {.task = Task::kSquaredHinge});
  ASSERT_TRUE(fit) << fit.error().message;
  EXPECT_EQ(fit->certificate, Certificate::kGradientNorm);
  EXPECT_NEAR(fit->objective, 0, 1e-15);
}

TEST(ExactSmooth, NeedsNoPenaltyWhenClassesOverlap) {
  for (const Task task : {Task::kLinear, Task::kLogistic, Task::kSquaredHinge, Task::kSoftmax}) {
    const int classes = task == Task::kSoftmax ? 3 : 1;
    const Table data = table(task, {400, 6, 1.0}, classes);
    const glm::Objective objective{.task = task, .classes = classes, .intercept = Intercept::kFree};
    const auto fit = solve(data, objective);
    ASSERT_TRUE(fit) << fit.error().message;
    EXPECT_EQ(fit->stop, Stop::kConverged);
    EXPECT_EQ(fit->certificate, Certificate::kGradientNorm);
    EXPECT_LE(std::sqrt(squared_norm(plain(data, objective, *fit), true)), 2e-10);
  }
}

TEST(ExactSmooth, FindsAnOptimumAmongManyWhenColumnsRepeat) {
  Table data = table(Task::kLogistic, {300, 4, 1.0});
  const std::vector<Index> twice{0, 1, 2, 3, 0, 1};
  data.features = data.features.select_columns(twice);
  const glm::Objective objective{.task = Task::kLogistic, .intercept = Intercept::kFree};
  const auto fit = solve(data, objective);
  ASSERT_TRUE(fit) << fit.error().message;
  EXPECT_LE(std::sqrt(squared_norm(plain(data, objective, *fit), true)), 2e-10);
}

TEST(ExactSmooth, RefusesAClassWithoutRowsWhenTheInterceptIsFree) {
  Table data = table(Task::kLogistic, {20, 3, 1.0});
  data.labels.assign(20, 1.0);
  EXPECT_FALSE(solve(data, {.task = Task::kLogistic, .l2 = 1, .intercept = Intercept::kFree}));
  EXPECT_TRUE(solve(data, {.task = Task::kLogistic, .l2 = 1, .intercept = Intercept::kPenalised}));
  data.labels.assign(20, 0.0);
  data.labels[3] = 2;
  EXPECT_FALSE(solve(data, {.task = Task::kSoftmax, .classes = 3, .l2 = 1, .intercept = Intercept::kFree}));
}

TEST(ExactSmooth, GivesZeroWeightToColumnsWithoutEntries) {
  std::vector<double> dense(30);
  for (std::size_t i = 0; i < 10; ++i) dense[10 + i] = static_cast<double>(i) - 4.5;
  const Table data{Matrix::from_dense(10, 3, dense), {-1, -1, -1, 1, -1, 1, -1, 1, 1, 1}};
  const auto fit = solve(data, {.task = Task::kLogistic, .l2 = 0.1});
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->weights[0], 0);
  EXPECT_GT(fit->weights[1], 0);
  EXPECT_EQ(fit->weights[2], 0);
}

TEST(ExactSmooth, HasNothingToDoWithoutColumns) {
  const Table data{Matrix::from_dense(3, 1, std::vector<double>(3)), {-1, 1, 1}};
  const auto fit = solve(data, {.task = Task::kLogistic, .l2 = 0.1});
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->stop, Stop::kConverged);
  EXPECT_NEAR(fit->objective, std::log(2.0), 1e-15);
}

TEST(ExactSmooth, RefusesFeaturesThatAreNotFiniteOrWhoseSquaresAreNot) {
  for (const double bad : {std::nan(""), static_cast<double>(INFINITY), 1e200})
    for (const Task task : {Task::kLinear, Task::kLogistic, Task::kSquaredHinge, Task::kSoftmax}) {
      const Table data{Matrix::from_dense(3, 2, std::vector<double>{1, 2, 3, 4, bad, 6}),
                       task == Task::kSoftmax ? std::vector<double>{0, 1, 0} : std::vector<double>{1, -1, 1}};
      const auto fit = solve(data, {.task = task, .classes = task == Task::kSoftmax ? 2 : 1, .l2 = 0.1});
      ASSERT_FALSE(fit);
      EXPECT_EQ(fit.error().fault, Fault::kBadInput);
      EXPECT_THAT(fit.error().message, testing::HasSubstr("finite"));
    }
}

TEST(ExactSmooth, KeepsTheBestModelWhenAskedToStop) {
  const Table data = table(Task::kLogistic, {500, 10, 1.0});
  const glm::Objective objective{.task = Task::kLogistic, .l2 = 1e-4};
  const auto fit =
      exact({data.features, data.labels, objective}, {}, [](const Progress& p) { return p.iteration < 2; });
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->stop, Stop::kInterrupted);
  EXPECT_LT(fit->objective, std::log(2.0));
  EXPECT_GT(fit->gap, 0);
}

TEST(ExactSmooth, SaysWhenItsIterationsEnd) {
  const Table data = table(Task::kLogistic, {500, 10, 1.0});
  const auto fit = solve(data, {.task = Task::kLogistic, .l2 = 1e-4}, {.max_iterations = 1});
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->stop, Stop::kIterations);
  EXPECT_EQ(fit->iterations, 1);
  EXPECT_EQ(fit->history.size(), 2U);
}

TEST(ExactSmooth, SurvivesHugeFeatureValues) {
  Table data = table(Task::kLogistic, {300, 5, 1.0});
  data.features = data.features.with_column_scale({1e6, 1e-6, 1, 1e3, 1});
  const auto fit = solve(data, {.task = Task::kLogistic, .l2 = 1e-3, .intercept = Intercept::kFree});
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->stop, Stop::kConverged);
  EXPECT_LE(fit->gap, 1e-10);
}

TEST(Exact, NamesTheSettingThatIsWrong) {
  const Table data = table(Task::kLogistic, {20, 3, 1.0});
  const auto message = [&](const glm::Objective& objective, const ExactSettings& settings) {
    const auto fit = solve(data, objective, settings);
    return fit ? std::string("accepted") : fit.error().message;
  };
  const glm::Objective good{.task = Task::kLogistic, .l2 = 0.1};
  EXPECT_THAT(message(good, {.tolerance = 0}), testing::HasSubstr("tolerance"));
  EXPECT_THAT(message(good, {.tolerance = std::nan("")}), testing::HasSubstr("tolerance"));
  EXPECT_THAT(message(good, {.max_iterations = 0}), testing::HasSubstr("max_iterations"));
  EXPECT_THAT(message({.task = Task::kLogistic, .l2 = -1}, {}), testing::HasSubstr("l2"));
  EXPECT_THAT(message({.task = Task::kLogistic, .l1 = INFINITY}, {}), testing::HasSubstr("l1"));
  EXPECT_THAT(message({.task = Task::kLogistic, .l1_radius = 0}, {}), testing::HasSubstr("l1_radius"));
  EXPECT_THAT(message({.task = Task::kLogistic, .sparsity = 3}, {}), testing::HasSubstr("sparsity"));
  EXPECT_THAT(message({.task = Task::kLogistic, .classes = 2}, {}), testing::HasSubstr("classes"));
  EXPECT_THAT(message({.task = Task::kSoftmax, .classes = 2}, {}), testing::HasSubstr("label of row"));
}

TEST(Exact, RefusesLabelsThatDoNotBelongToTheTask) {
  Table data = table(Task::kLogistic, {20, 3, 1.0});
  data.labels[4] = 0;
  const auto fit = solve(data, {.task = Task::kLogistic, .l2 = 1});
  ASSERT_FALSE(fit);
  EXPECT_THAT(fit.error().message, testing::HasSubstr("label of row 5"));
  data.labels.pop_back();
  EXPECT_FALSE(solve(data, {.task = Task::kLogistic, .l2 = 1}));
}

TEST(Exact, FindsTheSameOptimumInAnyUnitsWhenNothingIsPenalised) {
  std::mt19937_64 random(9);
  std::normal_distribution<double> normal;
  constexpr std::size_t kRows = 200;
  std::vector<double> plain(2 * kRows), spread(2 * kRows), binary, classes;
  for (std::size_t i = 0; i < kRows; ++i) {
    plain[i] = normal(random);
    plain[kRows + i] = normal(random);
    spread[i] = 1e6 * plain[i];
    spread[kRows + i] = 1e-6 * plain[kRows + i];
    const bool positive = 0.4 * plain[i] - 0.6 * plain[kRows + i] + normal(random) > 0;
    binary.push_back(positive ? 1 : -1);
    classes.push_back(positive ? 1 : 0);
  }
  const linalg::Matrix usual = linalg::Matrix::from_dense(kRows, 2, plain),
                       wide = linalg::Matrix::from_dense(kRows, 2, spread);
  for (const glm::Task task :
       {glm::Task::kLinear, glm::Task::kLogistic, glm::Task::kSquaredHinge, glm::Task::kSoftmax}) {
    glm::Objective objective{.task = task, .classes = task == glm::Task::kSoftmax ? 2 : 1};
    const std::vector<double>& labels = task == glm::Task::kSoftmax ? classes : binary;
    const auto one = exact({usual, labels, objective}, {}, {});
    const auto other = exact({wide, labels, objective}, {}, {});
    ASSERT_TRUE(one && other);
    EXPECT_EQ(other->stop, Stop::kConverged);
    EXPECT_NEAR(one->objective, other->objective, 1e-14);
    // Of softmax only the difference of the two classes is determined.
    const auto weight = [&](const Fit& fit, std::size_t j) {
      return fit.weights[j] - (task == glm::Task::kSoftmax ? fit.weights[2 + j] : 0.0);
    };
    EXPECT_NEAR(weight(*one, 0), 1e6 * weight(*other, 0), 1e-8);
    EXPECT_NEAR(weight(*one, 1), 1e-6 * weight(*other, 1), 1e-8);
  }
}
