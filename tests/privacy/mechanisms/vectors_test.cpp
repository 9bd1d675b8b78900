// Samplers and the closed forms that the other tests use, against values computed elsewhere.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "parley/privacy/mechanisms/discrete_gaussian.h"
#include "parley/privacy/mechanisms/discrete_laplace.h"
#include "parley/privacy/mechanisms/exponential.h"
#include "parley/privacy/mechanisms/noisy_max.h"
#include "parley/privacy/mechanisms/permute_and_flip.h"
#include "tests/privacy/mechanisms/reference.h"
#include "tests/privacy/mechanisms/statistics.h"
#include "tests/support/shared.h"

using namespace parley;
using namespace parley::privacy;
using statistics::kAlarm;

namespace {

class MechanismVectors : public testing::Test {
 protected:
  void SetUp() override {
    const auto folder = test::shared();
    if (!folder || !std::filesystem::exists(*folder / "vectors/mechanisms.json"))
      GTEST_SKIP() << "needs shared/vectors/mechanisms.json beside the source tree (or PARLEY_SHARED)";
    cases_ = nlohmann::json::parse(std::ifstream(*folder / "vectors/mechanisms.json")).at("cases");
  }

  template <class Check>
  void for_each(const std::string& group, const Check& check) {
    int count = 0;
    for (const auto& entry : cases_)
      if (entry.at("group") == group) {
        check(entry.at("input"), entry.at("value"), entry.at("tol_abs").get<double>());
        ++count;
      }
    EXPECT_GT(count, 0) << group;
  }

  template <class Selection>
  void check_selection(const std::string& group) {
    for_each(group, [&](const auto& input, const auto& value, double) {
      const auto scores = input.at("scores").template get<std::vector<double>>();
      const auto law = value.template get<std::vector<double>>();
      const bool monotone = input.value("monotone", false);
      const auto selection = Selection::make({.epsilon = input.at("epsilon").template get<double>(),
                                              .sensitivity = input.at("sensitivity").template get<double>(),
                                              .scores = monotone ? Scores::kMonotone : Scores::kGeneral})
                                 .value();
      constexpr int kDraws = 20000;
      std::vector<double> counts(scores.size());
      for (int i = 0; i < kDraws; ++i) ++counts.at(selection.select(scores, bits_).value());
      EXPECT_GT(statistics::p_value(counts, law, kDraws), kAlarm) << input.dump();
    });
  }

  nlohmann::json cases_;
  SeededGenerator bits_{99};
};

}  // namespace

