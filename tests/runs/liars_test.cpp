// labels: slow
// Parties that say what cannot be true, in their introductions and in their replies: real handlers, a real exchange,
// and one party whose frames are changed on the way. PARLEY_LONG=1 tries a hundred times as many.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <numeric>
#include <random>

#include "parley/algorithms/horizontal/fedavg.h"
#include "parley/algorithms/vertical/admm_sharing.h"
#include "parley/catalog/federation.h"
#include "parley/catalog/method.h"
#include "parley/catalog/read_job.h"
#include "parley/jobs/site.h"
#include "parley/runs/admit.h"
#include "parley/runs/coordinate.h"
#include "parley/runs/member.h"
#include "parley/transport/in_process/in_process.h"
#include "tests/support/temporary_folder.h"

using namespace parley;
using namespace parley::runs;
using algorithms::AdmmSharing;
using algorithms::FedAvg;
using wire::Bytes;
using wire::Kind;

namespace {

constexpr int kRows = 60;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Three parties with records of four columns: numbered (LIBSVM), so that nothing but the party's word says how many.
constexpr const char* kRecords = R"(
[job]
name = "records"
partition = "horizontal"
task = "{task}"
[algorithm]
name = "fedavg"
iterations = 4
local_steps = 2
step = 0.1
[rounds]
{rounds}
)";
// Two parties with columns of the same records.
constexpr const char* kColumns = R"(
[job]
name = "columns"
partition = "vertical"
task = "{task}"
[model]
l2 = 0.05
[algorithm]
name = "admm-sharing"
iterations = 200
tolerance = 1e-6
[labels]
column = "y"
)";

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  if (const auto at = text.find(what); at != std::string::npos) text.replace(at, what.size(), with);
  return text;
}

// A frame as it is, or as the liar would have it.
using Lie = std::function<Bytes(const wire::Frame&)>;

template <class Message>
Bytes changed(const wire::Frame& frame, const std::function<void(Message&)>& change) {
  Message message = *wire::decode<Message>(frame.payload);
  change(message);
  return wire::make_frame(frame.header, message);
}
Lie says_of_itself(std::function<void(jobs::Introduction&)> change) {
  return [change = std::move(change)](const wire::Frame& frame) {
    return frame.header.kind == Kind::kReady ? changed<jobs::Introduction>(frame, change)
                                             : wire::make_frame(frame.header, frame.payload);
  };
}
template <class Reply>
Lie replies(std::function<void(std::int64_t round, Reply&)> change) {
  return [change = std::move(change)](const wire::Frame& frame) {
    if (frame.header.kind != Kind::kReply) return wire::make_frame(frame.header, frame.payload);
    return changed<Reply>(frame, [&](Reply& reply) { change(frame.header.round, reply); });
  };
}

// The largest the process has been, in MB.
double most_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::stod(line.substr(6)) / 1024;
  return 0;
}

class Liars : public ::testing::Test {
 protected:
  void SetUp() override {
    std::mt19937_64 dice(5);
    std::normal_distribution<double> normal;
    for (const char* name : {"a", "b", "c"}) {
      std::ofstream table(folder_ / (std::string(name) + ".libsvm"));
      for (int i = 0; i < kRows; ++i) {
        const double x[] = {normal(dice), normal(dice), normal(dice), normal(dice)};
        table << (x[0] - x[1] > 0 ? 1 : -1);
        for (int j = 0; j < 4; ++j) table << " " << j + 1 << ":" << x[j];
        table << "\n";
      }
    }
    std::ofstream left(folder_ / "left.csv"), right(folder_ / "right.csv");
    left << "age,dose,y\n";
    right << "cost,visits\n";
    for (int i = 0; i < kRows; ++i) {
      const double x[] = {normal(dice), normal(dice), normal(dice), normal(dice)};
      left << x[0] << "," << x[1] << "," << (x[0] + x[2] > 0 ? 1 : -1) << "\n";
      right << x[2] << "," << x[3] << "\n";
    }
  }

  jobs::Job job(const std::string& text, const std::vector<std::string>& overrides = {}) const {
    std::ofstream(folder_ / "job.toml") << text;
    auto read = catalog::read_job((folder_ / "job.toml").string(), overrides);
    EXPECT_TRUE(read) << (read ? "" : read.error().message);
    return *read;
  }
  jobs::Job records_job(const std::string& rounds = "", const std::vector<std::string>& overrides = {},
                        const std::string& task = "logistic") const {
    std::string text = replaced(replaced(kRecords, "{rounds}", rounds), "{task}", task);
    for (const char* name : {"a", "b", "c"})
      text += std::string("[[party]]\nname = \"") + name + "\"\ndata = \"" + name + ".libsvm\"\n";
    return job(text, overrides);
  }
  jobs::Job columns_job(const std::vector<std::string>& overrides = {}, const std::string& task = "logistic") const {
    std::string text = replaced(kColumns, "{task}", task);
    for (const char* name : {"left", "right"})
      text += std::string("[[party]]\nname = \"") + name + "\"\ndata = \"" + name + ".csv\"\n";
    return job(text, overrides);
  }

