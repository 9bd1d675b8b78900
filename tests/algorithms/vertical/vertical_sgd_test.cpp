#include "parley/algorithms/vertical/vertical_sgd.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "parley/algorithms/exact/exact.h"
#include "parley/data/random.h"
#include "parley/glm/batch.h"
#include "parley/linalg/vectors.h"
#include "tests/algorithms/federation.h"

using namespace parley;
using namespace parley::algorithms;
using linalg::Index;
using linalg::Matrix;

namespace {

constexpr Index kRecords = 103, kColumns = 6;

struct Table {
  Matrix features;
  std::vector<double> labels;
};

Table table() {
  data::Random random(4, 1, 1);
  std::vector<double> values(static_cast<std::size_t>(kRecords * kColumns));
  for (double& v : values) v = 2 * random.uniform() - 1;
  Table made{Matrix::from_dense(kRecords, kColumns, values), {}};
  for (Index i = 0; i < kRecords; ++i)
    made.labels.push_back(made.features.at(i, 0) - made.features.at(i, 4) + random.normal() / 3 > 0 ? 1 : -1);
  return made;
}

RunTerms terms(double l2) {
  return {.objective = {.task = glm::Task::kLogistic, .l2 = l2, .intercept = glm::Intercept::kPenalised},
          .seed = 8,
          .parties = 2};
}

std::vector<ColumnShare> two(const Table& whole) {
  return {{whole.features.select_columns(std::vector<Index>{0, 1}), {}, false},
          {whole.features.select_columns(std::vector<Index>{2, 3, 4, 5}), whole.labels, true}};
}

std::vector<PartyFacts> facts_of(const std::vector<ColumnShare>& shares) {
  std::vector<PartyFacts> facts;
  for (std::size_t k = 0; k < shares.size(); ++k) {
    double longest = 0;
    for (const double squares : shares[k].features.row_squared_norms()) longest = std::max(longest, std::sqrt(squares));
    facts.push_back({.party = static_cast<int>(k),
                     .records = kRecords,
                     .columns = static_cast<std::size_t>(shares[k].features.cols()),
                     .row_norm = longest,
                     .labels = shares[k].holds_labels()});
  }
  return facts;
}

// The parties' weights, one after another.
std::vector<double> trained(const VerticalSgdSettings& settings, double l2, const std::vector<ColumnShare>& shares) {
  auto algorithm = VerticalSgd::make(terms(l2), settings);
  EXPECT_TRUE(algorithm);
  auto iterate = *algorithm->begin(facts_of(shares));
  std::vector<VerticalSgd::Memory> memories(shares.size());
  while (!algorithm->done(iterate)) {
    std::vector<rounds::Answer<VerticalSgd::Reply>> answers;
    for (std::size_t k = 0; k < shares.size(); ++k) {
      auto gate = privacy::Gate::without_privacy(privacy::Unprotected{});
      const auto reply = algorithm->answer(algorithm->ask(iterate), shares[k], memories[k], gate);
      EXPECT_TRUE(reply) << reply.error().message;
      EXPECT_TRUE(algorithm->check(iterate, static_cast<int>(k), reply->value()));
      answers.push_back({static_cast<int>(k), reply->value()});
    }
    iterate = *tests::absorbed(*algorithm, std::move(iterate), answers);
  }
  std::vector<double> weights;
  for (const auto& memory : memories) weights.insert(weights.end(), memory.weights.begin(), memory.weights.end());
  return weights;
}

}  // namespace

