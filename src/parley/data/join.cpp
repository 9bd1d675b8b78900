#include "parley/data/join.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <span>

#include "parley/core/text.h"
#include "parley/core/threads.h"

namespace parley::data {

namespace {

using Tuple = std::int32_t;
constexpr Tuple kNone = -1;
constexpr std::int64_t kMostCounted = std::int64_t{1} << 62;
constexpr std::size_t kGrain = 4096;  // tuples

std::int64_t sum_of(std::int64_t a, std::int64_t b) {
  return a >= kMostCounted - b ? kMostCounted : a + b;
}

std::int64_t product_of(std::int64_t a, std::int64_t b) {
  if (a == 0 || b == 0) return 0;
  return a >= kMostCounted / b ? kMostCounted : a * b;
}

Error about_clause(std::size_t clause, std::string_view rule) {
  return bad_input({.field = fmt::format("join.{}", clause + 1)}, rule);
}

// A clause as it is executed: `from` is in the rows already, `to` is added.
struct Step {
  std::size_t clause = 0;
  std::size_t from = 0;
  std::size_t to = 0;
  std::size_t from_key = 0;
  std::size_t to_key = 0;
  JoinKind kind = JoinKind::kInner;
};

Result<std::vector<Step>> steps_of(const JoinSpec& spec) {
  const auto named = [&](int table) { return printable(spec.tables[static_cast<std::size_t>(table)], 64); };
  std::vector<Step> steps;
  std::vector<char> joined(spec.tables.size());
  if (!spec.edges.empty()) joined[static_cast<std::size_t>(spec.edges.front().left)] = 1;
  for (std::size_t k = 0; k < spec.edges.size(); ++k) {
    const JoinEdge& edge = spec.edges[k];
    const auto left = static_cast<std::size_t>(edge.left), right = static_cast<std::size_t>(edge.right);
    if (left == right)
      return fail(about_clause(
          k, fmt::format("joins '{}' with itself; name the same data as two tables for that", named(edge.left))));
    if (joined[left] != 0 && joined[right] != 0)
      return fail(about_clause(
          k, fmt::format("closes a cycle: '{}' and '{}' are joined already; a key of several columns is one clause "
                         "with several names, and data that plays two roles is two tables",
                         named(edge.left), named(edge.right))));
    if (joined[left] == 0 && joined[right] == 0)
      return fail(about_clause(k, fmt::format("joins neither '{}' nor '{}' to the tables of the clauses before it; "
                                              "list clauses so that each adds one table",
                                              named(edge.left), named(edge.right))));
    if (joined[left] == 0 && edge.kind == JoinKind::kLeft)
      return fail(about_clause(k, fmt::format("is a left join that would add its left table '{}'; the table whose rows "
                                              "are all kept is in a clause before it, or the left one of the first",
                                              named(edge.left))));
    const auto left_key = static_cast<std::size_t>(edge.left_key), right_key = static_cast<std::size_t>(edge.right_key);
    steps.push_back(joined[left] != 0 ? Step{k, left, right, left_key, right_key, edge.kind}
                                      : Step{k, right, left, right_key, left_key, edge.kind});
    joined[steps.back().to] = 1;
  }
  for (std::size_t i = 0; i < joined.size(); ++i)
    if (joined[i] == 0)
      return fail(bad_input({.field = "join"},
                            fmt::format("no clause reaches '{}': each of its tuples would meet every row (a cartesian "
                                        "product); name the keys it is joined by",
                                        named(static_cast<int>(i)))));
  return steps;
}

// Open addressing; a slot holds some bits of the digest, so that another key's digest is seldom looked at.
class KeyTable {
 public:
  explicit KeyTable(const std::vector<KeyDigest>& keys)
      : keys_(keys), slots_(std::bit_ceil(std::max<std::size_t>(2 * keys.size(), 16))), mask_(slots_.size() - 1) {}

  // The first tuple with the same key; `tuple` itself becomes it where there is none.
  Tuple insert(Tuple tuple) {
    const KeyDigest& key = keys_[static_cast<std::size_t>(tuple)];
    for (std::size_t at = key.low & mask_;; at = (at + 1) & mask_) {
      Slot& slot = slots_[at];
      if (slot.first == kNone) {
        slot = {tag_of(key), tuple};
        return tuple;
      }
      if (holds(slot, key)) return slot.first;
    }
  }
  [[nodiscard]] Tuple find(const KeyDigest& key) const {
    for (std::size_t at = key.low & mask_;; at = (at + 1) & mask_) {
      const Slot& slot = slots_[at];
      if (slot.first == kNone || holds(slot, key)) return slot.first;
    }
  }
  void prefetch(const KeyDigest& key) const { __builtin_prefetch(&slots_[key.low & mask_]); }