  // The run of the job with these liars among its parties, by number.
  Result<runs::Coordinated> run(const jobs::Job& job, const std::map<int, Lie>& liars = {},
                                const std::string& checkpoint = "", std::int64_t until = 0) {
    std::vector<int> everyone(job.parties.size());
    std::iota(everyone.begin(), everyone.end(), 0);
    PARLEY_TRY(std::vector<catalog::PartyTable> tables,
               catalog::federation_of(job)->read(job, everyone, catalog::files_of(job)));
    std::vector<Member> members;
    for (catalog::PartyTable& table : tables) members.push_back({std::move(table)});
    std::vector<std::unique_ptr<rounds::Handler>> handlers;
    std::vector<transport::Respond> respond;
    rounds::Terms terms{.job = "job", .rules = job.rules, .checkpoint = checkpoint};
    said_.clear();
    terms.notice = [this](const rounds::Event& event) { said_ += in_words(event) + "\n"; };
    for (std::size_t p = 0; p < tables.size(); ++p) {
      terms.parties.push_back(job.parties[p].name);
      const Member& member = members[p];
      handlers.push_back(
          std::make_unique<rounds::Handler>([&](const rounds::Opening&) { return admission_of(job, member); }, ""));
      const auto lie = liars.find(static_cast<int>(p));
      respond.push_back([handler = handlers.back().get(), lie = lie == liars.end() ? Lie{} : lie->second](
                            std::string_view frame) -> std::optional<transport::SharedFrame> {
        auto answer = handler->respond(frame, wire::Unchecked::kAllowed);
        if (!answer || !lie) return answer;
        return transport::shared(lie(*wire::read_frame(**answer, wire::kDefaultLimit, wire::Unchecked::kAllowed)));
      });
    }
    transport::InProcess channel(std::move(respond));
    PARLEY_TRY(rounds::Exchange exchange, rounds::Exchange::make(channel, std::move(terms)));
    return coordinate(job, exchange, {[&](const catalog::Seen& seen) { return until == 0 || seen.round < until; }});
  }

  // Names the liar, as a failure of the run; nothing of it is believed. Where the job may proceed, the others do.
  void expect_found(const Lie& lie, const std::string& because, const std::vector<std::string>& overrides = {}) {
    const auto ended = run(records_job("", overrides), {{1, lie}});
    ASSERT_FALSE(ended) << because;
    EXPECT_EQ(ended.error().exit_code(), 1) << ended.error().message;
    EXPECT_NE(ended.error().message.find("party 'b'"), std::string::npos) << ended.error().message;
    EXPECT_NE(ended.error().message.find("cannot be used"), std::string::npos) << ended.error().message;
    EXPECT_NE(ended.error().message.find(because), std::string::npos) << ended.error().message;
    const auto proceeds = run(records_job(kProceed, overrides), {{1, lie}});
    ASSERT_TRUE(proceeds) << proceeds.error().message;
    EXPECT_EQ(proceeds->learnt.rounds, 4);
    EXPECT_NE(said_.find("the run goes on without it"), std::string::npos) << said_;
    EXPECT_EQ(proceeds->learnt.parameters, without_b(overrides)) << because;
  }
  // What a and c learn by themselves.
  const std::vector<double>& without_b(const std::vector<std::string>& overrides) {
    if (const auto known = without_b_.find(overrides); known != without_b_.end()) return known->second;
    const jobs::Job two = records_job(kProceed, overrides);
    const auto learnt = run(two, {{1, [](const wire::Frame& frame) {
                                     return wire::make_frame({Kind::kFault, 3, frame.header.run, 0});
                                   }}});
    EXPECT_TRUE(learnt);
    return without_b_[overrides] = learnt ? learnt->learnt.parameters : std::vector<double>{};
  }

  static constexpr const char* kProceed = "on_missing = \"proceed\"\ndeadline_seconds = 60\nquorum = 2\n";
  TemporaryFolder folder_;
  std::string said_;
  std::map<std::vector<std::string>, std::vector<double>> without_b_;
};

const char* const kCannot = "introduced itself in a way that cannot be used";

}  // namespace

