#include "parley/algorithms/horizontal/newton_direction.h"

#include <algorithm>

#include "parley/algorithms/exact/exact_sparse_quadratic.h"
#include "parley/algorithms/parts/cholesky.h"

namespace parley::algorithms {

namespace {

// Directions without curvature or penalty keep their factor positive: far below what any step resolves.
constexpr double kFloor = 1e-13;

}  // namespace

std::vector<double> newton_direction(const NewtonModel& model) {
  const std::size_t size = model.point.size();
  std::vector<double> square(size * size), gradient(model.gradient.begin(), model.gradient.end());
  double largest = 0;
  for (std::size_t a = 0, at = 0; a < size; ++a)
    for (std::size_t b = a; b < size; ++b, ++at) {
      square[a * size + b] = square[b * size + a] = model.triangle[at];
      if (a == b) largest = std::max(largest, model.triangle[at]);
    }
  for (std::size_t j = 0; j < size; ++j) {
    const double l2 = model.penalised[j] != 0 ? model.penalty.l2 : 0;
    square[j * size + j] += l2 + kFloor * largest;
    gradient[j] += l2 * model.point[j];
  }
  std::vector<double> direction(size);
  if (model.penalty.l1 == 0) {
    std::transform(gradient.begin(), gradient.end(), direction.begin(), [](double g) { return -g; });
    std::vector<double> factor = square;
    for (double floor = 1e-10; !cholesky(factor, size); floor *= 100) {  // rounding made H indefinite
      factor = square;
      for (std::size_t j = 0; j < size; ++j) factor[j * size + j] += floor * std::max(largest, 1e-300);
    }
    cholesky_solve(factor, size, direction);
    return direction;
  }
  QuadraticModel quadratic(std::move(square), std::move(gradient), {model.point.begin(), model.point.end()},
                           model.penalised);
  quadratic.minimise(model.penalty.l1, model.tolerance);
  std::transform(quadratic.solution().begin(), quadratic.solution().end(), model.point.begin(), direction.begin(),
                 [](double to, double from) { return to - from; });
  return direction;
}

}  // namespace parley::algorithms
