// Federated iterative hard thresholding (FedIter-HT). Tong et al. 2022, Algorithm 2; its lines in order:
//
//   for each client i:  x <- x_t
//     K times:          g <- grad f_i(x; batch);   x <- H_tau(x - step g)
//   x_{t+1} <- H_tau(sum_i p_i x_i)
//
// Both directions carry tau entries per class.
#pragma once
#include "parley/algorithms/horizontal/federated_averaging.h"

namespace parley::algorithms {

using FedIterHt = FederatedAveraging<AveragingParts{.threshold_steps = true, .threshold_average = true}>;
static_assert(Federated<FedIterHt>);

}  // namespace parley::algorithms
