#include "parley/data/join.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "parley/core/threads.h"
#include "parley/data/key_digest.h"
#include "parley/data/random.h"
#include "tests/support/shared.h"

using namespace parley;
using namespace parley::data;
using ::testing::HasSubstr;

namespace {

using Cell = std::optional<std::string>;
using Column = std::vector<Cell>;

KeyText text_of(const Column& cells) {
  KeyText text("k");
  for (const Cell& cell : cells) cell ? text.append(*cell) : text.append_missing();
  return text;
}

KeyColumns key_of(const std::vector<Column>& columns) {
  std::vector<KeyText> texts;
  for (const Column& column : columns) texts.push_back(text_of(column));
  std::vector<const KeyText*> parts;
  for (const KeyText& text : texts) parts.push_back(&text);
  return digests_within(parts);
}

Column numbers(std::initializer_list<int> values) {
  Column column;
  for (const int value : values) column.emplace_back(std::to_string(value));
  return column;
}

// The definition, row by row.
std::vector<std::vector<std::int32_t>> rows_by_definition(const JoinSpec& spec, const JoinKeys& keys) {
  std::vector<std::vector<std::int32_t>> rows;
  const auto first = static_cast<std::size_t>(spec.edges.front().left);
  for (std::size_t t = 0; t < keys[first].front().size(); ++t) {
    rows.emplace_back(spec.tables.size(), -1);
    rows.back()[first] = static_cast<std::int32_t>(t);
  }
  for (const JoinEdge& edge : spec.edges) {
    const auto left = static_cast<std::size_t>(edge.left), right = static_cast<std::size_t>(edge.right);
    const KeyColumns& from = keys[left][static_cast<std::size_t>(edge.left_key)];
    const KeyColumns& to = keys[right][static_cast<std::size_t>(edge.right_key)];
    std::vector<std::vector<std::int32_t>> next;
    for (auto row : rows) {
      bool met = false;
      for (std::size_t t = 0; t < to.size(); ++t) {
        if (row[left] < 0 || to.missing(t) || from.digests[static_cast<std::size_t>(row[left])] != to.digests[t])
          continue;
        row[right] = static_cast<std::int32_t>(t);
        next.push_back(row);
        met = true;
      }
      row[right] = -1;
      if (!met && edge.kind == JoinKind::kLeft) next.push_back(row);
    }
    rows = std::move(next);
  }
  return rows;
}

std::vector<std::vector<std::int32_t>> by_row(const JoinMap& map) {
  std::vector<std::vector<std::int32_t>> rows(map.rows());
  for (std::size_t j = 0; j < map.rows(); ++j)
    for (std::size_t i = 0; i < map.tables(); ++i) rows[j].push_back(map.tuple_of[i][j]);
  return rows;
}

std::string error_of(const JoinSpec& spec, const JoinKeys& keys, std::int64_t most = kLargestJoin) {
  const auto made = join(spec, keys, most);
  EXPECT_FALSE(made) << "the join was made";
  return made ? "" : made.error().message;
}

// orders (user) and users (user).
JoinSpec two_tables(JoinKind kind = JoinKind::kInner) {
  return {.tables = {"orders", "users"}, .edges = {{.left = 0, .right = 1, .kind = kind}}};
}

JoinKeys two_keys(const Column& orders, const Column& users) {
  return {{key_of({orders})}, {key_of({users})}};
}

}  // namespace

