#include "parley/rounds/exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <random>
#include <utility>

#include "parley/core/files.h"

namespace parley::rounds {

using transport::Arrival;
using transport::Clock;
using transport::SharedFrame;
using wire::Kind;
using wire::Refusal;

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

// Of a party whose connection stands when another one is made under its name. Usually the first has broken without a
// word; else the two would take each other's place for ever, so the party whose connection goes is told (server.h).
constexpr const char* kTwice =
    " joined once more; its earlier connection is cut, and a daemon that is still there ends: one name is one daemon";

}  // namespace

std::string_view Exchange::why(privacy::FaultCode code) const {
  switch (code) {
    case privacy::FaultCode::kBadTask:
      return "the task does not fit its data";
    case privacy::FaultCode::kBudgetEnded:
      return expected_.budgets ? "its privacy budget ended" : "it says that a privacy budget ended, and this run spends none";
    case privacy::FaultCode::kNotAllowed:
      return "the site does not allow this job";
    case privacy::FaultCode::kInternal:
      return "it failed; its own record says why";
    case privacy::FaultCode::kPastLost:
      return "what it kept of this run is lost, or is not of this run or of its data; it releases nothing twice";
    case privacy::FaultCode::kUnavailable:
      return "its disk or its ledger does not take what must be kept before it answers; its own record says why";
  }
  return "for a reason this version does not know";
}

Exchange::Exchange(transport::Channel& channel, Terms terms)
    : channel_(&channel), terms_(std::move(terms)), seats_(terms_.parties.size()), meter_(static_cast<int>(terms_.parties.size())) {}

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
      return fail(bad_input({exchange.terms_.checkpoint, 0, ""}, "is a checkpoint of another job; choose another folder or remove it"));
    exchange.kept_ = std::move(*found);
    exchange.kept_.introductions.resize(exchange.seats_.size());
    exchange.meter_.resume(exchange.kept_.communication);
    if (!exchange.kept_.begun) exchange.kept_.left_out.clear();  // it is asked again
    for (const int party : exchange.kept_.left_out)
      if (party >= 0 && party < exchange.parties()) exchange.seats_[static_cast<std::size_t>(party)].left_out = true;
  } else {
    exchange.kept_.run = fresh_run();
    exchange.kept_.job = exchange.terms_.job;
    exchange.kept_.introductions.resize(exchange.seats_.size());
  }
  exchange.opening_ = transport::shared(wire::make_frame({.kind = Kind::kOpen, .run = exchange.kept_.run}, exchange.terms_.job));
  // The run has its name on disk before any site hears it: a killed coordinator comes back under the same
  // one.
  if (!found && !exchange.terms_.checkpoint.empty()) PARLEY_CHECK(save(exchange.kept_, exchange.terms_.checkpoint));
  return exchange;
}

Result<std::optional<std::vector<wire::Bytes>>> Exchange::open(Expected expected) {
  expected_ = std::move(expected);
  const auto all_introduced = [&] {
    // A run that goes on does not wait here for parties on other machines; those that live and die with this process
    // are there, and must know the run also when no round is left.
    return (kept_.begun && !channel_->vouches()) ||
           std::all_of(seats_.begin(), seats_.end(), [](const Seat& seat) { return seat.introduced || seat.left_out; });
  };
  const Rules& rules = terms_.rules;
  const auto in_time = [&] { return rules.deadline ? Clock::now() + *rules.deadline : Clock::time_point::max(); };
  auto deadline = rules.on_missing == OnMissing::kFail ? in_time() : Clock::time_point::max();
  const auto began = Clock::now();
  if (!all_introduced()) say_whom_it_waits_for("");
  while (!all_introduced()) {
    if (stop_asked()) return std::nullopt;
    // Whoever starts the daemons one after the other has the time of a round for the rest, not for the first.
    if (rules.on_missing == OnMissing::kProceed && deadline == Clock::time_point::max() && quorum_introduced()) deadline = in_time();
    const auto arrival = channel_->receive(deadline);
    if (arrival) {
      PARLEY_CHECK(take(*arrival));
    } else if (rules.on_missing == OnMissing::kProceed) {
      begin_without_the_absent();
    } else {
      return fail(failed("the run could not be opened in time at: " + missing()));
    }
    if (below_quorum())
      return fail(
          failed("fewer parties take part than the quorum; left out: " + names_of([&](std::size_t p) { return seats_[p].left_out; })));
  }
  wait_seconds_ += std::chrono::duration<double>(Clock::now() - began).count();
  return kept_.introductions;
}

