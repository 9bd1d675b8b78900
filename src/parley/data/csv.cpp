#include "parley/data/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>

#include "parley/core/text.h"
#include "parley/core/threads.h"
#include "parley/data/csv_levels.h"
#include "parley/data/foreign.h"
#include "parley/data/labels.h"
#include "parley/linalg/builder.h"

namespace parley::data {

namespace {

using linalg::Index;

// Reads as much of the beginning as it takes to see a few whole records.
Result<CsvLayout> look_ahead(ChunkReader& reader, const std::string& file_name, const LayoutHints& hints) {
  constexpr std::size_t kRecordsToSee = 4;
  for (std::size_t wanted = std::size_t{1} << 17;; wanted *= 4) {
    PARLEY_TRY(std::string_view start, reader.peek(wanted));
    PARLEY_CHECK(refuse_foreign(start, file_name));
    if (start.substr(0, 3) == "\xef\xbb\xbf") {
      reader.skip(3);  // a byte-order mark
      PARLEY_TRY(start, reader.peek(0));
    }
    const bool is_whole = reader.all_read();
    if (!is_whole && static_cast<std::size_t>(std::count(start.begin(), start.end(), '\n')) < kRecordsToSee) continue;
    auto layout = find_layout(start, is_whole, file_name, hints);
    if (!layout && !is_whole) continue;
    return layout;
  }
}

// Bytes of columns that are filled in one go: a large page, which is in memory whole from its first byte on.
constexpr std::size_t kFilledTogether = std::size_t{2} << 20;

class Assembly {
 public:
  Assembly(std::vector<CsvChunk> chunks, std::vector<CellCounts> counts, CsvPlan plan, CsvLayout layout,
           const std::string& file_name, const LoadOptions& options, std::unique_ptr<Landing> landing)
      : chunks_(std::move(chunks)), landing_(std::move(landing)), file_name_(file_name), options_(options) {
    table_.plan = std::move(plan);
    table_.counts = std::move(counts);
    table_.layout = std::move(layout);
    table_.data.notes = table_.plan.notes;
  }

  Result<CsvTable> run() {
    count();
    if (rows_ == 0)
      return fail(bad_input({file_name_, 0, ""}, table_.data.dropped > 0 ? "has no records left: every row was dropped"
                                                                         : "is empty: it has a header but no records"));
    if (rows_ > static_cast<std::size_t>(std::numeric_limits<Index>::max()))
      return fail(bad_input({file_name_, 0, ""}, "has more than 2^31 - 1 records"));
    table_.levels.resize(table_.plan.columns.size());
    table_.overflowed.resize(table_.plan.columns.size());
    if (landing_ != nullptr) close_up();
    PARLEY_CHECK(build_features());
    PARLEY_CHECK(build_labels());
    for (auto& chunk : chunks_) {
      std::move(chunk.ids.begin(), chunk.ids.end(), std::back_inserter(table_.data.ids));
      table_.data.weights.insert(table_.data.weights.end(), chunk.weights.begin(), chunk.weights.end());
    }
    gather_keys();
    write_notes();
    table_.data.schema = table_.plan.schema;
    table_.data.schema.format = Format::kCsv;
    // Names made up for want of a header are of no use for finding a column in the next file.
    if (table_.plan.guessed && !table_.layout.header) table_.data.schema.header = false;
    return std::move(table_);
  }

 private:
  void count() {
    for (const auto& chunk : chunks_) {
      first_rows_.push_back(rows_);
      rows_ += chunk.rows;
      table_.data.dropped += chunk.dropped;
    }
    for (const CellCounts& counts : table_.counts) table_.data.clipped += counts.clipped;
  }

  Result<void> build_features() {
    linalg::ColumnsBuilder builder(static_cast<Index>(rows_));
    for (const std::size_t j : table_.plan.by_schema()) {
      const CsvColumn& column = table_.plan.columns[j];
      if (!column.is_feature()) continue;
      if (column.kind == CellKind::kCategory) {
        gather(column.slot);
        PARLEY_CHECK(build_category(j, builder));
        continue;
      }
      build_numbers(column.slot, builder);
      names_.push_back(column.name);
      bounds_.push_back(column.kind == CellKind::kBoolean ? 1.0
                                                          : std::max(std::abs(column.lower), std::abs(column.upper)));
      if (!column.has_indicator()) continue;
      build_numbers(column.indicator, builder);
      names_.push_back(column.name + "=(missing)");
      bounds_.push_back(1.0);
    }
    fill_waiting();
    gathered_ = {};
    if (closed_up_) builder.keep(landing_->memory());
    if (names_.empty() && !table_.plan.lenient && table_.plan.keys == 0)
      return fail(bad_input({file_name_, 0, ""}, "has no column that is a feature"));
    table_.data.features = std::move(builder).build();
    table_.data.columns = ColumnNames(std::move(names_));
    if (std::any_of(bounds_.begin(), bounds_.end(), [](double b) { return b != kUnbounded; }))
      table_.data.bounds = std::move(bounds_);
    return {};
  }

