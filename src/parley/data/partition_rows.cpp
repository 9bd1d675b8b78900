// Which record goes to which party.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "parley/core/text.h"
#include "parley/data/cluster.h"
#include "parley/data/number.h"
#include "parley/data/partition.h"
#include "parley/data/partition_parts.h"
#include "parley/data/random.h"

namespace parley::data {

namespace {

using Rows = std::vector<std::uint32_t>;

// Cuts `items` at these shares of its length: whole numbers whose sum is the length.
std::vector<std::size_t> cut_points(const std::vector<double>& shares, std::size_t length) {
  double total = 0;
  for (const double share : shares) total += share;
  std::vector<std::size_t> ends;
  double sum = 0;
  for (const double share : shares) {
    sum += share;
    ends.push_back(static_cast<std::size_t>(std::floor(sum / total * static_cast<double>(length) + 0.5)));
  }
  ends.back() = length;
  return ends;
}

void deal(const Rows& items, const std::vector<double>& shares, Rows& party) {
  const auto ends = cut_points(shares, items.size());
  std::size_t p = 0;
  for (std::size_t k = 0; k < items.size(); ++k) {
    while (k >= ends[p]) ++p;
    party[items[k]] = static_cast<std::uint32_t>(p);
  }
}

bool every_party_has_records(const Rows& party, std::size_t parts) {
  std::vector<std::size_t> sizes(parts);
  for (const std::uint32_t p : party) ++sizes[p];
  return std::find(sizes.begin(), sizes.end(), 0u) == sizes.end();
}

// Groups of records: by class, or ten of equal size for real labels.
std::vector<Rows> label_groups(const RowLabels& labels, std::vector<std::string>& notes) {
  std::vector<Rows> groups;
  if (!labels.real) {
    groups.resize(labels.classes.size());
    for (std::size_t i = 0; i < labels.rank.size(); ++i)
      groups[labels.rank[i]].push_back(static_cast<std::uint32_t>(i));
    return groups;
  }
  notes.emplace_back("labels are real numbers: the skew is over ten groups of equal size");
  Rows order = rows_by_label(labels);
  for (std::size_t g = 0; g < 10; ++g)
    groups.emplace_back(order.begin() + static_cast<std::ptrdiff_t>(order.size() * g / 10),
                        order.begin() + static_cast<std::ptrdiff_t>(order.size() * (g + 1) / 10));
  return groups;
}

}  // namespace

std::vector<std::uint32_t> rows_by_label(const RowLabels& labels) {
  Rows order(labels.rank.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return labels.rank[a] < labels.rank[b]; });
  return order;
}

Result<RowLabels> row_labels(const RawTable& table, const std::string& label_name) {
  std::size_t column = 0;
  if (!table.is_libsvm()) {
    PARLEY_TRY(column, label_column(table, label_name));
    if (column == SIZE_MAX)
      return fail(bad_input({table.file(), 0, "--label"}, "no column is called y, label, target or class: name it"));
  }
  std::map<std::string, std::size_t> seen;
  std::vector<const std::string*> label(table.rows());
  std::vector<std::string_view> raw;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    if (!table.is_libsvm()) table.cells(i, raw);
    label[i] =
        &seen.try_emplace(table.is_libsvm() ? std::string(table.label(i)) : table.content(raw[column])).first->first;
  }
  // Numbers in order of value, else texts in order of bytes.
  RowLabels labels;
  std::vector<std::pair<double, std::string>> order;
  bool numeric = true;
  bool whole = true;
  for (const auto& [text, unused] : seen) {
    const ParsedNumber parsed = parse_number(text.data(), text.data() + text.size());
    numeric = numeric && parsed.error == NumberError::kNone && parsed.end == text.data() + text.size();
    whole = whole && numeric && parsed.value == std::floor(parsed.value);
    order.emplace_back(parsed.value, text);
  }
  if (numeric)
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t k = 0; k < order.size(); ++k) seen[order[k].second] = k;
  for (const auto& [value, text] : order) labels.classes.push_back(text);
  labels.rank.reserve(table.rows());
  for (const std::string* text : label) labels.rank.push_back(static_cast<std::uint32_t>(seen[*text]));
  labels.real = numeric && order.size() > 2 && (!whole || order.size() > 100);
  return labels;
}

