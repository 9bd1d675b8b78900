#include "parley/runs/inference.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace parley;
using namespace parley::runs;

TEST(Inference, TailsAreThoseOfTheTables) {
  EXPECT_NEAR(quantile_of(0.05, std::nullopt), 1.959963984540054, 1e-12);
  EXPECT_NEAR(quantile_of(0.05, 1), 12.706204736174694, 1e-8);
  EXPECT_NEAR(quantile_of(0.05, 2), 4.302652729696142, 1e-9);
  EXPECT_NEAR(quantile_of(0.05, 10), 2.2281388519649385, 1e-10);
  EXPECT_NEAR(quantile_of(0.01, 30), 2.7499956535670305, 1e-10);
  EXPECT_NEAR(quantile_of(0.05, 1e6), 1.9599663568, 1e-6);
  EXPECT_NEAR(tail_of(3, 5), 0.030099247897463, 1e-12);
  EXPECT_NEAR(tail_of(8, std::nullopt), 1.2441921148543568e-15, 1e-27);
  EXPECT_EQ(tail_of(0, 4), 1.0);
}

TEST(Inference, ErrorsFollowTheUnitsOfTheColumns) {
  // Two columns that do not meet: the Hessian of the mean loss is diagonal, n = 50, p(1 - p) = 1/4.
  glm::Model model{.task = glm::Task::kLogistic, .columns = {"a", "b"}, .weights = {0.8, -0.2}};
  const algorithms::FinalCurvature end{.triangle = {0.125, 0, 0.25}, .loss = 0.6, .first_loss = std::log(2.0)};
  const auto plain = infer({model, end, 50, false}).value();
  EXPECT_NEAR(plain.coefficients[0].standard_error, std::sqrt(1 / (50 * 0.125)), 1e-12);
  EXPECT_NEAR(plain.coefficients[1].standard_error, std::sqrt(1 / (50 * 0.25)), 1e-12);
  EXPECT_NEAR(*plain.null_deviance, 100 * std::log(2.0), 1e-10);
  model.scales = {10, 1};
  const auto scaled = infer({model, end, 50, false}).value();
  EXPECT_NEAR(scaled.coefficients[0].estimate, 8, 1e-12);
  EXPECT_NEAR(scaled.coefficients[0].standard_error, 10 * plain.coefficients[0].standard_error, 1e-12);
  EXPECT_EQ(scaled.coefficients[0].p_value, plain.coefficients[0].p_value);
}

TEST(Inference, ColumnsThatDependOnEachOtherHaveNone) {
  const glm::Model model{.task = glm::Task::kLinear, .columns = {"a", "b"}, .weights = {1, 1}};
  const algorithms::FinalCurvature end{.triangle = {1, 2, 4}, .loss = 0.1, .first_loss = 1};
  const auto none = infer({model, end, 50, false});
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("depend on each other"), std::string::npos);
  EXPECT_FALSE(infer({model, end, 2, false}));
}
