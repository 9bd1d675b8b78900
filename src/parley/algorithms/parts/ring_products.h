// X'[b_0 ... b_{T-1}] modulo 2^32 or 2^64 for a tall matrix X of words and streams of vectors, neither of which is
// kept: rows come in blocks, a block of every vector is made once and stays in the cache while the columns pass.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace parley::algorithms {

template <class Word>
struct RingBlocks {
  std::size_t rows = 0, columns = 0, vectors = 0;
  // Words [first, first + out.size()) of a column; for several columns at once by several threads, for each with
  // `first` ascending.
  std::function<void(std::size_t column, std::size_t first, std::span<Word> out)> column;
  // The next words of a vector.
  std::function<void(std::size_t vector, std::size_t first, std::span<Word> out)> vector;
};

// columns x vectors, all of a column together.
template <class Word>
std::vector<Word> ring_products(const RingBlocks<Word>& blocks);

}  // namespace parley::algorithms
