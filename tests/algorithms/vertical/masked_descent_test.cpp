// labels: slow
#include "parley/algorithms/vertical/masked_descent.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "parley/algorithms/exact/exact.h"
#include "tests/algorithms/vertical/masked_run.h"

using namespace parley;
using namespace parley::algorithms;
using namespace parley::tests;
using Step = MaskedDescent::Step;

namespace {

// Private parties, each with a site of its own, whose budgets hold the run.
struct PrivateParties {
  std::vector<std::unique_ptr<TestSite>> sites;
  std::vector<ColumnShare> shares;
  PrivateParties(const MaskedData& data, double epsilon) {
    for (std::size_t p = 0; p < data.features.size(); ++p) {
      const double row_bound = std::sqrt(static_cast<double>(data.features[p].cols()));
      sites.push_back(std::make_unique<TestSite>(
          data.features[p], TestSite::Limits{.epsilon = epsilon, .seed = 11 + p, .row_bound = row_bound}));
      const Problem problem = sites.back()->problem({}, {});
      shares.push_back({problem.features, p == 0 ? data.labels : std::vector<double>(), false, problem.privacy});
    }
  }
  [[nodiscard]] std::vector<PartyFacts> facts(const MaskedSettings& settings) const {
    std::vector<PartyFacts> facts = masked_facts(shares);
    for (PartyFacts& fact : facts) {
      const auto noise = masked_noise(settings, shares[0].privacy->target, settings.iterations);
      const int contributors = static_cast<int>(shares.size()) + 1;
      fact.plan = {privacy::Neighbours::kReplaceOne,
                   {*privacy::Gate::shared_event({(*noise)[0], contributors}),
                    *privacy::Gate::shared_event({(*noise)[1], contributors})}};
      fact.plan.events[1].count = settings.iterations;
    }
    return facts;
  }
};

std::int64_t modulo(std::int64_t value, int bits) {
  return privacy::centred(static_cast<std::uint64_t>(value), bits);
}

// X_k' r of every party's columns, from nothing but its features and these numbers.
std::vector<std::int64_t> sums_of(const std::vector<MaskedDescent::Memory>& memories,
                                  const std::vector<std::int64_t>& r) {
  std::vector<std::int64_t> sums;
  for (const auto& memory : memories)
    for (std::size_t c = 0; c < memory.columns->columns(); ++c) {
      const auto column = memory.columns->column<std::uint64_t>(c);
      std::int64_t sum = 0;
      for (std::size_t i = 0; i < r.size(); ++i) sum += static_cast<std::int64_t>(column[i]) * r[i];
      sums.push_back(sum);
    }
  return sums;
}

// What a round should open: from the margins that the parties have, the dealer's deltas and the tables.
std::vector<std::int64_t> expected_residuals(const MaskedDescent::Iterate& iterate,
                                             const std::vector<MaskedDescent::Memory>& memories,
                                             const std::vector<double>& labels) {
  const MaskedNumbers& numbers = *memories[0].numbers;
  const std::size_t n = numbers.records;
  std::vector<std::int64_t> r(n);
  if (iterate.index == 0) {
    for (std::size_t i = 0; i < n; ++i) r[i] = static_cast<std::int64_t>(labels[i] * numbers.labels.factor);
    return r;
  }
  std::vector<std::uint32_t> margin(n), delta(n), part(n);
  for (std::size_t k = 0; k < memories.size(); ++k) {
    const std::span<const double> weights =
        std::span(memories[k].asked).subspan(numbers.first[k], memories[k].columns->columns());
    const auto words = memories[k].columns->margin_words(weights, numbers.margins);
    privacy::DealtStream(privacy::dealt_seed(iterate.secret, static_cast<int>(k)), privacy::Dealt::kMargin,
                         iterate.index)
        .fill(part);
    for (std::size_t i = 0; i < n; ++i) {
      margin[i] += words[i];
      delta[i] += part[i];
    }
  }
  for (std::size_t i = 0; i < n; ++i)
    for (int k = 0; k < numbers.series->harmonics(); ++k) {
      const auto [of_cosine, of_sine] = numbers.series->brackets(k, margin[i] + delta[i]);
      const auto [cosine, sine] = numbers.series->cosine_and_sine(k, delta[i]);
      r[i] += of_cosine * cosine + of_sine * sine;
    }
  return r;
}

// Words that nobody should be able to tell from uniform ones: chi-squared over the highest four bits and over the
// lowest, with a false alarm of 1e-6.
bool looks_uniform(const std::vector<std::uint64_t>& words, int bits) {
  for (const int shift : {bits - 4, 0}) {
    std::vector<double> counts(16);
    for (const std::uint64_t word : words) counts[(word >> shift) & 15] += 1;
    const double expected = static_cast<double>(words.size()) / 16;
    double chi = 0;
    for (const double count : counts) chi += (count - expected) * (count - expected) / expected;
    if (chi > 58) return false;  // 15 degrees of freedom
  }
  return true;
}

// No two masks agree in more places than chance explains: with 16 bits and n places, n/65536 are expected.
bool all_fresh(const std::vector<std::vector<std::uint64_t>>& masks) {
  for (std::size_t a = 0; a < masks.size(); ++a)
    for (std::size_t b = a + 1; b < masks.size(); ++b) {
      std::size_t same = 0;
      for (std::size_t i = 0; i < std::min(masks[a].size(), masks[b].size()); ++i) same += masks[a][i] == masks[b][i];
      if (same > 8) return false;
    }
  return true;
}

// All columns in one place.
linalg::Matrix whole_of(const MaskedData& data) {
  std::vector<double> dense;
  for (const auto& part : data.features)
    for (linalg::Index j = 0; j < part.cols(); ++j)
      for (linalg::Index i = 0; i < part.rows(); ++i) dense.push_back(part.at(i, j));
  const linalg::Index rows = data.features[0].rows();
  return linalg::Matrix::from_dense(rows, static_cast<linalg::Index>(dense.size()) / rows, dense);
}

double variance(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return sum / static_cast<double>(values.size());
}

// Of a sample variance of Gaussian numbers; a false alarm of about 1e-6.
bool has_variance(const std::vector<double>& values, double expected) {
  return std::abs(variance(values) / expected - 1) < 5 * std::sqrt(2.0 / static_cast<double>(values.size()));
}

std::vector<std::uint64_t> words_of(const std::string& bytes, int bits) {
  const auto count = bytes.size() / static_cast<std::size_t>(bits / 8);
  return *privacy::unpacked<std::uint64_t>(bytes, count, bits);
}

}  // namespace

