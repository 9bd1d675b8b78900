// All parties in this process. Frames pass by pointer; parties that were sent something compute in parallel,
// with the kernels' own threads when they are few.
#pragma once
#include <deque>
#include <vector>

#include "parley/transport/channel.h"

namespace parley::transport {

class InProcess final : public Channel {
 public:
  explicit InProcess(std::vector<Respond> parties);

  [[nodiscard]] int parties() const override { return static_cast<int>(parties_.size()); }
  [[nodiscard]] bool vouches() const override { return true; }
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
  [[nodiscard]] bool one_after_the_other(std::size_t parties) const;
  void let_parties_work();

  std::vector<Respond> parties_;
  std::vector<Queued> queued_;
  std::deque<Arrival> arrived_;
  Peek peek_;
  Clock::duration last_pass_ = Clock::duration::max();
};

}  // namespace parley::transport
