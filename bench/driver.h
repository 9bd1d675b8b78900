// What the drivers have in common: the data sets that a script hands over, and clocks. A driver answers one
// line of a script with one line, so that the script can take turns between it and the peers.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

#include "parley/linalg/matrix.h"

namespace parley::bench {

inline double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

inline double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Data {
  linalg::Matrix features;
  std::vector<double> labels;
};

template <class T>
std::vector<T> read(std::ifstream& file, std::size_t count) {
  std::vector<T> values(count);
  file.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(count * sizeof(T)));
  return values;
}

// Rows and columns (int64), offsets of the rows (int64), columns (int32), values and labels (double), as
// exact_sparse_data.py writes them.
inline Data load(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const auto shape = read<std::int64_t>(file, 2);
  const auto rows = static_cast<std::size_t>(shape[0]);
  const auto offsets = read<std::int64_t>(file, rows + 1);
  const auto count = static_cast<std::size_t>(offsets.back());
  const auto columns = read<std::int32_t>(file, count);
  const auto values = read<double>(file, count);
  Data data;
  data.labels = read<double>(file, rows);
  data.features = linalg::Matrix::from_rows(static_cast<linalg::Index>(shape[1]),
                                            std::vector<std::size_t>(offsets.begin(), offsets.end()), columns, values);
  return data;
}

}  // namespace parley::bench
