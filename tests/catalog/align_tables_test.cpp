#include "parley/catalog/align_tables.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "parley/secure/blinded_ids.h"
#include "parley/wire/decode.h"

using namespace parley;
using namespace parley::catalog;
using algorithms::Alignment;
using data::RecordIds;
using Mode = Alignment::Mode;

namespace {

RecordIds ids_of(const std::vector<std::string>& ids) {
  RecordIds made{.ids = ids, .records = 2 * ids.size()};
  for (std::size_t i = 0; i < ids.size(); ++i) made.rows.push_back(static_cast<linalg::Index>(2 * i + 1));
  return made;
}

// About `share` of the numbers below `most`, in an order of its own.
std::vector<std::string> some(int most, double share, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::string> ids;
  for (int i = 0; i < most; ++i)
    if (std::uniform_real_distribution<>()(random) < share) ids.push_back("person " + std::to_string(i));
  std::shuffle(ids.begin(), ids.end(), random);
  return ids;
}

std::set<std::string> common(const std::vector<std::vector<std::string>>& all, std::size_t others) {
  std::set<std::string> kept;
  for (const std::string& id : all.front()) {
    std::size_t holders = 0;
    for (std::size_t k = 1; k < all.size(); ++k)
      holders += std::find(all[k].begin(), all[k].end(), id) != all[k].end() ? 1 : 0;
    if (holders >= others) kept.insert(id);
  }
  return kept;
}

// The id that stands at a place of a party's order; empty: none.
std::string at(const RecordIds& ids, linalg::Index row) {
  return row == data::kNoPartner ? "" : ids.ids[static_cast<std::size_t>((row - 1) / 2)];
}

Result<AlignedTables> aligned(const std::vector<std::vector<std::string>>& all, Mode mode) {
  std::vector<std::string> names;
  std::vector<RecordIds> ids;
  for (const auto& each : all) {
    names.push_back("party" + std::to_string(names.size()));
    ids.push_back(ids_of(each));
  }
  return align_here(names, std::move(ids), mode);
}

// One party's answer to one task, by itself.
struct Alone {
  Alignment alignment;
  RecordIds ids;
  int party;
  Alignment::Memory memory{};
  Result<Alignment::Reply> answer(const Alignment::Task& task) {
    auto gate = privacy::Gate::without_privacy(privacy::Unprotected{});
    PARLEY_TRY(const auto reply, alignment.answer(task, {&ids, party}, memory, gate));
    return reply.value();
  }
};

}  // namespace

TEST(AlignTables, FindsWhatAllPartiesHaveInOneOrder) {
  for (const std::size_t parties : {2u, 3u, 4u}) {
    std::vector<std::vector<std::string>> all;
    for (std::size_t p = 0; p < parties; ++p) all.push_back(some(120, 0.7, static_cast<unsigned>(10 * parties + p)));
    const auto found = aligned(all, Mode::kCommon);
    ASSERT_TRUE(found) << found.error().message;
    const std::set<std::string> expected = common(all, parties - 1);
    ASSERT_EQ(static_cast<std::size_t>(found->kept), expected.size());
    std::set<std::string> seen;
    for (std::size_t r = 0; r < expected.size(); ++r) {
      const std::string id = at(found->ids[0], found->orders[0]->rows[r]);
      for (std::size_t p = 0; p < parties; ++p) EXPECT_EQ(at(found->ids[p], found->orders[p]->rows[r]), id);
      seen.insert(id);
    }
    EXPECT_EQ(seen, expected);
    for (std::size_t p = 0; p < parties; ++p) {
      EXPECT_EQ(found->orders[p]->alignment, found->orders[0]->alignment);
      if (p == 0) continue;
      EXPECT_EQ(static_cast<std::size_t>(found->common[p - 1]), common({all[0], all[p]}, 1).size());
    }
  }
}

TEST(AlignTables, KeepsTheRecordsOfTheFirstWhereItIsAskedTo) {
  const std::vector<std::vector<std::string>> all = {some(60, 0.7, 1), some(60, 0.5, 2), some(60, 0.5, 3)};
  const auto found = aligned(all, Mode::kLeft);
  ASSERT_TRUE(found);
  ASSERT_EQ(static_cast<std::size_t>(found->kept), all[0].size());
  for (std::size_t r = 0; r < all[0].size(); ++r) {
    const std::string id = at(found->ids[0], found->orders[0]->rows[r]);
    for (std::size_t p = 1; p < all.size(); ++p) {
      const bool has = std::find(all[p].begin(), all[p].end(), id) != all[p].end();
      EXPECT_EQ(at(found->ids[p], found->orders[p]->rows[r]), has ? id : "");
    }
  }
}

TEST(AlignTables, CountsWithoutTellingWhich) {
  const std::vector<std::vector<std::string>> all = {some(60, 0.7, 4), some(60, 0.5, 5)};
  const auto found = aligned(all, Mode::kCount);
  ASSERT_TRUE(found);
  EXPECT_EQ(static_cast<std::size_t>(found->common[0]), common(all, 1).size());
  for (const auto& order : found->orders) EXPECT_FALSE(order);
}

TEST(AlignTables, OfNothingInCommonKeepsNothing) {
  const auto found = aligned({{"a", "b"}, {"c"}}, Mode::kCommon);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->kept, 0);
  EXPECT_TRUE(found->orders[1]->rows.empty());
}

