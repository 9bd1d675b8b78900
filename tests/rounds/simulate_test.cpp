#include "parley/rounds/simulate.h"

#include <gtest/gtest.h>

#include "parley/core/threads.h"
#include "tests/rounds/mean_parties.h"

using namespace parley;
using namespace parley::rounds;
using tests::Mean;

namespace {

std::vector<std::unique_ptr<AlgorithmParty<Mean>>> parties(const Mean& mean) {
  std::vector<std::unique_ptr<AlgorithmParty<Mean>>> made;
  for (const double value : {1.0, 2.0, 6.0}) made.push_back(tests::mean_party(mean, value));
  return made;
}

}  // namespace

TEST(Simulation, CarriesAnAlgorithmThroughItsBytes) {
  const Mean mean{.rounds = 40};
  const auto end = simulate<Mean>(mean, {0, {0, 0}}, parties(mean));
  ASSERT_TRUE(end);
  EXPECT_EQ(end->outcome.ended, Ended::kDone);
  EXPECT_NEAR(end->outcome.iterate.estimate[0], 3, 1e-9);
  EXPECT_NEAR(end->outcome.iterate.estimate[1], 30, 1e-9);
}

TEST(Simulation, AnObserverCanStopIt) {
  const Mean mean{.rounds = 40};
  const auto end = simulate<Mean>(mean, {0, {0, 0}}, parties(mean),
                                  [](std::int64_t round, const Mean::Iterate&) { return round < 5; });
  EXPECT_EQ(end->outcome.iterate.round, 5);
  EXPECT_EQ(end->outcome.ended, Ended::kStopped);
}

TEST(Simulation, ThreadsChangeNothing) {
  const Mean mean{.rounds = 9};
  set_thread_count(1);
  const auto one = simulate<Mean>(mean, {0, {0, 0}}, parties(mean));
  set_thread_count(4);
  const auto four = simulate<Mean>(mean, {0, {0, 0}}, parties(mean));
  set_thread_count(0);
  EXPECT_EQ(wire::encode(one->outcome.iterate), wire::encode(four->outcome.iterate));
}

TEST(Simulation, MetersWhatCrossesTheBoundary) {
  const Mean mean{.rounds = 4};
  const auto end = simulate<Mean>(mean, {0, {0, 0}}, parties(mean));
  const std::size_t task = wire::kHeaderBytes + wire::encoded_size(Mean::Task{{0, 0}});
  const std::size_t reply = wire::kHeaderBytes + wire::encoded_size(Mean::Reply{0, {0, 0}});
  EXPECT_EQ(end->communication.rounds, 4);
  for (const Traffic& party : end->communication.per_party) {
    EXPECT_EQ(party.down, static_cast<std::int64_t>(4 * task));
    EXPECT_EQ(party.up, static_cast<std::int64_t>(4 * reply));
  }
}

TEST(Network, ARoundLastsTwoLatenciesAndItsLargestMessages) {
  Meter meter(2);
  for (int round = 0; round < 3; ++round) {
    meter.begin_round();
    meter.count_down(0, 1000);
    meter.count_down(1, 1000);
    meter.count_up(0, 500);
    meter.count_up(1, 4000);
    meter.end_round();
  }
  // 3 rounds of 2 x 136 ms and 5,000 bytes at 0.42 Gb/s.
  EXPECT_NEAR(network_seconds(meter.communication(), {136, 420}), 3 * (0.272 + 5000 * 8 / 0.42e9), 1e-12);
  EXPECT_NEAR(network_seconds(meter.communication(), {136, 0}), 3 * 0.272, 1e-12);
}
