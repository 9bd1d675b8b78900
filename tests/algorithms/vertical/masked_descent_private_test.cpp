// labels: slow
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "parley/algorithms/exact/exact.h"
#include "parley/algorithms/vertical/masked_descent.h"
#include "tests/algorithms/vertical/masked_checks.h"

using namespace parley;
using namespace parley::algorithms;
using namespace parley::tests;
using Step = MaskedDescent::Step;

// The noise of each contributor, of the whole, and of the whole without any one of them; a party that adds 80 % of its
// noise, or none, does not pass. 24 columns over 250 rounds: 6000 numbers.
TEST(PrivateMaskedDescent, EveryContributorAddsTheNoiseThatIsCharged) {
  const MaskedData data(40, {14, 10}, 13);
  const MaskedSettings settings{.iterations = 250};
  PrivateParties parties(data, 4);
  auto algorithm = MaskedDescent::make(masked_terms(2, 0.05, true), settings);
  const auto first = algorithm->begin(parties.facts(settings));
  ASSERT_TRUE(first) << first.error().message;
  std::vector<std::vector<double>> noise(3);  // of party 1, party 2 and the dealer
  std::vector<double> all;
  std::vector<MaskedDescent::Memory> memories(2);
  double sensitivity = 0, multiplier = 0;
  std::vector<std::int64_t> of_second;
  MaskedTaps taps;
  taps.answered = [&](const auto& iterate, int party, const auto& reply, const auto& memory) {
    const MaskedDescent::Memory before = memories[static_cast<std::size_t>(party)];
    memories[static_cast<std::size_t>(party)] = memory;
    if (iterate.step != Step::kOpen || iterate.index == 0) return;
    const int bits = memory.numbers->ring_bits;
    sensitivity = memory.numbers->gradient.sensitivity();
    multiplier = (*masked_noise(settings, parties.shares[0].privacy->target, 250))[1];
    const auto expected = sums_of(memories, expected_residuals(iterate, memories, data.labels));
    // The share of party 2, as party 1 read it, by a copy of what that one remembered.
    MaskedDescent::Memory reader = restarted(before);
    ASSERT_TRUE(reader.peers.take_up({}, 0, " masked-descent"));
    ASSERT_TRUE(reader.peers.open(1, iterate.agreed[2], {.round = iterate.index + 1, .step = Step::kAgree}));
    const auto share = reader.peers.open(1, iterate.relayed[2], {.round = iterate.index + 1, .step = Step::kShare});
    ASSERT_TRUE(share) << share.error().message;
    // Its share without noise: X_2'(f - b_2) or -E_1'b_2, and what the dealer sent; c of both without the dealer's
    // noise.
    const MaskedDealer dealer(iterate.secret, *memory.numbers);
    const auto dealt = words_of(dealer.share(iterate.index, *iterate.products, iterate.noise), bits);
    const auto words = words_of(*share, bits);
    const auto& second = memories[1];
    const std::size_t n = 40, d = expected.size();
    std::vector<std::int64_t> r = expected_residuals(iterate, memories, data.labels);
    std::vector<std::uint64_t> b(n), other(n);
    const auto residual = [&](const std::string& seed, std::vector<std::uint64_t>& out) {
      if (bits == 32) {
        std::vector<std::uint32_t> narrow(n);
        privacy::DealtStream(seed, privacy::Dealt::kResidual, iterate.index).fill(narrow);
        out.assign(narrow.begin(), narrow.end());
      } else {
        privacy::DealtStream(seed, privacy::Dealt::kResidual, iterate.index).fill(out);
      }
    };
    residual(second.seed, b);
    residual(memory.seed, other);
    const auto of_others = words_of(second.products, bits);
    for (std::size_t c = 0; c < d; ++c) {
      std::uint64_t value = 0;
      if (c < 14) {
        value = of_others[c * 251 + static_cast<std::size_t>(iterate.index)];
      } else {  // f - b_2 = r + b_1
        const auto column = second.columns->template column<std::uint64_t>(c - 14);
        for (std::size_t i = 0; i < n; ++i) value += column[i] * (static_cast<std::uint64_t>(r[i]) + other[i]);
      }
      const auto of_party = privacy::centred(words[c] - dealt[c] - value, bits);
      const std::int64_t whole = modulo(reply.opened[c] - expected[c], bits);
      noise[1].push_back(static_cast<double>(of_party));
      noise[2].push_back(static_cast<double>(iterate.noise[c]));
      noise[0].push_back(static_cast<double>(whole - of_party - iterate.noise[c]));
      all.push_back(static_cast<double>(whole));
    }
  };
  const MaskedRun run = run_masked(*algorithm, *first, parties.shares, taps);
  ASSERT_FALSE(run.error) << run.error->message;
  ASSERT_EQ(all.size(), 24u * 250);
  const double charged = multiplier * sensitivity * multiplier * sensitivity;
  for (const auto& contributor : noise) EXPECT_TRUE(has_variance(contributor, charged / 2));
  EXPECT_TRUE(has_variance(all, 1.5 * charged));
  for (std::size_t known = 0; known < 3; ++known) {  // whoever knows its own still faces what is charged
    std::vector<double> left(all);
    for (std::size_t i = 0; i < left.size(); ++i) left[i] -= noise[known][i];
    EXPECT_TRUE(has_variance(left, charged));
    EXPECT_FALSE(has_variance(left, 1.5 * charged)) << "as if a party (the one with the labels, say) had added none";
  }
  std::vector<double> quieter(all), one(noise[0]);
  for (std::size_t i = 0; i < one.size(); ++i) {
    quieter[i] -= 0.2 * noise[0][i];
    one[i] *= 0.8;
  }
  EXPECT_FALSE(has_variance(one, charged / 2));
  EXPECT_FALSE(has_variance(quieter, 1.5 * charged));
}

