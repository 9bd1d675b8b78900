// labels: slow
// Labels that leave with noise: one label in pairs of worlds, and all labels of a table at once.
#include <gtest/gtest.h>

#include "parley/core/threads.h"
#include "tests/audits/jobs.h"
#include "tests/support/sanitized.h"

using namespace parley;
using namespace parley::audits;

namespace {

Audited audited(const std::string& noise, std::int64_t runs) {
  set_thread_count(1);
  const auto job = test::audited_job(*catalog::find("vertical-sgd"),
                                     {.privacy = "epsilon = 1.0\ndelta = 1e-5\nunit = \"label\"\n",
                                      .task = "logistic",
                                      .settings = "iterations = 1\n",
                                      .labels = "privacy = \"" + noise + "\"\nclasses = [\"-1\", \"1\"]\n"});
  EXPECT_TRUE(job) << job.error().message;
  // False alarm 1e-6.
  const auto done = audit(*job, 32, {.runs = runs, .seconds = 600, .confidence = 1 - 1e-6});
  EXPECT_TRUE(done) << done.error().message;
  return *done;
}

const Finding* of_all_labels(const Audited& done, const std::string& observer) {
  for (const Finding& finding : done.findings)
    if (finding.guesses && finding.observer.starts_with(observer)) return &finding;
  return nullptr;
}

}  // namespace

// Randomised response is as distinguishable as it says: 32 coins in each run show more than half of its epsilon.
TEST(LabelAudit, ManyCanariesComeNearRandomisedResponse) {
  PARLEY_SKIP_WHEN_SANITIZED();
  const Audited done = audited("randomised-response", 700);
  EXPECT_NE(done.verdict, Verdict::kViolated);
  const Finding* finding = of_all_labels(done, "coordinator");
  ASSERT_NE(finding, nullptr) << done.why;
  EXPECT_GT(finding->epsilon, 0.5);
  EXPECT_LE(finding->epsilon, done.claim.epsilon);
}

TEST(LabelAudit, LaplaceOnLabelsShowsNoMoreThanIsClaimed) {
  PARLEY_SKIP_WHEN_SANITIZED();
  const Audited done = audited("laplace", 300);
  EXPECT_NE(done.verdict, Verdict::kViolated);
  for (const Finding& finding : done.findings) EXPECT_LE(finding.epsilon, done.claim.epsilon) << finding.observer;
}