TEST(MaskedDescent, OpensTheIntegerGradientExactly) {
  for (const int parties : {2, 3}) {
    const MaskedData data(90, parties == 2 ? std::vector<int>{4, 3} : std::vector<int>{3, 2, 4}, 5);
    const auto shares = data.shares(true);
    auto algorithm = MaskedDescent::make(masked_terms(parties, 0.01), {.iterations = 6, .tolerance = 0});
    ASSERT_TRUE(algorithm) << algorithm.error().message;
    auto first = algorithm->begin(masked_facts(shares));
    // The intercept is penalised: a column of ones at the party with the labels.
    ASSERT_TRUE(first) << first.error().message;
    int opened = 0;
    std::vector<MaskedDescent::Memory> memories(shares.size());
    MaskedTaps taps;
    taps.answered = [&](const auto& iterate, int party, const auto& reply, const auto& memory) {
      memories[static_cast<std::size_t>(party)] = memory;
      if (iterate.step != Step::kOpen) return;
      const auto expected = sums_of(memories, expected_residuals(iterate, memories, data.labels));
      ASSERT_EQ(reply.opened.size(), expected.size());
      for (std::size_t c = 0; c < expected.size(); ++c)
        EXPECT_EQ(modulo(reply.opened[c], memory.numbers->ring_bits), expected[c]) << iterate.index << " " << c;
      ++opened;
    };
    auto terms = masked_terms(parties, 0.01);
    terms.objective.intercept = glm::Intercept::kPenalised;
    algorithm = MaskedDescent::make(terms, {.iterations = 6, .tolerance = 0});
    first = algorithm->begin(masked_facts(shares));
    const MaskedRun run = run_masked(*algorithm, *first, shares, taps);
    ASSERT_FALSE(run.error) << run.error->message;
    EXPECT_EQ(opened, 7);
  }
}

