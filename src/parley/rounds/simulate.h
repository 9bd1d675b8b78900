// All parties in this process: the same handler, exchange and bytes as between machines, over the in-process channel.
#pragma once
#include <fmt/format.h>

#include <memory>

#include "parley/rounds/drive.h"
#include "parley/rounds/local_parties.h"

namespace parley::rounds {

template <class Iterate>
struct Simulated {
  DriveResult<Iterate> outcome;
  Communication communication;
};

template <Algorithm A>
Result<Simulated<typename A::Iterate>> simulate(const A& algorithm, typename A::Iterate first,
                                                std::vector<std::unique_ptr<AlgorithmParty<A>>> parties,
                                                const RoundObserver<typename A::Iterate>& observer = {},
                                                Rules rules = {}) {
  Terms terms{.rules = rules};
  std::vector<Admission> admitted;
  for (auto& party : parties) {
    terms.parties.push_back(fmt::format("party {}", admitted.size() + 1));
    admitted.push_back({std::move(party), {}});
  }
  LocalParties local(std::move(admitted));
  PARLEY_TRY(Exchange exchange, Exchange::make(local.channel(), std::move(terms)));
  PARLEY_CHECK(exchange.open());
  PARLEY_TRY(auto outcome, drive(algorithm, std::move(first), exchange, observer));
  return Simulated<typename A::Iterate>{std::move(outcome), exchange.meter().communication()};
}

}  // namespace parley::rounds
