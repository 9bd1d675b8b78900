// The problem every trainer solves:
//
//   minimise over (W, b)   1/n sum_i phi(<x_i, W> + b, y_i) + l1 ||W||_1 + l2/2 ||W||^2
//   subject to             ||W||_1 <= l1_radius                 (when given)
//                          at most `sparsity` nonzeros, per class (when given)
//
// W is d x K (K = 1 but for softmax), stored class by class: W[k*d + j].
#pragma once
#include <optional>

#include "parley/glm/loss.h"

namespace parley::glm {

enum class Intercept {
  kNone,
  kFree,       // an unpenalised b
  kPenalised,  // b is penalised and counted like a weight (a constant column of ones)
};

struct Objective {
  Task task = Task::kLogistic;
  int classes = 1;  // K; 1 unless softmax
  double l1 = 0;
  double l2 = 0;
  std::optional<double> l1_radius;
  std::optional<int> sparsity;
  Intercept intercept = Intercept::kNone;
};

}  // namespace parley::glm
