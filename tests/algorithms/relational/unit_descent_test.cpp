#include "parley/algorithms/relational/unit_descent.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <utility>

#include "parley/algorithms/parts/private_terms.h"
#include "parley/algorithms/relational/factorised_newton.h"
#include "parley/algorithms/relational/unit_sums.h"
#include "parley/data/random.h"
#include "tests/support/temporary_folder.h"

using namespace parley;
using namespace parley::algorithms;
using linalg::Index;
using linalg::Matrix;

namespace {

constexpr std::size_t kUsers = 20, kFilms = 15, kRows = 300;

// Ratings of users and films: a table of ratings, one of users and one of films.
struct Ratings {
  std::vector<std::vector<double>> tables;  // tuple by tuple
  std::vector<Index> columns{2, 3, 2};
  std::vector<std::size_t> tuples{kRows, kUsers, kFilms};
  std::vector<JoinedTable> rows;
  std::vector<double> labels;
  std::vector<Index> user, film, each;

  Ratings() {
    data::Random random(9, 4, 1);
    for (std::size_t i = 0; i < tuples.size(); ++i) {
      std::vector<double>& values = tables.emplace_back(tuples[i] * static_cast<std::size_t>(columns[i]));
      for (double& value : values) value = 2 * random.uniform() - 1;
    }
    data::JoinMap map;
    map.tuple_of.resize(3);
    map.tuples = {kRows, kUsers, kFilms};
    for (std::size_t j = 0; j < kRows; ++j) {
      each.push_back(static_cast<Index>(j));
      // User 0 has half of all rows.
      user.push_back(j % 2 == 0 ? 0 : static_cast<Index>(j % kUsers));
      film.push_back(static_cast<Index>(random.uniform() * kFilms));
      map.tuple_of[0].push_back(static_cast<std::int32_t>(j));
      map.tuple_of[1].push_back(user.back());
      map.tuple_of[2].push_back(film.back());
      const double margin = tables[0][2 * j] + 2 * tables[1][3 * static_cast<std::size_t>(user.back())] -
                            tables[2][2 * static_cast<std::size_t>(film.back())];
      labels.push_back(random.uniform() < 1 / (1 + std::exp(-3 * margin)) ? 1 : -1);
    }
    rows = joined_tables(map);
    number(user);
    number(film);
  }
  // Other features of user `u`, other features and labels of all that the user rated.
  void replace_user(Index u) {
    for (std::size_t c = 0; c < 3; ++c) tables[1][3 * static_cast<std::size_t>(u) + c] = c == 0 ? -1e6 : 0.123456789;
    for (std::size_t j = 0; j < kRows; ++j) {
      if (rows[1].tuples[static_cast<std::size_t>(rows[1].slots[j])] != u) continue;
      labels[j] = -labels[j];
      tables[0][2 * j] = 1;
      tables[0][2 * j + 1] = 0;
    }
  }
  [[nodiscard]] std::vector<Matrix> features() const {
    std::vector<Matrix> made;
    for (std::size_t i = 0; i < tuples.size(); ++i) {
      const auto width = static_cast<std::size_t>(columns[i]);
      std::vector<double> by_column;
      for (std::size_t c = 0; c < width; ++c)
        for (std::size_t tuple = 0; tuple < tuples[i]; ++tuple) by_column.push_back(tables[i][tuple * width + c]);
      made.push_back(Matrix::from_dense(static_cast<Index>(tuples[i]), columns[i], by_column));
    }
    return made;
  }

