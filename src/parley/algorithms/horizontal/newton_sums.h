// What one party adds to the sums of a Newton step over its own records, at parameters u (local_steps.h):
//
//   loss        sum_i phi(m_i, y_i),                        m_i = u'(x_i, 1)
//   gradient    sum_i phi'(m_i, y_i) (x_i, 1)               class by class
//   curvature   sum_i (x_i, 1) phi''(m_i, y_i) (x_i, 1)'    the upper triangle, row by row; or its product with a vector
//
// Each record's loss is multiplied by its weight where records have one.
//
// Penalties are not a party's business. A party's loss is convex, so its curvature is positive semidefinite.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "parley/algorithms/horizontal/row_share.h"
#include "parley/glm/objective.h"

namespace parley::algorithms {

class NewtonSums {
 public:
  // At these parameters; `share` must outlive it.
  NewtonSums(const glm::Objective& objective, const RowShare& share, std::vector<double> parameters);

  [[nodiscard]] double loss() const { return loss_; }
  [[nodiscard]] std::vector<double> gradient() const;
  [[nodiscard]] std::vector<double> curvature() const;
  [[nodiscard]] std::vector<double> curvature_product(std::span<const double> direction) const;
  [[nodiscard]] std::span<const double> parameters() const { return parameters_; }

 private:
  void weigh(std::span<const double> margins);
  [[nodiscard]] std::vector<double> margins_of(std::span<const double> parameters) const;
  // For each class sum_i r_ik (x_i, 1).
  [[nodiscard]] std::vector<double> summed(std::span<const double> coefficients) const;
  // sum_i weight_i (x_i, 1)(x_i, 1)', square.
  [[nodiscard]] std::vector<double> gram(std::span<const double> weights) const;

  glm::Objective objective_;
  const RowShare& share_;
  std::vector<double> parameters_;
  std::vector<double> derivatives_;  // of every record and class
  std::vector<double> curvatures_;   // of every record; of softmax the probabilities
  double loss_ = 0;
};

}  // namespace parley::algorithms
