// labels: slow
// What every algorithm of the catalog must hold, by being listed. A row that is added to it - here a throw-away one -
// is tested by what follows and by nothing else. How it stands kills, transports and neighbours: tests/cli, which read
// the same list from `parley train --help`.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <filesystem>
#include <numeric>

#include "parley/catalog/catalog.h"
#include "parley/catalog/federation_of.h"
#include "parley/catalog/method.h"
#include "parley/catalog/read_job.h"
#include "parley/catalog/rows.h"
#include "parley/core/files.h"
#include "parley/core/threads.h"
#include "parley/rounds/local_parties.h"
#include "parley/runs/coordinate.h"
#include "parley/runs/explain.h"
#include "parley/runs/member.h"
#include "parley/runs/run.h"
#include "parley/transport/in_process/in_process.h"
#include "tests/runs/plain_gradient.h"
#include "tests/support/temporary_folder.h"

using namespace parley;
using namespace parley::runs;
using catalog::Row;

namespace {

// One file, one row.
const bool kListed = [] {
  catalog::list({.name = "plain-gradient",
                 .partition = jobs::Partition::kHorizontal,
                 .summary = "gradient steps on least squares",
                 .source = "of these tests",
                 .federate = [](Toml& section) -> std::shared_ptr<const catalog::Federation> {
                   using OverRows = catalog::FederationOf<test::PlainGradient, catalog::Rows>;
                   return std::make_shared<OverRows>(test::PlainGradientSettings::read(section));
                 }});
  return true;
}();

bool of_these_tests(const Row& row) {
  return row.source == "of these tests";
}

class Conformance : public ::testing::TestWithParam<std::string> {
 protected:
  [[nodiscard]] const Row& row() const { return *catalog::find(GetParam()); }

  // A job of the row's partition on tables of its own. Constraints that an algorithm needs are found by asking it.
  [[nodiscard]] Result<jobs::Job> job(bool is_private) const {
    std::error_code ignored;
    std::filesystem::create_directories(folder_.path(), ignored);
    const bool columns = row().partition == jobs::Partition::kVertical;
    const bool tables = row().partition == jobs::Partition::kRelational;
    const int parties = row().partition == jobs::Partition::kSingle ? 1 : columns ? 2 : 3;
    std::string text = std::string("[job]\nname = \"conformance\"\npartition = \"") +
                       std::string(jobs::name(row().partition)) + "\"\ntask = \"" +
                       (of_these_tests(row()) ? "linear" : "logistic") + "\"\n[model]\n";
    std::string last;
    for (const char* model :
         {"l2 = 0.01\n", "l2 = 0.01\nl1_radius = 2.0\n", "l2 = 0.01\nsparsity = 2\n", "l1_radius = 2.0\n"}) {
      std::string whole = text + model + "[algorithm]\nname = \"" + row().name + "\"\nseed = 11\n" +
                          (columns && is_private ? "iterations = 4\n" : "") + "[data]\nbound = 1.0\n" +
                          (tables ? "" : "label_bound = 4.0\nfeatures = 4\n") +
                          "[labels]\nclasses = [\"-1\", \"1\"]\n" + (tables ? "column = \"y\"\n" : "") +
                          (is_private ? "public = true\n[privacy]\nepsilon = 4.0\ndelta = 1e-4\nledger = \"" +
                                            (folder_ / "ledger").string() + "\"\n"
                                      : "");
      for (int p = 0; p < parties; ++p) whole += tables ? joined_table(p) : table_of(p, columns);
      PARLEY_TRY(Toml toml, Toml::parse(whole, "conformance"));
      PARLEY_TRY(jobs::Job read, catalog::parse_job(std::move(toml), (folder_ / "job.toml").string()));
      const auto tried = run(read, {});
      std::filesystem::remove_all(folder_ / "ledger", ignored);
      if (tried) return read;
      last = tried.error().message;
    }
    return fail(failed(last));
  }

