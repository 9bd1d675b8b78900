#include <grpcpp/channel.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <random>

#include "parley/rounds/drive.h"
#include "parley/rounds/simulate.h"
#include "tests/rounds/mean_parties.h"
#include "tests/transport/loopback.h"

using namespace parley;
using namespace parley::rounds;
using namespace parley::transport;
using tests::credentials;
using tests::Mean;
using tests::Site;

namespace {

const std::vector<std::string> kNames = {"a", "b", "c"};
const std::vector<double> kValues = {1, 2, 6};

Terms terms(Rules rules = {}) {
  return {.parties = kNames, .job = "job", .rules = rules};
}

std::unique_ptr<Site> site(const GrpcServer& server, std::size_t party, const Mean& mean) {
  return std::make_unique<Site>(server.port(), credentials(kNames[party]),
                                tests::admits(mean, kValues[party]));
}

Simulated<Mean::Iterate> simulated(const Mean& mean) {
  std::vector<std::unique_ptr<Party<Mean>>> parties;
  for (const double value : kValues) parties.push_back(tests::mean_party(mean, value));
  return *simulate<Mean>(mean, {0, {0, 0}}, std::move(parties));
}

Arrival next(GrpcServer& server) {
  return *server.receive(Clock::time_point::max());
}

}  // namespace

TEST(Grpc, GivesTheBitsAndTheBytesOfTheInProcessRun) {
  const Mean mean{.rounds = 30};
  auto server = tests::listen(kNames);
  std::vector<std::unique_ptr<Site>> sites;
  for (std::size_t p = 0; p < 3; ++p) sites.push_back(site(*server, p, mean));
  auto exchange = Exchange::make(*server, terms());
  ASSERT_TRUE(exchange->open());
  const auto end = drive(mean, Mean::Iterate{0, {0, 0}}, *exchange);
  ASSERT_TRUE(end) << end.error().message;
  exchange->close();
  for (auto& party : sites) EXPECT_TRUE(party->wait()) << "the run is over for every party";
  const auto local = simulated(mean);
  EXPECT_EQ(wire::encode(end->iterate), wire::encode(local.outcome.iterate));
  const Traffic over_grpc = exchange->meter().communication().total();
  EXPECT_EQ(over_grpc.up, local.communication.total().up);
  EXPECT_EQ(over_grpc.down, local.communication.total().down);
}

TEST(Grpc, FramesBeyondTheLimitOfAMessagePassInChunks) {
  auto server = tests::listen(kNames);
  tests::Dialled party(server->port(), credentials("b"), [](std::string_view frame) {
    return shared(wire::Bytes(frame.rbegin(), frame.rend()));
  });
  EXPECT_EQ(next(*server).what, Arrival::What::kJoined);
  wire::Bytes large((std::size_t{9} << 20) + 12345, 'x');
  large.front() = 'f';
  const int b = 1;
  server->send({&b, 1}, shared(large));
  const Arrival back = next(*server);
  ASSERT_EQ(back.what, Arrival::What::kFrame);
  EXPECT_EQ(back.party, 1);
  EXPECT_EQ(*back.frame, wire::Bytes(large.rbegin(), large.rend()));
}

TEST(Grpc, AFrameBeyondTheAgreedLimitEndsTheConnection) {
  auto server = tests::listen(kNames, 1000);
  tests::Dialled party(server->port(), credentials("a"),
                       [](std::string_view) { return shared(wire::Bytes(5000, 'x')); });
  EXPECT_EQ(next(*server).what, Arrival::What::kJoined);
  const int a = 0;
  server->send({&a, 1}, shared("hello"));
  EXPECT_EQ(next(*server).what, Arrival::What::kLeft);
}

TEST(Grpc, ACertificateThatNamesNoPartyIsTurnedAway) {
  auto server = tests::listen(kNames);
  Site stranger(server->port(), credentials("stranger"), tests::admits(Mean{}, 1));
  const auto turned_away = stranger.wait();
  ASSERT_FALSE(turned_away);
  EXPECT_NE(turned_away.error().message.find("turns this party away"), std::string::npos);
}

// Nobody joins: the wait is what a handshake takes many times over, and waiting longer could only fail the
// test.
TEST(Grpc, ACertificateOfAnotherAuthorityNeverGetsIn) {
  auto server = tests::listen(kNames);
  Credentials forged = credentials("a", *secure::make_authority("study", {}));
  forged.authority = tests::authority().certificate;  // it believes us, but we do not believe it
  Site forger(server->port(), forged, tests::admits(Mean{}, 1));
  EXPECT_FALSE(server->receive(Clock::now() + std::chrono::milliseconds(300)));
}

TEST(Grpc, APartyDoesNotTalkToACoordinatorOfAnotherAuthority) {
  const secure::KeyPair other = *secure::make_authority("study", {});
  auto server = GrpcServer::listen({tests::loopback(0), credentials("coordinator", other), kNames});
  ASSERT_TRUE(server);
  Site party((*server)->port(), credentials("a"), tests::admits(Mean{}, 1));
  EXPECT_FALSE((*server)->receive(Clock::now() + std::chrono::milliseconds(300)));
}

TEST(Grpc, APartyCannotPoseAsTheCoordinator) {
  auto server = GrpcServer::listen({tests::loopback(0), credentials("b"), kNames});
  ASSERT_TRUE(server);
  Site party((*server)->port(), credentials("a"), tests::admits(Mean{}, 1));
  EXPECT_FALSE((*server)->receive(Clock::now() + std::chrono::milliseconds(300)));
}

