// A table as the bytes of its file: records and cells are views of the text, never parsed numbers, so that
// what is split or converted keeps its digits, quotes and blanks.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "parley/core/result.h"
#include "parley/data/csv_layout.h"
#include "parley/data/schema.h"

namespace parley::data {

struct RawEntry {  // of a LIBSVM record
  std::uint32_t index = 0;
  std::string_view value;
};

class RawTable {
 public:
  // Unpacks the file and finds its records; refuses records with more or fewer cells than the header. A schema says how
  // a CSV file is written, as it does when the table is loaded, and names the columns of one without a header.
  static Result<RawTable> read(const std::string& path, Format format = Format::kDetect,
                               const Schema* schema = nullptr);
  static Result<RawTable> from_text(std::string text, const std::string& name, Format format = Format::kDetect,
                                    const Schema* schema = nullptr);

  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] bool is_libsvm() const { return libsvm_; }
  [[nodiscard]] std::size_t rows() const { return records_.size(); }
  [[nodiscard]] std::size_t line(std::size_t row) const { return records_[row].line; }
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  [[nodiscard]] std::string_view text() const { return text_; }  // the whole file, unpacked

  // Bytes of the header and of a record without the line end, and the line end of the file.
  [[nodiscard]] std::string_view header() const { return view(header_begin_, header_size_); }
  [[nodiscard]] std::string_view record(std::size_t row) const { return view(records_[row].begin, records_[row].size); }
  [[nodiscard]] std::string_view line_end() const { return line_end_; }

  // CSV.
  [[nodiscard]] char delimiter() const { return layout_.delimiter; }
  [[nodiscard]] const std::vector<std::string>& names() const { return layout_.names; }
  void cells(std::size_t row, std::vector<std::string_view>& raw) const;  // with their quotes
  [[nodiscard]] std::string content(std::string_view raw_cell) const;     // without quotes and edge blanks

  // LIBSVM.
  [[nodiscard]] std::string_view label(std::size_t row) const;
  void entries(std::size_t row, std::vector<RawEntry>& entries) const;
  [[nodiscard]] std::uint32_t first_index() const { return first_index_; }  // 0 or 1
  [[nodiscard]] std::uint32_t last_index() const { return last_index_; }    // 0 when there are no entries

 private:
  struct Record {
    std::size_t begin = 0;
    std::size_t size = 0;
    std::size_t line = 0;
  };
  [[nodiscard]] std::string_view view(std::size_t begin, std::size_t size) const {
    return std::string_view(text_).substr(begin, size);
  }
  Result<void> find_csv_records(const Schema* schema);
  Result<void> find_libsvm_records();

  std::string file_;
  std::string text_;
  bool libsvm_ = false;
  CsvLayout layout_;
  std::size_t header_begin_ = 0;
  std::size_t header_size_ = 0;
  std::string line_end_ = "\n";
  std::vector<Record> records_;
  std::uint32_t first_index_ = 1;
  std::uint32_t last_index_ = 0;
  std::vector<std::string> notes_;
};

// Column with this name, or an error that suggests the nearest.
Result<std::size_t> find_column(const RawTable& table, const std::string& name, const char* option);

// By convention when `name` is empty: y, label, target, class. SIZE_MAX when there is none. "first" and
// "last" name a column of a file without header.
Result<std::size_t> label_column(const RawTable& table, const std::string& name);
// Likewise: id, sid.
Result<std::size_t> id_column(const RawTable& table, const std::string& name);

}  // namespace parley::data
