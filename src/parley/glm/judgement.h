// What single numbers (metrics.h) do not tell of a classifier: which classes are taken for which, whether probabilities
// mean what they say, and how much is gained by looking at the best scores first.
//
//   confusion     rows of class a that are called class b
//   calibration   of the rows whose p(+1) lies in [b/10, (b+1)/10): their mean p and the share that is +1
//   gain          of the tenth, two tenths, ... of the rows with the highest scores: the share of all rows of +1 that
//                 are among them; lift is that over the share of the rows. Of equal scores each row counts alike, so no
//                 order of the table shows
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "parley/glm/loss.h"

namespace parley::glm {

// Class of each row: the largest margin, the smaller class number in a tie. One margin per row: 1 if it is
// above 0.
int predicted_class(std::span<const double> margins, std::size_t rows, std::size_t row);

struct Confusion {
  std::size_t classes = 0;
  std::vector<std::size_t> rows;  // [label * classes + predicted]
  bool binary = false;            // then precision, recall and F1 are those of the second class

  [[nodiscard]] std::size_t of(std::size_t label, std::size_t predicted) const {
    return rows[label * classes + predicted];
  }
  [[nodiscard]] std::size_t labelled(std::size_t label) const;
  [[nodiscard]] std::size_t predicted(std::size_t predicted) const;

  // Of one class; nothing where it is not defined.
  [[nodiscard]] std::optional<double> precision(std::size_t label) const;
  [[nodiscard]] std::optional<double> recall(std::size_t label) const;
  [[nodiscard]] std::optional<double> f1(std::size_t label) const;

  // Of all, as metrics.h says.
  [[nodiscard]] std::optional<double> accuracy() const;
  [[nodiscard]] std::optional<double> balanced_accuracy() const;
  [[nodiscard]] std::optional<double> precision() const;
  [[nodiscard]] std::optional<double> recall() const;
  [[nodiscard]] std::optional<double> f1() const;
};

// Nothing where a score is not finite or there is no row. Labels -1/+1; class numbers. A score above `cut` is called +1.
std::optional<Confusion> binary_confusion(std::span<const double> scores, std::span<const double> labels,
                                          double cut = 0);
std::optional<Confusion> class_confusion(std::span<const double> margins, std::span<const double> labels);

inline constexpr std::size_t kTenths = 10;

struct CalibrationBin {
  std::size_t rows = 0;
  double probability = 0;  // mean; 0 without rows
  double positives = 0;    // share; 0 without rows
};

struct GainStep {
  double rows = 0;       // share of all
  double positives = 0;  // share of all
  [[nodiscard]] double lift() const { return positives / rows; }
};

struct Judgement {
  Confusion confusion;
  std::vector<CalibrationBin> calibration;  // of logistic models
  std::vector<GainStep> gain;               // of two classes that both occur
};

// Nothing for real labels, no rows, or margins that are not finite.
std::optional<Judgement> judge(Task task, std::span<const double> margins, std::span<const double> labels,
                               double cut = 0);

}  // namespace parley::glm
