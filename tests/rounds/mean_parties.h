// Parties of the smallest algorithm.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "parley/rounds/handler.h"
#include "parley/rounds/party.h"
#include "tests/rounds/mean.h"

namespace parley::tests {

inline std::unique_ptr<rounds::AlgorithmParty<Mean>> mean_party(const Mean& mean, double value) {
  return std::make_unique<rounds::AlgorithmParty<Mean>>(mean, std::vector<double>{value, 10 * value},
                                                        rounds::without_privacy(privacy::Unprotected{}));
}

inline rounds::Admit admits(const Mean& mean, double value) {
  return [=](const rounds::Opening&) -> Result<rounds::Admission> {
    return rounds::Admission{mean_party(mean, value), "value " + std::to_string(value)};
  };
}

}  // namespace parley::tests
