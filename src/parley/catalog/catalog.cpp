#include "parley/catalog/catalog.h"

#include "parley/algorithms/exact.h"

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
  };
  return kAlgorithms;
}

const Algorithm* find_algorithm(std::string_view wanted) {
  for (const Algorithm& algorithm : algorithms_by_name())
    if (algorithm.name == wanted) return &algorithm;
  return nullptr;
}

}  // namespace parley::catalog
