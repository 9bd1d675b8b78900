// The data sets behind the reference optima, prepared as each record's "preprocessing" says.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "parley/linalg/matrix.h"

namespace parley::optima {

struct Prepared {
  linalg::Matrix features;
  std::vector<double> labels;
  int classes = 1;
};

// `data` is the folder of data sets; `id` begins the record's id, up to the objective: "a9a",
// "fate/breast_hetero[guest-only]", ... Asserts that the files are what they should be.
Prepared prepare(const std::filesystem::path& data, const std::string& id);

}  // namespace parley::optima
