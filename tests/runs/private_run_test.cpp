// labels: slow
// A site of a private run, stopped between any two of its steps and started again
// (privacy/ledger/resuming.md).
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "parley/algorithms/horizontal/fed_iter_ht.h"
#include "parley/catalog/read_job.h"
#include "parley/core/files.h"
#include "parley/jobs/introduction.h"
#include "parley/runs/admit.h"
#include "parley/wire/decode.h"
#include "parley/wire/encode.h"
#include "tests/support/temporary_folder.h"

using namespace parley;
using namespace parley::runs;
using algorithms::FedIterHt;
using privacy::FaultCode;
using wire::Bytes;
using wire::Kind;

namespace {

constexpr wire::RunId kRun{4, 2};
constexpr int kRounds = 4;

constexpr const char* kSchema = R"(
[[column]]
name = "age"
type = "integer"
lower = 0
upper = 100
[[column]]
name = "dose"
type = "number"
bound = 2
[[column]]
name = "y"
type = "label"
levels = ["0", "1"]
)";

constexpr const char* kJob = R"(
[job]
name = "test"
partition = "horizontal"
task = "logistic"
[model]
sparsity = 1
[algorithm]
name = "fed-iter-ht"
iterations = 4
local_steps = 2
batch = 40
step = 0.5
[privacy]
epsilon = 1.0
delta = 1e-5
[labels]
column = "y"
[[party]]
name = "site"
[[party]]
name = "other"
)";

struct Killed {};

// Where the process ends, as seen from what it has written by then.
enum class Point { kBeforeKeeping, kBeforeMarking, kBeforeSending, kAfterSending };

class PrivateRun : public ::testing::Test {
 protected:
  void SetUp() override {
    write_table(400);
    std::ofstream(folder_ / "schema.toml") << kSchema;
    std::filesystem::create_directories(folder_ / "state");
    site_.file = "site.toml";
    site_.name = "site";
    site_.state = (folder_ / "state").string();
    site_.ledger = (folder_ / "ledger").string();
    site_.data = (folder_ / "data.csv").string();
    site_.schema = (folder_ / "schema.toml").string();
    budget(1.0, 1e-5);
  }
  void write_table(int rows) {
    std::ofstream table(folder_ / "data.csv");
    table << "age,dose,y\n";
    for (int i = 0; i < rows; ++i) table << 20 + i % 60 << "," << (i % 7) * 0.25 << "," << (i % 3 == 0 ? 1 : 0) << "\n";
  }
  void budget(double epsilon, double delta) {
    site_.limits.budget = {*privacy::Epsilon::make(epsilon), *privacy::Delta::make(delta),
                           privacy::Composition::kPlans};
  }
  void with_seed() {
    site_.limits.without_privacy = true;
    overrides_ = {"algorithm.seed=7"};
  }

  // A new process at the site. Ends at `point` of the round `round`.
  rounds::Handler process(int round = 0, Point point = Point::kAfterSending) {
    const auto admit = [this, round, point](const rounds::Opening& opening) -> Result<rounds::Admission> {
      PARLEY_TRY(rounds::Admission admission,
                 runs::admit(site_, opening, [this](const std::string& line) { account_ += line + "\n"; }));
      const auto taken_up = std::make_shared<bool>(false);
      admission.drawn = [drawn = admission.drawn, taken_up, rounds_kept = std::make_shared<int>(0), round, point] {
        // The first time is when the run is opened.
        if (*taken_up && ++*rounds_kept == 1 && round > 0 && point == Point::kBeforeKeeping) throw Killed{};
        *taken_up = true;
        return drawn();
      };
      admission.leaving = [leaving = admission.leaving, round, point](std::int64_t of,
                                                                      std::string_view answer) -> Result<void> {
        if (of == round && round > 0 && point == Point::kBeforeMarking && !answer.empty()) throw Killed{};
        PARLEY_CHECK(leaving(of, answer));
        if (of == round && round > 0 && point == Point::kBeforeSending) throw Killed{};
        return {};
      };
      return admission;
    };
    return rounds::Handler(admit, site_.state,
                           [this](const rounds::SiteEvent& event) { account_ += in_words(event) + "\n"; });
  }

