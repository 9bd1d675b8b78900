// Who may come in at the coordinator's door, how many, and for how long.
// labels: slow
#include "parley/transport/grpc/front.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>

#include "parley/rounds/drive.h"
#include "tests/transport/relay.h"
#include "tests/transport/three_parties.h"

using namespace parley;
using namespace parley::rounds;
using namespace parley::transport;
using tests::Mean;

namespace {

constexpr char kHello[] = {0x16, 0x03, 0x01};

// A TCP connection and nothing more.
class Stranger {
 public:
  explicit Stranger(int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    EXPECT_EQ(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  ~Stranger() { ::close(socket_); }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;
  void say(std::string_view what) const {
    EXPECT_EQ(::send(socket_, what.data(), what.size(), MSG_NOSIGNAL), static_cast<ssize_t>(what.size()));
  }
  // Waits until the other side has hung up; what a stranger is sent before (an alert of TLS) does not matter.
  void is_turned_away() const {
    const timeval most{60, 0};  // an end that does not come is a failure, not a hang
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    char heard[256];
    ssize_t got = 1;
    while (got > 0) got = ::recv(socket_, heard, sizeof heard, 0);
    EXPECT_TRUE(got == 0 || errno == ECONNRESET) << errno;
  }
  [[nodiscard]] bool is_connected() const {
    char heard = 0;
    return ::recv(socket_, &heard, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
  }

 private:
  int socket_;
};

std::unique_ptr<GrpcServer> listen(std::size_t strangers, std::chrono::milliseconds patience) {
  auto server = GrpcServer::listen({.address = tests::loopback(0),
                                    .credentials = tests::credentials("coordinator"),
                                    .parties = tests::kNames,
                                    .patience = patience,
                                    .strangers = strangers});
  EXPECT_TRUE(server) << server.error().message;
  return std::move(*server);
}

constexpr std::chrono::milliseconds kSoon{300};
constexpr std::chrono::hours kLong{1};

}  // namespace

TEST(Front, WhoSaysNothingGoesWhenItsTimeIsOver) {
  const auto server = listen(256, kSoon);
  const Stranger stranger(server->port());
  stranger.is_turned_away();
}

TEST(Front, WhoBeginsToShakeHandsAndStopsGoesWhenItsTimeIsOver) {
  const auto server = listen(256, kSoon);
  const Stranger stranger(server->port());
  stranger.say({kHello, sizeof kHello});
  stranger.is_turned_away();
}

TEST(Front, WhoDoesNotSpeakTlsGoesAtOnce) {
  const auto server = listen(256, kLong);
  const Stranger stranger(server->port());
  stranger.say("GET / HTTP/1.1\r\n\r\n");
  stranger.is_turned_away();
}

TEST(Front, ThereIsRoomForSoManyAndTheOldestWhoSaysNothingGoesFirst) {
  const auto server = listen(8, kLong);  // two from one address
  const Stranger speaks(server->port());
  speaks.say({kHello, sizeof kHello});
  const Stranger first(server->port());
  const Stranger second(server->port());
  first.is_turned_away();
  EXPECT_TRUE(speaks.is_connected());
  const Stranger third(server->port());
  second.is_turned_away();
  EXPECT_TRUE(speaks.is_connected());
}

TEST(Front, PartiesStayAndComeInBesideStrangers) {
  const Mean mean{.rounds = 8};
  auto server = listen(8, kSoon);
  std::vector<std::unique_ptr<Stranger>> strangers;
  const auto crowd = [&] {
    for (int i = 0; i < 40; ++i) {
      strangers.push_back(std::make_unique<Stranger>(server->port()));
      if (i % 2 == 0) strangers.back()->say({kHello, sizeof kHello});
    }
  };
  crowd();
  std::vector<std::unique_ptr<tests::Site>> sites;
  for (std::size_t p = 0; p < 3; ++p) sites.push_back(tests::site(*server, p, mean));
  auto exchange = Exchange::make(*server, tests::three());
  ASSERT_TRUE(exchange->open());
  crowd();
  // The run lasts longer than a stranger's time: a party's connection has no end.
  const auto end = drive<Mean>(mean, {0, {0, 0}}, *exchange, [&](std::int64_t round, const Mean::Iterate&) {
    if (round == 4) strangers.front()->is_turned_away(), std::this_thread::sleep_for(2 * kSoon);
    return true;
  });
  ASSERT_TRUE(end) << end.error().message;
  ASSERT_TRUE(exchange->close());
  EXPECT_EQ(wire::encode(end->iterate), wire::encode(tests::simulated(mean).outcome.iterate));
  for (std::size_t p = 0; p < 3; ++p)
    EXPECT_EQ(exchange->meter().communication().answered[p], 8) << "and nobody was cut off";
  for (const auto& stranger : strangers) stranger->is_turned_away();
}

// Whoever has a certificate of the federation is let in only if it is a party's.
TEST(Front, AMemberWhoIsNoPartyIsTurnedAwayWithAWord) {
  const auto server = listen(256, kSoon);
  const Result<void> served = [&] {
    GrpcClient client({.address = tests::loopback(server->port()), .credentials = tests::credentials("nobody")});
    return client.serve([](std::string_view) { return std::nullopt; });
  }();
  ASSERT_FALSE(served);
  EXPECT_NE(served.error().message.find("turns this party away"), std::string::npos);
}

TEST(Front, AnAddressThatIsTakenIsRefused) {
  const auto server = listen(256, kLong);
  EXPECT_FALSE(GrpcServer::listen({.address = tests::loopback(server->port()),
                                   .credentials = tests::credentials("coordinator"),
                                   .parties = tests::kNames}));
}

// By whichever address it came, a party is known for one, and stays longer than a stranger may.
TEST(Front, NamesOfHostsAndBothFamiliesCanBeListenedOn) {
  const bool v6 =
      GrpcServer::listen({.address = "[::1]:0", .credentials = tests::credentials("coordinator"), .parties = {"a"}})
          .has_value();
  std::vector<std::pair<std::string, std::string>> ways{
      {"127.0.0.1", "127.0.0.1"}, {"0.0.0.0", "127.0.0.1"}, {"localhost", "localhost"}};
  if (v6) ways.insert(ways.end(), {{"[::1]", "[::1]"}, {"0.0.0.0", "[::1]"}, {"[::]", "127.0.0.1"}});
  for (const auto& way : ways) {
    const std::string &at = way.first, &dialled = way.second;
    auto server = GrpcServer::listen(
        {.address = at + ":0", .credentials = tests::credentials("coordinator"), .parties = {"a"}, .patience = kSoon});
    ASSERT_TRUE(server) << at << server.error().message;
    const Mean mean{.rounds = 4};
    Handler handler(tests::admits(mean, 1), "");
    GrpcClient client({.address = dialled + ":" + std::to_string((*server)->port()),
                       .credentials = tests::credentials("a"),
                       .finished = [&] { return handler.over(); }});
    std::thread party(
        [&] { EXPECT_TRUE(client.serve([&](std::string_view frame) { return handler.respond(frame); })); });
    std::vector<std::string> said;
    Terms terms{.parties = {"a"}, .job = "job"};
    terms.notice = [&](const Event& event) { said.push_back(in_words(event)); };
    auto exchange = Exchange::make(**server, terms);
    EXPECT_TRUE(exchange->open()) << at;
    // A stranger who comes after the party goes before the run does.
    EXPECT_TRUE(drive<Mean>(mean, {0, {0, 0}}, *exchange, [&](std::int64_t, const Mean::Iterate&) {
      if (dialled == "127.0.0.1")
        Stranger((*server)->port()).is_turned_away();
      else
        std::this_thread::sleep_for(kSoon / 2);
      return true;
    }));
    EXPECT_TRUE(exchange->close());
    party.join();
    EXPECT_EQ(said, (std::vector<std::string>{"waiting for: a", "a joined", "a is ready; all are here"}))
        << at << " " << dialled;
  }
}
