#include "parley/audits/worlds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "parley/catalog/read_job.h"
#include "parley/core/files.h"
#include "tests/support/temporary_folder.h"

using namespace parley;
using namespace parley::audits;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; begin = end + 1, end = text.find('\n', begin))
    lines.push_back(text.substr(begin, end - begin));
  return lines;
}

Result<jobs::Job> job_of(const std::string& text, const std::string& file) {
  PARLEY_TRY(Toml toml, Toml::parse(text, file));
  return catalog::parse_job(std::move(toml), file);
}

std::string single(const std::string& privacy, const std::string& party = "data = \"none.libsvm\"\n") {
  return "[job]\npartition = \"single\"\ntask = \"logistic\"\n[model]\nl2 = 0.1\n[algorithm]\nname = \"sgd\"\n[data]\n"
         "bound = 2.0\nfeatures = 3\n[privacy]\nepsilon = 1.0\ndelta = 1e-5\n" +
         privacy + "[[party]]\nname = \"a\"\n" + party;
}

int lines_that_differ(const World& in, const World& out) {
  int differ = 0;
  for (std::size_t p = 0; p < in.tables.size(); ++p) {
    const auto a = lines_of(in.tables[p]), b = lines_of(out.tables[p]);
    EXPECT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) differ += a[i] != b[i];
  }
  return differ;
}

}  // namespace

TEST(Worlds, DifferInOneRecordAndInNothingElse) {
  const auto job = job_of(single(""), "worlds");
  ASSERT_TRUE(job) << job.error().message;
  const auto pairs = pairs_of(*job, 10);
  ASSERT_TRUE(pairs) << pairs.error().message;
  EXPECT_GE(pairs->size(), 5u);
  std::set<std::string> names;
  for (const Pair& pair : *pairs) {
    EXPECT_EQ(lines_that_differ(pair.in, pair.out), 1) << pair.name;
    EXPECT_EQ(lines_of(pair.in.tables.front()).size(), 10u);
    names.insert(pair.name);
  }
  EXPECT_EQ(names.size(), pairs->size());
}

TEST(Worlds, LackARecordWhereTheRelationSaysSo) {
  const auto job = job_of(single("neighbours = \"add-remove\"\nrecords = 10\n"), "worlds");
  ASSERT_TRUE(job) << job.error().message;
  const auto pairs = pairs_of(*job, 10);
  ASSERT_TRUE(pairs) << pairs.error().message;
  for (const Pair& pair : *pairs) {
    EXPECT_EQ(lines_of(pair.in.tables.front()).size(), 10u);
    EXPECT_EQ(lines_of(pair.out.tables.front()).size(), 9u);
    EXPECT_TRUE(pair.in.tables.front().ends_with(pair.out.tables.front()));
  }
}

// Names with commas and quotes in them are read back as they are, and levels are those of the schema.
TEST(Worlds, AreReadByTheSchemaThatTheyWereMadeFrom) {
  const TemporaryFolder folder;
  const std::string schema = (folder / "schema.toml").string();
  ASSERT_TRUE(
      write_atomically(schema,
                       "[[column]]\nname = 'say \"a, b\"'\ntype = \"number\"\nlower = 10\nupper = 20\n"
                       "[[column]]\nname = \"kind\"\ntype = \"category\"\nlevels = [\"red, dark\", \"blue\"]\n"
                       "[[column]]\nname = \"who\"\ntype = \"id\"\n[[column]]\nname = \"left out\"\ntype = \"ignore\"\n"
                       "[[column]]\nname = \"y\"\ntype = \"label\"\nlevels = [\"no\", \"yes\"]\n"));
  const auto job = job_of(single("", "data = \"none.csv\"\nschema = \"" + schema + "\"\n"), "worlds");
  ASSERT_TRUE(job) << job.error().message;
  const auto pairs = pairs_of(*job, 10);
  ASSERT_TRUE(pairs) << pairs.error().message;
  for (const Pair& pair : *pairs) {
    for (const World* world : {&pair.in, &pair.out}) {
      const auto table = catalog::read_alone(*job, sources_of(*world, *job).front());
      ASSERT_TRUE(table) << pair.name << ": " << table.error().message;
      EXPECT_EQ(table->train.rows(), 10u);
      EXPECT_EQ(table->features.cols(), 3);
      EXPECT_EQ(table->train.labels.classes, (std::vector<std::string>{"no", "yes"}));
    }
  }
}

TEST(Worlds, RefuseTablesThatAreTooLarge) {
  const auto job = job_of(single("neighbours = \"add-remove\"\nrecords = 100000000\n"), "worlds");
  ASSERT_TRUE(job) << job.error().message;
  const auto pairs = pairs_of(*job, 100'000'000);
  ASSERT_FALSE(pairs);
  EXPECT_EQ(pairs.error().fault, Fault::kBadInput);
  EXPECT_NE(pairs.error().message.find("privacy.records"), std::string::npos) << pairs.error().message;
}

TEST(Worlds, RefuseTablesThatTheyCannotMake) {
  const auto job = job_of(
      "[job]\npartition = \"single\"\ntask = \"logistic\"\n[algorithm]\nname = \"sgd\"\n[data]\nbound = 2.0\n"
      "[privacy]\nepsilon = 1.0\ndelta = 1e-5\n[[party]]\nname = \"a\"\ndata = \"none.libsvm\"\n",
      "worlds");
  ASSERT_TRUE(job) << job.error().message;
  const auto pairs = pairs_of(*job, 10);
  ASSERT_FALSE(pairs);
  EXPECT_NE(pairs.error().message.find("data.features"), std::string::npos) << pairs.error().message;
}
