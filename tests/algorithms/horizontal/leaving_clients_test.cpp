// labels: slow
#include "parley/algorithms/horizontal/leaving_clients.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>

#include "parley/algorithms/horizontal/fed_iter_ht.h"
#include "parley/algorithms/horizontal/fedavg.h"
#include "tests/algorithms/federation.h"
#include "tests/algorithms/horizontal/clients.h"

using namespace parley;
using namespace parley::algorithms;
using namespace parley::tests;

namespace {

using Average = LeavingClients<FedAvg::kParts>;
using Phase = Average::Phase;
using Replies = std::vector<rounds::Answer<Average::Reply>>;

RunTerms terms_of(int clients, int quorum, double epsilon = 1e6) {
  RunTerms terms{.objective = logistic({}), .parties = clients, .is_private = true};
  terms.client = target(epsilon);
  terms.quorum = quorum;
  terms.run = "run";
  return terms;
}

constexpr LocalSettings kTwoRounds{.rounds = 2, .local_steps = 2, .step = 0.5, .clip = 1};

// A run whose messages somebody may stop or change.
class Session {
 public:
  Session(Average algorithm, Clients& all) : algorithm_(std::move(algorithm)), all_(all), memories_(all.size()) {
    const std::vector<PartyFacts> facts(all.size(), PartyFacts{.columns = 5, .row_norm = 1});
    at = std::move(*algorithm_.begin(facts));
  }
  // The task as the party gets it; its answer, or why there is none.
  Result<Average::Reply> answer(int party, const Average::Task& task) {
    const auto p = static_cast<std::size_t>(party);
    PARLEY_TRY(const auto read, wire::decode<Average::Task>(wire::encode(task)));
    PARLEY_TRY(const auto released, algorithm_.answer(read, all_[p]->share(), memories_[p], all_[p]->gate()));
    auto paid = memories_[p].paid;  // what a restart brings back is enough; only the plan that was paid stays
    PARLEY_TRY(memories_[p], wire::decode<Average::Memory>(wire::encode(memories_[p])));
    memories_[p].paid = paid;
    return released.value();
  }
  // One round of messages; nobody hears from those that `gone` names.
  Result<void> step(const std::function<bool(int party)>& gone = {}) {
    Replies given;
    for (int p = 0; p < static_cast<int>(all_.size()); ++p) {
      const auto task = algorithm_.ask(at, p);
      if (!task || (gone && gone(p))) continue;
      PARLEY_TRY(auto reply, answer(p, *task));
      given.push_back({p, std::move(reply)});
    }
    PARLEY_TRY(at, absorbed(algorithm_, std::move(at), given));
    return {};
  }
  [[nodiscard]] bool done() const { return algorithm_.done(at); }
  [[nodiscard]] Average::Task task(int party) const { return *algorithm_.ask(at, party); }
  [[nodiscard]] const Average& algorithm() const { return algorithm_; }

  Average::Iterate at;

 private:
  Average algorithm_;
  Clients& all_;
  std::vector<Average::Memory> memories_;
};

Result<Average::Iterate> learn(int clients_count, int quorum,
                               const std::function<bool(const Session&, int)>& gone = {}) {
  Clients all = clients(clients_count, 1e7);
  Session run(*Average::make(terms_of(clients_count, quorum), kTwoRounds), all);
  while (!run.done()) PARLEY_CHECK(run.step([&](int party) { return gone && gone(run, party); }));
  return run.at;
}

// The average without masks and noise of those that `gone` does not name.
std::vector<double> average_of(int clients_count, const std::function<bool(int round, int party)>& gone) {
  Clients all = clients(clients_count, 1e7);
  std::vector<double> parameters(parameter_count(logistic({}), 5), 0.0);
  for (int round = 0; round < kTwoRounds.rounds; ++round) {
    std::vector<double> sum(parameters.size(), 0.0);
    double left = 0;
    for (int p = 0; p < clients_count; ++p) {
      if (gone(round, p)) continue;
      LocalSettings settings = kTwoRounds;
      const LocalWork work{round, kTwoRounds.step, AfterStep::kNothing, parameters};
      auto gate = privacy::Gate::without_privacy(privacy::Unprotected{});
      const auto moved =
          gate.unprotected(update_of(logistic({}), settings, work, all[static_cast<std::size_t>(p)]->share()));
      std::vector<double> update = moved->value();
      const double norm = linalg::l2_norm(update);
      for (std::size_t c = 0; c < sum.size(); ++c) sum[c] += update[c] * std::min(1.0, kTwoRounds.clip / norm);
      left += 1;
    }
    for (std::size_t c = 0; c < sum.size(); ++c) parameters[c] += sum[c] / left;
  }
  return parameters;
}

bool near(const std::vector<double>& a, const std::vector<double>& b) {
  for (std::size_t c = 0; c < a.size(); ++c)
    if (!(std::abs(a[c] - b[c]) < 5e-3)) return false;  // ten deviations of what epsilon 1e6 leaves
  return a.size() == b.size();
}

}  // namespace

