// The catalog: name in the job -> algorithm, its settings, its source.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "parley/algorithms/fit.h"
#include "parley/core/result.h"
#include "parley/core/toml.h"

namespace parley::catalog {

class Federation;  // federation.h

enum class Partition { kSingle, kHorizontal, kVertical, kRelational };
std::string_view name(Partition partition);

// An algorithm with its settings filled in.
using Trainer = std::function<Result<algorithms::Fit>(const algorithms::Problem&, const algorithms::Observer&)>;

struct Algorithm {
  std::string name;
  Partition partition = Partition::kSingle;
  std::string summary;  // one line for --help and errors
  std::string source;   // the paper
  // Reads the algorithm's own keys of the [algorithm] section.
  std::function<Trainer(Toml& settings)> configure = {};  // of a single site
  // Whether Problem::privacy (RowShare::privacy, ColumnShare::privacy) is honoured: then everything the model depends on
  // leaves through the gate.
  bool can_be_private = false;
  std::function<std::shared_ptr<const Federation>(Toml& settings)> federate = {};  // of several parties
};

std::span<const Algorithm> algorithms_by_name();
const Algorithm* find_algorithm(std::string_view name);

}  // namespace parley::catalog