 private:
  struct Slot {
    std::uint32_t tag = 0;
    Tuple first = kNone;
  };
  static std::uint32_t tag_of(const KeyDigest& key) { return static_cast<std::uint32_t>(key.high); }
  [[nodiscard]] bool holds(const Slot& slot, const KeyDigest& key) const {
    return slot.tag == tag_of(key) && keys_[static_cast<std::size_t>(slot.first)] == key;
  }

  const std::vector<KeyDigest>& keys_;
  std::vector<Slot> slots_;
  std::size_t mask_;
};

// Far enough ahead for a slot to arrive from memory.
constexpr std::size_t kAhead = 12;

// Partners of a step: those of tuple t of `from` are members [starts[g], starts[g + 1]) with g = group_of[t].
struct Partners {
  std::vector<std::int32_t> group_of;  // by tuple of `from`; kNone: there is none
  std::vector<std::int32_t> starts;
  std::vector<Tuple> members;  // of `to`, ascending in a group; without those that no row can use
  std::vector<std::int64_t> rows_of_group;

  [[nodiscard]] std::span<const Tuple> of(std::int32_t group) const {
    const auto g = static_cast<std::size_t>(group);
    return std::span(members).subspan(static_cast<std::size_t>(starts[g]),
                                      static_cast<std::size_t>(starts[g + 1] - starts[g]));
  }
};

// `rows`: how many rows each tuple of `to` makes below it, of which 0 is none.
Partners find_partners(const KeyColumns& from, const KeyColumns& to, const std::vector<std::int64_t>& rows) {
  Partners partners;
  std::vector<std::int32_t> group_of_to(to.size(), kNone);
  KeyTable table(to.digests);
  std::int32_t groups = 0;
  for (std::size_t t = 0; t < to.size(); ++t) {
    if (t + kAhead < to.size()) table.prefetch(to.digests[t + kAhead]);
    if (to.missing(t)) continue;
    const auto first = static_cast<std::size_t>(table.insert(static_cast<Tuple>(t)));
    group_of_to[t] = first == t ? groups++ : group_of_to[first];
  }
  partners.rows_of_group.resize(static_cast<std::size_t>(groups));
  partners.starts.resize(static_cast<std::size_t>(groups) + 1);
  for (std::size_t t = 0; t < to.size(); ++t) {
    if (group_of_to[t] == kNone || rows[t] == 0) continue;
    const auto g = static_cast<std::size_t>(group_of_to[t]);
    partners.rows_of_group[g] = sum_of(partners.rows_of_group[g], rows[t]);
    ++partners.starts[g + 1];
  }
  for (std::size_t g = 1; g < partners.starts.size(); ++g) partners.starts[g] += partners.starts[g - 1];
  partners.members.resize(static_cast<std::size_t>(partners.starts.back()));
  std::vector<std::int32_t> next(partners.starts.begin(), partners.starts.end() - 1);
  for (std::size_t t = 0; t < to.size(); ++t)
    if (group_of_to[t] != kNone && rows[t] > 0)
      partners.members[static_cast<std::size_t>(next[static_cast<std::size_t>(group_of_to[t])]++)] =
          static_cast<Tuple>(t);
  partners.group_of.resize(from.size());
  parallel_chunks(from.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t t = begin; t < end; ++t) {
      if (t + kAhead < end) table.prefetch(from.digests[t + kAhead]);
      const Tuple first = from.missing(t) ? kNone : table.find(from.digests[t]);
      partners.group_of[t] = first == kNone ? kNone : group_of_to[static_cast<std::size_t>(first)];
    }
  });
  return partners;
}

class Plan {
 public:
  static Result<Plan> make(const JoinSpec& spec, const JoinKeys& keys) {
    Plan plan;
    PARLEY_TRY(plan.steps_, steps_of(spec));
    for (const std::vector<KeyColumns>& of_table : keys) {
      const std::size_t tuples = of_table.empty() ? 0 : of_table.front().size();
      if (tuples > static_cast<std::size_t>(std::numeric_limits<Tuple>::max()))
        return fail(bad_input({.field = "join"}, "a table has more than 2^31 - 1 tuples"));
      plan.tuples_.push_back(tuples);
    }
    PARLEY_CHECK(plan.check_forms(spec, keys));
    plan.count(keys);
    return plan;
  }

  [[nodiscard]] std::int64_t rows() const { return rows_; }

  // Which clause lost every row, for a person who wonders why there is none.
  [[nodiscard]] Error no_rows(const JoinSpec& spec) const {
    for (std::size_t k = 0; k < steps_.size(); ++k) {
      const auto& groups = partners_[k].group_of;
      if (steps_[k].kind == JoinKind::kInner &&
          std::all_of(groups.begin(), groups.end(), [](std::int32_t g) { return g == kNone; }))
        return about_clause(steps_[k].clause, fmt::format("leaves no row: no key of '{}' is among those of '{}'",
                                                          printable(spec.tables[steps_[k].from], 64),
                                                          printable(spec.tables[steps_[k].to], 64)));
    }
    return bad_input({.field = "join"}, "leaves no row: no tuple has partners in all the tables that it needs");
  }