TEST(Join, MakesTheRowsOfTheReferenceInTheirOrder) {
  const auto shared = test::shared();
  if (!shared) GTEST_SKIP() << "no reference values (PARLEY_SHARED)";
  std::ifstream file(*shared / "vectors" / "relational.json");
  const auto reference = nlohmann::json::parse(file);
  std::size_t joins = 0;
  for (const auto& problem : reference["problems"]) {
    SCOPED_TRACE(problem["id"].get<std::string>());
    JoinSpec spec;
    JoinKeys keys;
    std::map<std::string, int> number;
    for (const auto& table : problem["tables"]) {
      number[table["name"]] = static_cast<int>(spec.tables.size());
      spec.tables.push_back(table["name"]);
    }
    keys.resize(spec.tables.size());
    const auto key = [&](const std::string& table, const nlohmann::json& names) {
      const int i = number[table];
      std::vector<Column> columns;
      for (const auto& name : names) {
        columns.emplace_back();
        for (const auto& value : problem["tables"][static_cast<std::size_t>(i)]["keys"][name.get<std::string>()])
          columns.back().push_back(value.is_null() ? Cell() : Cell(value.dump()));
      }
      auto& own = keys[static_cast<std::size_t>(i)];
      own.push_back(key_of(columns));
      return static_cast<int>(own.size()) - 1;
    };
    for (const auto& clause : problem["joins"])
      spec.edges.push_back({.left = number[clause["left"]],
                            .right = number[clause["right"]],
                            .left_key = key(clause["left"], clause["left_keys"]),
                            .right_key = key(clause["right"], clause["right_keys"]),
                            .kind = clause["type"] == "left" ? JoinKind::kLeft : JoinKind::kInner});
    auto map = join(spec, keys);
    ASSERT_TRUE(map) << map.error().message;
    EXPECT_EQ(count_rows(spec, keys).value(), problem["N"].get<std::int64_t>());
    for (const auto& table : problem["null_tuple_tables"])
      map->add_missing_tuple(static_cast<std::size_t>(number[table]));
    for (std::size_t i = 0; i < spec.tables.size(); ++i) {
      SCOPED_TRACE(spec.tables[i]);
      EXPECT_EQ(map->tuple_of[i], problem["p"][spec.tables[i]].get<std::vector<std::int32_t>>());
      const auto uses = problem["G"][spec.tables[i]].get<std::vector<std::int32_t>>();
      EXPECT_EQ(map->uses(i), uses);
      EXPECT_EQ(map->tuples[i], problem["n_i"][i].get<std::int64_t>());
      EXPECT_EQ(map->unused[i], std::count(uses.begin(), uses.end(), 0));
    }
    ++joins;
  }
  EXPECT_EQ(joins, 9U);
}

TEST(Join, IsTheOneOfTheDefinitionOnRandomTrees) {
  Random random(11, 0);
  const auto below = [&](int n) { return std::min(n - 1, static_cast<int>(random.uniform() * n)); };
  for (int trial = 0; trial < 300; ++trial) {
    JoinSpec spec;
    const int tables = 2 + below(4);
    JoinKeys keys;
    for (int i = 0; i < tables; ++i) {
      spec.tables.push_back("t" + std::to_string(i));
      const int tuples = 1 + below(9), values = 1 + below(7);
      keys.emplace_back();
      for (int k = 0; k < tables; ++k) {
        Column column;
        for (int t = 0; t < tuples; ++t)
          column.push_back(random.uniform() < 0.1 ? Cell() : Cell(std::to_string(below(values))));
        keys.back().push_back(key_of({column}));
      }
    }
    for (int i = 1; i < tables; ++i)
      spec.edges.push_back({.left = below(i),
                            .right = i,
                            .left_key = i,
                            .right_key = 0,
                            .kind = random.uniform() < 0.5 ? JoinKind::kLeft : JoinKind::kInner});
    const auto expected = rows_by_definition(spec, keys);
    const auto made = join(spec, keys);
    if (expected.empty()) {
      EXPECT_FALSE(made);
      continue;
    }
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(by_row(*made), expected) << "trial " << trial;
    EXPECT_EQ(count_rows(spec, keys).value(), static_cast<std::int64_t>(expected.size()));
  }
}

TEST(Join, IsTheSameWithOneThreadAndWithTwo) {
  Random random(5, 0);
  Column facts, users;
  for (int t = 0; t < 50000; ++t) facts.emplace_back(std::to_string(static_cast<int>(random.uniform() * 700)));
  for (int t = 0; t < 1000; ++t) users.emplace_back(std::to_string(static_cast<int>(random.uniform() * 900)));
  const int before = thread_count();
  set_thread_count(1);
  const auto one = join(two_tables(), two_keys(facts, users));
  set_thread_count(2);
  const auto two = join(two_tables(), two_keys(facts, users));
  set_thread_count(before);
  ASSERT_TRUE(one && two);
  EXPECT_EQ(one->tuple_of, two->tuple_of);
}

