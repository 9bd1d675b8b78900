#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>
#include <utility>

#include "parley/rounds/drive.h"
#include "parley/secure/handshake.h"
#include "tests/transport/three_parties.h"

using namespace parley;
using namespace parley::rounds;
using namespace parley::transport;
using tests::credentials;
using tests::kNames;
using tests::Mean;
using tests::simulated;
using tests::Site;
using tests::site;

namespace {

Arrival next(GrpcServer& server) {
  return *server.receive(Clock::time_point::max());
}

}  // namespace

TEST(Grpc, GivesTheBitsAndTheBytesOfTheInProcessRun) {
  const Mean mean{.rounds = 30};
  auto server = tests::listen(kNames);
  std::vector<std::unique_ptr<Site>> sites;
  for (std::size_t p = 0; p < 3; ++p) sites.push_back(site(*server, p, mean));
  auto exchange = Exchange::make(*server, tests::three());
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
  tests::Dialled party(server->port(), credentials("b"),
                       [](std::string_view frame) { return shared(wire::Bytes(frame.rbegin(), frame.rend())); });
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

TEST(Grpc, ALimitThatIsSetLaterHoldsForConnectionsThatAreThereAndForNewOnes) {
  auto server = tests::listen(kNames);
  tests::Dialled party(server->port(), credentials("a"),
                       [](std::string_view) { return shared(wire::Bytes(5000, 'x')); });
  EXPECT_EQ(next(*server).what, Arrival::What::kJoined);
  const int a = 0;
  server->send({&a, 1}, shared("hello"));
  EXPECT_EQ(next(*server).what, Arrival::What::kFrame);
  server->limit(1000);
  for (int connection = 0; connection < 2; ++connection) {
    server->send({&a, 1}, shared("hello"));
    EXPECT_EQ(next(*server).what, Arrival::What::kLeft);
    EXPECT_EQ(next(*server).what, Arrival::What::kJoined);
  }
  server->limit(5000);
  server->send({&a, 1}, shared("hello"));
  EXPECT_EQ(next(*server).what, Arrival::What::kFrame);
}

TEST(Grpc, LargeFramesThatWaitAreAllReadInTheEnd) {
  auto server = tests::listen(kNames);
  tests::Dialled party(server->port(), credentials("a"),
                       [](std::string_view) { return shared(wire::Bytes(3 << 20, 'x')); });
  EXPECT_EQ(next(*server).what, Arrival::What::kJoined);
  const int a = 0;
  for (int frame = 0; frame < 6; ++frame) server->send({&a, 1}, shared("hello"));
  for (int frame = 0; frame < 6; ++frame) {
    const Arrival arrival = next(*server);
    ASSERT_EQ(arrival.what, Arrival::What::kFrame);
    EXPECT_EQ(arrival.frame->size(), std::size_t{3} << 20);
  }
}

TEST(Grpc, ACertificateThatNamesNoPartyIsTurnedAway) {
  auto server = tests::listen(kNames);
  Site stranger(server->port(), credentials("stranger"), tests::admits(Mean{}, 1));
  const auto turned_away = stranger.wait();
  ASSERT_FALSE(turned_away);
  EXPECT_NE(turned_away.error().message.find("turns this party away"), std::string::npos);
}

// Nobody joins: the wait is what a handshake takes many times over, and waiting longer could only fail the test.
TEST(Grpc, ACertificateOfAnotherAuthorityNeverGetsIn) {
  auto server = tests::listen(kNames);
  Credentials forged = credentials("a", *secure::make_authority("study", {}));
  forged.authority = tests::authority().certificate;  // it believes us, but we do not believe it
  Site forger(server->port(), forged, tests::admits(Mean{}, 1));
  EXPECT_FALSE(server->receive(Clock::now() + std::chrono::milliseconds(300)));
}

TEST(Grpc, AConnectionThatEndsWithoutAWordIsNoticedInWords) {
  auto server = tests::listen(kNames);
  std::promise<std::string> said;
  std::atomic<bool> told = false;
  const auto notice = [&](const DialEvent& event) {
    if (!told.exchange(true)) said.set_value(in_words(event));
  };
  GrpcClient client({.address = tests::loopback(server->port()), .credentials = credentials("a"), .notice = notice});
  std::thread party([&] { EXPECT_TRUE(client.serve([](std::string_view) { return std::nullopt; })); });
  EXPECT_EQ(next(*server).what, Arrival::What::kJoined);
  server.reset();
  EXPECT_NE(said.get_future().get().find(" yet: whoever answers ended the connection without a word"),
            std::string::npos);
  client.stop();
  party.join();
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
  auto exchange = Exchange::make(*server, tests::three());
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
  const auto replaced = half_open.wait();  // it was not half open at all: two daemons have one name
  ASSERT_FALSE(replaced);
  EXPECT_NE(replaced.error().message.find("has taken its place"), std::string::npos) << replaced.error().message;
}

TEST(Grpc, ASecondCoordinatorOnTheSamePortIsRefused) {
  auto server = tests::listen(kNames);
  EXPECT_FALSE(GrpcServer::listen({tests::loopback(server->port()), credentials("coordinator"), kNames}));
}

// It is dialled again at most every five seconds, and whoever ends a daemon does not wait for that.
TEST(Dialling, APartyThatWaitsToDialAgainStopsAtOnce) {
  int port = 0;
  {
    const auto server = tests::listen(tests::kNames);
    port = server->port();
  }  // nobody listens there any more
  std::promise<void> said, ended;
  std::thread party([&] {
    {
      bool once = false;
      GrpcClient client({.address = tests::loopback(port),
                         .credentials = tests::credentials("a"),
                         .notice =
                             [&](const DialEvent&) {
                               if (!std::exchange(once, true)) said.set_value();
                             },
                         .first_pause = std::chrono::hours(1)});
      std::thread stops([&] {
        said.get_future().wait();
        client.stop();
      });
      EXPECT_TRUE(client.serve([](std::string_view) { return std::nullopt; }));
      stops.join();
    }
    ended.set_value();
  });
  ASSERT_EQ(ended.get_future().wait_for(std::chrono::minutes(1)), std::future_status::ready)
      << "it ends before its pause does";
  party.join();
}

TEST(Handshake, SaysWhichCertificateIsNotBelievedAndWhy) {
  const secure::KeyPair others = *secure::make_authority("others", {});
  const auto server_as = [](const Credentials& as) {
    auto server = GrpcServer::listen({.address = tests::loopback(0), .credentials = as, .parties = tests::kNames});
    return std::move(*server);
  };
  const auto doubt = [](const GrpcServer& server, const Credentials& own) {
    return secure::doubt_of(tests::loopback(server.port()), own.authority, {own.certificate, own.key}, kCoordinator);
  };
  const auto expired = [](const std::string& name) {
    const auto pair = secure::issue(tests::authority(), name, {.days = -1});
    return Credentials{tests::authority().certificate, pair->certificate, pair->key};
  };
  const Credentials party = tests::credentials("a");
  const auto good = server_as(tests::credentials("coordinator"));
  EXPECT_EQ(doubt(*good, party), "");
  Credentials stranger = tests::credentials("a", others);
  stranger.authority = tests::authority().certificate;
  EXPECT_EQ(doubt(*good, stranger),
            "whoever answers does not trust this site's certificate: it is not from their authority");
  EXPECT_EQ(doubt(*good, expired("a")), "whoever answers does not trust this site's certificate: it has expired");
  EXPECT_EQ(doubt(*good, tests::credentials("a", others)),
            "the certificate of whoever answers is not from the authority in ca.pem");
  EXPECT_EQ(doubt(*server_as(expired("coordinator")), party),
            "the certificate of whoever answers has expired, by the clock of this machine");
  const std::string not_a_coordinator = doubt(*server_as(tests::credentials("b")), party);
  EXPECT_TRUE(not_a_coordinator.starts_with("the certificate of whoever answers is ")) << not_a_coordinator;
  EXPECT_EQ(secure::doubt_of(tests::loopback(1), party.authority, {party.certificate, party.key}, kCoordinator), "")
      << "nobody there";
}