TEST(LeavingClients, LearnTheAverageOfThoseWhoStayedInEachRound) {
  const auto whole = learn(5, 4);
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_TRUE(near(whole->parameters, average_of(5, [](int, int) { return false; })));
  // Client 2 dies before its words of either round arrive: what it masked with the others is taken off.
  for (const int when : {0, 1}) {
    const auto dead = [when](const Session& run, int party) {
      return party == 2 && (run.at.round > when || (run.at.round == when && run.at.phase >= Phase::kLearn));
    };
    const auto less = learn(5, 4, dead);
    ASSERT_TRUE(less) << less.error().message;
    EXPECT_TRUE(near(less->parameters, average_of(5, [when](int round, int p) { return p == 2 && round >= when; })))
        << when;
  }
}

TEST(LeavingClients, WhoDiesAfterItsWordsArrivedIsInTheSum) {
  for (const Phase phase : {Phase::kAgree, Phase::kReveal}) {
    const auto learnt = learn(5, 4, [phase](const Session& run, int party) {
      return party == 4 && (run.at.round > 0 || run.at.phase >= phase);
    });
    ASSERT_TRUE(learnt) << learnt.error().message;
    EXPECT_TRUE(near(learnt->parameters, average_of(5, [](int round, int p) { return p == 4 && round > 0; })));
  }
}

TEST(LeavingClients, BelowTheQuorumNothingIsOpened) {
  const auto ended =
      learn(5, 4, [](const Session& run, int party) { return party >= 3 && run.at.phase >= Phase::kLearn; });
  ASSERT_FALSE(ended);
  EXPECT_NE(ended.error().message.find("fewer clients are left than the quorum"), std::string::npos);
}

TEST(LeavingClients, AQuorumOfHalfIsRefused) {
  for (const auto& [clients_count, fewest] : {std::pair{2, 2}, {3, 3}, {4, 3}, {5, 4}, {10, 6}, {11, 7}}) {
    EXPECT_EQ(fewest_left(clients_count), fewest);
    EXPECT_FALSE(Average::make(terms_of(clients_count, fewest - 1), kTwoRounds)) << clients_count;
    EXPECT_TRUE(Average::make(terms_of(clients_count, fewest), kTwoRounds)) << clients_count;
    EXPECT_FALSE(Average::make(terms_of(clients_count, clients_count + 1), kTwoRounds)) << clients_count;
  }
}

// What a coordinator sees of one client, with everything that others reveal for an honest list: words spread over 2^64.
TEST(LeavingClients, TheWordsOfAPartOfThoseWhoStayedStayMasked) {
  Clients all = clients(5, 1e7);
  Session run(*Average::make(terms_of(5, 4), kTwoRounds), all);
  ASSERT_TRUE(run.step() && run.step());
  std::vector<std::vector<std::int64_t>> words;
  for (int p = 0; p < 5; ++p) words.push_back(run.answer(p, run.task(p))->words);
  for (unsigned some = 1; some < 31; ++some) {
    std::vector<std::int64_t> sum(words[0].size(), 0);
    for (std::size_t p = 0; p < 5; ++p)
      if ((some >> p) & 1U) privacy::add_words(words[p], sum);
    int small = 0;  // below 2^56 with probability 2^-7 each
    for (const std::int64_t word : sum) small += std::abs(static_cast<double>(word)) < 0x1p56 ? 1 : 0;
    EXPECT_LT(small, 4) << some;
  }
  std::vector<std::int64_t> sum(words[0].size(), 0);
  for (const auto& each : words) privacy::add_words(each, sum);
  int small = 0;
  for (const std::int64_t word : sum) small += std::abs(static_cast<double>(word)) < 0x1p56 ? 1 : 0;
  EXPECT_LT(small, 4) << "the sum of all has everybody's own words in it until they reveal shares";
}

namespace {

// A run of five up to the signatures of the first round.
class LyingCoordinator : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(run_.step() && run_.step() && run_.step());
    ASSERT_EQ(run_.at.phase, Phase::kAgree);
  }
  bool refuses(int party, const Average::Task& task, const char* because) {
    const auto reply = run_.answer(party, task);
    if (!reply && reply.error().message.find(because) != std::string::npos) return true;
    ADD_FAILURE() << (reply ? "it was answered" : reply.error().message);
    return false;
  }
  static bool refuses_in(Session& run, const Average::Task& task) { return !run.answer(0, task); }
  Clients all_ = clients(5, 1e7);
  Session run_{*Average::make(terms_of(5, 4), kTwoRounds), all_};
};

}  // namespace

// With two lists of one round it would get both secrets of a client.
TEST_F(LyingCoordinator, GetsNoSignatureOfASecondList) {
  const Average::Task honest = run_.task(0);
  ASSERT_TRUE(run_.answer(0, honest));
  Average::Task other = honest;
  other.survivors = {0, 1, 2, 3};
  EXPECT_TRUE(refuses(0, other, "a second signature"));
  EXPECT_TRUE(refuses(0, honest, "a second signature"));
}