  [[nodiscard]] Bytes opening(const wire::RunId& run = kRun) const {
    return wire::make_frame({.kind = Kind::kOpen, .run = run},
                            wire::encode(jobs::JobText{"job.toml", kJob, overrides_}));
  }
  static Bytes task(std::int64_t round, double at = 0.25, const wire::RunId& run = kRun) {
    FedIterHt::Task task;
    task.round = round - 1;
    task.step = 0.5;
    task.parameters = linalg::sparse(std::vector<double>{0.0, at * static_cast<double>(round)});
    return wire::make_frame({.kind = Kind::kTask, .run = run, .round = round}, task);
  }
  static Bytes answer(rounds::Handler& handler, const Bytes& frame) { return **handler.respond(frame); }
  static wire::Header header(const Bytes& frame) { return wire::read_frame(frame)->header; }
  static void expect_fault(const Bytes& frame, FaultCode code) {
    EXPECT_EQ(header(frame).kind, Kind::kFault);
    EXPECT_EQ(header(frame).code, static_cast<std::uint8_t>(code));
    EXPECT_EQ(frame.size(), wire::kHeaderBytes) << "a code, no text";
  }
  std::vector<Bytes> whole_run() {
    rounds::Handler handler = process();
    EXPECT_EQ(header(answer(handler, opening())).kind, Kind::kReady) << account_;
    std::vector<Bytes> answers;
    for (int round = 1; round <= kRounds; ++round) answers.push_back(answer(handler, task(round)));
    return answers;
  }
  std::vector<std::string> ledger_kinds() const {
    std::vector<std::string> kinds;
    auto ledger = privacy::Ledger::open_read_only(site_.ledger);
    if (!ledger) return kinds;
    const auto entries = ledger->entries();
    if (!entries) return kinds;
    for (const privacy::Entry& entry : *entries) kinds.push_back(entry.kind);
    return kinds;
  }
  [[nodiscard]] std::string kept_file() const { return site_.state + "/" + wire::hex(kRun) + ".kept"; }
  void clean() {
    std::filesystem::remove_all(site_.state);
    std::filesystem::remove_all(site_.ledger);
    std::filesystem::create_directories(site_.state);
    account_.clear();
  }

  TemporaryFolder folder_;
  jobs::Site site_;
  std::vector<std::string> overrides_;
  std::string account_;
};

using Kinds = std::vector<std::string>;

}  // namespace

TEST_F(PrivateRun, KilledAtAnyPointItIsChargedOnceAndEndsInTheSameAnswers) {
  with_seed();
  const std::vector<Bytes> expected = whole_run();
  for (const Bytes& frame : expected) EXPECT_EQ(header(frame).kind, Kind::kReply);
  for (int killed = 1; killed <= kRounds; ++killed)
    for (const Point point :
         {Point::kBeforeKeeping, Point::kBeforeMarking, Point::kBeforeSending, Point::kAfterSending}) {
      clean();
      {
        rounds::Handler before = process();
        before.respond(opening());
        for (int round = 1; round < killed; ++round) before.respond(task(round));
      }
      try {
        rounds::Handler dying = process(killed, point);
        dying.respond(opening());
        dying.respond(task(killed));
        EXPECT_EQ(point, Point::kAfterSending);
      } catch (const Killed&) {
      }
      rounds::Handler after = process();
      after.respond(opening());
      for (int round = killed; round <= kRounds; ++round)
        EXPECT_EQ(answer(after, task(round)), expected[static_cast<std::size_t>(round - 1)])
            << killed << " " << static_cast<int>(point);
      EXPECT_EQ(ledger_kinds(), (Kinds{"budget", "void-plan"})) << account_;
      // The plan is used up, whoever counted: nothing is drawn beyond it.
      expect_fault(answer(after, task(kRounds + 1)), FaultCode::kBudgetEnded);
    }
}

