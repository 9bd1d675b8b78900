// The mean loss as the sparse solvers see it: values, slopes and Hessians on working sets.
// Margins, slopes and curvatures are stored class by class: [class * n + i].
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "parley/algorithms/exact/exact_sparse_columns.h"
#include "parley/algorithms/parts/fit.h"

namespace parley::algorithms {

struct Slopes {
  double value = 0;               // mean loss
  std::vector<double> slope;      // derivative of the mean loss by each margin
  std::vector<double> curvature;  // scalar losses: second derivatives by margin; softmax: p and 1 - p
};

class MeanLoss {
 public:
  virtual ~MeanLoss() = default;

  // At margins + length * line.
  virtual void differentiate(std::span<const double> margins, std::span<const double> line, double length,
                             Slopes& slopes) const = 0;

  // hessian (size x size, both triangles) of the mean loss by the weights of the working set.
  virtual void hessian(const WorkingColumns& columns, const Slopes& slopes, std::span<double> hessian) const = 0;

  // Moves theta, given as minus the slopes, to a dual point whose entries sum to zero in every
  // class, inside the domain of the conjugate: what a free intercept asks of the dual.
  virtual void balance(std::span<double> theta) const = 0;

  // sum_i f_i(m_i) + f_i*(-scale * theta_i) + scale * theta_i m_i >= 0, with f_i = phi_i / n.
  [[nodiscard]] virtual double fenchel_young(std::span<const double> margins, std::span<const double> theta,
                                             double scale) const = 0;

  // Whether the second derivative does not depend on the margins.
  [[nodiscard]] virtual bool quadratic() const { return false; }
};

std::unique_ptr<MeanLoss> mean_loss(const Problem& problem);

}  // namespace parley::algorithms