  // 80 records with four columns; of parties with columns, each has its own of the same records. `phase` 0: the people of
  // the job; another one: different people.
  [[nodiscard]] static std::string rows_of(int party, bool columns, double phase) {
    std::string rows;
    for (int i = 0; i < 80; ++i) {
      const int record = columns ? i : 80 * party + i;
      double margin = 0;
      std::string cells;
      for (int j = 0; j < 4; ++j) {
        const double angle = 1.7 * record + 2.3 * (columns ? j + 4 * party : j);
        // Parties with columns know the labels of a private run: nothing is claimed about those.
        margin += (j % 2 == 0 ? 1 : -0.5) * std::sin(columns ? angle : angle + phase);
        cells += fmt::format(" {}:{}", j + 1, std::round(500 * std::sin(angle + phase)) / 500);
      }
      rows += fmt::format("{}{}\n", margin > 0 ? 1 : -1, cells);
    }
    return rows;
  }
  [[nodiscard]] std::string table_of(int party, bool columns) const {
    const std::string path = (folder_ / fmt::format("party-{}.libsvm", party)).string();
    EXPECT_TRUE(write_atomically(path, rows_of(party, columns, 0)));
    return fmt::format("[[party]]\nname = \"party-{}\"\ndata = \"{}\"\n", party, path);
  }
  // The job's tables, of different people.
  [[nodiscard]] catalog::Sources of_different_people() const {
    catalog::Sources sources;
    const bool columns = row().partition == jobs::Partition::kVertical;
    const int parties = row().partition == jobs::Partition::kSingle ? 1 : columns ? 2 : 3;
    for (int p = 0; p < parties; ++p) {
      const std::string path = (folder_ / fmt::format("others-{}.libsvm", p)).string();
      EXPECT_TRUE(write_atomically(path, rows_of(p, columns, 0.8)));
      sources.push_back({data::Source::file(path)});
    }
    return sources;
  }

  // A private run and everything that its gates released, party by party; or, where `told` is given, the same run with
  // gates that release what they are told.
  struct Released {
    std::vector<double> model;
    std::vector<privacy::Transcript> transcripts;
  };
  [[nodiscard]] Result<Released> train(const jobs::Job& job, const catalog::Sources& sources,
                                       const std::vector<privacy::Transcript>* told) const {
    std::error_code ignored;
    std::filesystem::remove_all(folder_ / "ledger", ignored);
    const auto gate_of = [&](PrivateSite& site, std::size_t party, std::deque<privacy::Gate>& replays) {
      if (told == nullptr) {
        site.gate().keep_transcript();
        return &site.gate();
      }
      return &replays.emplace_back(privacy::Gate::replay((*told)[party], site.purse()));
    };
    std::deque<privacy::Gate> replays;
    Released released;
    if (row().train) {
      PARLEY_TRY(const catalog::PartyTable table, catalog::read_alone(job, sources.front()));
      const glm::Objective objective = catalog::objective_of(job, table.train.labels.classes);
      PARLEY_TRY(const auto site, PrivateSite::open(job, table.train, table.features, objective));
      algorithms::PrivateTerms terms = site->terms();
      terms.gate = gate_of(*site, 0, replays);
      PARLEY_TRY(const algorithms::Fit fit,
                 catalog::method_of(job).train({site->features(), table.train.labels.values, objective, &terms}, {}));
      released.model = fit.weights;
      released.model.insert(released.model.end(), fit.intercepts.begin(), fit.intercepts.end());
      if (told == nullptr) released.transcripts.push_back(site->gate().transcript());
      return released;
    }
    const catalog::Federation& federation = *catalog::federation_of(job);
    std::vector<int> numbers(sources.size());
    std::iota(numbers.begin(), numbers.end(), 0);
    PARLEY_TRY(std::vector<catalog::PartyTable> tables, federation.read(job, numbers, sources));
    std::vector<Member> members;
    std::vector<std::unique_ptr<rounds::Responder>> parties;
    std::vector<rounds::Admission> admitted;
    rounds::Terms terms{.job = "conformance"};
    for (std::size_t p = 0; p < tables.size(); ++p) {
      members.push_back({std::move(tables[p])});
      Member& member = members.back();
      PARLEY_CHECK(open_site(job, catalog::objective_of(job, member.table.train.labels.classes), member, {}));
      PARLEY_TRY(admitted.emplace_back(), admission_of(job, member));
      privacy::Gate* gate = gate_of(*member.site, p, replays);
      PARLEY_TRY(parties.emplace_back(),
                 federation.responder(job, member.table, [gate](std::int64_t round) -> Result<privacy::Gate*> {
                   PARLEY_CHECK(gate->begin_round(round));
                   return gate;
                 }));
      admitted.back().party = std::make_unique<rounds::BorrowedParty>(*parties.back());
      admitted.back().leaving = {};
      terms.parties.push_back(member.table.party);
    }
    rounds::LocalParties local(std::move(admitted));
    PARLEY_TRY(rounds::Exchange exchange, rounds::Exchange::make(local.channel(), std::move(terms)));
    PARLEY_TRY(const Coordinated run, coordinate(job, exchange, {}));
    std::vector<wire::Bytes> memories;
    for (const auto& party : parties) memories.push_back(party->memory());
    PARLEY_TRY(const Outcome outcome, outcome_of(job, run, memories));
    released.model = weights_of(outcome);
    for (const Member& member : members)
      if (told == nullptr) released.transcripts.push_back(member.site->gate().transcript());
    return released;
  }

