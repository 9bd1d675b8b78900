// Where each party of a run stands, and whether those that are there are enough: to begin, and in the round that runs.
//
// A round is about the parties that it asks. Of a round that does not ask everybody the quorum is at most those asked.
#pragma once
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "parley/core/result.h"

namespace parley::rounds {

struct Seat {
  enum class State { kAway, kOpening, kReady };
  State state = State::kAway;
  bool introduced = false;
  bool left_out = false;  // did not admit the job, or not in time, and the run began without it
  bool declined = false;  // said by a code that it will not go on; until it joins anew no round waits for it
  bool barred = false;    // said what cannot be true: it has no part in the rest of the run, also when it joins anew
  bool closed = false;
  // Of the round that runs, or was the last:
  bool asked = false;
  bool answered = false;
  bool gave_up = false;              // faulted, or declined; counts as missing
  std::optional<Result<void>> read;  // what came of reading its reply
};

class Seats {
 public:
  Seats(std::vector<std::string> parties, int quorum);

  [[nodiscard]] int size() const { return static_cast<int>(seats_.size()); }
  [[nodiscard]] Seat& operator[](int party) { return seats_[static_cast<std::size_t>(party)]; }
  [[nodiscard]] const Seat& operator[](int party) const { return seats_[static_cast<std::size_t>(party)]; }
  [[nodiscard]] auto begin() const { return seats_.begin(); }
  [[nodiscard]] auto end() const { return seats_.end(); }
  [[nodiscard]] const std::string& name_of(int party) const { return names_[static_cast<std::size_t>(party)]; }

  // Whether it asks anybody who takes part.
  bool begin_round(const std::function<bool(int party)>& asks);
  void end_round() { in_round_ = false; }
  [[nodiscard]] bool in_round() const { return in_round_; }

  [[nodiscard]] bool all_introduced() const;
  [[nodiscard]] bool quorum_introduced() const;
  [[nodiscard]] bool all_closed() const;
  // The round may end: everybody has answered, or the quorum has and the others gave up or are `late`.
  [[nodiscard]] bool enough(bool late) const;
  // Those that have not given up are below the quorum.
  [[nodiscard]] bool too_few() const;

  // Who has not introduced itself, or not answered in the round that runs.
  [[nodiscard]] std::vector<std::string> missing() const;
  // Who of those is not connected, or still looks at the job.
  [[nodiscard]] std::vector<std::string> away() const;
  [[nodiscard]] bool all_here() const;  // nobody is away, whether the round asks for it or not
  [[nodiscard]] std::vector<std::string> left_out() const;
  [[nodiscard]] std::vector<std::string> not_closed() const;

 private:
  [[nodiscard]] std::vector<std::string> names_where(const std::function<bool(const Seat&)>& chosen) const;
  [[nodiscard]] bool is_away(const Seat& seat) const;
  // Has a part in the run, and in the round that runs.
  [[nodiscard]] bool counts(const Seat& seat) const { return !seat.left_out && (!in_round_ || seat.asked); }
  [[nodiscard]] int how_many() const;
  [[nodiscard]] int quorum() const;

  std::vector<std::string> names_;
  std::vector<Seat> seats_;
  int quorum_;
  bool in_round_ = false;
};

}  // namespace parley::rounds
