// The body of write_rows; included by write.h.
#pragma once
#include <algorithm>

#include "parley/core/threads.h"
#include "parley/data/write.h"

namespace parley::data {

template <class Append>
Result<void> write_rows(OutputFile& file, std::size_t rows, std::size_t bytes_per_row, const Append& append) {
  constexpr std::size_t kPieceBytes = 1 << 18;
  const std::size_t grain = std::clamp<std::size_t>(kPieceBytes / std::max<std::size_t>(1, bytes_per_row), 1, 4096);
  const std::size_t wave = grain * 8 * static_cast<std::size_t>(std::max(1, thread_count()));
  std::vector<std::string> pieces;
  for (std::size_t first = 0; first < rows; first += wave) {
    const std::size_t count = std::min(wave, rows - first);
    pieces.resize(chunk_count(count, grain));
    parallel_chunks(count, grain, [&](std::size_t begin, std::size_t end) {
      std::string& text = pieces[begin / grain];
      text.clear();
      for (std::size_t row = begin; row < end; ++row) append(first + row, text);
    });
    for (const std::string& text : pieces) PARLEY_CHECK(file.write(text));
  }
  return {};
}

}  // namespace parley::data