  // A star: 80 stays with a label, each of one of 9 wards and of one of 12 doctors.
  [[nodiscard]] std::string joined_table(int party) const {
    constexpr int kTuples[] = {80, 9, 12};
    const char* const names[] = {"stays", "wards", "doctors"};
    const char* const headers[] = {"ward,doctor,a,b,y\n", "ward,c\n", "doctor,d\n"};
    std::string rows = headers[party];
    for (int i = 0; i < kTuples[party]; ++i) {
      const double a = std::round(500 * std::sin(1.7 * i + party)) / 500, b = std::round(500 * std::cos(2.3 * i)) / 500;
      rows += party == 0 ? fmt::format("{},{},{},{},{}\n", i % 9, (i * i) % 13, a, b, a > b ? 1 : -1)
                         : fmt::format("{},{}\n", i, a);
    }
    const std::string path = (folder_ / (std::string(names[party]) + ".csv")).string();
    EXPECT_TRUE(write_atomically(path, rows));
    return fmt::format("[[party]]\nname = \"{}\"\ndata = \"{}\"\n", names[party], path) +
           (party == 0 ? ""
                       : fmt::format("[[join]]\nleft = [\"stays.{0}\"]\nright = [\"{1}.{0}\"]\n",
                                     party == 1 ? "ward" : "doctor", names[party]));
  }

  [[nodiscard]] static std::vector<double> weights_of(const Outcome& outcome) {
    std::vector<double> all;
    const auto add = [&](const glm::Model& model) {
      all.insert(all.end(), model.weights.begin(), model.weights.end());
      all.insert(all.end(), model.intercepts.begin(), model.intercepts.end());
    };
    if (outcome.parts.empty()) add(outcome.trained.model);
    for (const models::Trained& part : outcome.parts) add(part.model);
    return all;
  }

  TemporaryFolder folder_;
};

std::vector<std::string> everyone() {
  EXPECT_TRUE(kListed);
  return catalog::names();
}

}  // namespace

TEST_P(Conformance, ItsRowSaysWhatItIs) {
  EXPECT_FALSE(row().summary.empty());
  EXPECT_FALSE(row().source.empty());
  EXPECT_NE(static_cast<bool>(row().train), static_cast<bool>(row().federate)) << "of one site or of several parties";
  EXPECT_EQ(static_cast<bool>(row().train), row().partition == jobs::Partition::kSingle);
  EXPECT_EQ(catalog::find(row().name), &row()) << "its name is its own";
}

TEST_P(Conformance, APageIsAboutIt) {
  if (of_these_tests(row())) GTEST_SKIP() << "this one lives in a test only";
  bool found = std::filesystem::exists(PARLEY_SOURCE_DIR "/docs/algorithms/" + row().name + ".md");
  for (const auto& page : std::filesystem::directory_iterator(PARLEY_SOURCE_DIR "/docs/algorithms")) {
    const auto text = read_whole(page.path().string());
    found = found || (text && text->find("`" + row().name + "`") != std::string::npos);
  }
  EXPECT_TRUE(found) << "docs/algorithms has no page with `" << row().name << "`";
}