TEST(Join, AddsTheLeftTableOfAnInnerClauseToo) {
  // orders with users, then "cards.user = users.user": cards is the one that is added.
  const JoinSpec spec{.tables = {"orders", "users", "cards"},
                      .edges = {{.left = 0, .right = 1}, {.left = 2, .right = 1, .left_key = 0, .right_key = 0}}};
  const JoinKeys keys = {{key_of({numbers({2, 1, 2})})}, {key_of({numbers({1, 2})})}, {key_of({numbers({2, 1, 2})})}};
  const auto map = join(spec, keys);
  ASSERT_TRUE(map) << map.error().message;
  EXPECT_EQ(by_row(*map),
            (std::vector<std::vector<std::int32_t>>{{0, 1, 0}, {0, 1, 2}, {1, 0, 1}, {2, 1, 0}, {2, 1, 2}}));
  EXPECT_EQ(order_of_join(spec).value(), (std::vector<int>{0, 1, 2}));
}

TEST(Join, GivesMissingPartnersATupleOfTheirOwn) {
  auto map = join(two_tables(JoinKind::kLeft), two_keys({{"1"}, {}, {"9"}}, numbers({1})));
  ASSERT_TRUE(map);
  EXPECT_EQ(map->tuple_of[1], (std::vector<std::int32_t>{0, -1, -1}));
  map->add_missing_tuple(1);
  EXPECT_EQ(map->tuple_of[1], (std::vector<std::int32_t>{0, 1, 1}));
  EXPECT_EQ(map->uses(1), (std::vector<std::int32_t>{1, 2}));
  EXPECT_EQ(map->tuples[1], 2);
  EXPECT_EQ(map->unused[1], 0);
}

TEST(Join, RefusesAnExplosionBeforeItIsAllocated) {
  // 10^6 x 10^6 rows would be eight terabytes.
  const Column same(1'000'000, Cell("1"));
  const std::string error = error_of(two_tables(), two_keys(same, same));
  EXPECT_THAT(error, HasSubstr("1,000,000,000,000 rows, more than data.largest_join = 100000000 allows"));
  EXPECT_EQ(count_rows(two_tables(), two_keys(same, same)).value(), 1'000'000'000'000);
}