TEST(MaskedDescent, ReachesTheExactOptimumWithoutPrivacy) {
  const MaskedData data(200, {4, 3}, 7);
  const auto shares = data.shares();
  auto algorithm = MaskedDescent::make(masked_terms(2, 0.02), {.iterations = 600, .tolerance = 1e-7});
  const auto first = algorithm->begin(masked_facts(shares));
  ASSERT_TRUE(first) << first.error().message;
  const MaskedRun run = run_masked(*algorithm, *first, shares);
  ASSERT_FALSE(run.error) << run.error->message;
  const linalg::Matrix whole = whole_of(data);
  const glm::Objective objective{.task = glm::Task::kLogistic, .l2 = 0.02};
  const auto fit = exact({whole, data.labels, objective}, {}, {});
  ASSERT_TRUE(fit);
  EXPECT_NEAR(glm::evaluate(objective, whole, data.labels, run.iterate.parameters), fit->objective, 1e-7);
  for (std::size_t j = 0; j < 7; ++j) EXPECT_NEAR(run.iterate.parameters[j], fit->weights[j], 1e-3);
  for (std::size_t p = 0; p < 2; ++p) EXPECT_TRUE(run.memories[p].released);
}

// Everything that parties open is uniform and fresh, whatever the data: also where every record is the same.
TEST(MaskedDescent, WhatIsOpenedIsUniformAndNoMaskComesTwice) {
  MaskedData data(4000, {3, 2}, 9);
  data.features[0] = linalg::Matrix::from_dense(4000, 3, std::vector<double>(12000, 1.0));
  const auto shares = data.shares();
  auto algorithm = MaskedDescent::make(masked_terms(2, 0.01), {.iterations = 4, .margin_bits = 16, .tolerance = 0});
  const auto first = algorithm->begin(masked_facts(shares));
  std::vector<std::vector<std::uint64_t>> masks, margins;
  MaskedTaps taps;
  taps.answered = [&](const auto& iterate, int party, const auto&, const auto& memory) {
    const MaskedNumbers* numbers = memory.numbers.get();
    if (iterate.step == Step::kMargins) {
      const auto u = words_of(memory.own_margins, numbers->margin_bits);
      EXPECT_TRUE(looks_uniform(u, numbers->margin_bits));
      const auto own = memory.columns->margin_words(
          std::span(memory.asked).subspan(numbers->first[static_cast<std::size_t>(party)], memory.columns->columns()),
          numbers->margins);
      std::vector<std::uint64_t> mask;
      for (std::size_t i = 0; i < u.size(); ++i) mask.push_back((u[i] - own[i]) & 0xffff);
      masks.push_back(mask);
      margins.push_back(std::vector<std::uint64_t>(own.begin(), own.end()));
    }
    if (iterate.step == Step::kResidual || iterate.step == Step::kProducts) {
      const auto f = words_of(memory.own_residuals, numbers->ring_bits);
      EXPECT_TRUE(looks_uniform(f, numbers->ring_bits));
      masks.push_back(f);
    }
  };
  // E_k as the other party reads it, by a copy of what that one remembers.
  std::vector<MaskedDescent::Memory> memories(2);
  const auto seen = taps.answered;
  taps.answered = [&](const auto& iterate, int party, const auto& reply, const auto& memory) {
    memories[static_cast<std::size_t>(party)] = memory;
    if (iterate.step == Step::kMatrix && party == 1) {
      MaskedDescent::Memory reader = restarted(memories[0]);
      ASSERT_TRUE(reader.peers.take_up({}, 0, " masked-descent"));
      const auto opened = reader.peers.open(1, reply.sealed[0], {.round = 1, .step = Step::kMatrix});
      ASSERT_TRUE(opened) << opened.error().message;
      EXPECT_TRUE(looks_uniform(words_of(opened->substr(24), memory.numbers->ring_bits), memory.numbers->ring_bits));
    }
    seen(iterate, party, reply, memory);
  };
  const MaskedRun run = run_masked(*algorithm, *first, shares, taps);
  ASSERT_FALSE(run.error) << run.error->message;
  EXPECT_EQ(masks.size(), 2u * 4 + 2 * 5);
  EXPECT_TRUE(all_fresh(masks));
  // The checks see what they are for: a mask that comes again (an index or a seed), and a value without its mask.
  masks.push_back(masks.front());
  EXPECT_FALSE(all_fresh(masks));
  EXPECT_FALSE(looks_uniform(margins.front(), 16));
}

