// The hot loop of a table of numbers: cells that are decimal digits with a sign and a point at most, one
// after the other, each straight into its column.
#pragma once
#include <cstddef>
#include <span>

namespace parley::data {

struct PlainCells {
  std::size_t count = 0;       // cells that were read
  const char* next = nullptr;  // the first cell that was not
};

// Cell k of [begin, end), a part of the text, goes to columns[k][row]. Stops before a column that is null and before a
// cell that is anything but a number with the delimiter right behind it, or that lies close to the end of the text. The
// delimiter is not a character of a number.
PlainCells read_plain_cells(const char* text, const char* begin, const char* end, char delimiter,
                            std::span<double* const> columns, std::size_t row);

}  // namespace parley::data
