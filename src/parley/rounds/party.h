// What one party computes, the same behind every transport: a task in, the frame of a reply or of a fault out.
//
// What goes out is made from a Released reply or from a fault code, and from nothing else.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "parley/rounds/algorithm.h"
#include "parley/transport/frame_store.h"
#include "parley/wire/decode.h"
#include "parley/wire/frame.h"

namespace parley::rounds {

struct Answered {
  transport::SharedFrame frame;
  bool replied = false;  // else the frame is a fault
};

// A party with its algorithm and data, whatever they are.
class Responder {
 public:
  virtual ~Responder() = default;
  // The frame that answers a task. Called once for a round; repeats are the handler's (handler.h).
  virtual Answered answer(const wire::Header& request, std::string_view task) = 0;
  // What a restart must bring back.
  [[nodiscard]] virtual wire::Bytes memory() const = 0;
  virtual Result<void> restore(std::string_view memory) = 0;
  // Why the last task was not answered: for the site's own record, never sent.
  [[nodiscard]] virtual const std::string& last_error() const = 0;
  // From now on this party lives beside another one of the same program, and shares with it what need not be
  // there twice.
  virtual void join(Responder&) {}
  [[nodiscard]] virtual Responder& itself() { return *this; }
};

// The site's gate for a round; it lives as long as the function. A plan that was reserved in one round pays
// for draws in the next.
using GateOfRound = std::function<Result<privacy::Gate*>(std::int64_t round)>;

// The gate of a run that asked for no privacy.
inline GateOfRound without_privacy(privacy::Unprotected asked) {
  auto gate = std::make_shared<privacy::Gate>(privacy::Gate::without_privacy(asked));
  return [gate](std::int64_t) -> Result<privacy::Gate*> { return gate.get(); };
}

// Tasks, read into memory that is reused. A frame that goes to several parties of one program is read once for
// all of them: while its round runs it stays where it is, so within a round its place names its content.
template <class Task>
class Tasks {
 public:
  void share() { shared_ = true; }
  Result<std::shared_ptr<const Task>> read(const wire::Header& request, std::string_view bytes) {
    const std::lock_guard lock(mutex_);
    if (shared_ && task_ != nullptr && request.run == run_ && request.round == round_ &&
        bytes.data() == bytes_.data() && bytes.size() == bytes_.size())
      return task_;
    std::shared_ptr<Task> task = std::exchange(task_, nullptr);
    if (task.use_count() != 1) task = std::make_shared<Task>();  // someone still computes with the last one
    PARLEY_CHECK(wire::decode_to(*task, bytes));
    run_ = request.run;
    round_ = request.round;
    bytes_ = bytes;
    task_ = std::move(task);
    return task_;
  }

 private:
  std::mutex mutex_;
  bool shared_ = false;
  std::shared_ptr<Task> task_;
  wire::RunId run_{};
  std::int64_t round_ = 0;
  std::string_view bytes_;  // where they were; not to be looked at later
};

template <Algorithm A>
class AlgorithmParty final : public Responder {
 public:
  AlgorithmParty(A algorithm, typename A::Data data, GateOfRound gate)
      : algorithm_(std::move(algorithm)), data_(std::move(data)), gate_(std::move(gate)) {}

  Answered answer(const wire::Header& request, std::string_view task) override {
    last_error_.clear();
    const Out out = outgoing(request, task);
    const wire::Header header{.run = request.run, .round = request.round, .checked = request.checked};
    return {frames_.share(wire::make_answer(header, out, frames_.room())), !out.failed()};
  }
  [[nodiscard]] wire::Bytes memory() const override { return wire::encode(memory_); }
  Result<void> restore(std::string_view memory) override {
    return wire::decode_to(memory_, memory, wire::Numbers::kAny);
  }
  [[nodiscard]] const std::string& last_error() const override { return last_error_; }
  // For whoever runs all parties in this process.
  [[nodiscard]] const typename A::Memory& state() const { return memory_; }
  void join(Responder& other) override {
    auto* beside = dynamic_cast<AlgorithmParty*>(&other);
    if (beside == nullptr) return;
    frames_ = beside->frames_;
    if constexpr (AsksAll<A>) {
      tasks_ = beside->tasks_;
      tasks_->share();
    }
  }

 private:
  using Out = privacy::Outgoing<typename A::Reply>;

  Out outgoing(const wire::Header& request, std::string_view bytes) {
    const auto task = tasks_->read(request, bytes);
    if (!task) return refuse(task.error());
    auto gate = gate_(request.round);
    if (!gate) return refuse(gate.error());
    auto reply = algorithm_.answer(**task, data_, memory_, **gate);
    if (!reply) return refuse(reply.error());
    return std::move(*reply);
  }
  Out refuse(const Error& error) {
    last_error_ = error.message;
    switch (error.fault) {
      case Fault::kBudgetEnded:
        return privacy::FaultCode::kBudgetEnded;
      case Fault::kBadInput:
        return privacy::FaultCode::kBadTask;
      case Fault::kFailed:
        break;
    }
    return error.cause == Cause::kMachine ? privacy::FaultCode::kUnavailable : privacy::FaultCode::kInternal;
  }

  A algorithm_;
  typename A::Data data_;
  GateOfRound gate_;
  typename A::Memory memory_;
  std::shared_ptr<Tasks<typename A::Task>> tasks_ = std::make_shared<Tasks<typename A::Task>>();
  transport::FrameStore frames_;
  std::string last_error_;
};

}  // namespace parley::rounds
