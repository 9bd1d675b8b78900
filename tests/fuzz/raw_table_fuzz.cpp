#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "parley/data/raw_table.h"
#include "tests/fuzz/properties.h"

using namespace parley;

namespace {

bool lies_within(std::string_view part, std::string_view whole) {
  return part.empty() || (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

void check_cells(const data::RawTable& table) {
  std::vector<std::string_view> cells;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    table.cells(row, cells);
    fuzz::require(cells.size() == table.names().size(), "a cell for every column");
    for (const std::string_view cell : cells) {
      fuzz::require(lies_within(cell, table.record(row)), "a cell is bytes of its record");
      fuzz::require(table.content(cell).size() <= cell.size(), "a cell's content is no longer than the cell");
    }
  }
}

void check_entries(const data::RawTable& table) {
  std::vector<data::RawEntry> entries;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    fuzz::require(lies_within(table.label(row), table.record(row)), "a label is bytes of its record");
    table.entries(row, entries);
    for (const data::RawEntry& entry : entries) {
      fuzz::require(entry.index >= table.first_index() && entry.index <= table.last_index(),
                    "an index lies within the table");
      fuzz::require(lies_within(entry.value, table.record(row)), "a value is bytes of its record");
    }
  }
}

}  // namespace

// The first byte chooses the format, the rest is the file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  constexpr data::Format kFormats[] = {data::Format::kDetect, data::Format::kCsv, data::Format::kLibsvm};
  const std::string content(reinterpret_cast<const char*>(bytes) + 1, size - 1);
  const auto table = data::RawTable::from_text(content, "f", kFormats[bytes[0] % 3]);
  if (!table) {
    fuzz::check_error(table.error());
    return 0;
  }
  fuzz::require(table->rows() > 0, "a table has records");
  std::size_t line = 0;
  for (std::size_t row = 0; row < table->rows(); ++row) {
    fuzz::require(lies_within(table->record(row), table->text()), "a record is bytes of the file");
    fuzz::require(table->line(row) > line, "records stand in the order of their lines");
    line = table->line(row);
  }
  if (table->is_libsvm())
    check_entries(*table);
  else
    check_cells(*table);
  return 0;
}
