#include "parley/rounds/handler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "parley/core/files.h"
#include "tests/rounds/mean_parties.h"
#include "tests/support/temporary_folder.h"

using namespace parley;
using namespace parley::rounds;
using tests::Mean;
using wire::Bytes;
using wire::Kind;
using wire::Refusal;

namespace {

constexpr wire::RunId kRun{1, 2, 3};
const Mean kMean{.rounds = 5};

Bytes opening(const wire::RunId& run = kRun) {
  return wire::make_frame({.kind = Kind::kOpen, .run = run}, "job");
}
Bytes task(std::int64_t round, double at = 0, const wire::RunId& run = kRun) {
  return wire::make_frame({.kind = Kind::kTask, .run = run, .round = round}, Mean::Task{{at, at}});
}
wire::Header header(const std::optional<transport::SharedFrame>& frame) {
  return wire::read_frame(**frame)->header;
}
void expect_refusal(const std::optional<transport::SharedFrame>& frame, Refusal why) {
  ASSERT_TRUE(frame);
  EXPECT_EQ(header(frame).kind, Kind::kRefuse);
  EXPECT_EQ(header(frame).code, static_cast<std::uint8_t>(why));
  EXPECT_EQ((*frame)->size(), wire::kHeaderBytes) << "a refusal has no text";
}

void expect_fault(const std::optional<transport::SharedFrame>& frame, privacy::FaultCode why) {
  ASSERT_TRUE(frame);
  EXPECT_EQ(header(frame).kind, Kind::kFault);
  EXPECT_EQ(header(frame).code, static_cast<std::uint8_t>(why));
  EXPECT_EQ((*frame)->size(), wire::kHeaderBytes) << "a fault has no text";
}

class HandlerTest : public testing::Test {
 protected:
  Handler handler(const std::string& keeps_in) {
    return Handler(tests::admits(kMean, 2), keeps_in, [this](const SiteEvent& event) { events.push_back(event); });
  }
  TemporaryFolder folder;
  std::vector<SiteEvent> events;
};

}  // namespace

TEST_F(HandlerTest, IntroducesThePartyWhenTheJobIsAdmitted) {
  Handler site = handler("");
  const auto ready = site.respond(opening());
  EXPECT_EQ(header(ready).kind, Kind::kReady);
  EXPECT_EQ(wire::read_frame(**ready)->payload.substr(0, 5), "value");
}

TEST_F(HandlerTest, ARepeatedRequestGetsTheSameBytes) {
  Handler site = handler("");
  site.respond(opening());
  const auto first = site.respond(task(1));
  EXPECT_EQ(header(first).kind, Kind::kReply);
  EXPECT_EQ(**site.respond(task(1)), **first);
  EXPECT_NE(**site.respond(task(2)), **first);
}

TEST_F(HandlerTest, AKilledPartyComesBackWithItsMemoryAndItsLastAnswer) {
  Bytes second;
  Bytes third;
  {
    Handler never_killed = handler("");
    never_killed.respond(opening());
    never_killed.respond(task(1));
    second = **never_killed.respond(task(2));
    third = **never_killed.respond(task(3));
  }
  for (int round = 1; round <= 2; ++round) {
    Handler site = handler(folder.path());  // a new process each time
    EXPECT_EQ(header(site.respond(opening())).kind, Kind::kReady);
    site.respond(task(round));
  }
  Handler site = handler(folder.path());
  site.respond(opening());
  EXPECT_EQ(**site.respond(task(2)), second);
  EXPECT_EQ(**site.respond(task(3)), third);
}

TEST_F(HandlerTest, OldRoundsOtherTasksAndOtherRunsAreRefused) {
  Handler site = handler(folder.path());
  expect_refusal(site.respond(task(1)), Refusal::kWrongRun);
  site.respond(opening());
  site.respond(task(3));
  expect_refusal(site.respond(task(2)), Refusal::kOldRound);
  expect_refusal(site.respond(task(3, 0.5)), Refusal::kOtherTask);
  expect_refusal(site.respond(task(4, 0, {9})), Refusal::kWrongRun);
  expect_refusal(site.respond(task(0)), Refusal::kUnexpected);
  expect_refusal(site.respond(wire::make_frame({.kind = Kind::kReply, .run = kRun, .round = 4})), Refusal::kUnexpected);
  EXPECT_EQ(header(site.respond(task(4))).kind, Kind::kReply) << "none of it harmed the run";
}

