#include "parley/transport/grpc/server.h"

#include <fmt/format.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "parley/core/descriptors.h"
#include "parley/transport/grpc/chunks.h"
#include "parley/transport/grpc/front.h"
#include "parley/transport/grpc/keepalive.h"
#include "parley/transport/grpc/shown.h"

namespace parley::transport {

namespace {

constexpr std::size_t kUnread = 4;                          // frames of a party that may wait to be read
constexpr std::size_t kUnreadBytes = std::size_t{1} << 20;  // and how many bytes before the last of them
constexpr std::size_t kUnsent = 16;                         // frames that may wait for a party that does not read
constexpr std::chrono::seconds kParting{2};
// For gRPC's own wakeups, checkpoint, model and result: what a run needs to go on, however many dial in.
constexpr std::size_t kReserve = 48;

// How many strangers there is room for. One that was turned away takes a descriptor until gRPC has closed it, so each
// counts twice; so does a party, which may dial in again before its old connection is gone.
Result<std::size_t> room_for_strangers(std::size_t parties, std::size_t wanted) {
  const std::size_t limit = descriptor_limit();
  const std::size_t taken = open_descriptors() + kReserve + 2 * parties;
  constexpr std::size_t kFewest = 4;
  if (limit < taken + 2 * kFewest)
    return fail(
        failed(fmt::format("{} open files are allowed here, and a run with {} parties needs {}; ulimit -n allows more",
                           limit, parties, taken + 2 * kFewest)));
  return std::min(wanted, (limit - taken) / 2);
}

// The stream of someone who has no place here.
class TurnedAway final : public grpc::ServerGenericBidiReactor {
 public:
  TurnedAway(grpc::StatusCode code, const char* why) { Finish({code, why}); }
  void OnDone() override { delete this; }
};

}  // namespace

// Everything below `mutex` is guarded by it. Reactions of gRPC come from its own threads, never from inside a
// call that starts an operation, so operations may be started while it is held.
struct GrpcServer::Core final : grpc::CallbackGenericService {
  class Stream;

  Listening listening;
  std::unique_ptr<Front> front;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor;
  std::unique_ptr<grpc::Server> server;
  std::mutex mutex;
  std::condition_variable changed;  // something arrived
  std::condition_variable parting;  // something was delivered, or a stream is gone
  FrameStore store;
  std::deque<Arrival> arrivals;
  std::vector<Stream*> streams;  // the current one of each party, or null
  std::size_t alive = 0;         // streams that gRPC still knows

  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* context) override;
  int party_of(const grpc::GenericCallbackServerContext& context) const;
  void push(Arrival arrival) {
    arrivals.push_back(std::move(arrival));
    changed.notify_one();
  }
  // What a connection that ended said is not handed out any more.
  void forget(int party, Arrival::What what) {
    std::erase_if(arrivals, [&](const Arrival& arrival) { return arrival.party == party && arrival.what == what; });
  }
  // The party's stream, once whoever receives has been told of it: before that, what it sends or drops is
  // meant for an earlier one.
  Stream* known(int party);
  void leave(Stream& stream);
};

class GrpcServer::Core::Stream final : public grpc::ServerGenericBidiReactor {
 public:
  Stream(Core& core, int party) : core_(core), party_(party), assembly_(core.listening.limit, core.store) {}

  void begin() { StartRead(&incoming_); }
  [[nodiscard]] int party() const { return party_; }
  [[nodiscard]] bool announced() const { return announced_; }
  void announce() { announced_ = true; }
  [[nodiscard]] bool idle() const { return outbox_.empty() && !writing_; }

  void send(const SharedFrame& frame) {
    if (closing_) return;
    outbox_.push(frame);
    if (outbox_.size() > kUnsent) return finish({grpc::StatusCode::RESOURCE_EXHAUSTED, "does not read"});
    write();
  }
  // The frames that wait are written first.
  void close() {
    closing_ = true;
    if (idle()) finish(grpc::Status::OK);
  }
  void finish(const grpc::Status& status) {
    closing_ = true;
    if (std::exchange(finished_, true)) return;
    Finish(status);
  }
  void was_read(std::size_t bytes) {
    --unread_;
    unread_bytes_ -= bytes;
    if (has_room() && std::exchange(paused_, false) && !finished_) StartRead(&incoming_);
  }
  void limit(std::size_t bytes) { assembly_.limit(bytes); }