TEST_F(Liars, NoNumberOfAnIntroductionIsBelievedThatTheRestContradicts) {
  const double before = most_memory();
  const std::vector<std::pair<std::string, std::function<void(jobs::Introduction&)>>> lies = {
      {"2147483647 columns",
       [](jobs::Introduction& said) { said.column_count = std::numeric_limits<int>::max(), said.first_number = 0; }},
      {"columns from number 1 to 2147483647",
       [](jobs::Introduction& said) { said.column_count = std::numeric_limits<int>::max(); }},
      {"more than are taken on a party's word", [](jobs::Introduction& said) { said.column_count = 1 << 25; }},
      {"0 columns", [](jobs::Introduction& said) { said.column_count = 0; }},
      {"-1 columns", [](jobs::Introduction& said) { said.column_count = -1; }},
      {"and the names of 3",
       [](jobs::Introduction& said) {
         said.columns = {"p", "q", "r"};
       }},
      {"and the names of 5",
       [](jobs::Introduction& said) {
         said.columns = {"p", "q", "r", "s", "t"};
       }},
      {"no text",
       [](jobs::Introduction& said) {
         said.columns = {"p", "q", "r", "\xff"};
       }},
      {"columns from number -1", [](jobs::Introduction& said) { said.first_number = -1; }},
      {"columns from number 2147483647",
       [](jobs::Introduction& said) { said.first_number = std::numeric_limits<int>::max(); }},
      {"and the bounds of 1", [](jobs::Introduction& said) { said.bounds = {1}; }},
      {"and the scales of 1", [](jobs::Introduction& said) { said.scales = {1}; }},
      {"and the centers of 5",
       [](jobs::Introduction& said) {
         said.centers = {1, 1, 1, 1, 1};
       }},
      {"a bound below 0",
       [](jobs::Introduction& said) {
         said.bounds = {1, 1, 1, -1};
       }},
      {"not above 0",
       [](jobs::Introduction& said) {
         said.scales = {1, 1, 1, 0};
       }},
      {"not those of its bounds",
       [](jobs::Introduction& said) {
         said.scales = {1, 1, 1, 2};
       }},
      {"not those of its bounds",
       [](jobs::Introduction& said) {
         said.bounds = {1, 1, 1, 2};
       }},
      {"centers of columns that have none",
       [](jobs::Introduction& said) {
         said.centers = {1, 1, 1, 1};
       }},
      {"a norm of rows", [](jobs::Introduction& said) { said.row_norm = -1; }},
      {"a norm of rows",
       [](jobs::Introduction& said) {
         said.bounds = {1, 1, 1, 1}, said.row_norm = 2.1;
       }},
      {"a number beyond 1e100", [](jobs::Introduction& said) { said.row_norm = 1e101; }},
      {"0 records", [](jobs::Introduction& said) { said.rows = 0; }},
      {"-1 records", [](jobs::Introduction& said) { said.rows = -1; }},
      {"2147483648 records", [](jobs::Introduction& said) { said.rows = std::int64_t{1} << 31; }},
      {"4611686018427387904 records", [](jobs::Introduction& said) { said.rows = std::int64_t{1} << 62; }},
      {"1 classes of a task with two", [](jobs::Introduction& said) { said.classes = {"1"}; }},
      {"3 classes of a task with two",
       [](jobs::Introduction& said) {
         said.classes = {"1", "2", "3"};
       }},
      {"classes that are no text, or the same",
       [](jobs::Introduction& said) {
         said.classes = {"1", "1"};
       }},
      {"holds no labels", [](jobs::Introduction& said) { said.labels = false; }},
      {"a schema that cannot be read", [](jobs::Introduction& said) { said.schema = "[["; }},
      {"a schema of 2147483647",
       [](jobs::Introduction& said) { said.schema = "[table]\nformat = \"libsvm\"\nfeatures = 2147483647\n"; }},
      {"a schema of 16777217 bytes", [](jobs::Introduction& said) { said.schema.assign((1 << 24) + 1, '['); }},
      {"and the run is not private", [](jobs::Introduction& said) { said.plan = "{}"; }},
      {"and the run is not private", [](jobs::Introduction& said) { said.epsilon = 1; }},
      {"another name", [](jobs::Introduction& said) { said.party = "a"; }},
  };
  for (const auto& [because, lie] : lies) {
    expect_found(says_of_itself(lie), because);
  }
  for (const double value : {kInfinity, -kInfinity, kNan})
    expect_found(says_of_itself([=](jobs::Introduction& said) { said.row_norm = value; }), "not finite");
  EXPECT_LT(most_memory() - before, 300);
}

TEST_F(Liars, ANumberOfColumnsIsHeldAgainstTheOneThatTheJobStates) {
  const std::vector<std::string> stated = {"data.features=4"};
  EXPECT_TRUE(run(records_job("", stated)));
  for (const int columns : {1, 3, 5, 1 << 20})
    expect_found(says_of_itself([=](jobs::Introduction& said) { said.column_count = columns; }), "data.features says 4",
                 stated);
}

