#include "parley/rounds/exchange.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "parley/core/files.h"
#include "parley/rounds/drive.h"
#include "tests/rounds/mean_parties.h"
#include "tests/rounds/scripted.h"
#include "tests/support/temporary_folder.h"

using namespace parley;
using namespace parley::rounds;
using tests::Mean;
using tests::Scripted;
using transport::Arrival;
using wire::Kind;

namespace {

const Mean kMean{.rounds = 6};

Terms terms(Rules rules = {}) {
  return {.parties = {"a", "b", "c"}, .job = "job", .rules = rules};
}
Rules rules(OnMissing on_missing, int quorum = 1) {
  return {on_missing, std::chrono::milliseconds(1), quorum};
}

Result<DriveResult<Mean::Iterate>> run(Scripted& channel, Terms with = terms()) {
  PARLEY_TRY(Exchange exchange, Exchange::make(channel, std::move(with)));
  PARLEY_CHECK(exchange.open());
  return drive(kMean, Mean::Iterate{0, {0, 0}}, exchange);
}

}  // namespace

TEST(Exchange, AnswersInAnyOrderGiveTheSameBits) {
  Scripted forwards(kMean);
  Scripted backwards(kMean);
  backwards.newest_first = true;
  const auto one = run(forwards);
  const auto other = run(backwards);
  ASSERT_TRUE(one && other);
  EXPECT_EQ(wire::encode(one->iterate), wire::encode(other->iterate));
}

TEST(Exchange, CollectsIntroductionsInPartyOrder) {
  Scripted channel(kMean);
  channel.newest_first = true;
  auto exchange = Exchange::make(channel, terms());
  const auto introductions = exchange->open();
  ASSERT_TRUE(introductions && *introductions);
  EXPECT_EQ((**introductions)[2], "value 6.000000");
}

TEST(Exchange, APartyThatRejoinsIsGivenTheTaskOfTheRoundThatRuns) {
  Scripted channel(kMean);
  Scripted undisturbed(kMean);
  auto exchange = Exchange::make(channel, terms());
  exchange->open();
  channel.silent = {1};  // its connection is half open: everything sent to it is lost
  channel.at_deadline = [&] {
    channel.silent.clear();
    channel.join(1);
  };
  const auto end = drive(kMean, Mean::Iterate{0, {0, 0}}, *exchange);
  ASSERT_TRUE(end);
  EXPECT_EQ(channel.tasks_to(1), 7) << "the lost task was sent again";
  EXPECT_EQ(wire::encode(end->iterate), wire::encode(run(undisturbed)->iterate));
  const Communication& sent = exchange->meter().communication();
  EXPECT_EQ(sent.per_party[1].up, sent.per_party[0].up) << "its second introduction belongs to no round";
  EXPECT_EQ(6 * sent.per_party[1].down, 7 * sent.per_party[0].down) << "nor does the job";
  EXPECT_EQ(sent.around.up,
            4 * static_cast<std::int64_t>(wire::kHeaderBytes + std::string_view("value 6.000000").size()));
}

TEST(Exchange, ProceedsWithoutAStragglerAtTheDeadline) {
  Scripted channel(kMean);
  auto exchange = Exchange::make(channel, terms(rules(OnMissing::kProceed, 2)));
  exchange->open();
  channel.silent = {2};
  const auto end = drive(kMean, Mean::Iterate{0, {0, 0}}, *exchange);
  ASSERT_TRUE(end);
  EXPECT_EQ(channel.deadlines, 6);
  EXPECT_NEAR(end->iterate.estimate[0], 1.5, 0.05) << "the mean of the two that answered";
  EXPECT_EQ(exchange->meter().communication().answered, (std::vector<std::int64_t>{6, 6, 0}));
}

TEST(Exchange, BelowTheQuorumItWaits) {
  Scripted channel(kMean);
  auto exchange = Exchange::make(channel, terms(rules(OnMissing::kProceed, 2)));
  exchange->open();
  channel.silent = {1, 2};
  channel.at_deadline = [&] {
    if (channel.deadlines != 2) return;
    channel.silent = {2};
    channel.join(1);
  };
  EXPECT_TRUE(drive(kMean, Mean::Iterate{0, {0, 0}}, *exchange));
}

TEST(Exchange, FailsAtTheDeadlineAndNamesWhoIsMissing) {
  Scripted channel(kMean);
  auto exchange = Exchange::make(channel, terms(rules(OnMissing::kFail)));
  exchange->open();
  channel.silent = {0, 2};
  const auto end = drive(kMean, Mean::Iterate{0, {0, 0}}, *exchange);
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().message, "round 1: no answer in time from: a, c");
}