// A person, replaced by any other, never moves an opened sum farther than is charged.
TEST(PrivateMaskedDescent, OnePersonMovesASumByTheSensitivityAtMost) {
  data::Random random(17, 1, 1);
  for (int trial = 0; trial < 200; ++trial) {
    const double reach = trial % 3 == 0 ? 1e6 : 1;
    std::vector<double> rows(8);
    for (double& value : rows) value = reach * (2 * random.uniform() - 1);
    std::vector<double> bounds(4, 1.0);
    const auto features = linalg::Matrix::from_dense(2, 4, rows);
    const auto columns = *privacy::WholeColumns::make(
        features, {.bits = trial % 9, .row_bound = trial % 2 == 0 ? 1.0 : 1.7, .bounds = bounds});
    const auto squares =
        *privacy::WholeColumns::squares({.bits = trial % 9, .row_bound = trial % 2 == 0 ? 1.0 : 1.7, .bounds = bounds});
    double length[2] = {0, 0};
    for (std::size_t c = 0; c < 4; ++c) {
      const auto column = columns.column<std::uint64_t>(c);
      for (std::size_t i = 0; i < 2; ++i) {
        const auto value = static_cast<double>(static_cast<std::int64_t>(column[i]));
        length[i] += value * value;
      }
    }
    EXPECT_LE(length[0], static_cast<double>(squares));
    EXPECT_LE(length[1], static_cast<double>(squares));
  }
}

TEST(PrivateMaskedDescent, TheDealerGetsNoShareAndNothingButTheSum) {
  const MaskedData data(50, {3, 3}, 19);
  const MaskedSettings settings{.iterations = 3};
  PrivateParties parties(data, 4);
  auto algorithm = MaskedDescent::make(masked_terms(2, 0.05, true), settings);
  const auto first = algorithm->begin(parties.facts(settings));
  ASSERT_TRUE(first) << first.error().message;
  const auto holds = [](const std::string& seen, const std::string& what) {
    return what.size() >= 16 && seen.find(what.substr(0, 16)) != std::string::npos;
  };
  std::vector<MaskedDescent::Memory> before(2);
  int shares = 0;
  MaskedTaps taps;
  taps.answered = [&](const auto& iterate, int party, const auto& reply, const auto& memory) {
    std::string seen = reply.hello;
    for (const std::string& sealed : reply.sealed) seen += sealed;
    for (const std::string* own : {&memory.own_margins, &memory.own_residuals}) EXPECT_FALSE(holds(seen, *own));
    EXPECT_EQ(reply.opened.empty(), iterate.step != Step::kOpen);
    if (iterate.step == Step::kShare) {
      MaskedDescent::Memory reader = restarted(before[0]);
      ASSERT_TRUE(reader.peers.take_up({}, 0, " masked-descent"));
      const auto share = reader.peers.open(1, reply.sealed[0], {.round = iterate.index + 1, .step = Step::kShare});
      ASSERT_TRUE(share);
      EXPECT_FALSE(holds(seen, *share));
      EXPECT_TRUE(holds(seen + *share, *share)) << "a share that passed in the clear would be found";
      ++shares;
    }
    before[static_cast<std::size_t>(party)] = memory;
  };
  const MaskedRun run = run_masked(*algorithm, *first, parties.shares, taps);
  ASSERT_FALSE(run.error) << run.error->message;
  EXPECT_EQ(shares, 4);
}