TEST_F(HandlerTest, ARunThatIsOverStaysOver) {
  {
    Handler site = handler(folder.path());
    site.respond(opening());
    site.respond(task(1));
    EXPECT_EQ(header(site.respond(wire::make_frame({.kind = Kind::kClose, .run = kRun, .round = 1}))).kind,
              Kind::kClose);
    EXPECT_TRUE(site.over());
    expect_refusal(site.respond(task(2)), Refusal::kWrongRun);
  }
  Handler site = handler(folder.path());
  const auto refused = site.respond(opening());
  EXPECT_EQ(header(refused).kind, Kind::kFault);
  EXPECT_EQ(header(refused).code, static_cast<std::uint8_t>(privacy::FaultCode::kNotAllowed));
  EXPECT_EQ(header(site.respond(opening({7}))).kind, Kind::kReady) << "another run may begin";
}

// Whoever is not asked in every round answers the next that asks it, up to the last that the job promises.
TEST_F(HandlerTest, RoundsThatWereSkippedStaySkippedAndThePromiseIsOfRounds) {
  const Admit admits = tests::admits(kMean, 2);
  const auto process = [&] {
    return Handler(
        [&](const Opening& about) -> Result<Admission> {
          PARLEY_TRY(Admission admission, admits(about));
          admission.rounds = 8;
          return admission;
        },
        folder.path(), [this](const SiteEvent& event) { events.push_back(event); });
  };
  Bytes third;
  {
    Handler site = process();
    site.respond(opening());
    third = **site.respond(task(3));
  }
  Handler site = process();  // killed while it was not asked
  site.respond(opening());
  EXPECT_EQ(**site.respond(task(3)), third);
  const auto seventh = site.respond(task(7));
  EXPECT_EQ(header(seventh).kind, Kind::kReply);
  EXPECT_EQ(wire::decode<Mean::Reply>(wire::read_frame(**seventh)->payload)->answered, 2) << "its memory came back";
  for (const int round : {3, 4, 6}) expect_refusal(site.respond(task(round)), Refusal::kOldRound);
  EXPECT_EQ(**site.respond(task(7)), **seventh);
  expect_fault(site.respond(task(9)), privacy::FaultCode::kNotAllowed);
  EXPECT_EQ(events.back().what, SiteEvent::What::kBeyondPromise);
  EXPECT_EQ(events.back().promised, 8);
  EXPECT_EQ(header(site.respond(task(8))).kind, Kind::kReply);
}

TEST_F(HandlerTest, CountsWhatLeftThroughRestarts) {
  std::int64_t size = 0;
  {
    Handler site = handler(folder.path());
    site.respond(opening());
    size = static_cast<std::int64_t>((*site.respond(task(1)))->size());
    site.respond(task(3));  // a round went on without this party
    site.respond(task(3));
  }
  const auto unfinished = unfinished_runs(folder.path());
  ASSERT_EQ(unfinished.size(), 1U);
  EXPECT_EQ(unfinished.front().first, kRun);
  EXPECT_EQ(unfinished.front().second.rounds, 2);
  EXPECT_EQ(unfinished.front().second.bytes, 3 * size);
  Handler site = handler(folder.path());
  site.respond(opening());
  site.respond(task(4));
  site.respond(wire::make_frame({.kind = Kind::kClose, .run = kRun}));
  EXPECT_EQ(events.back().what, SiteEvent::What::kClosed);
  EXPECT_EQ(events.back().so_far.rounds, 3);
  EXPECT_EQ(events.back().so_far.bytes, 4 * size);
  EXPECT_TRUE(unfinished_runs(folder.path()).empty());
}

