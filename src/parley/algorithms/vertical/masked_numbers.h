// The settings of a masked descent (masked_descent.h) and the numbers that follow from them and from public facts:
// rings, their headroom, sensitivities and noise. Every party computes them itself from what all parties said of
// themselves.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "parley/algorithms/parts/federated.h"
#include "parley/algorithms/parts/private_terms.h"
#include "parley/core/toml.h"
#include "parley/privacy/masking/dealt_masks.h"
#include "parley/privacy/sensitivity/odd_series.h"
#include "parley/privacy/sensitivity/whole_columns.h"

namespace parley::algorithms {

struct MaskedSettings {
  int iterations = 0;                 // T; 0: default_steps(), or 300 without privacy
  double clip = 0.25;                 // B_k^2, as a share of the sum of the squares of the columns' bounds
  std::vector<double> row_squares{};  // B_k^2 of each party instead, its constant not counted
  double period = 0;                  // L; 0: 40, or 100 without privacy
  int harmonics = 0;                  // K; 0: 5, or 32
  int margin_bits = 0;                // p; 0: 16, or 20
  int feature_bits = -1;              // fx; -1: 8, or 16
  int bits = 0;                       // fa + ft; 0: 16, or as many as 62 bits hold
  double label_share = 0.5;           // of the budget, for the release of the labels
  double damping = -1;      // the least l2 that steps are taken for; -1: from public numbers, 0 without privacy
  double tolerance = 1e-6;  // of the gradient; without privacy

  static MaskedSettings read(Toml& settings);  // its keys of [algorithm]
};

// What a party says of its columns: public.
struct MaskedShape {
  std::int64_t columns = 0;  // the constant included
  std::int64_t squares = 0;  // B_k^2, whole
  std::int64_t largest = 0;  // of a value, whole
  double label_bound = 0;    // |y| is at most this, at the party with labels that are numbers; else 0
  static void fields(auto& self, auto&& visit) { visit(self.columns, self.squares, self.largest, self.label_bound); }
  bool operator==(const MaskedShape&) const = default;
};

// How a party's rows become whole numbers.
struct MaskedRows {
  int bits = 0;          // fx
  double row_bound = 1;  // B_k of its columns
  double largest = 1;    // of a value
  bool constant = false;
  [[nodiscard]] Result<MaskedShape> shape(std::size_t columns) const;
};
// Of a private run: from the bounds of its columns, whose squares add up to row_norm^2. Without one rows stay as they
// are, and row_norm is that of the longest.
struct MaskedBounds {
  int party = 0;
  double row_norm = 0;
  std::span<const double> columns;
  bool constant = false;
};
MaskedRows masked_rows(const MaskedSettings& settings, bool is_private, const MaskedBounds& bounds);

// Steps of a private run where the job states none: T = sqrt(1.36 mu n), mu that of Gaussian differential privacy.
std::int64_t default_steps(const privacy::Target& target, double records);

struct MaskedNumbers {
  std::vector<MaskedShape> shapes;
  std::size_t records = 0, columns = 0;
  std::vector<std::size_t> first;                    // column of each party
  std::shared_ptr<const privacy::OddSeries> series;  // null: the derivative is the margin less the label
  int fraction_bits = 0;                             // of a derivative
  std::int64_t most_margin = 0;                      // without a series: of a party's part, in 2^-fraction_bits
  int feature_bits = 0, margin_bits = 0;
  int ring_bits = 32;  // q
  privacy::MarginRule margins;
  privacy::JointSum labels, gradient;  // what is opened first, and in every round
  [[nodiscard]] int margin_width() const { return (margin_bits + 7) / 8 * 8; }  // bits of a margin that travels
  [[nodiscard]] double unit() const;       // of an opened number, as a part of a mean
  [[nodiscard]] double squares() const;    // B^2, of all columns, in the unit of the features
  [[nodiscard]] std::string text() const;  // everything that parties must agree about

  // `noise`: the deviation over the sensitivity of labels and of a round; 0: no noise. Refuses rings that could
  // overflow.
  static Result<MaskedNumbers> make(const MaskedSettings& settings, const RunTerms& terms,
                                    std::vector<MaskedShape> shapes, std::size_t records,
                                    const std::vector<double>& noise);

 private:
  Result<void> make_series(const MaskedSettings& settings, const RunTerms& terms, int bits);
  Result<void> take_margins_as_they_are(const RunTerms& terms, int bits);
};

int feature_bits_of(const MaskedSettings& settings, bool is_private);

// The noise of a private run, over the sensitivity of what is opened: of labels, then of a round, of `steps`.
Result<std::vector<double>> masked_noise(const MaskedSettings& settings, const privacy::Target& target,
                                         std::int64_t steps);

}  // namespace parley::algorithms
