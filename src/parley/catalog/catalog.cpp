#include "parley/catalog/catalog.h"

#include "parley/algorithms/admm_sharing.h"
#include "parley/algorithms/coordinate_descent.h"
#include "parley/algorithms/distributed_iht.h"
#include "parley/algorithms/exact.h"
#include "parley/algorithms/fed_ht.h"
#include "parley/algorithms/fed_iter_ht.h"
#include "parley/algorithms/fedavg.h"
#include "parley/algorithms/frank_wolfe.h"
#include "parley/algorithms/greedy_cd.h"
#include "parley/algorithms/sgd.h"
#include "parley/catalog/horizontal.h"
#include "parley/catalog/vertical.h"

namespace parley::catalog {

namespace {

Trainer configure_exact(Toml& settings) {
  algorithms::ExactSettings exact;
  settings.number("tolerance", exact.tolerance, above(0));
  settings.integer("iterations", exact.max_iterations, at_least(1));
  return [exact](const algorithms::Problem& problem, const algorithms::Observer& observer) {
    return algorithms::exact(problem, exact, observer);
  };
}

Trainer configure_frank_wolfe(Toml& settings) {
  algorithms::FrankWolfeSettings frank_wolfe;
  int iterations = 0;
  if (settings.integer("iterations", iterations, at_least(1))) frank_wolfe.iterations = iterations;
  settings.number("gap_tolerance", frank_wolfe.gap_tolerance, at_least(0));
  algorithms::FrankWolfeStep step{};
  if (settings.choice<algorithms::FrankWolfeStep>("step", step,
                                                  {{"open-loop", algorithms::FrankWolfeStep::kOpenLoop},
                                                   {"short", algorithms::FrankWolfeStep::kShort},
                                                   {"line-search", algorithms::FrankWolfeStep::kLineSearch}}))
    frank_wolfe.step = step;
  return [frank_wolfe](const algorithms::Problem& problem, const algorithms::Observer& observer) {
    return algorithms::frank_wolfe(problem, frank_wolfe, observer);
  };
}

Trainer configure_greedy_cd(Toml& settings) {
  algorithms::GreedySettings greedy;
  int iterations = 0;
  if (settings.integer("iterations", iterations, at_least(1))) greedy.iterations = iterations;
  settings.number("step", greedy.step, above(0));
  settings.number("share", greedy.share, between(0, 1));
  settings.number("tolerance", greedy.tolerance, at_least(0));
  settings.choice<algorithms::GreedyRule>("rule", greedy.rule,
                                          {{"gs", algorithms::GreedyRule::kSmooth},
                                           {"gs-s", algorithms::GreedyRule::kSubgradient},
                                           {"gs-r", algorithms::GreedyRule::kStep},
                                           {"gs-q", algorithms::GreedyRule::kDecrease}});
  algorithms::SmoothnessFrom smoothness{};
  if (settings.choice<algorithms::SmoothnessFrom>(
          "smoothness", smoothness, {{"data", algorithms::SmoothnessFrom::kData}, {"bounds", algorithms::SmoothnessFrom::kBounds}}))
    greedy.smoothness = smoothness;
  return [greedy](const algorithms::Problem& problem, const algorithms::Observer& observer) {
    return algorithms::greedy_cd(problem, greedy, observer);
  };
}

Trainer configure_coordinate_descent(Toml& settings) {
  algorithms::CoordinateSettings descent;
  int passes = 0;
  if (settings.integer("passes", passes, at_least(1))) descent.passes = passes;
  settings.number("step", descent.step, above(0));
  settings.number("tolerance", descent.tolerance, at_least(0));
  settings.choice<algorithms::CoordinateOrder>(
      "order", descent.order, {{"cyclic", algorithms::CoordinateOrder::kCyclic}, {"uniform", algorithms::CoordinateOrder::kUniform}});
  std::int64_t seed = 0;
  settings.integer("seed", seed, at_least(0));
  descent.seed = static_cast<std::uint64_t>(seed);
  return [descent](const algorithms::Problem& problem, const algorithms::Observer& observer) {
    return algorithms::coordinate_descent(problem, descent, observer);
  };
}

Trainer configure_sgd(Toml& settings) {
  algorithms::SgdSettings sgd;
  int steps = 0;
  if (settings.integer("iterations", steps, at_least(1))) sgd.steps = steps;
  settings.number("batch_rate", sgd.batch_rate, between(0, 1));
  settings.number("step", sgd.step, above(0));
  settings.number("momentum", sgd.momentum, between(0, 1));
  settings.number("clip", sgd.clip, above(0));
  algorithms::SgdResult result{};
  if (settings.choice<algorithms::SgdResult>(
          "result", result, {{"last", algorithms::SgdResult::kLast}, {"tail-average", algorithms::SgdResult::kTailAverage}}))
    sgd.result = result;
  std::int64_t seed = 0;
  settings.integer("seed", seed, at_least(0));
  sgd.seed = static_cast<std::uint64_t>(seed);
  return
      [sgd](const algorithms::Problem& problem, const algorithms::Observer& observer) { return algorithms::sgd(problem, sgd, observer); };
}

template <algorithms::AveragingParts parts>
std::shared_ptr<const Federation> federate_averaging(Toml& settings) {
  algorithms::LocalSettings local;
  settings.integer("iterations", local.rounds, at_least(1));
  settings.integer("local_steps", local.local_steps, at_least(1));
  settings.number("step", local.step, above(0));
  settings.integer("batch", local.batch, at_least(0));
  settings.number("clip", local.clip, above(0));
  settings.number("batch_growth", local.batch_growth, {.low = 0, .high = 1, .open_low = true});
  return std::make_shared<AveragingFederation<parts>>(local);
}

std::shared_ptr<const Federation> federate_admm(Toml& settings) {
  algorithms::AdmmSettings admm;
  settings.integer("iterations", admm.rounds, at_least(1));
  settings.number("rho", admm.rho, above(0));
  settings.number("tolerance", admm.tolerance, at_least(0));
  settings.number("value_bound", admm.value_bound, above(0));
  return std::make_shared<AdmmFederation>(admm);
}

}  // namespace

std::string_view name(Partition partition) {
  switch (partition) {
    case Partition::kSingle:
      return "single";
    case Partition::kHorizontal:
      return "horizontal";
    case Partition::kVertical:
      return "vertical";
    case Partition::kRelational:
      return "relational";
  }
  return "?";
}

std::span<const Algorithm> algorithms_by_name() {
  static const std::vector<Algorithm> kAlgorithms = {
      {"exact", Partition::kSingle, "the reference optimum with a certificate", "Newton and proximal Newton methods", configure_exact},
      {"frank-wolfe", Partition::kSingle, "over the l1 ball, one column per step", "Frank and Wolfe 1956; Jaggi 2013",
       configure_frank_wolfe, true},
      {"greedy-cd", Partition::kSingle, "one coordinate per step, the one that promises most", "Nutini et al. 2015; Mangold et al. 2023",
       configure_greedy_cd, true},
      {"coordinate-descent", Partition::kSingle, "one coordinate per step, in cyclic or random order", "Wright 2015; Mangold et al. 2022",
       configure_coordinate_descent, true},
      {"sgd", Partition::kSingle, "clipped gradients of Poisson samples", "Abadi et al. 2016", configure_sgd, true},
      {"fed-iter-ht",
       Partition::kHorizontal,
       "K thresholded steps at every party, then a thresholded average",
       "Tong et al. 2022, Algorithm 2",
       {},
       true,
       federate_averaging<algorithms::FedIterHt::kParts>},
      {"fed-ht",
       Partition::kHorizontal,
       "K steps at every party, then a thresholded average",
       "Tong et al. 2022, Algorithm 1",
       {},
       true,
       federate_averaging<algorithms::FedHt::kParts>},
      {"distributed-iht",
       Partition::kHorizontal,
       "iterative hard thresholding, a message after every step",
       "Tong et al. 2022, Algorithm A1",
       {},
       true,
       federate_averaging<algorithms::DistributedIht::kParts>},
      {"fedavg",
       Partition::kHorizontal,
       "K steps at every party, then the average",
       "McMahan et al. 2017, Algorithm 1",
       {},
       true,
       federate_averaging<algorithms::FedAvg::kParts>},
      {"admm-sharing",
       Partition::kVertical,
       "one value per record travels, parties keep their parts of the model",
       "Hu et al.; Boyd et al. 2011, Section 7.3",
       {},
       true,
       federate_admm},
  };
  return kAlgorithms;
}

const Algorithm* find_algorithm(std::string_view wanted) {
  for (const Algorithm& algorithm : algorithms_by_name())
    if (algorithm.name == wanted) return &algorithm;
  return nullptr;
}

}  // namespace parley::catalog