TEST(Exchange, ALateAnswerToAnEarlierRoundIsIgnored) {
  Scripted channel(kMean);
  Scripted undisturbed(kMean);
  auto exchange = Exchange::make(channel, terms());
  exchange->open();
  std::optional<Arrival> kept;
  const auto end = drive<Mean>(kMean, {0, {0, 0}}, *exchange, [&](std::int64_t, const Mean::Iterate&) {
    if (kept) channel.push(*kept);
    kept = Arrival{Arrival::What::kFrame, 0,
                   transport::shared(wire::make_frame({.kind = Kind::kReply, .run = exchange->run(), .round = 1},
                                                      Mean::Reply{1, {99, 99}}))};
    return true;
  });
  ASSERT_TRUE(end);
  EXPECT_TRUE(channel.dropped.empty());
  EXPECT_EQ(wire::encode(end->iterate), wire::encode(run(undisturbed)->iterate));
}

TEST(Exchange, BadFramesAreRefusedWithACodeAndTheOthersAreUnharmed) {
  Scripted channel(kMean);
  Scripted undisturbed(kMean);
  auto exchange = Exchange::make(channel, terms());
  exchange->open();
  const auto frame = [&](Kind kind, std::int64_t round, const wire::RunId& id) {
    return wire::make_frame({.kind = kind, .run = id, .round = round}, "x");
  };
  std::vector<wire::Bytes> bad = {"",
                                  "nonsense",
                                  wire::Bytes(1000, 'P'),
                                  frame(Kind::kReply, 77, exchange->run()),
                                  frame(Kind::kReply, 1, {5}),
                                  frame(Kind::kTask, 1, exchange->run()),
                                  frame(Kind::kReply, 1, exchange->run())};
  wire::Bytes wrong_version = frame(Kind::kReply, 1, exchange->run());
  wrong_version[4] = 2;
  bad.push_back(wrong_version);
  channel.silent = {1};  // it says nothing but what follows
  std::size_t next = 0;
  channel.at_deadline = [&] {
    if (next < bad.size())
      channel.push({Arrival::What::kFrame, 1, transport::shared(bad[next++])});
    else
      channel.silent.clear();
    channel.join(1);
  };
  const auto end = drive(kMean, Mean::Iterate{0, {0, 0}}, *exchange);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(channel.dropped.size(), bad.size());
  EXPECT_EQ(wire::encode(end->iterate), wire::encode(run(undisturbed)->iterate));
}

// A well-formed frame of the round that runs, whose content is not a reply: party b says so instead of answering.
Result<DriveResult<Mean::Iterate>> with_unreadable_reply(Scripted& channel, Rules under) {
  PARLEY_TRY(Exchange exchange, Exchange::make(channel, terms(under)));
  PARLEY_CHECK(exchange.open());
  channel.silent = {1};
  channel.push({Arrival::What::kFrame, 1,
                transport::shared(wire::make_frame({.kind = Kind::kReply, .run = exchange.run(), .round = 1}, "x"))});
  return drive(kMean, Mean::Iterate{0, {0, 0}}, exchange);
}

TEST(Exchange, AReplyThatCannotBeReadIsRefusedAndTheOthersProceed) {
  Scripted channel(kMean);
  const auto end = with_unreadable_reply(channel, rules(OnMissing::kProceed, 2));
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->rounds, 6);
  EXPECT_EQ(channel.dropped, std::vector<int>{1});
}

TEST(Exchange, AReplyThatCannotBeReadEndsARunThatNeedsItAndIsNamed) {
  Scripted channel(kMean);
  const auto end = with_unreadable_reply(channel, {});
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().message.find("round 1: the reply of party 'b' cannot be used"), 0U) << end.error().message;
}

// One that comes back and is not admitted any more, and one that refuses what it is sent.
TEST(Exchange, APartyThatWillNotGoOnIsMissingWhereARunMayProceedAndEndsItElsewhere) {
  for (const Kind kind : {Kind::kFault, Kind::kRefuse})
    for (const bool proceeds : {true, false}) {
      Scripted channel(kMean);
      auto exchange = Exchange::make(channel, terms(proceeds ? rules(OnMissing::kProceed, 2) : Rules{}));
      exchange->open();
      channel.silent = {1};
      const wire::Header header{
          .kind = kind, .code = static_cast<std::uint8_t>(privacy::FaultCode::kPastLost), .run = exchange->run()};
      channel.push({Arrival::What::kFrame, 1, transport::shared(wire::make_frame(header))});
      const auto end = drive(kMean, Mean::Iterate{0, {0, 0}}, *exchange);
      EXPECT_EQ(end.has_value(), proceeds);
      if (!end) continue;
      EXPECT_EQ(end->rounds, 6);
      EXPECT_NEAR(end->iterate.estimate[0], 3.5, 0.06)
          << "half the way to the mean of the two that answered, six times";
      EXPECT_EQ(channel.deadlines, 0) << "what a code has said need not be waited for, in no round";
      ASSERT_TRUE(exchange->close());
      EXPECT_EQ(channel.deadlines, 0);
      EXPECT_EQ(exchange->not_told(), "");
    }
}

