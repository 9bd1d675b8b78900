#include "parley/transport/mpi/mpi_channel.h"

#define OMPI_SKIP_MPICXX  // the C interface is all we use
#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace parley::transport {

namespace {

constexpr int kRoot = 0;
constexpr std::int64_t kNothing = -1;  // the size of a frame that is not there
constexpr std::int64_t kDone = -2;     // no further pass

struct Announcement {
  std::int64_t shared = 0;  // bytes of the frame that every rank gets; kNothing: each gets its own; kDone
};

int words(std::int64_t bytes) { return bytes < 0 ? 0 : static_cast<int>((bytes + 7) / 8); }

// Frames of all ranks, one behind the other.
struct Packed {
  std::vector<std::int64_t> sizes;  // bytes
  std::vector<int> counts, offsets; // words
  std::vector<std::uint64_t> content;

  explicit Packed(std::vector<std::int64_t> bytes) : sizes(std::move(bytes)) {
    int at = 0;
    for (const std::int64_t size : sizes) {
      counts.push_back(words(size));
      offsets.push_back(at);
      at += counts.back();
    }
    content.resize(static_cast<std::size_t>(at));
  }
  [[nodiscard]] char* frame(std::size_t rank) { return reinterpret_cast<char*>(content.data() + offsets[rank]); }
};

// What this rank answers, gathered at the root; empty elsewhere.
Packed gather(int ranks, bool root, const std::optional<SharedFrame>& answer) {
  const std::int64_t size = answer ? static_cast<std::int64_t>((*answer)->size()) : kNothing;
  std::vector<std::int64_t> sizes(root ? static_cast<std::size_t>(ranks) : 0);
  MPI_Gather(&size, 1, MPI_INT64_T, sizes.data(), 1, MPI_INT64_T, kRoot, MPI_COMM_WORLD);
  Packed all(std::move(sizes));
  std::vector<std::uint64_t> own(static_cast<std::size_t>(words(size)));
  if (size > 0) std::memcpy(own.data(), (*answer)->data(), static_cast<std::size_t>(size));
  MPI_Gatherv(own.data(), static_cast<int>(own.size()), MPI_UINT64_T, all.content.data(), all.counts.data(), all.offsets.data(),
              MPI_UINT64_T, kRoot, MPI_COMM_WORLD);
  return all;
}

}  // namespace

MpiWorld::MpiWorld(int* argc, char*** argv) {
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
}
MpiWorld::~MpiWorld() { MPI_Finalize(); }
void MpiWorld::abort(int code) {
  MPI_Abort(MPI_COMM_WORLD, code);
  std::abort();
}

std::vector<wire::Bytes> MpiWorld::gather(const wire::Bytes& own) const {
  Packed all = transport::gather(size_, rank_ == kRoot, shared(own));
  std::vector<wire::Bytes> everyone;
  for (std::size_t p = 0; p < all.sizes.size(); ++p) everyone.emplace_back(all.frame(p), static_cast<std::size_t>(all.sizes[p]));
  return everyone;
}

MpiChannel::MpiChannel(const MpiWorld& world, Respond own)
    : ranks_(world.size()), own_(std::move(own)), queued_(static_cast<std::size_t>(world.size())) {
  for (int party = 0; party < ranks_; ++party) arrived_.push_back({Arrival::What::kJoined, party, {}});
}

MpiChannel::~MpiChannel() {
  // Frames that nobody waited for (the end of a run) are still delivered.
  while (std::any_of(queued_.begin(), queued_.end(), [](const auto& frames) { return !frames.empty(); })) pass();
  Announcement done{kDone};
  MPI_Bcast(&done.shared, 1, MPI_INT64_T, kRoot, MPI_COMM_WORLD);
}

void MpiChannel::send(std::span<const int> parties, const SharedFrame& frame) {
  for (const int party : parties) queued_[static_cast<std::size_t>(party)].push_back(frame);
}

