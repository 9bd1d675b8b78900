// G = C'C-like sums over rows, cut by what is sparse (s) and dense (d) in a row:
//
//   s x s   every pair of a row's nonzeros adds h_i x_ia x_ib: one update per pair, 0/1 pairs without a product
//   s x d   every nonzero adds h_i x_ia (dense part of the row)
//   d x d   tiles of 8 x 8 columns over panels of rows, converted to double once
//
// Rows are cut into a few chunks, as many as the work is worth; each chunk has sums of its own, which
// are added in order. A pair of sparse columns is summed in one of G_ab, G_ba; the end adds the two.
#include "parley/linalg/gram.h"

#include <algorithm>
#include <cassert>
#include <vector>

#include "parley/core/threads.h"
#include "parley/linalg/kernels.h"
#include "parley/linalg/memory.h"

namespace parley::linalg {

namespace {

constexpr std::size_t kPanelRows = 256;  // two tiles of a panel fit the first-level cache
constexpr std::size_t kMostChunks = 16;
constexpr std::size_t kMostBytes = std::size_t{32} << 20;  // of all chunks' sums, unless two need more

// Rows [begin, begin + count) of up to kTile columns of one type, side by side: to[row][kTile].
template <class T>
void pack(std::span<const DenseColumn> columns, std::size_t begin, std::size_t count, double* to) {
  const T* at[kTile];
  for (std::size_t c = 0; c < kTile; ++c)
    // Places beyond the last column repeat it; their sums are never read.
    at[c] = static_cast<const T*>(columns[std::min(c, columns.size() - 1)].values) + begin;
  for (std::size_t r = 0; r < count; ++r)
    for (std::size_t c = 0; c < kTile; ++c) to[r * kTile + c] = static_cast<double>(at[c][r]);
}

class GramSum {
 public:
  GramSum(const Matrix& a, std::span<const double> weights)
      : rows_(static_cast<std::size_t>(a.rows())),
        cols_(static_cast<std::size_t>(a.cols())),
        form_(a.row_form()),
        weights_(weights),
        tiles_((form_.dense.size() + kTile - 1) / kTile),
        ones_(form_.ones_at[rows_] > 0),
        valued_(form_.values_at[rows_] > 0) {}

  // Into out, without column scale.
  void run(std::span<double> out) const;

 private:
  struct Sums {
    double* sparse;  // cols x cols
    double* cross;   // cols x padded
    double* dense;   // padded x padded, tiles on and above the diagonal
  };

  [[nodiscard]] std::size_t padded() const { return tiles_ * kTile; }
  [[nodiscard]] bool any_sparse() const { return ones_ || valued_; }
  [[nodiscard]] std::size_t sparse_size() const { return any_sparse() ? cols_ * cols_ : 0; }
  [[nodiscard]] std::size_t cross_size() const { return any_sparse() ? cols_ * padded() : 0; }
  [[nodiscard]] std::size_t total_size() const { return sparse_size() + cross_size() + padded() * padded(); }
  [[nodiscard]] std::size_t chunks() const;
  [[nodiscard]] double weight(std::size_t i) const { return weights_.empty() ? 1.0 : weights_[i]; }

  void add_rows(std::size_t begin, std::size_t end, const Sums& sums) const;
  void add_dense_panel(std::size_t begin, std::size_t end, std::vector<double>& plain, std::vector<double>& weighted,
                       const Sums& sums) const;
  void add_sparse_pairs(std::size_t i, double* sparse) const;
  void add_cross(std::size_t i, const double* dense_row, const Sums& sums) const;