TEST_F(LyingCoordinator, GetsNoSignatureOfAListThatCannotBe) {
  Average::Task task = run_.task(0);
  for (const std::vector<int>& list :
       {std::vector<int>{0, 1, 2}, {}, {0, 0, 1, 2}, {3, 2, 1, 0}, {0, 1, 2, 7}, {0, 1, 2, -1}}) {
    task.survivors = list;
    EXPECT_TRUE(refuses(0, task, "at least a quorum"));
  }
  task.survivors = {1, 2, 3, 4};
  EXPECT_TRUE(refuses(0, task, "leaves out this party"));
}

TEST_F(LyingCoordinator, GetsNoShareWithoutAQuorumOfSignaturesOfOneList) {
  ASSERT_TRUE(run_.step());
  const Average::Task honest = run_.task(0);
  Average::Task task = honest;
  task.signatures[1].clear();
  task.signatures[2].clear();
  EXPECT_TRUE(refuses(0, task, "fewer signatures"));
  task = honest;
  task.survivors = {0, 1, 2, 3};  // whose shares of b it would get, and of a of the fifth
  EXPECT_TRUE(refuses(0, task, "another list"));
  task = honest;
  std::swap(task.signatures[1], task.signatures[2]);
  EXPECT_TRUE(refuses(0, task, "another list"));
  task = honest;
  std::swap(task.sealed[1], task.sealed[2]);
  EXPECT_TRUE(refuses(0, task, "seal"));
  ASSERT_TRUE(run_.answer(0, honest)) << "what was refused changed nothing";
  EXPECT_TRUE(refuses(0, honest, "a second time"));
}

TEST_F(LyingCoordinator, CannotHandOnAKeyOfItsOwnOrOfAnotherRound) {
  Clients all = clients(5, 1e7);
  Session run(*Average::make(terms_of(5, 4), kTwoRounds), all);
  ASSERT_TRUE(run.step() && run.step());
  const Average::Task honest = run.task(0);
  Average::Task task = honest;
  task.keys[1] = honest.keys[2];
  EXPECT_TRUE(refuses_in(run, task));
  task.keys[1].assign(honest.keys[1].size(), 'x');
  EXPECT_TRUE(refuses_in(run, task));
  task.keys[1] = run_.at.keys[1];  // of another run
  EXPECT_TRUE(refuses_in(run, task));
  task = honest;
  task.keys[1].clear();
  task.keys[2].clear();
  EXPECT_TRUE(refuses_in(run, task));
  ASSERT_TRUE(run.answer(0, honest));
  EXPECT_TRUE(refuses_in(run, honest)) << "words of a round are sent once";
}

// The noise of the fewest who may be left is that which is charged: 7 % is six deviations of 4,000 draws.
TEST(LeavingClients, TheNoiseOfAQuorumIsTheOneThatIsCharged) {
  constexpr int kClients = 5, kQuorum = 4;
  constexpr Index kColumns = 4000;
  LocalSettings settings{.rounds = 1, .local_steps = 1, .step = 1, .clip = 3};
  const ClientSum sum = *ClientSum::make(
      target(2), {.clip = 3, .clients = kClients, .rounds = 1, .parameters = kColumns, .fewest = kQuorum});
  const double charged = std::get<privacy::Gaussian>(sum.event().mechanism).sigma * sum.grain().value();
  EXPECT_NEAR(sum.noise().sigma * std::sqrt(kQuorum - 1.0), charged, 1e-6 * charged);
  Clients all = silent(kClients, kColumns);
  Average algorithm = *Average::make(terms_of(kClients, kQuorum, 2), settings);
  std::vector<Average::Memory> memories(kClients);
  const std::vector<PartyFacts> facts(kClients, PartyFacts{.columns = kColumns, .row_norm = 1});
  auto at = *algorithm.begin(facts);
  while (!algorithm.done(at)) {
    Replies given;
    for (int p = 0; p < kClients; ++p) {
      const auto task = algorithm.ask(at, p);
      if (!task || (p == 0 && at.phase >= Phase::kLearn)) continue;
      const auto n = static_cast<std::size_t>(p);
      auto reply = algorithm.answer(*task, all[n]->share(), memories[n], all[n]->gate());
      ASSERT_TRUE(reply) << reply.error().message;
      given.push_back({p, reply->value()});
    }
    at = *absorbed(algorithm, std::move(at), given);
  }
  for (double& parameter : at.parameters) parameter *= kQuorum;  // the sum over those who stayed
  EXPECT_TRUE(deviation_is(sum.noise().sigma * std::sqrt(static_cast<double>(kQuorum)), at.parameters));
}

TEST(LeavingClients, SecretsAreOfOneRound) {
  Clients all = clients(4, 1e7);
  Session run(*Average::make(terms_of(4, 3), kTwoRounds), all);
  std::set<std::string> seen;
  while (!run.done()) {
    ASSERT_TRUE(run.step());
    if (run.at.phase != Phase::kLearn) continue;
    for (const std::string& key : run.at.keys) EXPECT_TRUE(seen.insert(key).second);
    for (const std::string& sealed : run.at.sealed) EXPECT_TRUE(sealed.empty() || seen.insert(sealed).second);
  }
}
