// The catalog: a row for each algorithm, by the name that jobs call it. A new algorithm is a file in algorithms/, a row
// here and a page in docs/algorithms; the conformance suite (tests/runs/conformance_test.cpp) runs whatever is listed.
#pragma once
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parley/algorithms/parts/fit.h"
#include "parley/catalog/method.h"
#include "parley/core/result.h"
#include "parley/core/toml.h"
#include "parley/privacy/accounting/calibration.h"

namespace parley::catalog {

// How the excess risk of the algorithm's published analysis grows, without constants.
struct RiskOrder {
  std::string formula;
  double value = 0;
};

struct Row {
  std::string name;
  jobs::Partition partition = jobs::Partition::kSingle;
  std::string summary;  // one line for --help and errors
  std::string source;   // the paper

  // Each reads the algorithm's own keys of [algorithm] (trains_by, learns_from, in catalog.cpp).
  std::function<Trainer(Toml& settings)> train = {};                                       // of a single site
  std::function<JoinTrainer(Toml& settings)> train_over_join = {};                         // of a join, never made
  std::function<std::shared_ptr<const Federation>(Toml& settings)> federate = {};          // of several parties
  std::function<std::shared_ptr<const Federation>(Toml& settings)> federate_clients = {};  // privacy.unit = "client"

  // As federate_clients where rounds.on_missing = "proceed": clients may drop out.
  std::function<std::shared_ptr<const Federation>(Toml& settings)> federate_leaving_clients = {};

  // Whether Problem::privacy (RowShare::privacy, ColumnShare::privacy) is honoured: then everything that the model
  // depends on leaves through the gate.
  bool can_be_private = false;
  const char* private_instead = "";  // of one that cannot: what can be done in its place
  // Whether labels may leave with noise of their own: its loss is corrected for it (glm/unbiased.h).
  bool noisy_labels = false;
  bool weighs_records = false;      // honours Problem::weights (RowShare::weights)
  bool counts = false;              // takes the Poisson loss
  bool infers = false;              // its optimum is the maximum of a likelihood, whose curvature is known
  bool private_smoothness = false;  // steps go by smoothness constants, which may be estimated and paid for
  // What `parley plan` says beside the cost: the order of the risk at n records, d columns and the target, and the
  // steps taken where the job states none.
  std::optional<RiskOrder> (*risk)(double records, double columns, const privacy::Target& target) = nullptr;
  std::optional<std::int64_t> (*suggested_steps)(const algorithms::Problem& problem) = nullptr;
};

const std::deque<Row>& rows();
const Row* find(std::string_view name);
std::vector<std::string> names();

// Adds an algorithm to this program: before any job that names it is read, and for as long as the program runs.
void list(Row row);

}  // namespace parley::catalog