  void OnReadDone(bool ok) override {
    const std::lock_guard lock(core_.mutex);
    if (!ok) return core_.leave(*this), finish(grpc::Status::OK);
    if (finished_) return;
    if (const auto refusal = assembly_.add(incoming_)) {
      send(shared(wire::make_frame({wire::Kind::kRefuse, static_cast<std::uint8_t>(*refusal)})));
      core_.leave(*this);
      return close();
    }
    if (assembly_.complete()) {
      SharedFrame frame = assembly_.take();
      if (core_.streams[static_cast<std::size_t>(party_)] == this) {
        ++unread_;
        unread_bytes_ += frame->size();
        core_.push({Arrival::What::kFrame, party_, std::move(frame)});
      }
    }
    if (has_room())
      StartRead(&incoming_);
    else
      paused_ = true;
  }
  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(core_.mutex);
    writing_ = false;
    if (!ok) return finish(grpc::Status::OK);
    write();
    if (closing_ && idle()) finish(grpc::Status::OK);
    core_.parting.notify_all();
  }
  void OnCancel() override {
    const std::lock_guard lock(core_.mutex);
    core_.leave(*this);
    finish(grpc::Status::CANCELLED);
  }
  void OnDone() override {
    {
      const std::lock_guard lock(core_.mutex);
      core_.leave(*this);
      --core_.alive;
      core_.parting.notify_all();
    }
    delete this;
  }

 private:
  [[nodiscard]] bool has_room() const { return unread_ < kUnread && unread_bytes_ < kUnreadBytes; }
  void write() {
    if (writing_ || finished_ || outbox_.empty()) return;
    outgoing_ = outbox_.next();
    writing_ = true;
    StartWrite(&outgoing_);
  }

  Core& core_;
  int party_;
  Assembly assembly_;
  Outbox outbox_;
  grpc::ByteBuffer incoming_;
  grpc::ByteBuffer outgoing_;
  std::size_t unread_ = 0;
  std::size_t unread_bytes_ = 0;
  bool announced_ = false;
  bool writing_ = false;
  bool paused_ = false;
  bool closing_ = false;
  bool finished_ = false;
};

int GrpcServer::Core::party_of(const grpc::GenericCallbackServerContext& context) const {
  const auto names = context.auth_context()->FindPropertyValues(GRPC_X509_CN_PROPERTY_NAME);
  if (names.size() != 1) return -1;
  const auto found = std::find(listening.parties.begin(), listening.parties.end(),
                               std::string(names.front().data(), names.front().size()));
  return found == listening.parties.end() ? -1 : static_cast<int>(found - listening.parties.begin());
}

grpc::ServerGenericBidiReactor* GrpcServer::Core::CreateReactor(grpc::GenericCallbackServerContext* context) {
  if (context->method() != kMethod) return new TurnedAway(grpc::StatusCode::UNIMPLEMENTED, "");
  const int party = party_of(*context);
  if (party < 0) return new TurnedAway(grpc::StatusCode::PERMISSION_DENIED, "not a party of this job");
  if (is_distrusted(listening.credentials, *context->auth_context()))
    return new TurnedAway(grpc::StatusCode::PERMISSION_DENIED, kRevoked);
  front->is_of(context->peer(), party);
  const std::lock_guard lock(mutex);
  auto* stream = new Stream(*this, party);
  ++alive;
  Stream*& current = streams[static_cast<std::size_t>(party)];
  if (current != nullptr) current->finish({kTakenOver, "replaced by a newer connection"});
  forget(party, Arrival::What::kFrame);
  forget(party, Arrival::What::kJoined);
  current = stream;
  stream->begin();
  push({Arrival::What::kJoined, party, {}});
  return stream;
}

GrpcServer::Core::Stream* GrpcServer::Core::known(int party) {
  Stream* stream = streams[static_cast<std::size_t>(party)];
  return stream != nullptr && stream->announced() ? stream : nullptr;
}

void GrpcServer::Core::leave(Stream& stream) {
  Stream*& current = streams[static_cast<std::size_t>(stream.party())];
  if (current != &stream) return;
  current = nullptr;
  push({Arrival::What::kLeft, stream.party(), {}});
}

GrpcServer::GrpcServer(std::unique_ptr<Core> core) : core_(std::move(core)) {}