TEST_F(Liars, AllPartiesTogetherGetNoMoreRoomThanTheJobStates) {
  const double before = most_memory();
  const Lie wide =
      says_of_itself([](jobs::Introduction& said) { said.column_count = std::numeric_limits<int>::max() - 1; });
  EXPECT_FALSE(run(records_job(), {{0, wide}, {1, wide}, {2, wide}}));
  // A million classes of a million columns, each with its name, are a few megabytes.
  const Lie many = says_of_itself([](jobs::Introduction& said) {
    said.classes.clear();
    for (int k = 0; k < 1 << 18; ++k) said.classes.push_back(std::to_string(k));
    said.column_count = 1 << 20;
  });
  const auto classes = run(records_job("", {}, "softmax"), {{0, many}, {1, many}, {2, many}});
  ASSERT_FALSE(classes);
  EXPECT_NE(classes.error().message.find("labels.classes can state them"), std::string::npos)
      << classes.error().message;
  EXPECT_LT(most_memory() - before, 300);
}

// What could be true by itself, and is not what the others say.
TEST_F(Liars, WhoContradictsMostOfTheOthersIsLeftOutWhereARunMayProceed) {
  const std::vector<std::function<void(jobs::Introduction&)>> lies = {
      [](jobs::Introduction& said) { said.column_count = 1 << 20; },
      [](jobs::Introduction& said) {
        said.columns = {"p", "q", "r", "s"};
      },
      [](jobs::Introduction& said) {
        said.classes = {"yes", "no"};
      }};
  const double before = most_memory();
  for (const auto& lie : lies) {
    const auto ended = run(records_job(), {{1, says_of_itself(lie)}});
    ASSERT_FALSE(ended);
    EXPECT_NE(ended.error().message.find("party.b: has other"), std::string::npos) << ended.error().message;
    const auto proceeds = run(records_job(kProceed), {{1, says_of_itself(lie)}});
    ASSERT_TRUE(proceeds) << proceeds.error().message;
    EXPECT_EQ(proceeds->left_out, std::vector<std::string>{"b"});
    EXPECT_EQ(proceeds->learnt.parameters, without_b({}));
    EXPECT_FALSE(
        run(records_job(kProceed),
            {{0, says_of_itself(lie)}, {1, says_of_itself([](jobs::Introduction& said) { said.column_count = 5; })}}))
        << "three parties, three opinions";
    const auto first = run(records_job(kProceed), {{0, says_of_itself(lie)}});
    ASSERT_TRUE(first) << "the first is nobody special: " << first.error().message;
    EXPECT_EQ(first->left_out, std::vector<std::string>{"a"});
  }
  EXPECT_LT(most_memory() - before, 300);
}

TEST_F(Liars, ACheckpointIsNotBelievedEither) {
  const std::string checkpoint = (folder_ / "checkpoint").string();
  ASSERT_TRUE(run(records_job(), {}, checkpoint, 2));
  auto kept = **rounds::load_checkpoint(checkpoint);
  jobs::Introduction said = *wire::decode<jobs::Introduction>(kept.introductions[1]);
  said.column_count = std::numeric_limits<int>::max();
  kept.introductions[1] = wire::encode(said);
  ASSERT_TRUE(rounds::save(kept, checkpoint));
  const auto again = run(records_job(), {}, checkpoint);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().message.find(std::string("party 'b' ") + kCannot), 0U) << again.error().message;
}

TEST_F(Liars, TheWeightOfAPartyIsTheNumberOfRecordsThatItIntroduced) {
  for (const std::int64_t records :
       {std::int64_t{1} << 62, std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min(),
        std::int64_t{-1}, std::int64_t{0}, std::int64_t{kRows + 1}, std::int64_t{1}})
    expect_found(replies<FedAvg::Reply>([=](std::int64_t, FedAvg::Reply& reply) { reply.records = records; }),
                 "is not the one that the party introduced itself with");
}

TEST_F(Liars, AReplyOfAnotherSizeOrWithNumbersBeyondTheBoundIsTheFaultOfItsParty) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{3}, std::size_t{5}, std::size_t{1} << 20})
    expect_found(replies<FedAvg::Reply>([=](std::int64_t, FedAvg::Reply& reply) { reply.parameters.resize(size); }),
                 "it does not have as many parameters as the task");
  for (const double value : {1e101, -1e308, 1.7e308})
    expect_found(replies<FedAvg::Reply>([=](std::int64_t, FedAvg::Reply& reply) { reply.parameters[2] = value; }),
                 "beyond rounds.largest_value");
  for (const double value : {kInfinity, -kInfinity, kNan})
    expect_found(replies<FedAvg::Reply>([=](std::int64_t, FedAvg::Reply& reply) { reply.parameters[2] = value; }),
                 "not finite");
  expect_found(replies<FedAvg::Reply>([](std::int64_t, FedAvg::Reply& reply) { reply.parameters[2] = 1001; }),
               "beyond rounds.largest_value", {"rounds.largest_value=1000"});
}