 private:
  static void number(std::vector<Index>& units) {
    std::vector<Index> known(kRows, -1);
    Index next = 0;
    for (Index& unit : units) {
      Index& at = known[static_cast<std::size_t>(unit)];
      if (at < 0) at = next++;
      unit = at;
    }
  }
};

std::size_t count_of(const std::vector<Index>& units) {
  return static_cast<std::size_t>(*std::max_element(units.begin(), units.end())) + 1;
}

// The sum at these weights, before noise.
struct Summed {
  std::vector<double> sum;
  double sensitivity = 0;
};
Summed sum_at(const Ratings& data, const std::vector<Index>& units, double clip, const std::vector<double>& weights) {
  const std::vector<Matrix> features = data.features();
  const JoinedProblem problem{
      features, data.rows, data.labels, {.task = glm::Task::kLogistic, .l2 = 0.01}, nullptr, {units, count_of(units)}};
  UnitSums sums(problem, 1);
  sums.move_to(weights);
  const auto sum = sums.sum({.bound = clip, .grain = {-20}, .unit = privacy::Unit::kEntity});
  EXPECT_TRUE(sum) << sum.error().message;
  return {privacy::Gate::in_the_clear(*sum, privacy::Unprotected{}).value(), sum->sensitivity()};
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double squares = 0;
  for (std::size_t k = 0; k < a.size(); ++k) squares += (a[k] - b[k]) * (a[k] - b[k]);
  return std::sqrt(squares);
}

const std::vector<double> kWeights = {0.3, -0.2, 0.5, 0.1, -0.4, 0.2, 0.7};

// A gate on a ledger of its own, or one that repeats another run's releases.
struct Private {
  ::TemporaryFolder folder;
  privacy::SeededGenerator bits;
  std::optional<privacy::Ledger> ledger;
  std::optional<privacy::Gate> gate;
  std::optional<PrivateTerms> terms;

  explicit Private(double epsilon, const privacy::Transcript* told = nullptr, double budget = 0, std::uint64_t seed = 3)
      : bits(seed) {
    const privacy::Purse purse{"users.user", privacy::Unit::kEntity, privacy::Neighbours::kReplaceOne};
    if (told != nullptr) {
      gate.emplace(privacy::Gate::replay(*told, purse));
    } else {
      ledger.emplace(std::move(*privacy::Ledger::open(folder.path().string())));
      EXPECT_TRUE(ledger->set_budget(purse, {*privacy::Epsilon::make(budget > 0 ? budget : epsilon),
                                             *privacy::Delta::make(1e-5), privacy::Composition::kPlans}));
      gate.emplace(std::move(*privacy::Gate::open(*ledger, purse, "run", bits)));
      gate->keep_transcript();
    }
    terms.emplace(PrivateTerms{.target = {*privacy::Epsilon::make(epsilon), *privacy::Delta::make(1e-5)},
                               .unit = privacy::Unit::kEntity,
                               .derivative_bound = 1,
                               .row_bound = std::sqrt(7.0),
                               .gate = &*gate});
  }
};

Result<Fit> descend(const Ratings& data, const std::vector<Index>& units, const Private& run,
                    const SgdSettings& settings = {}) {
  const std::vector<Matrix> features = data.features();
  return sgd_over_join({features,
                        data.rows,
                        data.labels,
                        {.task = glm::Task::kLogistic, .l2 = 0.01},
                        &*run.terms,
                        {units, count_of(units)}},
                       settings, {});
}

}  // namespace

TEST(UnitSums, AddUpTheGradientOfTheJoinWhereNothingIsClipped) {
  const Ratings data;
  for (const std::vector<Index>* units : {&data.each, &data.user, &data.film}) {
    const Summed made = sum_at(data, *units, 1e4, kWeights);
    std::vector<double> expected(7, 0.0);
    for (std::size_t j = 0; j < kRows; ++j) {
      std::vector<double> row;
      for (std::size_t i = 0; i < 3; ++i) {
        const auto tuple =
            static_cast<std::size_t>(data.rows[i].tuples[static_cast<std::size_t>(data.rows[i].slots[j])]);
        for (std::size_t c = 0; c < static_cast<std::size_t>(data.columns[i]); ++c)
          row.push_back(data.tables[i][tuple * static_cast<std::size_t>(data.columns[i]) + c]);
      }
      const double margin = std::inner_product(row.begin(), row.end(), kWeights.begin(), 0.0);
      for (std::size_t k = 0; k < 7; ++k) expected[k] += row[k] * glm::Logistic::derivative(margin, data.labels[j]);
    }
    EXPECT_LT(distance(made.sum, expected), kRows * 7 * 0x1p-20);
  }
}

