// The columns of one party as whole numbers, in rows whose length has a public bound, and what is computed of them
// under masks (masking/masked_descent.md).
//
//   x_ij   a value, held to its column's bound, its row scaled to length B where it is longer, times 2^bits, truncated
//          towards zero: no row gets longer. sum_j x_ij^2 <= B^2 4^bits is checked in whole numbers; a row that failed
//          would become zeros. A constant column of ones counts 1 in B^2 and is not scaled.
//   m_i    <x_i, w> in steps of L / 2^p, held to +-L/(4 M): a function of row i and of w alone
//   X'r    modulo 2^q
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "parley/core/result.h"
#include "parley/linalg/matrix.h"
#include "parley/privacy/masking/dealt_masks.h"
#include "parley/privacy/values.h"

namespace parley::privacy {

// How margins become words.
struct MarginRule {
  double period = 40;                                                                               // L
  int bits = 16;                                                                                    // p
  int parties = 1;                                                                                  // M
  [[nodiscard]] std::int64_t largest() const { return (std::int64_t{1} << (bits - 2)) / parties; }  // L/(4M), in steps
};

// A sum over records of all parties' rows times one number each, of at most `factor` in absolute value.
struct JointSum {
  double factor = 0;   // R
  double squares = 0;  // sum over parties of their squares(), below
  Neighbours neighbours = Neighbours::kReplaceOne;
  Unit unit = Unit::kRecord;
  [[nodiscard]] double sensitivity() const;  // 2 R B
};

class WholeColumns {
 public:
  struct Rule {
    int bits = 8;
    double row_bound = 1;            // B of the columns, without a constant
    std::span<const double> bounds;  // of each column; none: values are as they are
    bool constant = false;           // a column of ones after the others
  };
  static Result<WholeColumns> make(const linalg::Matrix& features, const Rule& rule);
  // The most that sum_j x_ij^2 may be: public.
  static Result<std::int64_t> squares(const Rule& rule);

  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t columns() const { return columns_.size(); }
  [[nodiscard]] std::size_t shortened() const { return shortened_; }  // rows; for the person who holds the data

  [[nodiscard]] std::vector<double> margins(std::span<const double> weights) const;
  // As words of Z/2^p, held to what a party may say.
  [[nodiscard]] std::vector<std::uint32_t> margin_words(std::span<const double> weights, const MarginRule& rule) const;
  // In steps of 1 / per_unit, each held to +-most.
  [[nodiscard]] std::vector<std::int64_t> margin_counts(std::span<const double> weights, double per_unit,
                                                        std::int64_t most) const;
  template <RingWord Word>
  [[nodiscard]] std::vector<Word> column(std::size_t j) const;
  template <RingWord Word>
  void multiply_transposed(std::span<const Word> r, std::span<Word> out) const;
  // A party's share of X'r over all columns, as what it is a share of: replacing a person moves the sum of all shares
  // by the sum's sensitivity, and no share in any other way.
  static Sensitive<GridVector, L2> share(std::vector<std::int64_t> words, const JointSum& sum);

 private:
  struct Column {
    std::vector<std::uint32_t> rows;   // none where it is dense
    std::vector<std::int32_t> values;  // none where all that are listed are `same`
    std::int32_t same = 0;
  };
  WholeColumns() = default;
  template <class F>
  static void each(const Column& column, const F& f);
  std::size_t rows_ = 0, shortened_ = 0;
  int bits_ = 0;
  std::vector<Column> columns_;
};

template <class F>
void WholeColumns::each(const Column& column, const F& f) {
  if (column.rows.empty())
    for (std::size_t i = 0; i < column.values.size(); ++i) f(i, column.values[i]);
  else if (column.values.empty())
    for (const std::uint32_t i : column.rows) f(i, column.same);
  else
    for (std::size_t k = 0; k < column.rows.size(); ++k) f(column.rows[k], column.values[k]);
}

}  // namespace parley::privacy
