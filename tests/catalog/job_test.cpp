#include <fmt/format.h>
#include <gtest/gtest.h>

#include "parley/catalog/catalog.h"
#include "parley/catalog/read_job.h"

using namespace parley;
using namespace parley::catalog;

namespace {

const std::string kGood = R"(
[job]
name = "income"
task = "logistic"
[model]
l2 = 0.01
[algorithm]
name = "exact"
[[party]]
name = "site"
data = "income.csv"
)";

Result<jobs::Job> read(const std::string& text, const std::vector<std::string>& overrides = {}) {
  auto toml = Toml::parse(text, "jobs/job.toml");
  if (!toml) return fail(toml.error());
  for (const auto& assignment : overrides) PARLEY_CHECK(toml->set(assignment));
  return parse_job(*toml, "jobs/job.toml");
}

std::string refusal(const std::string& text, const std::vector<std::string>& overrides = {}) {
  const auto job = read(text, overrides);
  return job ? "accepted" : job.error().message;
}

}  // namespace

TEST(Job, ReadsASingleSiteJob) {
  const auto job = read(kGood);
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->name, "income");
  EXPECT_EQ(job->objective.task, glm::Task::kLogistic);
  EXPECT_EQ(job->objective.l2, 0.01);
  EXPECT_EQ(job->algorithm, "exact");
  ASSERT_EQ(job->parties.size(), 1U);
}

TEST(Job, PathsAreRelativeToTheJob) {
  EXPECT_EQ(read(kGood)->parties[0].data, "jobs/income.csv");
  EXPECT_EQ(read(kGood, {"party.site.data=postgresql://db/x?table=t"})->parties[0].data, "postgresql://db/x?table=t");
  EXPECT_EQ(read(kGood, {"party.site.data=sqlite:x.db?table=t"})->parties[0].data, "sqlite:jobs/x.db?table=t");
  EXPECT_EQ(read(kGood, {"party.site.data=sqlite:///srv/x.db?table=t"})->parties[0].data, "sqlite:///srv/x.db?table=t");
}

TEST(Job, RefusesAddressesOfDatabasesWithAPassword) {
  const std::string told = refusal(kGood, {"party.site.data=postgresql://ann:pa55@db/x?table=t"});
  EXPECT_NE(told.find("party.1.data: holds a password"), std::string::npos) << told;
  EXPECT_EQ(told.find("pa55"), std::string::npos) << told;
  EXPECT_NE(refusal(kGood, {"party.site.data=sqlite:x.db"}).find("party.1.data: must name a table"), std::string::npos);
}

TEST(Job, RefusesUnknownKeysWithASuggestion) {
  EXPECT_EQ(refusal(kGood, {"model.l1_radus=3"}), "--set: model.l1_radus: unknown key; did you mean 'l1_radius'?");
  EXPECT_EQ(refusal(kGood, {"algorithm.tolerence=1e-8"}),
            "--set: algorithm.tolerence: unknown key; did you mean 'tolerance'?");
}

TEST(Job, ASectionThatWasSetIsBlamedOnTheCommandLine) {
  EXPECT_EQ(refusal(kGood, {"foo.bar=1"}).find("--set: foo: unknown key"), 0U);
  const std::string known = refusal(kGood, {"l2=1"});
  for (const char* section : {"model", "privacy", "tune", "network"})
    EXPECT_NE(known.find(section), std::string::npos) << known;
}

TEST(Job, RefusesDataWithoutAName) {
  EXPECT_EQ(refusal(kGood, {"party.site.data=\"\""}), "--set: party.1.data: must not be empty");
}

TEST(Job, RefusesAPartyWhoseNameIsNoNameOfAFolderOrOfACertificate) {
  for (const char* name : {"", "..", "a/b", "a b", "coordinator", "ca", "a\\u0007b"}) {
    std::string text = kGood;
    text.replace(text.find("\"site\""), 6, fmt::format("\"{}\"", name));
    EXPECT_NE(refusal(text).find("party.1.name: "), std::string::npos) << name << ": " << refusal(text);
  }
}

TEST(Job, RefusesAnUnknownAlgorithm) {
  EXPECT_EQ(refusal(kGood, {"algorithm.name=exat"}),
            "jobs/job.toml: algorithm.name: unknown algorithm; did you mean 'exact'? (got 'exat')");
}

TEST(Job, RefusesAPenaltyAndABallOfTheSameNorm) {
  EXPECT_NE(refusal(kGood, {"model.l1=1", "model.l1_radius=2"}).find("contradicts l1_radius"), std::string::npos);
  EXPECT_NE(refusal(kGood, {"model.sparsity=1", "model.l1_radius=2"}).find("contradicts l1_radius"), std::string::npos);
}

TEST(Job, RefusesTwoSourcesOfTestRows) {
  EXPECT_NE(refusal(kGood, {"data.test_fraction=0.2", "party.site.test=t.csv"}).find("contradicts data.test_fraction"),
            std::string::npos);
}