TEST(UnitSums, MoveByNoMoreThanTheyStateWhenAUnitIsReplaced) {
  const Ratings data;
  for (const Index user : {0, 7}) {
    Ratings neighbour = data;
    neighbour.replace_user(user);
    for (const double clip : {0.01, 1.0, 30.0}) {
      const Summed ours = sum_at(data, data.user, clip, kWeights),
                   theirs = sum_at(neighbour, data.user, clip, kWeights);
      EXPECT_LE(distance(ours.sum, theirs.sum), ours.sensitivity);
      EXPECT_NEAR(ours.sensitivity, 2 * clip, 1e-5);
    }
  }
}

// The worst neighbour reaches the bound: less noise than for 2 C would not do.
TEST(UnitSums, MoveByWhatTheyStateInTheWorstCase) {
  Ratings data;
  Ratings neighbour = data;
  for (std::size_t j = 0; j < kRows; ++j) {
    if (data.user[j] != 0) continue;
    for (std::size_t c = 0; c < 2; ++c) data.tables[0][2 * j + c] = neighbour.tables[0][2 * j + c] = c == 0 ? 1 : 0;
    data.labels[j] = 1;
    neighbour.labels[j] = -1;
  }
  const std::vector<double> zero(7, 0.0);
  const Summed ours = sum_at(data, data.user, 0.5, zero), theirs = sum_at(neighbour, data.user, 0.5, zero);
  EXPECT_GT(distance(ours.sum, theirs.sum), 0.99 * ours.sensitivity);
  // Clipping each row and not their sum would let the 150 rows of this user move it further.
  EXPECT_GT(distance(sum_at(data, data.each, 0.5, zero).sum, sum_at(neighbour, data.each, 0.5, zero).sum),
            100 * ours.sensitivity);
}

// Replacing one user leaves what all others contribute as it was, to the last bit: at a bound that one unit fills, sums
// without that unit are equal.
TEST(UnitSums, OtherUnitsAddWhatTheyAddedBefore) {
  const Ratings data;
  std::vector<Ratings> neighbours{data};
  neighbours.front().replace_user(0);
  std::vector<Index> without = data.user;
  for (Index& unit : without) --unit;  // user 0 is unit 0: its rows are left out
  std::vector<std::vector<double>> sums;
  for (const Ratings* people : {&data, std::as_const(neighbours).data()}) {
    const std::vector<Matrix> features = people->features();
    const JoinedProblem problem{
        features, people->rows, people->labels, {.task = glm::Task::kLogistic}, nullptr, {without, count_of(without)}};
    UnitSums made(problem, 1);
    made.move_to(kWeights);
    EXPECT_EQ(made.rows(), kRows / 2);
    const auto sum = made.sum({.bound = 1, .grain = {-40}});
    ASSERT_TRUE(sum);
    sums.push_back(privacy::Gate::in_the_clear(*sum, privacy::Unprotected{}).value());
  }
  EXPECT_EQ(sums[0], sums[1]);
}

TEST(UnitDescent, FindsTheOptimumWhereThePromiseIsWeak) {
  const Ratings data;
  const std::vector<Matrix> features = data.features();
  const auto exact =
      exact_over_join({features, data.rows, data.labels, {.task = glm::Task::kLogistic, .l2 = 0.01}}, {}, {});
  ASSERT_TRUE(exact);
  const Private run(1e6);
  const auto fit = descend(data, data.each, run, {.steps = 2000, .step = 0.5, .momentum = 0.9, .clip = 3});
  ASSERT_TRUE(fit) << fit.error().message;
  EXPECT_NEAR(fit->objective, exact->objective, 1e-4 * exact->objective);
  EXPECT_EQ(fit->releases, 2000);
}