Result<void> Exchange::leave_out(int party, const std::string& because) {
  if (!goes_on_without(party, because)) return fail(failed(fmt::format("party '{}' {}", name_of(party), because)));
  tell_without(party);
  kept_.introductions[static_cast<std::size_t>(party)].clear();
  if (below_quorum()) return fail(failed(fmt::format("fewer parties take part than the quorum; party '{}' {}", name_of(party), because)));
  return {};
}

bool Exchange::quorum_introduced() const {
  const auto here = std::count_if(seats_.begin(), seats_.end(), [](const Seat& seat) { return seat.introduced; });
  return here >= std::max(1, terms_.rules.quorum);
}

// Before anybody is charged, like a party that does not admit the job.
void Exchange::begin_without_the_absent() {
  for (int party = 0; party < parties(); ++party)
    if (const Seat& seat = seats_[static_cast<std::size_t>(party)]; !seat.introduced && !seat.left_out)
      goes_on_without(party, "was not there in time");
}

bool Exchange::enough(bool late) const {
  std::size_t answered = 0;
  std::size_t gave_up = 0;
  for (std::size_t p = 0; p < seats_.size(); ++p) {
    answered += collected_.replies[p] != nullptr ? 1 : 0;
    gave_up += seats_[p].gave_up && collected_.replies[p] == nullptr ? 1 : 0;
  }
  const auto asked = static_cast<std::size_t>(std::count_if(seats_.begin(), seats_.end(), [](const Seat& seat) { return !seat.left_out; }));
  const auto quorum = static_cast<std::size_t>(std::max(1, terms_.rules.quorum));
  return answered == asked || ((late || answered + gave_up == asked) && answered >= quorum);
}

// A party that faulted in a round has no other answer to it.
bool Exchange::below_quorum() const {
  const auto left = std::count_if(seats_.begin(), seats_.end(), [](const Seat& seat) { return !seat.gave_up && !seat.left_out; });
  return terms_.rules.on_missing == OnMissing::kProceed && left < std::max(1, terms_.rules.quorum);
}

std::string Exchange::names_of(const std::function<bool(std::size_t party)>& chosen) const {
  std::string names;
  for (std::size_t p = 0; p < seats_.size(); ++p)
    if (chosen(p)) names += (names.empty() ? "" : ", ") + terms_.parties[p];
  return names;
}

// Who has not introduced itself, or not answered in the round that runs.
std::string Exchange::missing() const {
  return names_of([&](std::size_t p) {
    if (seats_[p].left_out) return false;
    return tasks_.empty() ? !seats_[p].introduced : collected_.replies[p] == nullptr;
  });
}

// Who is missing because it is not connected, or still looks at the job.
std::string Exchange::away() const {
  return names_of([&](std::size_t p) {
    if (seats_[p].left_out || seats_[p].gave_up) return false;
    return tasks_.empty() ? !seats_[p].introduced : seats_[p].state != State::kReady;
  });
}

void Exchange::say(const std::string& what) const {
  if (terms_.notice && closing_ == nullptr) terms_.notice(what);
}

void Exchange::say_whom_it_waits_for(const std::string& news) {
  if (!terms_.notice) return;
  said_away_ = away();
  const std::string whom = said_away_.empty() ? "all are here" : "waiting for: " + said_away_;
  say(news + (news.empty() ? "" : "; ") + whom);
}

