// Which tuples of several tables make up the rows of their join, found from keys alone.
//
// Row j of the join uses tuple p_i(j) of table i, or none (-1, of a left join). Clauses are executed in their order,
// beginning with one row for each tuple of the first clause's left table; a clause replaces each row, in order, by one
// row for each partner among the tuples of the table that it adds, in their order. Bag semantics: duplicates are kept.
//   inner   a row without a partner is dropped
//   left    a row without a partner is kept, with -1 for the table that the clause adds
// A key that is missing in one of its columns has no partner, and neither has the tuple of a row that has none.
// Clauses form a tree: one that would close a cycle, and a table that no clause reaches (a cartesian product), are
// errors.
//
// Counted before it is allocated: a row costs four bytes a table. The rest is four bytes for each tuple and clause, and
// a hash table of the keys of the table that a clause adds.
#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "parley/core/result.h"

namespace parley::data {

// A key as a number: equal keys have equal digests (data/key_digest.h).
struct KeyDigest {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  bool operator==(const KeyDigest&) const = default;
};

// Of a key with a missing column: it equals nothing.
inline constexpr KeyDigest kMissingKey{};

// What a key's texts look like, so that two columns that can never match are noticed.
enum class KeyForm { kEmpty, kIntegers, kMixed, kTexts };  // no key; whole numbers; some are; none is

// One key of one table: of its tuples, in their order.
struct KeyColumns {
  std::vector<KeyDigest> digests;
  KeyForm form = KeyForm::kEmpty;

  [[nodiscard]] std::size_t size() const { return digests.size(); }
  [[nodiscard]] bool missing(std::size_t tuple) const { return digests[tuple] == kMissingKey; }
  [[nodiscard]] std::int64_t missing_keys() const;
};

enum class JoinKind { kInner, kLeft };

// A clause: `left` and `right` are tables, `left_key` and `right_key` which of their keys (JoinKeys).
struct JoinEdge {
  int left = 0;
  int right = 0;
  int left_key = 0;
  int right_key = 0;
  JoinKind kind = JoinKind::kInner;
  bool operator==(const JoinEdge&) const = default;
};

struct JoinSpec {
  std::vector<std::string> tables;  // names, in the order of everything that is "by table"
  std::vector<JoinEdge> edges;
};

// By table, then by its keys: a table that several clauses join by the same columns has one key for them.
using JoinKeys = std::vector<std::vector<KeyColumns>>;

// The rows that a join may have. 2^31 - 1 is the most that can be numbered.
inline constexpr std::int64_t kLargestJoin = 100'000'000;

struct JoinMap {
  std::vector<std::vector<std::int32_t>> tuple_of;  // [table][row of the join], -1: none
  std::vector<std::int64_t> tuples;                 // n_i
  std::vector<std::int64_t> unused;                 // of them, those that no row uses

  [[nodiscard]] std::size_t rows() const { return tuple_of.empty() ? 0 : tuple_of.front().size(); }
  [[nodiscard]] std::size_t tables() const { return tuple_of.size(); }
  // G_i: how many rows use each tuple of the table.
  [[nodiscard]] std::vector<std::int32_t> uses(std::size_t table) const;
  // A tuple of its own, n_i, for the rows that have none of this table.
  void add_missing_tuple(std::size_t table);
};

// The tables in the order in which clauses add them, the first one first; errors are of the job's section `join`.
Result<std::vector<int>> order_of_join(const JoinSpec& spec);

// N, without allocating anything of that size; saturates at 2^62. `keys`: by table, as long as its tuples.
Result<std::int64_t> count_rows(const JoinSpec& spec, const JoinKeys& keys);

// An error when it has no row, or more than `most_rows`.
Result<JoinMap> join(const JoinSpec& spec, const JoinKeys& keys, std::int64_t most_rows = kLargestJoin);

}  // namespace parley::data
