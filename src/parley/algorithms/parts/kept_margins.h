// Margins that follow single weights, and the sums over records that follow the margins.
//
//   Z = XV,  m = scale Z (margins),  q_ik = d phi(m_i, y_i) / d m_ik,  s_kj = sum_i x_ij q_ik
//
// Adding to V_kj moves the margins of the rows of column j alone: only their q are handed to the sums, which push the
// differences through those rows. When that would cost more than one pass over the matrix, all q are handed over.
//
// `Sums` is PlainSums, or privacy::ExactSums, whose numbers leave through a gate only. Coordinates are k*width + j;
// width = d, plus one for a constant column of ones (an intercept).
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "parley/algorithms/parts/fit.h"

namespace parley::algorithms {

enum class Upkeep { kAutomatic, kPass, kRows };  // the cheaper one; one pass each time; rows each time
enum class Changed { kTouched, kAll };           // the sums that Sums::touched() lists; every one

class KeptMargins {
 public:
  KeptMargins(const Problem& problem, Upkeep upkeep);

  // V[coordinate] += change.
  template <class Sums>
  Changed add(std::size_t coordinate, double change, Sums& sums);
  // Every q afresh.
  template <class Sums>
  void refresh(Sums& sums);
  // V <- fold V, then V[coordinate] += added, and scale for the rows that are touched from now on: those of the column,
  // whose q are handed over, while the others keep the q of when they were touched last.
  template <class Sums>
  Changed shrink_and_add(double fold, double scale, std::size_t coordinate, double added, Sums& sums);
  // The same, and every q afresh.
  template <class Sums>
  Changed shrink_add_and_refresh(double fold, double scale, std::size_t coordinate, double added, Sums& sums);

  // Exact after refresh() and followed row by row in between, for a scale that does not change.
  [[nodiscard]] double mean_loss() const { return loss_sum_ / rows_; }
  [[nodiscard]] std::size_t width() const { return width_; }
  [[nodiscard]] std::size_t coordinates() const { return classes_ * width_; }
  [[nodiscard]] bool is_constant(std::size_t coordinate) const { return coordinate % width_ == columns_; }

 private:
  [[nodiscard]] bool by_rows(std::size_t coordinate) const;
  [[nodiscard]] bool cheaper_by_rows(double rows) const;
  void shrink(double fold, double scale);
  void move_all(std::size_t coordinate, double change);      // Z, with nothing derived from it
  void derive_all();                                         // q of every row
  void move_touched(std::size_t coordinate, double change);  // Z and q of the rows of the column
  void gather_touched();
  [[nodiscard]] std::span<const linalg::Index> touched() const { return {touched_.data(), touched_count_}; }
  void by_record(std::size_t rows);

  const Problem& problem_;
  const Upkeep upkeep_;
  const double rows_;
  const std::size_t columns_;
  const std::size_t classes_;
  const std::size_t width_;

  double scale_ = 1;
  double loss_sum_ = 0;
  std::vector<double> products_;     // Z, class by class
  std::vector<double> margins_;      // of the rows in question, class by class
  std::vector<double> derivatives_;  // of the same rows, record by record
  std::vector<double> by_class_;     // scratch of softmax
  std::size_t touched_count_ = 0;
  std::vector<linalg::Index> touched_;  // the first touched_count_
  std::vector<double> touched_labels_;
  std::vector<linalg::Index> all_rows_;  // empty when a pass is better than going through all of them
};

template <class Sums>
void KeptMargins::refresh(Sums& sums) {
  derive_all();
  sums.assign(derivatives_);
}

template <class Sums>
Changed KeptMargins::add(std::size_t coordinate, double change, Sums& sums) {
  if (!by_rows(coordinate)) {
    move_all(coordinate, change);
    refresh(sums);
    return Changed::kAll;
  }
  move_touched(coordinate, change);
  sums.assign_rows(touched(), derivatives_);
  return Changed::kTouched;
}

template <class Sums>
Changed KeptMargins::shrink_and_add(double fold, double scale, std::size_t coordinate, double added, Sums& sums) {
  shrink(fold, scale);
  if (is_constant(coordinate)) {
    move_all(coordinate, added);
    refresh(sums);
    return Changed::kAll;
  }
  // Whose q are fresh must not depend on other records: the rows of the column, however their sums are added up.
  move_touched(coordinate, added);
  if (by_rows(coordinate)) {
    sums.assign_rows(touched(), derivatives_);
    return Changed::kTouched;
  }
  sums.hold_rows(touched(), derivatives_);
  sums.add_up_all();
  return Changed::kAll;
}

template <class Sums>
Changed KeptMargins::shrink_add_and_refresh(double fold, double scale, std::size_t coordinate, double added,
                                            Sums& sums) {
  shrink(fold, scale);
  move_all(coordinate, added);
  derive_all();
  if (all_rows_.empty()) {
    sums.assign(derivatives_);
    return Changed::kAll;
  }
  // Columns without an entry are left as they are: what this costs does not grow with their number.
  sums.assign_rows(all_rows_, derivatives_);
  return Changed::kTouched;
}

// Sums that anyone may read: those of a run that is not private.
class PlainSums {
 public:
  explicit PlainSums(const Problem& problem);

  void assign(std::span<const double> derivatives);  // record by record
  void assign_row(linalg::Index row, std::span<const double> derivatives);
  void assign_rows(std::span<const linalg::Index> rows, std::span<const double> derivatives) {
    for (std::size_t r = 0; r < rows.size(); ++r) assign_row(rows[r], derivatives.subspan(r * classes_, classes_));
  }
  [[nodiscard]] std::span<const std::uint32_t> touched() const { return touched_; }  // since forget_touched()
  void forget_touched();

  [[nodiscard]] double gradient(std::size_t coordinate) const { return sums_[coordinate] / rows_; }
  [[nodiscard]] std::size_t coordinates() const { return sums_.size(); }

 private:
  const linalg::Matrix& features_;
  const double rows_;
  const std::size_t columns_;
  const std::size_t classes_;
  const std::size_t width_;
  std::vector<double> derivatives_;
  std::vector<double> sums_;
  std::vector<std::uint32_t> touched_;
  std::vector<char> is_touched_;
};

}  // namespace parley::algorithms
