// What must hold for whatever a reader makes of any bytes.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "parley/data/load.h"
#include "parley/linalg/cpu.h"

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
      require(data.bounds.empty() || (value <= data.bounds[static_cast<std::size_t>(j)] &&
                                      -value <= data.bounds[static_cast<std::size_t>(j)]),
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

// Without wide registers the same comes of the same bytes. Very many columns would only slow the search down.
inline void check_narrow(std::string_view content, const data::LoadOptions& options,
                         const Result<data::Dataset>& loaded) {
  constexpr linalg::Index kManyColumns = 1 << 16;
  if (loaded && loaded->features.cols() > kManyColumns) return;
  const linalg::CpuLevel level = linalg::cpu_level();
  linalg::set_cpu_level(linalg::CpuLevel::kBaseline);
  const auto narrow = data::load_text(content, "f", options);
  linalg::set_cpu_level(level);
  require(narrow.has_value() == loaded.has_value(), "wide registers refuse what narrow ones refuse");
  if (!narrow) return require(narrow.error().message == loaded.error().message, "wide registers give the same error");
  require(narrow->labels.values == loaded->labels.values, "wide registers read the same labels");
  require(
      narrow->features.nonzeros() == loaded->features.nonzeros() && narrow->features.cols() == loaded->features.cols(),
      "wide registers read as many values");
  for (linalg::Index j = 0; j < narrow->features.cols(); ++j)
    narrow->features.for_each_in_column(j, [&](linalg::Index i, double value) {
      require(loaded->features.at(i, j) == value, "wide registers read the same values");
    });
}

}  // namespace parley::fuzz
