#include "parley/algorithms/exact/compact_rows.h"

#include <algorithm>
#include <type_traits>

#include "parley/algorithms/parts/lanes.h"
#include "parley/core/threads.h"

namespace parley::algorithms {

namespace {

using linalg::Index;
using linalg::Storage;

constexpr std::size_t kRowsAtOnce = 512;

// The order of rows in a Matrix: entries of 0/1 columns, of other sparse columns, of dense columns.
int kind(const linalg::StoredColumn& column) {
  return column.dense ? 2 : column.storage == Storage::kBinary ? 0 : 1;
}

// A dense column of bytes that holds 0 and 1 only.
bool is_zero_or_one(const linalg::DenseColumn& column, std::size_t rows) {
  if (column.storage != Storage::kInt8) return false;
  const auto* values = static_cast<const std::int8_t*>(column.values);
  std::uint8_t seen = 0;
  for (std::size_t i = 0; i < rows; ++i) seen |= static_cast<std::uint8_t>(values[i]);
  return seen <= 1;
}

struct Nothing {};

// Where entries go: columns as Column; values as float and double unless the pointer's type is Nothing.
template <class Column, class Single, class Double>
struct EntryWriter {
  Column* columns;
  Single single;
  Double exact;

  void put(std::size_t k, std::size_t column, double value) const {
    columns[k] = static_cast<Column>(column);
    if constexpr (!std::is_same_v<Single, Nothing>) single[k] = static_cast<float>(value);
    if constexpr (!std::is_same_v<Double, Nothing>) exact[k] = value;
  }
};

}  // namespace

CompactRows::CompactRows(const linalg::Matrix& matrix, const Use& use)
    : matrix_(matrix), constant_column_(use.constant_column), rows_(static_cast<std::size_t>(matrix.rows())) {
  number_columns();
  count_entries();
  const linalg::RowForm& form = matrix.row_form();
  const bool plain = matrix.column_scale().empty();
  const bool ones = plain && form.values_at[rows_] == 0 &&
                    std::all_of(form.dense.begin(), form.dense.end(),
                                [&](const linalg::DenseColumn& column) { return is_zero_or_one(column, rows_); });
  const std::span<const linalg::StoredColumn> stored = matrix.stored_columns();
  const bool narrow = plain && std::none_of(stored.begin(), stored.end(), [](const linalg::StoredColumn& column) {
                        return column.count > 0 && column.storage == Storage::kFloat64;
                      });
  const bool squares = columns_ <= kMostAscending || rows_ <= kMostAscending;
  const bool exact = !ones && !narrow && (squares || use.several_right_hand_sides);
  if (columns_ <= 65536)
    short_columns_.allocate(nonzeros());
  else
    long_columns_.allocate(nonzeros());
  if (!ones) single_.allocate(nonzeros());
  if (exact) double_.allocate(nonzeros());
  const auto write = [&](auto* columns) {
    using Column = std::remove_pointer_t<decltype(columns)>;
    if (exact) return write_entries(EntryWriter<Column, float*, double*>{columns, single_.at.get(), double_.at.get()});
    if (!ones) return write_entries(EntryWriter<Column, float*, Nothing>{columns, single_.at.get(), {}});
    return write_entries(EntryWriter<Column, Nothing, Nothing>{columns, {}, {}});
  };
  if (long_columns_)
    write(long_columns_.at.get());
  else
    write(short_columns_.at.get());
  cut_into_parts();
  if (columns_ >= 8 && ascending_ && nonzeros() * 2 > rows_ * columns_) {
    dense_.assign(rows_ * columns_, 0.0);
    parallel_chunks(rows_, kRowsAtOnce, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i)
        for_each_in_row(i, [&](std::size_t column, double value) { dense_[i * columns_ + column] = value; });
    });
  }
}

// Few columns: in the order of a row, so that entries ascend. Many: by falling number of entries.
void CompactRows::number_columns() {
  const std::span<const linalg::StoredColumn> stored = matrix_.stored_columns();
  std::size_t used = 0;
  std::uint32_t most = 0;
  for (const linalg::StoredColumn& column : stored) {
    used += column.count > 0 ? 1 : 0;
    most = std::max(most, column.count);
  }
  ascending_ = used <= kMostAscending;
  const auto group = [&](const linalg::StoredColumn& column) {
    return ascending_ ? static_cast<std::size_t>(kind(column)) : static_cast<std::size_t>(most - column.count);
  };
  std::vector<std::size_t> next((ascending_ ? 3 : most + 1) + 1);
  for (const linalg::StoredColumn& column : stored)
    if (column.count > 0) ++next[group(column) + 1];
  for (std::size_t g = 1; g < next.size(); ++g) next[g] += next[g - 1];
  originals_.resize(used);
  number_.resize(stored.size());
  for (std::size_t j = 0; j < stored.size(); ++j) {
    if (stored[j].count == 0) continue;
    const std::size_t c = next[group(stored[j])]++;
    originals_[c] = static_cast<Index>(j);
    number_[j] = static_cast<std::uint32_t>(c);
  }
  if (constant_column_) originals_.push_back(-1);
  columns_ = originals_.size();
}