TEST(Grpc, APartyThatIsDroppedDialsAgainAndTheRunEndsInTheSameBits) {
  const Mean mean{.rounds = 12};
  auto server = tests::listen(kNames);
  std::vector<std::unique_ptr<Site>> sites;
  for (std::size_t p = 0; p < 3; ++p) sites.push_back(site(*server, p, mean));
  auto exchange = Exchange::make(*server, terms());
  ASSERT_TRUE(exchange->open());
  const auto end = drive<Mean>(mean, {0, {0, 0}}, *exchange, [&](std::int64_t round, const Mean::Iterate&) {
    if (round % 4 == 1) server->drop(static_cast<int>(round) % 3);
    return true;
  });
  ASSERT_TRUE(end) << end.error().message;
  exchange->close();
  EXPECT_EQ(wire::encode(end->iterate), wire::encode(simulated(mean).outcome.iterate));
}

TEST(Grpc, APartyThatComesTwiceReplacesItsOldConnection) {
  auto server = tests::listen(kNames);
  Site half_open(server->port(), credentials("a"), tests::admits(Mean{}, 99));
  EXPECT_EQ(next(*server).what, Arrival::What::kJoined);
  Site again(server->port(), credentials("a"), tests::admits(Mean{}, 1));
  EXPECT_EQ(next(*server).what, Arrival::What::kJoined);
}

TEST(Grpc, ASecondCoordinatorOnTheSamePortIsRefused) {
  auto server = tests::listen(kNames);
  EXPECT_FALSE(GrpcServer::listen({tests::loopback(server->port()), credentials("coordinator"), kNames}));
}

namespace {

// A party with a good certificate and nothing good to say: raw messages, many to a stream.
class Hostile final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  Hostile(const std::shared_ptr<grpc::Channel>& channel, std::vector<wire::Bytes> messages)
      : stub_(channel), messages_(std::move(messages)) {
    stub_.PrepareBidiStreamingCall(&context_, "/parley.Federation/Converse", grpc::StubOptions(), this);
    write();
    StartRead(&incoming_);
    StartCall();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_; });
  }
  void OnReadDone(bool ok) override {
    if (ok) StartRead(&incoming_);
  }
  void OnWriteDone(bool ok) override {
    if (ok && next_ < messages_.size())
      write();
    else if (ok)
      StartWritesDone();
  }
  void OnDone(const grpc::Status&) override {
    const std::lock_guard lock(mutex_);
    done_ = true;
    changed_.notify_all();
  }

 private:
  void write() {
    const grpc::Slice slice(messages_[next_++]);
    outgoing_ = grpc::ByteBuffer(&slice, 1);
    StartWrite(&outgoing_);
  }
  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  std::vector<wire::Bytes> messages_;
  std::size_t next_ = 0;
  grpc::ByteBuffer incoming_;
  grpc::ByteBuffer outgoing_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
};

// Frames damaged in every way, chunked rightly or wrongly; a refusal is the one thing that a party may
// rightly end a run with, so it is left out.
wire::Bytes malformed(std::mt19937_64& random) {
  const auto kind = static_cast<wire::Kind>(1 + random() % 5);
  wire::Bytes frame = wire::make_frame(
      {kind, static_cast<std::uint8_t>(random() % 3), {}, static_cast<std::int64_t>(random() % 4)},
      wire::Bytes(random() % 64, 'x'));
  switch (random() % 5) {
    case 0:
      frame[random() % frame.size()] = static_cast<char>(random());
      break;
    case 1:
      frame.resize(random() % frame.size());
      break;
    case 2:
      frame.append(random() % 100, 'y');
      break;
    case 3:
      for (char& byte : frame) byte = static_cast<char>(random());
      break;
    default:
      break;  // well formed, but of no run
  }
  return static_cast<char>(random() % 8 == 0 ? random() : 1) + frame;
}

void attack(int port, const Credentials& as, int frames) {
  std::mt19937_64 random(11);
  grpc::ChannelArguments arguments;
  arguments.SetSslTargetNameOverride(kCoordinator);
  const auto channel = grpc::CreateCustomChannel(
      tests::loopback(port), grpc::SslCredentials({as.authority, as.key, as.certificate}), arguments);
  for (int sent = 0; sent < frames; sent += 50) {
    std::vector<wire::Bytes> messages;
    for (int i = 0; i < 50; ++i) messages.push_back(malformed(random));
    Hostile(channel, std::move(messages)).wait();
  }
}

}  // namespace

TEST(Grpc, TenThousandMalformedFramesFromOnePartyHarmNobody) {
  const Mean mean{.rounds = 5};
  auto server = tests::listen(kNames, 4096);
  const auto a = site(*server, 0, mean);
  const auto c = site(*server, 2, mean);
  std::unique_ptr<Site> b;
  // The run opens at the two others while the third misbehaves; when it has come to its senses the run
  // begins.
  std::thread third([&] {
    attack(server->port(), credentials("b"), 10000);
    b = site(*server, 1, mean);
  });
  auto exchange = Exchange::make(*server, terms());
  ASSERT_TRUE(exchange->open());
  third.join();
  const auto end = drive(mean, Mean::Iterate{0, {0, 0}}, *exchange);
  ASSERT_TRUE(end) << end.error().message;
  exchange->close();
  EXPECT_EQ(wire::encode(end->iterate), wire::encode(simulated(mean).outcome.iterate));
}