  // Columns that landed become whole: where lines were no records, what follows moves up, and chunks that are packed
  // take their places. Rows only ever move to the front, into what is theirs or done with.
  void close_up() {
    closed_up_ = rows_ <= landing_->capacity();
    if (!closed_up_) return;
    parallel_chunks(table_.plan.slots, 1, [&](std::size_t slot, std::size_t) {
      double* const column = landing_->column(slot);
      if (column == nullptr) return;
      for (std::size_t c = 0; c < chunks_.size(); ++c) {
        const CsvChunk& chunk = chunks_[c];
        double* const place = column + first_rows_[c];
        if (chunk.landing == nullptr)
          chunk.features.copy(slot, place);
        else if (chunk.line != first_rows_[c])
          std::memmove(place, column + chunk.line, chunk.rows * sizeof(double));
      }
    });
  }

  [[nodiscard]] double* landed(std::size_t slot) const {
    return landing_ == nullptr ? nullptr : landing_->column(slot);
  }

  // The rows of a chunk.
  void copy(const CsvChunk& chunk, std::size_t slot, linalg::Storage storage, std::byte* out) const {
    if (chunk.landing != nullptr && landed(slot) != nullptr)
      std::memcpy(out, landed(slot) + chunk.line, chunk.rows * sizeof(double));  // which is why it landed
    else
      chunk.features.copy(slot, storage, out);
  }

  // Dense columns get their place now and their values some columns at a time.
  void build_numbers(std::size_t slot, linalg::ColumnsBuilder& builder) {
    PackedColumns::Summary all;
    std::size_t nonzeros = 0;
    for (const auto& chunk : chunks_) {
      if (chunk.rows == 0) continue;
      all.storage = std::max(all.storage, chunk.features.summary(slot).storage);
      nonzeros += chunk.features.summary(slot).nonzeros;
    }
    if (closed_up_ && landed(slot) != nullptr) {
      if (builder.append_dense_at(landed(slot), nonzeros)) return;
      builder.append_dense({landed(slot), rows_});
      return;
    }
    if (std::byte* at = builder.append_dense(all.storage, nonzeros); at != nullptr) {
      const std::size_t width = linalg::width(std::max(all.storage, linalg::Storage::kInt8));
      waiting_.push_back({slot, all.storage, width, at});
      waiting_bytes_ += width * rows_;
      if (waiting_bytes_ > kFilledTogether) fill_waiting();
      return;
    }
    gather(slot);
    builder.append_dense(gathered_);
  }

  // Chunk by chunk, so that what a chunk kept of these columns goes as soon as they have it.
  void fill_waiting() {
    if (waiting_.empty()) return;
    parallel_chunks(chunks_.size(), 1, [&](std::size_t c, std::size_t) {
      CsvChunk& chunk = chunks_[c];
      for (const Waiting& column : waiting_)
        copy(chunk, column.slot, column.storage, column.at + first_rows_[c] * column.width);
      chunk.features.release_before(waiting_.back().slot + 1);
    });
    waiting_.clear();
    waiting_bytes_ = 0;
  }

  void gather(std::size_t slot) {
    fill_waiting();
    gathered_.resize(rows_);
    double* out = gathered_.data();
    for (auto& chunk : chunks_) {
      copy(chunk, slot, linalg::Storage::kFloat64, reinterpret_cast<std::byte*>(out));
      chunk.features.release_before(slot + 1);
      out += chunk.rows;
    }
  }

  // The gathered column, whose codes stand for two words, as 0 and 1.
  void append_boolean(const std::vector<std::string>& words, const std::vector<std::vector<Index>>& code_of,
                      linalg::ColumnsBuilder& builder) {
    double* next = gathered_.data();
    for (std::size_t c = 0; c < chunks_.size(); ++c)
      for (std::size_t i = 0; i < chunks_[c].rows; ++i, ++next)
        *next = boolean_word(words[static_cast<std::size_t>(code_of[c][static_cast<std::size_t>(*next)])]);
    builder.append_dense(gathered_);
  }

