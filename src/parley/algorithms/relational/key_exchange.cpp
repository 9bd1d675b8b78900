#include "parley/algorithms/relational/key_exchange.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "parley/algorithms/vertical/label_release.h"

namespace parley::algorithms {

namespace {

using data::KeyColumns;
using data::KeyForm;

KeyForm together(KeyForm one, KeyForm other) {
  if (one == KeyForm::kEmpty || one == other) return other;
  return other == KeyForm::kEmpty ? one : KeyForm::kMixed;
}

bool is_form(std::int64_t number) {
  return number >= 0 && number <= static_cast<std::int64_t>(KeyForm::kTexts);
}

void append(const SentKey& sent, KeyColumns& key) {
  key.form = together(key.form, static_cast<KeyForm>(sent.front()));
  for (std::size_t at = 1; at < sent.size(); at += 2)
    key.digests.push_back({std::bit_cast<std::uint64_t>(sent[at]), std::bit_cast<std::uint64_t>(sent[at + 1])});
}

bool is_label(const RelationalTerms& tables, const glm::Objective& objective, double label) {
  if (tables.label_noise && objective.task != glm::Task::kLinear) {
    const bool two = tables.label_noise->mechanism == privacy::LabelNoise::Mechanism::kRandomisedResponse;
    return two ? std::abs(label) == response_scale(tables.label_noise->epsilon) : std::isfinite(label);
  }
  switch (objective.task) {
    case glm::Task::kLinear:
      return std::isfinite(label);
    case glm::Task::kSoftmax:
      return label >= 0 && label < objective.classes && label == std::floor(label);
    default:
      return label == 1 || label == -1;
  }
}

}  // namespace

std::vector<SentKey> sent_keys(std::span<const data::KeyColumns> keys) {
  std::vector<SentKey> all;
  for (const KeyColumns& key : keys) {
    SentKey& sent = all.emplace_back();
    sent.reserve(1 + 2 * key.size());
    sent.push_back(static_cast<std::int64_t>(key.form));
    for (const data::KeyDigest& digest : key.digests) {
      sent.push_back(std::bit_cast<std::int64_t>(digest.low));
      sent.push_back(std::bit_cast<std::int64_t>(digest.high));
    }
  }
  return all;
}

Result<void> reserve_labels(const TableShare& share, bool asked, privacy::Gate& gate) {
  if (asked || !share.noisy_labels || !share.noisy_labels->alone()) return {};
  PARLEY_TRY(const privacy::Event event, share.noisy_labels->event());
  PARLEY_CHECK(gate.reserve({.once = {event}}, *share.noisy_labels->alone()));
  return {};
}

Result<privacy::Released<std::vector<double>>> sent_labels(const TableShare& share, privacy::Gate& gate) {
  PARLEY_CHECK(reserve_labels(share, false, gate));
  if (share.noisy_labels) return share.noisy_labels->release(gate);
  return gate.unprotected(privacy::Private(share.labels));
}

std::vector<std::size_t> key_counts(const data::JoinSpec& join) {
  std::vector<std::size_t> counts(join.tables.size(), 0);
  const auto count = [&](int table, int key) {
    std::size_t& most = counts[static_cast<std::size_t>(table)];
    most = std::max(most, static_cast<std::size_t>(key) + 1);
  };
  for (const data::JoinEdge& edge : join.edges) {
    count(edge.left, edge.left_key);
    count(edge.right, edge.right_key);
  }
  return counts;
}

Result<void> check_sent(const RelationalTerms& tables, const glm::Objective& objective, std::int64_t tuples,
                        const SentTuples& sent) {
  const int table = tables.table_of_party[static_cast<std::size_t>(sent.party)];
  const auto records = static_cast<std::size_t>(tuples);
  if (sent.keys->size() != key_counts(tables.join)[static_cast<std::size_t>(table)])
    return fail(failed("it does not have the keys that the job's joins name"));
  for (const SentKey& key : *sent.keys)
    if (key.size() != 1 + 2 * records || !is_form(key.front()))
      return fail(failed("it does not have one key for each tuple that the party introduced"));
  if (table != tables.label_table)
    return sent.labels->empty() ? Result<void>{} : fail(failed("it holds labels, which are another table's"));
  if (sent.labels->size() != records)
    return fail(failed("it does not have one label for each tuple that the party introduced"));
  if (!std::all_of(sent.labels->begin(), sent.labels->end(), [&](double y) { return is_label(tables, objective, y); }))
    return fail(failed("it holds labels that are not classes"));
  return {};
}

Result<Joined> joined(const RelationalTerms& tables, std::span<const SentTuples> sent) {
  const std::vector<std::size_t> counts = key_counts(tables.join);
  data::JoinKeys keys(counts.size());
  for (std::size_t i = 0; i < counts.size(); ++i) keys[i].resize(counts[i]);
  Joined made;
  for (const SentTuples& from : sent) {
    const int table = tables.table_of_party[static_cast<std::size_t>(from.party)];
    std::vector<KeyColumns>& own = keys[static_cast<std::size_t>(table)];
    for (std::size_t k = 0; k < own.size(); ++k) append((*from.keys)[k], own[k]);
    made.labels.insert(made.labels.end(), from.labels->begin(), from.labels->end());
  }
  PARLEY_TRY(made.map, data::join(tables.join, keys, tables.most_rows));
  for (const std::int32_t tuple : made.map.tuple_of[static_cast<std::size_t>(tables.label_table)])
    if (tuple < 0)
      return fail(bad_input({.field = "join"},
                            "leaves rows without a label: the table with the labels needs to be on the left, or joined "
                            "by an inner join"));
  for (std::size_t i = 0; i < tables.null_tuple.size(); ++i)
    if (tables.null_tuple[i]) made.map.add_missing_tuple(i);
  return made;
}

std::vector<double> labels_by_slot(const Joined& joined, const JoinedTable& label_table) {
  std::vector<double> labels;
  for (const linalg::Index tuple : label_table.tuples) labels.push_back(joined.labels[static_cast<std::size_t>(tuple)]);
  return labels;
}

}  // namespace parley::algorithms
