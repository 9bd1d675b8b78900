// The coordinator's side of a run, whatever the algorithm: opens it at every party, asks for rounds, collects answers.
//
// A party is away, opening or ready. Whoever (re)joins is sent the job again and, once ready, the task of the
// round that runs; so a party that was killed finds its place, and one that never noticed just repeats its
// kept answer. Answers come in any order and are handed on in party order. A bad frame is refused with a code
// and ends that party's connection; the others do not notice.
//
// A round may ask some parties only. The others get no frame and nobody waits for them: whoever is missing, and whether
// the answers are enough, is about those that were asked.
//
// What a party says is its own word: its introduction and its replies are looked at before anything is made of them.
// One that cannot be true is that party's fault, and it is named. It ends the run, or (kProceed) the party's part in
// it.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "parley/rounds/checkpoint.h"
#include "parley/rounds/events.h"
#include "parley/rounds/meter.h"
#include "parley/rounds/seats.h"
#include "parley/transport/channel.h"
#include "parley/transport/frame_store.h"
#include "parley/wire/frame.h"

namespace parley::rounds {

enum class OnMissing {
  kWait,  // for every party, as long as it takes
  // with those who answered, if they are enough: at the deadline, or once nobody is left who may still answer
  kProceed,
  kFail,  // at the deadline, the run ends
};

struct Rules {
  OnMissing on_missing = OnMissing::kWait;
  // Of a round. Of opening the run, when missing means failing; of the rest once a quorum is there, when it means
  // proceeding.
  std::optional<std::chrono::milliseconds> deadline;
  int quorum = 1;                // fewest answers to proceed with; all of them where a round asks fewer parties
  double largest_value = 1e100;  // that a reply may hold; a larger one is a fault of the party that sent it
};

struct Terms {
  std::vector<std::string> parties;  // their names, in the job's order
  std::string job;                   // its text, shown to every site
  Rules rules;
  std::string checkpoint;                    // file; empty: none is kept
  std::function<bool()> stop_asked;          // looked at between rounds and when the channel is woken
  bool leaves_checkpoint = false;            // close() leaves its removal to whoever asked
  std::function<void(const Event&)> notice;  // who comes, goes and is waited for: for people
  std::chrono::milliseconds patience{3000};  // a round that lasts longer says whose answer it waits for
};

struct Collected {
  // One for each party; null for one that was not asked or is missing. Checked frames.
  std::vector<transport::SharedFrame> replies;
  bool stopped = false;       // someone asked for a stop: the round is not complete
  bool budget_ended = false;  // a site's budget ended: the round is not complete
};

// Reads what a party replied, as soon as it is there. For several parties at once by several threads, for one
// party by one at a time.
using ReadReply = std::function<Result<void>(int party, std::string_view payload)>;

// What parties may say in this run.
struct Expected {
  // Whether what a party says about itself can be true; looked at before it is kept.
  std::function<Result<void>(int party, std::string_view introduction)> introduction;
  // Sites pay from budgets. In a run without any, a party that says that its own has ended is at fault like one that
  // failed.
  bool budgets = true;
};

class Exchange {
 public:
  // Takes up the run of an existing checkpoint of the same job, or begins a new one.
  static Result<Exchange> make(transport::Channel& channel, Terms terms);

  // Introductions in party order, once every party has admitted the job; under kProceed, once every party has said
  // whether it does or is late, and those that do not or are late are left out of the run. Those of a run that has
  // begun stand. Nothing when a stop was asked for.
  Result<std::optional<std::vector<wire::Bytes>>> open(Expected expected = {});
  [[nodiscard]] const std::vector<int>& left_out() const { return kept_.left_out; }  // has no introductions
  // Before the first round: of parties whose introductions contradict each other this one is not believed. The run goes
  // on without it, or ends.
  Result<void> leave_out(int party, const std::string& because);