// A lost connection says nothing about whether the party comes back: it has until the deadline of every round.
TEST(Exchange, APartyWhoseConnectionIsLostHasUntilTheDeadlineToComeBack) {
  Scripted channel(kMean);
  auto exchange = Exchange::make(channel, terms(rules(OnMissing::kProceed, 2)));
  exchange->open();
  channel.silent = {1};
  channel.push({Arrival::What::kLeft, 1, {}});
  channel.at_deadline = [&] {
    if (channel.deadlines != 3) return;
    channel.silent.clear();
    channel.join(1);
  };
  const auto end = drive(kMean, Mean::Iterate{0, {0, 0}}, *exchange);
  ASSERT_TRUE(end);
  EXPECT_EQ(channel.deadlines, 3);
  EXPECT_EQ(exchange->meter().communication().answered, (std::vector<std::int64_t>{6, 4, 6}))
      << "two rounds without it, four with it";
}

TEST(Exchange, APartyThatWouldNotGoOnAndJoinsAnewIsAskedAgain) {
  Scripted channel(kMean);
  auto exchange = Exchange::make(channel, terms(rules(OnMissing::kProceed, 2)));
  exchange->open();
  const wire::Header header{
      .kind = Kind::kFault, .code = static_cast<std::uint8_t>(privacy::FaultCode::kNotAllowed), .run = exchange->run()};
  channel.silent = {1};
  channel.push({Arrival::What::kFrame, 1, transport::shared(wire::make_frame(header))});
  const auto end = drive<Mean>(kMean, {0, {0, 0}}, *exchange, [&](std::int64_t round, const Mean::Iterate&) {
    if (round == 2) {
      channel.silent.clear();
      channel.join(1);
    }
    return true;
  });
  ASSERT_TRUE(end);
  EXPECT_EQ(channel.deadlines, 0);
  // In the round in which it joins the others may well be faster.
  EXPECT_GE(exchange->meter().communication().answered[1], 3);
}

// Party b does not admit the job.
void stay_out(Scripted& channel, const Exchange& exchange) {
  channel.silent = {1};
  const wire::Header header{
      .kind = Kind::kFault, .code = static_cast<std::uint8_t>(privacy::FaultCode::kNotAllowed), .run = exchange.run()};
  channel.push({Arrival::What::kFrame, 1, transport::shared(wire::make_frame(header))});
}

TEST(Exchange, APartyThatWillNotBeginEndsARunThatNeedsIt) {
  for (const Rules& needed : {Rules{}, rules(OnMissing::kFail), rules(OnMissing::kProceed, 3)}) {
    Scripted channel(kMean);
    auto exchange = Exchange::make(channel, terms(needed));
    stay_out(channel, *exchange);
    const auto opened = exchange->open();
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().message, needed.on_missing == OnMissing::kProceed
                                          ? "fewer parties take part than the quorum; left out: b"
                                          : "party 'b' does not take part: the site does not allow this job");
  }
}

TEST(Exchange, ARunThatMayProceedBeginsWithoutAPartyThatWillNotAndStaysWithoutIt) {
  TemporaryFolder folder;
  Scripted channel(kMean);
  Terms kept = terms(rules(OnMissing::kProceed, 2));
  kept.checkpoint = folder / "checkpoint";
  std::vector<std::string> said;
  kept.notice = [&](const Event& event) { said.push_back(in_words(event)); };
  auto exchange = Exchange::make(channel, kept);
  stay_out(channel, *exchange);
  ASSERT_TRUE(exchange->open());
  EXPECT_EQ(exchange->left_out(), std::vector<int>{1});
  EXPECT_NE(std::find(said.begin(), said.end(),
                      "b does not take part: the site does not allow this job; the run goes on without it"),
            said.end());
  EXPECT_EQ(said.back(), "c is ready; all are here");
  channel.silent.clear();
  channel.join(1);  // it has thought better of it
  const auto end = drive(kMean, Mean::Iterate{0, {0, 0}}, *exchange);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(channel.deadlines, 0) << "nobody waits for it";
  EXPECT_EQ(channel.tasks_to(1), 0) << "its introduction was never looked at";
  EXPECT_NEAR(end->iterate.estimate[0], 3.5, 0.06);
  const auto again = Exchange::make(channel, kept);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->left_out(), std::vector<int>{1});
  ASSERT_TRUE(exchange->close());
}

