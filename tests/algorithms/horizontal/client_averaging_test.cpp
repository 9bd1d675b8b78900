#include "parley/algorithms/horizontal/client_averaging.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "parley/algorithms/horizontal/fed_iter_ht.h"
#include "parley/algorithms/horizontal/fedavg.h"
#include "parley/data/random.h"
#include "parley/glm/batch.h"
#include "parley/linalg/vectors.h"
#include "tests/algorithms/federation.h"
#include "tests/algorithms/horizontal/clients.h"

using namespace parley;
using namespace parley::algorithms;
using linalg::Index;
using linalg::Matrix;
using namespace parley::tests;

namespace {

using Average = ClientAveraging<FedAvg::kParts>;
using IterHt = ClientAveraging<FedIterHt::kParts>;

template <class A>
Result<std::vector<rounds::Answer<typename A::Reply>>> answers(const A& algorithm, const typename A::Iterate& at,
                                                               Clients& all,
                                                               std::vector<typename A::Memory>& memories) {
  std::vector<rounds::Answer<typename A::Reply>> given;
  PARLEY_TRY(const auto task, wire::decode<typename A::Task>(wire::encode(algorithm.ask(at))));
  for (std::size_t p = 0; p < all.size(); ++p) {
    PARLEY_TRY(const auto released, algorithm.answer(task, all[p]->share(), memories[p], all[p]->gate()));
    given.push_back({static_cast<int>(p), released.value()});
    // What a restart brings back is enough; only the plan that was paid stays.
    auto paid = memories[p].paid;
    PARLEY_TRY(memories[p], wire::decode<typename A::Memory>(wire::encode(memories[p])));
    memories[p].paid = paid;
  }
  return given;
}

template <class A>
Result<typename A::Iterate> learn(const A& algorithm, Clients& all, std::size_t columns = 5) {
  std::vector<typename A::Memory> memories(all.size());
  auto at = algorithm.start(columns);
  while (!algorithm.done(at)) {
    PARLEY_TRY(const auto given, answers(algorithm, at, all, memories));
    PARLEY_TRY(at, tests::absorbed(algorithm, std::move(at), given));
  }
  return at;
}

std::vector<double> sum_of(const std::vector<rounds::Answer<Average::Reply>>& given, std::size_t count) {
  std::vector<std::int64_t> sum(given[0].reply.words.size(), 0);
  for (std::size_t p = 0; p < count; ++p) privacy::add_words(given[p].reply.words, sum);
  std::vector<double> values;
  for (const std::int64_t word : sum) values.push_back(std::ldexp(static_cast<double>(word), given[0].reply.grain));
  return values;
}

}  // namespace

// Replaced by anything, or taken away, whatever its update is.
TEST(ClientSum, NoClientMovesTheSumBeyondItsBound) {
  constexpr std::size_t kSize = 7;
  constexpr double kHuge = std::numeric_limits<double>::max(), kInf = std::numeric_limits<double>::infinity();
  for (const double epsilon : {0.1, 1.0, 1e4}) {
    const auto sum = ClientSum::make(target(epsilon), {.clip = 0.75, .clients = 5, .rounds = 3, .parameters = kSize});
    ASSERT_TRUE(sum) << sum.error().message;
    const double half = sum->grain().value() / 2;
    std::vector<std::vector<double>> updates = {std::vector<double>(kSize, 0.0),
                                                std::vector<double>(kSize, kHuge),
                                                std::vector<double>(kSize, -kHuge),
                                                std::vector<double>(kSize, kInf),
                                                std::vector<double>(kSize, std::nan("")),
                                                std::vector<double>(kSize, 5e-324),
                                                {kHuge, -kHuge, 1, 0, 0, 0, 0},
                                                {std::nan(""), 1, 1, 1, 1, 1, 1},
                                                {0.75, 0, 0, 0, 0, 0, 0},
                                                {-0.75, 0, 0, 0, 0, 0, 0},
                                                {std::nextafter(0.75, 1), 0, 0, 0, 0, 0, 0},
                                                // Rounding away from zero everywhere, and from the sphere's edge.
                                                std::vector<double>(kSize, 3 * half),
                                                std::vector<double>(kSize, -3 * half),
                                                std::vector<double>(kSize, 0.75 / std::sqrt(7.0) + half)};
    data::Random random(11, 1, 1);
    for (int trial = 0; trial < 60; ++trial) {
      std::vector<double> update(kSize);
      const double scale = std::pow(10.0, 12 * random.uniform() - 6);
      for (double& v : update) v = scale * random.normal();
      updates.push_back(update);
    }
    std::vector<std::vector<double>> sent;
    double bound = 0;
    for (const auto& update : updates) {
      const auto bounded = sum->bounded(privacy::Private(update));
      ASSERT_TRUE(bounded) << bounded.error().message;
      bound = bounded->sensitivity();
      EXPECT_EQ(bounded->unit(), privacy::Unit::kClient);
      sent.push_back(privacy::Gate::in_the_clear(*bounded, privacy::Unprotected{}).value());
    }
    const auto farthest = [](const std::vector<std::vector<double>>& vectors) {
      double most = 0;
      for (std::vector<double> one : vectors)
        for (const auto& other : vectors) {
          std::vector<double> apart = one;
          linalg::axpy(-1.0, other, apart);
          most = std::max(most, linalg::l2_norm(apart));
        }
      return most;
    };
    EXPECT_LE(farthest(sent), bound);
    EXPECT_GT(farthest(sent), 0.999 * bound) << "and the bound is reached";
    for (const auto& vector : sent) EXPECT_LE(linalg::l2_norm(vector), bound / 2) << "taken away";
    // Without the clip the same check fails.
    EXPECT_GT(farthest({updates.end() - 60, updates.end()}), bound);
    // What is not a number does not take part.
    for (const std::size_t broken : {3, 4, 7}) EXPECT_EQ(linalg::l2_norm(sent[broken]), 0) << broken;
    // The event is about this bound.
    EXPECT_EQ(std::get<privacy::Gaussian>(sum->event().mechanism).sensitivity, sum->grain().grains(bound));
  }
}

