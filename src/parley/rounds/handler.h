// The one handler behind all transports at a party: a frame in, a frame out.
//
//   open     the site admits the job (or not), the party introduces itself
//   task     of a later round, the next or not: answered, and the answer kept before it leaves
//            of the round answered last, the same task: the kept bytes again; another task: refused
//            of an earlier round: refused
//            of a round that the job does not promise: not answered
//   refuse   the run began without this party: told to the site, and not answered
//   close    the run is over, and stays over; said back, so that the coordinator need not wonder
//
// Kept are the round, the reply, the party's memory, what a private run has drawn of its plan and how much has left, in
// one file that is replaced whole. Hence, whenever the process is killed: an answer that was not kept has never left,
// so computing it again reveals nothing twice; an answer that was kept is sent again bit for bit. Fresh noise for an
// old round would be an unpaid release. The argument in full: privacy/ledger/resuming.md.
//
// Runs that were opened and never closed are bounded, like those that are over: the oldest is forgotten, first of those
// that have answered nothing. Opened again, an open run begins anew, and one that was charged is refused by its ledger.
//
// A bad frame is refused with a code. An answer that fails is a fault code; its text stays in the site's own record.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "parley/rounds/events.h"
#include "parley/rounds/party.h"
#include "parley/transport/channel.h"

namespace parley::rounds {

// What a coordinator asks a site to take part in.
struct Opening {
  wire::RunId run{};
  std::string job;       // its text, the same for every party
  bool resumed = false;  // this run was admitted here before and is not over
  std::string drawn;     // then: what Admission::drawn said when its last answer was kept
  std::string data;      // then: what Admission::data said when it was admitted first
};

struct Admission {
  std::unique_ptr<Responder> party;
  wire::Bytes introduction;  // what the coordinator may know before the first round: public facts only
  std::function<void(const Responder&)> at_close;  // the run is over: keep what stays here
  std::int64_t rounds = 0;  // that the job promises: a task of a later one is not answered; 0: any
  // What the party computes with, as a digest that stays here: a run that is taken up again goes on with the same or
  // not at all.
  std::string data;
  // Of a private run. How far it has used what it paid for: kept with every answer.
  std::function<wire::Bytes()> drawn;
  // An answer was kept and is about to leave; asked again when the run is taken up, with the answer kept last (round 0:
  // none). An error keeps it here.
  std::function<Result<void>(std::int64_t round, std::string_view answer)> leaving;
};

// The site's own decision. An error is its own record; the coordinator learns a code.
using Admit = std::function<Result<Admission>(const Opening&)>;

// Runs that were admitted with this folder and are not over.
std::vector<std::pair<wire::RunId, SoFar>> unfinished_runs(const std::string& folder);

// Whether any of those, or of the runs that are over and remembered, was private.
bool knows_private_runs(const std::string& folder);

using SiteObserver = std::function<void(const SiteEvent&)>;

class Handler {
 public:
  // `folder`: where answers are kept; empty: in memory only, for parties that live and die with their coordinator.
  Handler(Admit admit, std::string folder, SiteObserver observer = {});

  std::optional<transport::SharedFrame> respond(std::string_view frame,
                                                wire::Unchecked unchecked = wire::Unchecked::kRefused);
  [[nodiscard]] bool over() const { return kept_.over; }  // the run that was opened last was closed

 private:
  struct Kept {
    std::int64_t round = 0;
    std::int64_t task_digest = 0;
    transport::SharedFrame reply;
    bool over = false;
    std::int64_t job_digest = 0;
    SoFar so_far;
    bool is_private = false;  // drew from a plan, or was about to
    std::string data;
  };
  struct BroughtBack {
    Kept kept;
    wire::Bytes memory;
    wire::Bytes drawn;
  };
  wire::Bytes open(const wire::Frame& frame);
  [[nodiscard]] Result<std::optional<BroughtBack>> bring_back(const wire::RunId& run) const;
  Result<void> take_up(const Opening& opening, const BroughtBack& back);
  transport::SharedFrame task(const wire::Frame& frame);
  transport::SharedFrame stop(const wire::Header& about, const Error& why);
  [[nodiscard]] transport::SharedFrame stopped(const wire::Header& about) const;
  wire::Bytes close(const wire::Frame& frame);
  wire::Bytes refuse(const wire::Header& about, wire::Refusal why);
  wire::Bytes not_admitted(const wire::Header& about, const Error& why);
  wire::Bytes past_lost(const wire::Header& about, const Error& why);
  wire::Bytes stay_out(const wire::Header& about, privacy::FaultCode code, const Error& why);
  [[nodiscard]] std::string file_of(const wire::RunId& run) const;
  Result<void> keep();
  void forget_old_runs();
  void tell(const wire::Header& about, SiteEvent event) const;

  Admit admit_;
  std::string folder_;
  SiteObserver observer_;
  std::optional<wire::RunId> run_;
  Admission admission_;
  Kept kept_;
  std::optional<privacy::FaultCode> stopped_;  // why no task of the run is answered until it is opened anew
};

}  // namespace parley::rounds