TEST(VerticalSgd, IsGradientDescentOnBatchesOfThePooledTable) {
  const Table whole = table();
  constexpr double kLength = 0.4, kL2 = 0.03;
  const std::vector<double> parts = trained({.iterations = 25, .batch = 10, .step = kLength}, kL2, two(whole));
  BatchOrder order(terms(kL2).seed, kRecords, 10);
  std::vector<double> w(kColumns + 1, 0.0);
  for (std::int64_t t = 0; t < 25; ++t) {
    const auto batch = order.records(order.at(t));
    std::vector<double> gradient(w.size(), 0.0);
    for (const std::uint32_t i : batch) {
      double margin = w[kColumns];
      for (Index j = 0; j < kColumns; ++j)
        margin += whole.features.at(static_cast<Index>(i), j) * w[static_cast<std::size_t>(j)];
      const double slope = glm::Logistic::derivative(margin, whole.labels[i]) / static_cast<double>(batch.size());
      for (Index j = 0; j < kColumns; ++j)
        gradient[static_cast<std::size_t>(j)] += slope * whole.features.at(static_cast<Index>(i), j);
      gradient[kColumns] += slope;
    }
    const double h = kLength / (1 + kLength * kL2 * static_cast<double>(t));
    for (std::size_t j = 0; j < w.size(); ++j) w[j] -= h * (gradient[j] + kL2 * w[j]);
  }
  ASSERT_EQ(parts.size(), w.size());
  for (std::size_t j = 0; j < w.size(); ++j) EXPECT_NEAR(parts[j], w[j], 1e-12);
}

TEST(VerticalSgd, WholeBatchesReachTheOptimum) {
  const Table whole = table();
  glm::Objective objective = terms(0.05).objective;
  const auto best = exact({whole.features, whole.labels, objective}, {}, {});
  ASSERT_TRUE(best);
  const std::vector<double> parts = trained({.iterations = 4000, .batch = 1000}, 0.05, two(whole));
  const std::span<const double> all(parts);
  EXPECT_LT(glm::evaluate(objective, whole.features, whole.labels, all.first(kColumns), all.last(1)),
            best->objective * (1 + 1e-6));
}

TEST(VerticalSgd, AnEpochVisitsEveryRecordOnce) {
  BatchOrder order(3, 103, 10), again(3, 103, 10);
  ASSERT_EQ(order.count(), 11U);
  for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
    std::vector<int> seen(103, 0);
    for (std::int64_t b = 0; b < 11; ++b)
      for (const std::uint32_t i : order.records(order.at(11 * epoch + b))) ++seen[i];
    EXPECT_EQ(seen, std::vector<int>(103, 1));
  }
  EXPECT_EQ(again.at(25), order.at(25)) << "whatever was asked before";
}

TEST(VerticalSgd, APartyAnswersForTheNextBatchOnly) {
  const auto shares = two(table());
  const auto algorithm = VerticalSgd::make(terms(0.01), {.iterations = 3, .batch = 10});
  VerticalSgd::Memory memory;
  auto gate = privacy::Gate::without_privacy(privacy::Unprotected{});
  const auto answers = [&](const VerticalSgd::Task& task) {
    return static_cast<bool>(algorithm->answer(task, shares[1], memory, gate));
  };
  EXPECT_FALSE(answers({.step = 1, .seed = 8, .length = 0.1, .derivative = {}}));
  EXPECT_TRUE(answers({.step = 0, .seed = 8, .length = 0.1, .derivative = {}}));
  EXPECT_FALSE(answers({.step = 0, .seed = 8, .length = 0.1, .derivative = {}})) << "again";
  EXPECT_FALSE(answers({.step = -1, .seed = 8, .length = 0.1, .derivative = {}})) << "labels after a batch";
  BatchOrder order(8, kRecords, 10);
  const std::vector<double> derivative(order.records(order.at(0)).size()), longer(derivative.size() + 1);
  EXPECT_FALSE(answers({.step = 1, .seed = 8, .length = 0.1, .derivative = longer}));
  EXPECT_TRUE(answers({.step = 1, .seed = 8, .length = 0.1, .derivative = derivative}));
  EXPECT_EQ(memory.answered, 2);
}

TEST(VerticalSgd, HasNoPrivateForm) {
  EXPECT_FALSE(VerticalSgd::check_private(terms(0.01), {}));
}
