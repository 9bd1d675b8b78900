// Frank-Wolfe over the l1 ball (Frank and Wolfe 1956; Jaggi 2013, Algorithm 1 and its line-search variant).
//
//   minimise    F(W) = 1/n sum_i phi(<x_i, W> + b, y_i) + l2/2 ||W||^2     subject to ||W||_1 <= r
//
//   W_0 = 0;  for t = 0, 1, ...
//     s       = argmin over the ball of <grad F(W_t), s>                   a vertex +-r e_j
//     gap     = <grad F(W_t), W_t - s> = <grad, W_t> + r ||grad||_inf      F(W_t) - min F <= gap: the certificate
//     stop if gap <= gap_tolerance
//     W_{t+1} = (1 - gamma) W_t + gamma s
//
// Step gamma: open loop 2/(t+2); short step, the minimiser over [0, 1] of the quadratic upper bound of F
// along the segment, gap / (c/n ||X(s - W)||^2 + l2 ||s - W||^2) with c the curvature bound of the loss; or
// exact line search. After T open-loop steps F - min F <= 2 C / (T + 2), C the curvature of F over the ball
// (Jaggi 2013, Theorem 1).
//
// Intercept: a penalised one is one more coordinate (a column of ones) inside the ball. A free one is set to
// its optimum for the current W before every step: the method then minimises f(W) = min_b F(W, b), which is
// convex with gradient grad_W F(W, b), and the gap is that of f. Along a segment it follows its optimum for
// the squared loss and stays where it is for the others.
#pragma once
#include <span>

#include "parley/algorithms/frank_wolfe/frank_wolfe_settings.h"
#include "parley/algorithms/parts/fit.h"
#include "parley/core/result.h"
#include "parley/core/toml.h"
#include "parley/glm/sets.h"

namespace parley::algorithms {

// The part that decides where to go: from the gradient to a vertex. Coordinates are k*(d+c) + j, with c = 1
// and a last coordinate per class for a penalised intercept, else c = 0.
class VertexChoice {
 public:
  virtual ~VertexChoice() = default;
  virtual glm::Vertex choose(std::span<const double> gradient) = 0;
};

// Refuses an l1 penalty, a sparsity constraint and a missing radius. With Problem::privacy: frank_wolfe_private.h.
Result<Fit> frank_wolfe(const Problem& problem, const FrankWolfeSettings& settings, const Observer& observer);

// With another choice than the steepest vertex. The reported gap stays that of the steepest vertex.
Result<Fit> frank_wolfe(const Problem& problem, const FrankWolfeSettings& settings, const Observer& observer,
                        VertexChoice& choice);

}  // namespace parley::algorithms
