#include "parley/algorithms/compact_rows.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "parley/algorithms/lanes.h"
#include "parley/core/threads.h"

namespace parley::algorithms {

namespace {

using linalg::ColumnView;
using linalg::Index;
using linalg::Storage;

// Entries of a 0/1 matrix: every one is 1.
struct Ones {
  constexpr double operator[](std::size_t) const { return 1.0; }
};
struct SingleOnes {
  constexpr float operator[](std::size_t) const { return 1.0F; }
};

// f(row, value) over the entries of a column that are not zero, without its scale.
template <class F>
void for_each_stored(const ColumnView& column, const F& f) {
  const auto visit = [&](auto values) {
    for (std::size_t k = 0; k < column.count; ++k)
      if (const double v = values[k]; v != 0)
        f(column.rows != nullptr ? static_cast<std::size_t>(column.rows[k]) : k, v);
  };
  switch (column.storage) {
    case Storage::kBinary:
      return visit(Ones{});
    case Storage::kInt8:
      return visit(static_cast<const std::int8_t*>(column.values));
    case Storage::kInt16:
      return visit(static_cast<const std::int16_t*>(column.values));
    case Storage::kFloat32:
      return visit(static_cast<const float*>(column.values));
    case Storage::kFloat64:
      return visit(static_cast<const double*>(column.values));
  }
}

}  // namespace

CompactRows::CompactRows(const linalg::Matrix& matrix, bool constant_column)
    : rows_(static_cast<std::size_t>(matrix.rows())) {
  const auto all = static_cast<std::size_t>(matrix.cols());
  std::vector<std::size_t> column_count(all);
  std::vector<std::size_t> row_count(rows_, constant_column ? 1 : 0);
  bool ones = true;
  bool narrow = true;
  for (std::size_t j = 0; j < all; ++j) {
    const ColumnView column = matrix.column(static_cast<Index>(j));
    for_each_stored(column, [&](std::size_t i, double v) {
      const double value = column.scale * v;
      ++column_count[j];
      ++row_count[i];
      ones = ones && value == 1.0;
      narrow = narrow && static_cast<double>(static_cast<float>(value)) == value;
    });
  }
  for (std::size_t j = 0; j < all; ++j)
    if (column_count[j] > 0) originals_.push_back(static_cast<Index>(j));
  std::stable_sort(originals_.begin(), originals_.end(), [&](Index a, Index b) {
    return column_count[static_cast<std::size_t>(a)] > column_count[static_cast<std::size_t>(b)];
  });
  if (constant_column) originals_.push_back(-1);
  columns_ = originals_.size();
  offsets_.assign(rows_ + 1, 0);
  for (std::size_t i = 0; i < rows_; ++i) {
    offsets_[i + 1] = offsets_[i] + row_count[i];
    pair_count_ += static_cast<double>(row_count[i]) * static_cast<double>(row_count[i]);
  }
  const bool short_numbers = columns_ <= 65536;
  if (short_numbers) short_columns_.resize(nonzeros());
  if (!short_numbers) long_columns_.resize(nonzeros());
  if (!ones) single_.resize(nonzeros());
  if (!ones && !narrow) double_.resize(nonzeros());
  std::vector<std::size_t> next(offsets_.begin(), offsets_.end() - 1);
  const auto put = [&](std::size_t i, std::size_t column, double value) {
    const std::size_t k = next[i]++;
    if (short_numbers) short_columns_[k] = static_cast<std::uint16_t>(column);
    if (!short_numbers) long_columns_[k] = static_cast<std::uint32_t>(column);
    if (!ones) single_[k] = static_cast<float>(value);
    if (!ones && !narrow) double_[k] = value;
  };
  for (std::size_t c = 0; c < columns_; ++c) {
    if (originals_[c] < 0) {
      for (std::size_t i = 0; i < rows_; ++i) put(i, c, 1.0);
      continue;
    }
    const ColumnView column = matrix.column(originals_[c]);
    for_each_stored(column, [&](std::size_t i, double v) { put(i, c, column.scale * v); });
  }
  // Enough parts to keep threads busy, few enough that adding their vectors is cheap beside the entries.
  const std::size_t parts =
      nonzeros() < 20000
          ? 1
          : std::clamp<std::size_t>(nonzeros() / (8 * std::max<std::size_t>(columns_, 1)), 2, 16);
  chunks_.push_back(0);
  for (std::size_t p = 1; p < parts; ++p) {
    const auto at = std::lower_bound(offsets_.begin(), offsets_.end(), nonzeros() * p / parts);
    chunks_.push_back(std::max(chunks_.back(), static_cast<std::size_t>(at - offsets_.begin())));
  }
  chunks_.push_back(rows_);
  chunks_.erase(std::unique(chunks_.begin(), chunks_.end()), chunks_.end());
  if (columns_ >= 8 && nonzeros() * 2 > rows_ * columns_) {
    dense_.assign(rows_ * columns_, 0.0);
    for (std::size_t i = 0; i < rows_; ++i)
      for_each_in_row(i, [&](std::size_t column, double value) { dense_[i * columns_ + column] = value; });
  }
}

template <class F>
void CompactRows::with_types(const F& f) const {
  const auto with_values = [&](auto columns) {
    if (!double_.empty()) return f(columns, double_.data());
    if (!single_.empty()) return f(columns, single_.data());
    return f(columns, Ones{});
  };
  return short_columns_.empty() ? with_values(long_columns_.data()) : with_values(short_columns_.data());
}

template <class F>
void CompactRows::with_single_types(const F& f) const {
  const auto with_values = [&](auto columns) {
    return single_.empty() ? f(columns, SingleOnes{}) : f(columns, single_.data());
  };
  return short_columns_.empty() ? with_values(long_columns_.data()) : with_values(short_columns_.data());
}

// out = sum over parts of what body(part begin, part end, accumulator) added to its own accumulator.
template <class Number, class Body>
void CompactRows::scatter(std::span<double> out, std::size_t width, const Body& body) const {
  const std::size_t parts = chunks_.size() - 1;
  const std::size_t size = columns_ * width;
  std::vector<Number> sums(parts * size);
  parallel_chunks(parts, 1, [&](std::size_t p, std::size_t) {
    body(chunks_[p], chunks_[p + 1], sums.data() + p * size);
  });
  parallel_chunks(size, 16384, [&](std::size_t begin, std::size_t end) {
    for (std::size_t j = begin; j < end; ++j) out[j] = static_cast<double>(sums[j]);
    for (std::size_t p = 1; p < parts; ++p)
      for (std::size_t j = begin; j < end; ++j) out[j] += static_cast<double>(sums[p * size + j]);
  });
}

namespace {

// Four sums, so that one addition need not wait for the one before.
template <class Number, class Columns, class Values>
PARLEY_INLINE Number dot(const Columns* columns, const Values& values, std::size_t begin, std::size_t end,
                         const Number* w) {
  Number s[4] = {};
  std::size_t k = begin;
  for (; k + 4 <= end; k += 4)
    for (std::size_t l = 0; l < 4; ++l) s[l] += static_cast<Number>(values[k + l]) * w[columns[k + l]];
  for (; k < end; ++k) s[0] += static_cast<Number>(values[k]) * w[columns[k]];
  return (s[0] + s[1]) + (s[2] + s[3]);
}

template <class Number, class Columns, class Values>
PARLEY_INLINE void axpy(const Columns* columns, const Values& values, std::size_t begin, std::size_t end,
                        Number a, Number* out) {
  for (std::size_t k = begin; k < end; ++k) out[columns[k]] += a * static_cast<Number>(values[k]);
}

}  // namespace

void CompactRows::multiply(std::span<const double> w, std::span<double> out) const {
  with_types([&](auto columns, auto values) {
    parallel_chunks(chunks_.size() - 1, 1, [&](std::size_t p, std::size_t) {
      for (std::size_t i = chunks_[p]; i < chunks_[p + 1]; ++i)
        out[i] = dot(columns, values, offsets_[i], offsets_[i + 1], w.data());
    });
  });
}

void CompactRows::multiply_transposed(std::span<const double> r, std::span<double> out) const {
  with_types([&](auto columns, auto values) {
    scatter<double>(out, 1, [&](std::size_t begin, std::size_t end, double* sums) {
      for (std::size_t i = begin; i < end; ++i)
        if (r[i] != 0) axpy(columns, values, offsets_[i], offsets_[i + 1], r[i], sums);
    });
  });
}

void CompactRows::curvature_product(std::span<const double> c, std::span<const double> v,
                                    std::span<double> out) const {
  const std::vector<float> direction(v.begin(), v.end());
  with_single_types([&](auto columns, auto values) {
    scatter<float>(out, 1, [&](std::size_t begin, std::size_t end, float* sums) {
      for (std::size_t i = begin; i < end; ++i) {
        if (c[i] == 0) continue;
        const float t =
            dot(columns, values, offsets_[i], offsets_[i + 1], direction.data()) * static_cast<float>(c[i]);
        axpy(columns, values, offsets_[i], offsets_[i + 1], t, sums);
      }
    });
  });
}

void CompactRows::curvature_product_in_double(std::span<const double> c, std::span<const double> v,
                                              std::span<double> out) const {
  with_types([&](auto columns, auto values) {
    scatter<double>(out, 1, [&](std::size_t begin, std::size_t end, double* sums) {
      for (std::size_t i = begin; i < end; ++i) {
        if (c[i] == 0) continue;
        const double t = dot(columns, values, offsets_[i], offsets_[i + 1], v.data()) * c[i];
        axpy(columns, values, offsets_[i], offsets_[i + 1], t, sums);
      }
    });
  });
}

void CompactRows::curvature_diagonal(std::span<const double> c, std::span<double> out) const {
  with_single_types([&](auto columns, auto values) {
    scatter<float>(out, 1, [&](std::size_t begin, std::size_t end, float* sums) {
      for (std::size_t i = begin; i < end; ++i) {
        const auto weight = static_cast<float>(c[i]);
        if (weight == 0) continue;
        for (std::size_t k = offsets_[i]; k < offsets_[i + 1]; ++k)
          sums[columns[k]] += weight * values[k] * values[k];
      }
    });
  });
}

namespace {

struct DenseRows {
  const double* values;
  const double* weights;
  std::size_t columns;
  std::size_t begin, end;
};

// Adds rows four at a time, so that each entry of the square is loaded once for four rows.
PARLEY_INLINE void dense_gram_body(const DenseRows& rows, double* square) {
  const std::size_t d = rows.columns;
  std::size_t i = rows.begin;
  for (; i < rows.end; i += 4) {
    const double* x[4];
    double weight[4];
    for (std::size_t l = 0; l < 4; ++l) {
      const std::size_t row = std::min(i + l, rows.end - 1);
      x[l] = rows.values + row * d;
      weight[l] = i + l < rows.end ? rows.weights[row] : 0;
    }
    for (std::size_t a = 0; a < d; ++a) {
      const double s0 = weight[0] * x[0][a];
      const double s1 = weight[1] * x[1][a];
      const double s2 = weight[2] * x[2][a];
      const double s3 = weight[3] * x[3][a];
      double* to = square + a * d;
      std::size_t b = 0;
      for (; b + kLanes <= a + 1; b += kLanes) {
        Lanes sum, x0, x1, x2, x3;
        load(sum, to + b);
        load(x0, x[0] + b);
        load(x1, x[1] + b);
        load(x2, x[2] + b);
        load(x3, x[3] + b);
        sum += (s0 * x0 + s1 * x1) + (s2 * x2 + s3 * x3);
        store(sum, to + b);
      }
      for (; b <= a; ++b) to[b] += (s0 * x[0][b] + s1 * x[1][b]) + (s2 * x[2][b] + s3 * x[3][b]);
    }
  }
}

PARLEY_KERNEL(void, dense_gram, (const DenseRows& rows, double* square), (rows, square))

}  // namespace

void CompactRows::gram(std::span<const double> c, std::span<double> out) const {
  const std::size_t d = columns_;
  // A square per part; big squares get fewer parts, cut at the same rows.
  constexpr std::size_t kLargestSum = std::size_t{1} << 24;  // numbers: 128 MB
  const std::size_t all_parts = chunks_.size() - 1;
  const std::size_t parts = std::clamp<std::size_t>(kLargestSum / (d * d), 1, all_parts);
  std::vector<double> sums((parts - 1) * d * d);
  std::fill(out.begin(), out.end(), 0.0);
  parallel_chunks(parts, 1, [&](std::size_t p, std::size_t) {
    double* square = p == 0 ? out.data() : sums.data() + (p - 1) * d * d;
    const std::size_t begin = chunks_[p * all_parts / parts];
    const std::size_t end = chunks_[(p + 1) * all_parts / parts];
    if (!dense_.empty()) return dense_gram({dense_.data(), c.data(), d, begin, end}, square);
    with_types([&](auto columns, auto values) {
      for (std::size_t i = begin; i < end; ++i) {
        if (c[i] == 0) continue;
        for (std::size_t a = offsets_[i]; a < offsets_[i + 1]; ++a) {
          const double scaled = c[i] * static_cast<double>(values[a]);
          axpy(columns, values, offsets_[i], a + 1, scaled, square + columns[a] * d);
        }
      }
    });
  });
  for (std::size_t p = 1; p < parts; ++p)
    for (std::size_t k = 0; k < d * d; ++k) out[k] += sums[(p - 1) * d * d + k];
}

void CompactRows::kernel(std::span<double> out) const {
  with_types([&](auto columns, auto values) {
    parallel_chunks(rows_, 16, [&](std::size_t begin, std::size_t end) {
      std::vector<double> spread(columns_);
      for (std::size_t i = begin; i < end; ++i) {
        for (std::size_t k = offsets_[i]; k < offsets_[i + 1]; ++k)
          spread[columns[k]] = static_cast<double>(values[k]);
        for (std::size_t j = 0; j <= i; ++j)
          out[i * rows_ + j] = dot(columns, values, offsets_[j], offsets_[j + 1], spread.data());
        for (std::size_t k = offsets_[i]; k < offsets_[i + 1]; ++k) spread[columns[k]] = 0;
      }
    });
  });
}

void CompactRows::multiply(std::span<const double> w, std::span<double> out, std::size_t width) const {
  with_types([&](auto columns, auto values) {
    parallel_chunks(chunks_.size() - 1, 1, [&](std::size_t p, std::size_t) {
      for (std::size_t i = chunks_[p]; i < chunks_[p + 1]; ++i) {
        double* to = out.data() + i * width;
        std::fill(to, to + width, 0.0);
        for (std::size_t e = offsets_[i]; e < offsets_[i + 1]; ++e) {
          const double* from = w.data() + columns[e] * width;
          const auto value = static_cast<double>(values[e]);
          for (std::size_t k = 0; k < width; ++k) to[k] += value * from[k];
        }
      }
    });
  });
}

void CompactRows::multiply_transposed(std::span<const double> r, std::span<double> out,
                                      std::size_t width) const {
  with_types([&](auto columns, auto values) {
    scatter<double>(out, width, [&](std::size_t begin, std::size_t end, double* sums) {
      for (std::size_t i = begin; i < end; ++i) {
        const double* from = r.data() + i * width;
        for (std::size_t e = offsets_[i]; e < offsets_[i + 1]; ++e) {
          double* to = sums + columns[e] * width;
          const auto value = static_cast<double>(values[e]);
          for (std::size_t k = 0; k < width; ++k) to[k] += value * from[k];
        }
      }
    });
  });
}

}  // namespace parley::algorithms
