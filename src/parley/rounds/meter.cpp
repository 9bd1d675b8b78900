#include "parley/rounds/meter.h"

#include <algorithm>

namespace parley::rounds {

Traffic Communication::total() const {
  Traffic sum;
  for (const Traffic& party : per_party) {
    sum.up += party.up;
    sum.down += party.down;
  }
  return sum;
}

double network_seconds(const Communication& communication, const Network& network) {
  const double latency = 2e-3 * network.latency_ms * static_cast<double>(communication.rounds);
  if (network.bandwidth_mbps <= 0) return latency;
  const double bits = 8.0 * static_cast<double>(communication.longest_up + communication.longest_down);
  return latency + bits / (1e6 * network.bandwidth_mbps);
}

Meter::Meter(int parties) : round_(static_cast<std::size_t>(parties)) {
  communication_.per_party.resize(round_.size());
  communication_.asked.resize(round_.size());
  communication_.answered.resize(round_.size());
}

void Meter::resume(Communication communication) {
  communication_ = std::move(communication);
  communication_.asked.resize(round_.size());
  communication_.answered.resize(round_.size());
  communication_.per_party.resize(round_.size());  // a run killed before its first round has counted nothing
}

void Meter::begin_round() {
  std::fill(round_.begin(), round_.end(), Traffic{});
  in_round_ = true;
}

void Meter::count_down(int party, std::size_t bytes) {
  (in_round_ ? round_[static_cast<std::size_t>(party)].down : communication_.around.down) +=
      static_cast<std::int64_t>(bytes);
}

void Meter::count_up(int party, std::size_t bytes) {
  (in_round_ ? round_[static_cast<std::size_t>(party)].up : communication_.around.up) +=
      static_cast<std::int64_t>(bytes);
}

void Meter::end_round() {
  in_round_ = false;
  ++communication_.rounds;
  Traffic longest;
  for (std::size_t p = 0; p < round_.size(); ++p) {
    communication_.per_party[p].up += round_[p].up;
    communication_.per_party[p].down += round_[p].down;
    longest.up = std::max(longest.up, round_[p].up);
    longest.down = std::max(longest.down, round_[p].down);
  }
  communication_.longest_up += longest.up;
  communication_.longest_down += longest.down;
}

}  // namespace parley::rounds
