// What a site decides about a job before its table is read: a refusal must not depend on the data.
#include "parley/catalog/site.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "parley/wire/encode.h"
#include "tests/data/temporary_folder.h"

using namespace parley;
using namespace parley::catalog;

namespace {

constexpr const char* kJob = R"(
[job]
name = "test"
partition = "horizontal"
task = "softmax"
[algorithm]
name = "fedavg"
iterations = 4
local_steps = 2
batch = 10
step = 0.5
clip = 0.5
[data]
scale = "bounds"
[labels]
classes = ["1", "2", "3"]
[privacy]
epsilon = 1.0
delta = 1e-5
[[party]]
name = "site"
[[party]]
name = "other"
)";

class SiteTest : public ::testing::TestWithParam<privacy::Unit> {
 protected:
  void SetUp() override {
    std::ofstream(folder_ / "schema.toml") << "[table]\nformat = \"libsvm\"\nfeatures = 2\nfirst_index = 1\nbound = 1\n";
    site_.file = "site.toml";
    site_.name = "site";
    site_.state = (folder_ / "state").string();
    site_.ledger = (folder_ / "ledger").string();
    site_.data = (folder_ / "data.libsvm").string();
    site_.schema = (folder_ / "schema.toml").string();
    site_.classes = {"1", "+2", "3"};  // +2 and 2 are one label
    site_.limits.budget = {*privacy::Epsilon::make(1), *privacy::Delta::make(1e-5), privacy::Composition::kPlans};
    site_.limits.unit = GetParam();
    write_labels("123");
  }
  // 40 rows with these labels in turn.
  void write_labels(const std::string& labels) {
    std::ofstream table(folder_ / "data.libsvm");
    for (std::size_t i = 0; i < 40; ++i)
      table << labels[i % labels.size()] << " 1:" << 0.01 * static_cast<double>(i) << " 2:0.5\n";
  }
  // Empty: it is admitted; else why not.
  std::string refusal(std::vector<std::string> overrides = {}) {
    overrides.push_back("privacy.unit=" + std::string(privacy::name(GetParam())));
    const rounds::Opening opening{{4, 2}, wire::encode(JobText{"job.toml", kJob, overrides}), false, {}};
    const auto admission = admit(site_, opening, [](const std::string&) {});
    return admission ? "" : admission.error().message;
  }
  bool refuses(const std::string& because, const std::vector<std::string>& overrides = {}) {
    const std::string why = refusal(overrides);
    return why.find(because) != std::string::npos ? true : (ADD_FAILURE() << "'" << why << "'", false);
  }

  TemporaryFolder folder_;
  Site site_;
};

}  // namespace

INSTANTIATE_TEST_SUITE_P(Units, SiteTest, ::testing::Values(privacy::Unit::kRecord, privacy::Unit::kClient),
                         [](const auto& of) { return std::string(privacy::name(of.param)); });

// By a list without "3" a coordinator would learn for nothing whether one record has that label.
TEST_P(SiteTest, WhichLabelsOccurDecidesNothing) {
  EXPECT_EQ(refusal(), "");
  for (const char* labels : {"123", "12", "1"}) {
    write_labels(labels);
    EXPECT_TRUE(refuses("data.classes", {R"(labels.classes=["1", "2"])"})) << labels;
    EXPECT_TRUE(refuses("data.classes", {R"(labels.classes=["1", "2", "3", "4"])"})) << labels;
    EXPECT_TRUE(refuses("data.classes", {"labels.classes=[]"})) << labels;
    EXPECT_EQ(refusal(), "") << labels;
  }
  // Nor where the site says nothing, and before it looks: there is no table any more.
  std::filesystem::remove(site_.data);
  site_.classes.clear();
  EXPECT_TRUE(refuses("data.classes"));
  EXPECT_TRUE(refuses("data.classes", {R"(labels.classes=["1", "2"])"}));
}

TEST_P(SiteTest, ALabelThatItsOwnListLeavesOutIsRefusedWhateverTheJobSays) {
  write_labels("1234");
  EXPECT_NE(refusal(), "");
  EXPECT_NE(refusal({R"(labels.classes=["1", "2", "3", "4"])"}), "");
}

// Whether a share of n rows can be held out depends on n alone, and n is a client's secret.
TEST_P(SiteTest, HoldsRowsOutOnlyWhereTheirNumberIsPublic) {
  const std::vector<std::string> tenth = {"data.test_fraction=0.1"};
  if (GetParam() == privacy::Unit::kRecord) {
    EXPECT_EQ(refusal(tenth), "");
    return;
  }
  EXPECT_TRUE(refuses("data.test_fraction", tenth));
  std::filesystem::remove(site_.data);
  EXPECT_TRUE(refuses("data.test_fraction", tenth)) << "before it looks";
}
