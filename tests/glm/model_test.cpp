#include "parley/glm/model.h"

#include <gtest/gtest.h>

#include <cmath>

#include "parley/linalg/matrix.h"

using namespace parley::glm;
using parley::linalg::Matrix;

namespace {

using Numbers = std::vector<double>;

Model logistic_model() {
  return {.task = Task::kLogistic,
          .columns = {"age", "dose"},
          .weights = {2, -1},
          .intercepts = {0.5},
          .scales = {0.1, 2},
          .centers = {10, 1},
          .classes = {"no", "yes"}};
}

}  // namespace

TEST(Model, FoldsScalingIntoItsMargins) {
  const Matrix x = Matrix::from_dense(2, 2, Numbers{30, 10, 1, 4});
  const auto margins = logistic_model().margins(x);
  ASSERT_TRUE(margins);
  EXPECT_NEAR((*margins)[0], 2 * 0.1 * (30 - 10) - 1 * 2 * (1 - 1) + 0.5, 1e-14);
  EXPECT_NEAR((*margins)[1], 2 * 0.1 * (10 - 10) - 1 * 2 * (4 - 1) + 0.5, 1e-14);
}

TEST(Model, PredictsClassesAndProbabilities) {
  const Matrix x = Matrix::from_dense(2, 2, Numbers{30, 10, 1, 4});
  const Model model = logistic_model();
  EXPECT_EQ(*model.predict_classes(x), (std::vector<int>{1, 0}));
  const auto probabilities = model.predict_probabilities(x);
  EXPECT_NEAR((*probabilities)[0], 1 / (1 + std::exp(-4.5)), 1e-15);
  EXPECT_EQ(model.predict_values(x).error().message, "task: has no real values to predict (got 'logistic')");
}

TEST(Model, PredictsTheLikeliestOfSeveralClasses) {
  const Model model{
      .task = Task::kSoftmax, .columns = {"a", "b"}, .weights = {1, 0, 0, 1, -1, -1}, .classes = {"x", "y", "z"}};
  const Matrix x = Matrix::from_dense(3, 2, Numbers{5, 0, -4, 0, 5, -4});
  EXPECT_EQ(*model.predict_classes(x), (std::vector<int>{0, 1, 2}));
  const auto p = *model.predict_probabilities(x);
  EXPECT_NEAR(p[0] + p[3] + p[6], 1, 1e-15);
}

TEST(Model, PredictsValuesOfALinearModel) {
  const Model model{.task = Task::kLinear, .columns = {"a"}, .weights = {2}, .intercepts = {1}};
  EXPECT_EQ(*model.predict_values(Matrix::from_dense(2, 1, Numbers{3, -1})), (Numbers{7, -1}));
  EXPECT_FALSE(model.predict_classes(Matrix::from_dense(1, 1, Numbers{3})));
}

TEST(Model, RefusesFeaturesOfAnotherWidth) {
  const auto margins = logistic_model().margins(Matrix::from_dense(1, 3, Numbers{1, 2, 3}));
  ASSERT_FALSE(margins);
  EXPECT_EQ(margins.error().message, "features: must have the model's 2 columns (got '3')");
  EXPECT_EQ(margins.error().exit_code(), 2);
}

TEST(Model, RefusesWeightsThatDoNotFitOrAreNotFinite) {
  Model model = logistic_model();
  model.weights = {1};
  EXPECT_EQ(model.check().error().message, "model.weights: must have 2 entries (got '1')");
  model.weights = {1, NAN};
  EXPECT_FALSE(model.check());
  model = logistic_model();
  model.classes.clear();
  EXPECT_EQ(model.check().error().message, "model.classes: must fit the task logistic (got '0 classes')");
}