TEST_F(MechanismVectors, DiscreteLaplace) {
  for_each("discrete_laplace_pmf", [&](const auto& input, const auto& value, double tolerance) {
    const double scale = input.at("t");
    std::vector<std::int64_t> draws(200'000);
    DiscreteLaplaceNoise::make(scale, Grain{0}).value().draw(bits_, draws);
    auto seen = statistics::histogram(draws);
    std::vector<double> counts, law;
    for (std::size_t i = 0; i < value.size(); ++i) {
      const auto x = input.at("x")[i].template get<std::int64_t>();
      EXPECT_NEAR(reference::discrete_laplace(x, scale), value[i].template get<double>(), tolerance);
      counts.push_back(seen[x]);
      law.push_back(value[i]);
    }
    EXPECT_GT(statistics::p_value(counts, law, static_cast<double>(draws.size())), kAlarm) << scale;
  });
}

TEST_F(MechanismVectors, DiscreteGaussian) {
  for_each("discrete_gaussian_pmf", [&](const auto& input, const auto& value, double tolerance) {
    const double sigma = input.at("sigma");
    const reference::DiscreteGaussianPmf pmf(sigma);
    std::vector<std::int64_t> draws(200'000);
    DiscreteGaussianNoise::make(sigma, Grain{0}).value().draw(bits_, draws);
    auto seen = statistics::histogram(draws);
    std::vector<double> counts, law;
    for (std::size_t i = 0; i < value.size(); ++i) {
      const auto x = input.at("x")[i].template get<std::int64_t>();
      EXPECT_NEAR(pmf(x), value[i].template get<double>(), tolerance);
      counts.push_back(seen[x]);
      law.push_back(value[i]);
    }
    EXPECT_GT(statistics::p_value(counts, law, static_cast<double>(draws.size())), kAlarm) << sigma;
  });
}

TEST_F(MechanismVectors, Variances) {
  // The sample variance of n draws has a relative standard deviation of at most sqrt((kurtosis - 1) / n), and
  // the kurtosis of all laws here is below 12; seven of them is an alarm of about 3e-12 where the central
  // limit holds.
  constexpr std::size_t kDraws = 400'000;
  const auto check = [&](const auto& noise, double variance) {
    std::vector<std::int64_t> draws(kDraws);
    noise.draw(bits_, draws);
    double sum = 0;
    for (const std::int64_t z : draws) sum += static_cast<double>(z) * static_cast<double>(z);
    EXPECT_NEAR(sum / kDraws / variance, 1, 7 * std::sqrt(11.0 / kDraws));
  };
  for_each("discrete_laplace_moments", [&](const auto& input, const auto& value, double) {
    check(DiscreteLaplaceNoise::make(input.at("t"), Grain{0}).value(), value);
  });
  for_each("discrete_gaussian_moments", [&](const auto& input, const auto& value, double) {
    check(DiscreteGaussianNoise::make(input.at("sigma"), Grain{0}).value(), value);
  });
}

TEST_F(MechanismVectors, ExponentialMechanism) {
  check_selection<ExponentialSelection>("select_exponential_mechanism");
  for_each("select_exponential_mechanism", [&](const auto& input, const auto& value, double tolerance) {
    const auto scores = input.at("scores").template get<std::vector<double>>();
    const auto law = reference::exponential_mechanism(
        scores, input.at("epsilon").template get<double>() / (input.value("monotone", false) ? 1 : 2));
    for (std::size_t i = 0; i < scores.size(); ++i) EXPECT_NEAR(law[i], value[i].template get<double>(), tolerance);
  });
}

TEST_F(MechanismVectors, PermuteAndFlip) {
  check_selection<PermuteAndFlip>("select_permute_and_flip");
  for_each("select_permute_and_flip", [&](const auto& input, const auto& value, double tolerance) {
    const auto scores = input.at("scores").template get<std::vector<double>>();
    const auto law = reference::permute_and_flip(
        scores, input.at("epsilon").template get<double>() / (input.value("monotone", false) ? 1 : 2));
    for (std::size_t i = 0; i < scores.size(); ++i) EXPECT_NEAR(law[i], value[i].template get<double>(), tolerance);
  });
}

TEST_F(MechanismVectors, ReportNoisyMax) {
  check_selection<NoisyMax>("select_report_noisy_max_laplace");
  for_each("select_report_noisy_max_laplace", [&](const auto& input, const auto& value, double tolerance) {
    const auto scores = input.at("scores").template get<std::vector<double>>();
    const auto law = reference::noisy_max_laplace(scores, input.at("laplace_scale").template get<double>());
    for (std::size_t i = 0; i < scores.size(); ++i) EXPECT_NEAR(law[i], value[i].template get<double>(), tolerance);
  });
  for_each("rnm_laplace_log_ratio", [&](const auto& input, const auto& value, double tolerance) {
    const double scale = input.at("laplace_scale");
    const auto outcome = input.at("outcome").template get<std::size_t>();
    const auto here = reference::noisy_max_laplace(input.at("scores").template get<std::vector<double>>(), scale);
    const auto there =
        reference::noisy_max_laplace(input.at("neighbour_scores").template get<std::vector<double>>(), scale);
    EXPECT_NEAR(std::abs(std::log(here[outcome] / there[outcome])), value.template get<double>(), tolerance);
  });
}
