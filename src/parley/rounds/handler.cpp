#include "parley/rounds/handler.h"

#include <algorithm>
#include <compare>
#include <filesystem>
#include <tuple>
#include <utility>
#include <vector>

#include "parley/core/files.h"

namespace parley::rounds {

using wire::Bytes;
using wire::Kind;
using wire::Refusal;

namespace {

struct KeptFile {
  std::int64_t round = 0;
  std::int64_t task_digest = 0;
  std::string reply;  // the whole frame
  std::string memory;
  bool over = false;
  std::int64_t job_digest = 0;
  std::string drawn;  // of a private run
  std::int64_t rounds_answered = 0;
  std::int64_t bytes_left = 0;
  bool is_private = false;
  std::string data;
  static void fields(auto& self, auto&& visit) {
    visit(self.round, self.task_digest, self.reply, self.memory, self.over, self.job_digest, self.drawn,
          self.rounds_answered, self.bytes_left, self.is_private, self.data);
  }
};

struct Stored {
  wire::RunId run{};
  KeptFile file;
};

// Nothing for a file that is damaged or of another version.
std::optional<Stored> read_kept(const std::string& path) {
  const auto content = read_whole(path);
  if (!content) return std::nullopt;
  const auto stored = wire::read_frame(*content);
  if (!stored || stored->header.kind != Kind::kKept) return std::nullopt;
  auto file = wire::decode<KeptFile>(stored->payload, wire::Numbers::kAny);
  if (!file) return std::nullopt;
  return Stored{stored->header.run, std::move(*file)};
}

std::vector<std::filesystem::directory_entry> kept_files(const std::string& folder) {
  std::vector<std::filesystem::directory_entry> files;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored))
    if (entry.path().extension() == ".kept") files.push_back(entry);
  return files;
}

constexpr std::size_t kRunsOver = 64;       // of which is known that they are over
constexpr std::size_t kRunsOpen = 64;       // that may be taken up again
constexpr std::size_t kLargestOver = 4096;  // bytes: there is no answer and no memory in it

privacy::FaultCode code_of(const Error& why, privacy::FaultCode otherwise) {
  if (why.fault == Fault::kBudgetEnded) return privacy::FaultCode::kBudgetEnded;
  if (why.cause == Cause::kMachine) return privacy::FaultCode::kUnavailable;
  return why.cause == Cause::kPast ? privacy::FaultCode::kPastLost : otherwise;
}

}  // namespace

std::vector<std::pair<wire::RunId, SoFar>> unfinished_runs(const std::string& folder) {
  std::vector<std::pair<wire::RunId, SoFar>> runs;
  for (const auto& entry : kept_files(folder))
    if (const auto stored = read_kept(entry.path().string()); stored && !stored->file.over)
      runs.emplace_back(stored->run, SoFar{stored->file.rounds_answered, stored->file.bytes_left});
  std::sort(runs.begin(), runs.end(), [](const auto& one, const auto& other) { return one.first < other.first; });
  return runs;
}

bool knows_private_runs(const std::string& folder) {
  const auto files = kept_files(folder);
  return std::any_of(files.begin(), files.end(), [](const auto& entry) {
    const auto stored = read_kept(entry.path().string());
    return stored && stored->file.is_private;
  });
}

Handler::Handler(Admit admit, std::string folder, SiteObserver observer)
    : admit_(std::move(admit)), folder_(std::move(folder)), observer_(std::move(observer)) {}

void Handler::tell(const wire::Header& about, SiteEvent event) const {
  if (!observer_) return;
  event.run = about.run;
  event.round = about.round;
  event.so_far = kept_.so_far;
  observer_(event);
}

Bytes Handler::refuse(const wire::Header& about, Refusal why) {
  Bytes frame = wire::make_frame({Kind::kRefuse, static_cast<std::uint8_t>(why), about.run, about.round});
  tell(about, {.what = SiteEvent::What::kRefused, .bytes = frame.size(), .refusal = why});
  return frame;
}

Bytes Handler::not_admitted(const wire::Header& about, const Error& why) {
  return stay_out(about, code_of(why, privacy::FaultCode::kNotAllowed), why);
}

Bytes Handler::past_lost(const wire::Header& about, const Error& why) {
  return stay_out(about, code_of(why, privacy::FaultCode::kPastLost), why);
}

Bytes Handler::stay_out(const wire::Header& about, privacy::FaultCode code, const Error& why) {
  Bytes frame = wire::make_frame({Kind::kFault, static_cast<std::uint8_t>(code), about.run, 0});
  tell(about, {.what = SiteEvent::What::kNotAdmitted, .bytes = frame.size(), .why = why.message});
  return frame;
}

std::string Handler::file_of(const wire::RunId& run) const {
  return (std::filesystem::path(folder_) / (wire::hex(run) + ".kept")).string();
}