// Killed in round 1, when two of three are there and have their task.
TEST(Exchange, ACoordinatorKilledInItsFirstRoundComesBackToTheSamePartiesAndTheSameTask) {
  TemporaryFolder folder;
  Scripted channel(kMean);
  Terms kept = terms(rules(OnMissing::kProceed, 2));
  kept.checkpoint = folder / "checkpoint";
  bool stop = false;
  kept.stop_asked = [&] { return stop; };
  channel.arrivals.pop_back();  // c comes too late
  std::vector<wire::Bytes> introductions;
  {
    auto exchange = Exchange::make(channel, kept);
    const auto opened = exchange->open();
    ASSERT_TRUE(opened && *opened);
    introductions = **opened;
    EXPECT_EQ(exchange->left_out(), std::vector<int>{2});
    channel.silent = {0, 1};
    channel.at_deadline = [&] {
      stop = true;
      channel.wake();
    };
    const auto end = drive(kMean, Mean::Iterate{0, {0, 0}}, *exchange);
    ASSERT_TRUE(end);
    EXPECT_EQ(end->rounds, 0) << "no answer reached it";
  }
  stop = false;
  channel.at_deadline = {};
  channel.silent.clear();
  for (int party = 2; party >= 0; --party) channel.join(party);  // now c is the first
  auto again = Exchange::make(channel, kept);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->left_out(), std::vector<int>{2});
  const auto opened = again->open();
  ASSERT_TRUE(opened && *opened);
  EXPECT_EQ(**opened, introductions);
  const auto end = drive(kMean, Mean::Iterate{0, {0, 0}}, *again);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(channel.tasks_to(2), 0);
  EXPECT_EQ(again->meter().communication().answered, (std::vector<std::int64_t>{6, 6, 0}));
}

// Nobody was asked for anything: a party that was late may still come.
TEST(Exchange, ACoordinatorKilledBeforeItsFirstTaskAsksEverybodyAnew) {
  TemporaryFolder folder;
  Scripted channel(kMean);
  Terms kept = terms(rules(OnMissing::kProceed, 2));
  kept.checkpoint = folder / "checkpoint";
  channel.arrivals.pop_back();
  {
    auto exchange = Exchange::make(channel, kept);
    ASSERT_TRUE(exchange->open());
    EXPECT_EQ(exchange->left_out(), std::vector<int>{2});
  }
  for (int party = 0; party < 3; ++party) channel.join(party);
  auto again = Exchange::make(channel, kept);
  ASSERT_TRUE(again && again->open());
  EXPECT_TRUE(again->left_out().empty());
}

TEST(Exchange, ARunThatMayProceedBeginsWithoutAPartyThatIsLate) {
  Scripted channel(kMean);
  channel.silent = {1};         // it is there and looks at the job for long
  channel.arrivals.pop_back();  // c has not come
  auto exchange = Exchange::make(channel, terms(rules(OnMissing::kProceed)));
  ASSERT_TRUE(exchange->open());
  EXPECT_EQ(exchange->left_out(), (std::vector<int>{1, 2}));
  EXPECT_EQ(channel.deadlines, 1);
  channel.silent.clear();
  channel.push(
      {Arrival::What::kFrame, 1,
       transport::shared(wire::make_frame({.kind = Kind::kReady, .run = exchange->run()}, std::string_view()))});
  channel.join(2);
  const auto end = drive(kMean, Mean::Iterate{0, {0, 0}}, *exchange);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(channel.tasks_to(1) + channel.tasks_to(2), 0);
  EXPECT_TRUE(std::any_of(channel.sent.begin(), channel.sent.end(), [](const auto& frame) {
    return frame.first == 1 && frame.second.kind == Kind::kClose;
  })) << "it need not wait for a task";
  EXPECT_TRUE(std::any_of(channel.sent.begin(), channel.sent.end(), [](const auto& frame) {
    return frame.first == 2 && frame.second.kind == Kind::kRefuse &&
           frame.second.code == static_cast<std::uint8_t>(wire::Refusal::kBegunWithout);
  })) << "nor need one that comes when the run has begun";
  EXPECT_TRUE(channel.dropped.empty());
}

