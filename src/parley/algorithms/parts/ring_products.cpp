#include "parley/algorithms/parts/ring_products.h"

#include <algorithm>

#include "parley/core/threads.h"

namespace parley::algorithms {

namespace {

constexpr std::size_t kRows = 1024;   // of a block
constexpr std::size_t kTogether = 4;  // vectors that one pass over a column's block multiplies

// The same sums whatever the processor: integers wrap.
#if defined(__x86_64__) && defined(__GNUC__)
#define PARLEY_WIDE __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define PARLEY_WIDE
#endif

#define PARLEY_DOTS(Word)                                                                                 \
  PARLEY_WIDE void dots(const Word* a, const Word* b, std::size_t stride, std::size_t count, Word* out) { \
    Word s0 = 0, s1 = 0, s2 = 0, s3 = 0;                                                                  \
    for (std::size_t i = 0; i < count; ++i) {                                                             \
      s0 += a[i] * b[i];                                                                                  \
      s1 += a[i] * b[stride + i];                                                                         \
      s2 += a[i] * b[2 * stride + i];                                                                     \
      s3 += a[i] * b[3 * stride + i];                                                                     \
    }                                                                                                     \
    out[0] += s0;                                                                                         \
    out[1] += s1;                                                                                         \
    out[2] += s2;                                                                                         \
    out[3] += s3;                                                                                         \
  }
PARLEY_DOTS(std::uint32_t)
PARLEY_DOTS(std::uint64_t)

}  // namespace

template <class Word>
std::vector<Word> ring_products(const RingBlocks<Word>& blocks) {
  const std::size_t padded = (blocks.vectors + kTogether - 1) / kTogether * kTogether;
  std::vector<Word> sums(blocks.columns * padded), vectors(padded * kRows);
  for (std::size_t first = 0; first < blocks.rows; first += kRows) {
    const std::size_t count = std::min(kRows, blocks.rows - first);
    parallel_chunks(blocks.vectors, 8, [&](std::size_t begin, std::size_t end) {
      for (std::size_t v = begin; v < end; ++v) blocks.vector(v, first, std::span(vectors).subspan(v * kRows, count));
    });
    parallel_chunks(blocks.columns, 4, [&](std::size_t begin, std::size_t end) {
      std::vector<Word> column(count);
      for (std::size_t c = begin; c < end; ++c) {
        blocks.column(c, first, column);
        for (std::size_t v = 0; v < padded; v += kTogether)
          dots(column.data(), vectors.data() + v * kRows, kRows, count, sums.data() + c * padded + v);
      }
    });
  }
  std::vector<Word> products(blocks.columns * blocks.vectors);
  for (std::size_t c = 0; c < blocks.columns; ++c)
    std::copy_n(sums.begin() + static_cast<std::ptrdiff_t>(c * padded), blocks.vectors,
                products.begin() + static_cast<std::ptrdiff_t>(c * blocks.vectors));
  return products;
}

template std::vector<std::uint32_t> ring_products(const RingBlocks<std::uint32_t>&);
template std::vector<std::uint64_t> ring_products(const RingBlocks<std::uint64_t>&);

}  // namespace parley::algorithms
