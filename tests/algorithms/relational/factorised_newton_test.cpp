#include "parley/algorithms/relational/factorised_newton.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "parley/algorithms/exact/exact.h"
#include "parley/algorithms/relational/key_exchange.h"
#include "parley/data/random.h"
#include "tests/algorithms/relational/reference_joins.h"

using namespace parley;
using namespace parley::algorithms;
using linalg::Index;
using linalg::Matrix;

namespace {

// Three tables of random features; rows of the join use random tuples, some of them none.
struct MadeJoin {
  std::vector<Matrix> features;
  std::vector<JoinedTable> rows;
  std::vector<double> labels;
  Matrix materialised;

  explicit MadeJoin(int classes, glm::Task task) {
    data::Random random(5, 1, 1);
    constexpr std::size_t kRows = 400;
    data::JoinMap map;
    const std::vector<std::int64_t> tuples = {400, 30, 7};
    const std::vector<Index> columns = {3, 4, 2};
    std::vector<double> joined;
    for (std::size_t i = 0; i < tuples.size(); ++i) {
      std::vector<double> values(static_cast<std::size_t>(tuples[i]) * static_cast<std::size_t>(columns[i]));
      for (double& value : values) value = 2 * random.uniform() - 1;
      features.push_back(Matrix::from_dense(static_cast<Index>(tuples[i]), columns[i], values));
      std::vector<std::int32_t>& tuple_of = map.tuple_of.emplace_back();
      for (std::size_t j = 0; j < kRows; ++j) {
        const auto any = static_cast<std::int32_t>(random.uniform() * static_cast<double>(tuples[i] - 1));
        tuple_of.push_back(i == 0 ? static_cast<std::int32_t>(j) : random.uniform() < 0.1 && i == 2 ? -1 : any);
      }
      for (Index c = 0; c < columns[i]; ++c)
        for (const std::int32_t tuple : tuple_of) joined.push_back(tuple < 0 ? 0 : features[i].at(tuple, c));
    }
    map.tuples = tuples;
    rows = joined_tables(map);
    materialised = Matrix::from_dense(kRows, 9, joined);
    for (std::size_t j = 0; j < kRows; ++j) {
      const auto at = static_cast<Index>(j);
      const double margin =
          materialised.at(at, 0) - materialised.at(at, 4) + 2 * materialised.at(at, 8) + random.uniform() - 0.2;
      labels.push_back(task == glm::Task::kLinear ? margin
                       : classes > 1              ? std::floor(random.uniform() * classes)
                                                  : (margin > 0 ? 1 : -1));
    }
  }
};

TEST(FactorisedNewton, EqualsExactOnTheMaterialisedJoin) {
  for (const auto& [task, classes] : {std::pair{glm::Task::kLinear, 1}, std::pair{glm::Task::kLogistic, 1},
                                      std::pair{glm::Task::kSquaredHinge, 1}, std::pair{glm::Task::kSoftmax, 3}})
    for (const glm::Intercept intercept : {glm::Intercept::kNone, glm::Intercept::kPenalised}) {
      MadeJoin join(classes, task);
      const glm::Objective objective{.task = task, .classes = classes, .l2 = 0.01, .intercept = intercept};
      const ExactSettings tight{.tolerance = 1e-18};
      const auto whole = exact({join.materialised, join.labels, objective}, tight, {});
      if (intercept == glm::Intercept::kPenalised) {  // a last column of ones in the table that every row uses
        std::vector<double> values;
        for (Index c = 0; c < 3; ++c)
          for (Index t = 0; t < 400; ++t) values.push_back(join.features[0].at(t, c));
        values.resize(values.size() + 400, 1.0);
        join.features[0] = Matrix::from_dense(400, 4, values);
      }
      const auto over = exact_over_join({join.features, join.rows, join.labels, objective}, tight, {});
      ASSERT_TRUE(over && whole);
      std::vector<double> weights;
      for (std::size_t k = 0; k < static_cast<std::size_t>(classes); ++k) {
        const double* of_class = &whole->weights[k * 9];
        weights.insert(weights.end(), of_class, of_class + 3);
        if (intercept == glm::Intercept::kPenalised) weights.push_back(whole->intercepts[k]);
        weights.insert(weights.end(), of_class + 3, of_class + 9);
      }
      ASSERT_EQ(over->weights.size(), weights.size());
      for (std::size_t j = 0; j < weights.size(); ++j) EXPECT_NEAR(over->weights[j], weights[j], 1e-8) << j;
      EXPECT_NEAR(over->objective, whole->objective, 1e-12);
    }
}

TEST(FactorisedNewton, EqualsExactWithAnL1Penalty) {
  for (const auto& [task, classes] : {std::pair{glm::Task::kLinear, 1}, std::pair{glm::Task::kLogistic, 1},
                                      std::pair{glm::Task::kSquaredHinge, 1}, std::pair{glm::Task::kSoftmax, 3}}) {
    const MadeJoin join(classes, task);
    const glm::Objective objective{.task = task, .classes = classes, .l1 = 0.02, .l2 = 0.01};
    const auto over = exact_over_join({join.features, join.rows, join.labels, objective}, {.tolerance = 1e-14}, {});
    const auto whole = exact({join.materialised, join.labels, objective}, {.tolerance = 1e-14}, {});
    ASSERT_TRUE(over && whole);
    EXPECT_EQ(over->stop, Stop::kConverged);
    EXPECT_NEAR(over->objective, whole->objective, 1e-12);
    for (std::size_t j = 0; j < over->weights.size(); ++j) EXPECT_NEAR(over->weights[j], whole->weights[j], 1e-6) << j;
    EXPECT_GT(std::count(over->weights.begin(), over->weights.end(), 0.0), 0) << "l1 leaves columns out";
  }
}

TEST(FactorisedNewton, HasTheReferenceOptima) {
  const std::vector<tests::ReferenceJoin> joins = tests::reference_joins();
  if (joins.empty()) GTEST_SKIP() << "the shared reference values are not here";
  for (const tests::ReferenceJoin& join : joins) {
    std::vector<std::vector<SentKey>> keys;
    for (const TableShare& share : join.shares) keys.push_back(sent_keys(share.keys));
    std::vector<SentTuples> sent;
    for (std::size_t i = 0; i < keys.size(); ++i)
      sent.push_back({static_cast<int>(i), &keys[i], &join.shares[i].labels});
    const auto made = joined(join.tables, sent);
    ASSERT_TRUE(made) << made.error().message;
    std::vector<Matrix> features;
    for (const TableShare& share : join.shares) features.push_back(share.features);
    std::vector<double> labels;
    for (const std::int32_t tuple : made->map.tuple_of[static_cast<std::size_t>(join.tables.label_table)])
      labels.push_back(made->labels[static_cast<std::size_t>(tuple)]);
    const auto fit =
        exact_over_join({features, joined_tables(made->map), labels, join.objective}, {.tolerance = 1e-22}, {});
    ASSERT_TRUE(fit) << fit.error().message;
    EXPECT_NEAR(fit->objective, join.values.at("optimum").at("objective").get<double>(), 1e-12) << join.name();
    const auto classes = static_cast<std::size_t>(join.objective.classes);
    const std::size_t columns = fit->weights.size() / classes;
    std::size_t first = 0;
    for (std::size_t i = 0; i < features.size(); ++i) {
      const auto expected = tests::numbers(join.values.at("optimum").at("theta").at(join.table(i)));  // d x c
      for (std::size_t at = 0; at < expected.size(); ++at)
        EXPECT_NEAR(fit->weights[(at % classes) * columns + first + at / classes], expected[at], 1e-9) << join.name();
      first += expected.size() / classes;
    }
  }
}

}  // namespace
