// What one party computes, the same behind every transport: a task in, the frame of a reply or of a fault
// out.
//
// What goes out is made from a Released reply or from a fault code, and from nothing else.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

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
};

// The site's gate for a round; it lives as long as the function. A plan that was reserved in one round pays
// for draws in the next.
using GateOfRound = std::function<Result<privacy::Gate*>(std::int64_t round)>;

// The gate of a run that asked for no privacy.
inline GateOfRound without_privacy(privacy::Unprotected asked) {
  auto gate = std::make_shared<privacy::Gate>(privacy::Gate::without_privacy(asked));
  return [gate](std::int64_t) -> Result<privacy::Gate*> { return gate.get(); };
}

template <Algorithm A>
class Party final : public Responder {
 public:
  Party(A algorithm, typename A::Data data, GateOfRound gate)
      : algorithm_(std::move(algorithm)), data_(std::move(data)), gate_(std::move(gate)) {}

  Answered answer(const wire::Header& request, std::string_view task) override {
    last_error_.clear();
    const Out out = outgoing(request.round, task);
    const wire::Header header{.run = request.run, .round = request.round, .checked = request.checked};
    return {frames_.share(wire::make_answer(header, out, frames_.room())), !out.failed()};
  }
  [[nodiscard]] wire::Bytes memory() const override { return wire::encode(memory_); }
  Result<void> restore(std::string_view memory) override {
    return wire::decode_to(memory_, memory, wire::Numbers::kAny);
  }
  [[nodiscard]] const std::string& last_error() const override { return last_error_; }

 private:
  using Out = privacy::Outgoing<typename A::Reply>;

  Out outgoing(std::int64_t round, std::string_view task) {
    if (const auto read = wire::decode_to(task_, task); !read) return refuse(read.error());
    auto gate = gate_(round);
    if (!gate) return refuse(gate.error());
    auto reply = algorithm_.answer(task_, data_, memory_, **gate);
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
    return privacy::FaultCode::kInternal;
  }

  A algorithm_;
  typename A::Data data_;
  GateOfRound gate_;
  typename A::Memory memory_;
  typename A::Task task_;  // its memory is reused
  transport::FrameStore frames_;
  std::string last_error_;
};

}  // namespace parley::rounds