TEST_F(HandlerTest, DamagedStateIsNotGuessedAt) {
  {
    Handler site = handler(folder.path());
    site.respond(opening());
    site.respond(task(1));
  }
  const std::string file = folder / (wire::hex(kRun) + ".kept");
  Bytes content = *read_whole(file);
  content[content.size() / 2] = static_cast<char>(content[content.size() / 2] ^ 1);
  ASSERT_TRUE(write_atomically(file, content));
  Handler site = handler(folder.path());
  EXPECT_EQ(header(site.respond(opening())).kind, Kind::kFault);
}

TEST_F(HandlerTest, ATaskThatDoesNotFitIsACodeWithoutText) {
  Handler site = handler("");
  site.respond(opening());
  const auto fault =
      site.respond(wire::make_frame({.kind = Kind::kTask, .run = kRun, .round = 1}, Mean::Task{{1, 2, 3}}));
  EXPECT_EQ(header(fault).kind, Kind::kFault);
  EXPECT_EQ(header(fault).code, static_cast<std::uint8_t>(privacy::FaultCode::kBadTask));
  EXPECT_EQ((*fault)->size(), wire::kHeaderBytes);
  EXPECT_NE(events.back().why.find("size of the data"), std::string::npos) << "the site knows why";
  EXPECT_EQ(header(site.respond(task(1))).kind, Kind::kReply) << "the round can still be answered";
}

TEST_F(HandlerTest, MalformedBytesAreRefusedAndHarmNothing) {
  Handler site = handler("");
  site.respond(opening());
  const Bytes good = task(1);
  for (std::size_t at = 0; at < good.size(); ++at) {
    Bytes bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x40);
    EXPECT_EQ(header(site.respond(bad)).kind, Kind::kRefuse);
    EXPECT_EQ(header(site.respond(std::string_view(good).substr(0, at))).kind, Kind::kRefuse);
  }
  EXPECT_EQ(header(site.respond(good)).kind, Kind::kReply);
}

TEST_F(HandlerTest, AnAnswerThatMayNotLeaveStaysHere) {
  const Admit admits = tests::admits(kMean, 2);
  Handler site(
      [&](const Opening& about) -> Result<Admission> {
        PARLEY_TRY(Admission admission, admits(about));
        admission.leaving = [](std::int64_t round, std::string_view) -> Result<void> {
          if (round == 2) return fail(failed("has left before"));
          return {};
        };
        return admission;
      },
      folder.path());
  site.respond(opening());
  EXPECT_EQ(header(site.respond(task(1))).kind, Kind::kReply);
  for (const int round : {2, 3}) expect_fault(site.respond(task(round)), privacy::FaultCode::kPastLost);
  // What was kept is not what left: the run cannot be taken up either.
  const auto fault = site.respond(opening());
  EXPECT_EQ(header(fault).kind, Kind::kFault);
  EXPECT_EQ(header(fault).code, static_cast<std::uint8_t>(privacy::FaultCode::kPastLost));
}

TEST_F(HandlerTest, WhatWasDrawnComesBackWithTheAnswerItWasKeptWith) {
  const Admit admits = tests::admits(kMean, 2);
  std::vector<std::string> brought_back;
  int draws = 0;
  const auto process = [&] {
    return Handler(
        [&](const Opening& about) -> Result<Admission> {
          brought_back.push_back(about.drawn);
          PARLEY_TRY(Admission admission, admits(about));
          admission.drawn = [&] { return Bytes(static_cast<std::size_t>(draws), 'd'); };
          return admission;
        },
        folder.path());
  };
  Handler first = process();
  first.respond(opening());
  draws = 3;
  first.respond(task(1));
  draws = 5;
  first.respond(wire::make_frame({.kind = Kind::kTask, .run = kRun, .round = 2}, Mean::Task{{1, 2, 3}}));
  Handler second = process();
  second.respond(opening());
  EXPECT_EQ(brought_back, (std::vector<std::string>{"", "ddd"})) << "a task that was not answered changes nothing";
}

