// labels: threads
#include "parley/privacy/ledger/ledger.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "tests/privacy/ledger/processes.h"
#include "tests/privacy/with_ledger.h"

using namespace parley;
using namespace parley::privacy;
namespace fs = std::filesystem;

namespace {

Budget budget(double epsilon, double delta) {
  return {*Epsilon::make(epsilon), *Delta::make(delta)};
}

Charge pure(const std::string& run, const std::string& key, double epsilon) {
  return {run, key, {Pure{epsilon}, 1}};
}

void run_sql(const fs::path& folder, const std::string& sql) {
  sqlite3* connection = nullptr;
  ASSERT_EQ(sqlite3_open((folder / "ledger.sqlite").c_str(), &connection), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(connection, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(connection);
  sqlite3_close(connection);
}

class LedgerTest : public ::testing::Test {
 protected:
  void TearDown() override { fs::permissions(folder_.path(), fs::perms::owner_all, fs::perm_options::add); }
  Ledger opened() {
    auto ledger = Ledger::open(folder_.path());
    if (!ledger) throw std::runtime_error(ledger.error().message);
    return std::move(*ledger);
  }
  TemporaryFolder folder_;
};

}  // namespace

TEST_F(LedgerTest, RefusesBeforeABudgetIsSet) {
  Ledger ledger = opened();
  const auto charged = ledger.charge(kPatients, pure("run", "a", 0.1));
  ASSERT_FALSE(charged);
  EXPECT_EQ(charged.error().fault, Fault::kBudgetEnded);
}

TEST_F(LedgerTest, ChargesUntilTheBudgetEndsAndRefusesTheRest) {
  Ledger ledger = opened();
  ASSERT_TRUE(ledger.set_budget(kPatients, budget(1.0, 1e-6)));
  int paid = 0;
  while (ledger.charge(kPatients, pure("run", std::to_string(paid), 0.249))) ++paid;
  EXPECT_EQ(paid, 4);
  EXPECT_EQ(ledger.spent(kPatients)->charges, 4);
  EXPECT_NEAR(ledger.spent(kPatients)->epsilon, 4 * 0.249, 1e-9);
  EXPECT_NEAR(ledger.spent(kPatients)->used, 4 * 0.249, 1e-9);
}

TEST_F(LedgerTest, RemembersAcrossRunsAndProcesses) {
  {
    Ledger ledger = opened();
    ASSERT_TRUE(ledger.set_budget(kPatients, budget(1.0, 1e-6)));
    ASSERT_TRUE(ledger.charge(kPatients, pure("first", "a", 0.7)));
  }
  Ledger ledger = opened();
  EXPECT_FALSE(ledger.charge(kPatients, pure("second", "a", 0.7)));
  EXPECT_TRUE(ledger.charge(kPatients, pure("second", "a", 0.2)));
}

TEST_F(LedgerTest, ManySmallReleasesCostLessThanTheirSum) {
  Ledger ledger = opened();
  ASSERT_TRUE(ledger.set_budget(kPatients, budget(1.0, 1e-6)));
  ASSERT_TRUE(ledger.charge(kPatients, {"run", "a", {Gaussian{100.0, 1.0}, 200}}));
  EXPECT_LT(ledger.spent(kPatients)->epsilon, 1.0);
  EXPECT_FALSE(ledger.charge(kPatients, {"run", "b", {Gaussian{1.0, 1.0}, 1}}));
}

TEST_F(LedgerTest, KeepsUnitsAndRelationsApart) {
  Ledger ledger = opened();
  const Purse labels{"patients", Unit::kLabel, Neighbours::kReplaceOne};
  const Purse added{"patients", Unit::kRecord, Neighbours::kAddRemove};
  ASSERT_TRUE(ledger.set_budget(kPatients, budget(1.0, 1e-6)));
  ASSERT_TRUE(ledger.set_budget(labels, budget(1.0, 1e-6)));
  ASSERT_TRUE(ledger.charge(kPatients, pure("run", "a", 0.9)));
  EXPECT_TRUE(ledger.charge(labels, pure("run", "a", 0.9)));
  EXPECT_FALSE(ledger.charge(added, pure("run", "a", 0.9))) << "no budget was set for this relation";
}

TEST_F(LedgerTest, ARepeatedReleaseIsNotChargedAgain) {
  Ledger ledger = opened();
  ASSERT_TRUE(ledger.set_budget(kPatients, budget(1.0, 1e-6)));
  ASSERT_TRUE(ledger.charge(kPatients, pure("run", "round 1", 0.1)));
  EXPECT_FALSE(ledger.charge(kPatients, pure("run", "round 1", 0.1)));
  EXPECT_EQ(ledger.spent(kPatients)->charges, 1);
}

TEST_F(LedgerTest, AllChargesOfARequestOrNone) {
  Ledger ledger = opened();
  ASSERT_TRUE(ledger.set_budget(kPatients, budget(1.0, 1e-6)));
  const std::vector<Charge> request = {pure("run", "a", 0.4), pure("run", "b", 0.4), pure("run", "c", 0.4)};
  EXPECT_FALSE(ledger.charge_all(kPatients, request));
  EXPECT_EQ(ledger.spent(kPatients)->charges, 0);
  EXPECT_TRUE(ledger.charge_all(kPatients, std::span(request).first(2)));
}

TEST_F(LedgerTest, ALoweredBudgetCountsWhatWasSpentBefore) {
  Ledger ledger = opened();
  ASSERT_TRUE(ledger.set_budget(kPatients, budget(1.0, 1e-6)));
  ASSERT_TRUE(ledger.charge(kPatients, pure("run", "a", 0.5)));
  ASSERT_TRUE(ledger.set_budget(kPatients, budget(0.4, 1e-6)));
  EXPECT_FALSE(ledger.charge(kPatients, pure("run", "b", 0.01)));
  EXPECT_EQ(ledger.entries()->size(), 3U);
}

TEST_F(LedgerTest, RefusesAnUnprotectedRelease) {
  Ledger ledger = opened();
  ASSERT_TRUE(ledger.set_budget(kPatients, budget(1e6, 1e-6)));
  EXPECT_FALSE(ledger.charge(kPatients, {"run", "a", {Unprotected{}, 1}}));
}

TEST_F(LedgerTest, RefusesAnEventThatIsNone) {
  Ledger ledger = opened();
  ASSERT_TRUE(ledger.set_budget(kPatients, budget(1.0, 1e-6)));
  EXPECT_FALSE(ledger.charge(kPatients, {"run", "a", {Gaussian{0.0, 1.0}, 1}}));
  EXPECT_FALSE(ledger.charge(kPatients, {"run", "a", {Pure{0.1}, 0}}));
  EXPECT_FALSE(ledger.charge(kPatients, {"run", "a", {Pure{std::nan("")}, 1}}));
  EXPECT_EQ(ledger.spent(kPatients)->charges, 0);
}

TEST_F(LedgerTest, ThreadsTogetherNeverOverspend) {
  Ledger ledger = opened();
  ASSERT_TRUE(ledger.set_budget(kPatients, budget(1.0, 1e-6)));
  std::atomic<int> paid{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i)
        if (ledger.charge(kPatients, pure("run", std::to_string(t) + "/" + std::to_string(i), 0.099))) ++paid;
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(paid.load(), 10);
  EXPECT_TRUE(ledger.verify());
}

TEST_F(LedgerTest, NothingIsChargedForNothing) {
  Ledger ledger = opened();
  ASSERT_TRUE(ledger.set_budget(kPatients, budget(1, 1e-6)));
  const std::size_t before = ledger.entries()->size();
  const auto paid = ledger.charge_all(kPatients, {});
  ASSERT_TRUE(paid);
  EXPECT_TRUE(paid->empty());
  EXPECT_EQ(ledger.entries()->size(), before);
}

// Threads that are written for by another one hear of it when it is on disk, not before: another connection sees what
// was committed.
TEST_F(LedgerTest, AReceiptIsOnDiskWhoeverWroteIt) {
  Ledger ledger = opened();
  ASSERT_TRUE(ledger.set_budget(kPatients, budget(1e6, 1e-6)));
  std::atomic<int> missing{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      auto reader = Ledger::open_read_only(folder_.path());
      for (int i = 0; i < 4; ++i) {
        std::vector<Charge> charges;
        for (int k = 0; k < 20; ++k) charges.push_back(pure("run", fmt::format("{}/{}/{}", t, i, k), 0.01));
        const auto paid = ledger.charge_all(kPatients, charges);
        if (!reader || !paid || reader->entries()->back().number < paid->back().entry) ++missing;
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(missing.load(), 0);
}

TEST_F(LedgerTest, ProcessesTogetherNeverOverspend) {
  int alone = 0;  // what one process can pay from the same budget
  {
    auto ledger = Ledger::open(folder_ / "alone");
    ASSERT_TRUE(ledger);
    ASSERT_TRUE(ledger->set_budget(kPatients, budget(1.0, 1e-6)));
    while (ledger->charge(kPatients, pure("run", std::to_string(alone), 0.05))) ++alone;
  }
  {
    Ledger ledger = opened();
    ASSERT_TRUE(ledger.set_budget(kPatients, budget(1.0, 1e-6)));
  }
  const int paid = added_up(2, [&](int p) {
    auto ledger = Ledger::open(folder_.path());
    int own = 0;
    for (int i = 0; ledger && i < 40; ++i)
      if (ledger->charge(kPatients, pure("run", std::to_string(p) + "/" + std::to_string(i), 0.05))) ++own;
    return own;
  });
  EXPECT_EQ(paid, alone);
  Ledger ledger = opened();
  EXPECT_EQ(ledger.spent(kPatients)->charges, paid);
  EXPECT_TRUE(ledger.verify());
}

// Whatever a killed process said was charged must be in the ledger, and the chain must be whole.
TEST_F(LedgerTest, SurvivesKillAtAnyPoint) {
  {
    Ledger ledger = opened();
    ASSERT_TRUE(ledger.set_budget(kPatients, budget(1000.0, 1e-6)));
  }
  std::int64_t said = 0;
  for (int trial = 0; trial < 12; ++trial) {
    said += said_until_killed(folder_.path(), trial + 1, [&](Ledger& ledger, int i) {
      return ledger.charge(kPatients, pure("run", std::to_string(trial) + "/" + std::to_string(i), 1e-3)).has_value();
    });
    Ledger ledger = opened();
    ASSERT_TRUE(ledger.verify());
    EXPECT_GE(ledger.spent(kPatients)->charges, said);
    EXPECT_GT(said, trial);
  }
}

class TamperedLedger : public LedgerTest, public ::testing::WithParamInterface<std::string> {};

TEST_P(TamperedLedger, Shows) {
  {
    Ledger ledger = opened();
    ASSERT_TRUE(ledger.set_budget(kPatients, budget(1.0, 1e-6)));
    for (const char* key : {"a", "b", "c"}) ASSERT_TRUE(ledger.charge(kPatients, pure("run", key, 0.1)));
  }
  run_sql(folder_.path(), "DROP TRIGGER no_change; DROP TRIGGER no_removal; " + GetParam());
  const auto ledger = Ledger::open(folder_.path());
  ASSERT_FALSE(ledger) << "opened a ledger that was tampered with";
  EXPECT_NE(ledger.error().message.find("tampered"), std::string::npos) << ledger.error().message;
  EXPECT_FALSE(Ledger::open_read_only(folder_.path()));
}

INSTANTIATE_TEST_SUITE_P(
    Ways, TamperedLedger,
    ::testing::Values("UPDATE entry SET content = replace(content, '0.1', '0.01') WHERE number = 3",
                      "DELETE FROM entry WHERE number = 3", "DELETE FROM entry WHERE number = 4",
                      "UPDATE entry SET data_set = 'others' WHERE number = 2",
                      "DELETE FROM entry WHERE number = 4; UPDATE head SET number = 3",
                      "INSERT INTO entry SELECT 5, time, kind, data_set, unit, neighbours, run, 'd', content, hash "
                      "FROM entry WHERE number = 4",
                      "DELETE FROM head"));

TEST_F(LedgerTest, TheFileItselfRefusesChanges) {
  {
    Ledger ledger = opened();
    ASSERT_TRUE(ledger.set_budget(kPatients, budget(1.0, 1e-6)));
  }
  sqlite3* connection = nullptr;
  ASSERT_EQ(sqlite3_open((folder_ / "ledger.sqlite").c_str(), &connection), SQLITE_OK);
  EXPECT_NE(sqlite3_exec(connection, "DELETE FROM entry", nullptr, nullptr, nullptr), SQLITE_OK);
  EXPECT_NE(sqlite3_exec(connection, "UPDATE entry SET time = 0", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(connection);
}

TEST_F(LedgerTest, RefusesATruncatedFile) {
  {
    Ledger ledger = opened();
    ASSERT_TRUE(ledger.set_budget(kPatients, budget(1.0, 1e-6)));
    for (int i = 0; i < 50; ++i) ASSERT_TRUE(ledger.charge(kPatients, pure("run", std::to_string(i), 1e-3)));
  }
  fs::resize_file(folder_ / "ledger.sqlite", fs::file_size(folder_ / "ledger.sqlite") / 2);
  EXPECT_FALSE(Ledger::open(folder_.path()));
}

// A ledger that lost its file would otherwise be a fresh budget.
TEST_F(LedgerTest, RefusesALedgerThatWasEmptiedOrTakenAway) {
  {
    Ledger ledger = opened();
    ASSERT_TRUE(ledger.set_budget(kPatients, budget(1.0, 1e-6)));
    ASSERT_TRUE(ledger.charge(kPatients, pure("run", "a", 0.9)));
  }
  const fs::path file = folder_ / "ledger.sqlite";
  const auto refused = [&](const std::string& says) {
    for (const auto& ledger : {Ledger::open(folder_.path()), Ledger::open_read_only(folder_.path())}) {
      ASSERT_FALSE(ledger) << says;
      EXPECT_NE(ledger.error().message.find(says), std::string::npos) << ledger.error().message;
    }
  };
  fs::copy_file(file, folder_ / "copy");
  fs::resize_file(file, 0);
  refused("is empty");
  fs::remove(file);
  refused("is gone, though a ledger was made here");
  EXPECT_FALSE(fs::exists(file)) << "made a fresh ledger";
  fs::rename(folder_ / "copy", file);
  EXPECT_FALSE(opened().charge(kPatients, pure("run", "b", 0.5)));
}

TEST_F(LedgerTest, RefusesAnEmptyFileThatNobodyMarked) {
  std::ofstream(folder_ / "ledger.sqlite").close();
  EXPECT_FALSE(Ledger::open(folder_.path()));
  EXPECT_FALSE(Ledger::open_read_only(folder_.path()));
}

TEST_F(LedgerTest, LeavesNothingElseInItsFolder) {
  { Ledger ledger = opened(); }
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder_.path())) names.insert(entry.path().filename());
  EXPECT_EQ(names, (std::set<std::string>{"ledger.made", "ledger.sqlite"}));
}

// The log beside the file is copied into it after budgets and plans: a copy of the file alone, of a process that was
// killed or is still running, is a ledger and knows them.
TEST_F(LedgerTest, TheFileAloneKnowsBudgetsAndPlans) {
  Ledger ledger = opened();
  ASSERT_TRUE(ledger.set_budget(kPatients, {*Epsilon::make(1.0), *Delta::make(1e-6), Composition::kPlans}));
  const auto copied = [&](const char* name) {
    fs::create_directory(folder_ / name);
    fs::copy_file(folder_ / "ledger.sqlite", folder_ / name / "ledger.sqlite");
    auto copy = Ledger::open_read_only(folder_ / name);
    if (!copy) throw std::runtime_error(copy.error().message);
    return *copy->spent(kPatients);
  };
  EXPECT_TRUE(copied("first").budget);
  ASSERT_TRUE(ledger.charge_plan(
      kPatients, {.run = "run", .key = "a", .step = {{Pure{0.1}, 1}}, .steps = 5, .delta = *Delta::make(1e-6)}));
  EXPECT_EQ(copied("second").releases, 5);
}

// Four processes that find no ledger make one together, and one of them sets the budget.
TEST_F(LedgerTest, OfManyAtOnceOneMakesTheLedgerAndOneSetsTheBudget) {
  for (int trial = 0; trial < 5; ++trial) {
    const fs::path folder = folder_ / std::to_string(trial);
    int start[2];
    ASSERT_EQ(::pipe(start), 0);
    std::vector<pid_t> children;
    for (int p = 0; p < 4; ++p) {
      const pid_t child = ::fork();
      if (child == 0) {
        ::close(start[1]);
        char byte = 0;
        (void)!::read(start[0], &byte, 1);  // until the parent closes its end
        auto ledger = Ledger::open(folder);
        if (!ledger) ::_exit(100);
        const auto set = ledger->set_budget_if_none(kPatients, budget(1.0 + p, 1e-6));
        ::_exit(set ? *set : 101);
      }
      children.push_back(child);
    }
    ::close(start[0]);
    ::close(start[1]);
    int set = 0;
    for (const pid_t child : children) {
      int status = 0;
      ::waitpid(child, &status, 0);
      ASSERT_TRUE(WIFEXITED(status));
      ASSERT_LE(WEXITSTATUS(status), 1);
      set += WEXITSTATUS(status);
    }
    EXPECT_EQ(set, 1);
    auto ledger = Ledger::open(folder);
    ASSERT_TRUE(ledger) << ledger.error().message;
    EXPECT_EQ(ledger->entries()->size(), 1U);
  }
}

TEST_F(LedgerTest, ABudgetThatStandsIsNotReplacedByOneForPursesWithout) {
  Ledger ledger = opened();
  EXPECT_TRUE(*ledger.set_budget_if_none(kPatients, budget(0.5, 1e-6)));
  EXPECT_FALSE(*ledger.set_budget_if_none(kPatients, budget(5.0, 1e-6)));
  EXPECT_EQ(ledger.spent(kPatients)->budget->epsilon.value(), 0.5);
  EXPECT_EQ(ledger.entries()->size(), 1U);
}

TEST_F(LedgerTest, RefusesADataSetWithoutAName) {
  Ledger ledger = opened();
  for (const char* name : {"", "  "}) {
    const auto nameless = ledger.set_budget({name}, budget(1.0, 1e-6));
    ASSERT_FALSE(nameless);
    EXPECT_NE(nameless.error().message.find("needs a name"), std::string::npos) << nameless.error().message;
  }
  EXPECT_TRUE(ledger.entries()->empty());
}

TEST_F(LedgerTest, CountsReleasesAndThoseWithNoiseFromASeed) {
  Ledger ledger = opened();
  ASSERT_TRUE(ledger.set_budget(kPatients, budget(10.0, 1e-6)));
  ASSERT_TRUE(ledger.charge(kPatients, {"run", "a", {Pure{0.1}, 20}}));
  ASSERT_TRUE(ledger.charge(kPatients, {"run", "b", {Pure{0.2}, 1}, false}));
  const Spent spent = *ledger.spent(kPatients);
  EXPECT_EQ(spent.charges, 2);
  EXPECT_EQ(spent.releases, 21);
  EXPECT_EQ(spent.void_charges, 1);
}

TEST_F(LedgerTest, RefusesAFileThatIsNoLedger) {
  std::ofstream(folder_ / "ledger.sqlite") << std::string(5000, 'x');
  const auto ledger = Ledger::open(folder_.path());
  ASSERT_FALSE(ledger);
  EXPECT_NE(ledger.error().message.find("not a ledger"), std::string::npos) << ledger.error().message;
}

TEST_F(LedgerTest, RefusesANewerLayoutAndLeavesItAlone) {
  { Ledger ledger = opened(); }
  run_sql(folder_.path(), "PRAGMA user_version = 99");
  const auto ledger = Ledger::open(folder_.path());
  ASSERT_FALSE(ledger);
  EXPECT_NE(ledger.error().message.find("newer version"), std::string::npos);
}

TEST_F(LedgerTest, SaysClearlyThatTheFileIsNotThatOfALedger) {
  { Ledger ledger = opened(); }
  for (const char* change :
       {"PRAGMA user_version = 0", "PRAGMA user_version = -5", "PRAGMA user_version = 1; DROP TABLE head"}) {
    run_sql(folder_.path(), change);
    for (const auto& ledger : {Ledger::open(folder_.path()), Ledger::open_read_only(folder_.path())}) {
      ASSERT_FALSE(ledger) << change;
      EXPECT_NE(ledger.error().message.find("tampered"), std::string::npos) << ledger.error().message;
    }
  }
}

TEST_F(LedgerTest, RefusesToChargeAReadOnlyLedger) {
  {
    Ledger ledger = opened();
    ASSERT_TRUE(ledger.set_budget(kPatients, budget(1.0, 1e-6)));
  }
  auto ledger = Ledger::open_read_only(folder_.path());
  ASSERT_TRUE(ledger) << ledger.error().message;
  const auto charged = ledger->charge(kPatients, pure("run", "a", 0.1));
  ASSERT_FALSE(charged);
  EXPECT_NE(charged.error().message.find("read-only"), std::string::npos) << charged.error().message;
  EXPECT_EQ(ledger->spent(kPatients)->charges, 0);
}

// The disk is full: SQLite may not grow its file any more. Nothing is charged, nothing is lost.
TEST_F(LedgerTest, AFullDiskChargesNothingAndLosesNothing) {
  std::int64_t paid = 0;
  {
    Ledger ledger = opened();
    ASSERT_TRUE(ledger.set_budget(kPatients, budget(1000.0, 1e-6)));
    ASSERT_TRUE(ledger.charge(kPatients, pure("run", "first", 0.1)));
    paid = 1;
  }
  const int more = charged_until_full(folder_.path(), [](Ledger& ledger, int i) {
    return ledger.charge(kPatients, pure("run", std::string(4000, 'k') + std::to_string(i), 0.1)).has_value();
  });
  ASSERT_GE(more, 0);
  ASSERT_LT(more, 99) << "the limit never struck";
  paid += more;
  Ledger ledger = opened();
  ASSERT_TRUE(ledger.verify());
  EXPECT_EQ(ledger.spent(kPatients)->charges, paid);
  EXPECT_TRUE(ledger.charge(kPatients, pure("run", "later", 0.1)));
}
