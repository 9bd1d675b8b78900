#include "parley/algorithms/vertical/label_release.h"

#include <gtest/gtest.h>

#include <cmath>

#include "parley/algorithms/vertical/admm_sharing.h"
#include "parley/algorithms/vertical/labels_once.h"
#include "parley/glm/batch.h"
#include "parley/glm/unbiased.h"
#include "parley/privacy/accounting/accountant.h"
#include "parley/privacy/ledger/ledger.h"
#include "parley/privacy/randomness/generator.h"
#include "tests/support/temporary_folder.h"

using namespace parley;
using namespace parley::algorithms;
using privacy::LabelNoise;

namespace {

constexpr std::size_t kRecords = 200000;
constexpr double kSigmas = 5;  // a right mean is missed once in 1.7 million

// A purse for labels with a budget of its own.
class LabelSite {
 public:
  explicit LabelSite(double epsilon, privacy::Unit unit = privacy::Unit::kLabel)
      : purse_{"labels", unit, privacy::Neighbours::kReplaceOne} {
    EXPECT_TRUE(ledger_.set_budget(
        purse_, {*privacy::Epsilon::make(epsilon), *privacy::Delta::make(1e-6), privacy::Composition::kPlans}));
    gate_.emplace(std::move(*privacy::Gate::open(ledger_, purse_, "run", bits_)));
  }
  privacy::Gate& gate() { return *gate_; }
  [[nodiscard]] privacy::Spent spent() { return *ledger_.spent(purse_); }

 private:
  TemporaryFolder folder_;
  privacy::SeededGenerator bits_{9};
  privacy::Ledger ledger_ = std::move(*privacy::Ledger::open(folder_.path()));
  privacy::Purse purse_;
  std::optional<privacy::Gate> gate_;
};

LabelRelease::Rule rule(LabelNoise::Mechanism mechanism, double epsilon, glm::Task task = glm::Task::kLogistic) {
  return {.noise = {mechanism, epsilon},
          .task = task,
          .label_bound = 3,
          .unit = privacy::Unit::kLabel,
          .alone = *privacy::Delta::make(1e-6)};
}

ColumnShare share_with(const std::vector<double>& labels, const LabelRelease::Rule& how) {
  const auto rows = static_cast<linalg::Index>(labels.size());
  return {linalg::Matrix::from_dense(rows, 1, std::vector<double>(labels.size(), 0.5)),
          {},
          false,
          nullptr,
          *LabelRelease::make(labels, how)};
}

std::vector<double> told(const std::vector<double>& labels, const LabelRelease::Rule& how) {
  LabelSite site(how.noise.epsilon);
  const ColumnShare share = share_with(labels, how);
  bool asked = false;
  EXPECT_TRUE(reserve_labels(share, asked, site.gate()));
  const auto targets = send_labels(share, true, asked, site.gate());
  EXPECT_TRUE(targets) << targets.error().message;
  return targets->value();
}

struct Moments {
  double mean = 0, variance = 0;
};
Moments moments_of(const std::vector<double>& values) {
  Moments m;
  for (const double v : values) m.mean += v / static_cast<double>(values.size());
  for (const double v : values) m.variance += (v - m.mean) * (v - m.mean) / static_cast<double>(values.size() - 1);
  return m;
}

constexpr auto kResponse = LabelNoise::Mechanism::kRandomisedResponse;
constexpr auto kLaplace = LabelNoise::Mechanism::kLaplace;

}  // namespace

// The claim and the correction at once: a coin that is kept more often than p breaks the first, noise of another size
// than the targets are scaled for the second.
TEST(LabelRelease, ClassesAreToldByTheLawThatIsCharged) {
  for (const double epsilon : {0.3, 1.0, 3.0})
    for (const double label : {-1.0, 1.0}) {
      const std::vector<double> targets = told(std::vector<double>(kRecords, label), rule(kResponse, epsilon));
      const double scale = response_scale(epsilon), p = 1 / (1 + std::exp(-epsilon));
      double kept = 0;
      for (const double t : targets) {
        ASSERT_EQ(std::abs(t), scale);
        kept += t * label > 0 ? 1 : 0;
      }
      const double share = kept / kRecords;
      EXPECT_NEAR(share, p, kSigmas * std::sqrt(p * (1 - p) / kRecords))
          << "the likelier answer is e^E times as likely";
      EXPECT_NEAR(moments_of(targets).mean, label, kSigmas * scale / std::sqrt(static_cast<double>(kRecords)));
    }
}

TEST(LabelRelease, LaplaceNoiseHasTheScaleThatIsCharged) {
  for (const double epsilon : {0.5, 2.0}) {
    // Of classes: the difference of two entries of deviation 2 sqrt(2)/E. Of numbers in [-3, 3]: scale 6/E.
    for (const auto& [task, label, variance] : {std::tuple{glm::Task::kLogistic, 1.0, 16 / (epsilon * epsilon)},
                                                std::tuple{glm::Task::kLogistic, -1.0, 16 / (epsilon * epsilon)},
                                                std::tuple{glm::Task::kLinear, 1.25, 2 * 36 / (epsilon * epsilon)}}) {
      const Moments m = moments_of(told(std::vector<double>(kRecords, label), rule(kLaplace, epsilon, task)));
      EXPECT_NEAR(m.mean, label, kSigmas * std::sqrt(variance / kRecords));
      // The fourth moment of a Laplace variable is 6 variances squared: that of the sample variance is at most 5/n.
      EXPECT_NEAR(m.variance, variance, kSigmas * std::sqrt(5.0 / kRecords) * variance);
    }
  }
}

