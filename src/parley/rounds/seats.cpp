#include "parley/rounds/seats.h"

#include <algorithm>
#include <utility>

namespace parley::rounds {

using State = Seat::State;

Seats::Seats(std::vector<std::string> parties, int quorum)
    : names_(std::move(parties)), seats_(names_.size()), quorum_(std::max(1, quorum)) {}

bool Seats::begin_round(const std::function<bool(int party)>& asks) {
  for (int party = 0; party < size(); ++party) {
    Seat& seat = (*this)[party];
    seat.asked = asks(party);
    seat.answered = false;
    seat.gave_up = seat.declined;
    seat.read.reset();
  }
  in_round_ = true;
  return how_many() > 0;
}

int Seats::how_many() const {
  return static_cast<int>(std::count_if(begin(), end(), [&](const Seat& seat) { return counts(seat); }));
}

int Seats::quorum() const {
  const auto takes_part = [](const Seat& seat) { return !seat.left_out; };
  const bool all = how_many() == std::count_if(begin(), end(), takes_part);
  return all ? quorum_ : std::min(quorum_, how_many());
}

bool Seats::all_introduced() const {
  return std::all_of(begin(), end(), [](const Seat& seat) { return seat.introduced || seat.left_out; });
}

bool Seats::quorum_introduced() const {
  return std::count_if(begin(), end(), [](const Seat& seat) { return seat.introduced; }) >= quorum_;
}

bool Seats::all_closed() const {
  return not_closed().empty();
}

bool Seats::enough(bool late) const {
  int answered = 0;
  int gave_up = 0;
  for (const Seat& seat : seats_) {
    if (!counts(seat)) continue;
    answered += seat.answered ? 1 : 0;
    gave_up += seat.gave_up && !seat.answered ? 1 : 0;
  }
  const int asked = how_many();
  return answered == asked || ((late || answered + gave_up == asked) && answered >= quorum());
}

// A party that faulted in a round has no other answer to it.
bool Seats::too_few() const {
  return std::count_if(begin(), end(), [&](const Seat& seat) { return counts(seat) && !seat.gave_up; }) < quorum();
}

std::vector<std::string> Seats::names_where(const std::function<bool(const Seat&)>& chosen) const {
  std::vector<std::string> names;
  for (std::size_t p = 0; p < seats_.size(); ++p)
    if (chosen(seats_[p])) names.push_back(names_[p]);
  return names;
}

std::vector<std::string> Seats::missing() const {
  return names_where([&](const Seat& seat) { return counts(seat) && !(in_round_ ? seat.answered : seat.introduced); });
}

bool Seats::is_away(const Seat& seat) const {
  if (seat.left_out || seat.gave_up) return false;
  return in_round_ ? seat.state != State::kReady : !seat.introduced;
}

std::vector<std::string> Seats::away() const {
  return names_where([&](const Seat& seat) { return counts(seat) && is_away(seat); });
}

bool Seats::all_here() const {
  return std::none_of(begin(), end(), [&](const Seat& seat) { return is_away(seat); });
}

std::vector<std::string> Seats::left_out() const {
  return names_where([](const Seat& seat) { return seat.left_out; });
}

std::vector<std::string> Seats::not_closed() const {
  return names_where([](const Seat& seat) { return !seat.closed && !seat.left_out && !seat.declined; });
}

}  // namespace parley::rounds