TEST(ClientSum, NoiseOfAllClientsButOneEarnsTheTarget) {
  for (const int count : {2, 3, 100}) {
    const auto sum = ClientSum::make(target(1), {.clip = 2, .clients = count, .rounds = 10, .parameters = 50});
    ASSERT_TRUE(sum) << sum.error().message;
    const double charged = std::get<privacy::Gaussian>(sum->event().mechanism).sigma;
    EXPECT_NEAR(charged / (std::sqrt(count - 1.0) * sum->grain().grains(sum->noise().sigma)), 1, 1e-11);
    privacy::Event all = sum->event();
    all.count = 10;
    const auto cost = privacy::epsilon_at({privacy::Neighbours::kReplaceOne, {all}}, *privacy::Delta::make(1e-6));
    EXPECT_LE(*cost, 1.0);
    EXPECT_GT(*cost, 0.999);
    std::get<privacy::Gaussian>(all.mechanism).sigma *= 0.8;
    EXPECT_GT(*privacy::epsilon_at({privacy::Neighbours::kReplaceOne, {all}}, *privacy::Delta::make(1e-6)), 1.2);
  }
}

TEST(ClientSum, RefusesWhatItCannotCover) {
  const auto refused = [](ClientSumShape shape, privacy::Target wanted) { return !ClientSum::make(wanted, shape); };
  EXPECT_TRUE(refused({.clip = 1, .clients = 1, .parameters = 3}, target(1))) << "one client hides among nobody";
  EXPECT_TRUE(refused({.clip = 0, .clients = 3, .parameters = 3}, target(1)));
  EXPECT_TRUE(refused({.clip = std::nan(""), .clients = 3, .parameters = 3}, target(1)));
  privacy::Target other = target(1);
  other.neighbours = privacy::Neighbours::kAddRemove;
  EXPECT_TRUE(refused({.clip = 1, .clients = 3, .parameters = 3}, other));
}

