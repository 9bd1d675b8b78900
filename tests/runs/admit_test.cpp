// What a site decides about a job before its table is read: a refusal must not depend on the data.
#include "parley/runs/admit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>

#include "parley/algorithms/horizontal/client_averaging.h"
#include "parley/algorithms/horizontal/fedavg.h"
#include "parley/catalog/read_job.h"
#include "parley/secure/identity_file.h"
#include "parley/wire/decode.h"
#include "parley/wire/encode.h"
#include "tests/support/temporary_folder.h"

using namespace parley;
using namespace parley::runs;

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
    std::ofstream(folder_ / "schema.toml")
        << "[table]\nformat = \"libsvm\"\nfeatures = 2\nfirst_index = 1\nbound = 1\n";
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
    const auto admission = admitted("site", overrides);
    return admission ? "" : admission.error().message;
  }
  Result<rounds::Admission> admitted(const std::string& name, const std::vector<std::string>& overrides,
                                     const wire::RunId& run = {4, 2}) {
    jobs::Site site = site_;
    site.name = name;
    if (pins_.contains(name)) site.peers = pins_.at(name);
    const rounds::Opening opening{run, wire::encode(jobs::JobText{"job.toml", kJob, overrides}), false, {}};
    return admit(site, opening, [](const std::string&) {});
  }
  bool refuses(const std::string& because, const std::vector<std::string>& overrides = {}) {
    const std::string why = refusal(overrides);
    return why.find(because) != std::string::npos ? true : (ADD_FAILURE() << "'" << why << "'", false);
  }

  TemporaryFolder folder_;
  jobs::Site site_;
  std::map<std::string, std::vector<secure::Pin>> pins_;  // of a site by its name
};

using Average = algorithms::ClientAveraging<algorithms::FedAvg::kParts>;

class ClientSiteTest : public SiteTest {
 protected:
  // Both sites have an identity and pin the other's.
  std::map<std::string, secure::Identity> pin_each_other() {
    site_.tls = (folder_ / "keys").string();
    std::filesystem::create_directories(site_.tls);
    std::map<std::string, secure::Identity> made;
    for (const char* name : {"site", "other"}) {
      made.emplace(name, *secure::Identity::make());
      EXPECT_TRUE(secure::write_identity(made.at(name), secure::identity_file(site_.tls, name)));
    }
    pins_["site"] = {{"other", made.at("other").public_key()}};
    pins_["other"] = {{"site", made.at("site").public_key()}};
    return made;
  }
  // A site with folders of its own.
  rounds::Admission admitted_alone(const std::string& name, const wire::RunId& run = {4, 2}) {
    const jobs::Site before = site_;
    site_.state += "-" + name + std::to_string(run[1]);
    site_.ledger += "-" + name + std::to_string(run[1]);
    auto admission = admitted(name, {"privacy.unit=client"}, run);
    site_ = before;
    EXPECT_TRUE(admission) << admission.error().message;
    return std::move(*admission);
  }
  // The key that a site sends, and whether it answers when it is handed these.
  static std::string key_of(rounds::Admission& site) {
    const auto answered =
        site.party->answer({.kind = wire::Kind::kTask, .round = 1}, wire::encode(Average::Task{.make_key = true}));
    EXPECT_TRUE(answered.replied) << site.party->last_error();
    return wire::decode<Average::Reply>(wire::read_frame(*answered.frame)->payload)->key;
  }
  static bool answers(rounds::Admission& site, const std::vector<std::string>& keys) {
    const Average::Task task{.round = 0, .step = 0.5, .parameters = std::vector<double>(6, 0.0), .keys = keys};
    return site.party->answer({.kind = wire::Kind::kTask, .round = 2}, wire::encode(task)).replied;
  }
  // Two sites, each with the job and the run that it was told of, and a coordinator that hands on their keys. Whether
  // noise is all that is left in the sum of a round; empty: a site did not answer.
  std::optional<bool> unmasks(rounds::Admission& one, rounds::Admission& other) {
    Average::Task task{.make_key = true};
    std::vector<Average::Reply> replies;
    for (std::int64_t round = 1; round <= 2; ++round) {
      replies.clear();
      for (rounds::Admission* site : {&one, &other}) {
        const auto answered = site->party->answer({.kind = wire::Kind::kTask, .round = round}, wire::encode(task));
        if (!answered.replied) return std::nullopt;
        const auto frame = wire::read_frame(*answered.frame);
        replies.push_back(*wire::decode<Average::Reply>(frame->payload));
      }
      task = {.make_key = false,
              .round = 0,
              .step = 0.5,
              .parameters = std::vector<double>(6, 0.0),
              .keys = {replies[0].key, replies[1].key}};
    }
    std::vector<std::int64_t> sum = replies[0].words;
    privacy::add_words(replies[1].words, sum);
    // Noise has 2^31 grains, masks 2^64: six words below 2^50 by chance have probability 2^-78.
    return std::all_of(sum.begin(), sum.end(),
                       [](std::int64_t word) { return std::abs(word) < std::int64_t{1} << 50; });
  }
};

}  // namespace