  // Rows of each level, by its code; of the gathered column.
  std::vector<std::size_t> rows_of(const MergedLevels& merged) const {
    std::vector<std::size_t> rows(merged.names.size());
    const double* next = gathered_.data();
    for (std::size_t c = 0; c < chunks_.size(); ++c)
      for (std::size_t i = 0; i < chunks_[c].rows; ++i, ++next)
        if (*next >= 0) ++rows[static_cast<std::size_t>(merged.code_of[c][static_cast<std::size_t>(*next)])];
    return rows;
  }

  Result<void> build_category(std::size_t j, linalg::ColumnsBuilder& builder) {
    const CsvColumn& column = table_.plan.columns[j];
    ColumnSchema& declared = table_.plan.schema.columns[column.schema];
    std::vector<std::vector<Index>> code_of;
    if (column.open_levels) {
      MergedLevels merged = merge_levels(
          chunks_, [&](const CsvChunk& chunk) -> const LevelTable& { return chunk.found[column.category]; },
          [](const std::string& level) { return level; });
      const bool overflowed =
          merged.names.size() > kMostFoundLevels ||
          std::any_of(chunks_.begin(), chunks_.end(), [&](const CsvChunk& c) { return c.overflowed[column.category]; });
      if (overflowed) {
        if (!table_.plan.lenient)
          return fail(bad_input(
              {file_name_, 0, column.name},
              fmt::format("has more than {} different values; a schema can list its levels, or declare it id or ignore",
                          kMostFoundLevels)));
        table_.overflowed[j] = true;
        return {};
      }
      if (declared.min_count > 0) put_rare_last(rows_of(merged), declared, merged);
      if (declared.rare.empty()) declared.levels = merged.names;
      declared.confirmed = false;
      // The next file gets the same columns: without a missing cell here there is no column for one.
      if (column.missing == Missing::kLevel && table_.counts[j].missing == 0) declared.missing = Missing::kZero;
      code_of = std::move(merged.code_of);
      // As describe drafts it. A cell that is missing would have to be one of the two, and keeps them categories.
      if (table_.plan.guessed && table_.counts[j].missing == 0 && !table_.plan.lenient && is_boolean(merged.names)) {
        append_boolean(merged.names, code_of, builder);
        declared.type = ColumnType::kBoolean;
        declared.unknown = UnknownLevel::kByUse;
        declared.missing = Missing::kError;
        if (boolean_word(merged.names[0]) == 1) std::swap(declared.levels[0], declared.levels[1]);
        names_.push_back(column.name);
        bounds_.push_back(1.0);
        table_.levels[j] = declared.levels;
        return {};
      }
    }
    // Levels, then what the rare ones share, then what is missing.
    const std::vector<std::string>& levels = declared.levels;
    const auto listed = static_cast<Index>(levels.size());
    const Index other = declared.has_other() ? 1 : 0;
    const bool missing_level =
        column.missing == Missing::kLevel && (table_.counts[j].missing > 0 || !column.open_levels);
    std::vector<Index> codes;
    codes.reserve(rows_);
    const double* next = gathered_.data();
    for (std::size_t c = 0; c < chunks_.size(); ++c)
      for (std::size_t i = 0; i < chunks_[c].rows; ++i) {
        auto code = static_cast<Index>(*next++);
        if (code >= 0 && !code_of.empty()) code = code_of[c][static_cast<std::size_t>(code)];
        if (code == kMissingLevel)
          codes.push_back(listed + other);
        else
          codes.push_back(code == kOtherLevel || code >= listed ? listed : code);
      }
    builder.append_categories(codes, listed + other + (missing_level ? 1 : 0));
    for (const auto& level : levels) names_.push_back(column.name + "=" + level);
    if (other > 0) names_.push_back(column.name + "=(other)");
    if (missing_level) names_.push_back(column.name + "=(missing)");
    bounds_.resize(names_.size(), 1.0);
    table_.levels[j] = levels;
    return {};
  }