TEST(LabelRelease, NumbersBeyondTheBoundAreClipped) {
  const Moments m = moments_of(told(std::vector<double>(kRecords, 1e9), rule(kLaplace, 4, glm::Task::kLinear)));
  EXPECT_NEAR(m.mean, 3, 0.1);
}

// The mean gradient at a model, over the noise, is that of the labels as they are; told classes that are taken for
// labels give another one.
TEST(LabelRelease, TheCorrectedGradientIsNotBiased) {
  std::vector<double> labels(kRecords), margins(kRecords), plain(kRecords), corrected(kRecords), taken(kRecords);
  for (std::size_t i = 0; i < kRecords; ++i) {
    labels[i] = i % 4 == 0 ? -1 : 1;
    margins[i] = i % 2 == 0 ? 0.8 : 1.6;
  }
  glm::loss_derivatives(glm::Task::kLogistic, margins, labels, plain);
  const double truth = moments_of(plain).mean;
  for (const auto mechanism : {kResponse, kLaplace}) {
    std::vector<double> targets = told(labels, rule(mechanism, 1));
    glm::unbiased::loss_derivatives(glm::Task::kLogistic, margins, targets, corrected);
    const Moments m = moments_of(corrected);
    EXPECT_NEAR(m.mean, truth, kSigmas * std::sqrt(m.variance / kRecords));
    for (double& t : targets) t = t > 0 ? 1 : -1;
    glm::loss_derivatives(glm::Task::kLogistic, margins, targets, taken);
    EXPECT_GT(std::abs(moments_of(taken).mean - truth), 10 * std::sqrt(m.variance / kRecords));
  }
}

TEST(LabelRelease, IsChargedBeforeItIsDrawnAndOnce) {
  const std::vector<double> labels(40, 1.0);
  for (const auto mechanism : {kResponse, kLaplace}) {
    LabelSite site(1);
    const ColumnShare share = share_with(labels, rule(mechanism, 1));
    EXPECT_FALSE(share.noisy_labels->release(site.gate())) << "nothing was reserved";
    EXPECT_EQ(site.spent().charges, 0);
    bool asked = false;
    ASSERT_TRUE(reserve_labels(share, asked, site.gate()));
    EXPECT_EQ(site.spent().charges, 1);
    EXPECT_LE(site.spent().epsilon, 1.0);
    EXPECT_GT(site.spent().epsilon, 0.99) << "all of it: 200 labels cost what one costs, and no less";
    ASSERT_TRUE(send_labels(share, true, asked, site.gate()));
    EXPECT_TRUE(asked);
    EXPECT_FALSE(send_labels(share, true, asked, site.gate())) << "asked for again";
    EXPECT_FALSE(share.noisy_labels->release(site.gate())) << "the plan has one";
    ASSERT_TRUE(reserve_labels(share, asked, site.gate())) << "reserves nothing more";
    EXPECT_EQ(site.spent().charges, 1);
  }
}

TEST(LabelRelease, ABudgetThatIsTooSmallReleasesNothing) {
  LabelSite site(0.9);
  const ColumnShare share = share_with({1, -1, 1}, rule(kResponse, 1));
  const auto reserved = reserve_labels(share, false, site.gate());
  ASSERT_FALSE(reserved);
  EXPECT_EQ(reserved.error().fault, Fault::kBudgetEnded);
  EXPECT_FALSE(share.noisy_labels->release(site.gate()));
}

// Features leave as they are where labels alone are protected, and only there.
TEST(LabelRelease, OnlyAPurseOfLabelsLetsTheRestLeaveAsItIs) {
  LabelSite labels(1), records(1, privacy::Unit::kRecord);
  EXPECT_TRUE(labels.gate().unprotected(privacy::Private(1.5)));
  EXPECT_FALSE(records.gate().unprotected(privacy::Private(1.5)));
  // And what costs a label is not paid from a purse of records.
  const ColumnShare share = share_with({1, -1, 1}, rule(kResponse, 0.5));
  ASSERT_TRUE(reserve_labels(share, false, records.gate()));
  EXPECT_FALSE(share.noisy_labels->release(records.gate()));
}

TEST(LabelRelease, TheLossesThatHaveNoCorrectionAreRefused) {
  EXPECT_TRUE(LabelRelease::check(glm::Task::kLogistic, {kResponse, 1}));
  EXPECT_TRUE(LabelRelease::check(glm::Task::kLinear, {kLaplace, 1}));
  EXPECT_FALSE(LabelRelease::check(glm::Task::kSquaredHinge, {kLaplace, 1}));
  EXPECT_FALSE(LabelRelease::check(glm::Task::kSoftmax, {kLaplace, 1}));
  EXPECT_FALSE(LabelRelease::check(glm::Task::kLinear, {kResponse, 1}));
  EXPECT_FALSE(LabelRelease::check(glm::Task::kLogistic, {kResponse, 23}));
}

TEST(LabelRelease, TheCoordinatorTakesWhatTheNoiseCanGive) {
  const LabelHolder holder{.party = 0, .records = 2, .noise = LabelNoise{kResponse, 1}};
  const double t = response_scale(1);
  EXPECT_TRUE(check_labels(holder, glm::Task::kLogistic, 0, std::vector<double>{t, -t}));
  EXPECT_FALSE(check_labels(holder, glm::Task::kLogistic, 0, std::vector<double>{1, -1}));
  EXPECT_FALSE(check_labels(holder, glm::Task::kLogistic, 0, std::vector<double>{50 * t, -t}));
  EXPECT_FALSE(check_labels(holder, glm::Task::kLogistic, 1, std::vector<double>{t, -t}));
}
