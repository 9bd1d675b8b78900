#include "parley/rounds/handler.h"

#include <filesystem>

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
  static void fields(auto& self, auto&& visit) {
    visit(self.round, self.task_digest, self.reply, self.memory, self.over);
  }
};

}  // namespace

Handler::Handler(Admit admit, std::string folder, SiteObserver observer)
    : admit_(std::move(admit)), folder_(std::move(folder)), observer_(std::move(observer)) {}

void Handler::tell(SiteEvent::What what, const wire::Header& about, std::size_t bytes, std::string text) {
  if (observer_) observer_({what, about.run, about.round, bytes, std::move(text)});
}

Bytes Handler::refuse(const wire::Header& about, Refusal why) {
  Bytes frame = wire::make_frame({Kind::kRefuse, static_cast<std::uint8_t>(why), about.run, about.round});
  tell(SiteEvent::What::kRefused, about, frame.size(), "a frame was refused: " + std::string(name(why)));
  return frame;
}

Bytes Handler::not_admitted(const wire::Header& about, const Error& why) {
  const auto code =
      why.fault == Fault::kBudgetEnded ? privacy::FaultCode::kBudgetEnded : privacy::FaultCode::kNotAllowed;
  Bytes frame = wire::make_frame({Kind::kFault, static_cast<std::uint8_t>(code), about.run, 0});
  tell(SiteEvent::What::kNotAdmitted, about, frame.size(), why.message);
  return frame;
}

std::string Handler::file_of(const wire::RunId& run) const {
  return (std::filesystem::path(folder_) / (wire::hex(run) + ".kept")).string();
}

Result<void> Handler::keep() {
  if (folder_.empty()) return {};
  KeptFile file{kept_.round, kept_.task_digest, kept_.reply ? *kept_.reply : Bytes{}, {}, kept_.over};
  if (admission_.party != nullptr) file.memory = admission_.party->memory();
  return write_atomically(file_of(*run_),
                          wire::make_frame({.kind = Kind::kKept, .run = *run_, .round = kept_.round}, file));
}

// Whether something was kept of the run.
Result<bool> Handler::bring_back(const wire::RunId& run, Kept& kept, Bytes& memory) const {
  if (folder_.empty() || !std::filesystem::exists(file_of(run))) return false;
  PARLEY_TRY(const std::string content, read_whole(file_of(run)));
  const auto stored = wire::read_frame(content);
  if (!stored || stored->header.kind != Kind::kKept || stored->header.run != run)
    return fail(failed(file_of(run) + ": what was kept of this run is damaged; it cannot be continued"));
  PARLEY_TRY(KeptFile file, wire::decode<KeptFile>(stored->payload, wire::Numbers::kAny));
  kept = {file.round, file.task_digest, transport::shared(std::move(file.reply)), file.over};
  memory = std::move(file.memory);
  return true;
}

std::optional<transport::SharedFrame> Handler::respond(std::string_view bytes) {
  const auto frame = wire::read_frame(bytes);
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
      tell(SiteEvent::What::kRefused, frame->header, 0,
           "the coordinator refused a frame: " + std::string(name(static_cast<Refusal>(frame->header.code))));
      return std::nullopt;
    default:
      return transport::shared(refuse(frame->header, Refusal::kUnexpected));
  }
}

Bytes Handler::open(const wire::Frame& frame) {
  const wire::Header& header = frame.header;
  const auto ready = [&] {
    return wire::make_frame({.kind = Kind::kReady, .run = header.run},
                            std::string_view(admission_.introduction));
  };
  if (run_ == header.run && admission_.party != nullptr)
    return ready();  // the connection was lost, not the run

  Kept kept;
  Bytes memory;
  const auto resumed = bring_back(header.run, kept, memory);
  if (!resumed) return not_admitted(header, resumed.error());
  if (kept.over) {
    run_ = header.run;
    admission_ = {};
    kept_ = std::move(kept);
    return not_admitted(header, failed("the run is over"));
  }
  auto admission = admit_({header.run, std::string(frame.payload), *resumed});
  if (!admission) return not_admitted(header, admission.error());
  if (*resumed)
    if (const auto restored = admission->party->restore(memory); !restored)
      return not_admitted(header, restored.error());
  run_ = header.run;
  admission_ = std::move(*admission);
  kept_ = std::move(kept);
  // Kept before anything can be charged: a run with charges and nothing kept is one whose past was lost.
  if (const auto done = keep(); !done) {
    admission_ = {};
    return not_admitted(header, done.error());
  }
  tell(SiteEvent::What::kOpened, header, 0, *resumed ? "resumed" : "");
  return ready();
}

transport::SharedFrame Handler::task(const wire::Frame& frame) {
  const wire::Header& header = frame.header;
  if (run_ != header.run || admission_.party == nullptr)
    return transport::shared(refuse(header, Refusal::kWrongRun));
  if (header.round < 1) return transport::shared(refuse(header, Refusal::kUnexpected));
  if (header.round < kept_.round) return transport::shared(refuse(header, Refusal::kOldRound));
  const auto digest = static_cast<std::int64_t>(frame.checksum);  // tells tasks of one round apart
  if (header.round == kept_.round) {
    if (digest != kept_.task_digest) return transport::shared(refuse(header, Refusal::kOtherTask));
    tell(SiteEvent::What::kRepeated, header, kept_.reply->size());
    return kept_.reply;
  }
  Answered answered = admission_.party->answer(header, frame.payload);
  transport::SharedFrame answer = transport::shared(std::move(answered.frame));
  if (!answered.replied) {
    tell(SiteEvent::What::kFaulted, header, answer->size(), admission_.party->last_error());
    return answer;
  }
  kept_ = {header.round, digest, answer, false};
  if (const auto done = keep(); !done) {
    admission_ = {};  // what could not be kept does not leave, and nothing after it
    tell(SiteEvent::What::kFaulted, header, 0, done.error().message);
    return transport::shared(refuse(header, Refusal::kWrongRun));
  }
  tell(SiteEvent::What::kAnswered, header, answer->size());
  return answer;
}

Bytes Handler::close(const wire::Frame& frame) {
  const wire::Header& header = frame.header;
  if (run_ != header.run) return refuse(header, Refusal::kWrongRun);
  if (!kept_.over) {
    if (admission_.party != nullptr && admission_.at_close) admission_.at_close(*admission_.party);
    kept_ = {kept_.round, 0, nullptr, true};
    admission_ = {};
    const auto done = keep();
    tell(SiteEvent::What::kClosed, header, 0, done ? "" : done.error().message);
  }
  return wire::make_frame({.kind = Kind::kClose, .run = header.run, .round = header.round});
}

}  // namespace parley::rounds
