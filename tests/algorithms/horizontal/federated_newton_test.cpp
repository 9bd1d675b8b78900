#include "parley/algorithms/horizontal/federated_newton.h"

#include <gtest/gtest.h>

#include <cmath>

#include "parley/algorithms/exact/exact.h"
#include "parley/algorithms/parts/total.h"
#include "parley/data/random.h"
#include "tests/algorithms/federation.h"

using namespace parley;
using namespace parley::algorithms;
using parley::tests::absorbed;
using parley::tests::federate;

namespace {

constexpr std::size_t kColumns = 6;

// Parties of so many records each; column 4 is 0/1 and rare, column 5 a thousand times smaller.
struct Table {
  std::vector<RowShare> parties;
  RowShare pooled;
};
Table draw(glm::Task task, const std::vector<std::size_t>& records, std::uint64_t seed) {
  data::Random random(seed);
  std::vector<std::vector<double>> rows;
  std::vector<double> labels;
  std::size_t all = 0;
  for (const std::size_t count : records) all += count;
  for (std::size_t i = 0; i < all; ++i) {
    std::vector<double>& row = rows.emplace_back();
    for (std::size_t j = 0; j < kColumns; ++j) row.push_back(random.normal());
    row[4] = row[4] > 1 ? 1 : 0;
    row[5] /= 1000;
    const double margin = row[0] - 0.5 * row[1] + 0.3 * row[4] + random.normal();
    labels.push_back(task == glm::Task::kLinear    ? 40 * margin
                     : task == glm::Task::kSoftmax ? (margin > 0.5    ? 2
                                                      : margin > -0.5 ? 1
                                                                      : 0)
                                                   : (margin > 0 ? 1 : -1));
  }
  const auto share = [&](int party, std::size_t from, std::size_t count) {
    std::vector<double> values(count * kColumns);
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t j = 0; j < kColumns; ++j) values[j * count + i] = rows[from + i][j];
    return RowShare{party,
                    linalg::Matrix::from_dense(static_cast<linalg::Index>(count), kColumns, values),
                    {labels.begin() + static_cast<std::ptrdiff_t>(from),
                     labels.begin() + static_cast<std::ptrdiff_t>(from + count)}};
  };
  Table table{{}, share(0, 0, all)};
  std::size_t from = 0;
  for (const std::size_t count : records) {
    table.parties.push_back(share(static_cast<int>(table.parties.size()), from, count));
    from += count;
  }
  return table;
}

double row_norm(const RowShare& share) {
  double most = 0;
  for (const double squares : share.features.row_squared_norms()) most = std::max(most, squares);
  return std::sqrt(most);
}

FederatedNewton made(const glm::Objective& objective, const FederatedNewtonSettings& settings, std::size_t parties) {
  RunTerms terms{.objective = objective, .parties = static_cast<int>(parties)};
  terms.run = "a run";
  auto algorithm = FederatedNewton::make(terms, settings);
  EXPECT_TRUE(algorithm);
  return *algorithm;
}

FederatedNewton::Iterate begun(FederatedNewton& algorithm, const std::vector<RowShare>& parties) {
  std::vector<PartyFacts> facts;
  for (const RowShare& party : parties)
    facts.push_back(
        {party.party, static_cast<std::int64_t>(party.labels.size()), kColumns, {}, row_norm(party), true, {}});
  auto iterate = algorithm.begin(facts);
  EXPECT_TRUE(iterate);
  return *iterate;
}

// What every party answers to the same iterate.
std::vector<rounds::Answer<FederatedNewton::Reply>> answers_to(const FederatedNewton& algorithm,
                                                               const FederatedNewton::Iterate& iterate,
                                                               const std::vector<RowShare>& parties,
                                                               std::vector<FederatedNewton::Memory>& memories) {
  auto gate = privacy::Gate::without_privacy(privacy::Unprotected{});
  std::vector<rounds::Answer<FederatedNewton::Reply>> answers;
  for (std::size_t p = 0; p < parties.size(); ++p) {
    const auto reply = algorithm.answer(algorithm.ask(iterate), parties[p], memories[p], gate);
    EXPECT_TRUE(reply);
    answers.push_back({static_cast<int>(p), reply->value()});
  }
  return answers;
}

}  // namespace

