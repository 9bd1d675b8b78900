// Parses a chunk of CSV records into packed columns.
#pragma once
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "parley/data/chunks.h"
#include "parley/data/csv_layout.h"
#include "parley/data/csv_plan.h"
#include "parley/data/key_text.h"
#include "parley/data/landing.h"
#include "parley/data/packed_columns.h"
#include "parley/linalg/matrix.h"

namespace parley::data {

// What the cells of a column were.
struct CellCounts {
  std::size_t missing = 0;
  std::size_t clipped = 0;
  std::size_t unknown = 0;                                    // levels that are not listed and left out
  double smallest = std::numeric_limits<double>::infinity();  // of numbers in rows that are kept, before clipping
  double largest = -std::numeric_limits<double>::infinity();
  bool whole = true;  // all numbers are integers

  void add(const CellCounts& other);
};

inline constexpr linalg::Index kNoLevel = -1;
inline constexpr linalg::Index kMissingLevel = -2;
inline constexpr linalg::Index kOtherLevel = -3;

struct CsvChunk : ParsedChunk {
  std::size_t line = 0;              // lines of records before it, at least as many as records
  const Landing* landing = nullptr;  // where some columns are written straight to their place, if any
  std::size_t rows = 0;
  std::size_t dropped = 0;
  PackedColumns features;         // by slot: numbers; codes of levels, kNoLevel or kMissingLevel
  std::vector<LevelTable> found;  // by category: levels of open ones
  std::vector<bool> overflowed;   // by category: more than kMostFoundLevels
  std::vector<double> labels;     // numbers, or positions of classes
  LevelTable classes;             // of an open label
  std::vector<double> weights;
  std::vector<std::string> ids;
  std::vector<KeyText> keys;       // by key
  std::vector<CellCounts> counts;  // by file column
};

using CsvWorkspace = std::vector<double>;  // features of a chunk, column after column

void parse_csv_chunk(std::string_view text, const CsvLayout& layout, const CsvPlan& plan, CsvChunk& out,
                     CsvWorkspace& workspace);

}  // namespace parley::data
