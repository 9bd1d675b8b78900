// Networks that break without saying so, and networks that crawl.
// labels: slow faults
#include <gtest/gtest.h>

#include "parley/rounds/drive.h"
#include "tests/transport/relay.h"
#include "tests/transport/three_parties.h"

using namespace parley;
using namespace parley::rounds;
using namespace parley::transport;
using tests::Mean;
using tests::Relay;

namespace {

constexpr std::chrono::milliseconds kSilence{400};

// The coordinator, parties a and c next to it, and b behind the relay; everyone soon asks whether the other
// is there.
class Broken : public testing::Test {
 protected:
  Broken() {
    auto made = GrpcServer::listen({.address = tests::loopback(0),
                                    .credentials = tests::credentials("coordinator"),
                                    .parties = tests::kNames,
                                    .keepalive = kSilence});
    server = std::move(*made);
    relay = std::make_unique<Relay>(server->port());
    for (std::size_t p = 0; p < 3; ++p) {
      handlers.push_back(std::make_unique<Handler>(tests::admits(mean, tests::kValues[p]), ""));
      Handler* handler = handlers.back().get();
      clients.push_back(
          std::make_unique<GrpcClient>(Dialing{.address = tests::loopback(p == 1 ? relay->port() : server->port()),
                                               .credentials = tests::credentials(tests::kNames[p]),
                                               .finished = [handler] { return handler->over(); },
                                               .keepalive = kSilence}));
      GrpcClient* client = clients.back().get();
      threads.emplace_back(
          [=] { (void)client->serve([=](std::string_view frame) { return handler->respond(frame); }); });
    }
  }
  ~Broken() override {
    for (const auto& client : clients) client->stop();
    for (std::thread& thread : threads) thread.join();
  }
  Result<DriveResult<Mean::Iterate>> run(Rules rules, const std::function<void(std::int64_t)>& after_round) {
    PARLEY_TRY(Exchange exchange, Exchange::make(*server, tests::three(rules)));
    PARLEY_CHECK(exchange.open());
    PARLEY_TRY(auto end, drive<Mean>(mean, {0, {0, 0}}, exchange, [&](std::int64_t round, const Mean::Iterate&) {
                 after_round(round);
                 return true;
               }));
    PARLEY_CHECK(exchange.close());
    return end;
  }

  const Mean mean{.rounds = 8};
  std::unique_ptr<GrpcServer> server;
  std::unique_ptr<Relay> relay;
  std::vector<std::unique_ptr<Handler>> handlers;
  std::vector<std::unique_ptr<GrpcClient>> clients;
  std::vector<std::thread> threads;
};

}  // namespace

TEST_F(Broken, APartyWhoseConnectionFellSilentDialsAgainAndTheRunEndsInTheSameBits) {
  const auto end = run({}, [&](std::int64_t round) {
    if (round == 3) relay->fall_silent();
  });
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(wire::encode(end->iterate), wire::encode(tests::simulated(mean).outcome.iterate));
}

TEST_F(Broken, ARunThatMayProceedDoesNotWaitForASilentParty) {
  const auto end = run({OnMissing::kProceed, std::chrono::milliseconds(150), 2}, [&](std::int64_t round) {
    if (round == 3) relay->stay_silent();
  });
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->rounds, 8);
}

TEST_F(Broken, ARunThatMustNotProceedNamesTheSilentParty) {
  const auto end = run({OnMissing::kFail, std::chrono::milliseconds(3000), 1}, [&](std::int64_t round) {
    if (round == 3) relay->stay_silent();
  });
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().message, "round 4: no answer in time from: b");
}

// It computes in the thread that would read what is asked of it in between.
TEST(Slow, APartyThatComputesForLongIsNotTakenForOneThatIsGone) {
  auto server = GrpcServer::listen({.address = tests::loopback(0),
                                    .credentials = tests::credentials("coordinator"),
                                    .parties = {"a"},
                                    .keepalive = kSilence});
  ASSERT_TRUE(server);
  const Mean mean{.rounds = 1};
  Handler handler(tests::admits(mean, 1), "");
  GrpcClient client({.address = tests::loopback((*server)->port()),
                     .credentials = tests::credentials("a"),
                     .finished = [&] { return handler.over(); },
                     .keepalive = kSilence});
  std::thread thread([&] {
    (void)client.serve([&](std::string_view frame) {
      const auto read = wire::read_frame(frame);
      // The computation: as long as several times the silence after which a party is taken for gone.
      if (read && read->header.kind == wire::Kind::kTask) std::this_thread::sleep_for(5 * kSilence);
      return handler.respond(frame);
    });
  });
  std::vector<std::string> said;
  Terms terms{.parties = {"a"}, .job = "job"};
  terms.notice = [&](const Event& event) { said.push_back(in_words(event)); };
  auto exchange = Exchange::make(**server, terms);
  ASSERT_TRUE(exchange->open());
  EXPECT_TRUE(drive<Mean>(mean, {0, {0, 0}}, *exchange));
  EXPECT_TRUE(exchange->close());
  thread.join();
  EXPECT_EQ(said, (std::vector<std::string>{"waiting for: a", "a joined", "a is ready; all are here"}));
}

TEST_F(Broken, APartyBehindACrawlingNetworkGivesTheSameBits) {
  relay->crawl();
  const auto end = run({}, [](std::int64_t) {});
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(wire::encode(end->iterate), wire::encode(tests::simulated(mean).outcome.iterate));
}
