#include "parley/catalog/catalog.h"

#include <algorithm>
#include <cmath>
#include <deque>

#include "parley/algorithms/coordinate/coordinate_descent.h"
#include "parley/algorithms/coordinate/greedy_cd.h"
#include "parley/algorithms/exact/exact.h"
#include "parley/algorithms/frank_wolfe/frank_wolfe.h"
#include "parley/algorithms/frank_wolfe/frank_wolfe_private.h"
#include "parley/algorithms/horizontal/client_averaging.h"
#include "parley/algorithms/horizontal/distributed_iht.h"
#include "parley/algorithms/horizontal/fed_ht.h"
#include "parley/algorithms/horizontal/fed_iter_ht.h"
#include "parley/algorithms/horizontal/fedavg.h"
#include "parley/algorithms/horizontal/federated_newton.h"
#include "parley/algorithms/horizontal/leaving_clients.h"
#include "parley/algorithms/relational/relational_admm.h"
#include "parley/algorithms/relational/relational_sgd.h"
#include "parley/algorithms/relational/unit_descent.h"
#include "parley/algorithms/sgd/gradient_descent.h"
#include "parley/algorithms/sgd/sgd.h"
#include "parley/algorithms/vertical/admm_sharing.h"
#include "parley/algorithms/vertical/bcfw.h"
#include "parley/algorithms/vertical/convergence_judge.h"
#include "parley/algorithms/vertical/masked_descent.h"
#include "parley/algorithms/vertical/vertical_sgd.h"
#include "parley/catalog/columns.h"
#include "parley/catalog/federation_of.h"
#include "parley/catalog/rows.h"
#include "parley/catalog/tables.h"

