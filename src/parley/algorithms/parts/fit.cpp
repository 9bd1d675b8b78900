#include "parley/algorithms/parts/fit.h"

#include <algorithm>

namespace parley::algorithms {

void split(const Problem& problem, std::span<const double> coordinates, Fit& fit) {
  const auto columns = static_cast<std::size_t>(problem.features.cols());
  const auto classes = static_cast<std::size_t>(problem.objective.classes);
  const std::size_t width = coordinates.size() / classes;
  fit.weights.resize(columns * classes);
  fit.intercepts.clear();
  for (std::size_t k = 0; k < classes; ++k) {
    const std::span<const double> of_class = coordinates.subspan(k * width, width);
    std::copy_n(of_class.begin(), columns, fit.weights.begin() + static_cast<std::ptrdiff_t>(k * columns));
    if (width > columns) fit.intercepts.push_back(of_class[columns]);
  }
}

void set_model(const Problem& problem, std::span<const double> coordinates, Fit& fit) {
  split(problem, coordinates, fit);
  fit.objective = evaluate(problem.objective, problem.features, problem.labels, fit.weights, fit.intercepts);
}

}  // namespace parley::algorithms
