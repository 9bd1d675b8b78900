// Writing tables: CSV and LIBSVM, packed by the ending of the name (.gz, .zst, .xz).
//
// Files of one command appear together or not at all: each is written under a temporary name in its
// folder, and the names are given only when every byte of every file is on its way to the disk.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parley/core/result.h"
#include "parley/core/threads.h"
#include "parley/linalg/matrix.h"

namespace parley::data {

struct Dataset;

enum class TableFormat { kCsv, kLibsvm };

struct WrittenTable {
  std::filesystem::path path;
  std::uintmax_t bytes = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;  // features; keys, ids and labels are not counted
};

enum class Packing { kNone, kGzip, kZstd, kXz };
Packing packing_of(const std::filesystem::path& path);  // by ending; kNone for any other
std::string without_packing(std::string name);          // "a.csv.gz" -> "a.csv"

// The shortest decimal text that reads back as the same double.
void append_number(std::string& out, double value);
void append_integer(std::string& out, std::int64_t value);

// A cell of text, quoted only where the format asks for it.
void append_cell(std::string& out, std::string_view cell, char delimiter = ',');

class OutputFile {
 public:
  OutputFile(OutputFile&&) noexcept;
  OutputFile& operator=(OutputFile&&) noexcept;
  ~OutputFile();

  Result<void> write(std::string_view bytes);
  [[nodiscard]] const std::filesystem::path& path() const;
  [[nodiscard]] std::uintmax_t bytes() const;  // on disk, after commit

 private:
  friend class Outputs;
  struct State;
  explicit OutputFile(std::unique_ptr<State> state);
  Result<void> finish();
  Result<void> rename();
  std::unique_ptr<State> state_;
};

enum class Existing { kRefuse, kReplace };

class Outputs {
 public:
  // `inputs` are never written over, whatever else may be replaced.
  explicit Outputs(Existing existing, std::vector<std::string> inputs = {});
  Outputs(const Outputs&) = delete;
  Outputs& operator=(const Outputs&) = delete;
  ~Outputs();  // what was not committed disappears, made folders too

  // Makes the folder (and its parents) when it is not there.
  Result<void> make_folder(const std::filesystem::path& folder);
  // Refuses a name that is taken, by a file unless those may be replaced or by an output of this object. References
  // stay valid.
  Result<OutputFile*> open(const std::filesystem::path& path);
  Result<void> write_whole(const std::filesystem::path& path, std::string_view content);
  Result<void> commit();

  // For a program that is told to end: what no object has committed disappears, and nothing can be opened or committed
  // after it.
  static void abandon_all();

 private:
  void abandon();
  Existing existing_;
  std::vector<std::string> inputs_;
  std::vector<std::unique_ptr<OutputFile>> files_;
  std::vector<std::filesystem::path> made_folders_;
  bool committed_ = false;
};

// append(row, text) adds one row with its line end and depends on nothing but the row number. Rows are
// made by all threads and written in order.
template <class Append>
Result<void> write_rows(OutputFile& file, std::size_t rows, std::size_t bytes_per_row, const Append& append) {
  constexpr std::size_t kPieceBytes = 1 << 18;
  const std::size_t grain = std::clamp<std::size_t>(kPieceBytes / std::max<std::size_t>(1, bytes_per_row), 1, 4096);
  const std::size_t wave = grain * 8 * static_cast<std::size_t>(std::max(1, thread_count()));
  std::vector<std::string> pieces;
  for (std::size_t first = 0; first < rows; first += wave) {
    const std::size_t count = std::min(wave, rows - first);
    pieces.resize(chunk_count(count, grain));
    parallel_chunks(count, grain, [&](std::size_t begin, std::size_t end) {
      std::string& text = pieces[begin / grain];
      text.clear();
      for (std::size_t row = begin; row < end; ++row) append(first + row, text);
    });
    for (const std::string& text : pieces) PARLEY_CHECK(file.write(text));
  }
  return {};
}

// Label first, then the features by name; an id column when there are ids.
Result<void> write_csv(OutputFile& file, const Dataset& table, const std::string& label_name = "y");

// Columns are numbered from 1, or from 0.
Result<void> write_libsvm(OutputFile& file, const Dataset& table, int first_index = 1);

}  // namespace parley::data