TEST(Exchange, TheTimeForTheRestBeginsWhenTheQuorumIsThere) {
  Scripted channel(kMean);
  channel.arrivals.clear();
  channel.join(0);
  auto exchange = Exchange::make(channel, terms(rules(OnMissing::kProceed, 2)));
  // The queue is empty although no deadline runs: somebody comes in the end.
  channel.at_deadline = [&] {
    if (channel.deadlines == 1) {
      EXPECT_EQ(channel.last_deadline, transport::Clock::time_point::max());
      channel.join(2);
    } else {
      EXPECT_LT(channel.last_deadline, transport::Clock::time_point::max());
    }
  };
  ASSERT_TRUE(exchange->open());
  EXPECT_EQ(channel.deadlines, 2);
  EXPECT_EQ(exchange->left_out(), std::vector<int>{1});
}

TEST(Exchange, SaysWhoIsThereWhoLeftAndForWhomItWaits) {
  Scripted channel(kMean);
  Terms told = terms();
  std::vector<std::string> said;
  told.notice = [&](const Event& event) { said.push_back(in_words(event)); };
  auto exchange = Exchange::make(channel, told);
  ASSERT_TRUE(exchange->open());
  EXPECT_EQ(said, (std::vector<std::string>{"waiting for: a, b, c", "a joined", "b joined", "c joined",
                                            "a is ready; waiting for: b, c", "b is ready; waiting for: c",
                                            "c is ready; all are here"}));
  said.clear();
  channel.silent = {1};
  channel.at_deadline = [&] {
    if (channel.deadlines == 1) return;  // the first is the patience of the round
    if (channel.deadlines == 2) return channel.push({Arrival::What::kLeft, 1, {}});
    if (channel.deadlines == 4) channel.silent.clear();
    channel.join(1);
  };
  ASSERT_TRUE(drive(kMean, Mean::Iterate{0, {0, 0}}, *exchange));
  ASSERT_EQ(said.size(), 5U);
  EXPECT_EQ(said[0], "round 1: no answer yet from: b");
  EXPECT_EQ(said[1], "b left; waiting for: b");
  EXPECT_EQ(said[2], "b joined");
  EXPECT_TRUE(said[3].starts_with("b joined once more; its earlier connection is cut")) << said[3];
  EXPECT_EQ(said[4], "b is ready; all are here");
  said.clear();
  ASSERT_TRUE(exchange->close());
  EXPECT_TRUE(said.empty()) << "a party that leaves when the run is over is not news";
}

TEST(Exchange, AFrameWithoutAChecksumIsRefusedUnlessItsProgramMadeIt) {
  Scripted channel(kMean);
  auto exchange = Exchange::make(channel, terms(rules(OnMissing::kProceed, 2)));
  exchange->open();
  channel.silent = {1};
  const wire::Header unchecked{.kind = Kind::kReply, .run = exchange->run(), .round = 1, .checked = false};
  channel.push({Arrival::What::kFrame, 1, transport::shared(wire::make_frame(unchecked, Mean::Reply{1, {0, 0}}))});
  ASSERT_TRUE(drive(kMean, Mean::Iterate{0, {0, 0}}, *exchange));
  EXPECT_EQ(channel.dropped, std::vector<int>{1});
}

// Killed after the last round, while it waits for parties to say that they have closed the run.
TEST(Exchange, ACoordinatorKilledWhileClosingClosesTheRunWhenItComesBack) {
  TemporaryFolder folder;
  Scripted channel(kMean);
  Terms kept = terms();
  kept.checkpoint = folder / "checkpoint";
  wire::Bytes learned;
  const std::string copy = kept.checkpoint + ".copy";
  {
    auto exchange = Exchange::make(channel, kept);
    exchange->open();
    const auto end = drive(kMean, Mean::Iterate{0, {0, 0}}, *exchange);
    ASSERT_TRUE(end);
    learned = wire::encode(end->iterate);
    channel.silent = {1};  // the two others close the run; then the kill, before the checkpoint goes
    channel.at_deadline = [&] { std::filesystem::copy_file(kept.checkpoint, copy); };
    ASSERT_TRUE(exchange->close());
  }
  std::filesystem::rename(copy, kept.checkpoint);
  channel.at_deadline = {};
  channel.silent.clear();
  for (int party = 0; party < 3; ++party) channel.join(party);
  auto again = Exchange::make(channel, kept);
  ASSERT_TRUE(again && again->open());
  const auto end = drive(kMean, Mean::Iterate{0, {0, 0}}, *again);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(wire::encode(end->iterate), learned);
  ASSERT_TRUE(again->close());
  EXPECT_EQ(channel.sent.back().second.kind, Kind::kClose) << "the party that had not heard of it";
  EXPECT_FALSE(std::filesystem::exists(kept.checkpoint));
}