namespace parley::catalog {

namespace {

using algorithms::Fit;
using algorithms::Observer;
using algorithms::Problem;
using jobs::Partition;

// A trainer from its function and the settings that it reads.
template <class Settings>
auto trains_by(Result<Fit> (*train)(const Problem&, const Settings&, const Observer&)) {
  return [train](Toml& section) -> Trainer {
    return [train, settings = Settings::read(section)](const Problem& problem, const Observer& observer) {
      return train(problem, settings, observer);
    };
  };
}

JoinTrainer exact_over_joins(Toml& section) {
  return [settings = algorithms::ExactSettings::read(section)](const algorithms::JoinedProblem& problem,
                                                               const Observer& observer) {
    return algorithms::exact_over_join(problem, settings, observer);
  };
}

JoinTrainer sgd_over_joins(Toml& section) {
  return [settings = algorithms::SgdSettings::read(section)](const algorithms::JoinedProblem& problem,
                                                             const Observer& observer) {
    return algorithms::sgd_over_join(problem, settings, observer);
  };
}

// A federation from its algorithm and what its parties hold: Rows, Columns or Tables.
template <algorithms::Federated Algorithm, class Split>
std::shared_ptr<const Federation> learns_from(Toml& section) {
  return std::make_shared<FederationOf<Algorithm, Split>>(Algorithm::Settings::read(section));
}

template <class Averaging>
using OfClients = algorithms::ClientAveraging<Averaging::kParts>;
template <class Averaging>
using OfLeavingClients = algorithms::LeavingClients<Averaging::kParts>;

// sqrt(log 1/delta) / (n epsilon)
double reach(double records, const privacy::Target& target) {
  return std::sqrt(std::log(1 / target.delta.value())) / (records * target.epsilon.value());
}

// Talwar et al. 2015.
std::optional<RiskOrder> risk_of_frank_wolfe(double n, double d, const privacy::Target& target) {
  return RiskOrder{"(log d sqrt(log 1/delta) / (n epsilon))^(2/3)",
                   std::pow(std::log(d + 1) * reach(n, target), 2.0 / 3)};
}

// Mangold et al. 2023 on problems without a sparse solution: Theorem 4.4, equation 28 at its T, which does not depend
// on d.
std::optional<RiskOrder> risk_of_greedy_descent(double n, double d, const privacy::Target& target) {
  return RiskOrder{"log d (sqrt(log 1/delta) / (n epsilon))^(2/3)",
                   std::log(d + 1) * std::pow(reach(n, target), 2.0 / 3)};
}

// Bassily et al. 2014, of gradient and coordinate descent.
std::optional<RiskOrder> risk_of_descent(double n, double d, const privacy::Target& target) {
  return RiskOrder{"sqrt(d log 1/delta) / (n epsilon)", std::sqrt(d) * reach(n, target)};
}

std::optional<std::int64_t> steps_of_frank_wolfe(const Problem& problem) {
  return algorithms::suggested_steps(problem);
}

constexpr const char* kOneProcess =
    ", since what an owner sends follows from all of its tuples; with all tables in one process (job.partition = "
    "\"single\") sgd over the same [[join]] has one";

// A deque: rows stay where they are when others are listed.
std::deque<Row>& all() {
  static std::deque<Row> rows = {
      {.name = "exact",
       .partition = Partition::kSingle,
       .summary = "the reference optimum with a certificate",
       .source = "Newton and proximal Newton methods",
       .train = trains_by<algorithms::ExactSettings>(algorithms::exact),
       .train_over_join = exact_over_joins,
       .weighs_records = true,
       .counts = true,
       .infers = true},
      {.name = "frank-wolfe",
       .partition = Partition::kSingle,
       .summary = "over the l1 ball, one column per step",
       .source = "Frank and Wolfe 1956; Jaggi 2013",
       .train = trains_by<algorithms::FrankWolfeSettings>(algorithms::frank_wolfe),
       .can_be_private = true,
       .risk = risk_of_frank_wolfe,
       .suggested_steps = steps_of_frank_wolfe},
      {.name = "greedy-cd",
       .partition = Partition::kSingle,
       .summary = "one coordinate per step, the one that promises most",
       .source = "Nutini et al. 2015; Mangold et al. 2023",
       .train = trains_by<algorithms::GreedySettings>(algorithms::greedy_cd),
       .can_be_private = true,
       .private_smoothness = true,
       .risk = risk_of_greedy_descent},
      {.name = "coordinate-descent",
       .partition = Partition::kSingle,
       .summary = "one coordinate per step, in cyclic or random order",
       .source = "Wright 2015; Mangold et al. 2022",
       .train = trains_by<algorithms::CoordinateSettings>(algorithms::coordinate_descent),
       .can_be_private = true,
       .private_smoothness = true,
       .risk = risk_of_descent},
      {.name = "sgd",
       .partition = Partition::kSingle,
       .summary = "clipped gradients of Poisson samples",
       .source = "Abadi et al. 2016",
       .train = trains_by<algorithms::SgdSettings>(algorithms::sgd),
       .train_over_join = sgd_over_joins,
       .can_be_private = true,
       .risk = risk_of_descent},
      {.name = "gradient-descent",
       .partition = Partition::kSingle,
       .summary = "accelerated steps on all records, averaged under privacy",
       .source = "Nesterov 1983; Bassily, Smith, Thakurta 2014",
       .train = trains_by<algorithms::GradientDescentSettings>(algorithms::gradient_descent),
       .can_be_private = true,
       .risk = risk_of_descent},
      {.name = "fed-iter-ht",
       .partition = Partition::kHorizontal,
       .summary = "K thresholded steps at every party, then a thresholded average",
       .source = "Tong et al. 2022, Algorithm 2",
       .federate = learns_from<algorithms::FedIterHt, Rows>,
       .federate_clients = learns_from<OfClients<algorithms::FedIterHt>, Rows>,
       .federate_leaving_clients = learns_from<OfLeavingClients<algorithms::FedIterHt>, Rows>,
       .can_be_private = true},
      {.name = "fed-ht",
       .partition = Partition::kHorizontal,
       .summary = "K steps at every party, then a thresholded average",
       .source = "Tong et al. 2022, Algorithm 1",
       .federate = learns_from<algorithms::FedHt, Rows>,
       .federate_clients = learns_from<OfClients<algorithms::FedHt>, Rows>,
       .federate_leaving_clients = learns_from<OfLeavingClients<algorithms::FedHt>, Rows>,
       .can_be_private = true},
      {.name = "distributed-iht",
       .partition = Partition::kHorizontal,
       .summary = "iterative hard thresholding, a message after every step",
       .source = "Tong et al. 2022, Algorithm A1",
       .federate = learns_from<algorithms::DistributedIht, Rows>,
       .federate_clients = learns_from<OfClients<algorithms::DistributedIht>, Rows>,
       .federate_leaving_clients = learns_from<OfLeavingClients<algorithms::DistributedIht>, Rows>,
       .can_be_private = true},
      {.name = "fedavg",
       .partition = Partition::kHorizontal,
       .summary = "K steps at every party, then the average",
       .source = "McMahan et al. 2017, Algorithm 1",
       .federate = learns_from<algorithms::FedAvg, Rows>,
       .federate_clients = learns_from<OfClients<algorithms::FedAvg>, Rows>,
       .federate_leaving_clients = learns_from<OfLeavingClients<algorithms::FedAvg>, Rows>,
       .can_be_private = true},
      {.name = "newton",
       .partition = Partition::kHorizontal,
       .summary = "the exact optimum from sums of gradients and curvatures, of which only totals are seen",
       .source = "Lee, Sun and Saunders 2014; Bonawitz et al. 2017",
       .federate = learns_from<algorithms::FederatedNewton, Rows>,
       .weighs_records = true,
       .counts = true,
       .infers = true},
      {.name = "admm-sharing",
       .partition = Partition::kVertical,
       .summary = "one value per record travels, parties keep their parts of the model",
       .source = "Hu et al.; Boyd et al. 2011, Section 7.3",
       .federate = learns_from<algorithms::AdmmSharing, Columns>,
       .can_be_private = true,
       .noisy_labels = true},
      {.name = "bcfw",
       .partition = Partition::kVertical,
       .summary = "block-coordinate Frank-Wolfe, a column of each party per step",
       .source = "Lou and Cheung, Algorithms 1 and 2",
       .federate = learns_from<algorithms::Bcfw, Columns>,
       .can_be_private = true,
       .noisy_labels = true},
      {.name = "dfw",
       .partition = Partition::kVertical,
       .summary = "distributed Frank-Wolfe, one column of all parties per step",
       .source = "Bellet et al. 2015",
       .federate = learns_from<algorithms::Dfw, Columns>,
       .can_be_private = true,
       .noisy_labels = true},
      {.name = "pride",
       .partition = Partition::kVertical,
       .summary = "every column sketched and sent once, then Frank-Wolfe",
       .source = "Heinze-Deml et al. 2018",
       .federate = learns_from<algorithms::Pride, Columns>,
       .can_be_private = true,
       .noisy_labels = true},
      {.name = "vertical-sgd",
       .partition = Partition::kVertical,
       .summary = "gradient steps on batches, one value per record of the batch travels",
       .source = "the baseline of Hu et al., Section 5",
       .federate = learns_from<algorithms::VerticalSgd, Columns>,
       .noisy_labels = true},
      {.name = "masked-descent",
       .partition = Partition::kVertical,
       .summary = "gradient steps under masks; nothing is opened but the (noisy) gradient of all parties together",
       .source = "Beaver 1991; Mohassel and Zhang 2017; Zheng et al. 2023",
       .federate = learns_from<algorithms::MaskedDescent, JointColumns>,
       .can_be_private = true,
       .risk = risk_of_descent},
      {.name = "relational-admm",
       .partition = Partition::kRelational,
       .summary = "over a join of tables that nobody makes, a value per tuple travels",
       .source = "Xu et al. 2024, TablePuppet; Boyd et al. 2011, Section 7.3",
       .federate = learns_from<algorithms::RelationalAdmm, Tables>,
       .private_instead = kOneProcess,
       .noisy_labels = true},
      {.name = "relational-sgd",
       .partition = Partition::kRelational,
       .summary = "gradient steps over a join that nobody makes, aggregated by tuple",
       .source = "Xu et al. 2024, TablePuppet",
       .federate = learns_from<algorithms::RelationalSgd, Tables>,
       .private_instead = kOneProcess,
       .noisy_labels = true},
  };
  return rows;
}

}  // namespace

const std::deque<Row>& rows() {
  return all();
}

const Row* find(std::string_view name) {
  const auto at = std::find_if(all().begin(), all().end(), [&](const Row& row) { return row.name == name; });
  return at == all().end() ? nullptr : &*at;
}

std::vector<std::string> names() {
  std::vector<std::string> names;
  for (const Row& row : all()) names.push_back(row.name);
  return names;
}

void list(Row row) {
  all().push_back(std::move(row));
}

}  // namespace parley::catalog
