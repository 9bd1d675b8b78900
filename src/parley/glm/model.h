// A trained model: what it needs to turn raw features into predictions, and what a person needs to read it.
//
//   margin_k(x) = sum_j weights[k*d + j] * f_j + intercepts[k],   f_j = (x_j - centers[j]) * scales[j]
//
// with f divided by its Euclidean norm when unit_rows is set (then there are no centers; zero rows stay).
// Weights belong to the features as they were trained on; raw_weights and raw_intercepts fold the scaling in.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "parley/core/result.h"
#include "parley/glm/loss.h"

namespace parley::linalg {
class Matrix;
}

namespace parley::glm {

struct Model {
  Task task = Task::kLinear;
  std::vector<std::string> columns;  // d names
  std::vector<double> weights;       // K * d, class by class
  std::vector<double> intercepts;    // K, or empty without an intercept
  std::vector<double> scales;        // d factors of the raw features; empty: ones
  std::vector<double> centers;       // d values taken off the raw features first; empty: zeros
  bool unit_rows = false;
  std::vector<double> bounds;        // d public bounds of |x_j|, infinite where none was declared; empty: none at all
  std::vector<std::string> classes;  // empty for real labels; {negative, positive}; or the K names

  std::optional<double> threshold;  // the probability above which a row is positive; absent: 1/2

  [[nodiscard]] double cut() const;           // the margin of that probability
  [[nodiscard]] std::size_t outputs() const;  // K: margins per row

  // Sizes agree and every number (but a bound) is finite; names what does not hold.
  [[nodiscard]] Result<void> check() const;

  [[nodiscard]] std::vector<double> raw_weights() const;     // K * d, for raw features
  [[nodiscard]] std::vector<double> raw_intercepts() const;  // K; zeros when there is nothing to add

  // Of raw features with d columns in the order of `columns`; margins[k*n + i].
  [[nodiscard]] Result<std::vector<double>> margins(const linalg::Matrix& features) const;
  // Linear: the predicted values. Poisson: the rates.
  [[nodiscard]] Result<std::vector<double>> predict_values(const linalg::Matrix& features) const;
  // Logistic: the probability of the positive class, n numbers; softmax: K * n, class by class.
  [[nodiscard]] Result<std::vector<double>> predict_probabilities(const linalg::Matrix& features) const;
  // Any classifier: indices into `classes`.
  [[nodiscard]] Result<std::vector<int>> predict_classes(const linalg::Matrix& features) const;
};

}  // namespace parley::glm