INSTANTIATE_TEST_SUITE_P(Units, SiteTest, ::testing::Values(privacy::Unit::kRecord, privacy::Unit::kClient),
                         [](const auto& of) { return std::string(privacy::name(of.param)); });

INSTANTIATE_TEST_SUITE_P(Units, ClientSiteTest, ::testing::Values(privacy::Unit::kClient));

// By a list without "3" a coordinator would learn for nothing whether one record has that label.
// 40 rows, of which add-remove hides how many: the public number of the site decides.
TEST_P(SiteTest, ComparesTheLeastNumberOfRecordsWithTheOneThatIsPublic) {
  if (GetParam() != privacy::Unit::kRecord) return;
  site_.limits.neighbours = privacy::Neighbours::kAddRemove;
  const std::vector<std::string> hidden = {"privacy.neighbours=add-remove", "privacy.records=50"};
  site_.limits.records = 50;
  site_.limits.minimum_records = 50;
  EXPECT_EQ(refusal(hidden), "");
  site_.limits.minimum_records = 51;
  EXPECT_TRUE(refuses("limits.minimum_records", hidden));
}

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

// Of a coordinator that tells sites different things: a clip by which another's share of the noise is too small, a seed
// that it knows, another run.
TEST_P(ClientSiteTest, SitesThatWereToldDifferentThingsHaveMasksThatDoNotCancel) {
  const std::vector<std::string> job = {"privacy.unit=client"};
  const auto told = [&](const std::vector<std::string>& other, const wire::RunId& run = {4, 2}) {
    site_.state += "-one";
    site_.ledger += "-one";
    auto first = admitted("site", job);
    site_.state += "-other";
    site_.ledger += "-other";
    auto second = admitted("other", other, run);
    return first && second ? unmasks(*first, *second) : std::nullopt;
  };
  EXPECT_EQ(told(job), true);
  EXPECT_EQ(told({"privacy.unit=client", "algorithm.clip=0.501"}), false);
  EXPECT_EQ(told(job, {4, 3}), false);
  site_.limits.without_privacy = true;
  EXPECT_EQ(told({"privacy.unit=client", "algorithm.seed=7"}), false);
}