  [[nodiscard]] JoinMap map() const {
    JoinMap map;
    map.tuple_of.assign(tuples_.size(), {});
    parallel_chunks(tuples_.size(), 1,
                    [&](std::size_t i, std::size_t) { map.tuple_of[i].resize(static_cast<std::size_t>(rows_)); });
    parallel_chunks(chunk_count(tuples_[base()], kGrain), 1, [&](std::size_t c, std::size_t) {
      const std::size_t begin = c * kGrain, end = std::min(tuples_[base()], begin + kGrain);
      write_rows(begin, end, static_cast<std::size_t>(first_row_[c]), map.tuple_of);
    });
    map.unused.resize(tuples_.size());
    for (const std::size_t tuples : tuples_) map.tuples.push_back(static_cast<std::int64_t>(tuples));
    parallel_chunks(tuples_.size(), 1, [&](std::size_t i, std::size_t) {
      std::vector<char> used(tuples_[i]);
      for (const Tuple t : map.tuple_of[i])
        if (t != kNone) used[static_cast<std::size_t>(t)] = 1;
      map.unused[i] = std::count(used.begin(), used.end(), 0);
    });
    return map;
  }

 private:
  [[nodiscard]] std::size_t base() const { return steps_.front().from; }

  [[nodiscard]] Result<void> check_forms(const JoinSpec& spec, const JoinKeys& keys) const {
    if (steps_.empty()) return fail(bad_input({.field = "join"}, "a join has at least one clause"));
    for (const Step& step : steps_) {
      const KeyForm from = keys[step.from][step.from_key].form, to = keys[step.to][step.to_key].form;
      for (const auto& [form, table] : {std::pair{from, step.from}, std::pair{to, step.to}})
        if (form == KeyForm::kEmpty && tuples_[table] > 0 && step.kind == JoinKind::kInner)
          return fail(about_clause(step.clause,
                                   fmt::format("every key of '{}' is missing", printable(spec.tables[table], 64))));
      const bool differ = (from == KeyForm::kIntegers && to == KeyForm::kTexts) ||
                          (from == KeyForm::kTexts && to == KeyForm::kIntegers);
      if (!differ) continue;
      const std::size_t whole = from == KeyForm::kIntegers ? step.from : step.to;
      const std::size_t words = from == KeyForm::kIntegers ? step.to : step.from;
      return fail(about_clause(step.clause,
                               fmt::format("the types of the keys differ: those of '{}' are whole numbers, and no key "
                                           "of '{}' is one; keys are compared as text",
                                           printable(spec.tables[whole], 64), printable(spec.tables[words], 64))));
    }
    return {};
  }

  // From the tables that are added last to the first one: the rows that each tuple makes with those below it, the same
  // for a tuple that is not there, and in the end all rows.
  void count(const JoinKeys& keys) {
    partners_.resize(steps_.size());
    std::vector<std::int64_t> rows_of_none(tuples_.size(), 1);
    const auto rows_below = [&](std::size_t table, std::size_t after, std::size_t t) {
      std::int64_t rows = 1;
      for (std::size_t k = after; k < steps_.size() && rows > 0; ++k) {
        if (steps_[k].from != table) continue;
        const std::int32_t group = partners_[k].group_of[t];
        const bool kept = group == kNone && steps_[k].kind == JoinKind::kLeft;
        rows = product_of(rows, group != kNone ? partners_[k].rows_of_group[static_cast<std::size_t>(group)]
                                : kept         ? rows_of_none[steps_[k].to]
                                               : 0);
      }
      return rows;
    };
    for (std::size_t k = steps_.size(); k-- > 0;) {
      const Step& step = steps_[k];
      for (std::size_t later = k + 1; later < steps_.size(); ++later)
        if (steps_[later].from == step.to)
          rows_of_none[step.to] *= steps_[later].kind == JoinKind::kLeft ? rows_of_none[steps_[later].to] : 0;
      std::vector<std::int64_t> rows(tuples_[step.to]);
      parallel_chunks(rows.size(), kGrain, [&](std::size_t begin, std::size_t end) {
        for (std::size_t t = begin; t < end; ++t) rows[t] = rows_below(step.to, k + 1, t);
      });
      partners_[k] = find_partners(keys[step.from][step.from_key], keys[step.to][step.to_key], rows);
    }
    const std::size_t tuples = tuples_[base()];
    first_row_.assign(chunk_count(tuples, kGrain) + 1, 0);
    parallel_chunks(tuples, kGrain, [&](std::size_t begin, std::size_t end) {
      std::int64_t rows = 0;
      for (std::size_t t = begin; t < end; ++t) rows = sum_of(rows, rows_below(base(), 0, t));
      first_row_[begin / kGrain + 1] = rows;
    });
    for (std::size_t c = 1; c < first_row_.size(); ++c) first_row_[c] = sum_of(first_row_[c], first_row_[c - 1]);
    rows_ = first_row_.back();
  }

