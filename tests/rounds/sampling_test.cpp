// Rounds that do not ask everybody.
#include <gtest/gtest.h>

#include "parley/core/threads.h"
#include "parley/rounds/drive.h"
#include "tests/rounds/sampled_mean.h"
#include "tests/rounds/scripted.h"
#include "tests/support/temporary_folder.h"

using namespace parley;
using namespace parley::rounds;
using tests::kUnsampled;
using tests::Mean;
using tests::SampledMean;
using tests::Scripted;
using transport::Arrival;
using wire::Kind;

namespace {

const SampledMean kSampled;

std::vector<Admit> sites(const SampledMean& algorithm = kSampled) {
  std::vector<Admit> admits;
  for (const double value : tests::kSampledValues) admits.push_back(tests::admits_sampled(algorithm, value));
  return admits;
}
Terms terms(Rules rules = {}) {
  return {.parties = {"a", "b", "c"}, .job = "job", .rules = rules};
}
Rules rules(OnMissing on_missing, int quorum = 1) {
  return {on_missing, std::chrono::milliseconds(1), quorum};
}
const wire::Bytes& undisturbed() {
  static const wire::Bytes learnt = wire::encode(tests::simulated(kSampled).outcome.iterate);
  return learnt;
}
SampledMean asking(std::vector<std::vector<int>> plan) {
  return {.plan = std::move(plan)};
}
Arrival fault_of(int party, privacy::FaultCode code, const wire::RunId& run, std::int64_t round) {
  return {Arrival::What::kFrame, party,
          transport::shared(wire::make_frame({Kind::kFault, static_cast<std::uint8_t>(code), run, round}))};
}

}  // namespace

TEST(Sampling, HandsOnTheAnswersOfThoseThatWereAskedInPartyOrder) {
  const auto end = tests::simulated(kSampled);
  EXPECT_EQ(end.outcome.ended, Ended::kDone);
  EXPECT_EQ(end.outcome.iterate.heard,
            (std::vector<std::int64_t>{1, 101, 201, 2, 202, 3, 203, 4, 204, 102, 205, 5, 103}));
  EXPECT_EQ(end.communication.asked, (std::vector<std::int64_t>{5, 3, 5}));
  EXPECT_EQ(end.communication.answered, end.communication.asked);
}

TEST(Sampling, APartyThatIsSkippedGetsAndSendsNoByteInThatRound) {
  Scripted channel(sites());
  auto exchange = Exchange::make(channel, terms());
  ASSERT_TRUE(exchange->open());
  const auto around = exchange->meter().communication().around;
  std::int64_t rounds = 0;
  const auto seen = [&](std::int64_t round, const SampledMean::Iterate&) {
    for (int party = 0; party < 3; ++party) {
      const Traffic traffic = exchange->meter().round()[static_cast<std::size_t>(party)];
      EXPECT_EQ(traffic.down > 0, kSampled.asks(round - 1, party)) << round << " " << party;
      EXPECT_EQ(traffic.up > 0, kSampled.asks(round - 1, party)) << round << " " << party;
    }
    ++rounds;
    return true;
  };
  const auto end = drive<SampledMean>(kSampled, kUnsampled, *exchange, seen);
  ASSERT_TRUE(end);
  EXPECT_EQ(rounds, 8);
  EXPECT_EQ(channel.tasks_to(0) + channel.tasks_to(1) + channel.tasks_to(2), 13);
  EXPECT_EQ(exchange->meter().communication().around.down, around.down) << "nor around the rounds";
  EXPECT_EQ(wire::encode(end->iterate), undisturbed());
}

TEST(Sampling, ThreadsChangeNothing) {
  for (const int threads : {1, 4}) {
    set_thread_count(threads);
    EXPECT_EQ(wire::encode(tests::simulated(kSampled).outcome.iterate), undisturbed());
  }
  set_thread_count(0);
}

TEST(Sampling, ARoundThatAsksNobodyIsAnErrorOfTheAlgorithm) {
  Scripted channel(sites());
  auto exchange = Exchange::make(channel, terms());
  ASSERT_TRUE(exchange->open());
  const auto end = drive(asking({{0}, {}}), kUnsampled, *exchange);
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().message, "round 2: an error of the algorithm: it asks no party that takes part");
}