Result<std::unique_ptr<GrpcServer>> GrpcServer::listen(Listening listening) {
  keep_quiet();
  auto core = std::make_unique<Core>();
  core->streams.resize(listening.parties.size(), nullptr);
  grpc::SslServerCredentialsOptions tls(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  tls.pem_root_certs = listening.credentials.authority;
  tls.pem_key_cert_pairs.push_back({listening.credentials.key, listening.credentials.certificate});
  core->listening = std::move(listening);
  std::unique_ptr<GrpcServer> server(new GrpcServer(std::move(core)));
  Core& made = *server->core_;
  PARLEY_TRY(const std::size_t strangers, room_for_strangers(made.listening.parties.size(), made.listening.strangers));
  PARLEY_TRY(made.front, Front::listen({.address = made.listening.address,
                                        .strangers = strangers,
                                        .from_one = std::max<std::size_t>(1, strangers / 4),
                                        .patience = made.listening.patience,
                                        .silence = made.listening.keepalive}));
  server->port_ = made.front->port();
  grpc::ServerBuilder builder;
  using FromFd = grpc::ServerBuilder::experimental_type::ExternalConnectionType;
  made.acceptor =
      builder.experimental().AddExternalConnectionAcceptor(FromFd::FROM_FD, grpc::SslServerCredentials(tls));
  builder.RegisterCallbackGenericService(server->core_.get());
  builder.SetMaxReceiveMessageSize(kLargestMessage);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, static_cast<int>(made.listening.patience.count()));
  for (const auto& [name, value] : keepalive(made.listening.keepalive)) builder.AddChannelArgument(name, value);
  made.server = builder.BuildAndStart();
  if (made.server == nullptr) return fail(failed("the coordinator's end of gRPC could not be made"));
  made.front->open([&made](int descriptor) {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
    connection.fd = descriptor;
    made.acceptor->HandleNewConnection(&connection);
  });
  return server;
}

GrpcServer::~GrpcServer() {
  if (core_->server == nullptr) return;
  core_->front->close();
  {
    std::unique_lock lock(core_->mutex);
    const auto delivered = [&] {
      return std::all_of(core_->streams.begin(), core_->streams.end(),
                         [](const Core::Stream* stream) { return stream == nullptr || stream->idle(); });
    };
    core_->parting.wait_for(lock, kParting, delivered);
    for (Core::Stream* stream : core_->streams)
      if (stream != nullptr) stream->close();
  }
  core_->server->Shutdown(std::chrono::system_clock::now() + kParting);
  std::unique_lock lock(core_->mutex);
  core_->parting.wait(lock, [&] { return core_->alive == 0; });
}

int GrpcServer::parties() const {
  return static_cast<int>(core_->streams.size());
}

void GrpcServer::send(std::span<const int> parties, const SharedFrame& frame) {
  // Each takes the lock anew: encrypting and writing a large frame takes time, in which others may be heard.
  for (const int party : parties) {
    const std::lock_guard lock(core_->mutex);
    if (Core::Stream* stream = core_->known(party)) stream->send(frame);
  }
}

std::optional<Arrival> GrpcServer::receive(Clock::time_point deadline) {
  std::unique_lock lock(core_->mutex);
  const auto something = [&] { return !core_->arrivals.empty(); };
  if (deadline == Clock::time_point::max())
    core_->changed.wait(lock, something);
  else if (!core_->changed.wait_until(lock, deadline, something))
    return std::nullopt;
  Arrival arrival = std::move(core_->arrivals.front());
  core_->arrivals.pop_front();
  if (arrival.party < 0) return arrival;
  if (Core::Stream* stream = core_->streams[static_cast<std::size_t>(arrival.party)]) {
    if (arrival.what == Arrival::What::kFrame) stream->was_read(arrival.frame->size());
    if (arrival.what == Arrival::What::kJoined) stream->announce();
  }
  return arrival;
}

void GrpcServer::drop(int party) {
  const std::lock_guard lock(core_->mutex);
  Core::Stream* stream = core_->known(party);
  if (stream == nullptr) return;
  core_->forget(party, Arrival::What::kFrame);
  core_->leave(*stream);
  stream->close();
}

void GrpcServer::limit(std::size_t bytes) {
  const std::lock_guard lock(core_->mutex);
  core_->listening.limit = bytes;
  for (Core::Stream* stream : core_->streams)
    if (stream != nullptr) stream->limit(bytes);
}

void GrpcServer::wake() {
  const std::lock_guard lock(core_->mutex);
  core_->push({Arrival::What::kWoken, -1, {}});
}

}  // namespace parley::transport
