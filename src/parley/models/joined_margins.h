// What a model in parts says about the rows of a join of other tables.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "parley/core/result.h"
#include "parley/data/dataset.h"
#include "parley/models/trained.h"

namespace parley::models {

struct JoinedMargins {
  std::vector<double> margins;   // of the join's rows, class by class
  std::vector<double> labels;    // of the rows, where the tables have labels
  std::vector<std::string> ids;  // of the label table's tuples, where they have ids
};
Result<JoinedMargins> margins_over_join(std::span<const Trained> parts, std::span<const data::Dataset* const> tables);

}  // namespace parley::models