void CompactRows::count_entries() {
  const linalg::RowForm& form = matrix_.row_form();
  offsets_.resize(rows_ + 1);
  parallel_chunks(rows_, kRowsAtOnce, [&](std::size_t begin, std::size_t end) {
    std::uint32_t counts[kRowsAtOnce] = {};
    for (const linalg::DenseColumn& column : form.dense)
      linalg::with_values(column.storage, column.values, [&](const auto* values) {
        for (std::size_t i = begin; i < end; ++i) counts[i - begin] += values[i] != 0 ? 1 : 0;
      });
    for (std::size_t i = begin; i < end; ++i)
      offsets_[i + 1] = counts[i - begin] + (form.ones_at[i + 1] - form.ones_at[i]) +
                        (form.values_at[i + 1] - form.values_at[i]) + (constant_column_ ? 1 : 0);
  });
  for (std::size_t i = 0; i < rows_; ++i) {
    pair_count_ += static_cast<double>(offsets_[i + 1]) * static_cast<double>(offsets_[i + 1]);
    offsets_[i + 1] += offsets_[i];
  }
}

template <class Writer>
void CompactRows::write_entries(const Writer& writer) {
  const linalg::RowForm& form = matrix_.row_form();
  const std::span<const double> scale = matrix_.column_scale();
  const std::uint32_t* number = number_.data();
  const auto scale_of = [&](Index j) { return scale.empty() ? 1.0 : scale[static_cast<std::size_t>(j)]; };
  parallel_chunks(rows_, kRowsAtOnce, [&](std::size_t begin, std::size_t end) {
    std::size_t next[kRowsAtOnce];
    for (std::size_t i = begin; i < end; ++i) {
      std::size_t k = offsets_[i];
      for (std::size_t e = form.ones_at[i]; e < form.ones_at[i + 1]; ++e)
        writer.put(k++, number[form.ones[e]], scale_of(form.ones[e]));
      next[i - begin] = k;
    }
    if (form.values_at[begin] != form.values_at[end])
      linalg::with_values(form.storage, form.values, [&](const auto* values) {
        for (std::size_t i = begin; i < end; ++i) {
          std::size_t k = next[i - begin];
          if (scale.empty())
            for (std::size_t e = form.values_at[i]; e < form.values_at[i + 1]; ++e)
              writer.put(k++, number[form.columns[e]], static_cast<double>(values[e]));
          else
            for (std::size_t e = form.values_at[i]; e < form.values_at[i + 1]; ++e)
              writer.put(k++, number[form.columns[e]], scale_of(form.columns[e]) * static_cast<double>(values[e]));
          next[i - begin] = k;
        }
      });
    for (const linalg::DenseColumn& column : form.dense_by_number) {
      const double factor = scale_of(column.column);
      const std::size_t c = number[column.column];
      linalg::with_values(column.storage, column.values, [&](const auto* values) {
        for (std::size_t i = begin; i < end; ++i)
          if (values[i] != 0) writer.put(next[i - begin]++, c, factor * static_cast<double>(values[i]));
      });
    }
    if (constant_column_)
      for (std::size_t i = begin; i < end; ++i) writer.put(next[i - begin], columns_ - 1, 1.0);
  });
}

// Enough parts to keep threads busy, few enough that adding their vectors is cheap beside the entries.
void CompactRows::cut_into_parts() {
  const std::size_t parts =
      nonzeros() < 20000 ? 1 : std::clamp<std::size_t>(nonzeros() / (8 * std::max<std::size_t>(columns_, 1)), 2, 16);
  chunks_.push_back(0);
  for (std::size_t p = 1; p < parts; ++p) {
    const auto at = std::lower_bound(offsets_.begin(), offsets_.end(), nonzeros() * p / parts);
    chunks_.push_back(std::max(chunks_.back(), static_cast<std::size_t>(at - offsets_.begin())));
  }
  chunks_.push_back(rows_);
  chunks_.erase(std::unique(chunks_.begin(), chunks_.end()), chunks_.end());
}

// out = sum over parts of what body(part begin, part end, accumulator) added to its own accumulator.
template <class Number, class Body>
void CompactRows::scatter(std::span<double> out, std::size_t width, const Body& body) const {
  const std::size_t parts = chunks_.size() - 1;
  const std::size_t size = columns_ * width;
  std::vector<Number> sums(parts * size);
  parallel_chunks(parts, 1,
                  [&](std::size_t p, std::size_t) { body(chunks_[p], chunks_[p + 1], sums.data() + p * size); });
  parallel_chunks(size, 16384, [&](std::size_t begin, std::size_t end) {
    for (std::size_t j = begin; j < end; ++j) out[j] = static_cast<double>(sums[j]);
    for (std::size_t p = 1; p < parts; ++p)
      for (std::size_t j = begin; j < end; ++j) out[j] += static_cast<double>(sums[p * size + j]);
  });
}

