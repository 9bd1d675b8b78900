#include "parley/data/raw_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "parley/core/text.h"
#include "parley/data/conventions.h"
#include "parley/data/database_address.h"
#include "parley/data/decompress.h"
#include "parley/data/libsvm_index.h"
#include "parley/data/number.h"
#include "parley/data/sniff.h"
#include "parley/data/table_text.h"

namespace parley::data {

namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

std::string_view without_line_end(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// The next word of a LIBSVM line, up to a comment.
std::string_view next_word(std::string_view& rest) {
  while (!rest.empty() && is_blank(rest.front())) rest.remove_prefix(1);
  std::size_t size = 0;
  while (size < rest.size() && !is_blank(rest[size]) && rest[size] != '#') ++size;
  const std::string_view word = rest.substr(0, size);
  rest.remove_prefix(size);
  return word;
}

bool is_number(std::string_view text) {
  const ParsedNumber parsed = parse_number(text.data(), text.data() + text.size());
  return parsed.error == NumberError::kNone && parsed.end == text.data() + text.size();
}

}  // namespace

Result<RawTable> RawTable::read(const std::string& path, Format format, const Schema* schema) {
  const Schema given = schema != nullptr ? *schema : Schema();
  PARLEY_TRY(auto source, open_table(path, given));
  std::string text;
  std::size_t filled = 0;
  for (;;) {
    text.resize(std::max(filled + source->size_hint() + 1, filled + filled / 2 + (std::size_t{1} << 20)));
    const std::size_t wanted = text.size() - filled;
    PARLEY_TRY(const std::size_t got, source->read(std::span(text).subspan(filled)));
    filled += got;
    if (got < wanted) break;
  }
  text.resize(filled);
  if (!is_database(path)) return from_text(std::move(text), path, format, schema);
  const Schema written = schema_of_text(path, given);
  return from_text(std::move(text), path, Format::kCsv, &written);
}

Result<RawTable> RawTable::from_text(std::string text, const std::string& name, Format format, const Schema* schema) {
  RawTable table;
  table.file_ = name;
  table.text_ = std::move(text);
  if (table.text_.starts_with("\xEF\xBB\xBF")) table.text_.erase(0, 3);
  if (format == Format::kDetect && schema != nullptr) format = schema->format;
  if (format == Format::kDetect) {
    PARLEY_TRY(format, sniff_format([&] { return open_bytes(std::string_view(table.text_), name); }, name));
  }
  table.libsvm_ = format == Format::kLibsvm;
  PARLEY_CHECK(table.libsvm_ ? table.find_libsvm_records() : table.find_csv_records(schema));
  if (table.records_.empty()) return fail(bad_input({name, 0, ""}, "is empty: it has no records"));
  if (table.records_.size() > 0xFFFFFFFFu) return fail(bad_input({name, 0, ""}, "has more than 2^32 records"));
  return table;
}

Result<void> RawTable::find_csv_records(const Schema* schema) {
  const std::string_view all(text_);
  PARLEY_TRY(layout_, find_layout(all, true, file_, {.schema = schema, .label = {}}));
  notes_ = layout_.notes;
  if (!layout_.header && schema != nullptr && !schema->columns.empty()) {
    if (schema->columns.size() != layout_.names.size())
      return fail(bad_input({file_, layout_.data_line, ""},
                            fmt::format("the schema has {}, the file has {}", counted(schema->columns.size(), "column"),
                                        layout_.names.size())));
    for (std::size_t j = 0; j < layout_.names.size(); ++j) layout_.names[j] = schema->columns[j].name;
  }
  if (const std::size_t feed = all.find('\n'); feed != std::string_view::npos && feed > 0 && all[feed - 1] == '\r')
    line_end_ = "\r\n";
  if (layout_.header) {
    // The header is the record that ends where the data begin.
    const std::string_view before = without_line_end(all.substr(0, layout_.data_begin));
    const std::size_t feed = before.rfind('\n');
    header_begin_ = feed == std::string_view::npos ? 0 : feed + 1;
    // A quoted name may hold a line feed: then everything before the data counts, but for lines that were left out.
    if (std::count(before.begin() + static_cast<std::ptrdiff_t>(header_begin_), before.end(), '"') % 2 != 0) {
      header_begin_ = 0;
      for (std::size_t k = 0; k < layout_.preamble_lines; ++k) header_begin_ = before.find('\n', header_begin_) + 1;
    }
    header_size_ = before.size() - header_begin_;
  }
  const std::string_view text = all.substr(layout_.data_begin);
  CellCursor cursor(text, layout_.delimiter);
  while (!cursor.at_end()) {
    if (cursor.skip_line_without_record(layout_.comment)) continue;
    const auto begin = static_cast<std::size_t>(cursor.position() - text.data());
    const std::size_t line = layout_.data_line + cursor.line_feeds();
    std::size_t count = 0;
    std::string_view cell;
    do {
      const auto problem = cursor.read(cell);
      ++count;
      if (problem != CellCursor::Problem::kNone)
        return fail(bad_input(
            {file_, line, fmt::format("column {}", count)},
            problem == CellCursor::Problem::kTextAfterQuote ? "text follows a closing quote" : "a quote is not closed",
            cell));
    } while (!cursor.at_record_end());
    if (count != layout_.names.size())
      return fail(bad_input({file_, line, ""},
                            fmt::format("must have {} like the first record", counted(layout_.names.size(), "cell")),
                            std::to_string(count)));
    const auto end = static_cast<std::size_t>(cursor.position() - text.data());
    records_.push_back({layout_.data_begin + begin, without_line_end(text.substr(begin, end - begin)).size(), line});
  }
  return {};
}

void RawTable::cells(std::size_t row, std::vector<std::string_view>& raw) const {
  raw.clear();
  const std::string_view text = record(row);
  // With its line end, as it was read when the records were found: a carriage return before it would pass for one.
  const char* line_end = text.data() + text.size();
  const char* const file_end = text_.data() + text_.size();
  if (line_end != file_end && *line_end == '\r') ++line_end;
  if (line_end != file_end && *line_end == '\n') ++line_end;
  CellCursor cursor({text.data(), static_cast<std::size_t>(line_end - text.data())}, layout_.delimiter);
  std::string_view cell;
  do {
    const char* const begin = cursor.position();
    cursor.read(cell);
    const char* end = cursor.position();
    if (cursor.at_record_end())
      end = text.data() + text.size();
    else if (layout_.delimiter != kBlankRuns)
      --end;
    std::string_view bytes(begin, static_cast<std::size_t>(end - begin));
    if (layout_.delimiter == kBlankRuns)
      while (!bytes.empty() && is_blank(bytes.back())) bytes.remove_suffix(1);
    raw.push_back(bytes);
  } while (!cursor.at_record_end());
}

std::string RawTable::content(std::string_view raw_cell) const {
  CellCursor cursor(raw_cell, layout_.delimiter);
  std::string_view cell;
  cursor.read(cell);
  return std::string(cell);
}

Result<void> RawTable::find_libsvm_records() {
  const std::string_view all(text_);
  bool zero_seen = false;
  bool query_seen = false;
  std::size_t line = 0;
  for (std::size_t begin = 0; begin < all.size();) {
    const std::size_t feed = std::min(all.find('\n', begin), all.size() - 1);
    const std::string_view whole = without_line_end(all.substr(begin, feed + 1 - begin));
    ++line;
    std::string_view rest = whole;
    if (line == 1 && all.substr(0, feed + 1).ends_with("\r\n")) line_end_ = "\r\n";
    const std::string_view label_word = next_word(rest);
    if (!label_word.empty()) {
      if (!is_number(label_word)) return fail(bad_input({file_, line, "label"}, "is not a number", label_word));
      records_.push_back({begin, whole.size(), line});
      std::int64_t previous = -1;
      for (std::string_view word = next_word(rest); !word.empty(); word = next_word(rest)) {
        if (word.starts_with("qid:")) {
          query_seen = true;
          continue;
        }
        std::uint32_t index = 0;
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), index);
        if (error == std::errc::invalid_argument || end == word.data() + word.size() || *end != ':')
          return fail(bad_input({file_, line, ""}, "is not of the form index:value", word));
        if (error != std::errc() || index > kLargestIndex)
          return fail(bad_input({file_, line, "index"}, largest_index_rule(), word));
        const auto value = word.substr(static_cast<std::size_t>(end + 1 - word.data()));
        if (!is_number(value)) return fail(bad_input({file_, line, std::to_string(index)}, "is not a number", value));
        if (std::int64_t{index} <= previous) return fail(bad_input({file_, line, ""}, "indices must ascend", word));
        previous = index;
        zero_seen = zero_seen || index == 0;
        last_index_ = std::max(last_index_, index);
      }
    }
    begin = feed + 1;
  }
  first_index_ = zero_seen ? 0 : 1;
  if (query_seen) notes_.emplace_back("qid: was left out");
  return {};
}