TEST(MaskedDescent, NobodyLearnsMoreOfAPartyThanItsClippedMargin) {
  MaskedData data(60, {2, 2}, 9);
  const auto shares = data.shares();
  auto algorithm = MaskedDescent::make(masked_terms(2, 0.01), {.iterations = 2, .tolerance = 0});
  const auto first = algorithm->begin(masked_facts(shares));
  int seen = 0;
  MaskedTaps taps;
  taps.task = [](MaskedDescent::Task& task, int) {
    for (double& weight : task.weights) weight = 1e9;  // a coordinator may ask for anything, and says the same to all
  };
  taps.answered = [&](const auto& iterate, int party, const auto&, const auto& memory) {
    if (iterate.step != Step::kMargins) return;
    const privacy::MarginRule& rule = memory.numbers->margins;
    std::vector<std::uint32_t> delta(60);
    privacy::DealtStream(memory.seed, privacy::Dealt::kMargin, iterate.index).fill(delta);
    const auto u = words_of(memory.own_margins, memory.numbers->margin_width());
    const std::vector<double> weights(memory.columns->columns(), 1e9);
    bool beyond = false;
    for (std::size_t i = 0; i < u.size(); ++i) {
      const std::int64_t margin = privacy::centred(u[i] - delta[i], rule.bits);
      EXPECT_LE(std::abs(margin), rule.largest());
      beyond = beyond || std::abs(memory.columns->margins(weights)[i]) > rule.period / 8;
    }
    EXPECT_TRUE(beyond) << "without the clip it would have been another margin, of party " << party;
    ++seen;
  };
  const MaskedRun run = run_masked(*algorithm, *first, shares, taps);
  ASSERT_FALSE(run.error) << run.error->message;
  EXPECT_EQ(seen, 4);
}

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

