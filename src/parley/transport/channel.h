// The coordinator's end of a federation: frames to parties, and whatever comes back. The least that a transport must
// offer; opening a run, rounds, deadlines, repeats and metering are built once on top (rounds/exchange).
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
    kWoken,  // of no party: wake() was called
  };
  What what = What::kFrame;
  int party = -1;
  SharedFrame frame;  // of kFrame only
};

// Looks at a frame where it arrives, before receive() hands it out: by several threads at once, but at the
// frames of one party by one at a time.
using Peek = std::function<void(int party, std::string_view frame)>;

class Channel {
 public:
  virtual ~Channel() = default;
  [[nodiscard]] virtual int parties() const = 0;
  // Frames never leave the program, so they need no checksum.
  [[nodiscard]] virtual bool within_program() const { return false; }

  // Queues the frame for each of the parties and returns at once. For a party that is away it is lost.
  virtual void send(std::span<const int> parties, const SharedFrame& frame) = 0;

  // The next arrival from anyone; nothing when the deadline passes first. The frame's bytes are unchecked.
  virtual std::optional<Arrival> receive(Clock::time_point deadline) = 0;

  // Ends the connection of a party that misbehaves. It may come back.
  virtual void drop(int party) = 0;

  // From now on a frame of a party may have this many bytes: what is known to be enough. A transport that
  // holds nothing of a frame that it was not promised has no use for it.
  virtual void limit(std::size_t) {}

  // From now on, until the next call. A transport whose frames arrive in the thread that receives has no use
  // for it.
  virtual void peek(Peek) {}  // NOLINT(performance-unnecessary-value-param): whoever has a use for it keeps it

  // Lets a receive() that waits in another thread return.
  virtual void wake() = 0;
};

// Peeks as long as it lives.
class Peeking {
 public:
  Peeking(Channel& channel, Peek peek) : channel_(channel) { channel_.peek(std::move(peek)); }
  ~Peeking() { channel_.peek({}); }
  Peeking(const Peeking&) = delete;
  Peeking& operator=(const Peeking&) = delete;

 private:
  Channel& channel_;
};

// A party's side: a frame in, at most one frame out. Called by one thread at a time.
using Respond = std::function<std::optional<SharedFrame>(std::string_view frame)>;

}  // namespace parley::transport
