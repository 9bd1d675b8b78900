// The problem every trainer solves:
//
//   minimise over (W, b)   1/n sum_i phi(<x_i, W> + b, y_i) + l1 ||W||_1 + l2/2 ||W||^2
//   subject to             ||W||_1 <= l1_radius                 (when given)
//                          or, with l1_groups of sizes d_1 .. d_G, ||W_B||_1 <= l1_radius / G for each group B: the
//                          first d_1 columns, the next d_2, ...; a penalised intercept belongs to the last
//                          |W_j| <= box                         (when given)
//                          at most `sparsity` nonzeros, per class (when given)
//
// W is d x K (K = 1 but for softmax), stored class by class: W[k*d + j]. Margins likewise: m[k*n + i].
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "parley/glm/loss.h"
#include "parley/glm/penalties.h"

namespace parley::linalg {
class Matrix;
}

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
  std::vector<int> l1_groups{};
  std::optional<double> box{};
  std::optional<int> sparsity;
  Intercept intercept = Intercept::kNone;
};

inline Penalty penalty_of(const Objective& objective) {
  return {objective.l1, objective.l2};
}

// m = X W + b: margins[k*n + i] for K = weights.size() / d classes; `intercepts` holds K numbers or none.
void compute_margins(const linalg::Matrix& features, std::span<const double> weights,
                     std::span<const double> intercepts, std::span<double> margins);

// l1 ||W||_1 + l2/2 ||W||^2; the intercepts count only when they are penalised.
double penalty_value(const Objective& objective, std::span<const double> weights, std::span<const double> intercepts);

// Mean loss plus penalty, at margins the caller keeps. Constraints add nothing: see `feasible`.
double evaluate(const Objective& objective, std::span<const double> margins, std::span<const double> labels,
                std::span<const double> weights, std::span<const double> intercepts = {});

// The same from the features: one pass over the matrix per class.
double evaluate(const Objective& objective, const linalg::Matrix& features, std::span<const double> labels,
                std::span<const double> weights, std::span<const double> intercepts = {});

// Whether the constraints hold, up to `slack` in the norm. A penalised intercept counts like a weight.
bool feasible(const Objective& objective, std::span<const double> weights, std::span<const double> intercepts,
              double slack = 1e-9);

}  // namespace parley::glm
