// The inner loops, one table of them per CPU level (cpu.h). Threads, chunks and column scales are the
// callers' business. Arrays indexed by Storage hold one kernel per value type; the entry of kBinary
// is null where a dense column is meant, because dense columns are at least int8.
#pragma once
#include <array>
#include <cstddef>

#include "parley/linalg/matrix.h"

namespace parley::linalg {

inline constexpr std::size_t kStorages = 5;
inline constexpr int kColumnsAtOnce =
    4;  // dense columns that share one pass over several vectors, or that are added together
inline constexpr int kStreams = 8;  // dense columns that share one pass over a vector: so many streams keep memory busy
inline constexpr std::size_t kTile = 8;  // side of a Gram tile

// Entries of some rows: of row i, [offsets[i], offsets[i+1]) of columns and values.
struct SparseRows {
  const std::size_t* offsets = nullptr;
  const Index* columns = nullptr;
  const void* values = nullptr;
};

struct Kernels {
  template <class Function>
  using ByStorage = std::array<Function*, kStorages>;

  // out[c] = <column c, r>, for 1 <= count <= kStreams dense columns of one type. `next` are as many columns that
  // will be read after these, or null: memory is asked for them in the end.
  ByStorage<void(const void* const* columns, const void* const* next, int count, const double* r, std::size_t rows,
                 double* out)>
      dense_dots;
  // out[c*count + v] += <column c, vector v>, for up to kColumnsAtOnce dense columns of one type and `count` vectors,
  // of which v begins at r + v*stride. `next` is where the columns are read after this.
  ByStorage<void(const void* const* columns, const void* const* next, int columns_count, const double* r,
                 std::size_t stride, std::size_t count, std::size_t rows, double* out)>
      dense_products;
  // out += sum_c factors[c] column c.
  ByStorage<void(const void* const* columns, const double* factors, int count, double* out, std::size_t rows)>
      dense_axpys;
  // sum_k values[k] x[at[k]]
  ByStorage<double(const Index* at, const void* values, std::size_t count, const double* x)> sparse_dot;
  // out[at[k]] += a values[k]
  ByStorage<void(const Index* at, const void* values, std::size_t count, double a, double* out)> sparse_axpy;
  // out[i - begin] += <row i, x>
  ByStorage<void(const SparseRows& rows, std::size_t begin, std::size_t end, const double* x, double* out)> row_dots;
  // out[j] = <column j, r> for the sparse columns among [begin, end); dense ones are left alone.
  void (*column_dots)(const StoredColumn* columns, std::size_t begin, std::size_t end, const double* r, double* out);
  // The same with K values per index: x[j*K + k], out[(i - begin)*K + k] and r[i*K + k], out[j*K + k].
  ByStorage<void(const SparseRows& rows, std::size_t begin, std::size_t end, const double* x, std::size_t classes,
                 double* out)>
      row_dots_classes;
  void (*column_dots_classes)(const StoredColumn* columns, std::size_t begin, std::size_t end, const double* r,
                              std::size_t classes, double* out);
  // c[a*stride + b] += sum_r left[r*kTile + a] right[r*kTile + b]
  void (*gram_tile)(const double* left, const double* right, std::size_t rows, double* c, std::size_t stride);
  // to[k] += a from[k]
  void (*axpy)(double a, const double* from, double* to, std::size_t size);
  double (*dot)(const double* x, const double* y, std::size_t size);
  double (*sum_magnitudes)(const double* x, std::size_t size);
  double (*max_magnitude)(const double* x, std::size_t size);
};

const Kernels& kernels();  // of the level in use
const Kernels& kernels_baseline();
const Kernels& kernels_avx2();
const Kernels& kernels_avx512();

}  // namespace parley::linalg
