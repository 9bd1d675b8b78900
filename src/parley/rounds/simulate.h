// All parties in this process: the same handler, exchange and bytes as between machines, over the in-process
// channel.
#pragma once
#include <fmt/format.h>

#include <memory>

#include "parley/rounds/drive.h"
#include "parley/rounds/handler.h"
#include "parley/transport/in_process/in_process.h"

namespace parley::rounds {

template <class Iterate>
struct Simulated {
  Outcome<Iterate> outcome;
  Communication communication;
};

template <Algorithm A>
Result<Simulated<typename A::Iterate>> simulate(const A& algorithm, typename A::Iterate first,
                                                std::vector<std::unique_ptr<Party<A>>> parties,
                                                const RoundObserver<typename A::Iterate>& observer = {},
                                                Rules rules = {}) {
  std::vector<std::unique_ptr<Handler>> handlers;
  std::vector<transport::Respond> respond;
  Terms terms{.rules = rules};
  for (auto& party : parties) {
    terms.parties.push_back(fmt::format("party {}", handlers.size() + 1));
    const auto admit = [waiting = std::make_shared<std::unique_ptr<Party<A>>>(std::move(party))](
                           const Opening&) -> Result<Admission> {
      return Admission{std::move(*waiting), {}};
    };
    handlers.push_back(std::make_unique<Handler>(admit, ""));
    respond.push_back(
        [handler = handlers.back().get()](std::string_view frame) { return handler->respond(frame); });
  }
  transport::InProcess channel(std::move(respond));
  PARLEY_TRY(Exchange exchange, Exchange::make(channel, std::move(terms)));
  PARLEY_CHECK(exchange.open());
  PARLEY_TRY(auto outcome, drive(algorithm, std::move(first), exchange, observer));
  return Simulated<typename A::Iterate>{std::move(outcome), exchange.meter().communication()};
}

}  // namespace parley::rounds
