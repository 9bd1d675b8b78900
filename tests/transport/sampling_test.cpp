// Rounds that do not ask everybody, over each transport: the bits and the bytes of the run in one process.
#include <gtest/gtest.h>

#include <cstdlib>

#include "parley/rounds/drive.h"
#include "tests/rounds/sampled_mean.h"
#include "tests/transport/loopback.h"
#ifdef PARLEY_MPI
#include "parley/transport/mpi/mpi_channel.h"
#endif

using namespace parley;
using namespace parley::rounds;
using tests::kUnsampled;
using tests::SampledMean;

namespace {

const std::vector<std::string> kNames = {"a", "b", "c"};

Terms terms() {
  return {.parties = kNames, .job = "job"};
}

void expect_as_in_process(const DriveResult<SampledMean::Iterate>& end, const Communication& sent) {
  const auto local = tests::simulated(SampledMean{});
  EXPECT_EQ(wire::encode(end.iterate), wire::encode(local.outcome.iterate));
  EXPECT_EQ(sent.asked, local.communication.asked);
  EXPECT_EQ(sent.answered, local.communication.answered);
  for (std::size_t p = 0; p < kNames.size(); ++p) {
    EXPECT_EQ(sent.per_party[p].up, local.communication.per_party[p].up) << kNames[p];
    EXPECT_EQ(sent.per_party[p].down, local.communication.per_party[p].down) << kNames[p];
  }
}

}  // namespace

// Party b is lost while no round asks it, and comes back as a new process in time for the round that does.
TEST(Sampling, GivesTheBitsAndTheBytesOfTheInProcessRunOverGrpc) {
  const SampledMean sampled;
  for (const bool b_is_lost : {false, true}) {
    auto server = tests::listen(kNames);
    std::vector<std::unique_ptr<tests::Site>> sites;
    const auto site = [&](std::size_t party) {
      return std::make_unique<tests::Site>(server->port(), tests::credentials(kNames[party]),
                                           tests::admits_sampled(sampled, tests::kSampledValues[party]));
    };
    for (std::size_t p = 0; p < kNames.size(); ++p) sites.push_back(site(p));
    auto exchange = Exchange::make(*server, terms());
    ASSERT_TRUE(exchange->open());
    const auto end =
        drive<SampledMean>(sampled, kUnsampled, *exchange, [&](std::int64_t round, const SampledMean::Iterate& now) {
          // Without a folder it has lost its memory: it counts its answers from one again.
          if (b_is_lost && round == 3) sites[1].reset();
          if (b_is_lost && round == 5) sites[1] = site(1);
          EXPECT_TRUE(!b_is_lost || round != 7 || now.heard[now.heard.size() - 2] == 101);
          return true;
        });
    ASSERT_TRUE(end) << end.error().message;
    EXPECT_TRUE(exchange->close());
    for (auto& party : sites) EXPECT_TRUE(party->wait()) << "the run is over for every party";
    if (!b_is_lost) expect_as_in_process(*end, exchange->meter().communication());
  }
}

#ifdef PARLEY_MPI
TEST(Sampling, GivesTheBitsAndTheBytesOfTheInProcessRunOverMpi) {
  if (std::getenv("OMPI_COMM_WORLD_SIZE") == nullptr) GTEST_SKIP() << "is started by mpirun (sampling_mpi)";
  const transport::MpiWorld world(nullptr, nullptr);
  ASSERT_EQ(world.size(), static_cast<int>(kNames.size()));
  const SampledMean sampled;
  const double value = tests::kSampledValues[static_cast<std::size_t>(world.rank())];
  Handler handler(tests::admits_sampled(sampled, value), "");
  int tasks = 0;
  const auto respond = [&](std::string_view frame) {
    const auto read = wire::read_frame(frame, wire::kDefaultLimit, wire::Unchecked::kAllowed);
    tasks += read->header.kind == wire::Kind::kTask ? 1 : 0;
    return handler.respond(frame, wire::Unchecked::kAllowed);
  };
  if (world.rank() == 0) {
    transport::MpiChannel channel(world, respond);
    auto exchange = Exchange::make(channel, terms());
    ASSERT_TRUE(exchange->open());
    const auto end = drive(sampled, kUnsampled, *exchange);
    ASSERT_TRUE(end) << end.error().message;
    EXPECT_TRUE(exchange->close());
    expect_as_in_process(*end, exchange->meter().communication());
  } else {
    transport::serve(world, respond);
  }
  EXPECT_EQ(tasks, (std::vector<int>{5, 3, 5})[static_cast<std::size_t>(world.rank())]);
}
#endif
