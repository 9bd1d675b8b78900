#include "parley/runs/private_site.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "parley/catalog/catalog.h"
#include "parley/catalog/read_job.h"
#include "parley/privacy/accounting/step_noise.h"
#include "parley/privacy/sensitivity/exact_sums.h"
#include "parley/runs/report.h"
#include "parley/runs/run.h"
#include "tests/support/temporary_folder.h"

using namespace parley;
using namespace parley::runs;

namespace {

constexpr const char* kSchema = R"(
[[column]]
name = "age"
type = "integer"
lower = 0
upper = 100
[[column]]
name = "dose"
type = "number"
bound = 2
[[column]]
name = "y"
type = "label"
levels = ["0", "1"]
)";

// Releases the first coordinate's gradient `steps` times and makes a model of the mean.
catalog::Trainer mean_of_releases(std::int64_t steps) {
  return [steps](const algorithms::Problem& problem, const algorithms::Observer&) -> Result<algorithms::Fit> {
    const algorithms::PrivateTerms& terms = *problem.privacy;
    PARLEY_TRY(privacy::ExactSums sums,
               privacy::ExactSums::make(*terms.features, {.derivative_bound = terms.derivative_bound}));
    sums.assign(problem.labels);
    const privacy::Grain grain = privacy::ExactSums::value_grain();
    PARLEY_TRY(
        const privacy::StepNoise noise,
        privacy::step_noise(terms.target,
                            {.steps = steps, .share = 0, .value_sensitivity = grain.grains(sums.value_sensitivity())}));
    PARLEY_TRY(const std::int64_t allowed,
               terms.gate->reserve({.step = noise.step, .steps = steps}, terms.target.delta));
    algorithms::Fit fit;
    fit.stop = allowed < steps ? algorithms::Stop::kBudgetEnded : algorithms::Stop::kIterations;
    fit.weights.assign(sums.coordinates(), 0.0);
    for (std::int64_t t = 0; t < allowed; ++t) {
      PARLEY_TRY(const auto released,
                 terms.gate->release(sums.value<privacy::L2>(0),
                                     privacy::Deviation{std::ldexp(noise.value_sigma, grain.exponent)}));
      fit.weights[0] += released.value() * sums.contribution(0) / static_cast<double>(allowed);
      ++fit.iterations;
      ++fit.releases;
    }
    return fit;
  };
}

class PrivateSiteTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream table(folder_ / "data.csv");
    table << "age,dose,y\n";
    for (int i = 0; i < 400; ++i) table << 20 + i % 60 << "," << (i % 7) * 0.25 << "," << (i % 3 == 0 ? 1 : 0) << "\n";
    std::ofstream(folder_ / "schema.toml") << kSchema;
    job_.name = "test";
    job_.objective.task = glm::Task::kLogistic;
    job_.algorithm = "mean";
    job_.parties = {{"site", (folder_ / "data.csv").string(), (folder_ / "schema.toml").string(), ""}};
    static const catalog::Row kMean{.name = "mean", .can_be_private = true};
    const auto method = std::make_shared<catalog::Method>(kMean);
    method->train = mean_of_releases(10);
    job_.method = method;
    job_.privacy = jobs::PrivacySection{};
    job_.privacy->ledger = (folder_ / "ledger").string();
  }
  void schema(const std::string& text) { std::ofstream(folder_ / "schema.toml") << text; }
  std::string refusal() {
    const auto outcome = run(job_, {});
    return outcome ? "accepted" : outcome.error().message;
  }
  static std::string replaced(std::string text, const std::string& from, const std::string& to) {
    return text.replace(text.find(from), from.size(), to);
  }

  TemporaryFolder folder_;
  jobs::Job job_;
};

}  // namespace

TEST_F(PrivateSiteTest, ClaimsWhatItChargedAndNoMoreThanTheTarget) {
  const auto outcome = run(job_, {});
  ASSERT_TRUE(outcome) << outcome.error().message;
  const runs::PrivacyReport& privacy = *outcome->privacy;
  EXPECT_TRUE(privacy.claimed);
  EXPECT_LE(privacy.epsilon, 1.0);
  EXPECT_GT(privacy.epsilon, 0.99);
  EXPECT_DOUBLE_EQ(privacy.delta, 1.0 / (400.0 * 400.0));
  EXPECT_EQ(privacy.releases, 10);
  EXPECT_EQ(privacy.spent_epsilon, privacy.epsilon);
  EXPECT_EQ(privacy.accountant, "pld");
  EXPECT_NE(privacy.statement.find("at most a factor 2.7"), std::string::npos) << privacy.statement;
  EXPECT_EQ(outcome->trained.provenance.privacy, privacy.statement);
  EXPECT_EQ(privacy.notes.size(), 2U) << "the default delta and the budget that was set";
}