void CompactRows::multiply(std::span<const double> w, std::span<double> out) const {
  std::vector<double> original(number_.size());
  for (std::size_t c = 0; c < columns_; ++c)
    if (originals_[c] >= 0) original[static_cast<std::size_t>(originals_[c])] = w[c];
  matrix_.multiply(original, out);
  if (constant_column_)
    for (double& m : out) m += w.back();
}

void CompactRows::multiply_transposed(std::span<const double> r, std::span<double> out) const {
  std::vector<double> original(number_.size());
  matrix_.multiply_transposed(r, original);
  for (std::size_t c = 0; c < columns_; ++c)
    if (originals_[c] >= 0) out[c] = original[static_cast<std::size_t>(originals_[c])];
  if (constant_column_)
    out.back() = parallel_sum(rows_, 4096, [&](std::size_t begin, std::size_t end) {
      double sum = 0;
      for (std::size_t i = begin; i < end; ++i) sum += r[i];
      return sum;
    });
}

void CompactRows::curvature_product(std::span<const double> c, std::span<const double> v, std::span<double> out) const {
  const std::vector<float> direction(v.begin(), v.end());
  in_single_precision([&](const auto& typed) {
    scatter<float>(out, 1, [&](std::size_t begin, std::size_t end, float* sums) {
      for (std::size_t i = begin; i < end; ++i)
        if (c[i] != 0) typed.axpy(i, typed.dot(i, direction.data()) * static_cast<float>(c[i]), sums);
    });
  });
}

void CompactRows::curvature_diagonal(std::span<const double> c, std::span<double> out) const {
  in_single_precision([&](const auto& typed) {
    scatter<float>(out, 1, [&](std::size_t begin, std::size_t end, float* sums) {
      for (std::size_t i = begin; i < end; ++i) {
        const auto weight = static_cast<float>(c[i]);
        if (weight == 0) continue;
        for (std::size_t k = offsets_[i]; k < offsets_[i + 1]; ++k)
          sums[typed.columns[k]] += weight * typed.values[k] * typed.values[k];
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
    exactly([&](const auto& typed) {
      for (std::size_t i = begin; i < end; ++i) {
        if (c[i] == 0) continue;
        for (std::size_t a = offsets_[i]; a < offsets_[i + 1]; ++a) {
          const double scaled = c[i] * static_cast<double>(typed.values[a]);
          typed.axpy(i, a + 1, scaled, square + typed.columns[a] * d);
        }
      }
    });
  });
  for (std::size_t p = 1; p < parts; ++p)
    for (std::size_t k = 0; k < d * d; ++k) out[k] += sums[(p - 1) * d * d + k];
}

void CompactRows::kernel(std::span<double> out) const {
  exactly([&](const auto& typed) {
    parallel_chunks(rows_, 16, [&](std::size_t begin, std::size_t end) {
      std::vector<double> spread(columns_);
      for (std::size_t i = begin; i < end; ++i) {
        typed.axpy(i, 1.0, spread.data());
        for (std::size_t j = 0; j <= i; ++j) out[i * rows_ + j] = typed.dot(j, spread.data());
        for (std::size_t k = offsets_[i]; k < offsets_[i + 1]; ++k) spread[typed.columns[k]] = 0;
      }
    });
  });
}

void CompactRows::multiply(std::span<const double> w, std::span<double> out, std::size_t width) const {
  exactly([&](const auto& typed) {
    parallel_chunks(chunks_.size() - 1, 1, [&](std::size_t p, std::size_t) {
      for (std::size_t i = chunks_[p]; i < chunks_[p + 1]; ++i) {
        double* to = out.data() + i * width;
        std::fill(to, to + width, 0.0);
        for (std::size_t e = offsets_[i]; e < offsets_[i + 1]; ++e) {
          const double* from = w.data() + typed.columns[e] * width;
          const auto value = static_cast<double>(typed.values[e]);
          for (std::size_t k = 0; k < width; ++k) to[k] += value * from[k];
        }
      }
    });
  });
}

void CompactRows::multiply_transposed(std::span<const double> r, std::span<double> out, std::size_t width) const {
  exactly([&](const auto& typed) {
    scatter<double>(out, width, [&](std::size_t begin, std::size_t end, double* sums) {
      for (std::size_t i = begin; i < end; ++i) {
        const double* from = r.data() + i * width;
        for (std::size_t e = offsets_[i]; e < offsets_[i + 1]; ++e) {
          double* to = sums + typed.columns[e] * width;
          const auto value = static_cast<double>(typed.values[e]);
          for (std::size_t k = 0; k < width; ++k) to[k] += value * from[k];
        }
      }
    });
  });
}

}  // namespace parley::algorithms
