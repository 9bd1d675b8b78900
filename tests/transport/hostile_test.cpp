// A party with a good certificate and nothing good to say. PARLEY_LONG=1 says it ten thousand times.
// labels: slow faults
#include <grpcpp/channel.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/sync_stream.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <random>
#include <set>

#include "parley/rounds/drive.h"
#include "tests/transport/three_parties.h"

using namespace parley;
using namespace parley::rounds;
using namespace parley::transport;
using tests::Mean;
using wire::Bytes;
using wire::Kind;
using wire::Refusal;

namespace {

constexpr std::size_t kLimit = 4096;
using Dice = std::mt19937_64;

// A stream on which anything may be said. An end that does not come is a failure, not a hang.
class Stream {
 public:
  explicit Stream(const std::shared_ptr<grpc::Channel>& channel)
      : method_("/parley.Federation/Converse", grpc::internal::RpcMethod::BIDI_STREAMING, channel) {
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    stream_.reset(grpc::internal::ClientReaderWriterFactory<grpc::ByteBuffer, grpc::ByteBuffer>::Create(
        channel.get(), method_, &context_));
  }
  bool say(const Bytes& message) {
    const grpc::Slice slice(message);
    return stream_->Write(grpc::ByteBuffer(&slice, 1));
  }
  bool say_frame(const Bytes& frame) { return say('\1' + frame); }
  std::optional<Bytes> hear() {
    grpc::ByteBuffer message;
    std::vector<grpc::Slice> slices;
    if (!stream_->Read(&message) || !message.Dump(&slices).ok()) return std::nullopt;
    Bytes frame;
    for (const grpc::Slice& slice : slices) frame.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
    return frame.substr(1);
  }
  // The code of the refusal that ends the stream, whatever is said before it; 0: it ended without one.
  int refusal() {
    int code = 0;
    while (const auto heard = hear())
      if (const auto frame = wire::read_frame(*heard); frame && frame->header.kind == Kind::kRefuse)
        code = frame->header.code;
    stream_->Finish();
    return code;
  }

 private:
  grpc::internal::RpcMethod method_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>> stream_;
};

std::shared_ptr<grpc::Channel> channel_of(const std::string& party, int port) {
  const Credentials as = tests::credentials(party);
  grpc::ChannelArguments arguments;
  arguments.SetSslTargetNameOverride(kCoordinator);
  return grpc::CreateCustomChannel(tests::loopback(port), grpc::SslCredentials({as.authority, as.key, as.certificate}),
                                   arguments);
}

// One bit in each of a few bytes: never the same frame again.
Bytes flipped(Bytes frame, Dice& dice) {
  std::set<std::size_t> where;
  for (std::size_t i = 0, count = 1 + dice() % 8; i < count; ++i) where.insert(dice() % frame.size());
  for (const std::size_t at : where) frame[at] = static_cast<char>(frame[at] ^ (1 << dice() % 8));
  return frame;
}
Bytes noise(Dice& dice, std::size_t most) {
  Bytes bytes(dice() % most, '\0');
  for (char& byte : bytes) byte = static_cast<char>(dice());
  return bytes;
}

// A message that must be refused, made from a frame that would be welcome in this place.
Bytes spoiled(const Bytes& good, const wire::RunId& run, Dice& dice) {
  const Bytes last(1, '\1');
  const auto sealed = [&](Kind kind, const wire::RunId& of, std::int64_t round) {
    return last + wire::make_frame({.kind = kind, .run = of, .round = round},
                                   std::string_view(good).substr(wire::kHeaderBytes));
  };
  Bytes frame = good;
  switch (dice() % 13) {
    case 0:
    case 1:
      return last + flipped(good, dice);
    case 2:
      return last + good.substr(0, dice() % good.size());
    case 3:
      return last + good + noise(dice, 100) + 'x';
    case 4:
      return last + noise(dice, 200);
    case 5:  // protocol version
      frame[4] = static_cast<char>(2 + dice() % 200);
      return last + frame;
    case 6: {  // kinds that have no place here, and kinds that do not exist
      static constexpr std::uint8_t kKinds[] = {1, 3, 7, 8, 0, 9, 100, 255};
      return sealed(static_cast<Kind>(kKinds[dice() % 8]), run, 1);
    }
    case 7: {
      wire::RunId other = run;
      other[dice() % other.size()] ^= 1;
      return sealed(Kind::kReply, other, 1);
    }
    case 8:  // rounds to come
      return sealed(Kind::kReply, run, dice() % 2 == 0 ? 2 + static_cast<std::int64_t>(dice() % 1000) : INT64_MAX);
    case 9:
      return last + wire::make_frame({.kind = Kind::kReply, .run = run, .round = 1}, Bytes(kLimit, 'x'));
    case 10:  // promises a payload that does not follow
      for (std::size_t at = 32; at < 40; ++at) frame[at] = static_cast<char>(dice());
      return last + frame;
    case 11:  // a chunk that is neither the last nor another
      return static_cast<char>(2 + dice() % 250) + good;
    default:  // without a checksum, which only frames within a program may lack
      return last +
             wire::make_frame({.kind = Kind::kReply, .run = run, .round = 1, .checked = false}, Mean::Reply{1, {0, 0}});
  }
}

// Says it before or after it has taken its place in the run. The code it gets.
int misbehave(const std::shared_ptr<grpc::Channel>& channel, Dice& dice) {
  Stream stream(channel);
  const auto opening = stream.hear();
  if (!opening) return 0;
  const auto frame = wire::read_frame(*opening);
  if (!frame || frame->header.kind != Kind::kOpen) return 0;
  const wire::RunId run = frame->header.run;
  const Bytes ready = wire::make_frame({.kind = Kind::kReady, .run = run}, "value 2.000000");
  const Bytes reply = wire::make_frame({.kind = Kind::kReply, .run = run, .round = 1}, Mean::Reply{1, {2, 20}});
  if (dice() % 4 == 0) {
    stream.say(spoiled(dice() % 2 == 0 ? ready : reply, run, dice));
    return stream.refusal();
  }
  stream.say_frame(ready);
  if (dice() % 8 == 0)  // an answer to a round long past is late, not wrong: heard and forgotten
    stream.say_frame(wire::make_frame({.kind = Kind::kReply, .run = run, .round = 0}, Mean::Reply{1, {0, 0}}));
  if (dice() % 8 == 0)
    stream.say_frame(ready);  // twice
  else
    stream.say(spoiled(reply, run, dice));
  return stream.refusal();
}

}  // namespace

