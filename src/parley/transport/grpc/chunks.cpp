#include "parley/transport/grpc/chunks.h"

#include <algorithm>
#include <vector>

namespace parley::transport {

namespace {

constexpr char kMore = 0;
constexpr char kLast = 1;
constexpr std::size_t kTrusted = std::size_t{16} << 20;  // a promised size up to which room is made at once

void release(void* frame) {
  delete static_cast<SharedFrame*>(frame);
}

}  // namespace

grpc::ByteBuffer Outbox::next() {
  const SharedFrame& frame = frames_.front();
  const std::size_t size = std::min(kChunkBytes, frame->size() - written_);
  const bool last = written_ + size == frame->size();
  // The slice points into the frame and keeps it alive.
  const grpc::Slice slices[2] = {
      grpc::Slice(last ? &kLast : &kMore, 1, grpc::Slice::STATIC_SLICE),
      grpc::Slice(const_cast<char*>(frame->data() + written_), size, &release, new SharedFrame(frame))};
  grpc::ByteBuffer chunk(slices, 2);
  written_ += size;
  if (last) {
    frames_.pop_front();
    written_ = 0;
  }
  return chunk;
}

std::optional<wire::Refusal> Assembly::add(const grpc::ByteBuffer& chunk) {
  std::vector<grpc::Slice> slices;
  if (!chunk.Dump(&slices).ok() || chunk.Length() == 0) return wire::Refusal::kNotAFrame;
  if (!std::exchange(begun_, true)) {
    frame_ = store_.room();
    frame_.clear();
  }
  std::optional<char> mark;
  for (const grpc::Slice& slice : slices) {
    std::string_view bytes(reinterpret_cast<const char*>(slice.begin()), slice.size());
    if (!mark && !bytes.empty()) {
      mark = bytes.front();
      bytes.remove_prefix(1);
    }
    if (frame_.size() + bytes.size() > limit_) return wire::Refusal::kTooLarge;
    if (frame_.empty()) frame_.reserve(std::min(wire::promised_size(bytes), std::min(limit_, kTrusted)));
    frame_.append(bytes);
  }
  if (*mark != kMore && *mark != kLast) return wire::Refusal::kNotAFrame;
  complete_ = *mark == kLast;
  return std::nullopt;
}

SharedFrame Assembly::take() {
  begun_ = false;
  complete_ = false;
  return store_.share(std::move(frame_));
}

}  // namespace parley::transport
