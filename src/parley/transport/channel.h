// The coordinator's end of a federation: frames to parties, and whatever comes back. The least that a
// transport must offer; opening a run, rounds, deadlines, repeats and metering are built once on top
// (rounds/exchange).
//
// At a party a transport hands each frame that arrives to one function and sends what it returns (Respond).
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "parley/wire/fields.h"

namespace parley::transport {

using Clock = std::chrono::steady_clock;
using SharedFrame = std::shared_ptr<const wire::Bytes>;  // one encoding may go to many parties

inline SharedFrame shared(wire::Bytes frame) {
  return std::make_shared<const wire::Bytes>(std::move(frame));
}

struct Arrival {
  enum class What {
    kFrame,
    kJoined,  // the party can be reached; whatever was sent before may be lost
    kLeft,
    kWoken,  // nobody's: wake() was called
  };
  What what = What::kFrame;
  int party = -1;
  SharedFrame frame;  // of kFrame only
};

class Channel {
 public:
  virtual ~Channel() = default;
  [[nodiscard]] virtual int parties() const = 0;
  [[nodiscard]] virtual bool in_memory() const { return false; }  // frames never leave this process

  // Queues the frame for each of the parties and returns at once. For a party that is away it is lost.
  virtual void send(std::span<const int> parties, const SharedFrame& frame) = 0;

  // The next arrival from anyone; nothing when the deadline passes first. The frame's bytes are unchecked.
  virtual std::optional<Arrival> receive(Clock::time_point deadline) = 0;

  // Ends the connection of a party that misbehaves. It may come back.
  virtual void drop(int party) = 0;

  // Lets a receive() that waits in another thread return.
  virtual void wake() = 0;
};

// A party's side: a frame in, at most one frame out. Called by one thread at a time.
using Respond = std::function<std::optional<SharedFrame>(std::string_view frame)>;

}  // namespace parley::transport