  std::size_t rows_, cols_;
  const RowForm& form_;
  std::span<const double> weights_;
  std::size_t tiles_;
  bool ones_, valued_;
};

std::size_t GramSum::chunks() const {
  // Updates per row, about; a chunk pays when its updates outweigh clearing and adding its sums.
  const double per_row =
      rows_ == 0 ? 0 : static_cast<double>(form_.ones_at[rows_] + form_.values_at[rows_]) / static_cast<double>(rows_);
  const auto dense = static_cast<double>(padded());
  const double updates =
      static_cast<double>(rows_) * (per_row * per_row / 2 + (per_row * dense + dense * dense / 2) / 4);
  const double worth = updates / (32.0 * static_cast<double>(total_size()) + 1.0);
  const std::size_t most = std::clamp<std::size_t>(kMostBytes / (total_size() * sizeof(double) + 1), 2, kMostChunks);
  return static_cast<std::size_t>(std::clamp(worth, 1.0, static_cast<double>(most)));
}

void GramSum::add_sparse_pairs(std::size_t i, double* sparse) const {
  const double h = weight(i);
  const Index* ones = form_.ones + form_.ones_at[i];
  const std::size_t count = form_.ones_at[i + 1] - form_.ones_at[i];
  for (std::size_t a = 0; a < count; ++a) {
    double* line = sparse + static_cast<std::size_t>(ones[a]) * cols_;
    for (std::size_t b = a; b < count; ++b) line[ones[b]] += h;
  }
  if (form_.values_at[i] == form_.values_at[i + 1]) return;
  with_values(form_.storage, form_.values, [&](const auto* values) {
    for (std::size_t a = form_.values_at[i]; a < form_.values_at[i + 1]; ++a) {
      const double scaled = h * static_cast<double>(values[a]);
      double* line = sparse + static_cast<std::size_t>(form_.columns[a]) * cols_;
      for (std::size_t b = a; b < form_.values_at[i + 1]; ++b)
        line[form_.columns[b]] += scaled * static_cast<double>(values[b]);
      for (std::size_t b = 0; b < count; ++b) line[ones[b]] += scaled;
    }
  });
}

void GramSum::add_cross(std::size_t i, const double* dense_row, const Sums& sums) const {
  const auto& axpy = kernels().axpy;
  const double h = weight(i);
  for (std::size_t k = form_.ones_at[i]; k < form_.ones_at[i + 1]; ++k)
    axpy(h, dense_row, sums.cross + static_cast<std::size_t>(form_.ones[k]) * padded(), padded());
  for (std::size_t k = form_.values_at[i]; k < form_.values_at[i + 1]; ++k)
    axpy(h * value_at(form_.storage, form_.values, k), dense_row,
         sums.cross + static_cast<std::size_t>(form_.columns[k]) * padded(), padded());
}

void GramSum::add_dense_panel(std::size_t begin, std::size_t end, std::vector<double>& plain,
                              std::vector<double>& weighted, const Sums& sums) const {
  const std::size_t count = end - begin;
  // Tile t of the panel: [t][row][kTile].
  for (std::size_t t = 0; t < tiles_; ++t) {
    const auto columns = form_.dense.subspan(t * kTile, std::min(kTile, form_.dense.size() - t * kTile));
    double* to = plain.data() + t * kPanelRows * kTile;
    // Columns are ordered by type: first and last agree in all but a few tiles.
    if (columns.front().storage == columns.back().storage) {
      with_values(columns.front().storage, nullptr,
                  [&](const auto* typed) { pack<std::remove_cvref_t<decltype(*typed)>>(columns, begin, count, to); });
    } else {
      for (std::size_t r = 0; r < count; ++r)
        for (std::size_t c = 0; c < columns.size(); ++c)
          to[r * kTile + c] = value_at(columns[c].storage, columns[c].values, begin + r);
    }
    double* scaled = weighted.data() + t * kPanelRows * kTile;
    for (std::size_t r = 0; r < count; ++r)
      for (std::size_t c = 0; c < kTile; ++c) scaled[r * kTile + c] = to[r * kTile + c] * weight(begin + r);
  }
  for (std::size_t a = 0; a < tiles_; ++a)
    for (std::size_t b = a; b < tiles_; ++b)
      kernels().gram_tile(weighted.data() + a * kPanelRows * kTile, plain.data() + b * kPanelRows * kTile, count,
                          sums.dense + a * kTile * padded() + b * kTile, padded());
}

void GramSum::add_rows(std::size_t begin, std::size_t end, const Sums& sums) const {
  std::vector<double> plain(tiles_ * kPanelRows * kTile), weighted(plain.size());
  std::vector<double> dense_row(padded());
  for (std::size_t panel = begin; panel < end; panel += kPanelRows) {
    const std::size_t stop = std::min(end, panel + kPanelRows);
    if (tiles_ > 0) add_dense_panel(panel, stop, plain, weighted, sums);
    if (!any_sparse()) continue;
    for (std::size_t i = panel; i < stop; ++i) {
      add_sparse_pairs(i, sums.sparse);
      if (tiles_ == 0) continue;
      for (std::size_t t = 0; t < tiles_; ++t)
        std::copy_n(plain.data() + (t * kPanelRows + (i - panel)) * kTile, kTile, dense_row.data() + t * kTile);
      add_cross(i, dense_row.data(), sums);
    }
  }
}

void GramSum::run(std::span<double> out) const {
  const std::size_t count = chunks();
  const std::size_t size = total_size();
  const Memory memory(count * size * sizeof(double));
  auto* base = reinterpret_cast<double*>(memory.data());
  parallel_chunks(count, 1, [&](std::size_t chunk, std::size_t) {
    double* at = base + chunk * size;
    add_rows(chunk * rows_ / count, (chunk + 1) * rows_ / count,
             {at, at + sparse_size(), at + sparse_size() + cross_size()});
  });
  if (count > 1)
    parallel_chunks(size, std::size_t{1} << 15, [&](std::size_t begin, std::size_t end) {
      for (std::size_t chunk = 1; chunk < count; ++chunk)
        for (std::size_t k = begin; k < end; ++k) base[k] += base[chunk * size + k];
    });

  // Sparse pairs first; lines and columns of dense columns in them are zero and overwritten after.
  if (any_sparse()) {
    constexpr std::size_t kBlock = 32;  // both triangles of a block stay in the cache
    parallel_chunks(cols_, kBlock, [&](std::size_t begin, std::size_t end) {
      for (std::size_t left = begin; left < cols_; left += kBlock)
        for (std::size_t a = begin; a < end; ++a)
          for (std::size_t b = std::max(a, left); b < std::min(cols_, left + kBlock); ++b) {
            const double sum = a == b ? base[a * cols_ + a] : base[a * cols_ + b] + base[b * cols_ + a];
            out[a * cols_ + b] = sum;
            out[b * cols_ + a] = sum;
          }
    });
  }
  const double* cross = base + sparse_size();
  const double* dense = cross + cross_size();
  for (std::size_t c = 0; c < form_.dense.size(); ++c) {
    const auto column = static_cast<std::size_t>(form_.dense[c].column);
    if (any_sparse())
      for (std::size_t j = 0; j < cols_; ++j)
        out[j * cols_ + column] = out[column * cols_ + j] = cross[j * padded() + c];
  }
  for (std::size_t c = 0; c < form_.dense.size(); ++c)
    for (std::size_t e = c; e < form_.dense.size(); ++e) {
      const auto a = static_cast<std::size_t>(form_.dense[c].column),
                 b = static_cast<std::size_t>(form_.dense[e].column);
      out[a * cols_ + b] = out[b * cols_ + a] = dense[c * padded() + e];
    }
}

}  // namespace

void weighted_gram(const Matrix& a, std::span<const double> weights, std::span<double> out) {
  const auto d = static_cast<std::size_t>(a.cols());
  assert(out.size() == d * d);
  assert(weights.empty() || weights.size() == static_cast<std::size_t>(a.rows()));
  if (a.nonzeros() == 0) {
    std::fill(out.begin(), out.end(), 0.0);
    return;
  }
  GramSum(a, weights).run(out);
  const std::span<const double> scale = a.column_scale();
  if (scale.empty()) return;
  for (std::size_t p = 0; p < d; ++p)
    for (std::size_t q = 0; q < d; ++q) out[p * d + q] *= scale[p] * scale[q];
}

void weighted_gram(const Matrix& a, std::span<const double> weights, std::span<const Index> columns,
                   std::span<double> out) {
  weighted_gram(a.select_columns(columns), weights, out);
}

void gram_column(const Matrix& a, Index j, std::span<double> out) {
  assert(out.size() == static_cast<std::size_t>(a.cols()));
  const ColumnView view = a.column(j);
  const auto rows = static_cast<double>(a.rows());
  // Entries met through the rows of column j, each a scattered update, against one pass over the matrix
  // in which an entry costs about an eighth of that (threads, no scatter, narrow types).
  const double through_rows =
      static_cast<double>(view.count) * (static_cast<double>(a.nonzeros()) / std::max(rows, 1.0));
  if (view.rows == nullptr || 8.0 * through_rows > static_cast<double>(a.nonzeros())) {
    std::vector<double> column(static_cast<std::size_t>(a.rows()));
    a.column_axpy(j, 1.0, column);
    a.multiply_transposed(column, out);
    return;
  }
  std::fill(out.begin(), out.end(), 0.0);
  a.for_each_in_column(j, [&](Index i, double v) { a.row_axpy(i, v, out); });
}

void gram_columns(const Matrix& a, std::span<const Index> columns, std::span<double> out) {
  const auto n = static_cast<std::size_t>(a.rows());
  assert(out.size() == columns.size() * static_cast<std::size_t>(a.cols()));
  std::vector<double> chosen(n * columns.size());  // row by row
  for (std::size_t k = 0; k < columns.size(); ++k)
    a.for_each_in_column(
        columns[k], [&](Index i, double value) { chosen[static_cast<std::size_t>(i) * columns.size() + k] = value; });
  a.multiply_transposed(chosen, static_cast<int>(columns.size()), out);
}

}  // namespace parley::linalg
