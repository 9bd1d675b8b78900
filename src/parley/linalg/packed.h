// Nonzero entries (line, position, value) in few bytes, in the order in which a reader meets them:
// lines ascend, positions ascend strictly within a line.
//
// There is one stream per storage type, so that a value costs its own smallest width and 0/1 data
// costs no values at all. A stream is a string of codes beside its values; `next` is the position after
// the last entry of the line:
//
//   0 .. 191      an entry at next + code
//   192 .. 251    (code - 190) entries at next, next + 1, ...      (2 to 61 of them)
//   252, u16      an entry at next + u16
//   253, u32      an entry at next + u32
//   254           the next line
//   255, u32      u32 lines on
//
// A dense line costs about 1/61 byte per entry beside its values; sparse text 1 or 3 bytes.
#pragma once
#include <array>
#include <cassert>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "parley/linalg/matrix.h"
#include "parley/linalg/memory.h"

namespace parley::linalg {

// Bytes that grow; amortised, without writing zeros first.
class GrowingBytes {
 public:
  GrowingBytes() = default;
  GrowingBytes(GrowingBytes&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  GrowingBytes& operator=(GrowingBytes&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }
  GrowingBytes(const GrowingBytes&) = delete;
  GrowingBytes& operator=(const GrowingBytes&) = delete;
  ~GrowingBytes() { std::free(data_); }

  template <class T>
  void append(T value) {
    if (size_ + sizeof value > capacity_) grow();
    std::memcpy(data_ + size_, &value, sizeof value);
    size_ += sizeof value;
  }
  void clear() { size_ = 0; }
  [[nodiscard]] std::uint8_t& back() { return data_[size_ - 1]; }
  [[nodiscard]] const std::uint8_t* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  void grow() {
    const std::size_t wider = capacity_ == 0 ? 64 : capacity_ * 2;
    auto* moved = static_cast<std::uint8_t*>(std::realloc(data_, wider));
    if (moved == nullptr) throw std::bad_alloc();
    data_ = moved;
    capacity_ = wider;
  }

  std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

class PackedEntries {
 public:
  // A nonzero entry; not after seal().
  void push(Index line, Index position, double value) {
    const Storage storage = smallest_storage(value);
    Stream& stream = streams_[static_cast<std::size_t>(storage)];
    if (stream.line != line) to_line(stream, line);
    assert(position >= stream.next);
    const auto gap = static_cast<std::uint32_t>(position - stream.next);
    if (gap == 0 && stream.in_run) {
      std::uint8_t& code = stream.codes.back();
      if (code == 0)
        code = kRun;
      else if (code < kLastRun)
        ++code;
      else
        stream.codes.append(std::uint8_t{0});
    } else if (gap < kRun) {
      stream.codes.append(static_cast<std::uint8_t>(gap));
      stream.in_run = gap == 0;
    } else {
      far(stream, gap);
    }
    stream.next = position + 1;
    ++count_;
    switch (storage) {
      case Storage::kBinary:
        break;
      case Storage::kInt8:
        stream.values.append(static_cast<std::int8_t>(value));
        break;
      case Storage::kInt16:
        stream.values.append(static_cast<std::int16_t>(value));
        break;
      case Storage::kFloat32:
        stream.values.append(static_cast<float>(value));
        break;
      case Storage::kFloat64:
        stream.values.append(value);
        break;
    }
  }

  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] std::size_t bytes() const;

  // Moves everything into one block of exactly the size needed. What is returned is empty and has the buffers
  // that are no longer needed here, to be filled next.
  PackedEntries seal();

  // f(line, position, value) for every entry: lines ascending; within a line stream by stream. After seal().
  template <class F>
  void visit(F&& f) const;

 private:
  static constexpr std::uint8_t kRun = 192;
  static constexpr std::uint8_t kLastRun = 251;
  static constexpr std::uint8_t kFar = 252;
  static constexpr std::uint8_t kFarther = 253;
  static constexpr std::uint8_t kNextLine = 254;
  static constexpr std::uint8_t kSkipLines = 255;

  struct Stream {
    GrowingBytes codes;
    GrowingBytes values;
    Index line = 0;
    Index next = 0;
    bool in_run = false;  // the last byte is the code 0 or a run's
  };
  // A sealed stream and how far it was read.
  struct Reader {
    const std::uint8_t* code = nullptr;
    const std::uint8_t* end = nullptr;
    const std::byte* values = nullptr;
    Index line = 0;

    void skip_lines();
  };

  static void to_line(Stream& stream, Index line);
  static void far(Stream& stream, std::uint32_t gap);
  template <class T, class F>
  static void read_line(Reader& reader, const F& f);
  static std::uint32_t u32(const std::uint8_t* at) {
    std::uint32_t value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }

  std::array<Stream, 5> streams_;
  std::size_t count_ = 0;
  Memory sealed_;
  std::array<std::size_t, 11> parts_{};  // where codes and values of the streams begin in sealed_, in turn
};

// Entries of one line, up to the next change of line.
template <class T, class F>
void PackedEntries::read_line(Reader& reader, const F& f) {
  Index position = 0;
  const auto emit = [&] {
    if constexpr (std::is_void_v<T>) {
      f(position, 1.0);
    } else {
      T value;
      std::memcpy(&value, reader.values, sizeof value);
      reader.values += sizeof value;
      f(position, static_cast<double>(value));
    }
    ++position;
  };
  const std::uint8_t* code = reader.code;
  while (code != reader.end) {
    const std::uint8_t c = *code;
    if (c < kRun) {
      position += c;
      emit();
      ++code;
    } else if (c <= kLastRun) {
      for (int k = c - kRun + 2; k > 0; --k) emit();
      ++code;
    } else if (c == kFar) {
      position += code[1] | code[2] << 8;
      emit();
      code += 3;
    } else if (c == kFarther) {
      position += static_cast<Index>(u32(code + 1));
      emit();
      code += 5;
    } else {
      break;
    }
  }
  reader.code = code;
  reader.skip_lines();
}

template <class F>
void PackedEntries::visit(F&& f) const {
  std::array<Reader, 5> readers;
  for (std::size_t s = 0; s < readers.size(); ++s) {
    const auto* codes = reinterpret_cast<const std::uint8_t*>(sealed_.data());
    readers[s] = {codes + parts_[2 * s], codes + parts_[2 * s + 1], sealed_.data() + parts_[2 * s + 1], 0};
    readers[s].skip_lines();
  }
  while (true) {
    Index line = INT32_MAX;
    for (const Reader& reader : readers)
      if (reader.code != reader.end && reader.line < line) line = reader.line;
    if (line == INT32_MAX) return;
    const auto give = [&](Index position, double value) { f(line, position, value); };
    const auto waits = [&](std::size_t s) { return readers[s].code != readers[s].end && readers[s].line == line; };
    if (waits(0)) read_line<void>(readers[0], give);
    if (waits(1)) read_line<std::int8_t>(readers[1], give);
    if (waits(2)) read_line<std::int16_t>(readers[2], give);
    if (waits(3)) read_line<float>(readers[3], give);
    if (waits(4)) read_line<double>(readers[4], give);
  }
}

}  // namespace parley::linalg