TEST(ClientAveraging, DrawsTheNoiseItPaysForAndMasksEveryPart) {
  constexpr int kClients = 4;
  constexpr Index kColumns = 4000;
  Clients all = silent(kClients, kColumns);
  const auto algorithm = Average::make(logistic({}), {.rounds = 1, .step = 1, .clip = 3}, {target(2), kClients});
  std::vector<Average::Memory> memories(kClients);
  auto at = algorithm->start(kColumns);
  at = *tests::absorbed(*algorithm, at, *answers(*algorithm, at, all, memories));
  const auto given = answers(*algorithm, at, all, memories);
  ASSERT_TRUE(given) << given.error().message;
  const ClientSum& paid = *memories[0].paid;
  const double share = paid.noise().sigma;
  EXPECT_TRUE(deviation_is(2 * share, sum_of(*given, kClients))) << "four shares";
  // Noise of 80 % goes through the same check, and fails.
  std::vector<double> quieter = sum_of(*given, kClients);
  for (double& v : quieter) v *= 0.8;
  EXPECT_FALSE(deviation_is(2 * share, quieter));
  // Fewer than all say nothing: every word is spread over 2^64. The mean of 4000 top bits is off by 1/126:
  // 0.05 is six deviations.
  for (std::size_t count = 1; count < kClients; ++count) {
    double high = 0, large = 0;
    for (const double v : sum_of(*given, count)) {
      high += v < 0 ? 1 : 0;
      large += std::abs(v) > 1e3 * share ? 1 : 0;
    }
    EXPECT_NEAR(high / kColumns, 0.5, 0.05) << count;
    EXPECT_EQ(large, kColumns) << count;
  }
  // Weaker noise than what was reserved is not drawn.
  auto masks =
      privacy::PairwiseMasks::agree({1, 2, 3, 4}, 0,
                                    {*privacy::mask_public_key({1, 2, 3, 4}), *privacy::mask_public_key({5, 6, 7, 8}),
                                     *privacy::mask_public_key({5, 9, 7, 8}), *privacy::mask_public_key({5, 10, 7, 8})},
                                    "job");
  const auto nothing = paid.bounded(privacy::Private(std::vector<double>(kColumns, 0.0)));
  EXPECT_FALSE(all[0]->gate().release(*nothing, privacy::Masked{{0.8 * share, kClients}, *masks->mask(0, kColumns)}));
  EXPECT_FALSE(all[0]->gate().release(*nothing, privacy::Masked{{share, kClients + 1}, *masks->mask(1, kColumns)}));
}

// Equal weights on clients of equal size are the weights of the open form. At epsilon 1e6 the noise of a
// round's average still has deviation z 2C sqrt(M/(M-1))/M = 2.3e-4, z = 1.4e-3 over four rounds: models
// agree to six of those, and objectives at an optimum to the square of it.
TEST(ClientAveraging, EqualsItsOpenTwinWhenEpsilonIsAMillion) {
  constexpr int kClients = 8;
  const LocalSettings settings{.rounds = 4, .local_steps = 1, .step = 2, .clip = 0.6};
  const auto check = [&]<class A, class B>(const A& algorithm, const B& open, const glm::Objective& objective) {
    Clients here = clients(kClients, 1e6);
    std::vector<RowShare> parties;
    for (const auto& client : here) parties.push_back(client->share());
    const auto value = [&](const std::vector<double>& w) {
      double loss = 0;
      for (const RowShare& party : parties) {
        std::vector<double> margins(party.labels.size());
        glm::compute_margins(party.features, w, {}, margins);
        loss += glm::mean_loss(objective.task, margins, party.labels) / kClients;
      }
      return loss + glm::penalty_value(objective, w, {});
    };
    auto twin = open.start(5);
    for (int more = 0; more < 60; ++more) {
      twin.round = 0;
      twin = *tests::federate(open, twin, parties);
    }
    for (double& w : twin.parameters) w *= 0.999;  // some of the way is left
    twin.round = 0;
    auto at = algorithm.start(5);
    const double began = value(at.parameters = twin.parameters);
    std::vector<typename A::Memory> memories(kClients);
    while (!algorithm.done(at)) at = *tests::absorbed(algorithm, at, *answers(algorithm, at, here, memories));
    twin = *tests::federate(open, twin, parties);
    for (std::size_t j = 0; j < 5; ++j) EXPECT_NEAR(at.parameters[j], twin.parameters[j], 6 * 2 * 2.3e-4) << j;
    EXPECT_NEAR(value(at.parameters), value(twin.parameters), 1e-6);
    EXPECT_NE(value(twin.parameters), began);
  };
  check(*Average::make(logistic({}), settings, {target(1e6), kClients}), *FedAvg::make(logistic({}), settings),
        logistic({}));
  check(*IterHt::make(logistic(3), settings, {target(1e6), kClients}), *FedIterHt::make(logistic(3), settings),
        logistic(3));
}

TEST(ClientAveraging, LearnsFromReleasedValuesOnly) {
  const auto algorithm =
      IterHt::make(logistic(2), {.rounds = 3, .local_steps = 2, .step = 0.5, .clip = 0.3}, {target(1e6), 3});
  Clients first = clients(3, 1e6, 1);
  const auto learnt = learn(*algorithm, first);
  ASSERT_TRUE(learnt) << learnt.error().message;
  std::vector<privacy::Transcript> transcripts;
  for (const auto& client : first) transcripts.push_back(client->gate().transcript());
  Clients others = clients(3, 1e6, 2, transcripts);
  const auto again = learn(*algorithm, others);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->parameters, learnt->parameters);
  Clients own = clients(3, 1e6, 2);
  EXPECT_NE(learn(*algorithm, own)->parameters, learnt->parameters);
}