TEST(UnitDescent, ItsModelIsMadeOfWhatTheGateReleasedAlone) {
  const Ratings data;
  Ratings others = data;
  others.replace_user(0);
  for (double& label : others.labels) label = -label;
  Private run(1);
  const auto fit = descend(data, data.user, run);
  ASSERT_TRUE(fit) << fit.error().message;
  EXPECT_GT(fit->releases, 0);
  const Private told(1, &run.gate->transcript());
  const auto again = descend(others, data.user, told);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->weights, fit->weights);
}

TEST(UnitDescent, ChargesItsPlanAndEndsWithTheBudget) {
  const Ratings data;
  Private run(1);
  ASSERT_TRUE(descend(data, data.user, run));
  ASSERT_EQ(run.gate->receipts().size(), 1U);
  EXPECT_LE(run.gate->receipts().front().epsilon, 1);
  EXPECT_GT(run.gate->receipts().front().epsilon, 0.9);
  const Private poor(1, nullptr, 0.5);
  const auto fit = descend(data, data.user, poor, {.steps = 50});
  ASSERT_TRUE(fit) << fit.error().message;
  EXPECT_EQ(fit->stop, Stop::kBudgetEnded);
  EXPECT_LT(fit->iterations, 50);
  EXPECT_GT(fit->iterations, 0);
}

// The noise of a step is what its plan says: 2100 draws of six runs whose steps are too short to move. A deviation that is
// a fifth too small fails with a probability above 0.999999, the right one with one below 1e-6 (chi-square).
TEST(UnitDescent, DrawsTheNoiseThatItsPlanStates) {
  const Ratings data;
  const std::vector<double> zero(7, 0.0);
  const Summed before = sum_at(data, data.user, 2, zero);
  double squares = 0, sigma = 0, draws = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const Private run(1, nullptr, 0, seed);
    ASSERT_TRUE(descend(data, data.user, run, {.steps = 50, .step = 1e-9, .clip = 2}));
    const auto& event = std::get<privacy::Gaussian>(run.gate->charged().events.front().mechanism);
    sigma = event.sigma / event.sensitivity * before.sensitivity;
    const privacy::Transcript& released = run.gate->transcript();
    ASSERT_GE(released.size(), 350U);
    for (std::size_t at = released.size() - 350; at < released.size(); ++at, ++draws)
      squares += std::pow(released[at] - before.sum[(at - (released.size() - 350)) % 7], 2);
  }
  EXPECT_NEAR(squares / (draws * sigma * sigma), 1, 5 * std::sqrt(2 / draws));
}

TEST(UnitDescent, RefusesWhatItDoesNotKeep) {
  const Ratings data;
  const std::vector<Matrix> features = data.features();
  const glm::Objective objective{.task = glm::Task::kLogistic, .l2 = 0.01};
  const auto open = sgd_over_join({features, data.rows, data.labels, objective}, {}, {});
  ASSERT_FALSE(open);
  EXPECT_NE(open.error().message.find("exact"), std::string::npos) << open.error().message;
  const Private run(1);
  EXPECT_FALSE(descend(data, data.user, run, {.batch_rate = 0.5}));
  EXPECT_FALSE(descend(data, data.user, run, {.result = SgdResult::kTailAverage}));
  for (const double clip : {1e308, 1e-300}) {
    const auto refused = descend(data, data.user, run, {.clip = clip});
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("algorithm.clip"), std::string::npos) << refused.error().message;
  }
  Private hidden(1);
  hidden.terms->target.neighbours = privacy::Neighbours::kAddRemove;
  EXPECT_FALSE(descend(data, data.user, hidden));
}
