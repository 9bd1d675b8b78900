#include "parley/audits/stage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "tests/audits/jobs.h"

using namespace parley;
using namespace parley::audits;

namespace {

Result<jobs::Job> federated(const std::string& privacy = "") {
  return test::audited_job(*catalog::find("fedavg"), {.privacy = "epsilon = 1.0\ndelta = 1e-5\n" + privacy,
                                                      .settings = "iterations = 2\nclip = 1.0\n"});
}

std::set<std::string> folders_of_audits() {
  std::set<std::string> found;
  std::error_code ignored;
  for (const char* place : {"/dev/shm", "/tmp"})
    for (const auto& entry : std::filesystem::directory_iterator(place, ignored))
      if (entry.path().filename().string().starts_with("parley-audit-")) found.insert(entry.path().string());
  return found;
}

}  // namespace

TEST(Stage, EveryObserverSeesWhatItWouldSeeElsewhere) {
  const auto job = federated();
  ASSERT_TRUE(job) << job.error().message;
  const auto stage = stage_of(*job);
  ASSERT_TRUE(stage);
  const auto pairs = pairs_of(*job, 16);
  ASSERT_TRUE(pairs);
  const auto played = (*stage)->play(pairs->front().in, std::nullopt);
  ASSERT_TRUE(played) << played.error().message;
  ASSERT_EQ(played->views.size(), 3u);
  const View &outsider = played->views[0], &coordinator = played->views[1], &party = played->views[2];
  ASSERT_EQ(outsider.size(), 1u);
  EXPECT_EQ(outsider.front().front().size(), 4 * sizeof(double)) << "the weights";
  ASSERT_EQ(coordinator.size(), 5u) << "both ways of two parties, and the model";
  for (const auto& list : coordinator) EXPECT_FALSE(list.empty());
  ASSERT_EQ(party.size(), 2u);
  EXPECT_EQ(party[0], coordinator[2]);
  EXPECT_EQ(party[1], coordinator[3]);
  EXPECT_NEAR(played->claim.epsilon, 1, 1e-3);
}

TEST(Stage, NoiseIsTheSystemsUnlessASeedIsGiven) {
  const auto job = federated();
  ASSERT_TRUE(job) << job.error().message;
  const auto stage = stage_of(*job);
  const auto pairs = pairs_of(*job, 16);
  ASSERT_TRUE(stage && pairs);
  const World& world = pairs->front().in;
  const auto model = [&](std::optional<std::int64_t> seed) { return (*stage)->play(world, seed).value().views[0]; };
  EXPECT_NE(model(std::nullopt), model(std::nullopt));
  EXPECT_EQ(model(3), model(3));
  EXPECT_NE(model(3), model(4));
}

// Not what an outsider alone is promised, and not what parts that are kept hold.
TEST(Stage, SaysWhomTheClaimIsAbout) {
  const auto everyone = federated();
  ASSERT_TRUE(everyone) << everyone.error().message;
  const auto all = stage_of(*everyone);
  ASSERT_TRUE(all);
  for (const Observer& observer : (*all)->observers()) EXPECT_TRUE(observer.covered);
  auto outsiders = *everyone;
  outsiders.privacy->against = privacy::Against::kOutsiders;
  const auto stage = stage_of(outsiders);
  EXPECT_TRUE((*stage)->observers()[0].covered);
  EXPECT_FALSE((*stage)->observers()[1].covered);
  EXPECT_FALSE((*stage)->observers()[2].covered);
}

TEST(Stage, LeavesNothingBehind) {
  const auto job = federated();
  ASSERT_TRUE(job) << job.error().message;
  const std::set<std::string> before = folders_of_audits();
  std::vector<std::string> made;
  {
    const auto stage = stage_of(*job);
    const auto pairs = pairs_of(*job, 16);
    for (int r = 0; r < 20; ++r) EXPECT_TRUE((*stage)->play(pairs->front().in, std::nullopt));
    for (const std::string& folder : folders_of_audits())
      if (!before.contains(folder)) made.push_back(folder);
  }
  // Its own, and those of other audits of this machine that came meanwhile.
  ASSERT_FALSE(made.empty());
  const std::set<std::string> after = folders_of_audits();
  EXPECT_TRUE(std::any_of(made.begin(), made.end(), [&](const std::string& one) { return !after.contains(one); }));
  EXPECT_FALSE(std::filesystem::exists(job->privacy->ledger)) << "the job's own ledger is not touched";
}

TEST(Stage, RefusesAJobThatClaimsNothing) {
  auto job = *federated();
  job.privacy.reset();
  const auto stage = stage_of(job);
  ASSERT_FALSE(stage);
  EXPECT_NE(stage.error().message.find("nothing to audit"), std::string::npos);
}
