#include "parley/rounds/exchange.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <utility>

#include "parley/core/files.h"

namespace parley::rounds {

using transport::Arrival;
using transport::Clock;
using transport::SharedFrame;
using wire::Kind;
using wire::Refusal;
using State = Seat::State;

namespace {

// Names a run among all runs; not a secret.
wire::RunId fresh_run() {
  std::random_device system;
  wire::RunId run;
  for (std::size_t i = 0; i < run.size(); i += 4) {
    const std::uint32_t word = system();
    std::memcpy(run.data() + i, &word, 4);
  }
  return run;
}

std::string listed(const std::vector<std::string>& parties) {
  return fmt::format("{}", fmt::join(parties, ", "));
}

}  // namespace

Exchange::Exchange(transport::Channel& channel, Terms terms)
    : channel_(&channel),
      terms_(std::move(terms)),
      seats_(terms_.parties, terms_.rules.quorum),
      meter_(static_cast<int>(terms_.parties.size())) {}

Result<Exchange> Exchange::make(transport::Channel& channel, Terms terms) {
  if (static_cast<std::size_t>(channel.parties()) != terms.parties.size())
    return fail(failed(fmt::format("the channel has {} parties, the job {}", channel.parties(), terms.parties.size())));
  Exchange exchange(channel, std::move(terms));
  std::optional<Checkpoint> found;
  if (!exchange.terms_.checkpoint.empty()) {
    PARLEY_TRY(found, load_checkpoint(exchange.terms_.checkpoint));
  }
  if (found) {
    if (found->job != exchange.terms_.job)
      return fail(bad_input({exchange.terms_.checkpoint, 0, ""},
                            "is a checkpoint of another job; choose another folder or remove it"));
    exchange.kept_ = std::move(*found);
    exchange.kept_.introductions.resize(exchange.terms_.parties.size());
    exchange.meter_.resume(exchange.kept_.communication);
    if (!exchange.kept_.begun) exchange.kept_.left_out.clear();  // it is asked again
    for (const int party : exchange.kept_.left_out)
      if (party >= 0 && party < exchange.parties()) exchange.seats_[party].left_out = true;
  } else {
    exchange.kept_.run = fresh_run();
    exchange.kept_.job = exchange.terms_.job;
    exchange.kept_.introductions.resize(exchange.terms_.parties.size());
  }
  exchange.opening_ =
      transport::shared(wire::make_frame({.kind = Kind::kOpen, .run = exchange.kept_.run}, exchange.terms_.job));
  // The run has its name on disk before any site hears it: a killed coordinator comes back under the same one.
  if (!found && !exchange.terms_.checkpoint.empty()) PARLEY_CHECK(save(exchange.kept_, exchange.terms_.checkpoint));
  return exchange;
}

Result<std::optional<std::vector<wire::Bytes>>> Exchange::open(Expected expected) {
  expected_ = std::move(expected);
  const auto all_introduced = [&] {
    // A run that goes on does not wait here for parties on other machines; those that live and die with this process
    // are there, and must know the run also when no round is left.
    return (kept_.begun && !channel_->within_program()) || seats_.all_introduced();
  };
  const Rules& rules = terms_.rules;
  const auto in_time = [&] { return rules.deadline ? Clock::now() + *rules.deadline : Clock::time_point::max(); };
  auto deadline = rules.on_missing == OnMissing::kFail ? in_time() : Clock::time_point::max();
  const auto began = Clock::now();
  if (!all_introduced()) say(Waits{0, awaited()});
  while (!all_introduced()) {
    if (stop_asked()) return std::nullopt;
    // Whoever starts the daemons one after the other has the time of a round for the rest, not for the first.
    if (rules.on_missing == OnMissing::kProceed && deadline == Clock::time_point::max() && seats_.quorum_introduced())
      deadline = in_time();
    const auto arrival = channel_->receive(deadline);
    if (arrival) {
      PARLEY_CHECK(take(*arrival));
    } else if (rules.on_missing == OnMissing::kProceed) {
      PARLEY_CHECK(begin_without_the_absent());
    } else {
      return fail(failed("the run could not be opened in time at: " + listed(seats_.missing())));
    }
    if (below_quorum())
      return fail(failed("fewer parties take part than the quorum; left out: " + listed(seats_.left_out())));
  }
  wait_seconds_ += std::chrono::duration<double>(Clock::now() - began).count();
  return kept_.introductions;
}

Result<void> Exchange::leave_out(int party, const std::string& because) {
  PARLEY_CHECK(go_on_without(party, IsOutvoted{because}));
  tell_without(party);
  kept_.introductions[static_cast<std::size_t>(party)].clear();
  if (below_quorum())
    return fail(failed(fmt::format("fewer parties take part than the quorum; party '{}' {}", name_of(party), because)));
  return {};
}

// Before anybody is charged, like a party that does not admit the job.
Result<void> Exchange::begin_without_the_absent() {
  for (int party = 0; party < parties(); ++party)
    if (!seats_[party].introduced && !seats_[party].left_out) PARLEY_CHECK(go_on_without(party, WasLate{}));
  return {};
}

bool Exchange::below_quorum() const {
  return terms_.rules.on_missing == OnMissing::kProceed && seats_.too_few();
}

void Exchange::say(const Event& event) const {
  if (terms_.notice && closing_ == nullptr) terms_.notice(event);
}

Awaited Exchange::awaited() {
  said_away_ = seats_.away();
  return {said_away_, seats_.all_here()};
}

// If it is news.
void Exchange::say_whom_the_round_waits_for() {
  const bool somebody = std::any_of(seats_.begin(), seats_.end(),
                                    [](const Seat& seat) { return seat.asked && seat.state != State::kReady; });
  if (!somebody || seats_.away() == said_away_) return;
  if (const Awaited whom = awaited(); whom.all_here || !whom.parties.empty()) say(Waits{kept_.round + 1, whom});
}

// The next arrival. Where none comes for long, says so once in a round, if it is news.
std::optional<Arrival> Exchange::next(Clock::time_point deadline) {
  if (patience_ < deadline) {
    if (auto arrival = channel_->receive(patience_)) return arrival;
    patience_ = Clock::time_point::max();
    if (std::vector<std::string> slow = seats_.missing(); slow != said_slow_) {
      say(IsSlow{kept_.round + 1, slow});
      said_slow_ = std::move(slow);
    }
  }
  return channel_->receive(deadline);
}

// A site answers one first task: whom a coordinator that was killed comes back with must be whom it was made for.
Result<void> Exchange::begin() {
  if (std::exchange(kept_.begun, true) || terms_.checkpoint.empty()) return {};
  kept_.communication = meter_.communication();
  return save(kept_, terms_.checkpoint);
}

Result<Collected> Exchange::ask(std::vector<SharedFrame> tasks, const ReadReply& read) {
  tasks_ = std::move(tasks);
  if (!seats_.begin_round([&](int party) { return task_of(party) != nullptr; }))
    return fail(
        failed(fmt::format("round {}: an error of the algorithm: it asks no party that takes part", kept_.round + 1)));
  PARLEY_CHECK(begin());
  read_ = read ? &read : nullptr;
  const transport::Peeking peeking(
      *channel_, read ? transport::Peek([this](int party, std::string_view bytes) { read_early(party, bytes); })
                      : transport::Peek{});
  collected_ = {};
  collected_.replies.resize(terms_.parties.size());
  meter_.begin_round();
  send_tasks();
  const auto asked = Clock::now();
  if (terms_.notice) {
    patience_ = asked + terms_.patience;
    say_whom_the_round_waits_for();
  }
  auto deadline = terms_.rules.deadline && terms_.rules.on_missing != OnMissing::kWait ? asked + *terms_.rules.deadline
                                                                                       : Clock::time_point::max();
  bool late = false;
  while (!seats_.enough(late) && !collected_.stopped && !collected_.budget_ended) {
    if (below_quorum())
      return fail(failed(fmt::format("round {}: fewer parties are left than the quorum; no answer from: {}",
                                     kept_.round + 1, listed(seats_.missing()))));
    const auto arrival = next(deadline);
    if (arrival) {
      PARLEY_CHECK(take(*arrival));
      continue;
    }
    if (terms_.rules.on_missing != OnMissing::kProceed)
      return fail(
          failed(fmt::format("round {}: no answer in time from: {}", kept_.round + 1, listed(seats_.missing()))));
    late = true;
    deadline = Clock::time_point::max();  // below the quorum there is nothing to proceed with
  }
  wait_seconds_ += std::chrono::duration<double>(Clock::now() - asked).count();
  tasks_.clear();
  seats_.end_round();
  meter_.end_round();
  return std::move(collected_);
}

Result<void> Exchange::keep(const std::function<wire::Bytes()>& encoded_iterate) {
  ++kept_.round;
  for (int party = 0; party < parties(); ++party)
    if (seats_[party].asked && !seats_[party].left_out) meter_.count_asked(party);
  if (terms_.checkpoint.empty()) return {};
  kept_.iterate = encoded_iterate();
  kept_.communication = meter_.communication();
  return save(kept_, terms_.checkpoint);
}

Result<void> Exchange::close() {
  closing_ = transport::shared(wire::make_frame({.kind = Kind::kClose, .run = kept_.run, .round = kept_.round}));
  for (int party = 0; party < parties(); ++party)
    if (seats_[party].state == State::kReady) send(party, closing_);
  // The result is kept by now. A party that closed the run and left before this coordinator was killed and
  // came back will not dial again, so even a run that waits for its parties does not wait for that for ever.
  // Nor does one that may proceed wait as long as a round may last, unless a party is there and still at work.
  constexpr std::chrono::seconds kLastWord{5};
  const auto last_word = Clock::now() + kLastWord;
  const auto patient = terms_.rules.deadline && terms_.rules.on_missing != OnMissing::kWait
                           ? Clock::now() + *terms_.rules.deadline
                           : last_word;
  const auto someone_works = [&] {
    return std::any_of(seats_.begin(), seats_.end(),
                       [](const Seat& seat) { return !seat.closed && seat.state != State::kAway; });
  };
  while (!seats_.all_closed() && !stop_asked()) {
    const auto arrival = channel_->receive(someone_works() ? patient : std::min(patient, last_word));
    if (!arrival) break;
    PARLEY_CHECK(take(*arrival));
  }
  std::error_code ignored;
  if (!terms_.checkpoint.empty() && !terms_.leaves_checkpoint) std::filesystem::remove(terms_.checkpoint, ignored);
  return {};
}

std::string Exchange::not_told() const {
  return listed(seats_.not_closed());
}

void Exchange::send(int party, const SharedFrame& frame) {
  meter_.count_around_down(frame->size());
  channel_->send({&party, 1}, frame);
}

// None for a party that the round does not ask.
SharedFrame Exchange::task_of(int party) const {
  return tasks_.size() == 1 ? tasks_.front() : tasks_[static_cast<std::size_t>(party)];
}

void Exchange::send_tasks() {
  std::vector<int> ready;
  for (int party = 0; party < parties(); ++party)
    if (seats_[party].asked && seats_[party].state == State::kReady) ready.push_back(party);
  if (tasks_.size() > 1) {
    for (const int party : ready) send_task(party);
    return;
  }
  for (const int party : ready) meter_.count_down(party, tasks_.front()->size());
  channel_->send(ready, tasks_.front());
}

void Exchange::send_task(int party) {
  const SharedFrame task = task_of(party);
  meter_.count_down(party, task->size());
  channel_->send({&party, 1}, task);
}

void Exchange::refuse(int party, const wire::Header& about, Refusal refusal) {
  say(FrameRefused{name_of(party), refusal});
  send(party, transport::shared(
                  wire::make_frame({Kind::kRefuse, static_cast<std::uint8_t>(refusal), about.run, about.round})));
  channel_->drop(party);
}

// What a party that has just become ready has to do: nothing, where the round does not ask it.
void Exchange::take_place(int party) {
  if (closing_ != nullptr) return send(party, closing_);
  if (seats_.in_round() && seats_[party].asked && !seats_[party].answered) send_task(party);
}

// When the run is over, a party has closed it, or has no part in it any more; either is an end. Whether it
// was one.
bool Exchange::take_while_closing(int party, const wire::Header& header) {
  if (header.kind != Kind::kClose && header.kind != Kind::kRefuse && header.kind != Kind::kFault) return false;
  seats_[party].closed = true;
  return true;
}

void Exchange::limit_replies(std::size_t bytes) {
  constexpr std::size_t kRoom = std::size_t{1} << 16;  // for headers, and for other words in an introduction
  for (const wire::Bytes& introduction : kept_.introductions) bytes = std::max(bytes, introduction.size());
  channel_->limit(std::min(bytes, wire::kDefaultLimit - kRoom) + kRoom);
}

Result<void> Exchange::take(const Arrival& arrival) {
  if (arrival.what == Arrival::What::kWoken) {
    collected_.stopped = stop_asked();
    return {};
  }
  Seat& seat = seats_[arrival.party];
  switch (arrival.what) {
    case Arrival::What::kJoined:
      if (seat.left_out || seat.barred) {
        say(JoinedInVain{name_of(arrival.party)});
        tell_without(arrival.party);
        return {};
      }
      say(seat.state == State::kAway ? Event(Joined{name_of(arrival.party)}) : JoinedTwice{name_of(arrival.party)});
      seat.state = State::kOpening;
      seat.declined = seat.gave_up = false;  // it may have thought better of it
      send(arrival.party, opening_);
      return {};
    case Arrival::What::kFrame:
      return take_frame(arrival.party, arrival.frame);
    default:
      if (std::exchange(seat.state, State::kAway) != State::kAway) say(Left{name_of(arrival.party), awaited()});
      return {};
  }
}

Result<void> Exchange::take_frame(int party, const SharedFrame& bytes) {
  Seat& seat = seats_[party];
  const auto frame = wire::read_frame(*bytes, wire::kDefaultLimit, unchecked());
  const auto answers = [](const wire::Header& header) {
    return header.round > 0 && (header.kind == Kind::kReply || header.kind == Kind::kFault);
  };
  if (frame && answers(frame->header) && seat.asked)
    meter_.count_up(party, bytes->size());
  else
    meter_.count_around_up(bytes->size());
  if (!frame) {
    refuse(party, {}, frame.error());
    return {};
  }
  const wire::Header& header = frame->header;
  if (seat.barred) return {};
  if (seat.left_out) {
    // It admitted the job after the run had begun: it need not wait for a task.
    if (header.kind == Kind::kReady && header.run == kept_.run)
      send(party, transport::shared(wire::make_frame({.kind = Kind::kClose, .run = kept_.run, .round = kept_.round})));
    return {};
  }
  if (closing_ != nullptr && take_while_closing(party, header)) return {};
  if (header.kind == Kind::kRefuse) {
    // A party that cannot read us, or that answered what we do not remember asking, cannot be part of this
    // run.
    PARLEY_CHECK(go_on_without(party, RefusedAFrame{static_cast<Refusal>(header.code)}));
    channel_->drop(party);
    return {};
  }
  if (header.run != kept_.run) {
    refuse(party, header, Refusal::kWrongRun);
    return {};
  }
  const bool this_round = seats_.in_round() && header.round == kept_.round + 1;
  if (this_round && !seat.asked && answers(header)) {
    refuse(party, header, Refusal::kUnexpected);
    return {};
  }
  if (header.kind == Kind::kFault) return take_fault(party, header);
  if (header.kind == Kind::kReady && seat.state == State::kOpening) return take_introduction(party, *frame);
  if (header.kind != Kind::kReply || seat.state != State::kReady || (!this_round && header.round > kept_.round)) {
    refuse(party, header, Refusal::kUnexpected);
    return {};
  }
  // An answer to an earlier round came too late, and a second one to this round is the first one again. Who gave up
  // this round has no answer to it.
  if (this_round && !seat.gave_up && !seat.answered) return take_reply(party, bytes, *frame);
  return {};
}

// The introduction that the run began with stands, whatever the party says when it joins anew.
Result<void> Exchange::take_introduction(int party, const wire::Frame& frame) {
  Seat& seat = seats_[party];
  if (!kept_.begun && expected_.introduction) {
    if (const auto fine = expected_.introduction(party, frame.payload); !fine) {
      PARLEY_CHECK(go_on_without(party, IsNotBelieved{fine.error().message}));
      tell_without(party);
      return {};
    }
  }
  seat.state = State::kReady;
  if (!kept_.begun) kept_.introductions[static_cast<std::size_t>(party)] = wire::Bytes(frame.payload);
  seat.introduced = true;
  say(Ready{name_of(party), awaited()});
  take_place(party);
  return {};
}

// It need not wait for a task, and may stay for the next run.
void Exchange::tell_without(int party) {
  const auto code = static_cast<std::uint8_t>(Refusal::kBegunWithout);
  send(party, transport::shared(wire::make_frame({Kind::kRefuse, code, kept_.run, kept_.round})));
}

// In the thread where the frame arrived. Only a reply to the round that runs is read; everything else about
// the frame is decided when it is taken.
void Exchange::read_early(int party, std::string_view bytes) {
  const auto frame = wire::read_frame(bytes, wire::kDefaultLimit, unchecked());
  if (!frame || frame->header.kind != Kind::kReply || frame->header.run != kept_.run ||
      frame->header.round != kept_.round + 1)
    return;
  Seat& seat = seats_[party];
  if (seat.asked && !seat.read) seat.read = (*read_)(party, frame->payload);
}

Result<void> Exchange::take_reply(int party, const SharedFrame& bytes, const wire::Frame& frame) {
  Seat& seat = seats_[party];
  if (read_ != nullptr && !seat.read) seat.read = (*read_)(party, frame.payload);
  if (!seat.read || *seat.read) {
    seat.answered = true;
    collected_.replies[static_cast<std::size_t>(party)] = bytes;
    meter_.count_answer(party);
    return {};
  }
  const std::string& because = seat.read->error().message;
  if (terms_.rules.on_missing != OnMissing::kProceed)
    return fail(failed(
        fmt::format("round {}: the reply of party '{}' cannot be used: {}", kept_.round + 1, name_of(party), because)));
  // A frame that was sent whole and says this was meant so: asked again, the party would say it again.
  seat.barred = seat.declined = seat.gave_up = true;
  seat.state = State::kAway;
  say(Barred{name_of(party), kept_.round + 1, because});
  refuse(party, frame.header, Refusal::kDamaged);
  return {};
}

// A party that will not go on counts as missing, or ends the run. Who takes part is settled when the run opens, before
// anybody is charged: a party that will not begin has no part in it.
Result<void> Exchange::go_on_without(int party, const Reason& reason) {
  if (terms_.rules.on_missing != OnMissing::kProceed)
    return fail(failed(fmt::format("party '{}' {}", name_of(party), in_words(reason))));
  Seat& seat = seats_[party];
  seat.state = State::kAway;
  if (seats_.in_round()) {
    seat.declined = seat.gave_up = true;
    say(Declined{name_of(party), reason});
  } else {
    seat.left_out = true;
    kept_.left_out.push_back(party);
    say(LeftOut{name_of(party), reason});
  }
  return {};
}

Result<void> Exchange::take_fault(int party, const wire::Header& header) {
  const PartyFault fault{static_cast<privacy::FaultCode>(header.code), expected_.budgets};
  const bool budget_ended = fault.code == privacy::FaultCode::kBudgetEnded && expected_.budgets;
  const bool this_round = seats_.in_round() && header.round == kept_.round + 1;
  if (header.round != 0 && !this_round) return {};  // of an earlier round
  if (header.round == 0) {
    auto gone = go_on_without(party, WillNotBegin{fault});
    if (!gone && budget_ended) gone.error().fault = Fault::kBudgetEnded;
    return gone;
  }
  if (budget_ended) {
    collected_.budget_ended = true;
    return {};
  }
  if (terms_.rules.on_missing != OnMissing::kProceed)
    return fail(
        failed(fmt::format("round {}: party '{}' gave no answer: {}", header.round, name_of(party), in_words(fault))));
  // A party that failed in this round may answer the next. Who says that it cannot answer what everybody was asked is
  // not asked again: no party ends a run that may proceed by a code of its choice.
  if (fault.code == privacy::FaultCode::kInternal) {
    seats_[party].gave_up = true;
    say(Faulted{name_of(party), header.round, fault});
    return {};
  }
  PARLEY_CHECK(go_on_without(party, WillNotAnswer{header.round, fault}));
  // A party that lost its past or its disk goes on when it is opened anew.
  if (fault.code == privacy::FaultCode::kPastLost || fault.code == privacy::FaultCode::kUnavailable)
    channel_->drop(party);
  return {};
}

}  // namespace parley::rounds
