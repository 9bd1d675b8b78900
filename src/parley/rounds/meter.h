// Bytes that crossed the boundary, by party and direction, counted where a frame is handed to the transport
// or taken from it; and the time the same run would take over a slower network.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace parley::rounds {

struct Traffic {
  std::int64_t up = 0;    // party -> coordinator
  std::int64_t down = 0;  // coordinator -> party
  static void fields(auto& self, auto&& visit) { visit(self.up, self.down); }
};

// Of every link between the coordinator and a party.
struct Network {
  double latency_ms = 0;      // one way
  double bandwidth_mbps = 0;  // 10^6 bits per second
};

// What a run has sent so far. Passes through checkpoints, so a resumed run reports the whole of it.
struct Communication {
  std::int64_t rounds = 0;
  Traffic around;                      // the rounds: the job to the parties, their introductions back, the end
  std::vector<Traffic> per_party;      // of the rounds
  std::vector<std::int64_t> asked;     // rounds that were kept and asked for each party's answer
  std::vector<std::int64_t> answered;  // rounds, by each party
  std::int64_t longest_up = 0;         // sum over rounds of the largest upward total of a party
  std::int64_t longest_down = 0;
  static void fields(auto& self, auto&& visit) {
    visit(self.rounds, self.around, self.per_party, self.asked, self.answered, self.longest_up, self.longest_down);
  }
  [[nodiscard]] Traffic total() const;
};

// Seconds spent on the network: in each round every party is asked and answers over a link of its own, and
// the round lasts as long as its largest message each way: 2 latency + (largest down + largest up) /
// bandwidth. Computing comes on top.
[[nodiscard]] double network_seconds(const Communication& communication, const Network& network);

class Meter {
 public:
  explicit Meter(int parties);
  void resume(Communication communication);

  void begin_round();
  // Tasks and what comes back for them; between rounds, what came too late.
  void count_down(int party, std::size_t bytes);
  void count_up(int party, std::size_t bytes);
  // In a round that was kept.
  void count_asked(int party) { ++communication_.asked[static_cast<std::size_t>(party)]; }
  // A reply that is used.
  void count_answer(int party) { ++communication_.answered[static_cast<std::size_t>(party)]; }
  // The rest, also while a round runs: whoever joins again is told the job and introduces itself.
  void count_around_down(std::size_t bytes) { communication_.around.down += static_cast<std::int64_t>(bytes); }
  void count_around_up(std::size_t bytes) { communication_.around.up += static_cast<std::int64_t>(bytes); }
  void end_round();

  [[nodiscard]] const Communication& communication() const { return communication_; }
  [[nodiscard]] std::span<const Traffic> round() const { return round_; }  // the one that runs, or the last

 private:
  Communication communication_;
  std::vector<Traffic> round_;
  bool in_round_ = false;
};

}  // namespace parley::rounds
