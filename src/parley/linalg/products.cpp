// Products of a Matrix with vectors: what is cut into tasks, and in which order their sums are added.
//
//   A'r   dense:  panels of rows x groups of columns; the panels' partial sums are added in order
//         sparse: ranges of columns of about equal work
//   A w   dense:  panels of rows x groups of columns; the groups' partial margins are added in order
//         sparse: chunks of rows of the row form; or column by column when w is mostly zero
//
// A panel of the vector stays in the cache while the columns stream past it.
#include <algorithm>
#include <cassert>

#include "parley/core/threads.h"
#include "parley/linalg/kernels.h"
#include "parley/linalg/matrix.h"
#include "parley/linalg/stored.h"

namespace parley::linalg {

namespace {

constexpr std::size_t kPanelRows = 8192;
// Dense columns of a task of A'r.
constexpr std::size_t kGroupColumns = 64;
// Rows of a task over the row form, about.
constexpr std::size_t kTaskEntries = std::size_t{1} << 15;

// Calls body(columns of one type, at most `limit`), in order.
template <class Body>
void for_each_batch(std::span<const DenseColumn> columns, std::size_t limit, const Body& body) {
  for (std::size_t begin = 0; begin < columns.size();) {
    std::size_t end = begin + 1;
    while (end < columns.size() && end - begin < limit && columns[end].storage == columns[begin].storage) ++end;
    body(begin, end);
    begin = end;
  }
}

const std::byte* row_pointer(const DenseColumn& column, std::size_t row) {
  return static_cast<const std::byte*>(column.values) + row * width(column.storage);
}

// sums[c] = <dense column c over [begin, end), r> for the first `count` columns; the others come after them. Columns of
// one type are read as kStreams streams, each of them one column after the other.
void dense_dots(std::span<const DenseColumn> columns, std::size_t count, std::size_t begin, std::size_t end,
                const double* r, double* sums) {
  for_each_batch(columns.first(count), count, [&](std::size_t first, std::size_t last) {
    const std::size_t size = last - first, length = (size + kStreams - 1) / kStreams;  // of a stream
    for (std::size_t t = 0; t < length; ++t) {
      const void *at[kStreams], *next[kStreams];
      double each[kStreams];
      std::size_t taken = 0;
      for (std::size_t c = first + t; c < last; c += length, ++taken) {
        at[taken] = row_pointer(columns[c], begin);
        next[taken] = row_pointer(columns[std::min(c + 1, columns.size() - 1)], begin);
      }
      kernels().dense_dots[static_cast<std::size_t>(columns[first].storage)](at, next, static_cast<int>(taken),
                                                                             r + begin, end - begin, each);
      for (std::size_t c = 0; c < taken; ++c) sums[first + t + c * length] = each[c];
    }
  });
}

// sums[c*classes + k] = <dense column c, vector k> for the first `count` columns; the others come after them. Panels
// are short: those of a few columns stay in the first-level cache while they meet all vectors, and those of the vectors
// in the second while the columns pass.
void dense_products(std::span<const DenseColumn> columns, std::size_t count, std::size_t rows, const double* r,
                    std::size_t classes, double* sums) {
  constexpr std::size_t kShortPanel = 512;
  std::fill_n(sums, count * classes, 0.0);
  for (std::size_t begin = 0; begin < rows; begin += kShortPanel)
    for_each_batch(columns.first(count), kColumnsAtOnce, [&](std::size_t first, std::size_t last) {
      const void *at[kColumnsAtOnce], *next[kColumnsAtOnce];
      const bool again = last == count && begin + kShortPanel < rows;  // from the first column on, in the next panel
      const std::size_t size = last - first, after = again ? 0 : last;
      const std::size_t row = again ? begin + kShortPanel : last == count ? 0 : begin;
      for (std::size_t c = 0; c < size; ++c) {
        at[c] = row_pointer(columns[first + c], begin);
        next[c] = row_pointer(columns[std::min(after + c, columns.size() - 1)], row);
      }
      kernels().dense_products[static_cast<std::size_t>(columns[first].storage)](
          at, next, static_cast<int>(size), r + begin, rows, classes, std::min(kShortPanel, rows - begin),
          sums + first * classes);
    });
}

// out[i] += sum_c w[column c] * dense column c, rows [begin, end); columns whose weight is zero are not read.
void dense_axpys(std::span<const DenseColumn> columns, std::size_t begin, std::size_t end, const double* w,
                 double* out) {
  const void* at[kColumnsAtOnce];
  double factors[kColumnsAtOnce];
  int count = 0;
  std::size_t type = 0;
  const auto flush = [&] {
    if (count > 0) kernels().dense_axpys[type](at, factors, count, out + begin, end - begin);
    count = 0;
  };
  for (const DenseColumn& column : columns) {
    const double factor = w[column.column];
    if (factor == 0.0) continue;
    if (count == kColumnsAtOnce || type != static_cast<std::size_t>(column.storage)) flush();
    type = static_cast<std::size_t>(column.storage);
    at[count] = row_pointer(column, begin);
    factors[count++] = factor;
  }
  flush();
}

// w with the column scale applied, in `scratch` if there is one.
const double* scaled(std::span<const double> w, std::span<const double> scale, std::vector<double>& scratch) {
  if (scale.empty()) return w.data();
  scratch.resize(w.size());
  for (std::size_t j = 0; j < w.size(); ++j) scratch[j] = w[j] * scale[j];
  return scratch.data();
}

std::size_t rows_per_task(std::size_t rows, std::size_t entries) {
  return entries == 0 ? kPanelRows : std::clamp<std::size_t>(kTaskEntries * rows / entries, 16, kPanelRows);
}

// out += A w from the row form of the sparse columns.
void add_sparse_rows(const RowForm& form, std::size_t rows, const double* w, double* out) {
  const std::size_t ones = form.ones_at[rows];
  const std::size_t valued = form.values_at[rows];
  if (ones + valued == 0) return;
  const SparseRows binary{form.ones_at, form.ones, nullptr};
  const SparseRows typed{form.values_at, form.columns, form.values};
  parallel_chunks(rows, rows_per_task(rows, ones + valued), [&](std::size_t begin, std::size_t end) {
    if (ones > 0) kernels().row_dots[0](binary, begin, end, w, out + begin);
    if (valued > 0) kernels().row_dots[static_cast<std::size_t>(form.storage)](typed, begin, end, w, out + begin);
  });
}

// out += A w over the sparse columns with a nonzero weight, in panels of rows.
void add_sparse_columns(std::span<const StoredColumn> columns, std::span<const Index> used, std::size_t rows,
                        const double* w, double* out) {
  parallel_chunks(rows, kPanelRows, [&](std::size_t begin, std::size_t end) {
    for (const Index j : used) {
      const StoredColumn& column = columns[static_cast<std::size_t>(j)];
      const Index* numbers = column.rows();
      const Index* stop = numbers + column.count;
      const Index* first = begin == 0 ? numbers : std::lower_bound(numbers, stop, static_cast<Index>(begin));
      const Index* last = end == rows ? stop : std::lower_bound(first, stop, static_cast<Index>(end));
      const auto skipped = static_cast<std::size_t>(first - numbers);
      kernels().sparse_axpy[static_cast<std::size_t>(column.storage)](
          first, static_cast<const std::byte*>(column.values()) + skipped * width(column.storage),
          static_cast<std::size_t>(last - first), w[j], out);
    }
  });
}

}  // namespace

void Matrix::multiply(std::span<const double> w, std::span<double> out) const {
  const auto n = static_cast<std::size_t>(rows_);
  assert(w.size() == static_cast<std::size_t>(cols_) && out.size() == n);
  std::vector<double> scratch;
  const double* weights = scaled(w, scale_, scratch);
  std::fill(out.begin(), out.end(), 0.0);
  if (n == 0) return;

  // Few panels: groups of columns share the work too, each with margins of its own.
  const std::span<const DenseColumn> dense = stored_->dense;
  const std::size_t panels = chunk_count(n, kPanelRows);
  const std::size_t groups = panels >= 16 ? 1 : std::clamp<std::size_t>(dense.size() / 64, 1, 16);
  std::vector<double> partial((groups - 1) * n);
  if (!dense.empty()) {
    parallel_chunks(panels * groups, 1, [&](std::size_t task, std::size_t) {
      const std::size_t panel = task / groups, group = task % groups;
      const std::size_t first = group * dense.size() / groups, last = (group + 1) * dense.size() / groups;
      double* to = group == 0 ? out.data() : partial.data() + (group - 1) * n;
      dense_axpys(dense.subspan(first, last - first), panel * kPanelRows, std::min(n, (panel + 1) * kPanelRows),
                  weights, to);
    });
    for (std::size_t group = 1; group < groups; ++group)
      for (std::size_t i = 0; i < n; ++i) out[i] += partial[(group - 1) * n + i];
  }

  // The sparse columns with a nonzero weight; going through them alone is worth it below a fifth of the entries.
  std::size_t all = 0, needed = 0;
  std::vector<Index> used;
  for (std::size_t j = 0; j < w.size(); ++j) {
    const StoredColumn& column = columns_[j];
    if (column.dense || column.count == 0) continue;
    all += column.count;
    if (weights[j] == 0.0) continue;
    needed += column.count;
    used.push_back(static_cast<Index>(j));
  }
  if (needed == 0) return;
  if (needed < all / 5)
    add_sparse_columns(stored_columns(), used, n, weights, out.data());
  else
    add_sparse_rows(row_form(), n, weights, out.data());
}

void Matrix::multiply_transposed(std::span<const double> r, std::span<double> out) const {
  const auto n = static_cast<std::size_t>(rows_);
  assert(r.size() == n && out.size() == static_cast<std::size_t>(cols_));
  const auto& borders = stored_->borders;
  if (stored_->dense.size() < out.size())
    parallel_chunks(borders.size(), 1, [&](std::size_t range, std::size_t) {
      kernels().column_dots(columns_, range == 0 ? 0 : static_cast<std::size_t>(borders[range - 1]),
                            static_cast<std::size_t>(borders[range]), r.data(), out.data());
    });

  const std::span<const DenseColumn> dense = stored_->dense;
  if (!dense.empty()) {
    const std::size_t panels = std::max<std::size_t>(1, chunk_count(n, kPanelRows));
    const std::size_t groups = chunk_count(dense.size(), kGroupColumns);
    std::vector<double> sums(panels * dense.size());
    parallel_chunks(panels * groups, 1, [&](std::size_t task, std::size_t) {
      const std::size_t panel = task / groups, first = task % groups * kGroupColumns;
      dense_dots(dense.subspan(first), std::min(kGroupColumns, dense.size() - first), panel * kPanelRows,
                 std::min(n, (panel + 1) * kPanelRows), r.data(), sums.data() + panel * dense.size() + first);
    });
    for (std::size_t c = 0; c < dense.size(); ++c) {
      double sum = 0;
      for (std::size_t panel = 0; panel < panels; ++panel) sum += sums[panel * dense.size() + c];
      out[static_cast<std::size_t>(dense[c].column)] = sum;
    }
  }
  if (!scale_.empty())
    for (std::size_t j = 0; j < out.size(); ++j) out[j] *= scale_[j];
}

void Matrix::multiply(std::span<const double> weights, int classes, std::span<double> margins) const {
  const auto n = static_cast<std::size_t>(rows_);
  const auto d = static_cast<std::size_t>(cols_);
  const auto count = static_cast<std::size_t>(classes);
  assert(weights.size() == d * count && margins.size() == n * count);
  if (classes == 1) return multiply(weights, margins);
  // Feature by feature inside, so that one entry of a row meets its K weights in one place.
  std::vector<double> by_feature(d * count);
  parallel_chunks(d, 4096, [&](std::size_t begin, std::size_t end) {
    for (std::size_t j = begin; j < end; ++j)
      for (std::size_t k = 0; k < count; ++k)
        by_feature[j * count + k] = weights[k * d + j] * scale_of(static_cast<Index>(j));
  });
  std::fill(margins.begin(), margins.end(), 0.0);
  const RowForm& form = row_form();
  const std::size_t ones = form.ones_at[n], valued = form.values_at[n];
  const SparseRows binary{form.ones_at, form.ones, nullptr};
  const SparseRows typed{form.values_at, form.columns, form.values};
  const std::size_t grain = rows_per_task(n, (ones + valued + form.dense.size() * n) * count);
  parallel_chunks(n, grain, [&](std::size_t begin, std::size_t end) {
    double* out = margins.data() + begin * count;
    if (ones > 0) kernels().row_dots_classes[0](binary, begin, end, by_feature.data(), count, out);
    if (valued > 0)
      kernels().row_dots_classes[static_cast<std::size_t>(form.storage)](typed, begin, end, by_feature.data(), count,
                                                                         out);
    for (const DenseColumn& column : form.dense)
      with_values(column.storage, column.values, [&](const auto* values) {
        const double* x = by_feature.data() + static_cast<std::size_t>(column.column) * count;
        for (std::size_t i = begin; i < end; ++i) {
          const auto v = static_cast<double>(values[i]);
          for (std::size_t k = 0; k < count; ++k) out[(i - begin) * count + k] += v * x[k];
        }
      });
  });
}

void Matrix::multiply_transposed(std::span<const double> margins, int classes, std::span<double> weights) const {
  const auto n = static_cast<std::size_t>(rows_);
  const auto d = static_cast<std::size_t>(cols_);
  const auto count = static_cast<std::size_t>(classes);
  assert(weights.size() == d * count && margins.size() == n * count);
  if (classes == 1) return multiply_transposed(margins, weights);
  std::vector<double> by_feature(d * count);
  const auto& borders = stored_->borders;
  parallel_chunks(borders.size(), 1, [&](std::size_t range, std::size_t) {
    kernels().column_dots_classes(columns_, range == 0 ? 0 : static_cast<std::size_t>(borders[range - 1]),
                                  static_cast<std::size_t>(borders[range]), margins.data(), count, by_feature.data());
  });
  if (const std::span<const DenseColumn> dense = stored_->dense; !dense.empty()) {
    std::vector<double> by_class(n * count);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t k = 0; k < count; ++k) by_class[k * n + i] = margins[i * count + k];
    parallel_chunks(dense.size(), kGroupColumns, [&](std::size_t first, std::size_t last) {
      std::vector<double> sums((last - first) * count);
      dense_products(dense.subspan(first), last - first, n, by_class.data(), count, sums.data());
      for (std::size_t c = first; c < last; ++c)
        std::copy_n(sums.data() + (c - first) * count, count,
                    by_feature.data() + static_cast<std::size_t>(dense[c].column) * count);
    });
  }
  parallel_chunks(d, 4096, [&](std::size_t begin, std::size_t end) {
    for (std::size_t j = begin; j < end; ++j)
      for (std::size_t k = 0; k < count; ++k)
        weights[k * d + j] = by_feature[j * count + k] * scale_of(static_cast<Index>(j));
  });
}