TEST_F(HandlerTest, AnotherJobUnderTheNameOfARunIsNotAdmitted) {
  {
    Handler site = handler(folder.path());
    site.respond(opening());
  }
  Handler site = handler(folder.path());
  const auto fault = site.respond(wire::make_frame({.kind = Kind::kOpen, .run = kRun}, "another job"));
  EXPECT_EQ(header(fault).kind, Kind::kFault);
  EXPECT_EQ(header(fault).code, static_cast<std::uint8_t>(privacy::FaultCode::kNotAllowed));
  EXPECT_EQ(header(site.respond(opening())).kind, Kind::kReady);
}

// Bits flipped, cut off, lengthened, of other versions, kinds, runs and rounds, repeated and out of order.
TEST_F(HandlerTest, TenThousandSpoiledFramesAreRefusedWithACodeAndHarmNothing) {
  Handler site = handler("");
  Handler undisturbed = handler("");
  site.respond(opening());
  undisturbed.respond(opening());
  site.respond(task(1));
  undisturbed.respond(task(1));
  const Bytes first = **site.respond(task(2));
  EXPECT_EQ(first, **undisturbed.respond(task(2)));
  std::mt19937_64 dice(5);
  const auto spoiled = [&]() -> Bytes {
    Bytes frame = dice() % 4 == 0 ? opening() : task(3);
    const auto at = [&](std::size_t size) { return static_cast<std::size_t>(dice() % size); };
    switch (dice() % 8) {
      case 0: {
        const std::size_t bit = at(8 * frame.size());
        frame[bit / 8] = static_cast<char>(frame[bit / 8] ^ (1 << bit % 8));
        return frame;
      }
      case 1:
        return frame.substr(0, at(frame.size()));
      case 2:
        return frame + Bytes(1 + at(5000), 'x');
      case 3:
        for (char& byte : frame) byte = static_cast<char>(dice());
        return frame;
      case 4:
        frame[4] = static_cast<char>(2 + at(250));
        return frame;
      case 5:
        return wire::make_frame({.kind = static_cast<Kind>(8 + at(240)), .run = kRun, .round = 3});
      case 6:
        return task(static_cast<std::int64_t>(at(2)));  // rounds long past
      default:
        return dice() % 2 == 0 ? task(2, 0.5) : task(3, 0, {9});
    }
  };
  for (int i = 0; i < 10000; ++i) {
    const auto refused = site.respond(spoiled());
    ASSERT_TRUE(refused);
    ASSERT_EQ(header(refused).kind, Kind::kRefuse) << "frame " << i;
    ASSERT_GE(header(refused).code, static_cast<std::uint8_t>(Refusal::kCutOff));
    if (i % 100 == 0) {
      EXPECT_EQ(**site.respond(task(2)), first) << "a repeat is answered with the same bytes";
    }
  }
  EXPECT_EQ(**site.respond(task(3)), **undisturbed.respond(task(3)));
}

TEST_F(HandlerTest, AFrameFromElsewhereIsRefusedWithoutAChecksum) {
  Handler site = handler(folder.path());
  const auto unchecked = [](Bytes frame) {
    for (std::size_t at = 40; at < 48; ++at) frame[at] = '\0';
    return frame;
  };
  expect_refusal(site.respond(unchecked(opening())), Refusal::kDamaged);
  EXPECT_TRUE(unfinished_runs(folder.path()).empty());
  site.respond(opening());
  expect_refusal(site.respond(unchecked(task(1))), Refusal::kDamaged);
  EXPECT_EQ(unfinished_runs(folder.path()).front().second.rounds, 0);
  const auto reply = site.respond(unchecked(task(1)), wire::Unchecked::kAllowed);
  EXPECT_EQ(wire::read_frame(**reply, wire::kDefaultLimit, wire::Unchecked::kAllowed)->header.kind, Kind::kReply)
      << "in one program";
}

