// All parties in this process. Frames pass by pointer; parties that were sent something compute in parallel, and cores
// that are left over help inside their kernels (core/threads.h).
#pragma once
#include <deque>
#include <vector>

#include "parley/transport/channel.h"

namespace parley::transport {

class InProcess final : public Channel {
 public:
  explicit InProcess(std::vector<Respond> parties);

  [[nodiscard]] int parties() const override { return static_cast<int>(parties_.size()); }
  [[nodiscard]] bool within_program() const override { return true; }
  void send(std::span<const int> parties, const SharedFrame& frame) override;
  std::optional<Arrival> receive(Clock::time_point deadline) override;
  void drop(int party) override;
  void peek(Peek peek) override { peek_ = std::move(peek); }
  void wake() override {}  // receive() never waits

 private:
  struct Queued {
    int party;
    SharedFrame frame;
    std::optional<SharedFrame> answer;
  };
  std::vector<Queued> one_for_each_party();
  void let_parties_work();

  std::vector<Respond> parties_;
  std::vector<Queued> queued_;
  std::deque<Arrival> arrived_;
  Peek peek_;
};

}  // namespace parley::transport
