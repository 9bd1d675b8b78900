// One party's side of a run, the same behind every transport: the bytes of a task in, the bytes of a reply out.
//
// A request for the round that was answered last gets the stored bytes again: fresh noise for an old round would be an
// unpaid release. What goes out is made from a Released reply or from a fault code, and from nothing else.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "parley/rounds/algorithm.h"
#include "parley/wire/decode.h"

namespace parley::rounds {

// Opens the gate of one round. Keys and randomness of a round are its own.
using GateOfRound = std::function<Result<privacy::Gate>(std::int64_t round)>;

// The gate of a run that asked for no privacy.
inline GateOfRound without_privacy(privacy::Unprotected asked) {
  return [asked](std::int64_t) -> Result<privacy::Gate> { return privacy::Gate::without_privacy(asked); };
}

// Bytes for the coordinator: an encoded reply, or why there is none.
struct Sent {
  wire::Bytes reply;
  std::optional<privacy::FaultCode> fault;
};

template <Algorithm A>
class Party {
 public:
  Party(A algorithm, typename A::Data data, GateOfRound gate, typename A::Memory memory = {})
      : algorithm_(std::move(algorithm)), data_(std::move(data)), gate_(std::move(gate)), memory_(std::move(memory)) {}

  Sent answer(std::int64_t round, std::string_view task_bytes) {
    if (round == last_round_) return last_;
    Sent sent = send(outgoing(round, task_bytes));
    if (!sent.fault) {
      last_round_ = round;
      last_ = sent;
    }
    return sent;
  }
  // Why the last request failed: for the site's own record, never sent.
  [[nodiscard]] const std::string& last_error() const { return last_error_; }

 private:
  using Out = privacy::Outgoing<typename A::Reply>;

  static Sent send(const Out& out) {
    if (out.failed()) return {{}, out.fault()};
    return {wire::encode(out.value()), std::nullopt};
  }
  Out outgoing(std::int64_t round, std::string_view task_bytes) {
    const auto task = wire::decode<typename A::Task>(task_bytes);
    if (!task) return refuse(task.error(), privacy::FaultCode::kBadTask);
    auto gate = gate_(round);
    if (!gate) return refuse(gate.error(), privacy::FaultCode::kInternal);
    typename A::Memory memory = memory_;  // an answer that fails leaves no trace
    auto reply = algorithm_.answer(*task, data_, memory, *gate);
    if (!reply) return refuse(reply.error(), privacy::FaultCode::kInternal);
    memory_ = std::move(memory);
    return std::move(*reply);
  }
  Out refuse(const Error& error, privacy::FaultCode otherwise) {
    last_error_ = error.message;
    if (error.fault == Fault::kBudgetEnded) return privacy::FaultCode::kBudgetEnded;
    return error.fault == Fault::kBadInput ? privacy::FaultCode::kBadTask : otherwise;
  }

  A algorithm_;
  typename A::Data data_;
  GateOfRound gate_;
  typename A::Memory memory_;
  std::int64_t last_round_ = -1;
  Sent last_;
  std::string last_error_;
};

}  // namespace parley::rounds