TEST_F(HandlerTest, ADiskThatTakesNothingIsACodeOfItsOwnUntilTheRunIsOpenedAnew) {
  const Admit admits = tests::admits(kMean, 2);
  bool full = false;
  Handler site(
      [&](const Opening& about) -> Result<Admission> {
        PARLEY_TRY(Admission admission, admits(about));
        admission.leaving = [&](std::int64_t, std::string_view) -> Result<void> {
          if (full) return fail(unavailable("the disk is full"));
          return {};
        };
        return admission;
      },
      folder.path());
  site.respond(opening());
  full = true;
  for (const int round : {1, 1, 2}) expect_fault(site.respond(task(round)), privacy::FaultCode::kUnavailable);
  full = false;
  expect_fault(site.respond(task(1)), privacy::FaultCode::kUnavailable);
  EXPECT_EQ(header(site.respond(opening())).kind, Kind::kReady);
  EXPECT_EQ(header(site.respond(task(1))).kind, Kind::kReply);
}

TEST_F(HandlerTest, WhyAMachineDoesNotAdmitIsNotThatTheJobIsNotAllowed) {
  Error why = unavailable("the ledger is held by another process");
  Handler site([&](const Opening&) -> Result<Admission> { return fail(why); }, folder.path());
  expect_fault(site.respond(opening()), privacy::FaultCode::kUnavailable);
  why.cause = Cause::kPast;
  expect_fault(site.respond(opening()), privacy::FaultCode::kPastLost);
  why.cause = Cause::kItsOwn;
  expect_fault(site.respond(opening()), privacy::FaultCode::kNotAllowed);
}

TEST_F(HandlerTest, WhatARunBeganWithComesBackWhenItIsTakenUp) {
  const Admit admits = tests::admits(kMean, 2);
  std::vector<std::string> began_with;
  for (const char* data : {"one", "two", "three"}) {
    Handler site(
        [&](const Opening& about) -> Result<Admission> {
          began_with.push_back(about.data);
          if (about.resumed) return fail(failed("is another table"));
          PARLEY_TRY(Admission admission, admits(about));
          admission.data = data;
          return admission;
        },
        folder.path());
    site.respond(opening());
    if (began_with.size() == 1) site.respond(task(1));
  }
  EXPECT_EQ(began_with, (std::vector<std::string>{"", "one", "one"}));
}

TEST_F(HandlerTest, RunsThatAreNeverClosedAreBoundedAndThoseWithoutAnswersGoFirst) {
  Handler site = handler(folder.path());
  site.respond(opening({200}));
  site.respond(task(1, 0, {200}));
  for (std::uint8_t n = 1; n <= 150; ++n) site.respond(opening({n}));
  const auto open = unfinished_runs(folder.path());
  EXPECT_EQ(open.size(), 64U);
  const auto has = [&](std::uint8_t n) {
    return std::any_of(open.begin(), open.end(), [&](const auto& run) { return run.first == wire::RunId{n}; });
  };
  EXPECT_TRUE(has(200)) << "it has answered";
  EXPECT_TRUE(has(150)) << "it was opened last";
  EXPECT_FALSE(has(1));
  const auto forgotten = std::count_if(
      events.begin(), events.end(), [](const SiteEvent& event) { return event.what == SiteEvent::What::kForgotten; });
  EXPECT_EQ(forgotten, 151 - 64) << "and the site hears of it";
  EXPECT_EQ(header(site.respond(task(1, 0, {150}))).kind, Kind::kReply);
}

TEST_F(HandlerTest, OfManyRunsThatAreOverTheLatestAreKeptBesideThoseThatAreNotOver) {
  const auto kept = [&] {
    return std::distance(std::filesystem::directory_iterator(folder.path()), std::filesystem::directory_iterator());
  };
  Handler site = handler(folder.path());
  for (std::uint8_t n = 1; n <= 3; ++n) site.respond(opening({n}));  // left behind by a coordinator that gave up
  wire::RunId last{};
  for (std::uint8_t n = 1; n <= 70; ++n) {
    last = {n, 1};
    site.respond(opening(last));
    site.respond(wire::make_frame({.kind = Kind::kClose, .run = last}));
  }
  EXPECT_EQ(kept(), 64 + 3);
  Handler again = handler(folder.path());
  EXPECT_EQ(header(again.respond(opening(last))).kind, Kind::kFault) << "it is known to be over";
}