TEST(PrivateMaskedDescent, BetweenMachinesItNeedsPinnedPeers) {
  const MaskedData data(50, {3, 3}, 31);
  const MaskedSettings settings{.iterations = 3};
  PrivateParties parties(data, 4);
  auto terms = masked_terms(2, 0.05, true);
  terms.run = "a run between machines";
  auto algorithm = MaskedDescent::make(terms, settings);
  const auto first = algorithm->begin(parties.facts(settings));
  const MaskedRun run = run_masked(*algorithm, *first, parties.shares);
  ASSERT_TRUE(run.error);
  EXPECT_NE(run.error->message.find("pins no peers"), std::string::npos) << run.error->message;
}

TEST(PrivateMaskedDescent, EqualsItsOpenTwinWhenEpsilonIsHuge) {
  for (const glm::Task task : {glm::Task::kLogistic, glm::Task::kLinear}) {
    MaskedData data(80, {3, 2}, 43);
    if (task == glm::Task::kLinear)
      for (double& label : data.labels) label *= 0.3;  // no margin reaches the bound of a label, where it is clipped
    const MaskedSettings settings{
        .iterations = 300, .clip = 1, .period = 40, .harmonics = 12, .margin_bits = 16, .feature_bits = 10, .bits = 24};
    PrivateParties parties(data, 1e8);
    auto terms = masked_terms(2, 0.05, true);
    terms.objective.task = task;
    auto algorithm = MaskedDescent::make(terms, settings);
    const auto first = algorithm->begin(parties.facts(settings));
    ASSERT_TRUE(first) << first.error().message;
    const MaskedRun run = run_masked(*algorithm, *first, parties.shares);
    ASSERT_FALSE(run.error) << run.error->message;
    terms.is_private = false;
    auto twin = MaskedDescent::make(terms, settings);
    const auto begun = twin->begin(masked_facts(data.shares()));
    const MaskedRun open = run_masked(*twin, *begun, data.shares());
    ASSERT_FALSE(open.error) << open.error->message;
    for (std::size_t j = 0; j < 5; ++j) EXPECT_NEAR(run.iterate.parameters[j], open.iterate.parameters[j], 0.02);
  }
}

