#include "parley/rounds/simulate.h"

#include <gtest/gtest.h>

#include "tests/rounds/mean.h"

using namespace parley;
using namespace parley::rounds;
using tests::Mean;

namespace {

std::vector<Party<Mean>> parties(const Mean& mean) {
  std::vector<Party<Mean>> made;
  for (const double value : {1.0, 2.0, 6.0})
    made.emplace_back(mean, std::vector<double>{value, 10 * value}, without_privacy(privacy::Unprotected{}));
  return made;
}

}  // namespace

TEST(Simulation, CarriesAnAlgorithmThroughItsBytes) {
  const Mean mean{.rounds = 40};
  auto sites = parties(mean);
  const auto end = simulate<Mean>(mean, {0, {0, 0}}, sites);
  ASSERT_TRUE(end);
  EXPECT_NEAR(end->estimate[0], 3, 1e-9);
  EXPECT_NEAR(end->estimate[1], 30, 1e-9);
}

TEST(Simulation, AnObserverCanStopIt) {
  const Mean mean{.rounds = 40};
  auto sites = parties(mean);
  const auto end = simulate<Mean>(mean, {0, {0, 0}}, sites, [](std::int64_t round, const Mean::Iterate&) { return round < 5; });
  EXPECT_EQ(end->round, 5);
}

TEST(Party, ARepeatedRequestGetsTheSameBytesAndTheSameMemory) {
  const Mean mean{.rounds = 2};
  Party<Mean> party = std::move(parties(mean).front());
  const wire::Bytes task = wire::encode(Mean::Task{{0, 0}});
  const Sent first = party.answer(1, task);
  const Sent again = party.answer(1, task);
  EXPECT_EQ(first.reply, again.reply);
  EXPECT_NE(party.answer(2, task).reply, first.reply) << "the memory counts answers";
}

TEST(Party, ABadTaskBecomesACodeWithoutText) {
  const Mean mean{.rounds = 2};
  Party<Mean> party = std::move(parties(mean).front());
  const Sent sent = party.answer(1, "nonsense");
  EXPECT_EQ(sent.fault, privacy::FaultCode::kBadTask);
  EXPECT_TRUE(sent.reply.empty());
  EXPECT_FALSE(party.last_error().empty());
}