TEST(Exchange, AStopBetweenRoundsAndWhileWaitingKeepsWhatWasLearned) {
  Scripted channel(kMean);
  bool stop = false;
  Terms stoppable = terms();
  stoppable.stop_asked = [&] { return stop; };
  auto exchange = Exchange::make(channel, stoppable);
  exchange->open();
  channel.at_deadline = [&] {
    stop = true;
    channel.wake();
  };
  const auto end = drive<Mean>(kMean, {0, {0, 0}}, *exchange, [&](std::int64_t round, const Mean::Iterate&) {
    if (round == 3) channel.silent = {0};
    return true;
  });
  EXPECT_EQ(end->ended, Ended::kStopped);
  EXPECT_EQ(end->rounds, 3);
}

TEST(Exchange, AKilledCoordinatorGoesOnFromItsCheckpointToTheSameBits) {
  TemporaryFolder folder;
  Scripted undisturbed(kMean);
  Scripted channel(kMean);  // the parties live on
  Terms kept = terms();
  kept.checkpoint = folder / "checkpoint";
  wire::RunId run_id{};
  ASSERT_TRUE(Exchange::make(channel, kept)) << "killed before its first round";
  for (const std::int64_t until : {1, 2, 5}) {
    auto exchange = Exchange::make(channel, kept);
    ASSERT_TRUE(exchange);
    if (until > 1) {
      EXPECT_EQ(exchange->run(), run_id);
    }
    run_id = exchange->run();
    exchange->open();
    drive<Mean>(kMean, {0, {0, 0}}, *exchange, [&](std::int64_t round, const Mean::Iterate&) { return round < until; });
    for (int party = 0; party < 3; ++party) channel.join(party);  // they reconnect
  }
  auto exchange = Exchange::make(channel, kept);
  exchange->open();
  const auto end = drive(kMean, Mean::Iterate{0, {0, 0}}, *exchange);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(wire::encode(end->iterate), wire::encode(run(undisturbed)->iterate));
  EXPECT_EQ(exchange->meter().communication().rounds, 6) << "what was sent before the kills is in the account";
  ASSERT_TRUE(exchange->close());
  EXPECT_FALSE(std::filesystem::exists(kept.checkpoint));
}

TEST(Exchange, APartyThatIsAwayAtTheEndHearsOfItWhenItReturns) {
  Scripted channel(kMean);
  auto exchange = Exchange::make(channel, terms());
  exchange->open();
  const auto end = drive(kMean, Mean::Iterate{0, {0, 0}}, *exchange);
  ASSERT_TRUE(end);
  channel.silent = {1};
  channel.at_deadline = [&] {
    channel.silent.clear();
    channel.join(1);
  };
  ASSERT_TRUE(exchange->close());
  EXPECT_EQ(channel.deadlines, 1);
  EXPECT_EQ(channel.sent.back().second.kind, Kind::kClose);
}

TEST(Exchange, ACheckpointOfAnotherJobIsRefused) {
  TemporaryFolder folder;
  Scripted channel(kMean);
  Terms kept = terms();
  kept.checkpoint = folder / "checkpoint";
  ASSERT_TRUE(Exchange::make(channel, kept));
  kept.job = "another";
  EXPECT_FALSE(Exchange::make(channel, kept));
}

// As versions before this one wrote it: it does not say whether a task has left.
struct OlderCheckpoint {
  std::string job;
  std::vector<std::string> introductions;
  std::vector<int> left_out;
  std::string iterate;
  Communication communication;
  static void fields(auto& self, auto&& visit) {
    visit(self.job, self.introductions, self.left_out, self.iterate, self.communication);
  }
};

TEST(Exchange, ACheckpointThatDoesNotSayWhetherTheRunHasBegunIsRefused) {
  TemporaryFolder folder;
  Scripted channel(kMean);
  Terms kept = terms();
  kept.checkpoint = folder / "checkpoint";
  ASSERT_TRUE(
      write_atomically(kept.checkpoint, wire::make_frame({.kind = Kind::kKept}, OlderCheckpoint{.job = kept.job})));
  const auto exchange = Exchange::make(channel, kept);
  ASSERT_FALSE(exchange);
  EXPECT_NE(exchange.error().message.find("is not a checkpoint of this version"), std::string::npos)
      << exchange.error().message;
}

TEST(Exchange, WhoHasNotHeardOfTheEndIsNamed) {
  Scripted channel(kMean);
  auto exchange = Exchange::make(channel, terms());
  exchange->open();
  ASSERT_TRUE(drive(kMean, Mean::Iterate{0, {0, 0}}, *exchange));
  channel.silent = {1};
  ASSERT_TRUE(exchange->close());
  EXPECT_EQ(exchange->not_told(), "b");
}

