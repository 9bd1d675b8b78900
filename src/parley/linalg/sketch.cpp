#include "parley/linalg/sketch.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <unordered_set>

#include "parley/core/threads.h"

namespace parley::linalg {

namespace {

// Streams of the generator; block b of Osnap uses kPlaces + b, column r of the Gaussian map kNormals + r.
constexpr std::uint64_t kSigns = 0;
constexpr std::uint64_t kRows = 1;
constexpr std::uint64_t kPlaces = std::uint64_t{1} << 32;
constexpr std::uint64_t kNormals = std::uint64_t{1} << 33;

// Rows of J that one task makes; even, so that a block of two normals is used whole.
constexpr std::size_t kSlice = 32;

// m of N numbers without repetition, by Floyd's method (Bentley and Floyd, CACM 30, 1987).
std::vector<Index> choose(std::size_t count, std::size_t from, const PublicRandom& random) {
  std::unordered_set<std::uint64_t> chosen;
  for (std::size_t k = from - count; k < from; ++k) {
    const std::uint64_t candidate = random.below(k + 1, kRows, k);
    chosen.insert(chosen.contains(candidate) ? k : candidate);
  }
  std::vector<Index> rows;
  rows.reserve(chosen.size());
  for (const std::uint64_t row : chosen) rows.push_back(static_cast<Index>(row));
  std::sort(rows.begin(), rows.end());
  return rows;
}

// A column, dense or sparse, as (row, value) pairs.
struct ColumnEntries {
  ColumnView view;
  [[nodiscard]] Index row(std::size_t k) const { return view.rows != nullptr ? view.rows[k] : static_cast<Index>(k); }
  [[nodiscard]] double value(std::size_t k) const { return view.scale * stored_value(view, k); }
};

struct VectorEntries {
  std::span<const double> x;
  [[nodiscard]] Index row(std::size_t k) const { return static_cast<Index>(k); }
  [[nodiscard]] double value(std::size_t k) const { return x[k]; }
};

}  // namespace

Sketch::Sketch(const SketchShape& shape) : shape_(shape), random_(shape.seed) {
  assert(shape.rows >= 1 && shape.columns >= 0);
  const auto m = static_cast<double>(shape.rows);
  switch (shape.kind) {
    case SketchKind::kGaussian:
      unit_ = 1 / std::sqrt(m);
      break;
    case SketchKind::kHadamard:
      padded_ = std::bit_ceil(static_cast<std::size_t>(std::max<Index>(shape.columns, 1)));
      assert(static_cast<std::size_t>(shape.rows) <= padded_);
      unit_ = 1 / std::sqrt(m);
      chosen_ = choose(static_cast<std::size_t>(shape.rows), padded_, random_);
      break;
    case SketchKind::kCountSketch:
      shape_.blocks = 1;
      break;
    case SketchKind::kOsnap:
      assert(shape.blocks >= 1 && shape.blocks <= shape.rows);
      unit_ = 1 / std::sqrt(static_cast<double>(shape.blocks));
      break;
  }
}

void Sketch::gaussian_column(Index r, Index first, Index last, double* out) const {
  const std::uint64_t stream = kNormals + static_cast<std::uint64_t>(r);
  for (Index p = first; p < last; p += 2) {
    const auto words = random_.block(stream, static_cast<std::uint64_t>(p) / 2);
    out[p - first] = unit_ * PublicRandom::normal(words[0]);
    if (p + 1 < last) out[p + 1 - first] = unit_ * PublicRandom::normal(words[1]);
  }
}

double Sketch::hadamard_sign(Index r) const {
  const auto bit = static_cast<std::uint64_t>(r);
  return (random_.word(kSigns, bit / 64) >> (bit % 64)) & 1 ? -1.0 : 1.0;
}

Sketch::Place Sketch::place(Index r, Index block) const {
  const auto m = static_cast<std::int64_t>(shape_.rows);
  const auto first = static_cast<Index>(block * m / shape_.blocks);
  const auto last = static_cast<Index>((block + 1) * m / shape_.blocks);
  // The lowest bit is the sign; the product that picks the row is governed by the highest ones.
  const std::uint64_t word = random_.word(kPlaces + static_cast<std::uint64_t>(block), static_cast<std::uint64_t>(r));
  const auto offset =
      static_cast<Index>((static_cast<unsigned __int128>(word) * static_cast<std::uint64_t>(last - first)) >> 64);
  return {first + offset, word & 1 ? -unit_ : unit_};
}

void Sketch::transform(std::vector<double>& x) const {
  for (std::size_t half = 1; half < x.size(); half *= 2)
    for (std::size_t begin = 0; begin < x.size(); begin += 2 * half)
      for (std::size_t k = begin; k < begin + half; ++k) {
        const double a = x[k], b = x[k + half];
        x[k] = a + b;
        x[k + half] = a - b;
      }
}

template <class Entries>
void Sketch::accumulate(const Entries& entries, std::size_t count, std::span<double> out) const {
  const auto m = static_cast<std::size_t>(shape_.rows);
  assert(out.size() == m);
  std::fill(out.begin(), out.end(), 0.0);
  switch (shape_.kind) {
    case SketchKind::kGaussian:
      parallel_chunks(m, kSlice, [&](std::size_t begin, std::size_t end) {
        double normals[kSlice];
        for (std::size_t k = 0; k < count; ++k) {
          const double v = entries.value(k);
          if (v == 0.0) continue;
          gaussian_column(entries.row(k), static_cast<Index>(begin), static_cast<Index>(end), normals);
          for (std::size_t p = begin; p < end; ++p) out[p] += v * normals[p - begin];
        }
      });
      return;
    case SketchKind::kHadamard: {
      if (count * m < padded_ * static_cast<std::size_t>(std::bit_width(padded_))) {
        for (std::size_t k = 0; k < count; ++k) {
          const Index r = entries.row(k);
          const double v = entries.value(k) * hadamard_sign(r);
          for (std::size_t p = 0; p < m; ++p)
            out[p] += std::popcount(static_cast<std::uint32_t>(chosen_[p] & r)) % 2 == 0 ? v : -v;
        }
      } else {
        std::vector<double> x(padded_);
        for (std::size_t k = 0; k < count; ++k)
          x[static_cast<std::size_t>(entries.row(k))] = entries.value(k) * hadamard_sign(entries.row(k));
        transform(x);
        for (std::size_t p = 0; p < m; ++p) out[p] = x[static_cast<std::size_t>(chosen_[p])];
      }
      for (double& v : out) v *= unit_;
      return;
    }
    case SketchKind::kCountSketch:
    case SketchKind::kOsnap:
      for (std::size_t k = 0; k < count; ++k) {
        const double v = entries.value(k);
        if (v == 0.0) continue;
        for (Index block = 0; block < shape_.blocks; ++block) {
          const Place to = place(entries.row(k), block);
          out[static_cast<std::size_t>(to.row)] += v * to.value;
        }
      }
      return;
  }
}

void Sketch::apply(std::span<const double> x, std::span<double> out) const {
  assert(x.size() == static_cast<std::size_t>(shape_.columns));
  accumulate(VectorEntries{x}, x.size(), out);
}

void Sketch::apply_column(const Matrix& a, Index j, std::span<double> out) const {
  assert(a.rows() == shape_.columns);
  const ColumnView view = a.column(j);
  accumulate(ColumnEntries{view}, view.count, out);
}

void Sketch::apply(const Matrix& a, std::span<double> out) const {
  const auto m = static_cast<std::size_t>(shape_.rows);
  const auto d = static_cast<std::size_t>(a.cols());
  assert(a.rows() == shape_.columns && out.size() == m * d);
  if (shape_.kind != SketchKind::kGaussian) {
    parallel_chunks(d, 16, [&](std::size_t begin, std::size_t end) {
      for (std::size_t j = begin; j < end; ++j) apply_column(a, static_cast<Index>(j), out.subspan(j * m, m));
    });
    return;
  }
  // Each entry of J is made once and meets the row of A that it multiplies.
  std::fill(out.begin(), out.end(), 0.0);
  (void)a.row_form();
  parallel_chunks(m, kSlice, [&](std::size_t begin, std::size_t end) {
    double normals[kSlice];
    for (Index r = 0; r < a.rows(); ++r) {
      gaussian_column(r, static_cast<Index>(begin), static_cast<Index>(end), normals);
      a.for_each_in_row_by_kind(r, [&](Index j, double v) {
        double* to = out.data() + static_cast<std::size_t>(j) * m;
        for (std::size_t p = begin; p < end; ++p) to[p] += v * normals[p - begin];
      });
    }
  });
}

void Sketch::apply_transposed(std::span<const double> q, std::span<double> out) const {
  const auto m = static_cast<std::size_t>(shape_.rows);
  assert(q.size() == m && out.size() == static_cast<std::size_t>(shape_.columns));
  switch (shape_.kind) {
    case SketchKind::kGaussian:
      parallel_chunks(out.size(), 256, [&](std::size_t begin, std::size_t end) {
        std::vector<double> normals(m);
        for (std::size_t r = begin; r < end; ++r) {
          gaussian_column(static_cast<Index>(r), 0, shape_.rows, normals.data());
          double sum = 0;
          for (std::size_t p = 0; p < m; ++p) sum += normals[p] * q[p];
          out[r] = sum;
        }
      });
      return;
    case SketchKind::kHadamard: {
      std::vector<double> x(padded_);
      for (std::size_t p = 0; p < m; ++p) x[static_cast<std::size_t>(chosen_[p])] = q[p];
      transform(x);
      for (std::size_t r = 0; r < out.size(); ++r) out[r] = unit_ * hadamard_sign(static_cast<Index>(r)) * x[r];
      return;
    }
    case SketchKind::kCountSketch:
    case SketchKind::kOsnap:
      parallel_chunks(out.size(), 4096, [&](std::size_t begin, std::size_t end) {
        for (std::size_t r = begin; r < end; ++r) {
          out[r] = 0;
          for (Index block = 0; block < shape_.blocks; ++block) {
            const Place from = place(static_cast<Index>(r), block);
            out[r] += from.value * q[static_cast<std::size_t>(from.row)];
          }
        }
      });
      return;
  }
}

double Sketch::max_column_norm() const {
  if (shape_.columns == 0) return 0;
  if (shape_.kind == SketchKind::kCountSketch) return 1;
  const auto m = static_cast<std::size_t>(shape_.rows);
  const auto n = static_cast<std::size_t>(shape_.columns);
  // A sum of m squares and its root are off by at most (m + 3) roundings.
  const double rounding = 1 + static_cast<double>(m + 3) * 0x1p-52;
  if (shape_.kind != SketchKind::kGaussian) return rounding;
  constexpr std::size_t kGrain = 256;
  std::vector<double> largest(chunk_count(n, kGrain));
  parallel_chunks(n, kGrain, [&](std::size_t begin, std::size_t end) {
    std::vector<double> normals(m);
    for (std::size_t r = begin; r < end; ++r) {
      gaussian_column(static_cast<Index>(r), 0, shape_.rows, normals.data());
      double sum = 0;
      for (const double v : normals) sum += v * v;
      largest[begin / kGrain] = std::max(largest[begin / kGrain], sum);
    }
  });
  return std::sqrt(*std::max_element(largest.begin(), largest.end())) * rounding;
}

double Sketch::entry(Index row, Index column) const {
  switch (shape_.kind) {
    case SketchKind::kGaussian: {
      const std::uint64_t stream = kNormals + static_cast<std::uint64_t>(column);
      return unit_ * PublicRandom::normal(random_.word(stream, static_cast<std::uint64_t>(row)));
    }
    case SketchKind::kHadamard: {
      const bool even =
          std::popcount(static_cast<std::uint32_t>(chosen_[static_cast<std::size_t>(row)] & column)) % 2 == 0;
      return (even ? unit_ : -unit_) * hadamard_sign(column);
    }
    default:
      break;
  }
  double sum = 0;
  for (Index block = 0; block < shape_.blocks; ++block)
    if (const Place at = place(column, block); at.row == row) sum += at.value;
  return sum;
}

}  // namespace parley::linalg