// In a run of parties with columns nobody can be missed: it ends, and says whose fault that is.
TEST_F(Liars, ValuesThatNoColumnsCouldGiveAreNamedAndNeverConverge) {
  const jobs::Job job = columns_job();
  const auto honest = run(job);
  ASSERT_TRUE(honest) << honest.error().message;
  ASSERT_EQ(honest->learnt.stop, algorithms::Stop::kConverged) << "else the test says nothing";
  const double before = most_memory();
  const std::vector<std::function<void(std::int64_t, AdmmSharing::Reply&)>> lies = {
      [](std::int64_t, AdmmSharing::Reply& reply) { std::fill(reply.values.begin(), reply.values.end(), 1e100); },
      [](std::int64_t, AdmmSharing::Reply& reply) { std::fill(reply.values.begin(), reply.values.end(), 1e90); },
      [](std::int64_t, AdmmSharing::Reply& reply) { std::fill(reply.values.begin(), reply.values.end(), 1e12); },
      [](std::int64_t, AdmmSharing::Reply& reply) { std::fill(reply.values.begin(), reply.values.end(), -1e3); },
      [](std::int64_t, AdmmSharing::Reply& reply) { reply.values[7] = 1e90; },
      [](std::int64_t round, AdmmSharing::Reply& reply) { reply.values[0] += round < 5 ? 0 : 1e6; },
      [](std::int64_t, AdmmSharing::Reply& reply) { reply.values.push_back(0); },
      [](std::int64_t, AdmmSharing::Reply& reply) { reply.values.clear(); },
      [](std::int64_t, AdmmSharing::Reply& reply) { reply.values.resize(1 << 22, 0.0); },
  };
  for (std::size_t i = 0; i < lies.size(); ++i) {
    // The party without labels lies in every round but the first, where it has nothing to say.
    const auto ended = run(job, {{1, replies<AdmmSharing::Reply>([&, i](std::int64_t round, AdmmSharing::Reply& reply) {
                                    if (round > 1) lies[i](round, reply);
                                  })}});
    ASSERT_FALSE(ended) << i;
    EXPECT_EQ(ended.error().exit_code(), 1);
    EXPECT_NE(ended.error().message.find("the reply of party 'right' cannot be used"), std::string::npos)
        << ended.error().message;
  }
  EXPECT_LT(most_memory() - before, 300);
}

TEST_F(Liars, LabelsAreThePartysThatHoldsThemOneForEachRecordAndClasses) {
  const jobs::Job job = columns_job();
  const auto with = [&](int party, std::function<void(std::vector<double>&)> lie) {
    const auto ended =
        run(job, {{party, replies<AdmmSharing::Reply>([&](std::int64_t round, AdmmSharing::Reply& reply) {
                     if (round == 1) lie(reply.values);
                   })}});
    return ended ? "believed" : ended.error().message;
  };
  const std::string left = "round 1: the reply of party 'left' cannot be used: ",
                    right = "round 1: the reply of party 'right' cannot be used: ";
  EXPECT_EQ(with(0, [](auto& labels) { labels.clear(); }),
            left + "it does not have one label per record that the party introduced");
  EXPECT_EQ(with(0, [](auto& labels) { labels.resize(1 << 22, 1.0); }),
            left + "it does not have one label per record that the party introduced");
  for (const double label : {0.0, 2.0, 1e99, -1e-300})
    EXPECT_EQ(with(0, [&](auto& labels) { labels[3] = label; }), left + "it holds labels that are not classes");
  EXPECT_EQ(with(1, [](auto& labels) { labels.assign(kRows, 1.0); }),
            right + "it holds labels, which are another party's");
}

TEST_F(Liars, WhoHoldsLabelsAndHowManyRecordsThereAreIsHeldAgainstTheJobAndTheOthers) {
  const jobs::Job job = columns_job();
  const auto with = [&](int party, const std::function<void(jobs::Introduction&)>& lie) {
    const auto ended = run(job, {{party, says_of_itself(lie)}});
    return ended ? "believed" : ended.error().message;
  };
  EXPECT_NE(with(1, [](jobs::Introduction& said) { said.labels = true; }).find("party 'right' introduced itself"),
            std::string::npos);
  EXPECT_NE(with(0, [](jobs::Introduction& said) { said.labels = false; }).find("party 'left' introduced itself"),
            std::string::npos);
  EXPECT_NE(with(1,
                 [](jobs::Introduction& said) {
                   said.classes = {"1", "2"};
                 })
                .find("party 'right' introduced itself"),
            std::string::npos);
  EXPECT_NE(with(1, [](jobs::Introduction& said) { said.rows = std::numeric_limits<int>::max(); })
                .find("party.right: has 2,147,483,647 records"),
            std::string::npos);
}