TEST(Sampling, NobodyWaitsForAPartyThatIsAwayAndNotAsked) {
  for (const OnMissing missing : {OnMissing::kWait, OnMissing::kFail, OnMissing::kProceed}) {
    Scripted channel(sites());
    Terms told = terms(rules(missing));
    std::vector<std::string> said;
    told.notice = [&](const Event& event) { said.push_back(in_words(event)); };
    auto exchange = Exchange::make(channel, told);
    ASSERT_TRUE(exchange->open());
    said.clear();
    const auto seen = [&](std::int64_t round, const SampledMean::Iterate&) {
      if (round == 1) channel.push({Arrival::What::kLeft, 1, {}});
      if (round != 6) return true;
      EXPECT_EQ(said, std::vector<std::string>{"b left"}) << "no round has waited for it";
      channel.join(1);
      return true;
    };
    const auto end = drive<SampledMean>(kSampled, kUnsampled, *exchange, seen);
    ASSERT_TRUE(end) << end.error().message;
    EXPECT_EQ(channel.deadlines, 0);
    // In the round in which it joins the quorum of a run that may proceed does not wait for it.
    if (missing == OnMissing::kProceed) continue;
    EXPECT_EQ(wire::encode(end->iterate), undisturbed());
  }
}

TEST(Sampling, TheMissingAreThoseThatWereAsked) {
  Scripted channel(sites());
  auto exchange = Exchange::make(channel, terms(rules(OnMissing::kFail)));
  ASSERT_TRUE(exchange->open());
  channel.silent = {1, 2};
  const auto end = drive(asking({{0}, {0, 2}}), kUnsampled, *exchange);
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().message, "round 2: no answer in time from: c");
  EXPECT_EQ(exchange->meter().communication().asked, (std::vector<std::int64_t>{1, 0, 0}))
      << "of a round that was kept";
}

TEST(Sampling, TheQuorumIsOfThoseThatWereAsked) {
  Scripted channel(sites());
  auto exchange = Exchange::make(channel, terms(rules(OnMissing::kProceed, 2)));
  ASSERT_TRUE(exchange->open());
  channel.silent = {1};
  const auto end = drive(asking({{0}, {0, 1, 2}, {2}, {1, 2}}), kUnsampled, *exchange,
                         RoundObserver<SampledMean::Iterate>([&](std::int64_t round, const SampledMean::Iterate&) {
                           EXPECT_EQ(channel.deadlines, round < 2 ? 0 : 1) << "it is late in round 2";
                           if (round == 3) channel.silent.clear();
                           return true;
                         }));
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->iterate.heard, (std::vector<std::int64_t>{1, 2, 201, 202, 101, 203}));
  EXPECT_EQ(exchange->meter().communication().asked, (std::vector<std::int64_t>{2, 2, 3}));
  EXPECT_EQ(exchange->meter().communication().answered, (std::vector<std::int64_t>{2, 1, 3}));
}

TEST(Sampling, AQuorumBelowThoseAskedGoesOnWithoutTheLate) {
  Scripted channel(sites());
  auto exchange = Exchange::make(channel, terms(rules(OnMissing::kProceed, 1)));
  ASSERT_TRUE(exchange->open());
  channel.silent = {2};
  const auto end = drive(asking({{0, 2}, {1, 2}}), kUnsampled, *exchange);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->iterate.heard, (std::vector<std::int64_t>{1, 101}));
}

TEST(Sampling, ARunThatMayProceedEndsWhereAllThatARoundAsksWillNotGoOn) {
  Scripted channel(sites());
  auto exchange = Exchange::make(channel, terms(rules(OnMissing::kProceed, 1)));
  ASSERT_TRUE(exchange->open());
  channel.silent = {1};
  channel.push(fault_of(1, privacy::FaultCode::kBadTask, exchange->run(), 1));
  const auto end = drive(asking({{0, 1}, {2}, {1}}), kUnsampled, *exchange);
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().message, "round 3: fewer parties are left than the quorum; no answer from: b");
  EXPECT_EQ(exchange->rounds_done(), 2);
}

TEST(Sampling, WhoJoinsAgainAndIsNotAskedWaitsForTheRoundThatAsksIt) {
  Scripted channel(sites());
  auto exchange = Exchange::make(channel, terms());
  ASSERT_TRUE(exchange->open());
  const auto seen = [&](std::int64_t round, const SampledMean::Iterate&) {
    if (round == 1) channel.push({Arrival::What::kLeft, 1, {}});
    if (round != 4) return true;
    channel.silent = {0};  // of whom alone round 5 asks an answer
    channel.at_deadline = [&] {
      if (channel.deadlines == 1) return channel.join(1);
      EXPECT_EQ(channel.sent.back().first, 1);
      EXPECT_EQ(channel.sent.back().second.kind, Kind::kOpen) << "it was opened, and given no task";
      channel.silent.clear();
      channel.join(0);
    };
    return true;
  };
  const auto end = drive<SampledMean>(kSampled, kUnsampled, *exchange, seen);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(channel.tasks_to(1), 3);
  EXPECT_EQ(wire::encode(end->iterate), undisturbed());
}

