#include "parley/transport/grpc/client.h"

#include <grpcpp/alarm.h>
#include <grpcpp/channel.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include "parley/core/text.h"
#include "parley/transport/grpc/chunks.h"
#include "parley/transport/grpc/keepalive.h"
#include "parley/transport/grpc/shown.h"

namespace parley::transport {

namespace {

constexpr std::chrono::milliseconds kLongestPause{5000};
constexpr std::chrono::milliseconds kConnecting{20000};
constexpr std::chrono::seconds kParting{2};

enum Tag : std::intptr_t { kStarted = 1, kRead, kWritten, kEnded, kStopped, kChannelChanged };
void* tag(Tag which) {
  return reinterpret_cast<void*>(which);  // NOLINT(performance-no-int-to-ptr): never followed
}

// Why nobody could be reached. The usual reasons have words that say what to look at; others are gRPC's own.
std::string in_words(const grpc::Status& status, const std::function<std::string()>& why_not) {
  if (status.ok()) return "whoever answers ended the connection without a word; a run may just have ended there";
  const std::string& said = status.error_message();
  const auto about = [&](const char* what) { return said.find(what) != std::string::npos; };
  if (about("Connection refused")) return "nobody listens there";
  if (status.error_code() == grpc::StatusCode::UNAUTHENTICATED && said == kRevoked)
    return "the certificate of whoever answers was revoked by the authority (revoked.pem)";
  if (about("DNS resolution failed")) return "no such host is known";
  const bool verified = !about("certificate verify failed");
  if (verified && !about("andshake") && !about("Socket closed") && !about("Connection reset") && !about("Broken pipe"))
    return printable(said, 160);
  // gRPC says that it failed and not why; why_not, which knows certificates, shakes hands once more and looks.
  if (std::string why = why_not ? why_not() : ""; !why.empty()) return why;
  if (!verified)
    return std::string("whoever answers has no certificate for the name '") + kCoordinator +
           "' from the authority in ca.pem";
  return "whoever answers hangs up, for a reason that is not in the certificates; it is not a coordinator, is shutting "
         "down, or has "
         "too many visitors";
}

// One stream, from dialling to its end. All of it happens in the thread that calls hold(): a party has one frame at a
// time to answer, and handing it to another thread and back would cost more than many a round's arithmetic.
class Conversation {
 public:
  // Whether this was the last frame to be answered.
  using Answer = std::function<bool(std::string_view frame, std::optional<SharedFrame>& answer)>;

  Conversation(const std::shared_ptr<grpc::Channel>& channel, grpc::CompletionQueue& queue, Assembly assembly,
               Answer answer, const Credentials& credentials)
      : stub_(channel),
        queue_(queue),
        answer_(std::move(answer)),
        credentials_(credentials),
        assembly_(std::move(assembly)) {
    stream_ = stub_.PrepareCall(&context_, kMethod, &queue_);
  }

  // Until the stream has ended, or the last frame was answered and the answer heard. Why it ended.
  grpc::Status hold() {
    stream_->StartCall(tag(kStarted));
    while (!ended_) {
      void* what = nullptr;
      bool ok = false;
      if (queue_.AsyncNext(&what, &ok, patience_) == grpc::CompletionQueue::TIMEOUT) {
        patience_ = kForever;
        context_.TryCancel();  // then whatever was begun ends
        continue;
      }
      take(static_cast<Tag>(reinterpret_cast<std::intptr_t>(what)), ok);
      go_on();
    }
    return distrusted_ ? grpc::Status(grpc::StatusCode::UNAUTHENTICATED, kRevoked) : status_;
  }

 private:
  static constexpr auto kForever = std::chrono::system_clock::time_point::max();

