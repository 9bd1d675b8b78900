#include "parley/transport/grpc/client.h"

#include <grpcpp/channel.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "parley/core/text.h"
#include "parley/transport/grpc/chunks.h"
#include "parley/transport/grpc/keepalive.h"

namespace parley::transport {

namespace {

constexpr std::chrono::milliseconds kFirstPause{50};
constexpr std::chrono::milliseconds kLongestPause{5000};
constexpr std::chrono::seconds kParting{2};

// One stream, from dialling to its end. A frame is answered where it was read: there is one at a time, and
// handing it to another thread and back would cost more than many a round's arithmetic.
class Conversation final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  // Whether this was the last frame to be answered.
  using Answer = std::function<bool(std::string_view frame, std::optional<SharedFrame>& answer)>;

  Conversation(const std::shared_ptr<grpc::Channel>& channel, std::size_t limit, Answer answer)
      : stub_(channel), answer_(std::move(answer)), assembly_(limit) {
    stub_.PrepareBidiStreamingCall(&context_, kMethod, grpc::StubOptions(), this);
    AddHold();  // the end of the stream is asked for outside gRPC's own reactions
    StartRead(&incoming_);
    StartCall();
  }

  // Until the stream has ended or the last frame was answered, which then is heard of.
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return reading_ended_ || over_; });
    if (over_) part(lock);
  }
  void cancel() { context_.TryCancel(); }

  // Ends the stream at once and tells why it ended.
  grpc::Status end() {
    cancel();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !writing_; });
    RemoveHold();
    changed_.wait(lock, [&] { return done_; });
    return status_;
  }

  void OnReadDone(bool ok) override {
    if (!ok || assembly_.add(incoming_)) {
      if (ok) context_.TryCancel();
      const std::lock_guard lock(mutex_);
      reading_ended_ = true;
      return changed_.notify_all();
    }
    std::optional<SharedFrame> answer;
    const bool last = assembly_.complete() && answer_(assembly_.take(), answer);
    const std::lock_guard lock(mutex_);
    if (answer) {
      outbox_.push(*answer);
      write();
    }
    over_ = over_ || last;
    StartRead(&incoming_);
    changed_.notify_all();
  }
  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(mutex_);
    writing_ = false;
    if (ok) write();
    changed_.notify_all();
  }
  void OnDone(const grpc::Status& status) override {
    const std::lock_guard lock(mutex_);
    status_ = status;
    done_ = true;
    reading_ended_ = true;
    changed_.notify_all();
  }

 private:
  // Lets the coordinator have what was said last, then ends the stream.
  void part(std::unique_lock<std::mutex>& lock) {
    const auto said = [&] { return reading_ended_ || (outbox_.empty() && !writing_); };
    changed_.wait_for(lock, kParting, said);
    if (reading_ended_ || writing_) return;
    StartWritesDone();
    changed_.wait_for(lock, kParting, [&] { return reading_ended_; });
  }
  void write() {
    if (writing_ || reading_ended_ || outbox_.empty()) return;
    outgoing_ = outbox_.next();
    writing_ = true;
    StartWrite(&outgoing_);
  }

  grpc::GenericStub stub_;
  Answer answer_;
  grpc::ClientContext context_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Assembly assembly_;
  Outbox outbox_;
  grpc::ByteBuffer incoming_;
  grpc::ByteBuffer outgoing_;
  grpc::Status status_;
  bool writing_ = false;
  bool reading_ended_ = false;
  bool over_ = false;
  bool done_ = false;
};

}  // namespace

struct GrpcClient::Core {
  Dialing dialing;
  std::shared_ptr<grpc::Channel> channel;
  std::mutex mutex;
  std::condition_variable changed;
  Conversation* conversation = nullptr;
  bool stopped = false;

  [[nodiscard]] bool over() const { return stopped || (dialing.finished && dialing.finished()); }
  void notice(const std::string& what) const {
    if (dialing.notice) dialing.notice(what);
  }

  // Answers until the stream ends; whether anything came over it.
  bool converse(const Respond& respond, grpc::Status& status) {
    bool heard = false;
    const auto answer = [&](std::string_view frame, std::optional<SharedFrame>& made) {
      if (!std::exchange(heard, true)) notice("connected to " + dialing.address);
      made = respond(frame);
      return dialing.finished && dialing.finished();
    };
    Conversation stream(channel, dialing.limit, answer);
    {
      const std::lock_guard lock(mutex);
      conversation = &stream;
      if (stopped) stream.cancel();
    }
    stream.wait();
    {
      const std::lock_guard lock(mutex);
      conversation = nullptr;
    }
    status = stream.end();
    return heard;
  }
};

GrpcClient::GrpcClient(Dialing dialing) : core_(std::make_unique<Core>()) {
  keep_quiet();
  core_->dialing = std::move(dialing);
  const Credentials& given = core_->dialing.credentials;
  grpc::ChannelArguments arguments;
  arguments.SetSslTargetNameOverride(kCoordinator);
  arguments.SetMaxReceiveMessageSize(kLargestMessage);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, static_cast<int>(kFirstPause.count()));
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, static_cast<int>(kFirstPause.count()));
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, static_cast<int>(kLongestPause.count()));
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  for (const auto& [name, value] : keepalive()) arguments.SetInt(name, value);
  core_->channel = grpc::CreateCustomChannel(
      core_->dialing.address, grpc::SslCredentials({given.authority, given.key, given.certificate}),
      arguments);
}

GrpcClient::~GrpcClient() = default;

Result<void> GrpcClient::serve(const Respond& respond) {
  auto pause = kFirstPause;
  std::string said;
  while (true) {
    grpc::Status status;
    const bool heard = core_->converse(respond, status);
    std::unique_lock lock(core_->mutex);
    if (core_->over()) return {};
    if (status.error_code() == grpc::StatusCode::PERMISSION_DENIED)
      return fail(failed("the coordinator turns this party away: its certificate names no party of the job"));
    if (heard) pause = kFirstPause;
    const std::string why =
        heard ? "the connection to " + core_->dialing.address + " was lost; dialling again"
              : "cannot reach " + core_->dialing.address + " yet: " + printable(status.error_message(), 160);
    if (why != std::exchange(said, heard ? std::string{} : why)) core_->notice(why);
    core_->changed.wait_for(lock, pause, [&] { return core_->stopped; });
    if (core_->stopped) return {};
    pause = std::min(2 * pause, kLongestPause);
  }
}

void GrpcClient::stop() {
  const std::lock_guard lock(core_->mutex);
  core_->stopped = true;
  if (core_->conversation != nullptr) core_->conversation->cancel();
  core_->changed.notify_all();
}

}  // namespace parley::transport
