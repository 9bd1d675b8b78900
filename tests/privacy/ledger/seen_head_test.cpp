// A ledger that was set back, beside what has seen its end.
#include "parley/privacy/ledger/seen_head.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "parley/core/files.h"
#include "tests/privacy/with_ledger.h"

using namespace parley;
using namespace parley::privacy;
namespace fs = std::filesystem;

namespace {

const Delta kDelta = *Delta::make(1e-6);

class SeenHeadTest : public ::testing::Test {
 protected:
  SeenHeadTest() { fs::create_directories(folder_ / "state"); }
  Result<Ledger> opened() { return Ledger::open(ledger_, seen_); }
  void charge(const std::string& run, const std::string& seen) {
    auto ledger = Ledger::open(ledger_, seen);
    ASSERT_TRUE(ledger) << ledger.error().message;
    ASSERT_TRUE(ledger->set_budget_if_none(kPatients, {*Epsilon::make(1.0), kDelta, Composition::kPlans}));
    ASSERT_TRUE(ledger->charge_plan(kPatients, {.run = run, .key = "plan", .step = {{Pure{0.5}, 1}}, .delta = kDelta}));
  }
  void copy_ledger(const char* to) { fs::copy(ledger_, folder_ / to, fs::copy_options::recursive); }
  void put_back(const char* from) {
    fs::remove_all(ledger_);
    fs::copy(folder_ / from, ledger_, fs::copy_options::recursive);
  }
  void expect_refused(const std::string& says) {
    for (const auto& ledger : {opened(), Ledger::open_read_only(ledger_, seen_)}) {
      ASSERT_FALSE(ledger) << says;
      EXPECT_NE(ledger.error().message.find(says), std::string::npos) << ledger.error().message;
      EXPECT_NE(ledger.error().message.find("remove " + seen_), std::string::npos)
          << "says what to do: " << ledger.error().message;
    }
  }

  TemporaryFolder folder_;
  std::string ledger_ = (folder_ / "ledger").string();
  std::string seen_ = head_file_in((folder_ / "state").string());
};

}  // namespace

TEST_F(SeenHeadTest, AnOlderCopyOfTheWholeFolderIsRefused) {
  charge("a", seen_);
  copy_ledger("older");
  charge("b", seen_);
  copy_ledger("newest");
  put_back("older");
  expect_refused("does not hold entry 3");
  EXPECT_TRUE(Ledger::open(ledger_)) << "nothing in the folder itself tells";
  put_back("newest");
  auto ledger = opened();
  ASSERT_TRUE(ledger) << ledger.error().message;
  EXPECT_FALSE(ledger->charge_plan(kPatients, {.run = "c", .key = "plan", .step = {{Pure{0.5}, 1}}, .delta = kDelta}))
      << "1 of 1 is spent";
}

TEST_F(SeenHeadTest, AnOlderFileInItsOwnFolderIsRefused) {
  charge("a", "");
  fs::copy_file(fs::path(ledger_) / "ledger.sqlite", folder_ / "older.sqlite");
  charge("b", "");
  fs::copy_file(folder_ / "older.sqlite", fs::path(ledger_) / "ledger.sqlite", fs::copy_options::overwrite_existing);
  for (const auto& ledger : {Ledger::open(ledger_), Ledger::open_read_only(ledger_)}) {
    ASSERT_FALSE(ledger);
    EXPECT_NE(ledger.error().message.find("an older copy (of 2 entries)"), std::string::npos) << ledger.error().message;
  }
}

// Killed after the charge and before its head was written down: the ledger is ahead, and that is seen from then on.
TEST_F(SeenHeadTest, ALedgerThatIsAheadIsTakenUp) {
  charge("a", seen_);
  copy_ledger("older");
  charge("b", "");
  EXPECT_EQ((*read_seen_head(seen_))->entries, 2);
  EXPECT_TRUE(Ledger::open_read_only(ledger_, seen_));
  EXPECT_EQ((*read_seen_head(seen_))->entries, 2) << "who only reads writes nothing";
  ASSERT_TRUE(opened());
  EXPECT_EQ((*read_seen_head(seen_))->entries, 3);
  put_back("older");
  expect_refused("an older copy");
}

TEST_F(SeenHeadTest, AnotherLedgerIsRefusedHoweverLong) {
  charge("a", seen_);
  fs::remove_all(ledger_);
  charge("x", "");
  charge("y", "");
  expect_refused("this is another ledger");
  fs::remove(seen_);
  EXPECT_TRUE(opened()) << "whoever removes the file answers for it";
}

TEST_F(SeenHeadTest, SingleReleasesAreSeenToo) {
  {
    auto ledger = opened();
    ASSERT_TRUE(ledger->set_budget(kPatients, {*Epsilon::make(1.0), kDelta}));
    ASSERT_TRUE(ledger->charge(kPatients, {"run", "a", {Pure{0.1}, 1}}));
    ASSERT_TRUE(ledger->charge(kPatients, {"run", "b", {Pure{0.1}, 1}}));
  }
  EXPECT_EQ((*read_seen_head(seen_))->entries, 3);
}

// Nothing may be drawn for a charge that an older copy would forget.
TEST_F(SeenHeadTest, AChargeWhoseHeadCannotBeWrittenDownIsNotGranted) {
  charge("a", seen_);
  auto ledger = opened();
  ASSERT_TRUE(ledger);
  fs::remove_all(folder_ / "state");
  EXPECT_FALSE(ledger->charge_plan(kPatients, {.run = "b", .key = "plan", .step = {{Pure{0.1}, 1}}, .delta = kDelta}));
  EXPECT_EQ(ledger->spent(kPatients)->charges, 2) << "it stands: a crash wastes budget";
}

TEST_F(SeenHeadTest, ADamagedHeadIsNotTakenForNone) {
  charge("a", seen_);
  for (const char* text : {"", "{}", "{\"entries\": 0, \"head\": \"\"}", "{\"entries\": \"2\"}", "nonsense"}) {
    std::ofstream(seen_) << text;
    const auto ledger = opened();
    ASSERT_FALSE(ledger) << text;
    EXPECT_NE(ledger.error().message.find("is damaged"), std::string::npos) << ledger.error().message;
  }
}

TEST_F(SeenHeadTest, ALateProcessDoesNotSetItBack) {
  ASSERT_TRUE(write_seen_head(seen_, {7, std::string(64, 'a')}));
  ASSERT_TRUE(write_seen_head(seen_, {6, std::string(64, 'b')}));
  EXPECT_EQ((*read_seen_head(seen_))->entries, 7);
  ASSERT_TRUE(write_seen_head(seen_, {8, std::string(64, 'c')}));
  EXPECT_EQ((*read_seen_head(seen_))->hash, std::string(64, 'c'));
}

// Two that charged one ledger write their heads down at once: the one with more entries is there in the end.
TEST_F(SeenHeadTest, OfSeveralThatWriteAtOnceTheLastEntryStays) {
  for (std::int64_t round = 0; round < 40; ++round) {
    std::vector<std::thread> writers;
    for (std::int64_t writer = 1; writer <= 4; ++writer)
      writers.emplace_back([&, entries = 4 * round + writer] {
        EXPECT_TRUE(write_seen_head(seen_, {entries, std::string(64, 'a')}));
      });
    for (std::thread& writer : writers) writer.join();
    ASSERT_EQ((*read_seen_head(seen_))->entries, 4 * round + 4);
  }
}
