// A channel whose order of arrival, losses and deadlines a test decides, and its parties.
#pragma once
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "parley/transport/channel.h"
#include "tests/rounds/mean_parties.h"

namespace parley::tests {

// An empty queue means that the deadline passed.
class Scripted final : public transport::Channel {
 public:
  // `folder`: where the parties keep their answers; empty: in memory only.
  explicit Scripted(std::vector<rounds::Admit> admits, std::string folder = {})
      : admits_(std::move(admits)), folder_(std::move(folder)), handlers_(admits_.size()) {
    for (int party = 0; party < parties(); ++party) {
      restart(party);
      join(party);
    }
  }
  explicit Scripted(const Mean& mean) : Scripted({admits(mean, 1), admits(mean, 2), admits(mean, 6)}) {}
  int parties() const override { return static_cast<int>(handlers_.size()); }
  void send(std::span<const int> to, const transport::SharedFrame& frame) override {
    for (const int party : to) {
      sent.push_back({party, wire::read_frame(*frame)->header});
      if (silent.contains(party)) continue;
      if (auto answer = handlers_[static_cast<std::size_t>(party)]->respond(*frame))
        push({transport::Arrival::What::kFrame, party, *answer});
    }
  }
  std::optional<transport::Arrival> receive(transport::Clock::time_point deadline) override {
    if (arrivals.empty()) {
      ++deadlines;
      last_deadline = deadline;
      if (at_deadline) at_deadline();
      if (arrivals.empty()) return std::nullopt;
    }
    transport::Arrival next = std::move(newest_first ? arrivals.back() : arrivals.front());
    newest_first ? arrivals.pop_back() : arrivals.pop_front();
    return next;
  }
  void drop(int party) override {
    dropped.push_back(party);
    arrivals.push_front({transport::Arrival::What::kLeft, party, {}});
  }
  void wake() override { arrivals.push_back({transport::Arrival::What::kWoken, -1, {}}); }

  // A new process of the party, which has yet to join.
  void restart(int party) {
    const auto p = static_cast<std::size_t>(party);
    const std::string keeps_in = folder_.empty() ? "" : folder_ + "/" + std::to_string(party);
    if (!keeps_in.empty()) std::filesystem::create_directories(keeps_in);
    handlers_[p] = std::make_unique<rounds::Handler>(admits_[p], keeps_in);
  }
  void join(int party) { arrivals.push_back({transport::Arrival::What::kJoined, party, {}}); }
  void push(transport::Arrival arrival) { arrivals.push_back(std::move(arrival)); }
  int tasks_to(int party) const {
    int count = 0;
    for (const auto& [to, header] : sent) count += to == party && header.kind == wire::Kind::kTask ? 1 : 0;
    return count;
  }

  std::deque<transport::Arrival> arrivals;
  std::set<int> silent;
  bool newest_first = false;
  std::function<void()> at_deadline;
  std::vector<std::pair<int, wire::Header>> sent;
  std::vector<int> dropped;
  int deadlines = 0;
  transport::Clock::time_point last_deadline;

 private:
  std::vector<rounds::Admit> admits_;
  std::string folder_;
  std::vector<std::unique_ptr<rounds::Handler>> handlers_;
};

}  // namespace parley::tests