  // The tuples that a step may add to the row at hand; none: the row ends here.
  [[nodiscard]] std::span<const Tuple> choices(std::size_t k, const std::vector<Tuple>& row) const {
    static constexpr Tuple kNobody[] = {kNone};
    const Tuple from = row[steps_[k].from];
    const std::int32_t group = from == kNone ? kNone : partners_[k].group_of[static_cast<std::size_t>(from)];
    if (group != kNone) return partners_[k].of(group);
    return steps_[k].kind == JoinKind::kLeft ? std::span<const Tuple>(kNobody) : std::span<const Tuple>();
  }

  // Rows of the first table's tuples from `begin` to `end`, in their order: every step counts through its choices, the
  // last step fastest.
  void write_rows(std::size_t begin, std::size_t end, std::size_t at, std::vector<std::vector<Tuple>>& out) const {
    const std::size_t last = steps_.size() - 1;
    std::vector<Tuple> row(tuples_.size(), kNone);
    std::vector<std::span<const Tuple>> left(steps_.size());  // choices that are still to come
    for (std::size_t t = begin; t < end; ++t) {
      row[base()] = static_cast<Tuple>(t);
      std::size_t k = 0;
      left[0] = choices(0, row);
      for (;;) {
        if (left[k].empty()) {
          if (k == 0) break;
          --k;
          continue;
        }
        if (k < last) {
          row[steps_[k].to] = left[k].front();
          left[k] = left[k].subspan(1);
          ++k;
          left[k] = choices(k, row);
          continue;
        }
        const std::size_t count = left[k].size();
        for (std::size_t i = 0; i < out.size(); ++i) {
          if (i == steps_[last].to)
            std::copy(left[k].begin(), left[k].end(), out[i].begin() + static_cast<std::ptrdiff_t>(at));
          else
            std::fill_n(out[i].begin() + static_cast<std::ptrdiff_t>(at), count, row[i]);
        }
        at += count;
        left[k] = {};
      }
    }
  }

  std::vector<Step> steps_;
  std::vector<std::size_t> tuples_;
  std::vector<Partners> partners_;       // by step
  std::vector<std::int64_t> first_row_;  // of each chunk of the first table's tuples, and the end
  std::int64_t rows_ = 0;
};

}  // namespace

std::int64_t KeyColumns::missing_keys() const {
  return std::count(digests.begin(), digests.end(), kMissingKey);
}

std::vector<std::int32_t> JoinMap::uses(std::size_t table) const {
  std::vector<std::int32_t> uses(static_cast<std::size_t>(tuples[table]));
  for (const Tuple t : tuple_of[table])
    if (t != kNone) ++uses[static_cast<std::size_t>(t)];
  return uses;
}

void JoinMap::add_missing_tuple(std::size_t table) {
  const auto added = static_cast<Tuple>(tuples[table]++);
  bool used = false;
  for (Tuple& t : tuple_of[table])
    if (t == kNone) {
      t = added;
      used = true;
    }
  if (!used) ++unused[table];
}

Result<std::vector<int>> order_of_join(const JoinSpec& spec) {
  PARLEY_TRY(const std::vector<Step> steps, steps_of(spec));
  std::vector<int> order;
  for (const Step& step : steps) {
    if (order.empty()) order.push_back(static_cast<int>(step.from));
    order.push_back(static_cast<int>(step.to));
  }
  return order;
}

Result<std::int64_t> count_rows(const JoinSpec& spec, const JoinKeys& keys) {
  PARLEY_TRY(const Plan plan, Plan::make(spec, keys));
  return plan.rows();
}

Result<JoinMap> join(const JoinSpec& spec, const JoinKeys& keys, std::int64_t most_rows) {
  PARLEY_TRY(const Plan plan, Plan::make(spec, keys));
  if (plan.rows() == 0) return fail(plan.no_rows(spec));
  if (plan.rows() > std::min<std::int64_t>(most_rows, std::numeric_limits<Tuple>::max()))
    return fail(bad_input(
        {.field = "join"},
        fmt::format("has {}{} rows, more than data.largest_join = {} allows; are the keys those that belong together?",
                    plan.rows() >= kMostCounted ? "at least " : "", with_commas(plan.rows()), most_rows)));
  return plan.map();
}

}  // namespace parley::data
