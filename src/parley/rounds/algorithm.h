// An algorithm of several parties is four functions. State passes through them; none is kept inside.
//
//   class FedHt {
//    public:
//     struct Iterate { ... };  // the coordinator's state
//     struct Task    { ... };  // coordinator -> party
//     struct Reply   { ... };  // party -> coordinator
//     struct Memory  { ... };  // a party's own state between rounds; never travels
//     struct Data    { ... };  // a party's records, of any type, rows or columns; never travels, never encoded
//
//     // At the coordinator, for all parties alike. Where tasks differ: ask(const Iterate&, int party).
//     Task ask(const Iterate&) const;
//     // At a party.
//     Result<privacy::Released<Reply>> answer(const Task&, const Data&, Memory&, privacy::Gate&) const;
//     // At the coordinator. The answers are in party order; a party that stayed away is not among them.
//     Result<Iterate> absorb(Iterate, const Answers<Reply>&) const;
//     // At the coordinator, before each round.
//     bool done(const Iterate&) const;
//   };
//
// Iterate, Task, Reply and Memory list their fields once (wire/fields.h says which kinds there are):
//
//   struct Task {
//     linalg::SparseVector weights;
//     static void fields(auto& self, auto&& visit) { visit(self.weights); }
//   };
//
// A checkpoint is the encoded Iterate, a party's durable state the encoded Memory: what a list leaves out is a cache
// that the function that needs it rebuilds when it is empty.
//
// What each function may rely on:
//   - The same arguments give the same result: no clock, no global, randomness from the task's seed or the gate's.
//   - A Task or Reply that was decoded is well formed and finite, but its *sizes* are the sender's word: answer and
//     absorb check them against their own. (An error of answer becomes a fault code; its text stays at the site.)
//   - Where the coordinator can tell that a reply cannot be true (from its sizes, or from what the party said about
//     itself), check(iterate, party, reply) says so, and the party is named. It may run for several parties at once,
//     and its text must not speak of data.
//   - A party for which ask(iterate, party) returns no task (std::optional<Task>) is not asked in this round: it gets
//     no message, nobody waits for it, and its Memory stays as it is. Every round asks somebody.
//   - answer is called once for a round: a repeated request gets the stored bytes. An answer that fails leaves Memory
//     as it was.
//   - The gate is opened for one round: the keys of its releases need to differ within the round only. In a run without
//     privacy gate.charges() is false, and gate.unprotected(Private(reply)) is the way out.
#pragma once
#include <concepts>
#include <optional>
#include <utility>

#include "parley/core/result.h"
#include "parley/privacy/gate.h"
#include "parley/rounds/answers.h"
#include "parley/wire/fields.h"

namespace parley::rounds {

template <class A>
concept AsksAll = requires(const A& algorithm, const typename A::Iterate& iterate) {
  { algorithm.ask(iterate) } -> std::same_as<typename A::Task>;
};
template <class A>
concept AsksEach = requires(const A& algorithm, const typename A::Iterate& iterate, int party) {
  { algorithm.ask(iterate, party) } -> std::same_as<typename A::Task>;
};
template <class A>
concept AsksSome = requires(const A& algorithm, const typename A::Iterate& iterate, int party) {
  { algorithm.ask(iterate, party) } -> std::same_as<std::optional<typename A::Task>>;
};

template <class A>
concept ChecksReplies = requires(const A& algorithm, const typename A::Iterate& iterate, int party,
                                 const typename A::Reply& reply) {
  { algorithm.check(iterate, party, reply) } -> std::same_as<Result<void>>;
};

template <class A>
concept Algorithm = wire::Message<typename A::Iterate> && wire::Message<typename A::Task> &&
    wire::Message<typename A::Reply> && wire::Message<typename A::Memory> &&
    (AsksAll<A> || AsksEach<A> || AsksSome<A>)&&requires(const A& algorithm, const typename A::Task& task,
                                                         const typename A::Data& data, typename A::Memory& memory,
                                                         privacy::Gate& gate, typename A::Iterate iterate,
                                                         const Answers<typename A::Reply>& answers) {
  { algorithm.answer(task, data, memory, gate) } -> std::same_as<Result<privacy::Released<typename A::Reply>>>;
  { algorithm.absorb(std::move(iterate), answers) } -> std::same_as<Result<typename A::Iterate>>;
  { algorithm.done(iterate) } -> std::same_as<bool>;
};

}  // namespace parley::rounds
