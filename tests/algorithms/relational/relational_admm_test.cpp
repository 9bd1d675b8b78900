#include "parley/algorithms/relational/relational_admm.h"

#include <gtest/gtest.h>

#include <cmath>

#include "parley/algorithms/relational/factorised_newton.h"
#include "parley/algorithms/relational/key_exchange.h"
#include "parley/algorithms/relational/table_sums.h"
#include "parley/privacy/masking/pairwise_masks.h"
#include "tests/algorithms/federation.h"
#include "tests/algorithms/relational/joined_tables.h"
#include "tests/algorithms/test_site.h"

using namespace parley;
using namespace parley::algorithms;
using parley::tests::Star;

namespace {

glm::Objective ridge(glm::Task task) {
  return {.task = task, .l2 = 0.01};
}

struct Learnt {
  RelationalAdmm::Iterate at;
  std::vector<RelationalAdmm::Memory> memories;
  double objective = 0;
  std::size_t largest_task = 0;
};

Result<Learnt> learn(const Star& star, const glm::Objective& objective, const RelationalSettings& settings) {
  PARLEY_TRY(RelationalAdmm algorithm, RelationalAdmm::make(tests::terms_of(objective, star.tables), settings));
  PARLEY_TRY(auto at, algorithm.begin(tests::facts_of(star.shares, star.tables)));
  Learnt learnt;
  learnt.memories.resize(star.shares.size());
  while (!algorithm.done(at)) {
    std::vector<rounds::Answer<RelationalAdmm::Reply>> answers;
    for (std::size_t p = 0; p < star.shares.size(); ++p) {
      const auto task = algorithm.ask(at, static_cast<int>(p));
      if (!task) continue;
      learnt.largest_task = std::max(learnt.largest_task, wire::encode(*task).size());
      auto gate = privacy::Gate::without_privacy(privacy::Unprotected{});
      // As after a restart: what a party keeps, and nothing that it made of it.
      PARLEY_TRY(auto kept, wire::decode<RelationalAdmm::Memory>(wire::encode(learnt.memories[p])));
      PARLEY_TRY(const auto reply, algorithm.answer(*task, star.shares[p], kept, gate));
      learnt.memories[p] = std::move(kept);
      answers.push_back({static_cast<int>(p), reply.value()});
    }
    PARLEY_TRY(at, tests::absorbed(algorithm, std::move(at), answers));
  }
  learnt.objective = *algorithm.objective(at);
  learnt.at = std::move(at);
  return learnt;
}

double optimum(const Star& star, const glm::Objective& objective) {
  std::vector<std::vector<SentKey>> keys;
  std::vector<linalg::Matrix> features;
  for (const TableShare& share : star.shares) {
    keys.push_back(sent_keys(share.keys));
    features.push_back(share.features);
  }
  std::vector<SentTuples> sent;
  for (std::size_t p = 0; p < keys.size(); ++p) sent.push_back({static_cast<int>(p), &keys[p], &star.shares[p].labels});
  const auto made = joined(star.tables, sent);
  const std::vector<JoinedTable> rows = joined_tables(made->map);
  return exact_over_join({features, rows, made->labels, objective}, {.tolerance = 1e-16}, {})->objective;
}

TEST(RelationalAdmm, FindsTheOptimumOfEveryLossWithEveryUpdateAndOrder) {
  const Star star = tests::star();
  for (const glm::Task task : {glm::Task::kLinear, glm::Task::kLogistic, glm::Task::kSquaredHinge})
    for (const RelationalSettings& settings :
         {RelationalSettings{.tolerance = 1e-9},
          RelationalSettings{.tolerance = 1e-9, .order = TableOrder::kGaussSeidel},
          RelationalSettings{.tolerance = 1e-9, .update = TableUpdate::kMajorised}}) {
      const auto learnt = learn(star, ridge(task), settings);
      ASSERT_TRUE(learnt) << learnt.error().message;
      const double best = optimum(star, ridge(task));
      EXPECT_LE(std::abs(learnt->objective - best), 1e-9 * best) << glm::name(task);
    }
}

// Three columns of ones: each table takes the whole residual, so together they take three times what there is.
TEST(RelationalAdmm, SaysThatThePrintedUpdateDiverges) {
  Star star = tests::star();
  for (TableShare& share : star.shares) {
    const linalg::Index rows = share.features.rows();
    share.features = linalg::Matrix::from_dense(rows, 1, std::vector<double>(static_cast<std::size_t>(rows), 1.0));
  }
  for (double& label : star.shares[0].labels) label = 1;
  glm::Objective objective = ridge(glm::Task::kLinear);
  objective.l2 = 1e-3;
  const auto printed = learn(star, objective, {.rho = 1, .update = TableUpdate::kPaper});
  ASSERT_FALSE(printed);
  EXPECT_NE(printed.error().message.find("diverges"), std::string::npos) << printed.error().message;
  const auto relaxed = learn(star, objective, {.rho = 1});
  ASSERT_TRUE(relaxed) << relaxed.error().message;
  EXPECT_NEAR(relaxed->objective, optimum(star, objective), 1e-6);
}

TEST(RelationalAdmm, SendsOneNumberForEachTupleThatIsUsed) {
  const auto learnt = learn(tests::star(), ridge(glm::Task::kLogistic), {.epochs = 3, .tolerance = 0});
  ASSERT_TRUE(learnt);
  EXPECT_EQ(learnt->at.tables[0].sums.size(), 120U);
  EXPECT_EQ(learnt->at.tables[1].sums.size(), 9U);
  EXPECT_EQ(learnt->at.tables[2].sums.size(), 10U) << "two products are in no order";
}

TEST(RelationalAdmm, TravelsInHalfTheBytesWhereNumbersMayBeRounded) {
  const Star star = tests::star();
  const auto learnt = learn(star, ridge(glm::Task::kLogistic), {.tolerance = 1e-5, .width = NumberWidth::kFloat32});
  ASSERT_TRUE(learnt) << learnt.error().message;
  EXPECT_NEAR(learnt->objective, optimum(star, ridge(glm::Task::kLogistic)), 1e-6);
  EXPECT_LT(learnt->largest_task, 120U * 4 + 120U * 8 + 200) << "numbers, and once tuples and counts";
}

TEST(RelationalAdmm, AddsUpThePartsOfATableUnderMasks) {
  const Star whole = tests::star();
  const RelationalSettings settings{.epochs = 12, .tolerance = 0};
  const auto expected = learn(whole, ridge(glm::Task::kLogistic), settings);
  ASSERT_TRUE(expected);
  struct Split {
    int table;
    std::vector<linalg::Index> sizes;
  };
  for (const Split& split : {Split{0, {60, 60}}, Split{0, {1, 100, 0, 19}}, Split{1, {2, 7}}, Split{2, {9, 2, 1}}})
    for (const TableOrder order : {TableOrder::kParallel, TableOrder::kGaussSeidel}) {
      RelationalSettings own = settings;
      own.order = order;
      const auto of_whole = order == TableOrder::kParallel ? expected : learn(whole, ridge(glm::Task::kLogistic), own);
      const Star parts = tests::with_union(whole, split.table, split.sizes);
      const auto learnt = learn(parts, ridge(glm::Task::kLogistic), own);
      ASSERT_TRUE(learnt) << learnt.error().message;
      EXPECT_NEAR(learnt->objective, of_whole->objective, 1e-12);
      const auto& weights = of_whole->memories[static_cast<std::size_t>(split.table)].weights;
      for (std::size_t p = 2; p < parts.shares.size(); ++p)
        for (std::size_t j = 0; j < weights.size(); ++j)
          EXPECT_NEAR(learnt->memories[p].weights[j], weights[j], 1e-12) << "of every part, the empty one too";
    }
}

TEST(RelationalAdmm, AgreesOnAPartedTableByConsensusToo) {
  const Star parts = tests::with_union(tests::star(), 1, {2, 0, 7});
  const double best = optimum(tests::star(), ridge(glm::Task::kLogistic));
  const auto learnt = learn(parts, ridge(glm::Task::kLogistic), {.tolerance = 1e-6, .sums = UnionSums::kConsensus});
  ASSERT_TRUE(learnt) << learnt.error().message;
  EXPECT_LE(std::abs(learnt->objective - best), 1e-6 * best);
}

TEST(RelationalAdmm, TrainsATableOfMoreColumnsThanTuples) {
  Star star = tests::star();
  data::Random random(3, 1, 1);
  star.shares[1].features = tests::random_table(9, 30, random);
  const auto learnt = learn(star, ridge(glm::Task::kLogistic), {.tolerance = 1e-9});
  ASSERT_TRUE(learnt) << learnt.error().message;
  EXPECT_NEAR(learnt->objective, optimum(star, ridge(glm::Task::kLogistic)), 1e-9);
}

TEST(RelationalAdmm, AsksATableWithoutColumnsForItsKeysAlone) {
  Star star = tests::star();
  star.shares[0].features = linalg::Matrix::from_dense(120, 0, {});
  const auto learnt = learn(star, ridge(glm::Task::kLogistic), {.tolerance = 1e-9});
  ASSERT_TRUE(learnt) << learnt.error().message;
  EXPECT_EQ(learnt->memories[0].answered, 0);
  EXPECT_NEAR(learnt->objective, optimum(star, ridge(glm::Task::kLogistic)), 1e-9);
}

TEST(TableSums, LeaveNoPrivateRunWithoutNoise) {
  data::Random random(3, 1, 1);
  TestSite site(tests::random_table(20, 2, random), {.epsilon = 1});
  const privacy::MaskSecret secrets[] = {{1, 2, 3, 4}, {5, 6, 7, 8}};
  std::vector<std::string> keys;
  for (const privacy::MaskSecret& secret : secrets) keys.push_back(*privacy::mask_public_key(secret));
  auto masks = privacy::PairwiseMasks::agree(secrets[0], 0, keys, "");
  ASSERT_TRUE(masks);
  privacy::Gate& gate = *site.problem({}, {}).privacy->gate;
  EXPECT_FALSE(gate.unprotected(privacy::Private(std::vector<std::int64_t>{1, 2, 3}), *masks->mask(0, 3)));
  auto open = privacy::Gate::without_privacy(privacy::Unprotected{});
  EXPECT_FALSE(open.unprotected(privacy::Private(std::vector<std::int64_t>{1}), *masks->mask(1, 3)))
      << "a mask is as long as what it covers";
  EXPECT_TRUE(open.unprotected(privacy::Private(std::vector<std::int64_t>{1, 2, 3}), *masks->mask(2, 3)));
}

TEST(TableSums, AreExactInAnyOrder) {
  const std::vector<double> one = {1e15 + 0.125, -3.7e-9, 0, -12345.678}, other = {-1e15, 2.5e-12, -1, 12345.5};
  auto sum = words_of(one), more = words_of(other);
  ASSERT_TRUE(sum && more);
  for (std::size_t k = 0; k < sum->size(); ++k) (*sum)[k] += (*more)[k];
  const std::vector<double> numbers = numbers_of(*sum);
  for (std::size_t k = 0; k < one.size(); ++k)
    EXPECT_NEAR(numbers[k], one[k] + other[k], 1e-17 + 1e-16 * std::abs(one[k] + other[k]));
  EXPECT_FALSE(words_of(std::vector<double>{1e18}));
  EXPECT_FALSE(words_of(std::vector<double>{std::nan("")}));
}

}  // namespace
