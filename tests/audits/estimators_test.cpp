// Against reference values (../shared/vectors/auditing.json) and against what the bounds promise.
#include "parley/audits/estimators.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/support/shared.h"
#include "tests/support/temporary_folder.h"

using namespace parley::audits;

TEST(AuditEstimators, AgreeWithTheReferenceValues) {
  const auto folder = parley::test::shared();
  if (!folder) GTEST_SKIP() << "the reference data are not there";
  const auto document = nlohmann::json::parse(contents(*folder / "vectors" / "auditing.json"));
  int looked_at = 0;
  for (const auto& one : document.at("cases")) {
    const auto& input = one.at("input");
    const std::string group = one.at("group");
    const double delta = input.at("delta");
    const Significance significance{input.at("significance")};
    double value = 0;
    if (input.contains("tp")) {
      const Counts counts{input.at("n_in"), input.at("tp"), input.at("n_out"), input.at("fp")};
      value = group == "audit_gdp" ? gaussian_epsilon(counts, delta, significance)
                                   : clopper_pearson_epsilon(counts, delta, significance);
    } else {
      const Guesses guesses{input.at("m"), input.at("n_guess"), input.at("n_correct")};
      value = group == "audit_one_run" ? one_run_epsilon(guesses, delta, significance)
                                       : one_run_gaussian_epsilon(guesses, delta, significance);
    }
    const double expected = one.at("value"), tolerance = one.at("tol_rel");
    EXPECT_NEAR(value, expected, tolerance * std::max(1.0, std::abs(expected))) << one.at("id");
    ++looked_at;
  }
  EXPECT_EQ(looked_at, 152);
}

// The same with numbers that anybody can work out: no miss in n runs at significance a leaves a share of 1 - a^(1/n).
TEST(AuditEstimators, AreWhatClosedFormsSay) {
  EXPECT_NEAR(share_at_most(0, 100, {0.05}), 1 - std::pow(0.05, 0.01), 1e-14);
  EXPECT_NEAR(share_at_most(99, 100, {0.05}), std::pow(0.95, 0.01), 1e-14);
  EXPECT_EQ(share_at_most(100, 100, {0.05}), 1);
  const double at_most = 1 - std::pow(0.025, 0.01);
  EXPECT_NEAR(clopper_pearson_epsilon({100, 100, 100, 0}, 0, {0.05}), std::log((1 - at_most) / at_most), 1e-12);
  EXPECT_NEAR(clopper_pearson_epsilon({1000, 900, 1000, 10}, 1e-5, {0.05}), 3.8719588235781783, 1e-9);
  EXPECT_NEAR(gaussian_epsilon({1000, 900, 1000, 10}, 1e-5, {0.05}), 18.60660991100786, 1e-6);
  EXPECT_NEAR(one_run_epsilon({1000, 1000, 750}, 1e-5, {0.05}), 0.976367469116128, 1e-8);
  EXPECT_NEAR(one_run_gaussian_epsilon({1000, 1000, 750}, 1e-5, {0.05}), 1.8188956666712262, 1e-4);
}

TEST(AuditEstimators, ShowNothingWhereTheAttackKnowsNothing) {
  EXPECT_EQ(clopper_pearson_epsilon({500, 250, 500, 250}, 0, {0.05}), 0);
  EXPECT_EQ(clopper_pearson_epsilon({0, 0, 0, 0}, 0, {0.05}), 0);
  EXPECT_EQ(gaussian_epsilon({500, 250, 500, 250}, 1e-5, {0.05}), 0);
  EXPECT_EQ(gaussian_epsilon({500, 20, 500, 400}, 1e-5, {0.05}), 0) << "an attack that is wrong shows nothing";
  EXPECT_EQ(one_run_epsilon({500, 500, 250}, 1e-5, {0.05}), 0);
  EXPECT_EQ(one_run_epsilon({500, 0, 0}, 1e-5, {0.05}), 0);
  EXPECT_EQ(one_run_gaussian_epsilon({500, 500, 240}, 1e-5, {0.05}), 0);
}

// Randomised response: of m labels each is kept with chance e^1 / (1 + e^1). The bound stays below 1, and near it.
TEST(AuditEstimators, OneRunComesNearRandomisedResponse) {
  const double kept = std::exp(1.0) / (1 + std::exp(1.0));
  const std::int64_t m = 20'000;
  const auto usual = static_cast<std::int64_t>(kept * static_cast<double>(m));
  const double bound = one_run_epsilon({m, m, usual}, 0, {0.05});
  EXPECT_LT(bound, 1);
  EXPECT_GT(bound, 0.95);
}

TEST(AuditEstimators, MuAndEpsilonAreInverse) {
  for (const double epsilon : {0.1, 1.0, 4.0, 20.0})
    EXPECT_NEAR(epsilon_of_mu(mu_of_epsilon(epsilon, 1e-5), 1e-5), epsilon, 1e-9 * epsilon);
  EXPECT_EQ(epsilon_of_mu(0, 1e-5), 0);
  EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 1e-12);
  EXPECT_NEAR(normal_quantile(1e-12), -7.034483825301131, 1e-9);
}
