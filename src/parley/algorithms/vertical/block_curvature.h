// Upper bounds of the expected curvature of a block-coordinate Frank-Wolfe run (expected_curvature.h), for blocks of any
// kind and tables of any size: one pass over the columns.
//
// With m_b the largest |A_b delta_b|^2 L / n over moves delta_b of block b - (2 eta)^2 max_j |a_j|^2 L / n in an l1 ball
// of radius eta - and T the sampled set, p_b = P(b in T):
//
//   Prop. 1   C <= sigma(P) sum_b p_b m_b;  sigma(P) <= max |T|, since 1_T 1_T' <= |T| diag(1_T)
//   Prop. 2   C <= p_max sum_b m_b                          one block a round
//   Prop. 3   C <= tau mu_1 + tau (tau - 1) mu_2            tau-nice
//   Prop. 4   C <= K tau mu_1 + K tau (tau - 1) mu_2' + K (K - 1) tau^2 mu_3        distributed
//   rows      C <= L / n sum_i E (sum over b in T of h_ib)^2,  h_ib the largest |<x_ib, delta_b>|; of samplings whose
//             pairs of blocks are as likely as each other within and across parties
//
// mu_1 = max m_b, and mu of two blocks is at most mu_1 (Cauchy and Schwarz); of at most kMostColumnsForPairs columns it
// is made of all inner products.
#pragma once
#include <span>

#include "parley/algorithms/parts/convergence.h"
#include "parley/algorithms/vertical/block_layout.h"
#include "parley/algorithms/vertical/block_sampling.h"
#include "parley/algorithms/vertical/column_share.h"

namespace parley::algorithms {

inline constexpr std::size_t kMostColumnsForPairs = 1000;

struct BlockProblem {
  std::span<const ColumnShare> shares;
  const BlockLayout& layout;
  const BlockSampling& sampling;
  double loss_curvature = 1;  // L
};

// Fills curvatures and curvature. Of a sampling that takes whole balls (BlockLayout::whole_balls).
void bound_curvature(const BlockProblem& problem, Convergence& convergence);

}  // namespace parley::algorithms