TEST_P(Conformance, TheSameSeedGivesTheSameModelOnAnyNumberOfThreads) {
  const auto read = job(false);
  ASSERT_TRUE(read) << read.error().message;
  const int before = thread_count();
  set_thread_count(1);
  const auto one = run(*read, {});
  set_thread_count(2);
  const auto two = run(*read, {});
  set_thread_count(before);
  ASSERT_TRUE(one && two);
  const std::vector<double> weights = weights_of(*one);
  EXPECT_FALSE(weights.empty());
  for (const double weight : weights) EXPECT_TRUE(std::isfinite(weight));
  EXPECT_EQ(weights, weights_of(*two));
}

// For whoever answers for the people whose data leave (`parley site explain`). An algorithm of several parties lists what
// leaves in a function of its own, leaves() (algorithms/parts/leaving.h).
TEST_P(Conformance, ItSaysWhatLeavesAParty) {
  for (const bool is_private : {false, true}) {
    if (is_private && !row().can_be_private) continue;
    const auto job = this->job(is_private);
    ASSERT_TRUE(job) << job.error().message;
    const std::string page = explain(*job, {});
    EXPECT_NE(page.find(row().name), std::string::npos);
    EXPECT_NE(page.find(is_private ? "epsilon 4" : "Nothing is claimed"), std::string::npos) << page;
    const catalog::Federation* federation = catalog::federation_of(*job);
    if (federation == nullptr) {
      EXPECT_NE(page.find("Nothing: the table is read and the model made in one place"), std::string::npos);
      continue;
    }
    const auto leaves = federation->leaves(*job);
    EXPECT_FALSE(leaves.empty()) << row().name << " does not say what leaves a party: give it leaves()";
    bool per_person_or_total = false;
    for (const algorithms::Leaving& leaving : leaves) {
      for (const std::string& words : {leaving.what, leaving.to, leaving.when, leaving.protection}) {
        EXPECT_FALSE(words.empty()) << leaving.what;
        EXPECT_NE(page.find(words), std::string::npos) << words;
      }
      per_person_or_total = per_person_or_total || leaving.of != algorithms::Leaving::Of::kPublic;
    }
    EXPECT_TRUE(per_person_or_total) << "something that is made of data leaves, or nothing would be learnt";
  }
}

TEST_P(Conformance, AnUnknownSettingIsAMistake) {
  auto toml = Toml::parse("[job]\npartition = \"" + std::string(jobs::name(row().partition)) +
                              "\"\ntask = \"linear\"\n[algorithm]\nname = \"" + row().name +
                              "\"\nno_such_setting = 1\n[[party]]\nname = \"a\"\n",
                          "conformance");
  ASSERT_TRUE(toml);
  const auto read = catalog::parse_job(std::move(*toml), "conformance", jobs::Paths::kAtSites);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("no_such_setting"), std::string::npos) << read.error().message;
}

TEST_P(Conformance, PrivateRunsClaimAndChargeOrAreRefusedBeforeTheyRead) {
  const auto read = job(true);
  if (!row().can_be_private) {
    ASSERT_FALSE(read);
    EXPECT_NE(read.error().message.find("no private form"), std::string::npos) << read.error().message;
    return;
  }
  ASSERT_TRUE(read) << read.error().message;
  const auto outcome = run(*read, {});
  ASSERT_TRUE(outcome) << outcome.error().message;
  ASSERT_TRUE(outcome->privacy);
  EXPECT_GT(outcome->privacy->epsilon, 0);
  EXPECT_LE(outcome->privacy->epsilon, 4.0 * (1 + 1e-9) * (row().partition == jobs::Partition::kVertical ? 2 : 1));
  EXPECT_GT(outcome->privacy->releases, 0);
  EXPECT_FALSE(outcome->privacy->claimed) << "the noise came from a seed";
  const auto again = run(*read, {});
  ASSERT_FALSE(again) << "the budget is used up";
  EXPECT_EQ(again.error().fault, Fault::kBudgetEnded) << again.error().message;
}

