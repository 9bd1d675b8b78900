// Three parties that walk to their mean over gRPC, and the same run in process.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "parley/rounds/simulate.h"
#include "tests/rounds/mean_parties.h"
#include "tests/transport/loopback.h"

namespace parley::tests {

inline const std::vector<std::string> kNames = {"a", "b", "c"};
inline const std::vector<double> kValues = {1, 2, 6};

inline rounds::Terms three(rounds::Rules rules = {}) {
  return {.parties = kNames, .job = "job", .rules = rules};
}

inline std::unique_ptr<Site> site(const transport::GrpcServer& server, std::size_t party, const Mean& mean) {
  return std::make_unique<Site>(server.port(), credentials(kNames[party]), admits(mean, kValues[party]));
}

inline rounds::Simulated<Mean::Iterate> simulated(const Mean& mean) {
  std::vector<std::unique_ptr<rounds::AlgorithmParty<Mean>>> parties;
  for (const double value : kValues) parties.push_back(mean_party(mean, value));
  return *rounds::simulate<Mean>(mean, {0, {0, 0}}, std::move(parties));
}

}  // namespace parley::tests
