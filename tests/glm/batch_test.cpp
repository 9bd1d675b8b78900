#include "parley/glm/batch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "parley/core/threads.h"
#include "parley/glm/softmax.h"
#include "parley/glm/vector_math.h"

using namespace parley;
using namespace parley::glm;

namespace {

struct Rows {
  std::vector<double> margins;
  std::vector<double> labels;
};

Rows random_rows(Task task, std::size_t rows, std::size_t classes) {
  std::mt19937_64 random(rows + classes);
  std::normal_distribution<double> normal;
  Rows made;
  for (std::size_t i = 0; i < rows * classes; ++i)
    made.margins.push_back(normal(random) * std::pow(10.0, static_cast<double>(i % 8) - 2));
  for (std::size_t i = 0; i < rows; ++i) {
    if (task == Task::kSoftmax)
      made.labels.push_back(static_cast<double>(random() % classes));
    else if (task == Task::kLinear)
      made.labels.push_back(normal(random));
    else
      made.labels.push_back(random() % 2 == 0 ? 1.0 : -1.0);
  }
  return made;
}

std::vector<double> margins_of(const Rows& rows, std::size_t i) {
  std::vector<double> m;
  for (std::size_t at = i; at < rows.margins.size(); at += rows.labels.size()) m.push_back(rows.margins[at]);
  return m;
}

class EveryTask : public testing::TestWithParam<Task> {
 protected:
  [[nodiscard]] std::size_t classes() const { return GetParam() == Task::kSoftmax ? 4 : 1; }
};

}  // namespace

TEST_P(EveryTask, ArraysAgreeWithSingleRows) {
  for (const std::size_t n : {1U, 7U, 255U, 257U, 20000U}) {
    const Rows rows = random_rows(GetParam(), n, classes());
    std::vector<double> derivatives(rows.margins.size());
    std::vector<double> curvatures(rows.margins.size());
    const double mean = mean_loss_and_derivatives(GetParam(), rows.margins, rows.labels, derivatives);
    loss_curvatures(GetParam(), rows.margins, rows.labels, curvatures);
    long double sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const auto m = margins_of(rows, i);
      std::vector<double> gradient(m.size());
      std::vector<double> curvature(m.size());
      if (GetParam() == Task::kSoftmax) {
        sum += Softmax::value(m, static_cast<int>(rows.labels[i]));
        Softmax::gradient(m, static_cast<int>(rows.labels[i]), gradient);
        Softmax::probabilities(m, curvature);
      } else {
        with_loss(GetParam(), [&](auto loss) {
          sum += loss.value(m[0], rows.labels[i]);
          gradient[0] = loss.derivative(m[0], rows.labels[i]);
          curvature[0] = loss.second(m[0], rows.labels[i]);
        });
      }
      for (std::size_t k = 0; k < m.size(); ++k) {
        // exp of a number rounded once differs by |m| ulps at most where it is not negligible.
        EXPECT_NEAR(derivatives[k * n + i], gradient[k], 2e-15 * std::abs(gradient[k]) + 1e-15);
        EXPECT_NEAR(curvatures[k * n + i], curvature[k], 2e-15 * std::abs(curvature[k]) + 1e-15);
      }
    }
    const auto expected = static_cast<double>(sum / static_cast<long double>(n));
    EXPECT_NEAR(mean, expected, 1e-14 * (1 + std::abs(expected)));
    EXPECT_EQ(mean_loss(GetParam(), rows.margins, rows.labels), mean);
  }
}

TEST_P(EveryTask, DerivativesMayOverwriteTheMargins) {
  const Rows rows = random_rows(GetParam(), 3000, classes());
  std::vector<double> apart(rows.margins.size());
  loss_derivatives(GetParam(), rows.margins, rows.labels, apart);
  auto in_place = rows.margins;
  loss_derivatives(GetParam(), in_place, rows.labels, in_place);
  EXPECT_EQ(in_place, apart);
}

TEST_P(EveryTask, GivesTheSameBitsForOneAndTwoThreads) {
  const Rows rows = random_rows(GetParam(), 50001, classes());
  std::vector<double> one(rows.margins.size());
  std::vector<double> two(rows.margins.size());
  set_thread_count(1);
  const double alone = mean_loss_and_derivatives(GetParam(), rows.margins, rows.labels, one);
  set_thread_count(2);
  const double together = mean_loss_and_derivatives(GetParam(), rows.margins, rows.labels, two);
  set_thread_count(0);
  EXPECT_EQ(alone, together);
  EXPECT_EQ(one, two);
}

TEST_P(EveryTask, IsSafeAtMarginsOfAMillion) {
  const std::vector<double> margins(2 * classes(), 1e6);
  std::vector<double> labels = {1, GetParam() == Task::kSoftmax ? 0.0 : -1.0};
  std::vector<double> derivatives(margins.size());
  const double mean = mean_loss_and_derivatives(GetParam(), margins, labels, derivatives);
  EXPECT_TRUE(std::isfinite(mean));
  for (const double g : derivatives) EXPECT_TRUE(std::isfinite(g));
}

INSTANTIATE_TEST_SUITE_P(Tasks, EveryTask,
                         testing::Values(Task::kLinear, Task::kLogistic, Task::kSquaredHinge, Task::kSoftmax),
                         [](const auto& test) {
                           std::string text(name(test.param));
                           std::erase(text, '-');
                           return text;
                         });

TEST(VectorMath, ExpIsAccurateOnItsRange) {
  for (double x = 0; x > -705; x -= 0.0173) {
    const auto exact = std::exp(static_cast<long double>(x));
    EXPECT_LE(std::abs(static_cast<double>((exp_of_nonpositive(x) - exact) / exact)), 4e-16) << x;
  }
  EXPECT_EQ(exp_of_nonpositive(0.0), 1.0);
  EXPECT_EQ(exp_of_nonpositive(-1e6), 0.0);
  EXPECT_EQ(exp_of_nonpositive(-INFINITY), 0.0);
}

TEST(VectorMath, Log1pIsAccurateOnItsRange) {
  for (double e = 1e-300; e < 1e-5; e *= 7) EXPECT_NEAR(log1p_of_unit(e) / std::log1p(e), 1, 4e-16);
  for (double e = 0; e <= 1; e += 1e-4) {
    const auto exact = std::log1p(static_cast<long double>(e));
    EXPECT_LE(std::abs(static_cast<double>(log1p_of_unit(e) - exact)), 4e-16 * static_cast<double>(exact)) << e;
  }
}

TEST(VectorMath, LogIsAccurateFromOneUpwards) {
  EXPECT_EQ(log_of_at_least_one(1.0), 0.0);
  for (double x = 1 + 1e-12; x < 1e15; x *= 1.0137) {
    const auto exact = std::log(static_cast<long double>(x));
    EXPECT_LE(std::abs(static_cast<double>(log_of_at_least_one(x) - exact)), 4e-16 * static_cast<double>(exact)) << x;
  }
}

TEST(ClassProbabilities, SumToOneAndReadPlusOneForASingleColumn) {
  const Rows rows = random_rows(Task::kSoftmax, 100, 3);
  std::vector<double> p(300);
  class_probabilities(rows.margins, 100, p);
  for (std::size_t i = 0; i < 100; ++i) EXPECT_NEAR(p[i] + p[100 + i] + p[200 + i], 1, 1e-15);
  std::vector<double> binary(2);
  class_probabilities(std::vector<double>{0, 1e6}, 2, binary);
  EXPECT_EQ(binary, (std::vector<double>{0.5, 1}));
}
