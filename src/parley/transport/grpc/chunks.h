// A frame on a gRPC stream: messages of at most 1 MB each, of which the first byte says whether it is the
// last one. gRPC itself refuses anything larger, so a peer can make us hold one frame of the agreed limit and
// no more.
//
// Messages are raw bytes (no protobuf inside): a frame goes out from the buffer it was encoded into, shared
// by all parties it is meant for, and comes in with one copy, into memory that is used again and again.
#pragma once
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status_code_enum.h>

#include <deque>
#include <optional>

#include "parley/transport/channel.h"
#include "parley/transport/frame_store.h"
#include "parley/wire/frame.h"

namespace parley::transport {

inline constexpr std::size_t kChunkBytes = std::size_t{1} << 20;
inline constexpr int kLargestMessage = static_cast<int>(kChunkBytes) + 1;
inline constexpr const char* kMethod = "/parley.Federation/Converse";
inline constexpr auto kTakenOver = grpc::StatusCode::ALREADY_EXISTS;  // how a stream ends when its party dials in anew

// Frames that wait to be written, chunk by chunk.
class Outbox {
 public:
  void push(SharedFrame frame) { frames_.push_back(std::move(frame)); }
  [[nodiscard]] bool empty() const { return frames_.empty(); }
  [[nodiscard]] std::size_t size() const { return frames_.size(); }
  grpc::ByteBuffer next();  // not empty

 private:
  std::deque<SharedFrame> frames_;
  std::size_t written_ = 0;  // of the first
};

// Chunks that become a frame.
class Assembly {
 public:
  Assembly(std::size_t limit, FrameStore& store) : limit_(limit), store_(store) {}
  // Why the chunk is refused; afterwards the stream cannot be understood any more.
  std::optional<wire::Refusal> add(const grpc::ByteBuffer& chunk);
  void limit(std::size_t bytes) { limit_ = bytes; }
  [[nodiscard]] bool complete() const { return complete_; }
  SharedFrame take();

 private:
  std::size_t limit_;
  FrameStore& store_;
  wire::Bytes frame_;
  bool begun_ = false;
  bool complete_ = false;
};

}  // namespace parley::transport