TEST(FederatedNewton, FindsTheOptimumOfThePooledTable) {
  const Table tables[] = {draw(glm::Task::kLinear, {40, 7, 33}, 1), draw(glm::Task::kLogistic, {40, 7, 33}, 2),
                          draw(glm::Task::kSquaredHinge, {40, 7, 33}, 3), draw(glm::Task::kSoftmax, {60, 7, 33}, 4)};
  const glm::Task tasks[] = {glm::Task::kLinear, glm::Task::kLogistic, glm::Task::kSquaredHinge, glm::Task::kSoftmax};
  for (int t = 0; t < 4; ++t)
    for (const auto& [l1, l2] : {std::pair(0.0, 0.02), {0.01, 0.0}, {0.01, 0.05}})
      for (const glm::Intercept intercept : {glm::Intercept::kNone, glm::Intercept::kPenalised, glm::Intercept::kFree})
        for (const int largest_matrix : {2000, 0}) {
          glm::Objective objective{.task = tasks[t], .classes = t == 3 ? 3 : 1, .l1 = l1, .l2 = l2};
          objective.intercept = intercept;
          SCOPED_TRACE(fmt::format("{} l1 {} l2 {} intercept {} matrix {}", glm::name(tasks[t]), l1, l2,
                                   static_cast<int>(intercept), largest_matrix));
          auto algorithm = made(objective, {.tolerance = 1e-9, .largest_matrix = largest_matrix}, 3);
          int looks = 0;
          const auto end = federate(algorithm, begun(algorithm, tables[t].parties), tables[t].parties,
                                    [&](const auto& iterate) { looks = iterate.looks; });
          ASSERT_TRUE(end) << end.error().message;
          EXPECT_TRUE(algorithm.converged(*end));
          const auto best = exact({tables[t].pooled.features, tables[t].pooled.labels, objective}, {}, {});
          ASSERT_TRUE(best);
          EXPECT_NEAR(*algorithm.objective(*end), best->objective, 1e-10 * (1 + std::abs(best->objective)));
          if (largest_matrix > 0) {
            EXPECT_LE(looks, 15);
          }
        }
}

TEST(FederatedNewton, MasksChangeNoBitAndHideEveryPart) {
  const Table table = draw(glm::Task::kLogistic, {30, 31, 32}, 5);
  const glm::Objective objective{.task = glm::Task::kLogistic, .l2 = 0.01};
  auto open = made(objective, {.masks = false}, 3), masked = made(objective, {}, 3);
  const auto in_the_open = federate(open, begun(open, table.parties), table.parties);
  const auto under_masks = federate(masked, begun(masked, table.parties), table.parties);
  ASSERT_TRUE(in_the_open && under_masks);
  EXPECT_EQ(in_the_open->parameters, under_masks->parameters);
  EXPECT_EQ(in_the_open->loss, under_masks->loss);

  // The words of one party, or of two of three, are spread over all of 64 bits: of the highest bits of some hundred
  // words between a fifth and four fifths are set, which words that are uniform miss with a chance below 1e-8. Words of
  // sums have their highest bits alike.
  std::vector<FederatedNewton::Memory> memories(3), fresh(3);
  auto iterate = absorbed(masked, begun(masked, table.parties),
                          answers_to(masked, begun(masked, table.parties), table.parties, memories));
  ASSERT_TRUE(iterate);
  auto answers = answers_to(masked, *iterate, table.parties, memories);
  const auto high_bits = [](const std::vector<std::int64_t>& words) {
    double set = 0;
    for (const std::int64_t word : words) set += (static_cast<std::uint64_t>(word) >> 61 & 1) != 0 ? 1 : 0;
    return set / static_cast<double>(words.size());
  };
  std::vector<std::int64_t> of_two = answers[0].reply.words;
  privacy::add_words(answers[1].reply.words, of_two);
  std::vector<std::int64_t> of_all = of_two;
  privacy::add_words(answers[2].reply.words, of_all);
  for (const auto& words : {answers[0].reply.words, answers[2].reply.words, of_two}) {
    EXPECT_GT(high_bits(words), 0.2);
    EXPECT_LT(high_bits(words), 0.8);
  }
  EXPECT_EQ(high_bits(std::vector(of_all.begin(), of_all.begin() + 1)), 0) << "the loss is positive";
}