TEST(ClientAveraging, PaysForTheWholeRunBeforeItsFirstMessage) {
  const auto algorithm = Average::make(logistic({}), {.rounds = 6, .step = 0.5, .clip = 1}, {target(1), 2});
  Clients all = clients(2, 1);
  std::vector<Average::Memory> memories(2);
  ASSERT_TRUE(answers(*algorithm, algorithm->start(5), all, memories));
  for (const auto& client : all) {
    ASSERT_EQ(client->gate().receipts().size(), 1u);
    EXPECT_EQ(client->gate().receipts()[0].steps, 6);
    EXPECT_LE(client->gate().receipts()[0].epsilon, 1);
    EXPECT_GT(client->gate().receipts()[0].epsilon, 0.99);
    EXPECT_EQ(client->gate().releases(), 0) << "a key is not a release";
  }
}

TEST(ClientAveraging, StopsWhereABudgetEndsAndRemembersNothingOfIt) {
  const auto algorithm = Average::make(logistic({}), {.rounds = 30, .step = 0.5, .clip = 1}, {target(1), 2});
  Clients all = clients(2, 0.5);
  std::vector<Average::Memory> memories(2);
  auto at = algorithm->start(5);
  for (;;) {
    const wire::Bytes before = wire::encode(memories[0]);
    const auto given = answers(*algorithm, at, all, memories);
    if (!given) {
      EXPECT_EQ(given.error().fault, Fault::kBudgetEnded);
      EXPECT_EQ(wire::encode(memories[0]), before);
      break;
    }
    at = *tests::absorbed(*algorithm, at, *given);
    ASSERT_LT(at.round, 30);
  }
  EXPECT_GT(at.round, 0);
  EXPECT_LE(all[0]->gate().receipts()[0].epsilon, 0.5);
}

TEST(ClientAveraging, PaysForClientsFromNoOtherBudget) {
  const auto algorithm = Average::make(logistic({}), {.rounds = 1, .step = 0.5, .clip = 1}, {target(1), 2});
  const Clients some = clients(1, 1);
  Client records(0, some[0]->share().features, some[0]->share().labels, 1, {},
                 {"client", privacy::Unit::kRecord, privacy::Neighbours::kReplaceOne});
  Average::Memory memory, theirs;
  Client other(1, some[0]->share().features, some[0]->share().labels, 1);
  auto at = algorithm->start(5);
  const auto key = algorithm->answer(algorithm->ask(at), records.share(), memory, records.gate());
  const auto their_key = algorithm->answer(algorithm->ask(at), other.share(), theirs, other.gate());
  at = *tests::absorbed(*algorithm, at, {{0, key->value()}, {1, their_key->value()}});
  EXPECT_FALSE(algorithm->answer(algorithm->ask(at), records.share(), memory, records.gate()));
  EXPECT_TRUE(algorithm->answer(algorithm->ask(at), other.share(), theirs, other.gate()));
}

// A coordinator that asks what it should not.
TEST(ClientAveraging, UsesAMaskOnceAndKeepsItsKeys) {
  const auto algorithm = Average::make(logistic({}), {.rounds = 5, .step = 0.5, .clip = 1}, {target(1), 2});
  Clients all = clients(2, 1);
  std::vector<Average::Memory> memories(2);
  const auto at = algorithm->start(5);
  const auto keyed = *tests::absorbed(*algorithm, at, *answers(*algorithm, at, all, memories));
  const auto says = [&](const Average::Task& task) {
    return algorithm->answer(task, all[0]->share(), memories[0], all[0]->gate()).has_value();
  };
  EXPECT_FALSE(says(algorithm->ask(at))) << "a second key";
  const Average::Task first = algorithm->ask(keyed);
  Average::Task other = first;
  other.keys.clear();
  EXPECT_FALSE(says(other)) << "no keys";
  other.keys = first.keys;
  std::swap(other.keys[0], other.keys[1]);
  EXPECT_FALSE(says(other)) << "its key in another's place";
  other.keys = {first.keys[0], first.keys[0]};
  EXPECT_FALSE(says(other)) << "its key as another's";
  other.keys = {first.keys[0], std::string(32, '\0')};
  EXPECT_FALSE(says(other)) << "a key of small order";
  other.keys = {first.keys[0], first.keys[1], *privacy::mask_public_key({1, 1, 1, 1})};
  EXPECT_FALSE(says(other)) << "more clients than the job has";
  EXPECT_TRUE(says(first));
  EXPECT_FALSE(says(first)) << "the same round again";
  // Rounds that the job does not have: after the largest number "later" would begin anew.
  for (const std::int64_t round : {std::numeric_limits<std::int64_t>::max(), std::int64_t{5}, std::int64_t{-1},
                                   std::numeric_limits<std::int64_t>::min()}) {
    other = first;
    other.round = round;
    EXPECT_FALSE(says(other)) << round;
    EXPECT_EQ(memories[0].masks.first_unused, 1) << round;
    other.round = 0;
    other.step = 1e-300;
    EXPECT_FALSE(says(other)) << "a second vector under the first mask, after round " << round;
  }
  Average::Task next = first;
  next.round = 1;
  next.keys = {first.keys[0], *privacy::mask_public_key({1, 1, 1, 1})};
  EXPECT_FALSE(says(next)) << "other keys";
  next.keys.clear();
  next.parameters.resize(4);
  EXPECT_FALSE(says(next)) << "another size";
  next.parameters.resize(5);
  EXPECT_TRUE(says(next));
}