  Result<void> build_labels() {
    if (!table_.plan.has_label) return {};
    const auto at = std::find_if(table_.plan.columns.begin(), table_.plan.columns.end(), [](const CsvColumn& column) {
      return column.kind == CellKind::kRealLabel || column.kind == CellKind::kClassLabel;
    });
    const ColumnSchema& declared = table_.plan.schema.columns[at->schema];
    RawLabels raw;
    raw.values.reserve(rows_);
    std::vector<std::vector<Index>> code_of;
    if (at->kind == CellKind::kClassLabel) {
      raw.names = at->levels.names();
      if (at->open_levels) {
        MergedLevels merged = merge_levels(
            chunks_, [](const CsvChunk& chunk) -> const LevelTable& { return chunk.classes; },
            [](const std::string& level) { return class_name(level); });
        raw.names = merged.names;
        code_of = std::move(merged.code_of);
      }
    }
    for (std::size_t c = 0; c < chunks_.size(); ++c) {
      for (const double value : chunks_[c].labels)
        raw.values.push_back(code_of.empty() ? value : code_of[c][static_cast<std::size_t>(value)]);
      chunks_[c].labels = {};
    }
    table_.levels[static_cast<std::size_t>(at - table_.plan.columns.begin())] = raw.names;
    if (table_.plan.lenient) return {};
    if (at->kind == CellKind::kRealLabel) move_to_bounds(raw.values, at->lower, at->upper, table_.data.labels);
    std::vector<double> as_read = std::move(table_.data.labels.as_read);
    LabelRules rules{.kind = options_.labels,
                     .positive = options_.positive,
                     .classes = options_.classes,
                     .absent_classes = options_.absent_classes,
                     .place = {file_name_, 0, at->name}};
    // Levels of a declared label: the second of two is positive, several are classes in that order.
    if (rules.classes.empty() && rules.positive.empty() && !declared.levels.empty()) {
      const bool both_known =
          options_.labels == LabelKind::kBinary && declared.levels.size() == 2 && options_.absent_classes;
      if (options_.labels == LabelKind::kClasses || both_known)
        for (const auto& level : declared.levels) rules.classes.push_back(class_name(level));
      else if (options_.labels == LabelKind::kBinary && declared.levels.size() == 2)
        rules.positive = {declared.levels[1]};
    }
    if (at->kind == CellKind::kClassLabel && !at->open_levels && !options_.absent_classes) drop_absent_classes(raw);
    PARLEY_TRY(auto labels, make_labels(std::move(raw), rules));
    table_.data.labels = std::move(labels.labels);
    table_.data.labels.as_read = std::move(as_read);
    table_.data.notes.insert(table_.data.notes.end(), labels.notes.begin(), labels.notes.end());
    return {};
  }

  void gather_keys() {
    for (const std::size_t j : table_.plan.by_schema()) {
      const CsvColumn& column = table_.plan.columns[j];
      if (column.kind != CellKind::kKey) continue;
      KeyText& keys = table_.data.keys.emplace_back(column.name);
      std::size_t bytes = 0;
      for (const CsvChunk& chunk : chunks_) bytes += chunk.keys[column.key].bytes();
      keys.reserve(rows_, bytes);
      for (CsvChunk& chunk : chunks_) {
        keys.append(chunk.keys[column.key]);
        chunk.keys[column.key] = {};
      }
    }
  }

  void write_notes() {
    std::vector<std::string>& notes = table_.data.notes;
    if (table_.plan.guessed && !table_.plan.lenient)
      notes.push_back(fmt::format("no schema: types of columns were {}, and nothing about them is public",
                                  options_.catalogue.empty() ? "guessed from the data" : "taken from the catalogue"));
    if (table_.data.dropped > 0)
      notes.push_back(counted(table_.data.dropped, "row with a missing value was dropped",
                              "rows with a missing value were dropped"));
    if (table_.data.clipped > 0)
      notes.push_back(counted(table_.data.clipped, "value beyond its bound was clipped to it",
                              "values beyond their bound were clipped to it"));
    std::vector<std::string> constant;
    // Nothing new about a table of one row, or one that is read for a model.
    const bool tells = rows_ > 1 && !options_.columns;
    for (std::size_t j = 0; j < table_.plan.columns.size(); ++j) {
      const CsvColumn& column = table_.plan.columns[j];
      const CellCounts& counts = table_.counts[j];
      if (counts.unknown > 0)
        notes.push_back(fmt::format("column '{}': {}", column.name,
                                    counted(counts.unknown, "cell holds a level that is not listed, and counts as none",
                                            "cells hold levels that are not listed, and count as none")));
      if (!tells || counts.missing > 0) continue;
      if (column.is_number() && counts.smallest == counts.largest) constant.push_back(printable(column.name, 40));
      if (column.kind == CellKind::kCategory && column.open_levels && table_.levels[j].size() == 1)
        constant.push_back(printable(column.name, 40));
    }
    if (!constant.empty()) {
      const std::size_t count = constant.size();
      if (count > 5) constant.resize(5);
      notes.push_back(fmt::format("{} the same value in every row: {}{}", counted(count, "column has", "columns have"),
                                  fmt::join(constant, ", "), count > 5 ? ", ..." : ""));
    }
  }

