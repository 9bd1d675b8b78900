// An algorithm of several parties is four functions; state passes through them, none is kept inside.
//
//   class FedHt {
//    public:
//     struct Iterate { ...; static void fields(auto& self, auto&& visit) { visit(...); } };  // coordinator's
//     state struct Task    { ... };   // coordinator -> party struct Reply   { ... };   // party ->
//     coordinator struct Memory  { ... };   // a party's own state between rounds; never travels struct Data
//     { ... };   // a party's records: any type, rows or columns; never travels, never encoded
//
//     Task ask(const Iterate&) const;                        // or ask(const Iterate&, int party) when tasks
//     differ Result<privacy::Released<Reply>> answer(const Task&, const Data&, Memory&, privacy::Gate&)
//     const;   // at a party Result<Iterate> absorb(Iterate, const Answers<Reply>&) const;  // answers in
//     party order, as they came or not bool done(const Iterate&) const;                       // asked before
//     each round
//   };
//
// Iterate, Task, Reply and Memory list their fields once (wire/fields.h says which kinds there are). A
// checkpoint is the encoded Iterate, a party's durable state the encoded Memory: what a list leaves out is a
// cache that the function that needs it rebuilds when it is empty.
//
// What each function may rely on:
//   - the same arguments give the same result: no clock, no global, randomness from the task's seed or the
//   gate's;
//   - a Task or Reply that was decoded is well formed and finite, but its *sizes* are the sender's word:
//   answer
//     and absorb check them against their own (an error of answer becomes a fault code; its text stays at the
//     site);
//   - where the coordinator can tell that a reply cannot be true, check(iterate, party, reply) says so, and the party is named
//     (sizes, and what it said about itself). It may run for several parties at once, and its text must not speak of data;
//   - answer is called once for a round: a repeated request gets the stored bytes. An answer that fails
//   leaves
//     Memory as it was;
//   - the gate is opened for one round: the keys of its releases need to differ within the round only.
//     In a run without privacy gate.charges() is false, and gate.unprotected(Private(reply)) is the way out.
#pragma once
#include <concepts>
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
concept ChecksReplies = requires(const A& algorithm, const typename A::Iterate& iterate, int party, const typename A::Reply& reply) {
  { algorithm.check(iterate, party, reply) } -> std::same_as<Result<void>>;
};

template <class A>
concept Algorithm = wire::Message<typename A::Iterate> && wire::Message<typename A::Task> && wire::Message<typename A::Reply> &&
    wire::Message<typename A::Memory> &&
    (AsksAll<A> || AsksEach<A>)&&requires(const A& algorithm, const typename A::Task& task, const typename A::Data& data,
                                          typename A::Memory& memory, privacy::Gate& gate, typename A::Iterate iterate,
                                          const Answers<typename A::Reply>& answers) {
  { algorithm.answer(task, data, memory, gate) } -> std::same_as<Result<privacy::Released<typename A::Reply>>>;
  { algorithm.absorb(std::move(iterate), answers) } -> std::same_as<Result<typename A::Iterate>>;
  { algorithm.done(iterate) } -> std::same_as<bool>;
};

}  // namespace parley::rounds
