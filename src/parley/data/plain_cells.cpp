#include "parley/data/plain_cells.h"

#include <algorithm>

#include "parley/data/number.h"
#include "parley/data/wide_digits.h"

namespace parley::data {

namespace {

PlainCells read_narrow(const char* p, const char* end, char delimiter, std::span<double* const> columns,
                       std::size_t row) {
  std::size_t k = 0;
  for (; k < columns.size() && columns[k] != nullptr; ++k) {
    const ParsedNumber parsed = parse_number(p, end);
    if (parsed.error != NumberError::kNone || parsed.end == end || *parsed.end != delimiter) break;
    columns[k][row] = parsed.value;
    p = parsed.end + 1;
  }
  return {k, p};
}

#if defined(__x86_64__)

PARLEY_WIDE_DIGITS PlainCells read_wide(const char* const text, const char* p, const char* const end, char delimiter,
                                        std::span<double* const> columns, std::size_t row) {
  wide::Borders borders;
  std::size_t k = 0;
  // Cells are read from their ends backwards: those at the beginning of the text go the narrow way.
  for (; k < columns.size() && columns[k] != nullptr && p - text < wide::kReachBack; ++k) {
    const PlainCells one = read_narrow(p, end, delimiter, columns.subspan(k, 1), row);
    if (one.count == 0) return {k, p};
    p = one.next;
  }
  while (k < columns.size() && end - p > wide::kReach) {
    borders.find(p, end - wide::kReach, delimiter, delimiter, std::min(wide::Borders::kMost, columns.size() - k));
    if (borders.count == 0) break;
    const char* const base = p;
    for (std::size_t b = 0; b < borders.count; ++b, ++k) {
      if (k == columns.size() || columns[k] == nullptr) return {k, p};
      const char* const stop = base + borders.at[b];
      if (!wide::plain_decimal(p, stop, columns[k][row])) return {k, p};
      p = stop + 1;
    }
  }
  // What is left of the text is short: no words are read there.
  const PlainCells last = read_narrow(p, end, delimiter, columns.subspan(k), row);
  return {k + last.count, last.next};
}

#endif

}  // namespace

PlainCells read_plain_cells(const char* text, const char* begin, const char* end, char delimiter,
                            std::span<double* const> columns, std::size_t row) {
#if defined(__x86_64__)
  if (have_wide_digits()) return read_wide(text, begin, end, delimiter, columns, row);
#endif
  return read_narrow(begin, end, delimiter, columns, row);
}

}  // namespace parley::data