TEST(FederatedNewton, AMaskIsForOneRoundAndOneTask) {
  const Table table = draw(glm::Task::kLogistic, {30, 31}, 6);
  auto algorithm = made({.task = glm::Task::kLogistic, .l2 = 0.01}, {}, 2);
  std::vector<FederatedNewton::Memory> memories(2);
  const auto start = begun(algorithm, table.parties);
  auto iterate = absorbed(algorithm, start, answers_to(algorithm, start, table.parties, memories));
  ASSERT_TRUE(iterate);
  std::vector<FederatedNewton::Memory> before = memories;
  const auto first = answers_to(algorithm, *iterate, table.parties, memories);
  auto gate = privacy::Gate::without_privacy(privacy::Unprotected{});
  auto again = algorithm.ask(*iterate);
  again.parameters[0] += 1;
  EXPECT_FALSE(algorithm.answer(again, table.parties[0], memories[0], gate)) << "the round was answered";
  auto other_keys = algorithm.ask(*iterate);
  other_keys.round = 1;
  std::swap(other_keys.keys[0], other_keys.keys[1]);
  EXPECT_FALSE(algorithm.answer(other_keys, table.parties[0], memories[0], gate)) << "keys are told once";
  auto keys = algorithm.ask(start);
  EXPECT_FALSE(algorithm.answer(keys, table.parties[0], memories[0], gate)) << "a key is made once";
  // A party whose state was set back: another task of the same round is under another mask.
  const auto other = algorithm.answer(again, table.parties[0], before[0], gate);
  ASSERT_TRUE(other);
  std::size_t alike = 0;
  for (std::size_t w = 0; w < first[0].reply.words.size(); ++w) {
    const auto difference =
        static_cast<std::uint64_t>(first[0].reply.words[w]) - static_cast<std::uint64_t>(other->value().words[w]);
    alike += difference >> 48 == 0 || difference >> 48 == 0xffff ? 1 : 0;
  }
  EXPECT_LE(alike, 2u) << "differences of two words under one mask are small";
}

TEST(FederatedNewton, NeedsEveryPartyAndSumsOfTheRightSize) {
  const Table table = draw(glm::Task::kLogistic, {30, 31}, 7);
  auto algorithm = made({.task = glm::Task::kLogistic, .l2 = 0.01}, {.masks = false}, 2);
  std::vector<FederatedNewton::Memory> memories(2);
  const auto start = begun(algorithm, table.parties);
  auto answers = answers_to(algorithm, start, table.parties, memories);
  auto iterate = absorbed(algorithm, start, answers);
  ASSERT_TRUE(iterate);
  answers = answers_to(algorithm, *iterate, table.parties, memories);
  auto one = answers;
  one.pop_back();
  EXPECT_FALSE(absorbed(algorithm, *iterate, one));
  auto short_reply = answers;
  short_reply[1].reply.words.pop_back();
  EXPECT_FALSE(algorithm.check(*iterate, 1, short_reply[1].reply));
  EXPECT_FALSE(absorbed(algorithm, *iterate, short_reply));
  auto negative = answers;
  negative[1].reply.words[0] = -(std::int64_t{1} << 40);
  EXPECT_FALSE(absorbed(algorithm, *iterate, negative)) << "a loss is not negative";
  std::vector<PartyFacts> facts = {{.party = 0, .records = 30, .columns = kColumns, .row_norm = 1, .labels = true}};
  EXPECT_FALSE(algorithm.begin(facts));
}

// Sums that do not fit are refused where they are made, and so is what is no number.
TEST(Total, KeepsNumbersToTheUnitAndRefusesTheRest) {
  for (const double unit : {1.0, 0x1p-30, 0x1p40}) {
    std::vector<std::int64_t> sum;
    const std::vector<double> mine = {0.1 * unit, -3e9 * unit, 0, -1e-30 * unit}, theirs = {7 * unit, 5 * unit, 0, 0};
    std::vector<std::int64_t> words, others;
    ASSERT_TRUE(append_words(mine, unit, Words::kFine, 2, words));
    ASSERT_TRUE(append_words(theirs, unit, Words::kFine, 2, others));
    for (std::size_t w = 0; w < words.size(); ++w) words[w] += others[w];
    const auto numbers = numbers_of(words, unit, Words::kFine);
    for (std::size_t k = 0; k < mine.size(); ++k)
      EXPECT_NEAR(numbers[k], mine[k] + theirs[k], unit * 0x1p-54 + 1e-15 * std::abs(mine[k])) << unit;
    words.clear();
    ASSERT_TRUE(append_words(mine, unit, Words::kCoarse, 2, words));
    const auto coarse = numbers_of(words, unit, Words::kCoarse);
    for (std::size_t k = 0; k < mine.size(); ++k) EXPECT_NEAR(coarse[k], mine[k], unit * 0x1p-24) << unit;
  }
  for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL, 0x1p50, -0x1p50}) {
    std::vector<std::int64_t> words;
    EXPECT_FALSE(append_words(std::vector{bad}, 1, Words::kFine, 2, words)) << bad;
    EXPECT_FALSE(append_words(std::vector{bad}, 1, Words::kCoarse, 2, words)) << bad;
  }
}
