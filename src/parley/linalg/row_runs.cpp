#include "parley/linalg/row_runs.h"

#include <algorithm>

#include "parley/core/threads.h"

namespace parley::linalg {

namespace {

constexpr std::size_t kRowsAhead = 12;
constexpr std::size_t kRowsPerTask = 1 << 10;
constexpr std::size_t kLine = 64;  // bytes

}  // namespace

RowRuns::RowRuns(const Matrix& matrix) : offsets_(static_cast<std::size_t>(matrix.rows()) + 1) {
  const Matrix plain = matrix.with_column_scale({});
  bool exact = true;
  for (const StoredColumn& column : plain.stored_columns()) exact = exact && column.storage != Storage::kFloat64;
  (void)plain.row_form();  // made once, before threads ask for it
  const auto rows = static_cast<std::size_t>(plain.rows());
  const auto of_rows = [&](const auto& body) {
    parallel_chunks(rows, kRowsPerTask, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) body(i);
    });
  };
  of_rows([&](std::size_t i) {
    plain.for_each_in_row_by_kind(static_cast<Index>(i), [&](Index, double) { ++offsets_[i + 1]; });
  });
  for (std::size_t i = 0; i < rows; ++i) offsets_[i + 1] += offsets_[i];
  columns_.resize(offsets_.back());
  if (exact)
    single_.resize(columns_.size());
  else
    double_.resize(columns_.size());
  of_rows([&](std::size_t i) {
    std::size_t at = offsets_[i];
    plain.for_each_in_row(static_cast<Index>(i), [&](Index j, double value) {
      columns_[at] = static_cast<std::uint32_t>(j);
      if (exact)
        single_[at] = static_cast<float>(value);
      else
        double_[at] = value;
      ++at;
    });
  });
}

void RowRuns::prefetch(std::size_t row) const {
  const std::size_t begin = offsets_[row], end = offsets_[row + 1];
  for (std::size_t k = begin; k < end; k += kLine / sizeof(columns_[0])) __builtin_prefetch(columns_.data() + k);
  if (double_.empty())
    for (std::size_t k = begin; k < end; k += kLine / sizeof(float)) __builtin_prefetch(single_.data() + k);
  else
    for (std::size_t k = begin; k < end; k += kLine / sizeof(double)) __builtin_prefetch(double_.data() + k);
}

template <class Value>
void RowRuns::dots_of(const Value* values, std::span<const std::size_t> records, std::span<const double> w,
                      std::span<const double> scale, std::span<double> out) const {
  for (std::size_t b = 0; b < records.size(); ++b) {
    if (b + 2 * kRowsAhead < records.size()) __builtin_prefetch(&offsets_[records[b + 2 * kRowsAhead]]);
    if (b + kRowsAhead < records.size()) prefetch(records[b + kRowsAhead]);
    const std::size_t begin = offsets_[records[b]];
    std::size_t k = begin;
    const std::size_t end = offsets_[records[b] + 1];
    // Four sums, so that one addition need not wait for the one before.
    double s[4] = {};
    if (scale.empty()) {
      for (; k + 4 <= end; k += 4)
        for (std::size_t l = 0; l < 4; ++l) s[l] += static_cast<double>(values[k + l]) * w[columns_[k + l]];
      // The last entries in the lanes that they have with a scale, so that scales of powers of two change no bit.
      for (std::size_t l = 0; k < end; ++k, ++l) s[l] += static_cast<double>(values[k]) * w[columns_[k]];
    } else {
      for (; k < end; ++k) s[(k - begin) % 4] += static_cast<double>(values[k]) * scale[columns_[k]] * w[columns_[k]];
    }
    out[b] = (s[0] + s[1]) + (s[2] + s[3]);
  }
}

void RowRuns::dots(std::span<const std::size_t> records, std::span<const double> w, std::span<const double> scale,
                   std::span<double> out) const {
  if (double_.empty())
    dots_of(single_.data(), records, w, scale, out);
  else
    dots_of(double_.data(), records, w, scale, out);
}

}  // namespace parley::linalg
