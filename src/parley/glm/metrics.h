// How good predictions are. A value that is not defined (no rows, one class only, constant labels, a margin
// that is not finite) is an empty optional, never NaN.
//
//   accuracy            share of rows whose predicted class is right (predicted_class: a margin of 0 is not +1)
//   balanced accuracy   mean over the classes that occur of the share of their rows that is right
//   AUC                 P(score of a positive > score of a negative) + 1/2 P(equal) (Mann-Whitney); for K
//                       classes the mean over the classes that occur of class against rest
//   precision           share of the rows called +1 that are; of K classes the mean over those that occur, a class that
//                       was never predicted counting 0
//   recall              share of the rows of +1 that are called so; of K classes the mean over those that occur
//   F1                  harmonic mean of the two, of K classes the mean over those that occur
//   PR-AUC              average precision: sum over the scores s from the highest, of (recall at s - recall above s)
//                       times precision at s; a row is called +1 from s on
//   Brier               mean of (p - 1{y = +1})^2; of K classes half of the sum over them, so that two classes agree
//   KS                  largest distance between the two classes' distribution functions of the score
//   log loss            mean of -log p(label)
//   RMSE, R^2           of real predictions; R^2 = 1 - sum (y - m)^2 / sum (y - mean y)^2
//   deviance            twice the log-likelihood lost to a perfect fit, over all rows: 2 n log loss;
//                       for real labels sum (y - m)^2 (unit variance); of counts with the rate e^m twice the loss
//
// Of counts RMSE and R^2 are those of the rates. `cut`: a row is called +1 where its margin is above that.
#pragma once
#include <cstddef>
#include <optional>
#include <span>

#include "parley/glm/judgement.h"
#include "parley/glm/loss.h"

namespace parley::glm {

struct Metrics {
  std::optional<double> accuracy;
  std::optional<double> balanced_accuracy;
  std::optional<double> precision;
  std::optional<double> recall;
  std::optional<double> f1;
  std::optional<double> auc;
  std::optional<double> pr_auc;
  std::optional<double> ks;
  std::optional<double> log_loss;
  std::optional<double> brier;
  std::optional<double> rmse;
  std::optional<double> r_squared;
  std::optional<double> deviance;
};

// Every metric that the task has. Margins of K classes are stored class by class: margins[k*n + i]; labels as
// in training (real; -1/+1; class number).
Metrics measure(Task task, std::span<const double> margins, std::span<const double> labels, double cut = 0);

// Binary: scores of any scale (larger means more likely +1), labels -1/+1.
std::optional<double> binary_accuracy(std::span<const double> scores, std::span<const double> labels);
std::optional<double> balanced_binary_accuracy(std::span<const double> scores, std::span<const double> labels);
std::optional<double> area_under_curve(std::span<const double> scores, std::span<const double> labels);
std::optional<double> kolmogorov_smirnov(std::span<const double> scores, std::span<const double> labels);
std::optional<double> average_precision(std::span<const double> scores, std::span<const double> labels);

// From probabilities of +1. They are moved into [1e-15, 1 - 1e-15] first, so that one confident mistake costs
// 34.5 and not infinity; from margins `measure` needs no such clip.
std::optional<double> log_loss_of_probabilities(std::span<const double> probabilities, std::span<const double> labels);

// Real labels.
std::optional<double> root_mean_squared_error(std::span<const double> predictions, std::span<const double> labels);
std::optional<double> r_squared(std::span<const double> predictions, std::span<const double> labels);

std::size_t nonzeros(std::span<const double> weights, double threshold = 0);  // |w_j| > threshold

// The support found against the support of a known truth.
struct SupportRecovery {
  std::size_t correct = 0;    // nonzero in both
  std::size_t incorrect = 0;  // nonzero though the truth is zero
  std::size_t missed = 0;     // zero though the truth is not

  [[nodiscard]] std::optional<double> precision() const;
  [[nodiscard]] std::optional<double> recall() const;
  [[nodiscard]] std::optional<double> f1() const;  // their harmonic mean
};
SupportRecovery support_recovery(std::span<const double> weights, std::span<const double> truth, double threshold = 0);

}  // namespace parley::glm