// Tokens in the order of the first's list would let it see which of its ids are meant.
TEST(AlignTables, TokensThatAreOnlyCountedComeSorted) {
  for (const Mode mode : {Mode::kCount, Mode::kCommon}) {
    Alone first{Alignment(2, mode), ids_of(some(80, 1, 6)), 0}, other{Alignment(2, mode), ids_of({"x", "y"}), 1};
    const auto list = first.answer({.phase = Alignment::kBlind});
    ASSERT_TRUE(list && other.answer({.phase = Alignment::kBlind}));
    const auto tokens = other.answer({.phase = Alignment::kRaise, .lists = {list->list}});
    ASSERT_TRUE(tokens);
    std::vector<std::string> each;
    for (std::size_t i = 0; i < 80; ++i) each.push_back(tokens->list.substr(16 * i, 16));
    EXPECT_EQ(std::is_sorted(each.begin(), each.end()), mode == Mode::kCount);
  }
}

// Places in a sorted list of pseudorandom points: no order of a table is in them. Each of 5 ids stands first in 1 of 5
// runs; 400 runs stay within 5 deviations of 80 (false alarm below 1e-5).
TEST(AlignTables, TheCommonOrderIsDrawnAnewAndTellsNothingOfTheTables) {
  const std::vector<std::string> ids = {"a", "b", "c", "d", "e"};
  std::map<std::string, int> first;
  for (int run = 0; run < 400; ++run) {
    const auto found = aligned({ids, {"e", "d", "c", "b", "a"}}, Mode::kCommon);
    ASSERT_TRUE(found);
    ++first[at(found->ids[0], found->orders[0]->rows[0])];
  }
  for (const std::string& id : ids) EXPECT_NEAR(first[id], 80, 40) << id;
}

// Everything that leaves a party is points, tokens, places and numbers: none follows from an id without a secret. The
// same tables give other bytes in another run, and no id stands in what was sent.
TEST(AlignTables, WhatLeavesAPartyHoldsNoId) {
  const std::vector<std::string> ids = {"somebody with a name", "somebody else"};
  Alone one{Alignment(2, Mode::kCommon), ids_of(ids), 0}, again{Alignment(2, Mode::kCommon), ids_of(ids), 0};
  const auto list = one.answer({.phase = Alignment::kBlind}), other = again.answer({.phase = Alignment::kBlind});
  ASSERT_TRUE(list && other);
  EXPECT_EQ(list->list.size(), 64u);
  for (const std::string& id : ids) EXPECT_EQ(list->list.find(id), std::string::npos);
  for (const std::size_t point : {0u, 32u})
    EXPECT_EQ(other->list.find(list->list.substr(point, 32)), std::string::npos);
  EXPECT_EQ(one.memory.secret.size(), 32u);
  ASSERT_TRUE(
      one.answer({.phase = Alignment::kRaise, .lists = {*secure::blinded({"z"}, *secure::fresh_blinding_secret())}}));
  EXPECT_TRUE(one.memory.secret.empty()) << "a secret is gone once it was used";
}

TEST(AlignTables, APartyAnswersInTurnAndRaisesOneListOnly) {
  Alone other{Alignment(2, Mode::kCommon), ids_of({"x", "y"}), 1};
  const std::string list = *secure::blinded({"x"}, *secure::fresh_blinding_secret());
  EXPECT_FALSE(other.answer({.phase = Alignment::kRaise, .lists = {list}}));
  ASSERT_TRUE(other.answer({.phase = Alignment::kBlind}));
  EXPECT_FALSE(other.answer({.phase = Alignment::kBlind})) << "a second list under another secret";
  EXPECT_FALSE(other.answer({.phase = Alignment::kRaise, .lists = {list, list}})) << "two lists for one party";
  EXPECT_FALSE(other.answer({.phase = Alignment::kRaise, .lists = {std::string(32, '\0')}})) << "the neutral element";
  EXPECT_FALSE(other.answer({.phase = 17}));
  ASSERT_TRUE(other.answer({.phase = Alignment::kRaise, .lists = {list}}));
  EXPECT_FALSE(other.answer({.phase = Alignment::kRaise, .lists = {list}})) << "no oracle for more guesses";
  for (const std::vector<linalg::Index>& places : {std::vector<linalg::Index>{0, 0}, {2}, {-1}, {-2}})
    EXPECT_FALSE(other.answer({.phase = Alignment::kTell, .places = places, .alignment = 5}));
  EXPECT_TRUE(other.answer({.phase = Alignment::kTell, .places = {1, 0}, .alignment = 5}));
}

TEST(AlignTables, RepliesThatCannotBeTrueAreNamed) {
  const Alignment alignment(2, Mode::kCommon);
  Alignment::Iterate iterate = alignment.start();
  EXPECT_FALSE(alignment.check(iterate, 0, {}));
  EXPECT_FALSE(alignment.check(iterate, 0, {.list = std::string(33, 'x')}));
  iterate.lists = {std::string(64, 'x'), std::string(32, 'y')};
  iterate.phase = Alignment::kRaise;
  EXPECT_FALSE(alignment.check(iterate, 1, {.list = std::string(16, 'x')})) << "a token short";
  EXPECT_TRUE(alignment.check(iterate, 1, {.list = std::string(32, 'x')}));
  EXPECT_FALSE(alignment.check(iterate, 0, {.list = std::string(32, 'x')})) << "the first has nothing to send here";
  iterate.phase = Alignment::kCompare;
  EXPECT_FALSE(alignment.check(iterate, 0, {.beside = {{1, {1}}}, .alignment = 3, .kept = 1}))
      << "a place that is not there";
  EXPECT_FALSE(alignment.check(iterate, 0, {.beside = {{1, {0, 0}}}, .alignment = 3, .kept = 2})) << "one place twice";
  EXPECT_TRUE(alignment.check(iterate, 0, {.beside = {{1, {0}}}, .alignment = 3, .kept = 1}));
}