// Where the number of records is private, a party says the one that the job states, or none; its replies say the same.
TEST_F(Liars, WhatAPrivateRunStatesAndWhatItWouldCostIsHeldAgainstTheJob) {
  const auto flaw = [&](const std::vector<std::string>& overrides,
                        const std::function<void(jobs::Introduction&)>& lie) -> std::string {
    std::vector<std::string> settings = {"privacy.epsilon=1", "data.features=4", "data.bound=3", "algorithm.clip=0.5"};
    settings.insert(settings.end(), overrides.begin(), overrides.end());
    const jobs::Job job = records_job("", settings);
    privacy::Plan plan{job.privacy->neighbours, {{privacy::Gaussian{40, 1}, 4}}};
    jobs::Introduction said{.party = "b", .rows = kRows, .row_norm = 2, .column_count = 4, .first_number = 1};
    said.bounds.assign(4, 3.0);
    said.scales.assign(4, 1.0 / 3.0);
    said.labels = true;
    said.classes = {"-1", "1"};
    said.schema = "[table]\nformat = \"libsvm\"\n";
    said.plan = privacy::to_json(plan);
    said.epsilon = 0.9;
    said.delta = 1e-6;
    said.derivative_bound = 1;
    lie(said);
    const auto fine = catalog::federation_of(job)->check_one(job, 1, said);
    return fine ? "" : fine.error().message;
  };
  const auto truth = [](jobs::Introduction&) {};
  const std::vector<std::string> replaces = {"privacy.delta=1e-6"},
                                 adds = {"privacy.delta=1e-6", "privacy.neighbours=add-remove", "privacy.records=50"},
                                 clients = {"privacy.delta=1e-6", "privacy.unit=client"};
  EXPECT_EQ(flaw(replaces, truth), "");
  EXPECT_EQ(flaw(adds, truth), "60 records, and the job states 50 for it") << "n itself must not be believed, nor said";
  EXPECT_EQ(flaw(adds, [](jobs::Introduction& said) { said.rows = 50; }), "");
  EXPECT_EQ(flaw(clients, truth), "a number of records, and a client says none");
  EXPECT_EQ(flaw(clients, [](jobs::Introduction& said) { said.rows = 0; }), "");
  EXPECT_EQ(flaw({}, [](jobs::Introduction& said) { said.rows = 1; }), "one record, and privacy.delta is not given");
  EXPECT_EQ(flaw(replaces, [](jobs::Introduction& said) { said.epsilon = 1.1; }), "a charge above the job's epsilon");
  EXPECT_EQ(flaw(replaces, [](jobs::Introduction& said) { said.epsilon = -1; }), "a charge above the job's epsilon");
  EXPECT_EQ(flaw(replaces, [](jobs::Introduction& said) { said.delta = 2e-6; }), "a charge above the job's delta");
  EXPECT_EQ(flaw(replaces, [](jobs::Introduction& said) { said.delta = 1; }), "a charge above the job's delta");
  EXPECT_EQ(flaw({"privacy.derivative_bound=2"}, truth), "a bound of derivatives that is not the job's");
  EXPECT_EQ(flaw(replaces, [](jobs::Introduction& said) { said.row_norm = 2.001; }),
            "a norm of rows that its bounds do not allow");
  const std::string none = "it does not say what a private run would charge it";
  EXPECT_EQ(flaw(replaces, [](jobs::Introduction& said) { said.plan = ""; }), none);
  EXPECT_EQ(flaw(replaces,
                 [](jobs::Introduction& said) {
                   said.plan = R"({"neighbours":"add-remove","events":[{"mechanism":"pure","epsilon":1,"count":1}]})";
                 }),
            none);
  EXPECT_EQ(flaw(replaces, [](jobs::Introduction& said) { said.plan = R"({"neighbours":"replace-one","events":[]})"; }),
            none);
  EXPECT_EQ(flaw(replaces, [](jobs::Introduction& said) { said.plan.assign((1 << 20) + 1, '['); }),
            "a plan of 1048577 bytes");
}

