#include "parley/data/libsvm.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "parley/core/text.h"
#include "parley/data/labels.h"
#include "parley/data/libsvm_index.h"
#include "parley/data/libsvm_lines.h"
#include "parley/data/number.h"
#include "parley/linalg/builder.h"

namespace parley::data {

namespace {

using linalg::Index;

// A number of features that somebody asked for may be larger.
constexpr std::int64_t kManyAskedColumns = std::int64_t{1} << 24;

// First line that is a record; empty when there is none in `text`.
std::string_view first_record(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    const std::size_t content = line.find_first_not_of(" \t\r");
    if (content != std::string_view::npos && line[content] != '#') return line.substr(content);
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return {};
}

Result<ChunkReader> open_chunks(const OpenBytes& open) {
  PARLEY_TRY(auto bytes, open());
  ChunkReader reader(std::move(bytes));
  PARLEY_TRY(const std::string_view start, reader.peek(std::size_t{1} << 16));
  if (start.substr(0, 3) == "\xef\xbb\xbf") reader.skip(3);
  return reader;
}

struct Totals {
  std::size_t rows = 0;
  std::size_t nonzeros = 0;
  std::size_t clipped = 0;
  std::size_t qids = 0;
  std::size_t left_out = 0;
  Index smallest = std::numeric_limits<Index>::max();
  Index largest = -1;
  std::size_t largest_line = 0;
};

Totals totals_of(const std::vector<LibsvmChunk>& chunks) {
  Totals all;
  std::size_t line = 1;
  for (const auto& chunk : chunks) {
    all.rows += static_cast<std::size_t>(chunk.rows.rows());
    all.nonzeros += chunk.rows.nonzeros();
    all.clipped += chunk.clipped;
    all.qids += chunk.qids;
    all.left_out += chunk.left_out;
    all.smallest = std::min(all.smallest, chunk.smallest);
    if (chunk.largest > all.largest) {
      all.largest = chunk.largest;
      all.largest_line = line + chunk.largest_line;
    }
    line += chunk.lines;
  }
  return all;
}

struct Plan {
  LineRules rules;
  std::optional<int> features;
  std::optional<int> first_index;
  std::optional<double> bound;
};

Plan plan_of(const LoadOptions& options) {
  Plan plan;
  const Schema schema = options.schema.value_or(Schema());
  plan.features = options.features ? options.features : schema.features;
  plan.first_index = options.first_index ? options.first_index : schema.first_index;
  plan.bound = schema.bound ? schema.bound : options.bound;
  plan.rules.out_of_bounds = schema.out_of_bounds;
  if (plan.bound) plan.rules.bound = *plan.bound;
  if (options.columns) {
    // Columns counted from 0 would all be taken for their neighbours.
    if (!options.columns->empty() && plan.first_index != 0 && !options.columns->find_number(0)) {
      plan.rules.smallest = 1;
      plan.rules.smallest_rule = "indices begin at 1 in the training data, and would be shifted against these";
    }
    return plan;
  }
  plan.rules.smallest = plan.first_index.value_or(0);
  plan.rules.smallest_rule = fmt::format("indices begin at {}", plan.rules.smallest);
  if (plan.features) {
    // Without a stated first index d itself may be one; index 0 then rules it out afterwards.
    plan.rules.largest = std::min<std::int64_t>(kLargestIndex, *plan.features - 1 + plan.first_index.value_or(1));
    plan.rules.largest_rule =
        fmt::format("must be at most {}: the data have {}", plan.rules.largest, counted(*plan.features, "feature"));
  }
  return plan;
}

// The columns that occur anywhere, ascending.
std::vector<Index> occurring(std::vector<LibsvmChunk>& chunks) {
  std::vector<Index> all;
  for (auto& chunk : chunks) {
    std::sort(chunk.indices.begin(), chunk.indices.end());
    chunk.indices.erase(std::unique(chunk.indices.begin(), chunk.indices.end()), chunk.indices.end());
    const auto middle = static_cast<std::ptrdiff_t>(all.size());
    all.insert(all.end(), chunk.indices.begin(), chunk.indices.end());
    std::inplace_merge(all.begin(), all.begin() + middle, all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    chunk.indices = {};
  }
  return all;
}

// Entries of the given columns alone.
Result<std::vector<LibsvmChunk>> parse_columns(ChunkReader& reader, const std::string& file_name,
                                               const LineRules& rules, const ColumnNames& columns) {
  return parse_file(reader, file_name, rules, [&columns](LibsvmChunk& out, Index index, double value) {
    if (const auto column = columns.find_number(index))
      out.rows.push(*column, value);
    else
      ++out.left_out;
  });
}

constexpr auto kKeepEntry = [](LibsvmChunk& out, Index index, double value) { out.rows.push(index, value); };

void note_sparse_columns(Dataset& data) {
  std::size_t empty = 0;
  for (Index j = 0; j < data.features.cols(); ++j)
    if (const auto column = data.features.column(j); column.rows != nullptr && column.count == 0) ++empty;
  if (empty > 0)
    data.notes.push_back(fmt::format("{} of {} {} zero in every row", with_commas(static_cast<long long>(empty)),
                                     counted(data.features.cols(), "column"), empty == 1 ? "is" : "are"));
}

}  // namespace

bool looks_like_libsvm(std::string_view line) {
  const char* p = line.data();
  const char* const end = p + line.size();
  const auto skip = [&] {
    while (p != end && is_blank(*p)) ++p;
  };
  const auto pair = [&] {
    if (end - p > 4 && std::string_view(p, 4) == "qid:") return true;
    const char* q = p;
    while (q != end && detail::is_digit(*q)) ++q;
    return q != p && q != end && *q == ':';
  };
  skip();
  if (pair()) return true;
  const ParsedNumber label = parse_number(p, end);
  if (label.error != NumberError::kNone) return false;
  p = label.end;
  if (p != end && !is_blank(*p)) return false;
  skip();
  return p != end && pair();
}

Result<Dataset> read_libsvm(const OpenBytes& open, const std::string& file_name, const LoadOptions& options) {
  Plan plan = plan_of(options);
  PARLEY_TRY(ChunkReader reader, open_chunks(open));
  PARLEY_TRY(const std::string_view start, reader.peek(0));
  const std::string_view record = first_record(start);
  if (options.label_use != LabelUse::kRequired) {
    const std::string_view word = record.substr(0, record.find_first_of(" \t\r"));
    plan.rules.labelled = word.find(':') == std::string_view::npos;
  }

  const bool use_labels = plan.rules.labelled && options.label_use != LabelUse::kNone;
  std::optional<double> label_bound;
  if (use_labels && options.labels == LabelKind::kReal)
    label_bound = options.schema && options.schema->label_bound ? options.schema->label_bound : options.label_bound;
  if (label_bound && plan.rules.out_of_bounds == OutOfBounds::kRefuse) plan.rules.label_bound = *label_bound;

  ColumnNames columns = options.columns.value_or(ColumnNames());
  std::vector<LibsvmChunk> chunks;
  if (options.columns) {
    if (!columns.is_numbered() && !columns.empty())
      return fail(bad_input({file_name, 0, ""}, "is LIBSVM, whose columns have numbers; columns with names are wanted",
                            columns[0]));
    PARLEY_TRY(chunks, parse_columns(reader, file_name, plan.rules, columns));
  } else {
    PARLEY_TRY(chunks, parse_file(reader, file_name, plan.rules, kKeepEntry));
  }
  Totals totals = totals_of(chunks);
  if (totals.rows == 0) return fail(bad_input({file_name, 0, ""}, "is empty: it has no records"));
  if (totals.rows > static_cast<std::size_t>(std::numeric_limits<Index>::max()))
    return fail(bad_input({file_name, 0, ""}, "has more than 2^31 - 1 records"));

  Dataset data;
  Index first_column = 0;
  if (!options.columns) {
    const int first = plan.first_index.value_or(totals.smallest == 0 ? 0 : 1);
    if (first == 0 && !plan.first_index) data.notes.emplace_back("indices begin at 0 (index 0 occurs)");
    const std::int64_t wanted =
        plan.features.value_or(std::max<std::int64_t>(0, std::int64_t{totals.largest} - first + 1));
    if (std::int64_t{totals.largest} - first >= wanted)
      return fail(bad_input({file_name, totals.largest_line, "index"},
                            fmt::format("must be at most {}: the data have {} and indices begin at {}",
                                        wanted - 1 + first, counted(wanted, "feature"), first),
                            std::to_string(totals.largest)));
    const auto entries = static_cast<std::int64_t>(totals.nonzeros);
    if (plan.features && is_mostly_empty(wanted, entries) && wanted > kManyAskedColumns)
      return fail(bad_input({file_name, 0, "features"},
                            "nearly all of them would be empty columns; leave it out to keep the columns that occur",
                            std::to_string(wanted)));
    if (!plan.features && is_mostly_empty(wanted, entries)) {
      chunks.clear();
      PARLEY_TRY(ChunkReader again, open_chunks(open));
      PARLEY_TRY(auto indices, parse_file(again, file_name, plan.rules,
                                          [](LibsvmChunk& out, Index index, double) { out.indices.push_back(index); }));
      columns = ColumnNames::numbered(occurring(indices));
      PARLEY_TRY(ChunkReader last, open_chunks(open));
      PARLEY_TRY(chunks, parse_columns(last, file_name, plan.rules, columns));
      totals = totals_of(chunks);
      data.notes.push_back(fmt::format("indices reach {}: only the {} kept", with_commas(totals.largest),
                                       counted(columns.size(), "column that occurs is", "columns that occur are")));
    } else {
      columns = ColumnNames::numbered(first, static_cast<Index>(wanted));
      first_column = first;
    }
  }

  linalg::RowsBuilder builder;
  RawLabels raw;
  raw.values.reserve(use_labels ? totals.rows : 0);
  for (auto& chunk : chunks) {
    builder.append(std::move(chunk.rows));
    if (use_labels) raw.values.insert(raw.values.end(), chunk.labels.begin(), chunk.labels.end());
    chunk.labels = {};
  }
  data.features = std::move(builder).build({.cols = static_cast<Index>(columns.size()), .first_column = first_column});
  data.columns = std::move(columns);
  data.clipped = totals.clipped;
  if (plan.bound) data.bounds.assign(data.columns.size(), *plan.bound);
  if (totals.qids > 0) data.notes.push_back("qid: left out in " + counted(totals.qids, "record"));
  if (totals.left_out > 0)
    data.notes.push_back(counted(totals.left_out, "value of columns that the training data do not have was left out",
                                 "values of columns that the training data do not have were left out"));
  if (use_labels) {
    Labels before;
    if (label_bound) data.clipped += move_to_bounds(raw.values, -*label_bound, *label_bound, before);
    PARLEY_TRY(auto labels, make_labels(std::move(raw), {.kind = options.labels,
                                                         .positive = options.positive,
                                                         .classes = options.classes,
                                                         .absent_classes = options.absent_classes,
                                                         .negative = "-1",
                                                         .place = {file_name, 0, "label"}}));
    data.labels = std::move(labels.labels);
    data.labels.as_read = std::move(before.as_read);
    data.notes.insert(data.notes.end(), labels.notes.begin(), labels.notes.end());
  }
  if (data.clipped > 0)
    data.notes.push_back(counted(data.clipped, "value beyond its bound was clipped to it",
                                 "values beyond their bound were clipped to it"));
  if (!options.columns) note_sparse_columns(data);
  data.schema = options.schema.value_or(Schema());
  data.schema.format = Format::kLibsvm;
  data.schema.bound = plan.bound;
  return data;
}

}  // namespace parley::data
