// Private Frank-Wolfe (Talwar, Thakurta, Zhang 2015, Algorithm 2): the vertex is chosen by the exponential mechanism
// over the 2D signed vertices +-r e_c, whose scores are the descents -+(g_c + l2 W_c); nothing else touches the data.
//
//   W_0 = 0;  for t = 0, ..., T - 1
//     s       ~ exp(score / noise)
//     W_{t+1} = (1 - gamma_t) W_t + gamma_t s,    gamma_t = 2 / (t+2)
//
// g_c is the mean over records of clipped derivatives times features, so one record moves a score by at most
// 2 R B_c / n (privacy/sensitivity/exact_sums.h). The radius multiplies scores and sensitivity alike, and is left out
// of both.
//
// Lazy. A step shrinks every margin and moves those of one column's rows. W = scale V, so margins are scale * XV; only
// the rows of the chosen column get new derivatives, the others keep those of an earlier scale, until all are
// refreshed. The schedule depends on t alone: a refresh is due when the scale 2 / ((t+1)(t+2)) has dropped by kDrop
// since the last one. A stale derivative is still a function of its own record and of released values, clipped to
// [-R, R]: the sensitivity stands as it is (frank_wolfe.md). Plain: every derivative at every step.
#pragma once
#include <cstdint>

#include "parley/algorithms/frank_wolfe/frank_wolfe_settings.h"
#include "parley/algorithms/parts/fit.h"
#include "parley/core/result.h"

namespace parley::algorithms {

// Steps that public numbers suggest. With curvature beta of the loss, radius r, features within B and derivatives
// within R the method is within about beta (r B)^2 / T of its optimum where selections are exact; selections of
// e = sqrt(8 rho / T) each, rho being the run's zCDP budget, are off by about (R r B / n) ln m / e, m signed vertices.
// Both are of one size at
//   T = kReach (beta r B n sqrt(8 rho) / (R ln m))^(2/3),
// the order of Talwar et al.'s T; the constant was measured (docs/algorithms/frank-wolfe.md).
std::int64_t suggested_steps(const Problem& problem);

// How much of its ball such a run uses. T vertices at random, which is what noise makes of them on small data, leave
// weights whose squares are 4 r^2 / (3 T) in all, and cost beta/2 times that times the mean square of a feature: at
// most min(B^2, X^2 / d), X bounding a row's norm. The radius is the largest, up to the model's, at which that is the
// share kNoiseShare (kUnsure / q)^2 of the loss of W = 0 (descent_length.h), where q = 4 ln m / (n e) is the noise of a
// selection over the largest score that any data could have: the surer the selections, the less is guarded against.
double suggested_radius(const Problem& problem, std::int64_t steps);

Result<Fit> frank_wolfe_private(const Problem& problem, const FrankWolfeSettings& settings, const Observer& observer);

// Whether all derivatives are computed afresh in step t (the first is 0) of the lazy mode, `last` being the last such
// step.
bool refresh_due(int t, int last);

}  // namespace parley::algorithms