// Random lies of extreme numbers: whatever is said, memory is bounded, and a run that ends names the liar and nobody
// else.
TEST_F(Liars, WhateverIsSaidMemoryIsBoundedAndTheLiarIsNamed) {
  const double before = most_memory();
  std::mt19937_64 dice(17);
  const auto pick = [&](const auto& of) { return of[dice() % std::size(of)]; };
  const std::vector<double> numbers = {0,     -0.0,  -1,     1,      2147483647.0, 0x1p62,     1e99, 1e100,
                                       1e101, 1e308, -1e308, 5e-324, kInfinity,    -kInfinity, kNan};
  const std::vector<std::int64_t> wholes = {0,
                                            -1,
                                            1,
                                            kRows,
                                            std::int64_t{1} << 31,
                                            (std::int64_t{1} << 31) - 1,
                                            std::int64_t{1} << 62,
                                            std::numeric_limits<std::int64_t>::max(),
                                            std::numeric_limits<std::int64_t>::min()};
  const std::vector<int> counts = {
      0, -1, 1, 4, 5, 1 << 20, 1 << 24, std::numeric_limits<int>::max(), std::numeric_limits<int>::min()};
  const std::vector<std::size_t> sizes = {0, 1, 3, 4, 5, 1000, 1 << 18};
  const auto introduction = [&](jobs::Introduction& said) {
    const std::vector<std::function<void()>> changes = {
        [&] { said.rows = pick(wholes); },
        [&] { said.alignment = pick(wholes); },
        [&] { said.row_norm = pick(numbers); },
        [&] { said.column_count = pick(counts); },
        [&] { said.first_number = pick(counts); },
        [&] { said.columns.resize(pick(sizes), "x"); },
        [&] { said.bounds.assign(pick(sizes), pick(numbers)); },
        [&] { said.scales.assign(pick(sizes), pick(numbers)); },
        [&] { said.centers.assign(pick(sizes), pick(numbers)); },
        [&] { said.classes.assign(pick(sizes), "one"); },
        [&] { said.epsilon = pick(numbers), said.delta = pick(numbers), said.derivative_bound = pick(numbers); },
    };
    for (std::uint64_t more = 1 + dice() % 3; more > 0; --more) pick(changes)();
  };
  const int tries = std::getenv("PARLEY_LONG") != nullptr ? 10000 : 100;
  int found = 0;
  for (int i = 0; i < tries; ++i) {
    const bool proceeds = dice() % 2 == 0;
    const bool by_columns = dice() % 3 == 0;
    const bool in_reply = dice() % 2 == 0;
    const jobs::Job job = by_columns ? columns_job() : records_job(proceeds ? kProceed : "");
    const int liar = static_cast<int>(dice() % job.parties.size());
    Lie lie = says_of_itself(introduction);
    if (in_reply && by_columns)
      lie = replies<AdmmSharing::Reply>([&](std::int64_t, AdmmSharing::Reply& reply) {
        if (dice() % 2 == 0) reply.values.resize(pick(sizes));
        for (double& value : reply.values) value = dice() % 4 == 0 ? pick(numbers) : value;
      });
    else if (in_reply)
      lie = replies<FedAvg::Reply>([&](std::int64_t, FedAvg::Reply& reply) {
        if (dice() % 2 == 0) reply.records = pick(wholes);
        if (dice() % 2 == 0) reply.parameters.resize(pick(sizes));
        for (double& value : reply.parameters) value = dice() % 4 == 0 ? pick(numbers) : value;
      });
    const auto ended = run(job, {{liar, lie}});
    if (ended) {
      for (const double parameter : ended->learnt.parameters) EXPECT_LE(std::abs(parameter), 1e100);
      continue;
    }
    ++found;
    // Of two introductions that contradict each other nobody knows which is true: then both are named.
    EXPECT_NE(ended.error().message.find(job.parties[static_cast<std::size_t>(liar)].name), std::string::npos)
        << ended.error().message;
    EXPECT_NE(ended.error().exit_code(), 3) << ended.error().message;
  }
  EXPECT_GT(found, tries / 3) << "else the test says nothing";
  EXPECT_LT(most_memory() - before, 600);
}

namespace {

constexpr wire::RunId kRun{4, 2};

// A site that answers jobs without privacy, asked by a coordinator that keeps no promise.
class Asked : public Liars {
 protected:
  jobs::Site site(const std::string& name, const std::string& data, bool public_labels) {
    jobs::Site made{.file = "site.toml",
                    .name = name,
                    .state = (folder_ / ("state-" + name)).string(),
                    .data = (folder_ / data).string()};
    made.limits.without_privacy = true;
    made.limits.public_labels = public_labels;
    std::filesystem::create_directories(made.state);
    return made;
  }
  rounds::Handler handler(const jobs::Site& site) {
    return {[site](const rounds::Opening& opening) { return admit(site, opening, [](const std::string&) {}); },
            site.state, [this](const rounds::SiteEvent& event) { said_ += in_words(event) + "\n"; }};
  }
  wire::Header open(rounds::Handler& handler) {
    const jobs::JobText text{"job.toml", contents(folder_ / "job.toml"), {}};
    return wire::read_frame(**handler.respond(wire::make_frame({.kind = Kind::kOpen, .run = kRun}, wire::encode(text))))
        ->header;
  }
  template <class Task>
  wire::Header ask(rounds::Handler& handler, std::int64_t round, const Task& task) {
    return wire::read_frame(
               **handler.respond(wire::make_frame({.kind = Kind::kTask, .run = kRun, .round = round}, task)))
        ->header;
  }
};

}  // namespace

