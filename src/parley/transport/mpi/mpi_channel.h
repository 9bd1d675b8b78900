// Parties as ranks of an MPI program: party p is rank p, and rank 0 also coordinates.
//
// A pass is collective. Rank 0 announces the frame that every rank gets, in one Bcast with as many of its bytes as the
// frame before had, if that was a small one, and a second Bcast straight from the frame's memory for the rest; or
// announces that each gets a frame of its own, or none. Every rank sends one message back, straight from its frame, and
// rank 0 takes them into the memory that they are handed out in: sizes are known when a message is there, so none are
// exchanged.
#pragma once
#include <cstdint>
#include <deque>
#include <vector>

#include "parley/transport/channel.h"
#include "parley/transport/frame_store.h"

namespace parley::transport {

// Initialises MPI for as long as it lives.
class MpiWorld {
 public:
  MpiWorld(int* argc, char*** argv);
  ~MpiWorld();
  MpiWorld(const MpiWorld&) = delete;
  MpiWorld& operator=(const MpiWorld&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  // What every rank has, at rank 0; empty elsewhere. Collective.
  [[nodiscard]] std::vector<wire::Bytes> gather(const wire::Bytes& own) const;
  // Returns when every rank has called it.
  void meet() const;
  // Ends every rank at once: for a rank that cannot go on while the others wait for it.
  [[noreturn]] static void abort(int code);

 private:
  int rank_ = 0;
  int size_ = 1;
};

// Rank 0's end. `own` is its own party.
class MpiChannel final : public Channel {
 public:
  MpiChannel(const MpiWorld& world, Respond own);
  ~MpiChannel() override;  // lets the other ranks return

  [[nodiscard]] int parties() const override { return ranks_; }
  [[nodiscard]] bool within_program() const override { return true; }
  void send(std::span<const int> parties, const SharedFrame& frame) override;
  std::optional<Arrival> receive(Clock::time_point deadline) override;
  void drop(int party) override;
  void peek(Peek peek) override { peek_ = std::move(peek); }
  void wake() override {}  // receive() waits for answers only

 private:
  [[nodiscard]] bool waiting() const;
  void pass();
  void gather();
  void hand_out(int party, SharedFrame answer);

  int ranks_;
  Respond own_;
  std::vector<std::deque<SharedFrame>> queued_;  // by party
  std::deque<Arrival> arrived_;
  FrameStore store_;
  Peek peek_;
  std::size_t inlined_ = 0;  // bytes of a frame that come with the next announcement
};

// Every other rank: answers until rank 0 is done.
void serve(const MpiWorld& world, const Respond& respond);

}  // namespace parley::transport