Result<void> Handler::keep() {
  if (folder_.empty()) return {};
  KeptFile file{.round = kept_.round,
                .task_digest = kept_.task_digest,
                .reply = kept_.reply ? *kept_.reply : Bytes{},
                .over = kept_.over,
                .job_digest = kept_.job_digest,
                .rounds_answered = kept_.so_far.rounds,
                .bytes_left = kept_.so_far.bytes,
                .is_private = kept_.is_private,
                .data = kept_.data};
  if (admission_.party != nullptr) file.memory = admission_.party->memory();
  if (admission_.drawn) file.drawn = admission_.drawn();
  return write_atomically(file_of(*run_),
                          wire::make_frame({.kind = Kind::kKept, .run = *run_, .round = kept_.round}, file));
}

// Of runs that are over little is kept, and of the oldest nothing: whoever opens one of those again finds a run that
// the ledger knows and of which nothing is kept, which is refused (resuming.md). So it is with a private run that was
// never closed; an open one begins anew.
void Handler::forget_old_runs() {
  namespace fs = std::filesystem;
  if (folder_.empty()) return;
  struct Past {
    bool answered = false;
    fs::file_time_type when;
    wire::RunId run{};
    SoFar so_far;
    auto operator<=>(const Past& other) const {
      return std::tie(answered, when, run) <=> std::tie(other.answered, other.when, other.run);
    }
  };
  std::vector<Past> over, open;
  std::error_code ignored;
  for (const fs::directory_entry& entry : kept_files(folder_)) {
    const auto stored = read_kept(entry.path().string());
    if (!stored || stored->run == run_) continue;
    const KeptFile& file = stored->file;
    if (!file.over)
      open.push_back({file.rounds_answered > 0,
                      entry.last_write_time(ignored),
                      stored->run,
                      {file.rounds_answered, file.bytes_left}});
    else if (entry.file_size(ignored) <= kLargestOver)
      over.push_back({false, entry.last_write_time(ignored), stored->run, {}});
  }
  std::sort(over.begin(), over.end());
  std::sort(open.begin(), open.end());
  // The run that was opened last is one of either kind, and stays.
  for (std::size_t i = 0; i + kRunsOver <= over.size(); ++i) fs::remove(file_of(over[i].run), ignored);
  for (std::size_t i = 0; i + kRunsOpen <= open.size(); ++i) {
    fs::remove(file_of(open[i].run), ignored);
    if (observer_) observer_({.what = SiteEvent::What::kForgotten, .run = open[i].run, .so_far = open[i].so_far});
  }
}

// What was kept of the run, if anything was.
Result<std::optional<Handler::BroughtBack>> Handler::bring_back(const wire::RunId& run) const {
  std::error_code error;
  if (folder_.empty() || (!std::filesystem::exists(file_of(run), error) && !error)) return std::nullopt;
  auto stored = read_kept(file_of(run));
  if (!stored || stored->run != run)
    return fail(
        failed(file_of(run) + ": what was kept of this run is damaged or of another version; it cannot be continued"));
  KeptFile& file = stored->file;
  return BroughtBack{{file.round,
                      file.task_digest,
                      transport::shared(std::move(file.reply)),
                      file.over,
                      file.job_digest,
                      {file.rounds_answered, file.bytes_left},
                      file.is_private,
                      std::move(file.data)},
                     std::move(file.memory),
                     std::move(file.drawn)};
}

// The admitted party goes on where it was, if what was kept is what left.
Result<void> Handler::take_up(const Opening& opening, const BroughtBack& back) {
  if (opening.resumed) PARLEY_CHECK(admission_.party->restore(back.memory));
  kept_ = back.kept;
  kept_.is_private |= static_cast<bool>(admission_.drawn);
  kept_.data = admission_.data;
  return admission_.leaving ? admission_.leaving(kept_.round, kept_.reply ? *kept_.reply : Bytes{}) : Result<void>{};
}

std::optional<transport::SharedFrame> Handler::respond(std::string_view bytes, wire::Unchecked unchecked) {
  const auto frame = wire::read_frame(bytes, wire::kDefaultLimit, unchecked);
  if (!frame) return transport::shared(refuse({}, frame.error()));
  switch (frame->header.kind) {
    case Kind::kOpen:
      return transport::shared(open(*frame));
    case Kind::kTask:
      return task(*frame);
    case Kind::kClose:
      return transport::shared(close(*frame));
    case Kind::kRefuse:
      // Answering a refusal with a refusal would never end.
      if (const auto why = static_cast<Refusal>(frame->header.code); why == Refusal::kBegunWithout)
        tell(frame->header, {.what = SiteEvent::What::kLeftOut});
      else
        tell(frame->header, {.what = SiteEvent::What::kRefusedByIt, .refusal = why});
      return std::nullopt;
    default:
      return transport::shared(refuse(frame->header, Refusal::kUnexpected));
  }
}

