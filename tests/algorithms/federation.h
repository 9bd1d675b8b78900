// Runs an algorithm over parties in memory by its four functions, through encoded messages.
#pragma once
#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <vector>

#include "parley/rounds/algorithm.h"
#include "parley/wire/decode.h"

namespace parley::tests {

struct Bytes {
  std::size_t largest_task = 0;
  std::size_t largest_reply = 0;
};

// Nothing for a party that is not asked.
template <class A>
std::optional<typename A::Task> task_of(const A& algorithm, const typename A::Iterate& iterate, int party) {
  if constexpr (rounds::AsksAll<A>)
    return algorithm.ask(iterate);
  else
    return algorithm.ask(iterate, party);
}

template <class A>
Result<typename A::Iterate> absorbed(const A& algorithm, typename A::Iterate iterate,
                                     const std::vector<rounds::Answer<typename A::Reply>>& answers) {
  return algorithm.absorb(std::move(iterate), rounds::Answers<typename A::Reply>(answers));
}

// `seen` gets the iterate after every round. Parties answer in the order of `order` (empty: their own).
template <class A>
Result<typename A::Iterate> federate(const A& algorithm, typename A::Iterate iterate,
                                     const std::vector<typename A::Data>& parties,
                                     const std::function<void(const typename A::Iterate&)>& seen = {},
                                     Bytes* bytes = nullptr, std::vector<std::size_t> order = {}) {
  std::vector<typename A::Memory> memories(parties.size());
  if (order.empty()) {
    order.resize(parties.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
  }
  while (!algorithm.done(iterate)) {
    std::vector<rounds::Answer<typename A::Reply>> answers;
    for (const std::size_t p : order) {
      auto gate = privacy::Gate::without_privacy(privacy::Unprotected{});
      const auto asked = task_of(algorithm, iterate, static_cast<int>(p));
      if (!asked) continue;
      const wire::Bytes task = wire::encode(*asked);
      PARLEY_TRY(const auto read, wire::decode<typename A::Task>(task));
      PARLEY_TRY(const auto released, algorithm.answer(read, parties[p], memories[p], gate));
      const wire::Bytes reply = wire::encode(released.value());
      if (bytes != nullptr) {
        bytes->largest_task = std::max(bytes->largest_task, task.size());
        bytes->largest_reply = std::max(bytes->largest_reply, reply.size());
      }
      answers.push_back({static_cast<int>(p), released.value()});
    }
    std::sort(answers.begin(), answers.end(), [](const auto& a, const auto& b) { return a.party < b.party; });
    PARLEY_TRY(iterate, absorbed(algorithm, std::move(iterate), answers));
    if (seen) seen(iterate);
  }
  return iterate;
}

}  // namespace parley::tests
