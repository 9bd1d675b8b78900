// Three ways to solve the Newton system  (diag(penalties) + A' diag(c) A) p = -g,  c = phi'' / n:
//
//   gram     forms the d x d matrix and factors it: for few columns
//   kernel   p = -(g + A' c^1/2 z) / l2  with  (l2 I + c^1/2 A A' c^1/2) z = -c^1/2 A g  (Woodbury): for
//            few rows; A A' is formed once. Every column must have the same penalty l2 > 0.
//   cg       conjugate gradients with the diagonal as preconditioner, stopped as soon as the step is
//            as good as the outer iteration can use: for the rest
#pragma once
#include <functional>
#include <memory>
#include <span>

#include "parley/algorithms/exact/compact_rows.h"

namespace parley::algorithms {

struct NewtonSystem {
  const CompactRows& rows;
  std::span<const double> penalties;  // one per column
  bool constant_curvature = false;    // factor once
};

class NewtonSolver {
 public:
  virtual ~NewtonSolver() = default;
  // `forcing`: the relative residual at which an iterative solver may stop.
  virtual void solve(std::span<const double> c, std::span<const double> gradient, double forcing,
                     std::span<double> step) = 0;
};

// Preconditioned conjugate gradients for H p = -g from p = 0, until the residual in the norm of the inverse
// diagonal has fallen to `forcing` times its start. `product(v, out)` gives H v, `diagonal` that of H.
using Product = std::function<void(std::span<const double>, std::span<double>)>;
void conjugate_gradients(const Product& product, std::span<const double> diagonal, std::span<const double> gradient,
                         double forcing, std::span<double> step);

enum class Solver { kGram, kKernel, kCg };

// The one that should be fastest, by a count of operations.
Solver fastest_solver(const NewtonSystem& system);
std::unique_ptr<NewtonSolver> make_solver(Solver solver, const NewtonSystem& system);

}  // namespace parley::algorithms
