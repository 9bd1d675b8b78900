// Runs an algorithm over parties in this process, one after the other, through the bytes that would travel.
#pragma once
#include <functional>
#include <span>

#include "parley/rounds/party.h"

namespace parley::rounds {

template <class Iterate>
using RoundObserver = std::function<bool(std::int64_t round, const Iterate&)>;  // false asks for a stop

template <Algorithm A>
Result<typename A::Iterate> simulate(const A& algorithm, typename A::Iterate iterate, std::span<Party<A>> parties,
                                     const RoundObserver<typename A::Iterate>& observer = {}) {
  for (std::int64_t round = 1; !algorithm.done(iterate); ++round) {
    std::vector<Answer<typename A::Reply>> answers;
    for (std::size_t p = 0; p < parties.size(); ++p) {
      const auto task = [&] {
        if constexpr (AsksEach<A>)
          return algorithm.ask(iterate, static_cast<int>(p));
        else
          return algorithm.ask(iterate);
      };
      const Sent sent = parties[p].answer(round, wire::encode(task()));
      if (sent.fault == privacy::FaultCode::kBudgetEnded) return fail(Error{Fault::kBudgetEnded, parties[p].last_error()});
      if (sent.fault) return fail(failed(parties[p].last_error()));
      PARLEY_TRY(auto reply, wire::decode<typename A::Reply>(sent.reply));
      answers.push_back({static_cast<int>(p), std::move(reply)});
    }
    PARLEY_TRY(iterate, algorithm.absorb(std::move(iterate), Answers<typename A::Reply>(std::move(answers))));
    if (observer && !observer(round, iterate)) break;
  }
  return iterate;
}

}  // namespace parley::rounds