// The next arrival. Where none comes for long, says so once in a round, if it is news.
std::optional<Arrival> Exchange::next(Clock::time_point deadline) {
  if (patience_ < deadline) {
    if (auto arrival = channel_->receive(patience_)) return arrival;
    patience_ = Clock::time_point::max();
    if (std::string slow = missing(); slow != said_slow_) {
      say(fmt::format("round {}: no answer yet from: {}", kept_.round + 1, slow));
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
  PARLEY_CHECK(begin());
  tasks_ = std::move(tasks);
  read_ = read ? &read : nullptr;
  const transport::Peeking peeking(
      *channel_, read ? transport::Peek([this](int party, std::string_view bytes) { read_early(party, bytes); }) : transport::Peek{});
  collected_ = {};
  collected_.replies.resize(seats_.size());
  meter_.begin_round();
  std::vector<int> ready;
  for (int party = 0; party < parties(); ++party) {
    Seat& seat = seats_[static_cast<std::size_t>(party)];
    seat.gave_up = seat.declined;
    seat.read.reset();
    if (seat.state == State::kReady) ready.push_back(party);
  }
  if (tasks_.size() == 1) {
    for (const int party : ready) meter_.count_down(party, tasks_.front()->size());
    channel_->send(ready, tasks_.front());
  } else {
    for (const int party : ready) send_task(party);
  }
  const auto asked = Clock::now();
  if (terms_.notice) {
    patience_ = asked + terms_.patience;
    if (ready.size() < seats_.size() && away() != said_away_) say_whom_it_waits_for(fmt::format("round {}", kept_.round + 1));
  }
  auto deadline =
      terms_.rules.deadline && terms_.rules.on_missing != OnMissing::kWait ? asked + *terms_.rules.deadline : Clock::time_point::max();
  bool late = false;
  while (!enough(late) && !collected_.stopped && !collected_.budget_ended) {
    if (below_quorum())
      return fail(failed(fmt::format("round {}: fewer parties are left than the quorum; no answer from: {}", kept_.round + 1, missing())));
    const auto arrival = next(deadline);
    if (arrival) {
      PARLEY_CHECK(take(*arrival));
      continue;
    }
    if (terms_.rules.on_missing != OnMissing::kProceed)
      return fail(failed(fmt::format("round {}: no answer in time from: {}", kept_.round + 1, missing())));
    late = true;
    deadline = Clock::time_point::max();  // below the quorum there is nothing to proceed with
  }
  wait_seconds_ += std::chrono::duration<double>(Clock::now() - asked).count();
  tasks_.clear();
  meter_.end_round();
  return std::move(collected_);
}

Result<void> Exchange::keep(const std::function<wire::Bytes()>& encoded_iterate) {
  ++kept_.round;
  if (terms_.checkpoint.empty()) return {};
  kept_.iterate = encoded_iterate();
  kept_.communication = meter_.communication();
  return save(kept_, terms_.checkpoint);
}

Result<void> Exchange::close() {
  closing_ = transport::shared(wire::make_frame({.kind = Kind::kClose, .run = kept_.run, .round = kept_.round}));
  for (int party = 0; party < parties(); ++party)
    if (seats_[static_cast<std::size_t>(party)].state == State::kReady) send(party, closing_);
  const auto all_closed = [&] {
    return std::all_of(seats_.begin(), seats_.end(), [](const Seat& seat) { return seat.closed || seat.left_out || seat.declined; });
  };
  // The result is kept by now. A party that closed the run and left before this coordinator was killed and
  // came back will not dial again, so even a run that waits for its parties does not wait for that for ever.
  // Nor does one that may proceed wait as long as a round may last, unless a party is there and still at work.
  constexpr std::chrono::seconds kLastWord{5};
  const auto last_word = Clock::now() + kLastWord;
  const auto patient =
      terms_.rules.deadline && terms_.rules.on_missing != OnMissing::kWait ? Clock::now() + *terms_.rules.deadline : last_word;
  const auto someone_works = [&] {
    return std::any_of(seats_.begin(), seats_.end(), [](const Seat& seat) { return !seat.closed && seat.state != State::kAway; });
  };
  while (!all_closed() && !stop_asked()) {
    const auto arrival = channel_->receive(someone_works() ? patient : std::min(patient, last_word));
    if (!arrival) break;
    PARLEY_CHECK(take(*arrival));
  }
  std::error_code ignored;
  if (!terms_.checkpoint.empty() && !terms_.leaves_checkpoint) std::filesystem::remove(terms_.checkpoint, ignored);
  return {};
}

std::string Exchange::unheard() const {
  return names_of([&](std::size_t p) { return !seats_[p].closed && !seats_[p].left_out && !seats_[p].declined; });
}

void Exchange::send(int party, const SharedFrame& frame) {
  meter_.count_around_down(frame->size());
  channel_->send({&party, 1}, frame);
}

void Exchange::send_task(int party) {
  const SharedFrame& task = tasks_.size() == 1 ? tasks_.front() : tasks_[static_cast<std::size_t>(party)];
  meter_.count_down(party, task->size());
  channel_->send({&party, 1}, task);
}

void Exchange::refuse(int party, const wire::Header& about, Refusal refusal) {
  say(fmt::format("{} sent a frame that is refused: {}", name_of(party), name(refusal)));
  send(party, transport::shared(wire::make_frame({Kind::kRefuse, static_cast<std::uint8_t>(refusal), about.run, about.round})));
  channel_->drop(party);
}

// What a party that has just become ready has to do.
void Exchange::take_place(int party) {
  if (closing_ != nullptr) return send(party, closing_);
  if (!tasks_.empty() && collected_.replies[static_cast<std::size_t>(party)] == nullptr) send_task(party);
}

// When the run is over, a party has closed it, or has no part in it any more; either is an end. Whether it
// was one.
bool Exchange::take_while_closing(int party, const wire::Header& header) {
  if (header.kind != Kind::kClose && header.kind != Kind::kRefuse && header.kind != Kind::kFault) return false;
  seats_[static_cast<std::size_t>(party)].closed = true;
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
  Seat& seat = seats_[static_cast<std::size_t>(arrival.party)];
  switch (arrival.what) {
    case Arrival::What::kJoined:
      if (seat.left_out || seat.barred) {
        say(name_of(arrival.party) + " joined; the run goes on without it");
        tell_without(arrival.party);
        return {};
      }
      say(name_of(arrival.party) + (seat.state == State::kAway ? " joined" : kTwice));
      seat.state = State::kOpening;
      seat.declined = seat.gave_up = false;  // it may have thought better of it
      send(arrival.party, opening_);
      return {};
    case Arrival::What::kFrame:
      return take_frame(arrival.party, arrival.frame);
    default:
      if (std::exchange(seat.state, State::kAway) != State::kAway) say_whom_it_waits_for(name_of(arrival.party) + " left");
      return {};
  }
}

Result<void> Exchange::take_frame(int party, const SharedFrame& bytes) {
  Seat& seat = seats_[static_cast<std::size_t>(party)];
  const auto frame = wire::read_frame(*bytes, wire::kDefaultLimit, unchecked());
  if (frame && (frame->header.kind == Kind::kReply || frame->header.kind == Kind::kFault) && frame->header.round > 0)
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
    const std::string refused = "refused a frame: " + std::string(name(static_cast<Refusal>(header.code)));
    if (!goes_on_without(party, refused)) return fail(failed(fmt::format("party '{}' {}", name_of(party), refused)));
    channel_->drop(party);
    return {};
  }
  if (header.run != kept_.run) {
    refuse(party, header, Refusal::kWrongRun);
    return {};
  }
  if (header.kind == Kind::kFault) return take_fault(party, header);
  if (header.kind == Kind::kReady && seat.state == State::kOpening) return take_introduction(party, *frame);
  if (header.kind != Kind::kReply || seat.state != State::kReady || header.round > kept_.round + 1 ||
      (tasks_.empty() && header.round > kept_.round)) {
    refuse(party, header, Refusal::kUnexpected);
    return {};
  }
  // An answer to an earlier round came too late, and a second one to this round is the first one again. Who gave up this round
  // has no answer to it.
  if (!seat.gave_up && !tasks_.empty() && header.round == kept_.round + 1 && collected_.replies[static_cast<std::size_t>(party)] == nullptr)
    return take_reply(party, bytes, *frame);
  return {};
}

// The introduction that the run began with stands, whatever the party says when it joins anew.
Result<void> Exchange::take_introduction(int party, const wire::Frame& frame) {
  Seat& seat = seats_[static_cast<std::size_t>(party)];
  if (!kept_.begun && expected_.introduction) {
    if (const auto fine = expected_.introduction(party, frame.payload); !fine) {
      const std::string because = "introduced itself in a way that cannot be used: " + fine.error().message;
      if (!goes_on_without(party, because)) return fail(failed(fmt::format("party '{}' {}", name_of(party), because)));
      tell_without(party);
      return {};
    }
  }
  seat.state = State::kReady;
  if (!kept_.begun) kept_.introductions[static_cast<std::size_t>(party)] = wire::Bytes(frame.payload);
  seat.introduced = true;
  say_whom_it_waits_for(name_of(party) + " is ready");
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
  if (!frame || frame->header.kind != Kind::kReply || frame->header.run != kept_.run || frame->header.round != kept_.round + 1) return;
  Seat& seat = seats_[static_cast<std::size_t>(party)];
  if (!seat.read) seat.read = (*read_)(party, frame->payload);
}

Result<void> Exchange::take_reply(int party, const SharedFrame& bytes, const wire::Frame& frame) {
  Seat& seat = seats_[static_cast<std::size_t>(party)];
  if (read_ != nullptr && !seat.read) seat.read = (*read_)(party, frame.payload);
  if (!seat.read || *seat.read) {
    collected_.replies[static_cast<std::size_t>(party)] = bytes;
    meter_.count_answer(party);
    return {};
  }
  const std::string because =
      fmt::format("round {}: the reply of party '{}' cannot be used: {}", kept_.round + 1, name_of(party), seat.read->error().message);
  if (terms_.rules.on_missing != OnMissing::kProceed) return fail(failed(because));
  // A frame that was sent whole and says this was meant so: asked again, the party would say it again.
  seat.barred = seat.declined = seat.gave_up = true;
  seat.state = State::kAway;
  say(because + "; the run goes on without it");
  refuse(party, frame.header, Refusal::kDamaged);
  return {};
}

// Whether a party that will not go on counts as missing. Who takes part is settled when the run opens, before
// anybody is charged: a party that will not begin has no part in it.
bool Exchange::goes_on_without(int party, std::string_view because) {
  if (terms_.rules.on_missing != OnMissing::kProceed) return false;
  Seat& seat = seats_[static_cast<std::size_t>(party)];
  seat.state = State::kAway;
  if (tasks_.empty()) {
    seat.left_out = true;
    kept_.left_out.push_back(party);
  } else {
    seat.declined = seat.gave_up = true;
  }
  say(fmt::format("{} {}; the run goes on without it", name_of(party), because));
  return true;
}

Result<void> Exchange::take_fault(int party, const wire::Header& header) {
  const auto code = static_cast<privacy::FaultCode>(header.code);
  const bool this_round = !tasks_.empty() && header.round == kept_.round + 1;
  if (header.round != 0 && !this_round) return {};  // of an earlier round
  if (header.round == 0) {
    const std::string because = fmt::format("does not take part: {}", why(code));
    if (goes_on_without(party, because)) return {};
    return fail(Error{code == privacy::FaultCode::kBudgetEnded && expected_.budgets ? Fault::kBudgetEnded : Fault::kFailed,
                      fmt::format("party '{}' {}", name_of(party), because)});
  }
  if (code == privacy::FaultCode::kBudgetEnded && expected_.budgets) {
    collected_.budget_ended = true;
    return {};
  }
  // A party that failed in this round may answer the next. Who says that it cannot answer what everybody was asked is not
  // asked again: no party ends a run that may proceed by a code of its choice.
  if (terms_.rules.on_missing == OnMissing::kProceed && code == privacy::FaultCode::kInternal) {
    seats_[static_cast<std::size_t>(party)].gave_up = true;
    say(fmt::format("round {}: {} gave no answer: {}", header.round, name_of(party), why(code)));
    return {};
  }
  if (!goes_on_without(party, fmt::format("gave no answer in round {}: {}", header.round, why(code))))
    return fail(failed(fmt::format("round {}: party '{}' gave no answer: {}", header.round, name_of(party), why(code))));
  // A party that lost its past or its disk goes on when it is opened anew.
  if (code == privacy::FaultCode::kPastLost || code == privacy::FaultCode::kUnavailable) channel_->drop(party);
  return {};
}

}  // namespace parley::rounds
