// The one handler behind all transports at a party: a frame in, a frame out.
//
//   open   the site admits the job (or not), the party introduces itself
//   task   of a later round: answered, and the answer kept before it leaves
//          of the round answered last, the same task: the kept bytes again; another task: refused
//          of an earlier round: refused
//   close  the run is over, and stays over; said back, so that the coordinator need not wonder
//
// Kept are the round, the reply and the party's memory, in one file that is replaced whole. Hence, whenever
// the process is killed: an answer that was not kept has never left, so computing it again reveals nothing
// twice; an answer that was kept is sent again bit for bit. Fresh noise for an old round would be an unpaid
// release.
//
// A bad frame is refused with a code. An answer that fails is a fault code; its text stays in the site's own
// record.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "parley/rounds/party.h"
#include "parley/transport/channel.h"

namespace parley::rounds {

// What a coordinator asks a site to take part in.
struct Opening {
  wire::RunId run{};
  std::string job;       // its text, the same for every party
  bool resumed = false;  // this run was admitted here before and is not over
};

struct Admission {
  std::unique_ptr<Responder> party;
  wire::Bytes introduction;  // what the coordinator may know before the first round: public facts only
  std::function<void(const Responder&)> at_close;  // the run is over: keep what stays here
};

// The site's own decision. An error is its own record; the coordinator learns a code.
using Admit = std::function<Result<Admission>(const Opening&)>;

// What happened, for the site's account; never sent.
struct SiteEvent {
  enum class What { kOpened, kNotAdmitted, kAnswered, kRepeated, kFaulted, kRefused, kClosed };
  What what = What::kOpened;
  wire::RunId run{};
  std::int64_t round = 0;
  std::size_t bytes = 0;  // of the frame that leaves
  std::string text;       // why
};
using SiteObserver = std::function<void(const SiteEvent&)>;

class Handler {
 public:
  // `folder`: where answers are kept; empty: in memory only, for parties that live and die with their
  // coordinator.
  Handler(Admit admit, std::string folder, SiteObserver observer = {});

  std::optional<transport::SharedFrame> respond(std::string_view frame);
  [[nodiscard]] bool over() const { return kept_.over; }  // the run that was opened last was closed

 private:
  struct Kept {
    std::int64_t round = 0;
    std::int64_t task_digest = 0;
    transport::SharedFrame reply;
    bool over = false;
  };
  wire::Bytes open(const wire::Frame& frame);
  Result<bool> bring_back(const wire::RunId& run, Kept& kept, wire::Bytes& memory) const;
  transport::SharedFrame task(const wire::Frame& frame);
  wire::Bytes close(const wire::Frame& frame);
  wire::Bytes refuse(const wire::Header& about, wire::Refusal why);
  wire::Bytes not_admitted(const wire::Header& about, const Error& why);
  [[nodiscard]] std::string file_of(const wire::RunId& run) const;
  Result<void> keep();
  void tell(SiteEvent::What what, const wire::Header& about, std::size_t bytes, std::string text = {});

  Admit admit_;
  std::string folder_;
  SiteObserver observer_;
  std::optional<wire::RunId> run_;
  Admission admission_;
  Kept kept_;
};

}  // namespace parley::rounds