Result<Rows> assign_rows(const RawTable& table, const SplitRows& plan, std::uint64_t seed,
                         std::vector<std::string>& notes) {
  const auto wrong = [&](const char* option, std::string_view rule, const std::string& value) {
    return fail(bad_input({.field = option}, rule, value));
  };
  const std::size_t rows = table.rows();
  if (plan.parts < 1) return wrong("--parts", "must be at least 1", std::to_string(plan.parts));
  if (plan.parts > rows)
    return wrong("--parts", fmt::format("must be at most the number of records, {}", rows), std::to_string(plan.parts));
  if (!plan.shares.empty() && plan.skew != RowSkew::kIid)
    return wrong("--shares", "sizes can be chosen for iid splits only", "");
  if (!plan.shares.empty() && plan.shares.size() != plan.parts)
    return wrong("--shares", fmt::format("must name {}, one per party", counted(plan.parts, "size")),
                 std::to_string(plan.shares.size()));
  for (const double share : plan.shares)
    if (!(share > 0 && share < 1e12)) return wrong("--shares", "must be above 0", fmt::format("{}", share));

  Random random(seed, 1);
  Rows party(rows);
  switch (plan.skew) {
    case RowSkew::kIid: {
      Rows order(rows);
      std::iota(order.begin(), order.end(), 0u);
      shuffle(random, order);
      deal(order, plan.shares.empty() ? std::vector<double>(plan.parts, 1.0) : plan.shares, party);
      if (!every_party_has_records(party, plan.parts))
        return wrong("--shares", fmt::format("leave a party without any of the {}", counted(rows, "record")), "");
      return party;
    }
    case RowSkew::kDirichlet: {
      if (!(plan.alpha > 0 && plan.alpha < 1e9))
        return wrong("--alpha", "must be above 0", fmt::format("{}", plan.alpha));
      PARLEY_TRY(const RowLabels labels, row_labels(table, plan.label));
      std::vector<Rows> groups = label_groups(labels, notes);
      // Strong skew can leave a party empty; a federation needs every one of them.
      for (int attempt = 0; attempt < 1000; ++attempt) {
        for (Rows& group : groups) {
          if (group.empty()) continue;
          shuffle(random, group);
          deal(group, dirichlet(random, plan.alpha, plan.parts), party);
        }
        if (every_party_has_records(party, plan.parts)) return party;
      }
      return wrong("--alpha", fmt::format("is so small that one of {} parties never gets a record", plan.parts),
                   fmt::format("{}", plan.alpha));
    }
    case RowSkew::kShards: {
      const std::size_t pieces = plan.parts * plan.shards;
      if (plan.shards < 1 || plan.shards > rows || pieces > rows)
        return wrong("--shards", fmt::format("parts x shards must lie between 1 and the number of records, {}", rows),
                     std::to_string(plan.shards));
      PARLEY_TRY(const RowLabels labels, row_labels(table, plan.label));
      const Rows order = rows_by_label(labels);
      Rows owner(pieces);
      for (std::size_t k = 0; k < pieces; ++k) owner[k] = static_cast<std::uint32_t>(k / plan.shards);
      shuffle(random, owner);
      for (std::size_t k = 0; k < pieces; ++k)
        for (std::size_t at = rows * k / pieces; at < rows * (k + 1) / pieces; ++at) party[order[at]] = owner[k];
      return party;
    }
    case RowSkew::kCluster: {
      std::vector<bool> leave_out(table.is_libsvm() ? 0 : table.names().size());
      if (!table.is_libsvm()) {
        PARLEY_TRY(const std::size_t label, label_column(table, plan.label));
        PARLEY_TRY(const std::size_t id, id_column(table, plan.id));
        if (label != SIZE_MAX) leave_out[label] = true;
        if (id != SIZE_MAX) leave_out[id] = true;
      }
      return cluster_rows(table, leave_out, plan.parts, seed);
    }
  }
  return party;
}

}  // namespace parley::data
