// Distributed iterative hard thresholding, the baseline that communicates every step. Tong et al. 2022, Algorithm A1:
//
//   for each worker i:  x_i <- x_t - step v_i,   v_i an unbiased stochastic gradient of f_i at x_t
//   x_{t+1} <- H_tau(sum_i p_i x_i)
//
// Fed-HT with one local step: with all records in the batch it is iterative hard thresholding on the pooled data.
#pragma once
#include "parley/algorithms/horizontal/federated_averaging.h"

namespace parley::algorithms {

using DistributedIht = FederatedAveraging<AveragingParts{.threshold_average = true, .one_step = true}>;
static_assert(Federated<DistributedIht>);

}  // namespace parley::algorithms