  void take(Tag what, bool ok) {
    switch (what) {
      case kStarted:
        reading_ = ok;
        if (ok) stream_->Read(&incoming_, tag(kRead));
        break;
      case kRead:
        reading_ = ok && answer_chunk();
        if (reading_) stream_->Read(&incoming_, tag(kRead));
        break;
      case kWritten:
        writing_ = false;
        broken_ = broken_ || !ok;
        break;
      case kEnded:
        ended_ = true;
        break;
      case kStopped:
        context_.TryCancel();
        break;
      case kChannelChanged:  // of a pause that ended before
        break;
    }
  }
  // Whether the stream can still be understood.
  bool answer_chunk() {
    if (assembly_.add(incoming_)) {
      context_.TryCancel();
      return false;
    }
    if (!assembly_.complete()) return true;
    if (is_distrusted(credentials_, *context_.auth_context())) {
      distrusted_ = true;
      context_.TryCancel();
      return false;
    }
    std::optional<SharedFrame> answer;
    const SharedFrame frame = assembly_.take();
    if (answer_(*frame, answer) && !std::exchange(over_, true)) patience_ = std::chrono::system_clock::now() + kParting;
    if (answer) outbox_.push(*answer);
    return true;
  }
  void go_on() {
    if (writing_ || ending_) return;
    if (reading_ && !broken_ && !outbox_.empty()) {
      outgoing_ = outbox_.next();
      stream_->Write(outgoing_, tag(kWritten));
      writing_ = true;
    } else if (reading_ && !broken_ && over_ && !said_) {
      stream_->WritesDone(tag(kWritten));  // the coordinator has what was said last, and ends the stream
      writing_ = said_ = true;
    } else if (!reading_) {
      stream_->Finish(&status_, tag(kEnded));
      ending_ = true;
    }
  }

  grpc::GenericStub stub_;
  grpc::CompletionQueue& queue_;
  Answer answer_;
  const Credentials& credentials_;
  bool distrusted_ = false;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream_;
  Assembly assembly_;
  Outbox outbox_;
  grpc::ByteBuffer incoming_;
  grpc::ByteBuffer outgoing_;
  grpc::Status status_;
  std::chrono::system_clock::time_point patience_ = kForever;
  bool reading_ = true;
  bool writing_ = false;
  bool broken_ = false;  // a write failed
  bool over_ = false;
  bool said_ = false;
  bool ending_ = false;
  bool ended_ = false;
};

}  // namespace

struct GrpcClient::Core {
  Dialing dialing;
  std::shared_ptr<grpc::Channel> channel;
  FrameStore store;
  grpc::CompletionQueue queue;
  grpc::Alarm alarm;  // wakes whoever waits on the queue
  std::atomic<bool> stopped = false;
  std::string reason_of, said_reason;

  ~Core() {
    alarm.Cancel();
    // A watch on the channel ends when its time is over or its channel is gone: the one that waits in a pause need not
    // be waited for.
    channel.reset();
    queue.Shutdown();
    void* what = nullptr;
    bool ok = false;
    while (queue.Next(&what, &ok)) {
    }
  }
  // In words; looked for again only when gRPC has something else to say.
  const std::string& reason(const grpc::Status& status) {
    const std::string now = std::to_string(status.error_code()) + status.error_message();
    if (now != std::exchange(reason_of, now)) said_reason = in_words(status, dialing.why_not);
    return said_reason;
  }
  [[nodiscard]] bool over() const { return stopped || (dialing.finished && dialing.finished()); }
  void notice(const DialEvent& event) const {
    if (dialing.notice) dialing.notice(event);
  }

  // Answers until the stream ends; whether anything came over it.
  bool converse(const Respond& respond, grpc::Status& status) {
    bool heard = false;
    const auto answer = [&](std::string_view frame, std::optional<SharedFrame>& made) {
      if (!std::exchange(heard, true)) notice({DialEvent::What::kConnected, dialing.address, {}});
      made = respond(frame);
      return dialing.finished && dialing.finished();
    };
    status = Conversation(channel, queue, Assembly(dialing.limit, store), answer, dialing.credentials).hold();
    return heard;
  }