TEST_F(PrivateSiteTest, ASeedVoidsTheClaimAndRepeatsTheModel) {
  job_.seed = 5;
  const auto first = run(job_, {});
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_FALSE(first->privacy->claimed);
  EXPECT_NE(first->privacy->statement.find("no privacy is claimed"), std::string::npos);
  job_.privacy->ledger = (folder_ / "other ledger").string();
  EXPECT_EQ(run(job_, {})->fit.weights, first->fit.weights);
}

TEST_F(PrivateSiteTest, TheBudgetHoldsOverRuns) {
  ASSERT_TRUE(run(job_, {}));
  const auto second = run(job_, {});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().fault, Fault::kBudgetEnded);
}

TEST_F(PrivateSiteTest, ASmallerBudgetOfTheSiteEndsTheRunEarlyAndKeepsTheModel) {
  {
    auto ledger = privacy::Ledger::open(job_.privacy->ledger);
    ASSERT_TRUE(ledger->set_budget(
        {"site"}, {*privacy::Epsilon::make(0.6), *privacy::Delta::make(1e-5), privacy::Composition::kPlans}));
  }
  const auto outcome = run(job_, {});
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->fit.stop, algorithms::Stop::kBudgetEnded);
  EXPECT_LT(outcome->fit.iterations, 10);
  EXPECT_GT(outcome->fit.iterations, 0);
  EXPECT_LE(outcome->privacy->epsilon, 0.6);
}

TEST_F(PrivateSiteTest, AnEpsilonTooSmallForTheRecordsWorksAndWarns) {
  job_.privacy->epsilon = 1e-3;
  const auto outcome = run(job_, {});
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_GT(outcome->privacy->noise_to_signal, 1);
  EXPECT_TRUE(std::any_of(outcome->notes.begin(), outcome->notes.end(), [](const std::string& note) {
    return note.find("is small for 400 records") != std::string::npos;
  }));
}

TEST_F(PrivateSiteTest, RefusesAColumnWithoutAPublicBound) {
  schema(replaced(kSchema, "bound = 2\n", ""));
  EXPECT_NE(refusal().find("dose: has no public bound"), std::string::npos) << refusal();
}

TEST_F(PrivateSiteTest, RefusesWhatNobodyConfirmed) {
  schema(replaced(kSchema, "bound = 2\n", "bound = 2\nconfirmed = false\n"));
  EXPECT_NE(refusal().find("dose: what is known of this column was found in the data"), std::string::npos) << refusal();
  job_.parties.front().schema.clear();
  EXPECT_NE(refusal().find("needs a schema"), std::string::npos) << refusal();
}

TEST_F(PrivateSiteTest, RefusesRulesThatMakeTheNumberOfRecordsPrivate) {
  schema(replaced(kSchema, "bound = 2\n", "bound = 2\nmissing = \"drop-row\"\n"));
  EXPECT_NE(refusal().find("drop-row"), std::string::npos) << refusal();
}

TEST_F(PrivateSiteTest, ARealLabelNeedsABound) {
  job_.objective.task = glm::Task::kLinear;
  EXPECT_NE(refusal().find("data.label_bound"), std::string::npos) << refusal();
  job_.data.label_bound = 1;
  EXPECT_EQ(refusal(), "accepted");
}

TEST_F(PrivateSiteTest, AReproductionIsChargedWhatIsProvedOfIt) {
  job_.privacy->calibration = privacy::Calibration::kPaper;
  const auto outcome = run(job_, {});
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->privacy->budget.epsilon.value(), outcome->privacy->epsilon);
  EXPECT_NE(outcome->privacy->statement.find("follows the paper's formula"), std::string::npos);
}

TEST_F(PrivateSiteTest, TheResultSaysWhatIsClaimed) {
  const auto outcome = run(job_, {});
  ASSERT_TRUE(outcome);
  const std::string json = runs::result_json(job_, *outcome, {});
  for (const char* key :
       {"\"claimed\": true", "\"epsilon\"", "\"unit\": \"record\"", "\"neighbours\": \"replace-one\"",
        "\"against\": \"everyone\"", "\"accountant\": \"pld\"", "\"calibration\": \"proved\"", "\"releases\": 10"})
    EXPECT_NE(json.find(key), std::string::npos) << key << "\n" << json;
  EXPECT_NE(runs::result_table(job_, *outcome, {}).find("differential privacy for one record"), std::string::npos);
}
