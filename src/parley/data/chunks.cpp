#include "parley/data/chunks.h"

#include <algorithm>
#include <cstring>

namespace parley::data {

namespace {
constexpr std::size_t kSmallestChunk = std::size_t{1} << 16;
constexpr std::size_t kLargestChunk = std::size_t{1} << 20;
constexpr std::size_t kPackedChunk = std::size_t{1} << 18;  // the unpacked size is not known
}  // namespace

std::size_t cut_at_line(std::string_view text) {
  const void* last = ::memrchr(text.data(), '\n', text.size());
  return last == nullptr ? 0 : static_cast<std::size_t>(static_cast<const char*>(last) - text.data()) + 1;
}

ChunkReader::ChunkReader(std::unique_ptr<ByteSource> source) : source_(std::move(source)) {}

Result<void> ChunkReader::fill(std::string& buffer, std::size_t wanted) {
  if (ended_ || buffer.size() >= wanted) return {};
  const std::size_t had = buffer.size();
  buffer.resize(wanted);
  const auto got = source_->read(std::span<char>(buffer).subspan(had));
  buffer.resize(had + (got ? *got : 0));
  if (!got) return fail(got.error());
  ended_ = buffer.size() < wanted;
  return {};
}

Result<std::string_view> ChunkReader::peek(std::size_t wanted) {
  PARLEY_CHECK(fill(carry_, wanted));
  return std::string_view(carry_);
}

void ChunkReader::skip(std::size_t count) { carry_.erase(0, count); }

Result<void> ChunkReader::next(std::string& out, const RecordCut& cut, std::size_t size) {
  out.swap(carry_);
  carry_.clear();
  for (std::size_t wanted = std::max(size, out.size());; wanted *= 2) {
    PARLEY_CHECK(fill(out, wanted));
    if (ended_) return {};
    const std::size_t whole = cut(out);
    if (whole == 0) continue;
    carry_.assign(out, whole);
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