void MpiChannel::pass() {
  std::vector<SharedFrame> frames(queued_.size());
  for (std::size_t p = 0; p < queued_.size(); ++p) {
    if (queued_[p].empty()) continue;
    frames[p] = std::move(queued_[p].front());
    queued_[p].pop_front();
  }
  const bool alike = std::all_of(frames.begin(), frames.end(), [&](const SharedFrame& frame) { return frame == frames[0]; });
  Announcement next{alike ? static_cast<std::int64_t>(frames[0]->size()) : kNothing};
  MPI_Bcast(&next.shared, 1, MPI_INT64_T, kRoot, MPI_COMM_WORLD);
  if (alike) {
    std::vector<std::uint64_t> content(static_cast<std::size_t>(words(next.shared)));
    std::memcpy(content.data(), frames[0]->data(), frames[0]->size());
    MPI_Bcast(content.data(), static_cast<int>(content.size()), MPI_UINT64_T, kRoot, MPI_COMM_WORLD);
  } else {
    std::vector<std::int64_t> sizes;
    for (const SharedFrame& frame : frames) sizes.push_back(frame ? static_cast<std::int64_t>(frame->size()) : kNothing);
    Packed all(std::move(sizes));
    for (std::size_t p = 0; p < frames.size(); ++p)
      if (frames[p]) std::memcpy(all.frame(p), frames[p]->data(), frames[p]->size());
    std::int64_t own = 0;
    MPI_Scatter(all.sizes.data(), 1, MPI_INT64_T, &own, 1, MPI_INT64_T, kRoot, MPI_COMM_WORLD);
    MPI_Scatterv(all.content.data(), all.counts.data(), all.offsets.data(), MPI_UINT64_T, MPI_IN_PLACE, 0, MPI_UINT64_T, kRoot,
                 MPI_COMM_WORLD);
  }
  Packed answers = gather(ranks_, true, frames[0] ? own_(*frames[0]) : std::nullopt);
  for (std::size_t p = 0; p < answers.sizes.size(); ++p)
    if (answers.sizes[p] != kNothing)
      arrived_.push_back({Arrival::What::kFrame, static_cast<int>(p),
                          shared(wire::Bytes(answers.frame(p), static_cast<std::size_t>(answers.sizes[p])))});
}

std::optional<Arrival> MpiChannel::receive(Clock::time_point) {
  const auto waiting = [&] { return std::any_of(queued_.begin(), queued_.end(), [](const auto& frames) { return !frames.empty(); }); };
  while (arrived_.empty() && waiting()) pass();
  if (arrived_.empty()) return std::nullopt;
  Arrival arrival = std::move(arrived_.front());
  arrived_.pop_front();
  return arrival;
}

void MpiChannel::drop(int party) { arrived_.push_back({Arrival::What::kLeft, party, {}}); }

void serve(const MpiWorld& world, const Respond& respond) {
  std::vector<std::uint64_t> content;
  while (true) {
    Announcement next;
    MPI_Bcast(&next.shared, 1, MPI_INT64_T, kRoot, MPI_COMM_WORLD);
    if (next.shared == kDone) return;
    std::int64_t size = next.shared;
    if (size == kNothing) MPI_Scatter(nullptr, 0, MPI_INT64_T, &size, 1, MPI_INT64_T, kRoot, MPI_COMM_WORLD);
    content.resize(static_cast<std::size_t>(words(size)));
    if (next.shared != kNothing)
      MPI_Bcast(content.data(), static_cast<int>(content.size()), MPI_UINT64_T, kRoot, MPI_COMM_WORLD);
    else
      MPI_Scatterv(nullptr, nullptr, nullptr, MPI_UINT64_T, content.data(), static_cast<int>(content.size()), MPI_UINT64_T, kRoot,
                   MPI_COMM_WORLD);
    std::optional<SharedFrame> answer;
    if (size != kNothing) answer = respond({reinterpret_cast<const char*>(content.data()), static_cast<std::size_t>(size)});
    gather(world.size(), false, answer);
  }
}

}  // namespace parley::transport