TEST(MaskedDescent, PartiesThatComputeWithDifferentThingsSendNoShare) {
  const MaskedData data(50, {3, 3}, 21);
  const auto shares = data.shares();
  // Other weights for one of them; another index is refused before that; other tables follow from another job.
  for (const bool other_weights : {true, false}) {
    auto algorithm = MaskedDescent::make(masked_terms(2, 0.05), {.iterations = 3, .tolerance = 0});
    const auto first = algorithm->begin(masked_facts(shares));
    int shared = 0;
    MaskedTaps taps;
    taps.task = [&](MaskedDescent::Task& task, int party) {
      if (task.step == Step::kMargins && task.index == 2 && party == 1) {
        if (other_weights)
          task.weights[0] += 1e-9;
        else
          task.index = 1;
      }
    };
    taps.answered = [&](const auto& iterate, int, const auto&, const auto&) {
      shared += iterate.step == Step::kShare && iterate.index == 2;
    };
    const MaskedRun run = run_masked(*algorithm, *first, shares, taps);
    ASSERT_TRUE(run.error);
    EXPECT_EQ(shared, 0) << run.error->message;
  }
  auto ours = MaskedDescent::make(masked_terms(2, 0.05), {.iterations = 3, .harmonics = 20, .tolerance = 0});
  auto theirs = MaskedDescent::make(masked_terms(2, 0.05), {.iterations = 3, .harmonics = 21, .tolerance = 0});
  const auto first = ours->begin(masked_facts(shares));
  MaskedDescent::Iterate iterate = *first;
  std::vector<MaskedDescent::Memory> memories(2);
  std::optional<Error> refused;
  while (!refused && iterate.step <= Step::kShare) {
    std::vector<rounds::Answer<MaskedDescent::Reply>> answers;
    for (int p = 0; p < 2 && !refused; ++p) {
      const auto task = ours->ask(iterate, p);
      if (!task) continue;
      auto gate = privacy::Gate::without_privacy(privacy::Unprotected{});
      const auto reply =
          (p == 0 ? *ours : *theirs)
              .answer(*task, shares[static_cast<std::size_t>(p)], memories[static_cast<std::size_t>(p)], gate);
      if (!reply) {
        refused = reply.error();
        break;
      }
      answers.push_back({p, reply->value()});
    }
    if (!refused) iterate = *absorbed(*ours, iterate, answers);
  }
  ASSERT_TRUE(refused);
  EXPECT_NE(refused->message.find("do not compute with the same"), std::string::npos) << refused->message;
}

TEST(MaskedDescent, AnIndexIsAnsweredOnceAlsoAfterARestart) {
  const MaskedData data(50, {3, 3}, 23);
  const auto shares = data.shares();
  auto algorithm = MaskedDescent::make(masked_terms(2, 0.05), {.iterations = 3, .tolerance = 0});
  const auto first = algorithm->begin(masked_facts(shares));
  int tried = 0;
  MaskedTaps taps;
  taps.answered = [&](const auto& iterate, int party, const auto&, const auto& memory) {
    auto gate = privacy::Gate::without_privacy(privacy::Unprotected{});
    auto task = algorithm->ask(iterate, party);
    for (double& weight : task->weights) weight += 1;
    MaskedDescent::Memory back = restarted(memory);
    const auto again = algorithm->answer(*task, shares[static_cast<std::size_t>(party)], back, gate);
    EXPECT_FALSE(again) << "step " << iterate.step << " of index " << iterate.index;
    EXPECT_EQ(wire::encode(back), wire::encode(memory)) << "a refusal leaves no trace";
    ++tried;
  };
  const MaskedRun run = run_masked(*algorithm, *first, shares, taps);
  ASSERT_FALSE(run.error) << run.error->message;
  EXPECT_GT(tried, 30);
}

TEST(MaskedDescent, ItGoesOnAfterARestartOfEverybodyToTheSameModel) {
  const MaskedData data(50, {3, 3}, 29);
  const auto shares = data.shares();
  auto algorithm = MaskedDescent::make(masked_terms(2, 0.05), {.iterations = 4, .tolerance = 0});
  const auto first = algorithm->begin(masked_facts(shares));
  const MaskedRun whole = run_masked(*algorithm, *first, shares);
  MaskedDescent::Iterate iterate = *first;
  std::vector<MaskedDescent::Memory> memories(2);
  while (!algorithm->done(iterate)) {
    iterate = *wire::decode<MaskedDescent::Iterate>(wire::encode(iterate), wire::Numbers::kAny);
    std::vector<rounds::Answer<MaskedDescent::Reply>> answers;
    for (int p = 0; p < 2; ++p) {
      const auto task = algorithm->ask(iterate, p);
      if (!task) continue;
      auto& memory = memories[static_cast<std::size_t>(p)];
      memory = restarted(memory);
      auto gate = privacy::Gate::without_privacy(privacy::Unprotected{});
      const auto reply = algorithm->answer(*task, shares[static_cast<std::size_t>(p)], memory, gate);
      ASSERT_TRUE(reply) << reply.error().message;
      answers.push_back({p, reply->value()});
    }
    iterate = *absorbed(*algorithm, iterate, answers);
  }
  EXPECT_EQ(iterate.parameters, whole.iterate.parameters);
}

