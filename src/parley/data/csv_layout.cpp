#include "parley/data/csv_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <map>
#include <set>

#include "parley/data/chunks.h"
#include "parley/data/conventions.h"
#include "parley/data/number.h"
#include "parley/data/utf8.h"

namespace parley::data {

namespace {

constexpr std::size_t kSampleRecords = 1000;
constexpr std::array<char, 5> kDelimiters = {'\t', ';', '|', ',', kBlankRuns};  // first wins when equally regular

// Longest prefix of the text that certainly holds whole records, whatever the delimiter.
std::string_view whole_lines(std::string_view text, bool is_whole) {
  if (is_whole) return text;
  return text.substr(0, text.rfind('\n') == std::string_view::npos ? text.size() : text.rfind('\n') + 1);
}

// Number of cells of the first records; a record that is cut off or malformed ends the count.
std::vector<std::size_t> cell_counts(std::string_view text, char delimiter, char comment, std::size_t records) {
  std::vector<std::size_t> counts;
  CellCursor cursor(text, delimiter);
  while (!cursor.at_end() && counts.size() < records) {
    if (cursor.skip_line_without_record(comment)) continue;
    std::size_t cells = 0;
    std::string_view cell;
    do {
      if (cursor.read(cell) != CellCursor::Problem::kNone) return counts;
      ++cells;
    } while (!cursor.at_record_end());
    counts.push_back(cells);
  }
  return counts;
}

std::pair<std::size_t, double> most_frequent(const std::vector<std::size_t>& counts) {
  std::map<std::size_t, std::size_t> times;
  for (const std::size_t count : counts) ++times[count];
  std::size_t best = 0;
  std::size_t best_times = 0;
  for (const auto& [count, seen] : times)
    if (seen >= best_times) {
      best = count;
      best_times = seen;
    }
  return {best, counts.empty() ? 0.0 : static_cast<double>(best_times) / static_cast<double>(counts.size())};
}

char find_delimiter(std::string_view text, char comment) {
  char best = ',';
  double best_share = 0;
  for (const char candidate : kDelimiters) {
    // Blanks occur inside the cells of other tables: they count where nothing else divides most lines.
    if (candidate == kBlankRuns && best_share >= 0.5) break;
    const auto [cells, share] = most_frequent(cell_counts(text, candidate, comment, 100));
    if (cells < 2 || share <= best_share) continue;
    best = candidate;
    best_share = share;
  }
  return best;
}

bool is_number(std::string_view cell) {
  const ParsedNumber parsed = parse_number(cell.data(), cell.data() + cell.size());
  return parsed.error == NumberError::kNone && parsed.end == cell.data() + cell.size();
}

bool has_number(const std::vector<std::string>& record) {
  return std::any_of(record.begin(), record.end(), [](const std::string& cell) { return is_number(cell); });
}

bool has_duplicate(const std::vector<std::string>& record) {
  std::set<std::string_view> seen;
  return std::any_of(record.begin(), record.end(), [&](const std::string& cell) { return !seen.insert(cell).second; });
}

// Name of column j whose header cell is `cell`.
std::string column_name(std::string_view cell, std::size_t j) {
  return cell.empty() ? fmt::format("column{}", j + 1) : as_utf8(cell);
}

bool is_header(const std::vector<std::vector<std::string>>& records, const LayoutHints& hints) {
  if (hints.schema != nullptr && hints.schema->header) return *hints.schema->header;
  const std::vector<std::string>& first = records[0];
  const auto holds = [&](const auto& known) { return std::any_of(first.begin(), first.end(), known); };
  if (hints.schema != nullptr && !hints.schema->columns.empty()) {
    std::size_t known = 0;
    for (std::size_t j = 0; j < first.size(); ++j)
      if (hints.schema->find(column_name(first[j], j)) != nullptr) ++known;
    return 2 * known >= first.size();
  }
  if (!hints.label.empty() && holds([&](const std::string& cell) { return cell == hints.label; })) return true;
  if (holds([](const std::string& cell) { return is_id_name(cell) || label_rank(cell) >= 0; })) return true;
  if (has_number(first)) return false;
  // Names over numbers are a header. Names over names are one unless a name repeats, as categories do.
  return records.size() < 2 || has_number(records[1]) || !has_duplicate(first);
}

Result<void> check_names(const CsvLayout& layout, const Place& place) {
  std::set<std::string_view> seen;
  for (const auto& name : layout.names)
    if (!seen.insert(name).second)
      return fail(bad_input({place.file, place.line, "header"}, "two columns have the same name", name));
  return {};
}

}  // namespace

CellCursor::Problem CellCursor::read(std::string_view& cell) {
  skip_blanks();
  if (p_ != end_ && *p_ == '"') {
    const char* begin = ++p_;
    bool copied = false;
    unquoted_.clear();
    while (true) {
      const void* found = p_ == end_ ? nullptr : std::memchr(p_, '"', static_cast<std::size_t>(end_ - p_));
      const char* const stop = found == nullptr ? end_ : static_cast<const char*>(found);
      line_feeds_ += static_cast<std::size_t>(std::count(p_, stop, '\n'));
      p_ = stop;
      if (found == nullptr) {
        cell = std::string_view(begin, static_cast<std::size_t>(std::min<std::ptrdiff_t>(end_ - begin, 60)));
        return Problem::kQuoteNotClosed;
      }
      ++p_;
      if (p_ == end_ || *p_ != '"') {
        if (copied) unquoted_.append(begin, stop);
        cell = copied ? std::string_view(unquoted_) : std::string_view(begin, static_cast<std::size_t>(stop - begin));
        break;
      }
      unquoted_.append(begin, p_);
      copied = true;
      begin = ++p_;
    }
    skip_blanks();
    if (delimiter_ == kBlankRuns && !at_line_end()) {
      if (p_[-1] == '"') return Problem::kTextAfterQuote;
      at_record_end_ = false;
      return Problem::kNone;
    }
    return pass_border() ? Problem::kNone : Problem::kTextAfterQuote;
  }
  const char* const begin = p_;
  if (delimiter_ == kBlankRuns)
    while (p_ != end_ && *p_ != '\n' && *p_ != ' ' && *p_ != '\t') ++p_;
  else
    while (p_ != end_ && *p_ != '\n' && *p_ != delimiter_) ++p_;
  const char* stop = p_;
  if ((p_ == end_ || *p_ == '\n') && stop != begin && stop[-1] == '\r') --stop;
  while (stop != begin && (stop[-1] == ' ' || (stop[-1] == '\t' && delimiter_ != '\t'))) --stop;
  cell = std::string_view(begin, static_cast<std::size_t>(stop - begin));
  if (delimiter_ == kBlankRuns) skip_blanks();
  pass_border();
  return Problem::kNone;
}

bool CellCursor::pass_border() {
  if (p_ != end_ && *p_ == delimiter_ && delimiter_ != kBlankRuns) {
    ++p_;
    at_record_end_ = false;
    return true;
  }
  if (!at_line_end()) {
    at_record_end_ = false;
    return delimiter_ == kBlankRuns;
  }
  if (p_ != end_ && *p_ == '\r') ++p_;
  if (p_ != end_) {
    ++p_;
    ++line_feeds_;
  }
  at_record_end_ = true;
  return true;
}

bool CellCursor::skip_line_without_record(char comment) {
  const char* q = p_;
  while (q != end_ && (*q == ' ' || *q == '\r' || (*q == '\t' && delimiter_ != '\t'))) ++q;
  const bool skipped = q == end_ || *q == '\n' || (comment != '\0' && *q == comment);
  if (skipped) skip_line();
  // In a file of blank-separated cells leading blanks are not a cell.
  else if (delimiter_ == kBlankRuns)
    p_ = q;
  return skipped;
}

void CellCursor::skip_line() {
  const void* found = p_ == end_ ? nullptr : std::memchr(p_, '\n', static_cast<std::size_t>(end_ - p_));
  line_feeds_ += found == nullptr ? 0 : 1;
  p_ = found == nullptr ? end_ : static_cast<const char*>(found) + 1;
}

std::size_t cut_at_record(std::string_view text, char delimiter, char comment) {
  const auto is_blank = [&](char c) { return c == ' ' || (c == '\t' && delimiter != '\t'); };
  std::size_t cut = 0;
  std::size_t at = 0;  // outside quotes
  while (true) {
    const std::size_t quote = text.find('"', at);
    if (const std::size_t lines = cut_at_line(text.substr(at, quote == std::string_view::npos ? quote : quote - at));
        lines > 0)
      cut = at + lines;
    if (quote == std::string_view::npos) return cut;
    if (comment != '\0') {
      const std::size_t content = text.find_first_not_of(" \t\r", cut);
      if (text[content] == comment) {
        const std::size_t line_feed = text.find('\n', quote);
        if (line_feed == std::string_view::npos) return cut;
        at = cut = line_feed + 1;
        continue;
      }
    }
    std::size_t before = quote;
    while (before > at && is_blank(text[before - 1])) --before;
    const bool opens = before == 0 || text[before - 1] == '\n' ||
                       (delimiter == kBlankRuns ? before < quote : text[before - 1] == delimiter);
    at = quote + 1;
    if (!opens) continue;
    while (true) {
      const std::size_t close = text.find('"', at);
      // The character after a closing quote decides whether it closes.
      if (close == std::string_view::npos || close + 1 == text.size()) return cut;
      at = close + 2;
      if (text[close + 1] == '"') continue;
      at = close + 1;
      break;
    }
  }
}

Result<CsvLayout> find_layout(std::string_view start, bool is_whole, const std::string& file_name,
                              const LayoutHints& hints) {
  CsvLayout layout;
  const Schema* schema = hints.schema;
  if (schema != nullptr && !schema->comment.empty()) layout.comment = schema->comment[0];
  const std::string_view all = whole_lines(start, is_whole);
  std::string_view text = all;
  std::size_t line = 1;
  const auto skip_first_line = [&] {
    text.remove_prefix(std::min(text.size(), std::min(text.find('\n'), text.size()) + 1));
    ++line;
  };
  if (schema != nullptr)
    for (int k = 0; k < schema->skip_lines; ++k) skip_first_line();

  layout.delimiter =
      schema != nullptr && !schema->delimiter.empty() ? schema->delimiter[0] : find_delimiter(text, layout.comment);

  // A preamble: lines that begin like a comment and do not have the cells of the rest.
  const auto [usual, share] = most_frequent(cell_counts(text, layout.delimiter, layout.comment, 100));
  while (text.size() > 1 && std::string_view("#%|").find(text[0]) != std::string_view::npos && usual > 1) {
    const auto counts = cell_counts(text, layout.delimiter, layout.comment, 1);
    if (counts.empty() || counts[0] == usual) break;
    layout.notes.push_back(fmt::format("line {} was taken for a comment and left out", line));
    skip_first_line();
  }

  layout.preamble_lines = line - 1;
  CellCursor cursor(text, layout.delimiter);
  std::vector<std::size_t> ends;  // offset after each record
  std::vector<std::size_t> feeds;
  while (!cursor.at_end() && layout.sample.size() < kSampleRecords) {
    if (cursor.skip_line_without_record(layout.comment)) continue;
    std::vector<std::string> record;
    std::string_view cell;
    bool whole = true;
    const std::size_t record_line = line + cursor.line_feeds();
    do {
      const CellCursor::Problem problem = cursor.read(cell);
      if (problem == CellCursor::Problem::kNone) {
        record.emplace_back(cell);
        continue;
      }
      whole = false;
      if (layout.sample.empty() && (is_whole || problem == CellCursor::Problem::kTextAfterQuote))
        return fail(bad_input(
            {file_name, record_line, fmt::format("column {}", record.size() + 1)},
            problem == CellCursor::Problem::kTextAfterQuote ? "text follows a closing quote" : "a quote is not closed",
            cell));
      break;
    } while (!cursor.at_record_end());
    if (!whole) break;
    layout.sample.push_back(std::move(record));
    ends.push_back(static_cast<std::size_t>(cursor.position() - text.data()));
    feeds.push_back(cursor.line_feeds());
  }
  if (layout.sample.empty()) return fail(bad_input({file_name, 0, ""}, "is empty: it has no records"));

  const auto before = static_cast<std::size_t>(text.data() - all.data());
  layout.header = is_header(layout.sample, hints);
  layout.data_begin = before;
  layout.data_line = line;
  if (!layout.header) {
    for (std::size_t j = 0; j < layout.sample[0].size(); ++j) layout.names.push_back(fmt::format("x{}", j));
    return layout;
  }
  layout.data_begin = before + ends[0];
  layout.data_line = line + feeds[0];
  for (std::size_t j = 0; j < layout.sample[0].size(); ++j) layout.names.push_back(column_name(layout.sample[0][j], j));
  layout.sample.erase(layout.sample.begin());
  // Tables written with row names but no name for them have a header that is one cell short.
  if (!layout.sample.empty() && layout.sample[0].size() == layout.names.size() + 1 && layout.names.size() > 1) {
    layout.names.insert(layout.names.begin(), "id");
    layout.notes.emplace_back("the header is one name short: the first column was taken for row names (id)");
  }
  PARLEY_CHECK(check_names(layout, {file_name, layout.data_line - 1, ""}));
  return layout;
}

// A register of bytes at a time.
std::size_t count_lines(std::string_view text) {
  constexpr std::size_t kLanes = 32;
  constexpr std::size_t kMostTurns = 255;  // that a byte can count
  std::size_t lines = text.empty() || text.back() == '\n' ? 0 : 1;
  const char* p = text.data();
  for (std::size_t left = text.size() / kLanes; left > 0;) {
    std::uint8_t found[kLanes] = {};
    const std::size_t turns = std::min(left, kMostTurns);
    for (std::size_t turn = 0; turn < turns; ++turn, p += kLanes)
      for (std::size_t lane = 0; lane < kLanes; ++lane)
        found[lane] = static_cast<std::uint8_t>(found[lane] + (p[lane] == '\n' ? 1 : 0));
    for (const std::uint8_t count : found) lines += count;
    left -= turns;
  }
  return lines + static_cast<std::size_t>(std::count(p, text.data() + text.size(), '\n'));
}

}  // namespace parley::data
