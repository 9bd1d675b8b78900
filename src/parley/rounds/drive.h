// The loop of every algorithm: ask, collect, absorb, keep, until done.
//
// What is learned depends on the tasks and the answers alone: not on the transport, the order of arrival, the
// number of threads, or how often anything was killed and restarted in between.
#pragma once
#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "parley/rounds/algorithm.h"
#include "parley/rounds/exchange.h"
#include "parley/wire/decode.h"
#include "parley/wire/largest.h"

namespace parley::rounds {

enum class Ended {
  kDone,
  kStopped,      // someone asked for it; a checkpoint, if one is kept, goes on from here
  kBudgetEnded,  // a site's budget refused a release; what was learned is kept
};

template <class Iterate>
struct DriveResult {
  Iterate iterate;
  std::int64_t rounds = 0;
  Ended ended = Ended::kDone;
};

// After each round; false asks for a stop.
template <class Iterate>
using RoundObserver = std::function<bool(std::int64_t round, const Iterate&)>;

// One for all parties, or one for each: null for a party that is not asked.
template <Algorithm A>
std::vector<transport::SharedFrame> task_frames(const A& algorithm, const typename A::Iterate& iterate,
                                                Exchange& exchange) {
  std::vector<transport::SharedFrame> frames;
  const auto frame = [&](const typename A::Task& task) {
    transport::FrameStore& store = exchange.frames();
    frames.push_back(store.share(wire::make_frame(exchange.next_task(), task, store.room())));
  };
  if constexpr (AsksAll<A>) {
    frame(algorithm.ask(iterate));
  } else {
    for (int party = 0; party < exchange.parties(); ++party) {
      const std::optional<typename A::Task> task = algorithm.ask(iterate, party);
      if (task)
        frame(*task);
      else
        frames.push_back(nullptr);
    }
  }
  return frames;
}

// The replies of one round, read into messages whose memory is reused.
template <class Reply>
class Replies {
 public:
  explicit Replies(int parties) : answers_(static_cast<std::size_t>(parties)) {}

  // Valid until the next one of that party.
  Result<const Reply*> read(int party, std::string_view payload) {
    Answer<Reply>& answer = answers_[static_cast<std::size_t>(party)];
    answer.party = party;
    PARLEY_CHECK(wire::decode_to(answer.reply, payload));
    return &answer.reply;
  }
  // Those that were collected, in party order.
  Answers<Reply> of(const Collected& collected) {
    std::size_t there = 0;
    for (std::size_t p = 0; p < answers_.size(); ++p) {
      if (collected.replies[p] == nullptr) continue;
      if (there != p) std::swap(answers_[there], answers_[p]);
      ++there;
    }
    return Answers<Reply>(std::span(answers_).first(there));
  }

 private:
  std::vector<Answer<Reply>> answers_;
};

// `first` is where a new run begins; one that goes on from a checkpoint begins there.
template <Algorithm A>
Result<DriveResult<typename A::Iterate>> drive(const A& algorithm, typename A::Iterate first, Exchange& exchange,
                                               const RoundObserver<typename A::Iterate>& observer = {}) {
  using Reply = typename A::Reply;
  DriveResult<typename A::Iterate> outcome{std::move(first), exchange.rounds_done(), Ended::kDone};
  if (!exchange.kept_iterate().empty())
    PARLEY_CHECK(wire::decode_to(outcome.iterate, exchange.kept_iterate(), wire::Numbers::kAny));
  const auto end = [&](Ended why) {
    outcome.ended = why;
    return std::move(outcome);
  };
  Replies<Reply> replies(exchange.parties());
  // Whatever is wrong with a reply is found here, where it is known whose it is.
  const ReadReply read = [&](int party, std::string_view payload) -> Result<void> {
    PARLEY_TRY(const Reply* reply, replies.read(party, payload));
    if (!(wire::largest_number(*reply) <= exchange.largest_value()))
      return fail(failed("it holds a number beyond rounds.largest_value"));
    if constexpr (ChecksReplies<A>) return algorithm.check(outcome.iterate, party, *reply);
    return {};
  };
  while (!algorithm.done(outcome.iterate)) {
    if (exchange.stop_asked()) return end(Ended::kStopped);
    PARLEY_TRY(const Collected collected, exchange.ask(task_frames(algorithm, outcome.iterate, exchange), read));
    if (collected.stopped) return end(Ended::kStopped);
    if (collected.budget_ended) return end(Ended::kBudgetEnded);
    PARLEY_TRY(outcome.iterate, algorithm.absorb(std::move(outcome.iterate), replies.of(collected)));
    PARLEY_CHECK(exchange.keep([&] { return wire::encode(outcome.iterate); }));
    outcome.rounds = exchange.rounds_done();
    if (observer && !observer(outcome.rounds, outcome.iterate)) return end(Ended::kStopped);
  }
  return end(Ended::kDone);
}

}  // namespace parley::rounds
