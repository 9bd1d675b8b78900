// Federated hard thresholding (Fed-HT). Tong et al. 2022, Algorithm 1; its lines in order:
//
//   for each client i:  x <- x_t
//     K times:          g <- grad f_i(x; batch);   x <- x - step g
//   x_{t+1} <- H_tau(sum_i p_i x_i)
//
// Clients send dense parameters; the coordinator sends tau entries per class.
#pragma once
#include "parley/algorithms/horizontal/federated_averaging.h"

namespace parley::algorithms {

using FedHt = FederatedAveraging<AveragingParts{.threshold_average = true}>;
static_assert(Federated<FedHt>);

}  // namespace parley::algorithms