  std::vector<CsvChunk> chunks_;
  std::unique_ptr<Landing> landing_;
  // columns that landed are whole; false when there were more rows than expected, or none of them
  bool closed_up_ = false;
  const std::string& file_name_;
  const LoadOptions& options_;
  CsvTable table_;
  std::size_t rows_ = 0;
  std::vector<std::size_t> first_rows_;  // of the chunks
  std::vector<std::string> names_;
  std::vector<double> bounds_;
  std::vector<double> gathered_;  // one column
  struct Waiting {
    std::size_t slot;
    linalg::Storage storage;
    std::size_t width;
    std::byte* at;
  };
  std::vector<Waiting> waiting_;  // dense columns without their values, in the order of their slots
  std::size_t waiting_bytes_ = 0;
};

}  // namespace

Result<std::vector<std::string>> csv_names(const OpenBytes& open, const std::string& file_name, const Schema* schema) {
  PARLEY_TRY(auto bytes, open());
  ChunkReader reader(std::move(bytes));
  PARLEY_TRY(CsvLayout layout, look_ahead(reader, file_name, {schema, ""}));
  return std::move(layout.names);
}

Result<CsvTable> read_csv_table(const OpenBytes& open, const std::string& file_name, const LoadOptions& options,
                                bool lenient) {
  PARLEY_TRY(auto bytes, open());
  ChunkReader reader(std::move(bytes));
  const Schema* schema = options.schema ? &*options.schema : nullptr;
  PARLEY_TRY(CsvLayout layout, look_ahead(reader, file_name, {schema, options.label}));
  PARLEY_TRY(CsvPlan plan, plan_columns(layout, options, file_name, lenient));
  plan.notes.insert(plan.notes.begin(), layout.notes.begin(), layout.notes.end());
  reader.skip(layout.data_begin);
  // Counts do not depend on the order of chunks, so there is one for the file and not one a chunk.
  std::vector<CellCounts> counts(plan.columns.size());
  std::mutex counting;
  std::unique_ptr<Landing> landing;  // made by whoever has parsed the first chunk
  std::atomic<const Landing*> ready{nullptr};
  const std::size_t whole = reader.left();
  std::size_t lines = 0;
  PARLEY_TRY(auto chunks,
             parse_chunks<CsvChunk, CsvWorkspace>(
                 reader, {file_name, layout.data_line},
                 [&](std::string_view text) { return cut_at_record(text, layout.delimiter, layout.comment); },
                 [&](std::string_view text, CsvChunk& out, CsvWorkspace& workspace) {
                   parse_csv_chunk(text, layout, plan, out, workspace);
                   if (out.line == 0 && out.error == nullptr && whole > 0) {
                     landing = Landing::make({&out.features, out.rows, text.size()}, whole);
                     ready.store(landing.get(), std::memory_order_release);
                   }
                   const std::lock_guard guard(counting);
                   for (std::size_t j = 0; j < counts.size(); ++j) counts[j].add(out.counts[j]);
                   out.counts = {};
                 },
                 [&](std::string_view text, CsvChunk& out) {
                   const std::size_t here = count_lines(text);
                   const Landing* const place = ready.load(std::memory_order_acquire);
                   if (place != nullptr && lines + here <= place->capacity()) out.landing = place;
                   out.line = lines;
                   lines += here;
                 }));
  return Assembly(std::move(chunks), std::move(counts), std::move(plan), std::move(layout), file_name, options,
                  std::move(landing))
      .run();
}

Result<Dataset> read_csv(const OpenBytes& open, const std::string& file_name, const LoadOptions& options) {
  PARLEY_TRY(CsvTable table, read_csv_table(open, file_name, options, false));
  return std::move(table.data);
}

}  // namespace parley::data
