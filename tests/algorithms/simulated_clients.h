// The clients of simulations I and II of Tong et al., Section 5.1, in memory (data/generate_clients.cpp writes them as
// files), and the objective over all of them.
#pragma once
#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "parley/algorithms/horizontal/row_share.h"
#include "parley/data/random.h"
#include "parley/glm/objective.h"

namespace parley::tests {

using algorithms::RowShare;

struct Simulation {
  std::size_t clients = 100, rows = 100, columns = 1000, nonzeros = 100, positives = 0;  // positives: simulation II
  double alpha = 0.1, beta = 0.1;
  bool alike = false;  // i.i.d.: one model, no means, little noise
};
inline std::vector<RowShare> draw(const Simulation& wanted, std::uint64_t seed) {
  std::vector<RowShare> shares;
  for (std::size_t i = 0; i < wanted.clients; ++i) {
    data::Random random(seed, 1, wanted.alike ? 0 : i);
    const double u = 0.1 + std::sqrt(wanted.alpha) * random.normal();
    const double b = std::sqrt(wanted.beta) * random.normal();
    std::vector<double> model(wanted.nonzeros), mean(wanted.columns);
    for (double& x : model) x = u + random.normal();
    for (double& v : mean) v = wanted.alike ? 0 : b + random.normal();
    data::Random entries(seed, 2, i);
    std::vector<double> values(wanted.rows * wanted.columns), labels(wanted.rows);
    for (std::size_t r = 0; r < wanted.rows; ++r) {
      labels[r] = (wanted.alike ? 0 : u) + (wanted.alike ? 0.01 : 1.0) * entries.normal();
      for (std::size_t k = 0; k < wanted.columns; ++k) {
        const double deviation = wanted.alike ? 1.0 : std::pow(static_cast<double>(k + 1), -0.6);
        const double z = mean[k] + deviation * entries.normal();
        values[k * wanted.rows + r] = z;
        if (k < wanted.nonzeros) labels[r] += z * model[k];
      }
    }
    if (wanted.positives > 0) {
      std::vector<double> sorted = labels;
      std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(wanted.positives - 1), sorted.end(),
                       std::greater<>());
      for (double& y : labels) y = y >= sorted[wanted.positives - 1] ? 1 : -1;
    }
    shares.push_back({static_cast<int>(i),
                      linalg::Matrix::from_dense(static_cast<linalg::Index>(wanted.rows),
                                                 static_cast<linalg::Index>(wanted.columns), values),
                      std::move(labels)});
  }
  return shares;
}

inline double pooled_objective(const glm::Objective& problem, const std::vector<RowShare>& shares,
                               const std::vector<double>& parameters) {
  double sum = 0, records = 0;
  for (const RowShare& share : shares) {
    sum += static_cast<double>(share.labels.size()) * glm::evaluate(problem, share.features, share.labels, parameters);
    records += static_cast<double>(share.labels.size());
  }
  return sum / records;
}

}  // namespace parley::tests