TEST_F(PrivateRun, WhatLeftIsSentAgainAndNeverDrawnAnew) {
  Bytes first, second;
  {
    rounds::Handler handler = process();
    handler.respond(opening());
    first = answer(handler, task(1));
    EXPECT_EQ(answer(handler, task(1)), first);
  }
  {
    rounds::Handler handler = process();
    handler.respond(opening());
    EXPECT_EQ(answer(handler, task(1)), first) << "fresh noise for an old round would be a second release";
    EXPECT_EQ(header(answer(handler, task(1, 0.5))).kind, Kind::kRefuse) << "another task for it";
    second = answer(handler, task(2));
  }
  rounds::Handler handler = process();
  handler.respond(opening());
  EXPECT_EQ(answer(handler, task(2)), second);
  EXPECT_EQ(header(answer(handler, task(1))).kind, Kind::kRefuse);
  EXPECT_EQ(ledger_kinds(), (Kinds{"budget", "plan"}));
}

// The same noise twice would be worth as much to an attacker as none; fresh bits of the system never repeat.
TEST_F(PrivateRun, AnAnswerThatNobodySawIsDrawnFromFreshBits) {
  const auto attempt = [&] {
    std::string kept;
    try {
      rounds::Handler handler = process(1, Point::kBeforeMarking);
      handler.respond(opening());
      handler.respond(task(1));
    } catch (const Killed&) {
      kept = *read_whole(kept_file());
    }
    return kept;
  };
  const std::string one = attempt();
  ASSERT_FALSE(one.empty());
  std::filesystem::remove_all(site_.state);
  std::filesystem::create_directories(site_.state);
  std::filesystem::remove_all(site_.ledger);
  EXPECT_NE(attempt(), one);
}

TEST_F(PrivateRun, ALostPastEndsTheRunAndReleasesNothing) {
  {
    rounds::Handler handler = process();
    handler.respond(opening());
    EXPECT_EQ(header(answer(handler, task(1))).kind, Kind::kReply);
  }
  std::filesystem::remove(kept_file());
  rounds::Handler handler = process();
  expect_fault(answer(handler, opening()), FaultCode::kPastLost);
  EXPECT_NE(account_.find("what was kept of it is gone"), std::string::npos) << account_;
  EXPECT_EQ(header(answer(handler, task(1))).kind, Kind::kRefuse);
  EXPECT_EQ(ledger_kinds(), (Kinds{"budget", "plan"}));
}

TEST_F(PrivateRun, AnOlderPastIsNoticed) {
  std::string older;
  {
    rounds::Handler handler = process();
    handler.respond(opening());
    handler.respond(task(1));
    older = *read_whole(kept_file());
    handler.respond(task(2));
  }
  const std::string newer = *read_whole(kept_file());
  ASSERT_TRUE(write_atomically(kept_file(), older));
  rounds::Handler set_back = process();
  expect_fault(answer(set_back, opening()), FaultCode::kPastLost);
  ASSERT_TRUE(write_atomically(kept_file(), newer));
  rounds::Handler handler = process();
  EXPECT_EQ(header(answer(handler, opening())).kind, Kind::kReady) << account_;
}

TEST_F(PrivateRun, TwoSitesOnOneLedgerDoNotAnswerARoundTwice) {
  rounds::Handler one = process();
  one.respond(opening());
  one.respond(task(1));
  std::filesystem::copy(folder_ / "state", folder_ / "copy", std::filesystem::copy_options::recursive);
  site_.state = (folder_ / "copy").string();
  rounds::Handler two = process();
  EXPECT_EQ(header(answer(two, opening())).kind, Kind::kReady);
  const Bytes second = answer(one, task(2));
  EXPECT_EQ(header(second).kind, Kind::kReply);
  expect_fault(answer(two, task(2)), FaultCode::kPastLost);  // its answer would be another
  rounds::Handler again = process();
  expect_fault(answer(again, opening()), FaultCode::kPastLost);
}

TEST_F(PrivateRun, ALedgerThatDoesNotHoldThePlanEndsTheRun) {
  {
    rounds::Handler handler = process();
    handler.respond(opening());
    handler.respond(task(1));
  }
  std::filesystem::remove_all(site_.ledger);
  for (const bool folder_is_there : {false, true}) {
    if (folder_is_there) std::filesystem::create_directories(site_.ledger);
    rounds::Handler handler = process();
    expect_fault(answer(handler, opening()), FaultCode::kNotAllowed);
    EXPECT_NE(account_.find("is not there, and private runs"), std::string::npos) << account_;
    account_.clear();
  }
  ASSERT_TRUE(privacy::Ledger::open(site_.ledger)) << "a person began another one";
  rounds::Handler handler = process();
  expect_fault(answer(handler, opening()), FaultCode::kNotAllowed);
  EXPECT_NE(account_.find("does not hold"), std::string::npos) << account_;
}

