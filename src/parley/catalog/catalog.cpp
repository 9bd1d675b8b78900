#include "parley/catalog/catalog.h"

#include "parley/algorithms/exact.h"
#include "parley/algorithms/frank_wolfe.h"

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
  settings.integer("iterations", frank_wolfe.iterations, at_least(1));
  settings.number("gap_tolerance", frank_wolfe.gap_tolerance, at_least(0));
  settings.choice<algorithms::FrankWolfeStep>("step", frank_wolfe.step,
                                              {{"open-loop", algorithms::FrankWolfeStep::kOpenLoop},
                                               {"short", algorithms::FrankWolfeStep::kShort},
                                               {"line-search", algorithms::FrankWolfeStep::kLineSearch}});
  return [frank_wolfe](const algorithms::Problem& problem, const algorithms::Observer& observer) {
    return algorithms::frank_wolfe(problem, frank_wolfe, observer);
  };
}

}  // namespace

std::string_view name(Partition partition) {
  switch (partition) {
    case Partition::kSingle: return "single";
    case Partition::kHorizontal: return "horizontal";
    case Partition::kVertical: return "vertical";
    case Partition::kRelational: return "relational";
  }
  return "?";
}

std::span<const Algorithm> algorithms_by_name() {
  static const std::vector<Algorithm> kAlgorithms = {
      {"exact", Partition::kSingle, "the reference optimum with a certificate", "Newton and proximal Newton methods",
       configure_exact},
      {"frank-wolfe", Partition::kSingle, "over the l1 ball, one column per step", "Frank and Wolfe 1956; Jaggi 2013",
       configure_frank_wolfe},
  };
  return kAlgorithms;
}

const Algorithm* find_algorithm(std::string_view wanted) {
  for (const Algorithm& algorithm : algorithms_by_name())
    if (algorithm.name == wanted) return &algorithm;
  return nullptr;
}

}  // namespace parley::catalog
