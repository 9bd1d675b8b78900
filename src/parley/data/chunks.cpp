#include "parley/data/chunks.h"

#include <algorithm>
#include <cstring>

namespace parley::data {

namespace {
constexpr std::size_t kSmallestChunk = std::size_t{1} << 16;
constexpr std::size_t kLargestChunk = std::size_t{1} << 19;
constexpr std::size_t kPackedChunk = std::size_t{1} << 18;  // the unpacked size is not known
}  // namespace

std::size_t cut_at_line(std::string_view text) {
  const void* last = ::memrchr(text.data(), '\n', text.size());
  return last == nullptr ? 0 : static_cast<std::size_t>(static_cast<const char*>(last) - text.data()) + 1;
}

ChunkReader::ChunkReader(std::unique_ptr<ByteSource> source) : source_(std::move(source)) {}

std::span<char> TextBuffer::grow(std::size_t size) {
  if (size > capacity_) {
    auto wider = std::make_unique_for_overwrite<char[]>(size);
    std::copy_n(data_.get(), size_, wider.get());
    data_ = std::move(wider);
    capacity_ = size;
  }
  return {data_.get() + size_, std::max(size, size_) - size_};
}

void TextBuffer::remove_prefix(std::size_t count) {
  std::memmove(data_.get(), data_.get() + count, size_ - count);
  size_ -= count;
}

Result<void> ChunkReader::fill(TextBuffer& buffer, std::size_t wanted) {
  if (ended_ || buffer.size() >= wanted) return {};
  PARLEY_TRY(const std::size_t got, source_->read(buffer.grow(wanted)));
  buffer.resize(buffer.size() + got);
  ended_ = buffer.size() < wanted;
  return {};
}

Result<std::string_view> ChunkReader::peek(std::size_t wanted) {
  PARLEY_CHECK(fill(carry_, wanted));
  return carry_.view();
}

void ChunkReader::skip(std::size_t count) {
  if (count > 0) carry_.remove_prefix(count);
}

Result<void> ChunkReader::next(TextBuffer& out, const RecordCut& cut, std::size_t size) {
  std::swap(out, carry_);
  carry_.resize(0);
  for (std::size_t wanted = std::max(size, out.size());; wanted *= 2) {
    PARLEY_CHECK(fill(out, wanted));
    if (ended_) return {};
    const std::size_t whole = cut(out.view());
    if (whole == 0) continue;
    carry_.assign(out.view().substr(whole));
    out.resize(whole);
    return {};
  }
}

Result<void> ChunkReader::check_rest() {
  if (!source_->is_packed()) return {};
  std::string rest(kPackedChunk, '\0');
  while (!ended_) {
    PARLEY_TRY(const std::size_t got, source_->read(rest));
    ended_ = got < rest.size();
  }
  return {};
}

std::size_t ChunkReader::chunk_size() const {
  const std::size_t left = source_->size_hint();
  return left == 0 ? kPackedChunk : std::clamp(left / 16, kSmallestChunk, kLargestChunk);
}

}  // namespace parley::data