// A client whose disk was set back, ledger and state together, has an older counter of masks and may be asked again.
TEST(ClientAveraging, AClientThatWasSetBackPutsNoTwoTasksUnderOneMask) {
  constexpr std::size_t kClients = 3, kColumns = 200;
  const auto algorithm = Average::make(logistic({}), {.rounds = 5, .step = 1, .clip = 3}, {target(2), kClients, "run"});
  Clients all = silent(kClients, kColumns);
  std::vector<Average::Memory> memories(kClients);
  const auto at = algorithm->start(kColumns);
  const auto keyed = *tests::absorbed(*algorithm, at, *answers(*algorithm, at, all, memories));
  const wire::Bytes older = wire::encode(memories[0]);
  const auto paid = memories[0].paid;
  auto given = *answers(*algorithm, keyed, all, memories);
  const auto says_after_set_back = [&](const Average::Task& task) {
    auto memory = *wire::decode<Average::Memory>(older);
    memory.paid = paid;
    return algorithm->answer(task, all[0]->share(), memory, all[0]->gate());
  };
  // Entries that say more than noise; by chance a word is within 2000 of 2^33 deviations with probability below 1e-6.
  const auto large = [&](const std::vector<std::int64_t>& one, const std::vector<std::int64_t>& other) {
    std::size_t count = 0;
    for (std::size_t k = 0; k < one.size(); ++k) {
      const auto apart =
          static_cast<std::int64_t>(static_cast<std::uint64_t>(one[k]) - static_cast<std::uint64_t>(other[k]));
      count += std::abs(std::ldexp(static_cast<double>(apart), given[0].reply.grain)) > 1e3 * paid->noise().sigma;
    }
    return count;
  };
  const Average::Task first = algorithm->ask(keyed);
  Average::Task stepped = first, moved = first;
  stepped.step *= 0.5;
  moved.parameters[7] = 1e-3;
  for (const Average::Task& other : {stepped, moved}) {
    const auto second = says_after_set_back(other);
    ASSERT_TRUE(second) << second.error().message;
    EXPECT_EQ(large(second->value().words, given[0].reply.words), kColumns)
        << "the difference of two answers would show";
    auto mixed = given;
    mixed[0].reply = second->value();
    std::size_t masked = 0;
    for (const double v : sum_of(mixed, kClients)) masked += std::abs(v) > 1e3 * paid->noise().sigma;
    EXPECT_EQ(masked, kColumns) << "the other clients were not asked that, so the sum stays masked";
  }
  // The same task again has the same update: one more draw of noise shows, and nothing of the data.
  EXPECT_EQ(large(says_after_set_back(first)->value().words, given[0].reply.words), 0u);
  // A coordinator that is where the others are tells a client that it was set back.
  Average::Task later = first;
  later.round = 1;
  EXPECT_FALSE(says_after_set_back(later));
}