// What one party sees of the other is drawn by a simulator that has no data, only what was opened: uniform E, u and f, and
// the share that the opened sum asks for. Two samples of triples (E, u, f), three bits of each, by chi-squared: 511
// degrees of freedom, a false alarm of about 1e-6. A view with an unmasked f, or with one mask for two indices, is told
// apart.
TEST(PrivateMaskedDescent, ASimulatorWithoutTheDataMakesTheSameView) {
  constexpr std::size_t kRecords = 6000;
  MaskedData data(kRecords, {2, 2}, 47);
  data.features[1] = linalg::Matrix::from_dense(kRecords, 2, std::vector<double>(2 * kRecords, 1.0));
  for (double& label : data.labels) label = 1;
  const MaskedSettings settings{.iterations = 4};
  PrivateParties parties(data, 4);
  auto algorithm = MaskedDescent::make(masked_terms(2, 0.05, true), settings);
  const auto first = algorithm->begin(parties.facts(settings));
  ASSERT_TRUE(first) << first.error().message;
  std::vector<std::uint64_t> matrix;
  std::vector<std::vector<std::uint64_t>> u, f, unmasked;
  std::vector<MaskedDescent::Memory> memories(2);
  const auto top = [](std::uint64_t word, int bits) { return (word >> (bits - 3)) & 7; };
  int shares = 0;
  MaskedTaps taps;
  taps.answered = [&](const auto& iterate, int party, const auto& reply, const auto& memory) {
    const MaskedDescent::Memory before = memories[static_cast<std::size_t>(party)];
    memories[static_cast<std::size_t>(party)] = memory;
    const auto reader = [&](const MaskedDescent::Memory& of) {
      MaskedDescent::Memory copy = restarted(of);
      EXPECT_TRUE(copy.peers.take_up({}, 0, " masked-descent"));
      return copy;
    };
    const int bits = memory.numbers ? memory.numbers->ring_bits : 32;
    if (party == 1 && iterate.step == Step::kMatrix) {
      const auto opened = reader(memories[0]).peers.open(1, reply.sealed[0], {.round = 1, .step = Step::kMatrix});
      ASSERT_TRUE(opened);
      for (const std::uint64_t word : words_of(opened->substr(32), bits)) matrix.push_back(top(word, bits));
    }
    if (party == 1 && iterate.step == Step::kMargins) {
      u.emplace_back();
      for (const std::uint64_t word : words_of(memory.own_margins, 16)) u.back().push_back(top(word, 16));
    }
    if (party == 1 && iterate.step == Step::kResidual) {
      f.emplace_back();
      unmasked.emplace_back();
      std::vector<std::uint64_t> b(kRecords);
      privacy::DealtStream(memory.seed, privacy::Dealt::kResidual, iterate.index).fill(b);
      const auto words = words_of(memory.own_residuals, bits);
      for (std::size_t i = 0; i < kRecords; ++i) {
        f.back().push_back(top(words[i], bits));
        unmasked.back().push_back(static_cast<std::uint64_t>(memory.numbers->gradient.factor) >> 10 & 7);
      }
    }
    if (party == 0 && iterate.step == Step::kOpen) {
      // S less the party's own share, which it knows, is the share that came in: a simulator that is told S makes it.
      MaskedDescent::Memory copy = reader(before);
      ASSERT_TRUE(copy.peers.open(1, iterate.agreed[2], {.round = iterate.index + 1, .step = Step::kAgree}));
      const auto share = copy.peers.open(1, iterate.relayed[2], {.round = iterate.index + 1, .step = Step::kShare});
      ASSERT_TRUE(share);
      EXPECT_EQ(words_of(*share, bits).size(), reply.opened.size());
      ++shares;
    }
  };
  const MaskedRun run = run_masked(*algorithm, *first, parties.shares, taps);
  ASSERT_FALSE(run.error) << run.error->message;
  EXPECT_EQ(shares, 5);
  ASSERT_EQ(u.size(), 4u);
  ASSERT_EQ(f.size(), 4u);
  data::Random random(99, 1, 1);
  const auto chi = [&](const std::vector<std::vector<std::uint64_t>>& of_u,
                       const std::vector<std::vector<std::uint64_t>>& of_f) {
    std::vector<double> real(512), simulated(512);
    for (std::size_t t = 0; t < of_u.size(); ++t)
      for (std::size_t i = 0; i < kRecords; ++i) {
        real[matrix[i] * 64 + of_u[t][i] * 8 + of_f[t][i]] += 1;
        simulated[static_cast<std::size_t>(random.uniform() * 512)] += 1;
      }
    double sum = 0;
    for (std::size_t c = 0; c < 512; ++c)
      if (real[c] + simulated[c] > 0)
        sum += (real[c] - simulated[c]) * (real[c] - simulated[c]) / (real[c] + simulated[c]);
    return sum;
  };
  constexpr double kLargest = 511 + 5 * 32;  // mean and five deviations
  EXPECT_LT(chi(u, f), kLargest);
  EXPECT_GT(chi(u, unmasked), kLargest) << "f without its mask";
  EXPECT_GT(chi({u[0], u[0], u[0], u[0]}, {f[0], f[0], f[0], f[0]}), kLargest) << "the masks of one index for all";
}
