// What a model says about the records of tables.
#pragma once
#include <string>
#include <vector>

#include "parley/core/result.h"
#include "parley/data/load.h"
#include "parley/models/trained.h"

namespace parley::models {

// What a model says about tables. Of a whole model each file is a table with rows of its own. Of a model in parts the
// files hold the same records, or tables that are joined: PARTY=FILE, or one file for each part in their order.
struct Predictions {
  std::vector<std::string> ids;
  std::vector<double> margins;     // class by class
  std::vector<double> labels;      // when asked for
  std::vector<std::string> notes;  // what was not taken as it stands in a file, one line each
  [[nodiscard]] std::size_t rows() const { return ids.size(); }
};
Result<Predictions> predict(const std::vector<Trained>& parts, const std::vector<std::string>& files,
                            data::LabelUse labels);

}  // namespace parley::models