// Costs under two units are not added up.
TEST_P(SiteTest, AnotherUnitGivesChargedDataNoSecondBudget) {
  const privacy::Budget budget = *site_.limits.budget;
  const privacy::Purse own{"site", GetParam(), privacy::Neighbours::kReplaceOne};
  privacy::Purse other = own;
  other.unit = own.unit == privacy::Unit::kRecord ? privacy::Unit::kClient : privacy::Unit::kRecord;
  {
    auto ledger = *privacy::Ledger::open(site_.ledger);
    ASSERT_TRUE(ledger.set_budget(other, budget));
    EXPECT_EQ(refusal(), "") << "nothing was charged yet";
  }
  site_.ledger += "-charged";
  auto ledger = *privacy::Ledger::open(site_.ledger);
  ASSERT_TRUE(ledger.set_budget(other, budget));
  ASSERT_TRUE(ledger.charge(other, {.run = "before", .key = "one", .event = {privacy::Pure{0.1}, 1}}));
  EXPECT_TRUE(refuses("was charged for one " + std::string(privacy::name(other.unit)) +
                      " under replace-one neighbours before"));
  ASSERT_TRUE(ledger.set_budget(own, budget));
  EXPECT_EQ(refusal(), "") << "a person set it";
}

TEST_P(ClientSiteTest, SitesThatPinEachOtherLearnTogether) {
  pin_each_other();
  rounds::Admission one = admitted_alone("site"), other = admitted_alone("other");
  EXPECT_EQ(unmasks(one, other), true);
}

// It would stand between them, and see each one's words with that one's noise alone.
TEST_P(ClientSiteTest, ACoordinatorThatSwapsAKeyIsRefusedAndTheMissingKeyIsNamed) {
  const auto identities = pin_each_other();
  rounds::Admission one = admitted_alone("site"), other = admitted_alone("other");
  rounds::Admission in_another_run = admitted_alone("other", {4, 3});
  const std::string honest = key_of(one), theirs = key_of(other);
  const secure::Identity liar = *secure::Identity::make();
  const secure::RunKey key = *secure::RunKey::make();
  std::string cut = theirs;
  cut.replace(secure::kKeyBytes, secure::kKeyBytes, key.public_key());
  const std::string lies[] = {key.public_key(),                     // bare
                              *secure::hello_of(liar, key, "any"),  // signed by itself
                              cut,                                  // its key under their signature
                              key_of(in_another_run),               // replayed
                              honest,                               // the site's own twice
                              theirs.substr(1),
                              ""};
  for (const std::string& lie : lies) {
    EXPECT_FALSE(answers(one, {honest, lie})) << lie.size();
    const std::string& why = one.party->last_error();
    EXPECT_TRUE(why.find("'other'") != std::string::npos || why.find("keys") != std::string::npos) << why;
  }
  EXPECT_FALSE(answers(one, {honest, *secure::hello_of(liar, key, "any")}));
  EXPECT_NE(one.party->last_error().find("the key of 'other' is missing"), std::string::npos)
      << one.party->last_error();
  EXPECT_TRUE(answers(one, {honest, theirs})) << one.party->last_error();
}

TEST_P(ClientSiteTest, ASiteThatPinsAnybodyTakesPartWithPinnedPartiesOnly) {
  const auto identities = pin_each_other();
  const auto why = [&] { return refusal(); };
  EXPECT_EQ(why(), "");
  pins_["site"] = {{"registry", identities.at("other").public_key()}};
  EXPECT_TRUE(refuses("does not name a party of the job (got 'other')"));
  pins_["site"] = {{"other", identities.at("site").public_key()}};
  EXPECT_TRUE(refuses("is this site's own"));
}

TEST_P(ClientSiteTest, AnIdentityThatOthersCanReadOrThatIsNoneIsRefused) {
  pin_each_other();
  const std::string file = secure::identity_file(site_.tls, "site");
  namespace fs = std::filesystem;
  fs::permissions(file, fs::perms::group_read, fs::perm_options::add);
  EXPECT_TRUE(refuses("chmod 600"));
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write, fs::perm_options::replace);
  EXPECT_EQ(refusal(), "");
  std::ofstream(file) << "nonsense";
  EXPECT_TRUE(refuses("is not an identity"));
  fs::remove(file);
  EXPECT_TRUE(refuses("[[peer]] needs it"));
}
