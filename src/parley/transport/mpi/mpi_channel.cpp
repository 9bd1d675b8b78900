#include "parley/transport/mpi/mpi_channel.h"

#define OMPI_SKIP_MPICXX  // the C interface is all we use
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

namespace parley::transport {

namespace {

constexpr int kRoot = 0;
constexpr int kDown = 1;  // tags of messages
constexpr int kUp = 2;
constexpr std::int64_t kOwn = -1;      // each rank gets a frame of its own, or none
constexpr std::int64_t kDone = -2;     // no further pass
constexpr std::size_t kInline = 4000;  // a frame up to this size may travel with its announcement: one message

struct Announcement {
  std::int64_t size = 0;  // of the frame that every rank gets; or kOwn, kDone
  std::array<char, kInline> first;

  // `inlined`: how many bytes of a frame come along, which every rank knows beforehand.
  void exchange(std::size_t inlined) {
    MPI_Bcast(this, static_cast<int>(sizeof size + inlined), MPI_BYTE, kRoot, MPI_COMM_WORLD);
  }
};

// With the announcement after a frame of this size: as many, since the tasks of a run are mostly of one size.
std::size_t inlined_after(std::int64_t size) {
  return size < 0 || size > static_cast<std::int64_t>(kInline) ? 0 : static_cast<std::size_t>(size);
}

// A frame is below wire::kDefaultLimit, which an int can count.
int bytes_of(std::size_t size) {
  return static_cast<int>(size);
}

void send_frame(const std::optional<SharedFrame>& frame, int to, int tag) {
  const bool there = frame && *frame != nullptr;  // a message without content: no frame
  MPI_Send(there ? (*frame)->data() : nullptr, there ? bytes_of((*frame)->size()) : 0, MPI_BYTE, to, tag,
           MPI_COMM_WORLD);
}

// A message whose size is known once it is there. Its content may come later.
MPI_Request begin_receiving(int from, int tag, wire::Bytes& frame) {
  MPI_Message message;
  MPI_Status status;
  MPI_Mprobe(from, tag, MPI_COMM_WORLD, &message, &status);
  int size = 0;
  MPI_Get_count(&status, MPI_BYTE, &size);
  frame.resize(static_cast<std::size_t>(size));
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Imrecv(frame.data(), size, MPI_BYTE, &message, &request);
  return request;
}

}  // namespace

MpiWorld::MpiWorld(int* argc, char*** argv) {
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
}
MpiWorld::~MpiWorld() {
  MPI_Finalize();
}
void MpiWorld::meet() const {
  MPI_Barrier(MPI_COMM_WORLD);
}
void MpiWorld::abort(int code) {
  MPI_Abort(MPI_COMM_WORLD, code);
  std::abort();
}

std::vector<wire::Bytes> MpiWorld::gather(const wire::Bytes& own) const {
  if (rank_ != kRoot) {
    send_frame(shared(own), kRoot, kUp);
    return {};
  }
  std::vector<wire::Bytes> everyone(static_cast<std::size_t>(size_));
  everyone[kRoot] = own;
  for (int rank = 1; rank < size_; ++rank) {
    MPI_Request request = begin_receiving(rank, kUp, everyone[static_cast<std::size_t>(rank)]);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  return everyone;
}

MpiChannel::MpiChannel(const MpiWorld& world, Respond own)
    : ranks_(world.size()), own_(std::move(own)), queued_(static_cast<std::size_t>(world.size())) {
  for (int party = 0; party < ranks_; ++party) arrived_.push_back({Arrival::What::kJoined, party, {}});
}

MpiChannel::~MpiChannel() {
  // Frames that nobody waited for (the end of a run) are still delivered.
  while (waiting()) pass();
  Announcement done{.size = kDone, .first = {}};
  done.exchange(inlined_);
}

bool MpiChannel::waiting() const {
  return std::any_of(queued_.begin(), queued_.end(), [](const auto& frames) { return !frames.empty(); });
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
  const SharedFrame& first = frames.front();
  const bool alike =
      std::all_of(frames.begin(), frames.end(), [&](const SharedFrame& frame) { return frame == first; });
  Announcement next{.size = alike ? static_cast<std::int64_t>(first->size()) : kOwn, .first = {}};
  if (alike) std::memcpy(next.first.data(), first->data(), std::min(inlined_, first->size()));
  next.exchange(inlined_);
  if (alike && first->size() > inlined_) {
    auto* rest = const_cast<char*>(first->data()) + inlined_;  // the root of a Bcast only reads
    MPI_Bcast(rest, bytes_of(first->size() - inlined_), MPI_BYTE, kRoot, MPI_COMM_WORLD);
  }
  inlined_ = inlined_after(next.size);
  if (!alike)
    for (int rank = 1; rank < ranks_; ++rank) send_frame(frames[static_cast<std::size_t>(rank)], rank, kDown);
  std::optional<SharedFrame> own;
  if (first) own = own_(*first);
  if (own) hand_out(kRoot, std::move(*own));
  gather();
}

void MpiChannel::hand_out(int party, SharedFrame answer) {
  if (peek_) peek_(party, *answer);
  arrived_.push_back({Arrival::What::kFrame, party, std::move(answer)});
}

// One message of every other rank; without content it is not an answer. Each is looked at when it is there, while
// others are on their way.
void MpiChannel::gather() {
  std::vector<wire::Bytes> answers(static_cast<std::size_t>(ranks_));
  std::vector<MPI_Request> requests;
  for (int rank = 1; rank < ranks_; ++rank) {
    answers[static_cast<std::size_t>(rank)] = store_.room();
    requests.push_back(begin_receiving(rank, kUp, answers[static_cast<std::size_t>(rank)]));
  }
  for (std::size_t left = requests.size(); left > 0; --left) {
    int there = 0;
    MPI_Waitany(static_cast<int>(requests.size()), requests.data(), &there, MPI_STATUS_IGNORE);
    const int rank = there + 1;
    if (wire::Bytes& answer = answers[static_cast<std::size_t>(rank)]; !answer.empty())
      hand_out(rank, store_.share(std::move(answer)));
  }
}

std::optional<Arrival> MpiChannel::receive(Clock::time_point) {
  while (arrived_.empty() && waiting()) pass();
  if (arrived_.empty()) return std::nullopt;
  Arrival arrival = std::move(arrived_.front());
  arrived_.pop_front();
  return arrival;
}

void MpiChannel::drop(int party) {
  arrived_.push_back({Arrival::What::kLeft, party, {}});
}

void serve(const MpiWorld&, const Respond& respond) {
  wire::Bytes frame;  // its memory is reused
  Announcement next;
  std::size_t inlined = 0;
  while (true) {
    next.exchange(inlined);
    if (next.size == kDone) return;
    if (next.size == kOwn) {
      MPI_Request request = begin_receiving(kRoot, kDown, frame);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
      frame.resize(static_cast<std::size_t>(next.size));
      std::memcpy(frame.data(), next.first.data(), std::min(inlined, frame.size()));
      if (frame.size() > inlined)
        MPI_Bcast(frame.data() + inlined, bytes_of(frame.size() - inlined), MPI_BYTE, kRoot, MPI_COMM_WORLD);
    }
    inlined = inlined_after(next.size);
    std::optional<SharedFrame> answer;
    if (!frame.empty()) answer = respond(frame);
    send_frame(answer, kRoot, kUp);
  }
}

}  // namespace parley::transport