// Half of what was spent would be forgotten: the state folder has seen more of the ledger than there is.
TEST_F(PrivateRun, AnOlderCopyOfTheLedgerIsRefused) {
  const wire::RunId later{2};
  budget(1.6, 1e-4);
  const std::filesystem::path older = folder_ / "older", newer = folder_ / "newer";
  {
    rounds::Handler handler = process();
    handler.respond(opening());
    handler.respond(task(1));
  }
  std::filesystem::copy(site_.ledger, older, std::filesystem::copy_options::recursive);
  {
    rounds::Handler handler = process();
    EXPECT_EQ(header(answer(handler, opening(later))).kind, Kind::kReady) << account_;
    EXPECT_EQ(header(answer(handler, task(1, 0.25, later))).kind, Kind::kReply) << account_;
  }
  std::filesystem::rename(site_.ledger, newer);
  std::filesystem::rename(older, site_.ledger);
  EXPECT_EQ(ledger_kinds(), (Kinds{"budget", "plan"})) << "a ledger by itself knows nothing of what came later";
  const auto start = runs::check_ledger(site_);
  ASSERT_FALSE(start) << "the site starts";
  EXPECT_NE(start.error().message.find("this is an older copy (of 2 entries)"), std::string::npos)
      << start.error().message;
  for (const wire::RunId& run : {kRun, later, wire::RunId{3}}) {
    rounds::Handler handler = process();
    expect_fault(answer(handler, opening(run)), FaultCode::kNotAllowed);
    EXPECT_NE(account_.find("an older copy"), std::string::npos) << account_;
    account_.clear();
  }
  std::filesystem::remove_all(site_.ledger);
  std::filesystem::rename(newer, site_.ledger);
  EXPECT_TRUE(runs::check_ledger(site_));
  rounds::Handler handler = process();
  EXPECT_EQ(header(answer(handler, opening())).kind, Kind::kReady) << account_;
}

TEST_F(PrivateRun, ARunThatIsTakenUpWithOtherDataIsRefused) {
  {
    rounds::Handler handler = process();
    handler.respond(opening());
    handler.respond(task(1));
  }
  write_table(300);
  rounds::Handler handler = process();
  expect_fault(answer(handler, opening()), FaultCode::kPastLost);
  EXPECT_NE(account_.find("is not the table that this run began with"), std::string::npos) << account_;
  EXPECT_EQ(header(answer(handler, task(2))).kind, Kind::kRefuse);
}

TEST_F(PrivateRun, AnotherJobUnderTheNameOfARunIsRefused) {
  {
    rounds::Handler handler = process();
    handler.respond(opening());
    handler.respond(task(1));
  }
  overrides_ = {"algorithm.local_steps=1"};
  rounds::Handler handler = process();
  expect_fault(answer(handler, opening()), FaultCode::kNotAllowed);
}

TEST_F(PrivateRun, TheCapHoldsOverRunsAndARefusalChargesNothing) {
  whole_run();
  rounds::Handler next = process();
  expect_fault(answer(next, opening({9})), FaultCode::kBudgetEnded);
  EXPECT_EQ(ledger_kinds(), (Kinds{"budget", "plan"}));
  budget(2.0, 1e-4);
  rounds::Handler raised = process();
  EXPECT_EQ(header(answer(raised, opening({9}))).kind, Kind::kReady) << account_;
  EXPECT_EQ(ledger_kinds(), (Kinds{"budget", "plan", "budget"})) << "charged with the first task, not before";
}

// The coordinator states the cost that was said at the opening; a budget that grows in between must not make
// it more.
TEST_F(PrivateRun, NoMoreIsChargedThanWasSaid) {
  budget(0.5, 1e-5);
  rounds::Handler handler = process();
  handler.respond(opening());
  {
    auto ledger = privacy::Ledger::open(site_.ledger);
    ASSERT_TRUE(ledger->set_budget(
        {"site"}, {*privacy::Epsilon::make(9), *privacy::Delta::make(1e-4), privacy::Composition::kPlans}));
  }
  handler.respond(task(1));
  auto ledger = privacy::Ledger::open_read_only(site_.ledger);
  EXPECT_LE(ledger->spent({"site"})->epsilon, 0.5);
}