TEST(Hostile, MalformedFramesAreRefusedWithACodeAndHarmNobody) {
  const int frames = std::getenv("PARLEY_LONG") != nullptr ? 10000 : 2000;
  const Mean mean{.rounds = 5};
  auto server = tests::listen(tests::kNames, kLimit);
  const auto a = tests::site(*server, 0, mean);
  const auto c = tests::site(*server, 2, mean);
  std::unique_ptr<tests::Site> b;
  std::map<int, int> codes;
  // The run waits in its first round for the party that misbehaves. When it has come to its senses the run
  // goes on.
  std::thread third([&] {
    Dice dice(11);
    const auto channel = channel_of("b", server->port());
    for (int sent = 0; sent < frames; ++sent) ++codes[misbehave(channel, dice)];
    b = tests::site(*server, 1, mean);
  });
  auto exchange = Exchange::make(*server, tests::three());
  const auto opened = exchange->open();
  const auto end = opened ? drive(mean, Mean::Iterate{0, {0, 0}}, *exchange) : fail(opened.error());
  third.join();
  ASSERT_TRUE(end) << end.error().message;
  exchange->close();
  const auto undisturbed = tests::simulated(mean);
  EXPECT_EQ(wire::encode(end->iterate), wire::encode(undisturbed.outcome.iterate));
  for (const std::size_t other : {0, 2}) {
    const Traffic& here = exchange->meter().communication().per_party[other];
    const Traffic& there = undisturbed.communication.per_party[other];
    EXPECT_EQ(here.up, there.up) << "nobody else was asked twice";
    EXPECT_EQ(here.down, there.down);
  }
  EXPECT_EQ(codes.count(0), 0U) << codes[0] << " frames were not refused";
  for (const Refusal expected : {Refusal::kCutOff, Refusal::kNotAFrame, Refusal::kWrongVersion, Refusal::kUnknownKind,
                                 Refusal::kTooLarge, Refusal::kDamaged, Refusal::kWrongRun, Refusal::kUnexpected})
    EXPECT_GT(codes[static_cast<int>(expected)], 0) << name(expected);
}

TEST(Hostile, APartyOfAnotherVersionLearnsWhy) {
  auto server = tests::listen(tests::kNames);
  std::atomic<bool> heard = false;
  Terms terms = tests::three();
  terms.stop_asked = [&] { return heard.load(); };
  auto exchange = Exchange::make(*server, terms);
  int code = 0;
  std::thread party([&] {
    Stream stream(channel_of("a", server->port()));
    const auto opening = stream.hear();
    Bytes ready = wire::make_frame({.kind = Kind::kReady, .run = exchange->run()}, "");
    ready[4] = 2;
    stream.say_frame(ready);
    code = stream.refusal();
    heard = true;
    server->wake();
  });
  const auto opened = exchange->open();  // nobody else comes
  party.join();
  EXPECT_TRUE(opened && !*opened);
  EXPECT_EQ(code, static_cast<int>(Refusal::kWrongVersion));
}
