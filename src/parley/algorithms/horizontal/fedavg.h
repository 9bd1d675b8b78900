// Federated averaging (FedAvg), the baseline without a threshold. McMahan et al. 2017, Algorithm 1, every client in
// every round:
//
//   for each client i:  x_i <- K minibatch gradient steps from x_t
//   x_{t+1} <- sum_i p_i x_i
#pragma once
#include "parley/algorithms/horizontal/federated_averaging.h"

namespace parley::algorithms {

using FedAvg = FederatedAveraging<AveragingParts{}>;
static_assert(Federated<FedAvg>);

}  // namespace parley::algorithms