TEST_F(PrivateRun, AJobCannotWorkAroundTheLimits) {
  const auto refused = [&](std::vector<std::string> overrides, const std::string& why) {
    overrides_ = std::move(overrides);
    account_.clear();
    rounds::Handler handler = process();
    expect_fault(answer(handler, opening()), FaultCode::kNotAllowed);
    EXPECT_NE(account_.find(why), std::string::npos) << account_;
    EXPECT_EQ(header(answer(handler, task(1))).kind, Kind::kRefuse);
  };
  refused({"algorithm.seed=3"}, "seed that others know");
  refused({"privacy.neighbours=add-remove", "privacy.records=100"}, "limits.neighbours");
  refused({"privacy.calibration=paper"}, "privacy.calibration");
  // Whether the table can be read must not answer questions about it.
  refused({"labels.classes=[\"1\", \"never\"]"}, "leave out");
  refused({"labels.column=dose"}, "does not call");
  site_.limits.never = {"y"};
  refused({}, "limits.never");
  site_.limits.never.clear();
  std::ofstream(folder_ / "schema.toml") << std::string(kSchema).replace(std::string(kSchema).find("levels"), 19, "");
  refused({}, "which classes there are");
  EXPECT_EQ(ledger_kinds(), Kinds{});
}

// The one thing in the job's entry of a party that is not about its files.
TEST_F(PrivateRun, ThePublicNumberOfRecordsOfAPartyReachesItsSite) {
  site_.limits.neighbours = privacy::Neighbours::kAddRemove;
  overrides_ = {"privacy.neighbours=add-remove", "party.site.records=380", "party.other.records=10"};
  for (const std::optional<std::int64_t> other : {std::optional<std::int64_t>(), std::optional<std::int64_t>(100)}) {
    site_.limits.records = other;  // a job that may choose it could find n by trying
    rounds::Handler refusing = process();
    expect_fault(answer(refusing, opening()), FaultCode::kNotAllowed);
  }
  site_.limits.records = 380;
  rounds::Handler handler = process();
  const Bytes ready = answer(handler, opening());
  ASSERT_EQ(header(ready).kind, Kind::kReady) << account_;
  EXPECT_EQ(wire::decode<jobs::Introduction>(wire::read_frame(ready)->payload)->rows, 380)
      << "and not the 400 there are";
}

// What a site says about itself before anything is paid for.
TEST_F(PrivateRun, TheIntroductionIsPublic) {
  const auto introduced = [&] {
    rounds::Handler handler = process();
    const Bytes ready = answer(handler, opening());
    EXPECT_EQ(header(ready).kind, Kind::kReady) << account_;
    return Bytes(wire::read_frame(ready)->payload);
  };
  std::ofstream(folder_ / "schema.toml") << kSchema << "[[column]]\nname = \"id\"\ntype = \"id\"\n";
  const auto table = [&](int shift) {
    std::ofstream file(folder_ / "data.csv");
    file << "age,dose,y,id\n";
    for (int i = 0; i < 400; ++i)
      file << 20 + (i * shift) % 60 << "," << (i % 7) * 0.1 * shift << "," << ((i + shift) % 3 == 0 ? 1 : 0) << ",p"
           << i * shift << "\n";
  };
  table(1);
  const Bytes one = introduced();
  clean();
  table(3);
  EXPECT_EQ(introduced(), one) << "different people with different values, the same words";
}

TEST_F(PrivateRun, TheAccountSaysWhatWasSpentAndWhatIsLeft) {
  budget(3.0, 1e-4);
  whole_run();
  EXPECT_NE(account_.find("is 'test': logistic by fed-iter-ht, of site, other"), std::string::npos) << account_;
  EXPECT_NE(account_.find("8 noisy values or vectors for epsilon"), std::string::npos) << account_;
  EXPECT_NE(account_.find("is charged epsilon"), std::string::npos) << account_;
  EXPECT_NE(account_.find("is left"), std::string::npos) << account_;
}