TEST_F(Asked, ASiteAnswersTheRoundsThatTheJobPromisedAndNoMore) {
  records_job();
  rounds::Handler site = handler(this->site("b", "b.libsvm", false));
  ASSERT_EQ(open(site).kind, Kind::kReady) << said_;
  int answered = 0;
  for (std::int64_t round = 1; round <= 200; ++round) {
    const wire::Header header =
        ask(site, round, FedAvg::Task{0, 0.1, std::vector<double>(4, 0.01 * static_cast<double>(round))});
    answered += header.kind == Kind::kReply ? 1 : 0;
    if (header.kind != Kind::kReply) {
      EXPECT_EQ(header.kind, Kind::kFault);
      EXPECT_EQ(header.code, static_cast<std::uint8_t>(privacy::FaultCode::kNotAllowed));
    }
  }
  EXPECT_EQ(answered, 4);
  EXPECT_NE(said_.find("the job promises 4 rounds"), std::string::npos) << said_;
  // Nor does one that is started again.
  rounds::Handler again = handler(this->site("b", "b.libsvm", false));
  ASSERT_EQ(open(again).kind, Kind::kReady);
  EXPECT_EQ(ask(again, 201, FedAvg::Task{0, 0.1, std::vector<double>(4, 0.5)}).kind, Kind::kFault);
}

TEST_F(Asked, ASiteWithColumnsAnswersAsManyTargetsAsTheJobHasIterationsAndTellsItsLabelsOnce) {
  columns_job();
  rounds::Handler site = handler(this->site("left", "left.csv", true));
  ASSERT_EQ(open(site).kind, Kind::kReady) << said_;
  EXPECT_EQ(ask(site, 1, AdmmSharing::Task{}).kind, Kind::kReply);
  EXPECT_EQ(ask(site, 2, AdmmSharing::Task{}).kind, Kind::kFault) << "once";
  std::mt19937_64 dice(3);
  std::normal_distribution<double> normal;
  const auto target = [&] {
    AdmmSharing::Task task{.phase = AdmmSharing::kTarget, .rho = 1, .target = std::vector<double>(kRows)};
    for (double& value : task.target) value = normal(dice);
    return task;
  };
  int answered = 0;
  for (std::int64_t round = 2; round <= 250; ++round)
    answered += ask(site, round, target()).kind == Kind::kReply ? 1 : 0;
  EXPECT_EQ(answered, 200);
  EXPECT_EQ(ask(site, 251, AdmmSharing::Task{}).kind, Kind::kFault);

  // One that asks for no labels gets no target more for it, and no labels afterwards; a restart forgets nothing.
  rounds::Handler greedy = handler(this->site("right", "right.csv", false));
  ASSERT_EQ(open(greedy).kind, Kind::kReady) << said_;
  answered = 0;
  for (std::int64_t round = 1; round <= 199; ++round)
    answered += ask(greedy, round, target()).kind == Kind::kReply ? 1 : 0;
  EXPECT_EQ(ask(greedy, 200, AdmmSharing::Task{}).kind, Kind::kFault) << "labels come first";
  rounds::Handler again = handler(this->site("right", "right.csv", false));
  ASSERT_EQ(open(again).kind, Kind::kReady) << said_;
  for (std::int64_t round = 200; round <= 250; ++round)
    answered += ask(again, round, target()).kind == Kind::kReply ? 1 : 0;
  EXPECT_EQ(answered, 200);
}

TEST_F(Asked, NoLabelLeavesASiteThatDoesNotAllowItWithPrivacyOrWithout) {
  columns_job();
  rounds::Handler keeps = handler(site("left", "left.csv", false));
  const wire::Header refused = open(keeps);
  EXPECT_EQ(refused.kind, Kind::kFault);
  EXPECT_EQ(refused.code, static_cast<std::uint8_t>(privacy::FaultCode::kNotAllowed));
  EXPECT_NE(said_.find("limits.public_labels"), std::string::npos) << said_;
  EXPECT_NE(ask(keeps, 1, AdmmSharing::Task{}).kind, Kind::kReply);
  rounds::Handler tells = handler(site("left", "left.csv", true));
  EXPECT_EQ(open(tells).kind, Kind::kReady) << said_;
  rounds::Handler has_none = handler(site("right", "right.csv", false));
  EXPECT_EQ(open(has_none).kind, Kind::kReady) << said_;
  // Parties with records keep their labels, and all parties of one process are the user's own.
  records_job();
  rounds::Handler records = handler(site("b", "b.libsvm", false));
  EXPECT_EQ(open(records).kind, Kind::kReady) << said_;
  EXPECT_TRUE(run(columns_job()));
}
