#include "parley/linalg/packed.h"

namespace parley::linalg {

void PackedEntries::to_line(Stream& stream, Index line) {
  assert(line > stream.line);
  if (line == stream.line + 1) {
    stream.codes.append(kNextLine);
  } else {
    stream.codes.append(kSkipLines);
    stream.codes.append(static_cast<std::uint32_t>(line - stream.line));
  }
  stream.line = line;
  stream.next = 0;
  stream.in_run = false;
}

void PackedEntries::far(Stream& stream, std::uint32_t gap) {
  if (gap <= UINT16_MAX) {
    stream.codes.append(kFar);
    stream.codes.append(static_cast<std::uint8_t>(gap));
    stream.codes.append(static_cast<std::uint8_t>(gap >> 8));
  } else {
    stream.codes.append(kFarther);
    stream.codes.append(gap);
  }
  stream.in_run = false;
}

std::size_t PackedEntries::bytes() const {
  std::size_t bytes = sealed_.size();
  for (const Stream& stream : streams_) bytes += stream.codes.size() + stream.values.size();
  return bytes;
}

PackedEntries PackedEntries::seal() {
  PackedEntries buffers;
  if (sealed_.size() > 0) return buffers;
  std::size_t size = 0;
  for (std::size_t s = 0; s < streams_.size(); ++s) {
    parts_[2 * s] = size;
    size += streams_[s].codes.size();
    parts_[2 * s + 1] = size;
    size += streams_[s].values.size();
  }
  parts_.back() = size;
  sealed_ = Memory(size);
  for (std::size_t s = 0; s < streams_.size(); ++s) {
    const auto copy = [&](std::size_t part, const GrowingBytes& from) {
      if (from.size() > 0) std::memcpy(sealed_.data() + parts_[part], from.data(), from.size());
    };
    copy(2 * s, streams_[s].codes);
    copy(2 * s + 1, streams_[s].values);
    buffers.streams_[s].codes = std::move(streams_[s].codes);
    buffers.streams_[s].values = std::move(streams_[s].values);
    buffers.streams_[s].codes.clear();
    buffers.streams_[s].values.clear();
    streams_[s] = Stream();
  }
  return buffers;
}

void PackedEntries::Reader::skip_lines() {
  while (code != end && *code >= kNextLine) {
    if (*code == kNextLine) {
      ++line;
      ++code;
    } else {
      line += static_cast<Index>(u32(code + 1));
      code += 5;
    }
  }
}

}  // namespace parley::linalg