// After every round a new process of the coordinator and of every party, from what they have kept.
TEST(Sampling, WhoeverIsKilledBetweenRoundsGoesOnToTheSameBits) {
  TemporaryFolder folder;
  Scripted channel(sites(), folder.path());
  Terms kept = terms();
  kept.checkpoint = folder / "checkpoint";
  for (std::int64_t until = 1; until <= 8; ++until) {
    auto exchange = Exchange::make(channel, kept);
    ASSERT_TRUE(exchange);
    ASSERT_TRUE(exchange->open());
    const auto end = drive<SampledMean>(kSampled, kUnsampled, *exchange,
                                        [&](std::int64_t round, const SampledMean::Iterate&) { return round < until; });
    ASSERT_TRUE(end) << end.error().message;
    ASSERT_EQ(end->rounds, until);
    if (until == 8) {
      EXPECT_EQ(wire::encode(end->iterate), undisturbed());
      EXPECT_EQ(exchange->meter().communication().asked, (std::vector<std::int64_t>{5, 3, 5}));
    }
    for (int party = 0; party < 3; ++party) {
      channel.restart(party);
      channel.join(party);
    }
  }
}

// Killed in the middle of each round in turn, when the first of those it asks has answered and the last has not.
TEST(Sampling, WhoeverIsKilledWithinARoundGoesOnToTheSameBits) {
  for (std::int64_t killed_in = 1; killed_in <= 8; ++killed_in) {
    SCOPED_TRACE(killed_in);
    TemporaryFolder folder;
    Scripted channel(sites(), folder.path());
    Terms kept = terms();
    kept.checkpoint = folder / "checkpoint";
    bool stop = false;
    kept.stop_asked = [&] { return stop; };
    const int last = kSampled.plan[static_cast<std::size_t>(killed_in - 1)].back();
    {
      auto exchange = Exchange::make(channel, kept);
      ASSERT_TRUE(exchange->open());
      if (killed_in == 1) channel.silent = {last};
      channel.at_deadline = [&] {
        stop = true;
        channel.wake();
      };
      const auto end =
          drive<SampledMean>(kSampled, kUnsampled, *exchange, [&](std::int64_t round, const SampledMean::Iterate&) {
            if (round == killed_in - 1) channel.silent = {last};
            return true;
          });
      ASSERT_TRUE(end);
      EXPECT_EQ(end->ended, Ended::kStopped);
      EXPECT_EQ(end->rounds, killed_in - 1);
    }
    stop = false;
    channel.silent.clear();
    channel.at_deadline = {};
    for (int party = 0; party < 3; ++party) {
      channel.restart(party);
      channel.join(party);
    }
    auto again = Exchange::make(channel, kept);
    ASSERT_TRUE(again && again->open());
    const auto end = drive(kSampled, kUnsampled, *again);
    ASSERT_TRUE(end) << end.error().message;
    EXPECT_EQ(wire::encode(end->iterate), undisturbed());
    EXPECT_EQ(again->meter().communication().asked, (std::vector<std::int64_t>{5, 3, 5}));
  }
}

// What it says of a round that does not ask it is not an answer, and changes nothing in the round.
TEST(Sampling, WhatAPartySaysOfARoundThatDoesNotAskItIsRefused) {
  const auto frame = [](Kind kind, std::uint8_t code, const wire::RunId& run) {
    const wire::Header header{.kind = kind, .code = code, .run = run, .round = 2};
    return kind == Kind::kReply ? wire::make_frame(header, Mean::Reply{7, {70, 70}}) : wire::make_frame(header);
  };
  for (const Kind kind : {Kind::kReply, Kind::kFault})
    for (const std::uint8_t code : {2, 4, 6}) {
      Scripted channel(sites());
      auto exchange = Exchange::make(channel, terms());
      ASSERT_TRUE(exchange->open());
      const auto before = [&](std::int64_t round, const SampledMean::Iterate&) {
        if (round != 1) return true;
        channel.silent = {0};
        channel.push({Arrival::What::kFrame, 1, transport::shared(frame(kind, code, exchange->run()))});
        channel.at_deadline = [&] {
          channel.silent.clear();
          channel.join(0);
          channel.join(1);
        };
        return true;
      };
      const auto end = drive<SampledMean>(kSampled, kUnsampled, *exchange, before);
      ASSERT_TRUE(end) << end.error().message;
      EXPECT_EQ(end->ended, Ended::kDone);
      EXPECT_EQ(channel.dropped, std::vector<int>{1});
      EXPECT_EQ(wire::encode(end->iterate), undisturbed());
      EXPECT_EQ(exchange->meter().communication().per_party[1].up,
                3 * static_cast<std::int64_t>(wire::kHeaderBytes + wire::encoded_size(Mean::Reply{0, {0, 0}})));
    }
}
