// How a CSV file is written: its delimiter, whether it has a header, and the names of its columns. What the schema
// leaves open is found in the first records.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "parley/core/result.h"
#include "parley/data/schema.h"

namespace parley::data {

inline constexpr char kBlankRuns = ' ';  // as a delimiter: one or more blanks or tabs

// Reads the cells of a record one after the other.
//
// A cell is quoted when its first character but blanks is a quote; a quote inside it is doubled, and
// it may hold delimiters and line feeds. Blanks around an unquoted cell do not count. In any other
// place a quote is a character like others.
class CellCursor {
 public:
  CellCursor(std::string_view text, char delimiter) : p_(text.data()), end_(p_ + text.size()), delimiter_(delimiter) {}

  enum class Problem { kNone, kTextAfterQuote, kQuoteNotClosed };

  // The next cell of the record; valid until the next call. After it, at_record_end() tells whether
  // it was the record's last.
  Problem read(std::string_view& cell);
  [[nodiscard]] bool at_record_end() const { return at_record_end_; }
  [[nodiscard]] bool at_end() const { return p_ == end_; }
  [[nodiscard]] const char* position() const { return p_; }
  [[nodiscard]] std::size_t line_feeds() const { return line_feeds_; }  // passed so far

  // Skips an empty line, or one that begins with `comment`; false when there is a record here.
  bool skip_line_without_record(char comment);
  void skip_line();

 private:
  friend class CsvRows;
  void skip_blanks() {
    while (p_ != end_ && (*p_ == ' ' || (*p_ == '\t' && delimiter_ != '\t'))) ++p_;
  }
  [[nodiscard]] bool at_line_end() const {
    return p_ == end_ || *p_ == '\n' || (*p_ == '\r' && (p_ + 1 == end_ || p_[1] == '\n'));
  }
  // After a cell: over the delimiter to the next one, or over the line feed. False when neither is here.
  bool pass_border();

  const char* p_;
  const char* end_;
  char delimiter_;
  bool at_record_end_ = false;
  std::size_t line_feeds_ = 0;
  std::string unquoted_;
};

// Line feeds, and one more when the text ends without: at least as many as records.
std::size_t count_lines(std::string_view text);

// Longest prefix of whole records, for RecordCut; comment is '\0' when there is none.
std::size_t cut_at_record(std::string_view text, char delimiter, char comment);

struct CsvLayout {
  char delimiter = ',';
  bool header = false;
  char comment = '\0';
  std::vector<std::string> names;                // x0, x1, ... without a header
  std::size_t preamble_lines = 0;                // left out before the header
  std::size_t data_begin = 0;                    // offset of the first record after the header
  std::size_t data_line = 1;                     // its line number
  std::vector<std::vector<std::string>> sample;  // first records, cell by cell
  std::vector<std::string> notes;
};

struct LayoutHints {
  const Schema* schema = nullptr;  // may be null
  std::string label;               // a name that occurs in a header
};

// `start` is the beginning of the file, whole when `is_whole`.
Result<CsvLayout> find_layout(std::string_view start, bool is_whole, const std::string& file_name,
                              const LayoutHints& hints);

}  // namespace parley::data