TEST(MaskedDescent, RingsThatCouldOverflowAreRefusedAtTheStart) {
  const MaskedData data(50, {3, 3}, 29);
  const auto shares = data.shares();
  auto algorithm = MaskedDescent::make(masked_terms(2, 0.05), {.feature_bits = 22, .bits = 42});
  const auto first = algorithm->begin(masked_facts(shares));
  ASSERT_FALSE(first);
  EXPECT_NE(first.error().message.find("overflow"), std::string::npos) << first.error().message;
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

TEST(MaskedDescent, TakesPenaltiesAndSetsByStepsOnTheOpenedGradient) {
  const MaskedData data(120, {4, 4}, 37);
  const auto shares = data.shares();
  const linalg::Matrix whole = whole_of(data);
  for (const bool ball : {false, true}) {
    auto terms = masked_terms(2, 0.01);
    if (ball)
      terms.objective.l1_radius = 1.0;
    else
      terms.objective.l1 = 0.02;
    auto algorithm = MaskedDescent::make(terms, {.iterations = 600});
    const auto first = algorithm->begin(masked_facts(shares));
    const MaskedRun run = run_masked(*algorithm, *first, shares);
    ASSERT_FALSE(run.error) << run.error->message;
    const auto fit = exact({whole, data.labels, terms.objective}, {}, {});
    ASSERT_TRUE(fit) << fit.error().message;
    EXPECT_NEAR(glm::evaluate(terms.objective, whole, data.labels, run.iterate.parameters), fit->objective, 1e-6);
    EXPECT_TRUE(glm::feasible(terms.objective, run.iterate.parameters, {}, 1e-9));
  }
  auto terms = masked_terms(2, 0.01);
  terms.objective.sparsity = 3;
  auto algorithm = MaskedDescent::make(terms, {.iterations = 100});
  const auto first = algorithm->begin(masked_facts(shares));
  const MaskedRun run = run_masked(*algorithm, *first, shares);
  ASSERT_FALSE(run.error) << run.error->message;
  EXPECT_TRUE(glm::feasible(terms.objective, run.iterate.parameters, {}));
}

// Labels that are numbers: no series, and the same exact sums.
TEST(MaskedDescent, SolvesLeastSquaresExactly) {
  MaskedData data(150, {3, 3}, 41);
  for (std::size_t i = 0; i < data.labels.size(); ++i)
    data.labels[i] = 0.7 * data.features[0].at(static_cast<linalg::Index>(i), 1) -
                     0.4 * data.features[1].at(static_cast<linalg::Index>(i), 0) + 0.1 * data.labels[i];
  const auto shares = data.shares();
  auto terms = masked_terms(2, 0.01);
  terms.objective.task = glm::Task::kLinear;
  auto algorithm = MaskedDescent::make(terms, {.iterations = 600});
  ASSERT_TRUE(algorithm) << algorithm.error().message;
  const auto first = algorithm->begin(masked_facts(shares));
  ASSERT_TRUE(first) << first.error().message;
  const MaskedRun run = run_masked(*algorithm, *first, shares);
  ASSERT_FALSE(run.error) << run.error->message;
  const linalg::Matrix whole = whole_of(data);
  const auto fit = exact({whole, data.labels, terms.objective}, {}, {});
  ASSERT_TRUE(fit);
  for (std::size_t j = 0; j < 6; ++j) EXPECT_NEAR(run.iterate.parameters[j], fit->weights[j], 1e-5);
}

TEST(PrivateMaskedDescent, EqualsItsOpenTwinWhenEpsilonIsAMillion) {
  for (const glm::Task task : {glm::Task::kLogistic, glm::Task::kLinear}) {
    const MaskedData data(80, {3, 2}, 43);
    const MaskedSettings settings{
        .iterations = 300, .clip = 1, .period = 40, .harmonics = 12, .margin_bits = 16, .feature_bits = 10, .bits = 24};
    PrivateParties parties(data, 1e6);
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
