#include "parley/glm/metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

using namespace parley::glm;

namespace {

using Numbers = std::vector<double>;

// The definition, pair by pair.
double naive_auc(const Numbers& scores, const Numbers& labels) {
  double ordered = 0;
  double pairs = 0;
  for (std::size_t i = 0; i < scores.size(); ++i)
    for (std::size_t j = 0; j < scores.size(); ++j)
      if (labels[i] > 0 && labels[j] < 0) {
        ++pairs;
        ordered += scores[i] > scores[j] ? 1 : scores[i] == scores[j] ? 0.5 : 0;
      }
  return ordered / pairs;
}

double naive_ks(const Numbers& scores, const Numbers& labels) {
  double largest = 0;
  for (const double threshold : scores) {
    double below[2] = {0, 0};
    double all[2] = {0, 0};
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const int label = labels[i] > 0 ? 1 : 0;
      ++all[label];
      below[label] += scores[i] <= threshold ? 1 : 0;
    }
    largest = std::max(largest, std::abs(below[0] / all[0] - below[1] / all[1]));
  }
  return largest;
}

}  // namespace

TEST(AreaUnderCurve, AgreesWithCountingPairsAlsoWithTies) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  for (int trial = 0; trial < 50; ++trial) {
    Numbers scores;
    Numbers labels = {1, -1};
    for (int i = 0; i < 2 + trial; ++i) {
      scores.push_back(trial % 2 == 0 ? normal(random) : std::round(normal(random)));
      if (i >= 2) labels.push_back(random() % 3 == 0 ? 1 : -1);
    }
    EXPECT_NEAR(*area_under_curve(scores, labels), naive_auc(scores, labels), 1e-15);
    EXPECT_NEAR(*kolmogorov_smirnov(scores, labels), naive_ks(scores, labels), 1e-15);
  }
}

TEST(AreaUnderCurve, IsOneForAPerfectOrderAndAHalfForConstantScores) {
  EXPECT_EQ(area_under_curve(Numbers{1, 2, 3, 4}, Numbers{-1, -1, 1, 1}), 1.0);
  EXPECT_EQ(area_under_curve(Numbers{4, 3, 2, 1}, Numbers{-1, -1, 1, 1}), 0.0);
  EXPECT_EQ(area_under_curve(Numbers{7, 7, 7, 7}, Numbers{-1, -1, 1, 1}), 0.5);
}

TEST(Metrics, OfAHandComputedBinaryCase) {
  //            right, wrong, wrong (a margin of 0 is not +1), right
  const Numbers margins = {2, 1, 0, -3};
  const Numbers labels = {1, -1, 1, -1};
  const Metrics metrics = measure(Task::kLogistic, margins, labels);
  EXPECT_EQ(metrics.accuracy, 0.5);
  EXPECT_EQ(metrics.balanced_accuracy, 0.5);
  EXPECT_EQ(metrics.auc, 0.75);  // pairs (2,1) (2,-3) (0,-3) right, (0,1) wrong
  EXPECT_EQ(metrics.ks, 0.5);
  const double expected =
      (std::log1p(std::exp(-2)) + std::log1p(std::exp(1)) + std::log(2) + std::log1p(std::exp(-3))) / 4;
  EXPECT_NEAR(*metrics.log_loss, expected, 1e-15);
  EXPECT_NEAR(*metrics.deviance, 8 * expected, 1e-14);
  EXPECT_FALSE(metrics.rmse);
  EXPECT_FALSE(metrics.r_squared);
}

TEST(Metrics, BalancedAccuracyWeighsClassesAlike) {
  const Numbers margins = {1, 1, 1, 1};
  const Numbers labels = {1, 1, 1, -1};
  EXPECT_EQ(binary_accuracy(margins, labels), 0.75);
  EXPECT_EQ(balanced_binary_accuracy(margins, labels), 0.5);
}

TEST(Metrics, OfAHandComputedRegression) {
  const Metrics metrics = measure(Task::kLinear, Numbers{1, 2, 5}, Numbers{1, 3, 5});
  EXPECT_NEAR(*metrics.rmse, std::sqrt(1.0 / 3), 1e-15);
  EXPECT_NEAR(*metrics.r_squared, 1 - 1.0 / 8, 1e-15);
  EXPECT_NEAR(*metrics.deviance, 1, 1e-15);
  EXPECT_FALSE(metrics.accuracy);
  EXPECT_FALSE(metrics.auc);
}