TEST(Join, CountsWithoutOverflowing) {
  JoinSpec spec{.tables = {"a", "b", "c", "d", "e"}, .edges = {}};
  const KeyColumns same = key_of({Column(100'000, Cell("1"))});
  JoinKeys keys(5, {same});
  for (int i = 1; i < 5; ++i) spec.edges.push_back({.left = 0, .right = i});  // 10^25 rows
  EXPECT_EQ(count_rows(spec, keys).value(), std::int64_t{1} << 62);
  EXPECT_THAT(error_of(spec, keys), HasSubstr("has at least 4,611,686,018,427,387,904 rows"));
}

TEST(Join, AllowsAsManyRowsAsItsLimit) {
  const JoinKeys keys = two_keys(numbers({1, 1, 2}), numbers({1, 2}));
  EXPECT_TRUE(join(two_tables(), keys, 3));
  EXPECT_THAT(error_of(two_tables(), keys, 2), HasSubstr("has 3 rows, more than data.largest_join = 2 allows"));
}

TEST(Join, RefusesCyclesAndProductsAndSelfJoins) {
  const KeyColumns key = key_of({numbers({1})});
  const JoinKeys keys(3, {key});
  const std::vector<std::string> tables = {"a", "b", "c"};
  EXPECT_THAT(error_of({tables, {{0, 1}, {1, 2}, {2, 0}}}, keys),
              HasSubstr("join.3: closes a cycle: 'c' and 'a' are joined already"));
  EXPECT_THAT(error_of({tables, {{0, 1}, {0, 1}}}, keys), HasSubstr("join.2: closes a cycle: 'a' and 'b'"));
  EXPECT_THAT(error_of({tables, {{0, 1}}}, keys), HasSubstr("join: no clause reaches 'c'"));
  EXPECT_THAT(error_of({tables, {{0, 1}}}, keys), HasSubstr("cartesian product"));
  EXPECT_THAT(error_of({tables, {{0, 0}}}, keys), HasSubstr("join.1: joins 'a' with itself"));
  const JoinKeys four(4, {key});
  EXPECT_THAT(error_of({{"a", "b", "c", "d"}, {{0, 1}, {2, 3}, {1, 2}}}, four),
              HasSubstr("join.2: joins neither 'c' nor 'd' to the tables of the clauses before it"));
  EXPECT_THAT(error_of({tables, {{0, 1}, {2, 1, 0, 0, JoinKind::kLeft}}}, keys),
              HasSubstr("join.2: is a left join that would add its left table 'c'"));
}

TEST(Join, SaysWhyItHasNoRow) {
  EXPECT_THAT(error_of(two_tables(), two_keys(numbers({1, 2}), numbers({3}))),
              HasSubstr("join.1: leaves no row: no key of 'orders' is among those of 'users'"));
  EXPECT_THAT(error_of(two_tables(), two_keys({{}, {}}, numbers({3}))), HasSubstr("every key of 'orders' is missing"));
  EXPECT_THAT(error_of(two_tables(), two_keys(numbers({1, 2}), {{"ann"}, {"bob"}})),
              HasSubstr("the types of the keys differ: those of 'orders' are whole numbers, and no key of 'users' is"));
}

TEST(KeyDigest, ComparesKeysAsText) {
  const KeyColumns keys = key_of({{{"7"}, {"07"}, {"7 "}, {"7"}, {}, {""}}});
  EXPECT_EQ(keys.digests[0], keys.digests[3]);
  EXPECT_NE(keys.digests[0], keys.digests[1]);
  EXPECT_NE(keys.digests[0], keys.digests[2]);
  EXPECT_TRUE(keys.missing(4));
  EXPECT_FALSE(keys.missing(5)) << "an empty text is a key; whether a reader takes it for missing is the schema's";
  EXPECT_EQ(keys.missing_keys(), 1);
  EXPECT_EQ(keys.form, KeyForm::kMixed);
}

TEST(KeyDigest, KeepsTheBordersOfCompositeKeys) {
  const KeyColumns keys = key_of({{{"ab"}, {"a"}, {"ab"}, {}}, {{"c"}, {"bc"}, {"c"}, {"c"}}});
  EXPECT_EQ(keys.digests[0], keys.digests[2]);
  EXPECT_NE(keys.digests[0], keys.digests[1]);
  EXPECT_TRUE(keys.missing(3)) << "a key that misses one column is missing";
}

TEST(KeyDigest, DependsOnTheSecretAndOnTheRun) {
  const std::string path = testing::TempDir() + "/secret-of-keys";
  const auto secret = [&](const std::string& text) {
    std::ofstream(path) << text;
    return FederationSecret::read(path);
  };
  const auto one = secret("0123456789abcdef\n"), same = secret("0123456789abcdef"), other = secret("0123456789abcdeF");
  ASSERT_TRUE(one && same && other);
  const KeyText text = text_of({{"7"}, {"8"}, {"7"}, {}});
  const KeyText* const parts[] = {&text};
  const auto digests = digests_between(parts, *one).value();
  EXPECT_EQ(digests.digests[0], digests.digests[2]);
  EXPECT_NE(digests.digests[0], digests.digests[1]);
  EXPECT_TRUE(digests.missing(3));
  // hashlib.blake2b(b"\1\0\0\0" b"7", key=sha256(b"parley federation secret\n" b"0123456789abcdef"), digest_size=16)
  EXPECT_EQ(digests.digests[0], (KeyDigest{0x245342a0141af5f3, 0xd15bdbeab1395bd6}));
  EXPECT_EQ(digests.digests, digests_between(parts, *same).value().digests) << "a line end is no part of a secret";
  EXPECT_NE(digests.digests[0], digests_between(parts, *other).value().digests[0]);
  EXPECT_NE(digests.digests[0], digests_within(parts).digests[0]);
  const auto monday = one->of_run("monday"), tuesday = one->of_run("tuesday");
  ASSERT_TRUE(monday && tuesday);
  EXPECT_NE(digests_between(parts, *monday).value().digests[0], digests_between(parts, *tuesday).value().digests[0]);
  EXPECT_THAT(secret("short\n").error().message, HasSubstr("has at least 16 bytes"));
}
