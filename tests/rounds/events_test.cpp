#include "parley/rounds/events.h"

#include <gtest/gtest.h>

using namespace parley;
using namespace parley::rounds;
using privacy::FaultCode;
using wire::Refusal;

TEST(Events, AreToldInTheWordsOfTheBinary) {
  const std::vector<std::pair<Event, std::string>> all = {
      {Joined{"a"}, "a joined"},
      {JoinedTwice{"a"},
       "a joined once more; its earlier connection is cut, and a daemon that is still there ends: one name is one "
       "daemon"},
      {JoinedInVain{"a"}, "a joined; the run goes on without it"},
      {Ready{"a", {{"b", "c"}, false}}, "a is ready; waiting for: b, c"},
      {Ready{"a", {{}, true}}, "a is ready; all are here"},
      {Left{"a", {{"a"}, false}}, "a left; waiting for: a"},
      {Left{"a", {}}, "a left"},
      {Waits{0, {{"a", "b"}, false}}, "waiting for: a, b"},
      {Waits{7, {{"a"}, false}}, "round 7; waiting for: a"},
      {IsSlow{7, {"a", "b"}}, "round 7: no answer yet from: a, b"},
      {FrameRefused{"a", Refusal::kDamaged}, "a sent a frame that is refused: damaged"},
      {Faulted{"a", 7, {FaultCode::kInternal}}, "round 7: a gave no answer: it failed; its own record says why"},
      {LeftOut{"a", WasLate{}}, "a was not there in time; the run goes on without it"},
      {LeftOut{"a", IsOutvoted{"has other columns"}}, "a has other columns; the run goes on without it"},
      {LeftOut{"a", IsNotBelieved{"9 columns"}},
       "a introduced itself in a way that cannot be used: 9 columns; the run goes on without it"},
      {LeftOut{"a", WillNotBegin{{FaultCode::kNotAllowed}}},
       "a does not take part: the site does not allow this job; the run goes on without it"},
      {Declined{"a", RefusedAFrame{Refusal::kWrongVersion}},
       "a refused a frame: wrong protocol version; the run goes on without it"},
      {Declined{"a", WillNotAnswer{7, {FaultCode::kBadTask}}},
       "a gave no answer in round 7: the task does not fit its data; the run goes on without it"},
      {Barred{"a", 7, "it is not a key"},
       "round 7: the reply of party 'a' cannot be used: it is not a key; the run goes on without it"},
  };
  for (const auto& [event, words] : all) EXPECT_EQ(in_words(event), words);
}

TEST(Events, ACodeOfABudgetIsNotBelievedWhereNoneIsSpent) {
  EXPECT_EQ(in_words(PartyFault{FaultCode::kBudgetEnded, true}), "its privacy budget ended");
  EXPECT_EQ(in_words(PartyFault{FaultCode::kBudgetEnded, false}),
            "it says that a privacy budget ended, and this run spends none");
  EXPECT_EQ(in_words(PartyFault{static_cast<FaultCode>(77)}), "for a reason this version does not know");
}

TEST(Events, OfASiteAreToldInTheWordsOfItsAccount) {
  using What = SiteEvent::What;
  const SoFar so_far{2, 1500};
  const std::vector<std::pair<SiteEvent, std::string>> all = {
      {{.what = What::kOpened}, "admitted"},
      {{.what = What::kOpened, .resumed = true}, "admitted again after a restart"},
      {{.what = What::kNotAdmitted, .why = "the run is over"}, "not admitted: the run is over"},
      {{.what = What::kLeftOut}, "began without this site, which was not there in time or did not take part"},
      {{.what = What::kAnswered, .round = 3, .bytes = 100}, ""},
      {{.what = What::kRepeated, .round = 3, .bytes = 100}, ""},
      {{.what = What::kFaulted, .round = 3, .why = "the disk is full"}, "round 3 not answered: the disk is full"},
      {{.what = What::kBeyondPromise, .round = 5, .promised = 4}, "round 5 not answered: the job promises 4 rounds"},
      {{.what = What::kRefused, .refusal = Refusal::kOldRound}, "a frame was refused: of an old round"},
      {{.what = What::kRefusedByIt, .refusal = Refusal::kCutOff}, "the coordinator refused a frame: cut off"},
      {{.what = What::kClosed, .so_far = so_far}, "over: 2 rounds answered, 1.5 kB left this site"},
      {{.what = What::kForgotten, .so_far = so_far},
       "is forgotten: it was never closed, and others were opened since; 2 rounds answered, 1.5 kB left this site"},
  };
  for (const auto& [event, words] : all) EXPECT_EQ(in_words(event), words);
}
