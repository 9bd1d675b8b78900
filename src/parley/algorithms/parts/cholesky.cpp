// By blocks of columns, left to right: entries of a block first lose what the columns before it
// explain (inner products of finished rows, the bulk of the work, in tiles of 4 x 2), then the
// block on the diagonal is factored, then the rows below it are solved against it.
#include "parley/algorithms/parts/cholesky.h"

#include <algorithm>
#include <cmath>

#include "parley/algorithms/parts/lanes.h"
#include "parley/core/threads.h"

namespace parley::algorithms {

namespace {

constexpr std::size_t kBlock = 64;

struct Rows {
  double* square;
  std::size_t size;
  std::size_t begin, end;   // rows worked on
  std::size_t first, last;  // columns of the block
};

PARLEY_INLINE double dot(const double* a, const double* b, std::size_t count) {
  Lanes total = {};
  Lanes x, y;
  std::size_t k = 0;
  for (; k + kLanes <= count; k += kLanes) {
    load(x, a + k);
    load(y, b + k);
    total += x * y;
  }
  double result = sum(total);
  for (; k < count; ++k) result += a[k] * b[k];
  return result;
}

// square(i, j) -= <row i, row j> over the columns before the block, which number a multiple of the lanes.
PARLEY_INLINE void subtract_explained_body(const Rows& rows) {
  for (std::size_t i = rows.begin; i < rows.end; i += 4) {
    const std::size_t columns_end = std::min(rows.last, std::min(i + 3, rows.end - 1) + 1);
    for (std::size_t j = rows.first; j < columns_end; j += 2) {
      const double* a[4];
      const double* b[2];
      for (std::size_t l = 0; l < 4; ++l) a[l] = rows.square + std::min(i + l, rows.end - 1) * rows.size;
      for (std::size_t l = 0; l < 2; ++l) b[l] = rows.square + std::min(j + l, rows.last - 1) * rows.size;
      Lanes total[4][2] = {};
      Lanes x[4], y[2];
      for (std::size_t k = 0; k < rows.first; k += kLanes) {
        for (std::size_t l = 0; l < 4; ++l) load(x[l], a[l] + k);
        for (std::size_t l = 0; l < 2; ++l) load(y[l], b[l] + k);
        for (std::size_t p = 0; p < 4; ++p)
          for (std::size_t q = 0; q < 2; ++q) total[p][q] += x[p] * y[q];
      }
      for (std::size_t p = 0; p < 4 && i + p < rows.end; ++p)
        for (std::size_t q = 0; q < 2 && j + q < rows.last && j + q <= i + p; ++q)
          rows.square[(i + p) * rows.size + j + q] -= sum(total[p][q]);
    }
  }
}

PARLEY_INLINE void solve_below_body(const Rows& rows) {
  for (std::size_t i = rows.begin; i < rows.end; ++i) {
    double* row = rows.square + i * rows.size;
    for (std::size_t j = rows.first; j < rows.last; ++j) {
      const double* pivot_row = rows.square + j * rows.size;
      row[j] = (row[j] - dot(row + rows.first, pivot_row + rows.first, j - rows.first)) / pivot_row[j];
    }
  }
}

PARLEY_INLINE bool factor_block_body(const Rows& rows) {
  for (std::size_t i = rows.first; i < rows.last; ++i) {
    double* row = rows.square + i * rows.size;
    for (std::size_t j = rows.first; j < i; ++j) {
      const double* pivot_row = rows.square + j * rows.size;
      row[j] = (row[j] - dot(row + rows.first, pivot_row + rows.first, j - rows.first)) / pivot_row[j];
    }
    const double original = row[i];
    const double pivot = original - dot(row + rows.first, row + rows.first, i - rows.first);
    // Below this share of its diagonal entry a pivot is rounding, not information.
    if (!(pivot > 1e-14 * std::abs(original)) || !std::isfinite(pivot)) return false;
    row[i] = std::sqrt(pivot);
  }
  return true;
}

PARLEY_KERNEL(void, subtract_explained, (const Rows& rows), (rows))
PARLEY_KERNEL(void, solve_below, (const Rows& rows), (rows))
PARLEY_KERNEL(bool, factor_block, (const Rows& rows), (rows))

}  // namespace

bool cholesky(std::span<double> square, std::size_t size) {
  for (std::size_t first = 0; first < size; first += kBlock) {
    const std::size_t last = std::min(first + kBlock, size);
    const std::size_t grain = std::max<std::size_t>(32, (size - first + 31) / 32);
    parallel_chunks(size - first, grain, [&](std::size_t begin, std::size_t end) {
      subtract_explained({square.data(), size, first + begin, first + end, first, last});
    });
    if (!factor_block({square.data(), size, first, last, first, last})) return false;
    parallel_chunks(size - last, grain, [&](std::size_t begin, std::size_t end) {
      solve_below({square.data(), size, last + begin, last + end, first, last});
    });
  }
  return true;
}

void cholesky_solve(std::span<const double> factor, std::size_t size, std::span<double> x) {
  for (std::size_t i = 0; i < size; ++i) {
    const double* row = factor.data() + i * size;
    double value = x[i];
    for (std::size_t j = 0; j < i; ++j) value -= row[j] * x[j];
    x[i] = value / row[i];
  }
  for (std::size_t i = size; i-- > 0;) {
    const double* row = factor.data() + i * size;
    x[i] /= row[i];
    for (std::size_t j = 0; j < i; ++j) x[j] -= row[j] * x[i];
  }
}

}  // namespace parley::algorithms
