#include "parley/transport/in_process/in_process.h"

#include "parley/core/threads.h"

namespace parley::transport {

InProcess::InProcess(std::vector<Respond> parties) : parties_(std::move(parties)) {
  for (int party = 0; party < this->parties(); ++party) arrived_.push_back({Arrival::What::kJoined, party, {}});
}

void InProcess::send(std::span<const int> parties, const SharedFrame& frame) {
  for (const int party : parties) queued_.push_back({party, frame, std::nullopt});
}

// The frames of one party are answered in the order they were sent, one in each pass.
std::vector<InProcess::Queued> InProcess::one_for_each_party() {
  std::vector<Queued> batch;
  std::vector<Queued> later;
  std::vector<bool> chosen(parties_.size(), false);
  for (Queued& queued : queued_) {
    const auto party = static_cast<std::size_t>(queued.party);
    (chosen[party] ? later : batch).push_back(std::move(queued));
    chosen[party] = true;
  }
  queued_ = std::move(later);
  return batch;
}

void InProcess::let_parties_work() {
  std::vector<Queued> batch = one_for_each_party();
  const auto work = [&](std::size_t begin, std::size_t end) {
    for (std::size_t q = begin; q < end; ++q) {
      batch[q].answer = parties_[static_cast<std::size_t>(batch[q].party)](*batch[q].frame);
      if (peek_ && batch[q].answer) peek_(batch[q].party, **batch[q].answer);
    }
  };
  parallel_chunks(batch.size(), 1, work);
  for (Queued& queued : batch)
    if (queued.answer) arrived_.push_back({Arrival::What::kFrame, queued.party, std::move(*queued.answer)});
}

std::optional<Arrival> InProcess::receive(Clock::time_point) {
  while (arrived_.empty() && !queued_.empty()) let_parties_work();
  if (arrived_.empty()) return std::nullopt;
  Arrival arrival = std::move(arrived_.front());
  arrived_.pop_front();
  return arrival;
}

void InProcess::drop(int party) {
  arrived_.push_back({Arrival::What::kLeft, party, {}});
}

}  // namespace parley::transport