// Party b says this in round 1 instead of answering.
Result<DriveResult<Mean::Iterate>> with_reply_of_b(Scripted& channel, Terms with, const Mean::Reply& reply,
                                                   std::optional<Exchange>* kept = nullptr) {
  PARLEY_TRY(Exchange exchange, Exchange::make(channel, std::move(with)));
  PARLEY_CHECK(exchange.open());
  channel.silent = {1};
  channel.push({Arrival::What::kFrame, 1,
                transport::shared(wire::make_frame({.kind = Kind::kReply, .run = exchange.run(), .round = 1}, reply))});
  auto end = drive(kMean, Mean::Iterate{0, {0, 0}}, exchange);
  if (kept != nullptr) kept->emplace(std::move(exchange));
  return end;
}

TEST(Exchange, AReplyThatCannotBeTrueIsTheFaultOfItsPartyAndOfNobodyElse) {
  const std::vector<Mean::Reply> lies = {
      {1, {}}, {1, {1}}, {1, {1, 2, 3}}, {1, std::vector<double>(100000, 0.5)}, {1, {1e101, 0}}, {1, {0, -1.7e308}}};
  for (const Mean::Reply& lie : lies) {
    Scripted waiting(kMean);
    const auto ended = with_reply_of_b(waiting, terms(), lie);
    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.error().exit_code(), 1) << "nobody's input is bad";
    EXPECT_EQ(ended.error().message.find("round 1: the reply of party 'b' cannot be used: it "), 0U)
        << ended.error().message;
    Scripted channel(kMean);
    std::optional<Exchange> exchange;
    const auto end = with_reply_of_b(channel, terms(rules(OnMissing::kProceed, 2)), lie, &exchange);
    ASSERT_TRUE(end) << end.error().message;
    EXPECT_EQ(end->rounds, 6);
    EXPECT_NEAR(end->iterate.estimate[0], 3.5, 0.06) << "the mean of a and c";
    EXPECT_EQ(channel.deadlines, 0) << "nobody waits for it, in no round";
    ASSERT_TRUE(exchange->close());
    EXPECT_EQ(channel.deadlines, 0);
    EXPECT_EQ(exchange->not_told(), "");
  }
}

TEST(Exchange, TheLargestValueIsTheJobs) {
  Rules bounded;
  bounded.largest_value = 70;
  Scripted channel(kMean);
  EXPECT_TRUE(run(channel, terms(bounded))) << "c says 60";
  bounded.largest_value = 50;
  Scripted again(kMean);
  const auto end = run(again, terms(bounded));
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().message,
            "round 1: the reply of party 'c' cannot be used: it holds a number beyond rounds.largest_value");
}

TEST(Exchange, APartyWhoseReplyCouldNotBeUsedHasNoPartInTheRest) {
  Scripted channel(kMean);
  Terms told = terms(rules(OnMissing::kProceed, 2));
  std::vector<std::string> said;
  told.notice = [&](const Event& event) { said.push_back(in_words(event)); };
  auto exchange = Exchange::make(channel, told);
  exchange->open();
  channel.silent = {1};
  channel.push({Arrival::What::kFrame, 1,
                transport::shared(wire::make_frame({.kind = Kind::kReply, .run = exchange->run(), .round = 1},
                                                   Mean::Reply{1, {7}}))});
  const auto end = drive<Mean>(kMean, {0, {0, 0}}, *exchange, [&](std::int64_t, const Mean::Iterate&) {
    channel.silent.clear();
    channel.join(1);  // and again
    return true;
  });
  ASSERT_TRUE(end);
  EXPECT_EQ(channel.tasks_to(1), 1) << "no other than the first";
  EXPECT_EQ(exchange->meter().communication().answered[1], 0);
  EXPECT_NE(std::find(said.begin(), said.end(),
                      "round 1: the reply of party 'b' cannot be used: it does not have the size of the estimate; the "
                      "run goes on without it"),
            said.end());
  EXPECT_TRUE(std::any_of(channel.sent.begin(), channel.sent.end(), [](const auto& frame) {
    return frame.first == 1 && frame.second.kind == Kind::kRefuse &&
           frame.second.code == static_cast<std::uint8_t>(wire::Refusal::kBegunWithout);
  }));
}

