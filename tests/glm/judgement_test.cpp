#include "parley/glm/judgement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "parley/glm/metrics.h"

using namespace parley::glm;

namespace {

using Numbers = std::vector<double>;

}  // namespace

// Scores 3, 2, 1, -1 with labels +, -, +, -: called +, +, +, -.
TEST(Judgement, OfAHandComputedBinaryCase) {
  const Numbers margins = {3, 2, 1, -1}, labels = {1, -1, 1, -1};
  const auto judgement = judge(Task::kLogistic, margins, labels);
  ASSERT_TRUE(judgement);
  const Confusion& confusion = judgement->confusion;
  EXPECT_EQ(confusion.rows, (std::vector<std::size_t>{1, 1, 0, 2}));
  EXPECT_DOUBLE_EQ(*confusion.precision(), 2.0 / 3);
  EXPECT_DOUBLE_EQ(*confusion.recall(), 1);
  EXPECT_DOUBLE_EQ(*confusion.f1(), 0.8);
  EXPECT_DOUBLE_EQ(*confusion.precision(0), 1);
  EXPECT_DOUBLE_EQ(*confusion.recall(0), 0.5);
  // sigmoid(3) = .953, sigmoid(2) = .881, sigmoid(1) = .731, sigmoid(-1) = .269
  EXPECT_EQ(judgement->calibration[9].rows, 1u);
  EXPECT_EQ(judgement->calibration[8].positives, 0);
  EXPECT_EQ(judgement->calibration[7].positives, 1);
  EXPECT_NEAR(judgement->calibration[2].probability, 1 / (1 + std::exp(1)), 1e-12);
  EXPECT_EQ(judgement->calibration[0].rows, 0u);
  // A tenth of four rows is 0.4 of the first, which is one of two positives.
  EXPECT_NEAR(judgement->gain[0].positives, 0.2, 1e-12);
  EXPECT_NEAR(judgement->gain[4].positives, 0.5, 1e-12);
  EXPECT_NEAR(judgement->gain[4].lift(), 1, 1e-12);
  EXPECT_NEAR(judgement->gain[7].positives, 1, 1e-12);
  EXPECT_NEAR(judgement->gain[9].positives, 1, 1e-12);

  const Metrics metrics = measure(Task::kLogistic, margins, labels);
  EXPECT_DOUBLE_EQ(*metrics.precision, 2.0 / 3);
  // Average precision: (1/2) 1 + (1/2) (2/3).
  EXPECT_NEAR(*metrics.pr_auc, 5.0 / 6, 1e-12);
  const auto p = [](double m) { return 1 / (1 + std::exp(-m)); };
  EXPECT_NEAR(*metrics.brier,
              (std::pow(1 - p(3), 2) + std::pow(p(2), 2) + std::pow(1 - p(1), 2) + std::pow(p(-1), 2)) / 4, 1e-12);
}

TEST(Judgement, EqualScoresShowNoOrderOfTheTable) {
  const Numbers margins(7, 0.5);
  Numbers labels = {1, 1, 1, -1, -1, -1, -1};
  const auto first = judge(Task::kLogistic, margins, labels);
  std::reverse(labels.begin(), labels.end());
  const auto last = judge(Task::kLogistic, margins, labels);
  for (std::size_t t = 0; t < kTenths; ++t) {
    EXPECT_NEAR(first->gain[t].positives, first->gain[t].rows, 1e-12);
    EXPECT_EQ(first->gain[t].positives, last->gain[t].positives);
  }
  EXPECT_NEAR(*measure(Task::kLogistic, margins, labels).pr_auc, 3.0 / 7, 1e-12);
}

TEST(Judgement, OfClassesIsTheMeanOverThoseThatOccur) {
  // Class 3 has no row; class 2 is never called; rows of class 0, 0, 1, 2 are called 0, 1, 1, 1.
  const Numbers margins = {5, 0, 0, 0,  //
                           0, 5, 5, 5,  //
                           0, 0, 0, 1,  //
                           0, 0, 0, 0};
  const Numbers labels = {0, 0, 1, 2};
  const auto judgement = judge(Task::kSoftmax, margins, labels);
  ASSERT_TRUE(judgement);
  EXPECT_NEAR(*judgement->confusion.precision(), (1 + 1.0 / 3 + 0) / 3, 1e-12);
  EXPECT_NEAR(*judgement->confusion.recall(), (0.5 + 1 + 0) / 3, 1e-12);
  EXPECT_FALSE(judgement->confusion.precision(2));
  EXPECT_FALSE(judgement->confusion.recall(3));
  EXPECT_TRUE(judgement->calibration.empty());
  EXPECT_TRUE(judgement->gain.empty());
}

// Two classes by softmax and by one margin are one model.
TEST(Judgement, TwoClassesAgreeHoweverTheyAreWritten) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  Numbers margins, both(200), signs, numbers;
  for (std::size_t i = 0; i < 100; ++i) {
    margins.push_back(normal(random));
    signs.push_back(normal(random) + margins.back() > 0 ? 1 : -1);
    numbers.push_back(signs.back() > 0 ? 1 : 0);
    both[100 + i] = margins.back();
  }
  const Metrics one = measure(Task::kLogistic, margins, signs), two = measure(Task::kSoftmax, both, numbers);
  EXPECT_NEAR(*one.brier, *two.brier, 1e-12);
  EXPECT_NEAR(*one.accuracy, *two.accuracy, 1e-12);
  EXPECT_EQ(judge(Task::kLogistic, margins, signs)->confusion.rows,
            judge(Task::kSoftmax, both, numbers)->confusion.rows);
  // Average precision by its definition.
  double sum = 0, positives = 0;
  for (const double y : signs) positives += y > 0 ? 1 : 0;
  for (std::size_t i = 0; i < 100; ++i) {
    if (signs[i] < 0) continue;
    double above = 0, right = 0;
    for (std::size_t j = 0; j < 100; ++j) {
      above += margins[j] >= margins[i] ? 1 : 0;
      right += margins[j] >= margins[i] && signs[j] > 0 ? 1 : 0;
    }
    sum += right / above / positives;
  }
  EXPECT_NEAR(*one.pr_auc, sum, 1e-12);
}

TEST(Judgement, IsNothingWhereItIsNotDefined) {
  EXPECT_FALSE(judge(Task::kLinear, Numbers{1, 2}, Numbers{1, 2}));
  EXPECT_FALSE(judge(Task::kLogistic, Numbers{}, Numbers{}));
  EXPECT_FALSE(judge(Task::kLogistic, Numbers{NAN}, Numbers{1}));
  EXPECT_TRUE(judge(Task::kLogistic, Numbers{2}, Numbers{1})->gain.empty());
}