TEST(Job, RefusesAnotherPartition) {
  EXPECT_EQ(refusal(kGood, {"job.partition=vertical"}),
            "jobs/job.toml: job.partition: exact works on 'single' data (got 'vertical')");
}

TEST(Job, RefusesNoParty) {
  EXPECT_NE(refusal("[job]\ntask='linear'\n[algorithm]\nname='exact'\n").find("no data"), std::string::npos);
}

TEST(Job, RefusesAMissingTaskAndAnEmptyName) {
  EXPECT_EQ(refusal("[job]\n[algorithm]\nname='exact'\n"), "jobs/job.toml:1: job.task: is missing");
  EXPECT_NE(refusal("[job]\ntask='linear'\n[algorithm]\nname=''\n").find("algorithm.name: must not be empty"),
            std::string::npos);
}

TEST(Job, RefusesALabelPartyThatIsNotThere) {
  EXPECT_EQ(refusal(kGood, {"labels.party=bank"}),
            "jobs/job.toml: labels.party: names no [[party]] of this job (got 'bank')");
}

TEST(Job, RefusesOutOfRangeNumbers) {
  for (const char* bad : {"model.l1=-1", "model.l2=-0.5", "model.l1_radius=0", "model.sparsity=0",
                          "data.test_fraction=1", "data.test_fraction=-0.1", "data.bound=0", "algorithm.tolerance=0",
                          "algorithm.iterations=0", "algorithm.seed=-3", "data.features=0"})
    EXPECT_NE(refusal(kGood, {bad}), "accepted") << bad;
}

TEST(Job, ReadsThePrivacySection) {
  // No algorithm needs to be able to train privately for the section to be checked.
  EXPECT_NE(refusal(kGood + "[privacy]\n").find("privacy.epsilon"), std::string::npos);
  EXPECT_NE(refusal(kGood + "[privacy]\nepsilon = 0\n").find("privacy.epsilon"), std::string::npos);
  EXPECT_NE(refusal(kGood + "[privacy]\nepsilon = nan\n").find("privacy.epsilon"), std::string::npos);
  EXPECT_NE(refusal(kGood + "[privacy]\nepsilon = 1\ndelta = 1\n").find("privacy.delta"), std::string::npos);
  EXPECT_NE(refusal(kGood + "[privacy]\nepsilon = 1\nunit = \"household\"\n").find("privacy.unit"), std::string::npos);
  EXPECT_NE(refusal(kGood + "[privacy]\nepsilon = 1\nepsilom = 1\n").find("epsilom"), std::string::npos);
  EXPECT_NE(refusal(kGood + "[privacy]\nepsilon = 1\n").find("exact has no private form"), std::string::npos);
  EXPECT_NE(refusal(kGood + "[data]\nscale = \"standardize\"\n[privacy]\nepsilon = 1\n").find("data.scale"),
            std::string::npos);
  EXPECT_NE(refusal(kGood + "[privacy]\nepsilon = 1\n", {"model.intercept=true"}).find("model.intercept"),
            std::string::npos);
}

TEST(Job, AMessageNamesTheFileThatItIsAboutOnce) {
  jobs::Job job;
  job.file = "job.toml";
  job.parties = {{.name = "site", .data = "data.csv"}};
  const auto told = [&](const Place& place) { return jobs::in_job(job, bad_input(place, "is wrong")).message; };
  EXPECT_EQ(told({.field = "algorithm.step_size"}), "job.toml: algorithm.step_size: is wrong");
  EXPECT_EQ(told({.file = "job.toml", .field = "data.scale"}), "job.toml: data.scale: is wrong");
  EXPECT_EQ(told({.file = "data.csv", .line = 5, .field = "age"}), "data.csv:5: age: is wrong");
  EXPECT_EQ(told({.file = "data.csv"}), "data.csv: is wrong");
  EXPECT_EQ(told({.file = "model.d/site.csv", .line = 2}), "model.d/site.csv:2: is wrong");
}

namespace {

// A program's own algorithm over tables.
const bool kListed = [] {
  Row row = *find("exact");
  row.name = "joins-tables";
  list(std::move(row));
  return true;
}();

const std::string kTables = R"(
[job]
task = "linear"
[algorithm]
name = "joins-tables"
[[party]]
name = "shop.a"
data = "a.csv"
[[party]]
name = "users"
data = "users.csv"
[[party]]
name = "shop.b"
data = "b.csv"
[[union]]
table = "ratings"
parties = ["shop.b", "shop.a"]
[[join]]
left = ["ratings.user", "ratings.day"]
right = ["users.user", "users.first.day"]
kind = "left"
missing = "indicator"
)";

std::string with(std::string text, const std::string& before, const std::string& after) {
  const auto at = text.find(before);
  EXPECT_NE(at, std::string::npos) << before;
  return text.replace(at, before.size(), after);
}

}  // namespace

