// A file as a sequence of chunks of whole records, parsed by several threads, in one pass.
//
// Reading and unpacking happen under a lock in whichever thread wants the next chunk; parsing happens
// outside it. The record borders depend on the content alone and parsed chunks are handed back in
// file order, so the number of threads changes nothing, the first error included.
#pragma once
#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parley/core/result.h"
#include "parley/core/threads.h"
#include "parley/data/decompress.h"

namespace parley::data {

// Text that grows without being filled with zeros first.
class TextBuffer {
 public:
  [[nodiscard]] std::string_view view() const { return {data_.get(), size_}; }
  [[nodiscard]] std::size_t size() const { return size_; }
  void assign(std::string_view text) {
    size_ = 0;
    std::copy(text.begin(), text.end(), grow(text.size()).data());
    size_ = text.size();
  }
  // Room for `size` bytes in all; what is there stays. The part after size().
  std::span<char> grow(std::size_t size);
  void resize(std::size_t size) { size_ = size; }  // within the room
  void remove_prefix(std::size_t count);

 private:
  std::unique_ptr<char[]> data_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

// Length of the longest prefix of `text` that consists of whole records; 0 when none is whole.
// `text` begins at a record.
using RecordCut = std::function<std::size_t(std::string_view text)>;

// Up to and including the last line feed.
std::size_t cut_at_line(std::string_view text);

class ChunkReader {
 public:
  explicit ChunkReader(std::unique_ptr<ByteSource> source);

  // Makes at least `wanted` bytes of the beginning visible, less when the file is shorter. Valid until
  // the next call; only before the first next().
  Result<std::string_view> peek(std::size_t wanted);
  // Leaves out the first bytes of what peek shows.
  void skip(std::size_t count);

  // The next records, about `size` bytes of them, into `out`; empty at the end of the file. The last
  // record need not end in a line feed.
  Result<void> next(TextBuffer& out, const RecordCut& cut, std::size_t size);

  // Reads a packed file to its end: a record that makes no sense may be damage that only the checksum
  // at the end proves.
  Result<void> check_rest();

  // Nothing of the file is left to read beyond what peek shows: it is one chunk.
  [[nodiscard]] bool all_read() const { return ended_; }

  // Bytes that are not handed out yet; 0 when nobody knows.
  [[nodiscard]] std::size_t left() const {
    return source_->size_hint() == 0 ? 0 : source_->size_hint() + carry_.size();
  }

  // A good size of chunks: enough of them to share between threads, small enough for the caches.
  [[nodiscard]] std::size_t chunk_size() const;

 private:
  Result<void> fill(TextBuffer& buffer, std::size_t wanted);  // to `wanted` bytes or the end

  std::unique_ptr<ByteSource> source_;
  TextBuffer carry_;  // read but not handed out yet
  bool ended_ = false;
};

// A mistake in a chunk, at a line counted from the chunk's first (0).
struct ChunkError {
  std::size_t line = 0;
  std::string field;
  std::string rule;
  std::string value;
};

// What a parser of chunks leaves: whatever it derives from this.
struct ParsedChunk {
  std::size_t lines = 0;  // in the whole chunk; up to the error when there is one
  std::unique_ptr<ChunkError> error;
};

struct ChunkedFile {
  std::string name;
  std::size_t first_line = 1;  // line number of the first record
};

// parse(text, parsed, workspace) for every chunk of the file; Parsed derives from ParsedChunk, and each
// thread has a workspace that its chunks share. The result is in file order; the error is the first
// one of the file. admit(text, parsed) comes before, for one chunk after the other in file order.
template <class Parsed, class Workspace, class Parse, class Admit>
Result<std::vector<Parsed>> parse_chunks(ChunkReader& reader, const ChunkedFile& file, const RecordCut& cut,
                                         const Parse& parse, const Admit& admit) {
  std::mutex lock;
  std::vector<std::unique_ptr<Parsed>> parsed;
  std::unique_ptr<Error> source_error;
  bool stop = false;
  const std::size_t size = reader.chunk_size();
  const auto work = [&] {
    TextBuffer text;
    Workspace workspace;
    while (true) {
      Parsed* slot = nullptr;
      {
        const std::lock_guard guard(lock);
        if (stop) return;
        auto more = reader.next(text, cut, size);
        stop = !more || text.size() == 0;
        if (!more) source_error = std::make_unique<Error>(std::move(more).error());
        if (stop) return;
        parsed.push_back(std::make_unique<Parsed>());
        slot = parsed.back().get();
        admit(text.view(), *slot);
      }
      parse(text.view(), *slot, workspace);
      if (slot->error != nullptr) {
        const std::lock_guard guard(lock);
        stop = true;
      }
    }
  };
  on_threads(reader.all_read() ? 1 : thread_count(), work);

  std::size_t line = file.first_line;
  for (const auto& chunk : parsed) {
    if (chunk->error != nullptr) {
      if (source_error != nullptr) return fail(std::move(*source_error));
      PARLEY_CHECK(reader.check_rest());
      return fail(bad_input({file.name, line + chunk->error->line, chunk->error->field}, chunk->error->rule,
                            chunk->error->value));
    }
    line += chunk->lines;
  }
  if (source_error != nullptr) return fail(std::move(*source_error));
  std::vector<Parsed> ordered;
  ordered.reserve(parsed.size());
  for (auto& chunk : parsed) ordered.push_back(std::move(*chunk));
  return ordered;
}

template <class Parsed, class Workspace, class Parse>
Result<std::vector<Parsed>> parse_chunks(ChunkReader& reader, const ChunkedFile& file, const RecordCut& cut,
                                         const Parse& parse) {
  return parse_chunks<Parsed, Workspace>(reader, file, cut, parse, [](std::string_view, Parsed&) {});
}

}  // namespace parley::data
