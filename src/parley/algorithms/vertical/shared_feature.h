// Columns as they travel, and what is made of them.
//
// Without a sketch a column travels in the type that it is stored in, its scale beside it, so that whole numbers stay
// whole and take the fewest bytes that lose nothing. With a sketch of m rows J a_j travels, m numbers in float32; a
// private column travels on a public grid (private_selection.h).
//
// A FeatureSpace is where sums of such columns live: R^n without a sketch, R^m with one.
//
//   state      q = sum_j x_j f_j              f_j = a_j or J a_j, with or without noise
//   margins    z = q,    or J'q
//   image      w = v,    or J v               so that <f_j, w> stands for <a_j, v>
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "parley/algorithms/vertical/column_share.h"
#include "parley/core/result.h"
#include "parley/linalg/sketch.h"

namespace parley::algorithms {

struct SharedFeature {
  std::int64_t column = 0;  // number among the sender's
  int storage = 0;          // linalg::Storage
  double scale = 1;
  std::vector<linalg::Index> rows;  // ascending; none where every entry has a value
  std::string values;               // little endian; none where all are 1
  static void fields(auto& self, auto&& visit) { visit(self.column, self.storage, self.scale, self.rows, self.values); }

  // No reply with this column has more bytes.
  static std::size_t largest(std::size_t length) { return 64 + length * (sizeof(linalg::Index) + sizeof(double)); }
};

double dot(const SharedFeature& feature, std::span<const double> v);
void axpy(double a, const SharedFeature& feature, std::span<double> v);  // v += a column

// Of a list of columns, ascending by their numbers: the one with this number, or null; those from `begin` to before
// `end`; the list with one more.
const SharedFeature* shared_column(const std::vector<SharedFeature>& features, std::size_t column);
std::span<const SharedFeature> shared_columns(const std::vector<SharedFeature>& features, std::size_t begin,
                                              std::size_t end);
void keep_column(std::vector<SharedFeature>& features, SharedFeature feature);

// Numbers as they travel in float32, or in int16 where all of them are whole multiples of `scale` that fit.
SharedFeature packed(std::int64_t column, std::span<const double> numbers, double scale, linalg::Storage storage);

class FeatureSpace {
 public:
  FeatureSpace() = default;
  // `rows`: m; 0: no sketch.
  FeatureSpace(std::size_t records, int rows, linalg::SketchKind kind, std::uint64_t seed);
  // J as it is given, row by row.
  static FeatureSpace of(std::size_t records, std::vector<double> map);

  [[nodiscard]] std::size_t records() const { return records_; }
  [[nodiscard]] std::size_t length() const {
    return sketch_ ? static_cast<std::size_t>(sketch_->rows()) : given_.empty() ? records_ : given_.size() / records_;
  }
  [[nodiscard]] bool sketched() const { return sketch_ || !given_.empty(); }
  // The longest column of J: what one record of size 1 adds to a column that is sent. 1 without a sketch.
  [[nodiscard]] double column_norm() const;

  [[nodiscard]] std::vector<double> numbers_of(const ColumnShare& share, std::size_t column) const;  // f_j
  [[nodiscard]] SharedFeature feature_of(const ColumnShare& share, std::size_t column) const;
  // Whether it is a column of this space.
  [[nodiscard]] Result<void> check(const SharedFeature& feature) const;

  void margins(std::span<const double> state, std::span<double> out) const;
  [[nodiscard]] std::vector<double> image(std::span<const double> derivative) const;

 private:
  std::size_t records_ = 0;
  std::optional<linalg::Sketch> sketch_{};
  std::vector<double> given_{};
};

}  // namespace parley::algorithms