Bytes Handler::open(const wire::Frame& frame) {
  const wire::Header& header = frame.header;
  const auto ready = [&] {
    return wire::make_frame({.kind = Kind::kReady, .run = header.run}, std::string_view(admission_.introduction));
  };
  if (run_ == header.run && admission_.party != nullptr) return ready();  // the connection was lost, not the run

  const auto job_digest = static_cast<std::int64_t>(frame.checksum);
  auto found = bring_back(header.run);
  if (!found) return past_lost(header, found.error());
  const bool resumed = found->has_value();
  const BroughtBack back = resumed ? std::move(**found) : BroughtBack{.kept = {.job_digest = job_digest}};
  if (back.kept.job_digest != job_digest)
    return not_admitted(header, failed("another job under the name of a run that was admitted here"));
  if (back.kept.over) {
    run_ = header.run;
    admission_ = {};
    kept_ = back.kept;
    return not_admitted(header, failed("the run is over"));
  }
  const Opening opening{header.run, std::string(frame.payload), resumed, back.drawn, back.kept.data};
  auto admission = admit_(opening);
  if (!admission) return not_admitted(header, admission.error());
  run_ = header.run;
  stopped_.reset();
  admission_ = std::move(*admission);
  if (const auto done = take_up(opening, back); !done) {
    admission_ = {};
    return past_lost(header, done.error());
  }
  // Kept before anything can be charged: a run with charges and nothing kept is one whose past was lost.
  if (const auto done = keep(); !done) {
    admission_ = {};
    return not_admitted(header, done.error());
  }
  forget_old_runs();
  tell(header, {.what = SiteEvent::What::kOpened, .resumed = resumed});
  return ready();
}

transport::SharedFrame Handler::task(const wire::Frame& frame) {
  const wire::Header& header = frame.header;
  if (run_ == header.run && stopped_) return stopped(header);
  if (run_ != header.run || admission_.party == nullptr) return transport::shared(refuse(header, Refusal::kWrongRun));
  if (header.round < 1) return transport::shared(refuse(header, Refusal::kUnexpected));
  if (header.round < kept_.round) return transport::shared(refuse(header, Refusal::kOldRound));
  const auto digest = static_cast<std::int64_t>(frame.checksum);  // tells tasks of one round apart
  if (header.round == kept_.round) {
    if (digest != kept_.task_digest) return transport::shared(refuse(header, Refusal::kOtherTask));
    kept_.so_far.bytes += static_cast<std::int64_t>(kept_.reply->size());
    if (const auto done = keep(); !done) return stop(header, done.error());
    tell(header, {.what = SiteEvent::What::kRepeated, .bytes = kept_.reply->size()});
    return kept_.reply;
  }
  if (admission_.rounds > 0 && header.round > admission_.rounds) {
    Bytes fault = wire::make_frame(
        {Kind::kFault, static_cast<std::uint8_t>(privacy::FaultCode::kNotAllowed), header.run, header.round});
    tell(header, {.what = SiteEvent::What::kBeyondPromise, .bytes = fault.size(), .promised = admission_.rounds});
    return transport::shared(std::move(fault));
  }
  Answered answered = admission_.party->answer(header, frame.payload);
  transport::SharedFrame answer = std::move(answered.frame);
  if (!answered.replied) {
    tell(header, {.what = SiteEvent::What::kFaulted, .bytes = answer->size(), .why = admission_.party->last_error()});
    return answer;
  }
  kept_ = {header.round,     digest,       answer,           false,
           kept_.job_digest, kept_.so_far, kept_.is_private, std::move(kept_.data)};
  const auto safe = [&]() -> Result<void> {
    PARLEY_CHECK(keep());
    return admission_.leaving ? admission_.leaving(header.round, *answer) : Result<void>{};
  };
  const SoFar before = kept_.so_far;
  kept_.so_far = {before.rounds + 1, before.bytes + static_cast<std::int64_t>(answer->size())};
  if (const auto done = safe(); !done) {
    kept_.so_far = before;
    return stop(header, done.error());
  }
  tell(header, {.what = SiteEvent::What::kAnswered, .bytes = answer->size()});
  return answer;
}

// What could not be kept does not leave, and nothing after it until the run is opened anew.
transport::SharedFrame Handler::stop(const wire::Header& about, const Error& why) {
  admission_ = {};
  stopped_ = code_of(why, privacy::FaultCode::kPastLost);
  tell(about, {.what = SiteEvent::What::kFaulted, .why = why.message});
  return stopped(about);
}

transport::SharedFrame Handler::stopped(const wire::Header& about) const {
  return transport::shared(
      wire::make_frame({Kind::kFault, static_cast<std::uint8_t>(*stopped_), about.run, about.round}));
}

Bytes Handler::close(const wire::Frame& frame) {
  const wire::Header& header = frame.header;
  if (run_ != header.run) return refuse(header, Refusal::kWrongRun);
  if (!kept_.over) {
    if (admission_.party != nullptr && admission_.at_close) admission_.at_close(*admission_.party);
    kept_ = {kept_.round, 0, nullptr, true, kept_.job_digest, kept_.so_far, kept_.is_private, {}};
    admission_ = {};
    const auto done = keep();
    forget_old_runs();
    tell(header, {.what = SiteEvent::What::kClosed, .why = done ? "" : done.error().message});
  }
  return wire::make_frame({.kind = Kind::kClose, .run = header.run, .round = header.round});
}

}  // namespace parley::rounds