// In round 0 it opens; code 2 is the budget's, 0, 77 and 255 are nobody's.
TEST(Exchange, ACodeOfAPartyNeverEndsARunThatMayProceedAndNeverSpendsABudgetThatIsNotThere) {
  for (const std::int64_t round : {0, 1})
    for (const int code : {0, 1, 2, 3, 4, 5, 77, 255})
      for (const bool proceeds : {true, false}) {
        Scripted channel(kMean);
        const Rules under = proceeds ? rules(OnMissing::kProceed, 2) : Rules{};
        auto exchange = Exchange::make(channel, terms(under));
        const auto fault = [&] {
          channel.silent = {1};
          const wire::Header header{
              .kind = Kind::kFault, .code = static_cast<std::uint8_t>(code), .run = exchange->run(), .round = round};
          channel.push({Arrival::What::kFrame, 1, transport::shared(wire::make_frame(header))});
        };
        if (round == 0) fault();
        const auto opened = exchange->open({.budgets = false});
        if (round == 0 && !proceeds) {
          ASSERT_FALSE(opened);
          EXPECT_EQ(opened.error().exit_code(), 1) << code;
          EXPECT_EQ(opened.error().message.find("party 'b' "), 0U) << opened.error().message;
          continue;
        }
        ASSERT_TRUE(opened) << opened.error().message;
        if (round == 1) fault();
        channel.at_deadline = [&] {
          channel.silent.clear(), channel.join(1);
        };  // 4: it failed, and may answer the next round
        const auto end = drive(kMean, Mean::Iterate{0, {0, 0}}, *exchange);
        EXPECT_EQ(end.has_value(), proceeds) << code;
        if (end) {
          EXPECT_EQ(end->ended, Ended::kDone) << code;
          EXPECT_EQ(end->rounds, 6);
        } else {
          EXPECT_EQ(end.error().exit_code(), 1) << code;
          EXPECT_EQ(end.error().message.find("round 1: party 'b' gave no answer: "), 0U) << end.error().message;
        }
      }
}

TEST(Exchange, ABudgetThatEndsStillEndsARunThatSpendsOne) {
  Scripted channel(kMean);
  auto exchange = Exchange::make(channel, terms());
  exchange->open({.budgets = true});
  channel.silent = {1};
  channel.push({Arrival::What::kFrame, 1, transport::shared(wire::make_frame({Kind::kFault, 2, exchange->run(), 1}))});
  const auto end = drive(kMean, Mean::Iterate{0, {0, 0}}, *exchange);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->ended, Ended::kBudgetEnded);
}

// One that is counted as missing and as answered would let a round end before everybody else was heard.
TEST(Exchange, APartyThatGivesUpARoundAndThenAnswersItIsCountedOnce) {
  Scripted channel(kMean);
  auto exchange = Exchange::make(channel, terms(rules(OnMissing::kProceed, 1)));
  exchange->open();
  channel.silent = {1, 2};
  const auto code = static_cast<std::uint8_t>(privacy::FaultCode::kInternal);
  channel.push(
      {Arrival::What::kFrame, 1, transport::shared(wire::make_frame({Kind::kFault, code, exchange->run(), 1}))});
  channel.push({Arrival::What::kFrame, 1,
                transport::shared(wire::make_frame({.kind = Kind::kReply, .run = exchange->run(), .round = 1},
                                                   Mean::Reply{1, {2, 20}}))});
  channel.at_deadline = [&] {
    channel.silent.clear();
    channel.join(2);  // c is slow, not lost
  };
  const auto end = drive<Mean>(kMean, {0, {0, 0}}, *exchange, [](std::int64_t, const Mean::Iterate&) { return false; });
  ASSERT_TRUE(end);
  EXPECT_EQ(exchange->meter().communication().answered, (std::vector<std::int64_t>{1, 0, 1}));
}

TEST(Exchange, AnIntroductionThatCannotBeTrueIsNeverKeptAndNamesItsParty) {
  const auto check = [](int party, std::string_view) -> Result<void> {
    if (party == 1) return fail(failed("2147483647 columns"));
    return {};
  };
  Scripted waiting(kMean);
  auto needs_all = Exchange::make(waiting, terms());
  const auto refused = needs_all->open({.introduction = check});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "party 'b' introduced itself in a way that cannot be used: 2147483647 columns");
  EXPECT_EQ(refused.error().exit_code(), 1);

  TemporaryFolder folder;
  Scripted channel(kMean);
  Terms kept = terms(rules(OnMissing::kProceed, 2));
  kept.checkpoint = folder / "checkpoint";
  auto exchange = Exchange::make(channel, kept);
  const auto opened = exchange->open({.introduction = check});
  ASSERT_TRUE(opened && *opened) << opened.error().message;
  EXPECT_EQ(exchange->left_out(), std::vector<int>{1});
  ASSERT_TRUE(drive(kMean, Mean::Iterate{0, {0, 0}}, *exchange));
  EXPECT_EQ((*load_checkpoint(kept.checkpoint))->introductions[1], "");
  EXPECT_EQ(channel.tasks_to(1), 0);
}