// The transcript of its gates is all that a private model is made of: told the same, an algorithm ends with the same
// model whoever the people are.
TEST_P(Conformance, APrivateModelFollowsFromWhatTheGatesReleased) {
  if (!row().can_be_private) GTEST_SKIP() << "it has no private form";
  const auto open = job(false);
  ASSERT_TRUE(open) << open.error().message;
  const auto ours = run(*open, {}), theirs = run(*open, of_different_people(), {});
  ASSERT_TRUE(ours && theirs);
  ASSERT_NE(weights_of(*ours), weights_of(*theirs)) << "these people differ in nothing that the model sees";
  const auto read = job(true);
  ASSERT_TRUE(read) << read.error().message;
  const auto released = train(*read, catalog::files_of(*read), nullptr);
  ASSERT_TRUE(released) << released.error().message;
  for (const privacy::Transcript& told : released->transcripts) EXPECT_FALSE(told.empty());
  const auto again = train(*read, of_different_people(), &released->transcripts);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->model, released->model);
}

TEST_P(Conformance, ARunThatIsStoppedGoesOnToTheSameModel) {
  if (row().partition == jobs::Partition::kSingle) GTEST_SKIP() << "a run of one site is begun again, not gone on with";
  const auto read = job(false);
  ASSERT_TRUE(read) << read.error().message;
  const auto whole = run(*read, {});
  ASSERT_TRUE(whole) << whole.error().message;
  const catalog::Federation& federation = *catalog::federation_of(*read);
  std::vector<int> numbers;
  for (std::size_t p = 0; p < read->parties.size(); ++p) numbers.push_back(static_cast<int>(p));
  auto tables = federation.read(*read, numbers, catalog::files_of(*read));
  ASSERT_TRUE(tables);
  std::vector<Member> members;
  for (catalog::PartyTable& table : *tables) members.push_back({std::move(table)});
  // Coordinator and parties end after two rounds; they come back to what they kept.
  std::vector<std::unique_ptr<rounds::Responder>> parties(members.size());
  std::optional<Coordinated> ended;
  for (const bool again : {false, true}) {
    std::vector<std::unique_ptr<rounds::Handler>> handlers;
    rounds::Terms terms{.job = "conformance", .checkpoint = (folder_ / "checkpoint").string()};
    for (std::size_t p = 0; p < members.size(); ++p) {
      const rounds::Admit admit = [&, p](const rounds::Opening&) -> Result<rounds::Admission> {
        PARLEY_TRY(rounds::Admission admission, admission_of(*read, members[p]));
        parties[p] = std::move(admission.party);
        admission.party = std::make_unique<rounds::BorrowedParty>(*parties[p]);
        return admission;
      };
      const std::string kept = (folder_ / members[p].table.party).string();
      std::filesystem::create_directories(kept);
      handlers.push_back(std::make_unique<rounds::Handler>(admit, kept));
      terms.parties.push_back(members[p].table.party);
    }
    std::vector<transport::Respond> respond;
    for (const auto& handler : handlers)
      respond.push_back(
          [&handler](std::string_view frame) { return handler->respond(frame, wire::Unchecked::kAllowed); });
    transport::InProcess channel(std::move(respond));
    auto exchange = rounds::Exchange::make(channel, std::move(terms));
    ASSERT_TRUE(exchange) << exchange.error().message;
    auto run = coordinate(*read, *exchange, {[&](const catalog::Seen& seen) { return again || seen.round < 2; }});
    ASSERT_TRUE(run) << run.error().message;
    EXPECT_EQ(run->learnt.stop == algorithms::Stop::kInterrupted, !again);
    ended = std::move(*run);
  }
  EXPECT_EQ(ended->learnt.rounds, whole->fit.iterations);
  std::vector<wire::Bytes> memories;
  for (const auto& party : parties) memories.push_back(party->memory());
  const auto outcome = outcome_of(*read, *ended, memories);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(weights_of(*outcome), weights_of(*whole));
}

INSTANTIATE_TEST_SUITE_P(Catalog, Conformance, ::testing::ValuesIn(everyone()), [](const auto& one) {
  std::string name = one.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});
