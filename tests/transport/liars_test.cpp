// A party with a good certificate whose introduction or replies cannot be true, over gRPC. Everything that it may say
// is tried in tests/runs/liars_test.cpp; this is that a transport changes nothing about it.
#include <gtest/gtest.h>

#include <fstream>
#include <limits>

#include "parley/algorithms/horizontal/fedavg.h"
#include "parley/catalog/federation.h"
#include "parley/catalog/method.h"
#include "parley/catalog/read_job.h"
#include "parley/runs/coordinate.h"
#include "parley/runs/member.h"
#include "tests/support/temporary_folder.h"
#include "tests/transport/three_parties.h"

using namespace parley;
using namespace parley::runs;
using algorithms::FedAvg;
using wire::Kind;

namespace {

constexpr const char* kJob = R"(
[job]
name = "records"
partition = "horizontal"
task = "logistic"
[algorithm]
name = "fedavg"
iterations = 3
step = 0.1
[rounds]
on_missing = "proceed"
deadline_seconds = 60
quorum = 2
)";

using Lie = std::function<wire::Bytes(const wire::Frame&)>;

template <class Message>
wire::Bytes changed(const wire::Frame& frame, const std::function<void(Message&)>& change) {
  Message message = *wire::decode<Message>(frame.payload);
  change(message);
  return wire::make_frame(frame.header, message);
}

class LiarsOverGrpc : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream job(folder_ / "job.toml");
    job << kJob;
    for (const std::string& name : tests::kNames) {
      std::ofstream table(folder_ / (name + ".libsvm"));
      // Everybody has people of their own.
      for (int i = 0; i < 40; ++i)
        table << (i % 3 == 0 ? 1 : -1) << " 1:" << 0.1 * (i % 7) + 0.01 * (name[0] - 'a') << " 2:" << 0.2 * (i % 3)
              << "\n";
      job << "[[party]]\nname = \"" << name << "\"\ndata = \"" << name << ".libsvm\"\n";
    }
  }
  Result<runs::Coordinated> run(const Lie& lie, const std::vector<std::string>& overrides) {
    PARLEY_TRY(const jobs::Job job, catalog::read_job((folder_ / "job.toml").string(), overrides));
    const std::vector<int> everyone = {0, 1, 2};
    PARLEY_TRY(std::vector<catalog::PartyTable> tables,
               catalog::federation_of(job)->read(job, everyone, catalog::files_of(job)));
    std::vector<Member> members;
    for (catalog::PartyTable& table : tables) members.push_back({std::move(table)});
    const auto server = tests::listen(tests::kNames);
    std::vector<std::unique_ptr<rounds::Handler>> handlers;
    for (const Member& member : members)
      handlers.push_back(
          std::make_unique<rounds::Handler>([&](const rounds::Opening&) { return admission_of(job, member); }, ""));
    rounds::Terms terms = tests::three(job.rules);
    said_.clear();
    terms.notice = [this](const rounds::Event& event) { said_ += in_words(event) + "\n"; };
    PARLEY_TRY(rounds::Exchange exchange, rounds::Exchange::make(*server, std::move(terms)));
    std::vector<std::unique_ptr<tests::Dialled>> dialled;
    for (std::size_t p = 0; p < tables.size(); ++p)
      dialled.push_back(std::make_unique<tests::Dialled>(
          server->port(), tests::credentials(tests::kNames[p]),
          [handler = handlers[p].get(),
           lie = p == 1 ? lie : Lie{}](std::string_view frame) -> std::optional<transport::SharedFrame> {
            auto answer = handler->respond(frame);
            if (!answer || !lie) return answer;
            return transport::shared(lie(*wire::read_frame(**answer)));
          }));
    return coordinate(job, exchange, {});
  }

  TemporaryFolder folder_;
  std::string said_;
};

}  // namespace

TEST_F(LiarsOverGrpc, AreNamedAndTheOthersGoOn) {
  const std::vector<Lie> lies = {
      [](const wire::Frame& frame) {
        if (frame.header.kind != Kind::kReady) return wire::make_frame(frame.header, frame.payload);
        return changed<jobs::Introduction>(
            frame, [](jobs::Introduction& said) { said.column_count = std::numeric_limits<int>::max(); });
      },
      [](const wire::Frame& frame) {
        if (frame.header.kind != Kind::kReply) return wire::make_frame(frame.header, frame.payload);
        return changed<FedAvg::Reply>(frame, [](FedAvg::Reply& reply) { reply.records = std::int64_t{1} << 62; });
      },
      [](const wire::Frame& frame) {
        if (frame.header.kind != Kind::kReply) return wire::make_frame(frame.header, frame.payload);
        return changed<FedAvg::Reply>(frame, [](FedAvg::Reply& reply) { reply.parameters.resize(1000); });
      },
      [](const wire::Frame& frame) {
        if (frame.header.kind != Kind::kReply) return wire::make_frame(frame.header, frame.payload);
        return wire::make_frame({Kind::kFault, static_cast<std::uint8_t>(privacy::FaultCode::kBudgetEnded),
                                 frame.header.run, frame.header.round});
      },
  };
  for (std::size_t i = 0; i < lies.size(); ++i) {
    const auto ended = run(lies[i], {"rounds.on_missing=wait"});
    ASSERT_FALSE(ended) << i;
    EXPECT_EQ(ended.error().exit_code(), 1) << ended.error().message;
    EXPECT_NE(ended.error().message.find("party 'b'"), std::string::npos) << ended.error().message;
    const auto proceeds = run(lies[i], {});
    ASSERT_TRUE(proceeds) << proceeds.error().message;
    EXPECT_EQ(proceeds->learnt.rounds, 3);
    EXPECT_EQ(proceeds->learnt.stop, algorithms::Stop::kIterations) << "no budget ended";
    EXPECT_NE(said_.find("the run goes on without it"), std::string::npos) << said_;
  }
}