  [[nodiscard]] const wire::RunId& run() const { return kept_.run; }
  [[nodiscard]] int parties() const { return seats_.size(); }
  [[nodiscard]] std::int64_t rounds_done() const { return kept_.round; }
  [[nodiscard]] const std::string& kept_iterate() const { return kept_.iterate; }  // empty before the first round
  [[nodiscard]] double largest_value() const { return terms_.rules.largest_value; }
  [[nodiscard]] bool stop_asked() const { return terms_.stop_asked && terms_.stop_asked(); }
  [[nodiscard]] wire::Header next_task() const {
    return {
        .kind = wire::Kind::kTask, .run = kept_.run, .round = kept_.round + 1, .checked = !channel_->within_program()};
  }

  // No reply is larger: whoever sends more is refused before it is all held. What opened the run may come
  // again. Never above what any frame may have, whatever the parties said about themselves.
  void limit_replies(std::size_t bytes);

  // Where the frames of tasks get their memory.
  [[nodiscard]] transport::FrameStore& frames() { return frames_; }

  // The next round: one task frame for all parties, or one for each, null for those that are not asked. A reply that
  // `read` cannot read is none.
  Result<Collected> ask(std::vector<transport::SharedFrame> tasks, const ReadReply& read = {});
  // The round is done and this is what came of it; on disk when it returns.
  Result<void> keep(const std::function<wire::Bytes()>& encoded_iterate);
  // The run is over and its result is safe: tells the parties and waits until each has said so back, as long
  // as the rules wait for an answer. Then the checkpoint goes.
  Result<void> close();
  // After close(): the parties that have not said so, by name.
  [[nodiscard]] std::string not_told() const;

  [[nodiscard]] const Meter& meter() const { return meter_; }
  [[nodiscard]] double wait_seconds() const { return wait_seconds_; }

 private:
  Exchange(transport::Channel& channel, Terms terms);

  Result<void> take(const transport::Arrival& arrival);
  Result<void> take_frame(int party, const transport::SharedFrame& bytes);
  Result<void> take_reply(int party, const transport::SharedFrame& bytes, const wire::Frame& frame);
  Result<void> take_introduction(int party, const wire::Frame& frame);
  Result<void> take_fault(int party, const wire::Header& header);
  void tell_without(int party);
  Result<void> go_on_without(int party, const Reason& reason);
  [[nodiscard]] bool below_quorum() const;
  Result<void> begin();
  Result<void> begin_without_the_absent();
  void read_early(int party, std::string_view bytes);
  bool take_while_closing(int party, const wire::Header& header);
  void send(int party, const transport::SharedFrame& frame);
  [[nodiscard]] transport::SharedFrame task_of(int party) const;
  void send_tasks();
  void send_task(int party);
  void take_place(int party);
  void refuse(int party, const wire::Header& about, wire::Refusal why);
  [[nodiscard]] wire::Unchecked unchecked() const {
    return channel_->within_program() ? wire::Unchecked::kAllowed : wire::Unchecked::kRefused;
  }
  void say(const Event& event) const;
  Awaited awaited();
  void say_whom_the_round_waits_for();
  std::optional<transport::Arrival> next(transport::Clock::time_point deadline);
  [[nodiscard]] const std::string& name_of(int party) const { return seats_.name_of(party); }

  transport::Channel* channel_;
  Terms terms_;
  Expected expected_;
  Seats seats_;
  Checkpoint kept_;
  Meter meter_;
  transport::SharedFrame opening_;
  transport::FrameStore frames_;
  std::vector<transport::SharedFrame> tasks_;  // of the round that runs; empty between rounds
  Collected collected_;
  const ReadReply* read_ = nullptr;  // of the round that runs
  transport::SharedFrame closing_;   // null until the run is over
  double wait_seconds_ = 0;
  std::vector<std::string> said_away_;                                           // who was, when it was said last
  std::vector<std::string> said_slow_;                                           // whose answer lacked, likewise
  transport::Clock::time_point patience_ = transport::Clock::time_point::max();  // of the round that runs
};

}  // namespace parley::rounds
