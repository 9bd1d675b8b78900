// What must hold for whatever a reader makes of any bytes.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <string>

#include "parley/data/load.h"

namespace parley::fuzz {

inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "property broken: %s\n", what);
  std::abort();
}

// One line that says something and blames the input, not the program.
inline void check_error(const Error& error) {
  require(error.fault == Fault::kBadInput, "bad bytes are bad input");
  require(!error.message.empty(), "an error has a message");
  require(error.message.find('\n') == std::string::npos, "an error is one line");
}

inline void check_dataset(const data::Dataset& data) {
  const std::size_t rows = data.rows();
  require(rows > 0, "a table has rows");
  require(data.columns.size() == static_cast<std::size_t>(data.features.cols()), "a name for every column");
  require(data.bounds.empty() || data.bounds.size() == data.columns.size(), "a bound for every column");
  require(data.labels.values.empty() || data.labels.values.size() == rows, "a label for every row");
  require(data.ids.empty() || data.ids.size() == rows, "an id for every row");
  for (linalg::Index j = 0; j < data.features.cols(); ++j)
    data.features.for_each_in_column(j, [&](linalg::Index, double value) {
      require(value - value == 0, "values are finite");
      require(data.bounds.empty() || (value <= data.bounds[static_cast<std::size_t>(j)] && -value <= data.bounds[static_cast<std::size_t>(j)]),
              "values are within their bounds");
    });
  for (const double y : data.labels.values) require(y - y == 0, "labels are finite");
}

inline void check(const Result<data::Dataset>& result) {
  if (result)
    check_dataset(*result);
  else
    check_error(result.error());
}

}  // namespace parley::fuzz
