// What happens in a run, as it is told to people. A terminal, a log and a page may each say an event in their own way;
// in_words() is what the binary prints.
#pragma once
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "parley/privacy/values.h"
#include "parley/wire/frame.h"

namespace parley::rounds {

// At the coordinator. Parties go by their names, rounds count from 1.

// A code that a party sent instead of an answer.
struct PartyFault {
  privacy::FaultCode code{};
  bool budgets = true;  // the run spends some
};

// Why the run goes on without a party. What is said of an introduction is the coordinator's own finding.
struct WasLate {};  // the others had the time of a round to begin, and it was not there
struct IsOutvoted {
  std::string because;  // where it contradicts most others
};
struct RefusedAFrame {
  wire::Refusal why{};
};
struct IsNotBelieved {
  std::string because;  // what its introduction cannot be
};
struct WillNotBegin {
  PartyFault fault;
};
struct WillNotAnswer {
  std::int64_t round = 0;
  PartyFault fault;
};
using Reason = std::variant<WasLate, IsOutvoted, RefusedAFrame, IsNotBelieved, WillNotBegin, WillNotAnswer>;

// Whom the run waits for: to open, or to become ready for the round that runs.
struct Awaited {
  std::vector<std::string> parties;
  bool all_here = false;  // those whom the round does not ask, too
};

struct Joined {
  std::string party;
};
struct JoinedTwice {  // while its connection stood, which is cut
  std::string party;
};
struct JoinedInVain {  // the run goes on without it
  std::string party;
};
struct Ready {
  std::string party;
  Awaited awaited;
};
struct Left {
  std::string party;
  Awaited awaited;
};
struct Waits {
  std::int64_t round = 0;  // 0: for the run to open
  Awaited awaited;
};
struct IsSlow {  // the round lasts, and these have not answered
  std::int64_t round = 0;
  std::vector<std::string> parties;
};
struct FrameRefused {  // that the party sent
  std::string party;
  wire::Refusal why{};
};
struct Faulted {  // in this round; it may answer the next
  std::string party;
  std::int64_t round = 0;
  PartyFault fault;
};
struct LeftOut {  // before the first round, for good
  std::string party;
  Reason reason;
};
struct Declined {  // until it joins anew
  std::string party;
  Reason reason;
};
struct Barred {  // for good: what it replied cannot be true
  std::string party;
  std::int64_t round = 0;
  std::string because;
};
using Event = std::variant<Joined, JoinedTwice, JoinedInVain, Ready, Left, Waits, IsSlow, FrameRefused, Faulted,
                           LeftOut, Declined, Barred>;

std::string in_words(const PartyFault& fault);
std::string in_words(const Reason& reason);  // goes on after the party's name
std::string in_words(const Event& event);

// At a site: for its account, and never sent.

// What of a run has left the site: kept with its answers, so that a site that is started again goes on counting.
struct SoFar {
  std::int64_t rounds = 0;  // answered
  std::int64_t bytes = 0;   // of answers, and of those that were sent again
};

struct SiteEvent {
  enum class What {
    kOpened,
    kNotAdmitted,
    kLeftOut,
    kAnswered,
    kRepeated,
    kFaulted,
    kBeyondPromise,  // asked for a round that the job does not promise
    kRefused,        // a frame of the coordinator
    kRefusedByIt,    // a frame of this site
    kClosed,
    kForgotten,
  };
  What what = What::kOpened;
  wire::RunId run{};
  std::int64_t round = 0;
  std::size_t bytes = 0;      // of the frame that leaves
  bool resumed = false;       // of kOpened
  wire::Refusal refusal{};    // of kRefused and kRefusedByIt
  std::int64_t promised = 0;  // rounds; of kBeyondPromise
  std::string why;            // the error: of kNotAdmitted and kFaulted, and of kClosed when that could not be kept
  SoFar so_far;               // of the run, this included
};

std::string in_words(const SoFar& so_far);
// Goes on after the run's name; empty for an answer, which is told with the others when the run is over.
std::string in_words(const SiteEvent& event);

}  // namespace parley::rounds