// A coordinator that hands on all keys as they are, and tells one client of another job: less noise than what
// that client is charged for would be in a sum that unmasks.
TEST(ClientAveraging, SumsOfClientsThatWereToldDifferentJobsStayMasked) {
  constexpr std::size_t kClients = 3, kColumns = 200;
  const auto told = [](const std::string& run) {
    return *Average::make(logistic({}), {.rounds = 1, .step = 1, .clip = 3}, {target(2), kClients, run});
  };
  const auto large = [&](const std::string& first, const std::string& others) {
    Clients all = silent(kClients, kColumns);
    std::vector<Average> algorithms = {told(first), told(others), told(others)};
    std::vector<Average::Memory> memories(kClients);
    auto at = algorithms[0].start(kColumns);
    std::vector<rounds::Answer<Average::Reply>> given;
    for (int round = 0; round < 2; ++round) {
      given.clear();
      for (std::size_t p = 0; p < kClients; ++p)
        given.push_back(
            {static_cast<int>(p),
             algorithms[p].answer(algorithms[0].ask(at), all[p]->share(), memories[p], all[p]->gate())->value()});
      if (round == 0) at = *tests::absorbed(algorithms[0], at, given);
    }
    std::size_t count = 0;
    for (const double v : sum_of(given, kClients)) count += std::abs(v) > 1e3 * memories[0].paid->noise().sigma;
    return count;
  };
  EXPECT_EQ(large("run 1, job 1", "run 1, job 1"), 0u);
  // A word is within 2000 of 2^33 deviations by chance: 200 of them with probability below 1e-4.
  EXPECT_EQ(large("run 1, job 2", "run 1, job 1"), kColumns);
  EXPECT_EQ(large("run 2, job 1", "run 1, job 1"), kColumns);
}

TEST(ClientAveraging, NeedsEveryClientsAnswer) {
  const auto algorithm = Average::make(logistic({}), {.rounds = 5, .step = 0.5, .clip = 1}, {target(1), 3});
  Clients all = clients(3, 1);
  std::vector<Average::Memory> memories(3);
  const auto at = algorithm->start(5);
  auto keys = *answers(*algorithm, at, all, memories);
  const auto keyed = *tests::absorbed(*algorithm, at, keys);
  keys.pop_back();
  EXPECT_FALSE(tests::absorbed(*algorithm, at, keys));
  auto given = *answers(*algorithm, keyed, all, memories);
  auto shorter = given;
  shorter[1].reply.words.pop_back();
  EXPECT_FALSE(tests::absorbed(*algorithm, keyed, shorter));
  auto coarser = given;
  coarser[2].reply.grain += 1;
  EXPECT_FALSE(tests::absorbed(*algorithm, keyed, coarser));
  EXPECT_TRUE(tests::absorbed(*algorithm, keyed, given));
  given.pop_back();
  EXPECT_FALSE(tests::absorbed(*algorithm, keyed, given));
}

// Masks hide who it was, not that it happened.
TEST(ClientAveraging, ASumThatNoClippedUpdatesAndNoiseCanBeIsNotLearntFrom) {
  const auto algorithm = Average::make(logistic({}), {.rounds = 5, .step = 0.5, .clip = 1}, {target(1), 2});
  ASSERT_TRUE(algorithm);
  Average::Iterate iterate = algorithm->start(3);
  Average::Reply key;
  key.key = std::string(privacy::kMaskKeyBytes, 'k');
  EXPECT_TRUE(algorithm->check(iterate, 0, key));
  for (const std::size_t size : {std::size_t{0}, std::size_t{31}, std::size_t{33}, std::size_t{1} << 20}) {
    key.key.resize(size, 'k');
    EXPECT_FALSE(algorithm->check(iterate, 0, key)) << size;
  }
  iterate.keys = {"one", "other"};
  const std::size_t all = iterate.parameters.size();
  const int grain =
      ClientSum::make(target(1), {.clip = 1, .clients = 2, .rounds = 5, .parameters = all})->grain().exponent;
  const auto learnt = [&](std::int64_t word, std::size_t size, int on) {
    const std::vector<rounds::Answer<Average::Reply>> answers = {{0, {{}, on, std::vector<std::int64_t>(size, word)}},
                                                                 {1, {{}, on, std::vector<std::int64_t>(size, 0)}}};
    return tests::absorbed(*algorithm, iterate, answers).has_value();
  };
  EXPECT_TRUE(learnt(1000, all, grain));
  EXPECT_FALSE(learnt(std::int64_t{1} << 62, all, grain));
  EXPECT_FALSE(learnt(std::numeric_limits<std::int64_t>::min(), all, grain));
  EXPECT_FALSE(learnt(1000, all - 1, grain));
  EXPECT_FALSE(learnt(1000, all, grain + 1));
  EXPECT_FALSE(learnt(1000, all, std::numeric_limits<int>::max()));
}