  // gRPC goes on connecting in a pause, and it does so in the thread that waits on a queue which watches the channel.
  void pause(std::chrono::milliseconds length) {
    const auto until = std::chrono::system_clock::now() + length;
    channel->NotifyOnStateChange(channel->GetState(true), until, &queue, tag(kChannelChanged));
    void* what = nullptr;
    bool ok = false;
    while (!stopped && queue.AsyncNext(&what, &ok, until) == grpc::CompletionQueue::GOT_EVENT) {
      if (what != tag(kChannelChanged)) continue;
      const grpc_connectivity_state state = channel->GetState(true);
      if (!ok || state == GRPC_CHANNEL_READY) return;
      channel->NotifyOnStateChange(state, until, &queue, tag(kChannelChanged));
    }
  }
};

std::string in_words(const DialEvent& event) {
  switch (event.what) {
    case DialEvent::What::kConnected:
      return "connected to " + event.address;
    case DialEvent::What::kUnreachable:
      return "cannot reach " + event.address + " yet: " + event.why;
    case DialEvent::What::kEnded:
      return "the coordinator at " + event.address + " ended the connection; dialling again";
    case DialEvent::What::kLost:
      return "the connection to " + event.address + " was lost; dialling again";
  }
  return "";
}

GrpcClient::GrpcClient(Dialing dialing) : core_(std::make_unique<Core>()) {
  keep_quiet();
  core_->dialing = std::move(dialing);
  const Credentials& given = core_->dialing.credentials;
  grpc::ChannelArguments arguments;
  arguments.SetSslTargetNameOverride(kCoordinator);
  arguments.SetMaxReceiveMessageSize(kLargestMessage);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, static_cast<int>(core_->dialing.first_pause.count()));
  // How long connecting may take: several times back and forth between continents, on busy machines.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, static_cast<int>(kConnecting.count()));
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, static_cast<int>(kLongestPause.count()));
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  for (const auto& [name, value] : keepalive(core_->dialing.keepalive)) arguments.SetInt(name, value);
  core_->channel = grpc::CreateCustomChannel(
      core_->dialing.address, grpc::SslCredentials({given.authority, given.key, given.certificate}), arguments);
}

GrpcClient::~GrpcClient() = default;

Result<void> GrpcClient::serve(const Respond& respond) {
  const auto first_pause = core_->dialing.first_pause;
  auto pause = first_pause;
  std::optional<DialEvent> said;  // since something came over the connection
  while (true) {
    grpc::Status status;
    const bool heard = core_->converse(respond, status);
    if (core_->over()) return {};
    if (status.error_code() == grpc::StatusCode::PERMISSION_DENIED)
      return fail(failed(status.error_message() == kRevoked
                             ? "the coordinator turns this party away: its certificate was revoked"
                             : "the coordinator turns this party away: its certificate names no party of the job"));
    if (status.error_code() == kTakenOver)
      return fail(failed("another daemon with this one's certificate joined, and has taken its place; this one ends"));
    if (heard) pause = first_pause;
    if (heard && core_->dialing.lost) core_->dialing.lost();
    DialEvent event{.what = status.ok() ? DialEvent::What::kEnded : DialEvent::What::kLost,
                    .address = core_->dialing.address};
    if (!heard) event = {DialEvent::What::kUnreachable, event.address, core_->reason(status)};
    if (event != said) core_->notice(event);
    if (heard)
      said.reset();
    else
      said = std::move(event);
    core_->pause(pause);
    if (core_->stopped) return {};
    pause = std::max(pause, std::min(2 * pause, kLongestPause));
  }
}

void GrpcClient::stop() {
  if (!core_->stopped.exchange(true)) core_->alarm.Set(&core_->queue, std::chrono::system_clock::now(), tag(kStopped));
}

}  // namespace parley::transport