TEST(Metrics, OfAHandComputedMulticlassCase) {
  // Rows:      0  1  2      margins by class
  const Numbers margins = {3, 0, 1,   // class 0
                           0, 0, 2,   // class 1
                           0, 1, 2};  // class 2
  const Numbers labels = {0, 1, 2};
  const Metrics metrics = measure(Task::kSoftmax, margins, labels);
  // Row 1 is predicted 2; row 2 ties 1 and 2 and the smaller number wins.
  EXPECT_NEAR(*metrics.accuracy, 1.0 / 3, 1e-15);
  EXPECT_NEAR(*metrics.balanced_accuracy, 1.0 / 3, 1e-15);
  const double loss = std::log(1 + 2 * std::exp(-3)) + std::log(2 + std::exp(1)) + std::log(2 + std::exp(-1));
  EXPECT_NEAR(*metrics.log_loss, loss / 3, 1e-14);
  EXPECT_FALSE(metrics.ks);
  // Class 0: 1; class 1: row 1's share 1/(2+e) = 0.21 beats row 0's 0.05 but not row 2's 0.42: 1/2; class 2:
  // row 2's share 0.42 beats row 0's but not row 1's 0.58: 1/2.
  EXPECT_NEAR(*metrics.auc, (1 + 0.5 + 0.5) / 3, 1e-15);
}

TEST(Metrics, AreEmptyWhereTheyAreNotDefined) {
  const Metrics one_class = measure(Task::kLogistic, Numbers{1, -2}, Numbers{1, 1});
  EXPECT_EQ(one_class.accuracy, 0.5);
  EXPECT_FALSE(one_class.balanced_accuracy);
  EXPECT_FALSE(one_class.auc);
  EXPECT_FALSE(one_class.ks);
  EXPECT_TRUE(one_class.log_loss);

  const Metrics constant = measure(Task::kLinear, Numbers{1, 2}, Numbers{0.1, 0.1});
  EXPECT_TRUE(constant.rmse);
  EXPECT_FALSE(constant.r_squared);

  const Metrics single = measure(Task::kSoftmax, Numbers{1, 2, 0, 0}, Numbers{0, 0});
  EXPECT_FALSE(single.auc);
  EXPECT_FALSE(single.balanced_accuracy);

  for (const Task task : {Task::kLinear, Task::kLogistic, Task::kSquaredHinge, Task::kSoftmax}) {
    // Softmax margins are one row of two classes, the others two rows.
    const Numbers labels = task == Task::kSoftmax ? Numbers{1} : Numbers{1, -1};
    for (const Metrics& none :
         {measure(task, {}, {}), measure(task, Numbers{NAN, 1}, labels), measure(task, Numbers{INFINITY, 1}, labels)}) {
      EXPECT_FALSE(none.accuracy || none.balanced_accuracy || none.auc || none.ks || none.log_loss || none.rmse ||
                   none.r_squared || none.deviance);
    }
  }
}

TEST(Metrics, CountAMarginOfZeroAsTheClassThatIsPredicted) {
  const Numbers margins = {0, 0, 0, -0.0};
  const Numbers labels = {-1, -1, -1, 1};
  double right = 0;
  for (std::size_t i = 0; i < 4; ++i) right += (predicted_class(margins, 4, i) == 1) == (labels[i] > 0) ? 0.25 : 0;
  for (const Task task : {Task::kLogistic, Task::kSquaredHinge}) {
    EXPECT_EQ(measure(task, margins, labels).accuracy, right);
    EXPECT_EQ(measure(task, margins, labels).accuracy, 0.75);
    EXPECT_EQ(measure(task, margins, labels).balanced_accuracy, 0.5);
  }
}

TEST(Metrics, SquaredHingeHasNoLikelihood) {
  const Metrics metrics = measure(Task::kSquaredHinge, Numbers{1, -2}, Numbers{1, -1});
  EXPECT_EQ(metrics.accuracy, 1.0);
  EXPECT_EQ(metrics.auc, 1.0);
  EXPECT_FALSE(metrics.log_loss);
  EXPECT_FALSE(metrics.deviance);
}

TEST(LogLoss, IsFiniteForProbabilitiesOfZeroAndOne) {
  EXPECT_NEAR(*log_loss_of_probabilities(Numbers{0}, Numbers{1}), -std::log(1e-15), 1e-9);
  EXPECT_NEAR(*log_loss_of_probabilities(Numbers{1}, Numbers{-1}), -std::log(1e-15), 1e-1);
  EXPECT_NEAR(*log_loss_of_probabilities(Numbers{0.25, 0.25}, Numbers{1, -1}), -(std::log(0.25) + std::log(0.75)) / 2,
              1e-15);
  EXPECT_FALSE(log_loss_of_probabilities({}, {}));
}

TEST(SupportRecovery, CountsCorrectIncorrectAndMissed) {
  const SupportRecovery recovery = support_recovery(Numbers{1, 0, -2, 1e-9, 0}, Numbers{3, 1, 0, 0, 0}, 1e-6);
  EXPECT_EQ(recovery.correct, 1U);
  EXPECT_EQ(recovery.incorrect, 1U);
  EXPECT_EQ(recovery.missed, 1U);
  EXPECT_EQ(recovery.precision(), 0.5);
  EXPECT_EQ(recovery.recall(), 0.5);
  EXPECT_FALSE(support_recovery(Numbers{0}, Numbers{0}).precision());
  EXPECT_EQ(nonzeros(Numbers{0, -1, 1e-300}), 2U);
}