std::string_view RawTable::label(std::size_t row) const {
  std::string_view rest = record(row);
  return next_word(rest);
}

void RawTable::entries(std::size_t row, std::vector<RawEntry>& entries) const {
  entries.clear();
  std::string_view rest = record(row);
  next_word(rest);
  for (std::string_view word = next_word(rest); !word.empty(); word = next_word(rest)) {
    if (word.starts_with("qid:")) continue;
    RawEntry entry;
    const char* const colon = std::from_chars(word.data(), word.data() + word.size(), entry.index).ptr;
    entry.value = word.substr(static_cast<std::size_t>(colon + 1 - word.data()));
    entries.push_back(entry);
  }
}

Result<std::size_t> find_column(const RawTable& table, const std::string& name, const char* option) {
  const auto& names = table.names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    // A list of a thousand names helps nobody.
    const std::string near = names.size() <= 20 ? "" : closest(name, names);
    const std::string hint = names.size() <= 20 ? suggestion(name, names)
                             : near.empty()     ? std::string()
                                                : fmt::format("; did you mean '{}'?", near);
    return fail(bad_input({table.file(), 0, option}, "no column has this name" + hint, name));
  }
  return static_cast<std::size_t>(found - names.begin());
}

Result<std::size_t> label_column(const RawTable& table, const std::string& name) {
  // "first" and "last" are for files without a header; a column of that name comes first.
  const auto& names = table.names();
  if (std::find(names.begin(), names.end(), name) == names.end() && name == "first") return std::size_t{0};
  if (std::find(names.begin(), names.end(), name) == names.end() && name == "last") return names.size() - 1;
  if (!name.empty()) return find_column(table, name, "--label");
  std::size_t best = SIZE_MAX;
  for (std::size_t j = 0; j < table.names().size(); ++j) {
    const int rank = label_rank(table.names()[j]);
    if (rank >= 0 && (best == SIZE_MAX || rank < label_rank(table.names()[best]))) best = j;
  }
  return best;
}

Result<std::size_t> id_column(const RawTable& table, const std::string& name) {
  if (!name.empty()) return find_column(table, name, "--id");
  for (std::size_t j = 0; j < table.names().size(); ++j)
    if (is_id_name(table.names()[j])) return j;
  return SIZE_MAX;
}

}  // namespace parley::data
