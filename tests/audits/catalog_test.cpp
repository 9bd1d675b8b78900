// labels: slow
//
// Every private algorithm of the catalog, by being listed, through the entry that the binary uses. A quick
// audit by default, of a small epsilon: it finds what gives a record away, with a false alarm of at most 1e-6 for all
// together. PARLEY_LONG=1: at (1, 1e-5) and (4, 1e-5), long enough for bounds near the claims.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "parley/core/threads.h"
#include "tests/audits/jobs.h"
#include "tests/support/sanitized.h"

using namespace parley;
using namespace parley::audits;

namespace {

constexpr double kFalseAlarm = 1e-6;
constexpr int kAudits = 12;  // that make test runs, about

std::vector<std::string> private_rows() {
  std::vector<std::string> names;
  for (const catalog::Row& row : catalog::rows())
    if (row.can_be_private && row.source != "of these tests") names.push_back(row.name);
  return names;
}

bool takes_long() {
  const char* asked = std::getenv("PARLEY_LONG");
  return asked != nullptr && std::string(asked) == "1";
}

class AuditCatalog : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    PARLEY_SKIP_WHEN_SANITIZED();
    set_thread_count(1);
  }
  [[nodiscard]] const catalog::Row& row() const { return *catalog::find(GetParam()); }
  // Few rounds, by whatever name the algorithm knows them.
  [[nodiscard]] Result<jobs::Job> job(const std::string& privacy) const {
    Error last = failed("");
    for (const char* task : {"squared-hinge", "logistic"})
      for (const char* settings : {"iterations = 2\nclip = 1.0\n", "iterations = 2\n", "passes = 1\n", ""}) {
        auto job = test::audited_job(row(), {.privacy = privacy, .task = task, .settings = settings});
        if (job) return job;
        last = job.error();
      }
    return fail(last);
  }
  void holds(const std::string& privacy, std::int64_t runs) const {
    const auto job = this->job(privacy);
    ASSERT_TRUE(job) << job.error().message;
    const auto done = audit(*job, 32, {.runs = runs, .seconds = 3600, .confidence = 1 - kFalseAlarm / kAudits});
    ASSERT_TRUE(done) << done.error().message;
    for (const Finding& finding : done->findings)
      RecordProperty(finding.observer,
                     fmt::format("{:.4g} of {:.4g}, {}", finding.epsilon, done->claim.epsilon, done->pair));
    std::string told = fmt::format("{:20} claim {:.4g}{}, {} runs of {:.2g} ms, worlds: {}; power {:.4g}\n", row().name,
                                   done->claim.epsilon, done->claim.gaussian ? " (Gaussian)" : "", done->runs,
                                   1000 * done->seconds / static_cast<double>(done->runs), done->pair, done->power);
    for (const Finding& finding : done->findings)
      told += fmt::format("  {:32} {:.4f} by counts, {:.4f} by Gaussians; {}\n", finding.observer, finding.epsilon,
                          finding.epsilon_gaussian, finding.attack);
    if (takes_long()) fmt::print("{}", told);
    EXPECT_EQ(done->verdict, Verdict::kConsistent) << told << done->why;
  }
};

}  // namespace

TEST_P(AuditCatalog, AQuickAttackShowsNoMoreThanIsClaimed) {
  if (takes_long()) GTEST_SKIP() << "the long one takes its place";
  holds("epsilon = 0.5\ndelta = 1e-5\n", 230);
}

TEST_P(AuditCatalog, ALongAttackShowsNoMoreThanIsClaimed) {
  if (!takes_long()) GTEST_SKIP() << "set PARLEY_LONG=1";
  for (const char* epsilon : {"1.0", "4.0"}) holds(fmt::format("epsilon = {}\ndelta = 1e-5\n", epsilon), 6000);
}

INSTANTIATE_TEST_SUITE_P(All, AuditCatalog, ::testing::ValuesIn(private_rows()), [](const auto& one) {
  std::string name = one.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});