TEST(JobOfTables, NumbersTablesAndTheirKeys) {
  ASSERT_TRUE(kListed);
  const auto job = read(kTables);
  ASSERT_TRUE(job) << job.error().message;
  const jobs::JobTables& tables = job->tables;
  EXPECT_EQ(tables.spec.tables, (std::vector<std::string>{"ratings", "users"}));
  EXPECT_EQ(tables.tables[0].parties, (std::vector<int>{2, 0}))
      << "rows come in the order in which the union lists them";
  EXPECT_EQ(tables.table_of(2), 0U);
  EXPECT_EQ(tables.table_of(1), 1U);
  EXPECT_EQ(tables.tables[0].keys, (std::vector<std::vector<std::string>>{{"user", "day"}}));
  EXPECT_EQ(tables.tables[1].keys, (std::vector<std::vector<std::string>>{{"user", "first.day"}}));
  EXPECT_FALSE(tables.tables[0].indicator);
  EXPECT_TRUE(tables.tables[1].indicator);
  EXPECT_EQ(tables.spec.edges, (std::vector<data::JoinEdge>{{.left = 0, .right = 1, .kind = data::JoinKind::kLeft}}));
  EXPECT_EQ(job->data.largest_join, 100'000'000);
}

TEST(JobOfTables, GivesATableThatIsJoinedTwiceByOneColumnOneKey) {
  const auto job =
      read(kTables +
           "[[party]]\nname = \"cards\"\ndata = \"cards.csv\"\n"
           "[[join]]\nleft = [\"users.user\", \"users.first.day\"]\nright = [\"cards.user\", \"cards.day\"]\n");
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->tables.tables[1].keys.size(), 1U);
  EXPECT_EQ(job->tables.spec.edges[1].left_key, 0);
}

TEST(JobOfTables, RefusesWhatNamesNoTableOrNoColumn) {
  EXPECT_NE(
      refusal(with(kTables, "\"ratings.user\"", "\"rating.user\""))
          .find("join.1.left: must be TABLE.COLUMN, with a party's or a union's name; did you mean 'ratings'? (got "
                "'rating.user')"),
      std::string::npos);
  EXPECT_NE(
      refusal(with(kTables, "\"ratings.user\"", "\"user\"")).find("join.1.left: must be TABLE.COLUMN (got 'user')"),
      std::string::npos);
  EXPECT_NE(refusal(with(kTables, "\"ratings.user\"", "\"shop.a.user\""))
                .find("'shop.a' holds rows of the union 'ratings', which is the table"),
            std::string::npos);
  EXPECT_NE(refusal(with(kTables, "\"ratings.day\"", "\"users.day\"")).find("all columns of a side are of one table"),
            std::string::npos);
  EXPECT_NE(refusal(with(kTables, "\"ratings.day\"", "\"ratings.user\"")).find("names a column twice"),
            std::string::npos);
  EXPECT_NE(refusal(with(kTables, ", \"ratings.day\"", "")).find("join.1.right: must have as many columns as left, 1"),
            std::string::npos);
}

TEST(JobOfTables, RefusesJoinsThatAreNoTree) {
  const std::string again = "[[join]]\nleft = [\"users.user\"]\nright = [\"ratings.user\"]\n";
  EXPECT_NE(refusal(kTables + again).find("jobs/job.toml: join.2: closes a cycle"), std::string::npos);
  const std::string alone = "[[party]]\nname = \"movies\"\ndata = \"movies.csv\"\n";
  EXPECT_NE(refusal(kTables + alone).find("jobs/job.toml: join: no clause reaches 'movies'"), std::string::npos);
  EXPECT_NE(refusal(kTables + alone).find("cartesian product"), std::string::npos);
}

TEST(JobOfTables, RefusesUnionsThatShareAPartyOrAName) {
  EXPECT_NE(refusal(with(kTables, "\"shop.b\", \"shop.a\"", "\"shop.b\", \"shop.b\""))
                .find("union.1.parties: a party holds rows of one table, once"),
            std::string::npos);
  EXPECT_NE(refusal(with(kTables, "\"shop.b\", \"shop.a\"", "\"shop.c\""))
                .find("union.1.parties: names no [[party]] of this job"),
            std::string::npos);
  EXPECT_NE(refusal(with(kTables, "table = \"ratings\"", "table = \"users\""))
                .find("union.1.table: is the name of a party or of another union"),
            std::string::npos);
}

TEST(JobOfTables, RefusesJoinsWhereNothingJoins) {
  EXPECT_NE(refusal(kTables, {"job.partition=vertical"}).find("join: is for tables"), std::string::npos);
  EXPECT_NE(refusal(kTables, {"algorithm.name=greedy-cd"}).find("trains on one table, and the job joins several"),
            std::string::npos);
  EXPECT_NE(refusal(kGood, {"data.largest_join=10"}).find("largest_join: is for jobs with a [[join]]"),
            std::string::npos);
  EXPECT_NE(refusal(with(kTables, "kind = \"left\"\n", "")).find("join.1.missing: is for left joins"),
            std::string::npos);
  EXPECT_NE(refusal(kTables, {"data.largest_join=3000000000"}).find("data.largest_join: must "), std::string::npos);
}
