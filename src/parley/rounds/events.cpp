#include "parley/rounds/events.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "parley/core/text.h"

namespace parley::rounds {

namespace {

template <class... Cases>
struct Each : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Each(Cases...) -> Each<Cases...>;

// `news` and whom the run waits for now.
std::string with(const std::string& news, const Awaited& awaited) {
  std::string whom;
  if (!awaited.parties.empty())
    whom = fmt::format("waiting for: {}", fmt::join(awaited.parties, ", "));
  else if (awaited.all_here)
    whom = "all are here";
  return news + (news.empty() || whom.empty() ? "" : "; ") + whom;
}

std::string without(const std::string& party, const Reason& reason) {
  return fmt::format("{} {}; the run goes on without it", party, in_words(reason));
}

}  // namespace

std::string in_words(const PartyFault& fault) {
  switch (fault.code) {
    case privacy::FaultCode::kBadTask:
      return "the task does not fit its data";
    case privacy::FaultCode::kBudgetEnded:
      return fault.budgets ? "its privacy budget ended"
                           : "it says that a privacy budget ended, and this run spends none";
    case privacy::FaultCode::kNotAllowed:
      return "the site does not allow this job";
    case privacy::FaultCode::kInternal:
      return "it failed; its own record says why";
    case privacy::FaultCode::kPastLost:
      return "what it kept of this run is lost, or is not of this run or of its data; it releases nothing twice";
    case privacy::FaultCode::kUnavailable:
      return "its disk or its ledger does not take what must be kept before it answers; its own record says why";
  }
  return "for a reason this version does not know";
}

std::string in_words(const Reason& reason) {
  return std::visit(
      Each{[](const WasLate&) -> std::string { return "was not there in time"; },
           [](const IsOutvoted& it) { return it.because; },
           [](const RefusedAFrame& it) { return fmt::format("refused a frame: {}", name(it.why)); },
           [](const IsNotBelieved& it) { return "introduced itself in a way that cannot be used: " + it.because; },
           [](const WillNotBegin& it) { return "does not take part: " + in_words(it.fault); },
           [](const WillNotAnswer& it) {
             return fmt::format("gave no answer in round {}: {}", it.round, in_words(it.fault));
           }},
      reason);
}

std::string in_words(const Event& event) {
  return std::visit(
      Each{[](const Joined& it) { return it.party + " joined"; },
           // Usually the first connection has broken without a word; else the two would take each other's place for
           // ever, so the party whose connection goes is told (transport/grpc/server.h).
           [](const JoinedTwice& it) {
             return it.party +
                    " joined once more; its earlier connection is cut, and a daemon that is still there ends: one name "
                    "is one daemon";
           },
           [](const JoinedInVain& it) { return it.party + " joined; the run goes on without it"; },
           [](const Ready& it) { return with(it.party + " is ready", it.awaited); },
           [](const Left& it) { return with(it.party + " left", it.awaited); },
           [](const Waits& it) { return with(it.round > 0 ? fmt::format("round {}", it.round) : "", it.awaited); },
           [](const IsSlow& it) {
             return fmt::format("round {}: no answer yet from: {}", it.round, fmt::join(it.parties, ", "));
           },
           [](const FrameRefused& it) {
             return fmt::format("{} sent a frame that is refused: {}", it.party, name(it.why));
           },
           [](const Faulted& it) {
             return fmt::format("round {}: {} gave no answer: {}", it.round, it.party, in_words(it.fault));
           },
           [](const LeftOut& it) { return without(it.party, it.reason); },
           [](const Declined& it) { return without(it.party, it.reason); },
           [](const Barred& it) {
             return fmt::format("round {}: the reply of party '{}' cannot be used: {}; the run goes on without it",
                                it.round, it.party, it.because);
           }},
      event);
}

std::string in_words(const SoFar& so_far) {
  return fmt::format("{} answered, {} left this site", counted(so_far.rounds, "round"),
                     human_bytes(static_cast<double>(so_far.bytes)));
}

std::string in_words(const SiteEvent& event) {
  using What = SiteEvent::What;
  const auto not_answered = [&](const std::string& why) {
    return fmt::format("round {} not answered: {}", event.round, why);
  };
  switch (event.what) {
    case What::kOpened:
      return event.resumed ? "admitted again after a restart" : "admitted";
    case What::kNotAdmitted:
      return "not admitted: " + event.why;
    case What::kLeftOut:
      return "began without this site, which was not there in time or did not take part";
    case What::kAnswered:
    case What::kRepeated:
      return "";
    case What::kFaulted:
      return not_answered(event.why);
    case What::kBeyondPromise:
      return not_answered("the job promises " + counted(event.promised, "round"));
    case What::kRefused:
      return fmt::format("a frame was refused: {}", name(event.refusal));
    case What::kRefusedByIt:
      return fmt::format("the coordinator refused a frame: {}", name(event.refusal));
    case What::kForgotten:
      return "is forgotten: it was never closed, and others were opened since; " + in_words(event.so_far);
    case What::kClosed:
      return "over: " + in_words(event.so_far);
  }
  return "";
}

}  // namespace parley::rounds
