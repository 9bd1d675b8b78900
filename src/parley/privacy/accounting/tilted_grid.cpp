#include "parley/privacy/accounting/tilted_grid.h"

#include <algorithm>

namespace parley::privacy::accounting {

TiltedGrid tilted(const LossGrid& grid, int direction, double tilt) {
  const Directed law{&grid, direction};
  TiltedGrid result;
  result.first = law.first();
  result.infinite = law.infinite();
  result.weight.resize(law.size());
  double top = -kInfinity;
  for (std::size_t j = 0; j < law.size(); ++j) {
    result.weight[j] = law.log_weight(j, tilt);
    top = std::max(top, result.weight[j]);
  }
  double sum = 0, moment = 0;
  for (std::size_t j = 0; j < law.size(); ++j) {
    const double exponent = result.weight[j];
    result.weight[j] = std::exp(exponent - top);
    // The terms of the exponent round on their own scale. What rounding takes from a weight below 1e-18 of the largest
    // is less than the transform's error, which is added to every point.
    if (result.weight[j] > 1e-18)
      result.largest_exponent = std::max(result.largest_exponent, std::fabs(exponent) + std::fabs(law.log_s(j)));
    if (result.weight[j] < std::numeric_limits<double>::min()) result.lost += std::numeric_limits<double>::min();
    sum += result.weight[j];
    moment += result.weight[j] * static_cast<double>(j);
  }
  for (double& w : result.weight) w /= sum;
  result.log_moment = top + std::log(sum);
  result.farthest = std::max(std::fabs(static_cast<double>(result.first)),
                             std::fabs(static_cast<double>(result.first) + static_cast<double>(law.size()) - 1));
  result.mean_index = static_cast<double>(result.first) + moment / sum;
  return result;
}

}  // namespace parley::privacy::accounting
