#include "parley/algorithms/exact/exact_sparse_gram.h"

#include <algorithm>

#include "parley/core/threads.h"
#include "parley/linalg/kernels.h"

namespace parley::algorithms {

namespace {

constexpr std::size_t kTile = WorkingColumns::kTileWidth;
static_assert(kTile == linalg::kTile);

struct Row {
  const std::uint32_t* slots;
  std::size_t count;
};

// As many parts as keep the adding up of their sums a small part of the work.
std::size_t part_number(const WorkingColumns& columns) {
  const double per_row = static_cast<double>(columns.entries()) / static_cast<double>(columns.samples());
  const double pairs = 0.5 * per_row * static_cast<double>(columns.entries());
  const double square = static_cast<double>(columns.size() * columns.size() + 1);
  return pairs < 1e5 ? 1 : static_cast<std::size_t>(std::clamp(pairs / (8 * square), 1.0, 8.0));
}

// Adds left(p) * right(q) for all p >= q.
template <class Left, class Right>
void add_pairs(const Row& row, std::size_t size, double* gram, const Left& left, const Right& right) {
  std::size_t p = 0;
  for (; p + 1 < row.count; p += 2) {
    double* const first = gram + row.slots[p] * size;
    double* const second = gram + row.slots[p + 1] * size;
    const double left_first = left(p);
    const double left_second = left(p + 1);
    for (std::size_t q = 0; q <= p; ++q) {
      first[row.slots[q]] += left_first * right(q);
      second[row.slots[q]] += left_second * right(q);
    }
    second[row.slots[p + 1]] += left_second * right(p + 1);
  }
  if (p == row.count) return;
  double* const last = gram + row.slots[p] * size;
  const double left_last = left(p);
  for (std::size_t q = 0; q <= p; ++q) last[row.slots[q]] += left_last * right(q);
}

}  // namespace

void mirror(std::size_t size, std::span<double> square) {
  constexpr std::size_t kBlock = 16;
  for (std::size_t top = 0; top < size; top += kBlock)
    for (std::size_t left = 0; left <= top; left += kBlock)
      for (std::size_t a = top; a < std::min(size, top + kBlock); ++a)
        for (std::size_t b = left; b < std::min(a, left + kBlock); ++b) square[b * size + a] = square[a * size + b];
}

void WorkingGram::run(const WorkingColumns& columns, std::span<const double> weights, std::span<double> gram) {
  if (columns.tiled())
    by_tiles(columns, weights, gram);
  else
    by_rows(columns, weights, gram);
  mirror(columns.size(), gram);
}

void WorkingGram::by_tiles(const WorkingColumns& columns, std::span<const double> weights, std::span<double> gram) {
  constexpr std::size_t kPanelRows = 256;  // a panel of all weighted tiles stays in the second-level cache
  constexpr std::size_t kTilesPerChunk = 4;
  const std::size_t rows = columns.samples();
  const std::size_t tiles = columns.tile_count();
  const std::size_t padded = tiles * kTile;
  weighted_.resize(padded * kPanelRows);
  sums_.assign(padded * padded, 0.0);
  for (std::size_t first = 0; first < rows; first += kPanelRows) {
    const std::size_t count = std::min(kPanelRows, rows - first);
    for (std::size_t t = 0; t < tiles; ++t) {
      const double* const from = columns.tile(t) + first * kTile;
      double* const to = &weighted_[t * kPanelRows * kTile];
      for (std::size_t i = 0; i < count; ++i)
        for (std::size_t c = 0; c < kTile; ++c) to[i * kTile + c] = weights[first + i] * from[i * kTile + c];
    }
    parallel_chunks(tiles, kTilesPerChunk, [&](std::size_t begin, std::size_t end) {
      for (std::size_t a = begin; a < end; ++a)
        for (std::size_t b = 0; b <= a; ++b)
          linalg::kernels().gram_tile(columns.tile(a) + first * kTile, &weighted_[b * kPanelRows * kTile], count,
                                      &sums_[a * kTile * padded + b * kTile], padded);
    });
  }
  const std::size_t size = columns.size();
  for (std::size_t a = 0; a < size; ++a) std::copy_n(&sums_[a * padded], a + 1, &gram[a * size]);
}

void WorkingGram::by_rows(const WorkingColumns& columns, std::span<const double> weights, std::span<double> gram) {
  const std::size_t size = columns.size();
  const std::size_t rows = columns.samples();
  const std::size_t parts = part_number(columns);
  const std::size_t rows_per_part = std::max<std::size_t>(1, (rows + parts - 1) / parts);
  sums_.resize((parts - 1) * size * size);
  parallel_chunks(rows, rows_per_part, [&](std::size_t begin, std::size_t end) {
    const std::size_t part = begin / rows_per_part;
    double* const into = part == 0 ? gram.data() : &sums_[(part - 1) * size * size];
    std::fill_n(into, size * size, 0.0);
    for (std::size_t i = begin; i < end; ++i) {
      if (weights[i] == 0.0) continue;
      const std::size_t at = columns.row_start(i);
      const Row row{columns.slots() + at, columns.row_start(i + 1) - at};
      const double weight = weights[i];
      if (columns.row_values() == nullptr) {
        const auto one = [](std::size_t) { return 1.0; };
        add_pairs(
            row, size, into, [weight](std::size_t) { return weight; }, one);
      } else {
        const double* const values = columns.row_values() + at;
        add_pairs(
            row, size, into, [=](std::size_t p) { return weight * values[p]; },
            [=](std::size_t q) { return values[q]; });
      }
    }
  });
  for (std::size_t part = 1; part < chunk_count(rows, rows_per_part); ++part)
    for (std::size_t k = 0; k < size * size; ++k) gram[k] += sums_[(part - 1) * size * size + k];
}

}  // namespace parley::algorithms