double Matrix::column_dot(Index j, std::span<const double> r) const {
  assert(r.size() == static_cast<std::size_t>(rows_));
  const StoredColumn& column = columns_[j];
  const auto type = static_cast<std::size_t>(column.storage);
  if (!column.dense)
    return scale_of(j) * kernels().sparse_dot[type](column.rows(), column.values(), column.count, r.data());
  const void* at = column.at;
  double sum = 0;
  kernels().dense_dots[type](&at, nullptr, 1, r.data(), r.size(), &sum);
  return scale_of(j) * sum;
}

void Matrix::column_axpy(Index j, double a, std::span<double> r) const {
  assert(r.size() == static_cast<std::size_t>(rows_));
  const StoredColumn& column = columns_[j];
  const auto type = static_cast<std::size_t>(column.storage);
  const double factor = a * scale_of(j);
  if (!column.dense) return kernels().sparse_axpy[type](column.rows(), column.values(), column.count, factor, r.data());
  const void* at = column.at;
  kernels().dense_axpys[type](&at, &factor, 1, r.data(), r.size());
}

double Matrix::row_dot(Index i, std::span<const double> w) const {
  assert(w.size() == static_cast<std::size_t>(cols_));
  double sum = 0;
  for_each_in_row_by_kind(i, [&](Index j, double v) { sum += v * w[static_cast<std::size_t>(j)]; });
  return sum;
}

void Matrix::row_axpy(Index i, double a, std::span<double> w) const {
  assert(w.size() == static_cast<std::size_t>(cols_));
  for_each_in_row_by_kind(i, [&](Index j, double v) { w[static_cast<std::size_t>(j)] += a * v; });
}

}  // namespace parley::linalg
