#include "parley/glm/metrics.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "parley/glm/batch.h"

namespace parley::glm {

namespace {

bool all_finite(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); });
}

double share(std::size_t part, std::size_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

struct Ranking {
  double auc = 0;
  double ks = 0;
  double average_precision = 0;
};

// One pass over the scores in ascending order, tie group by tie group. `positive(i)` says whether row i is one.
template <class Positive>
std::optional<Ranking> rank(std::span<const double> scores, const Positive& positive) {
  if (!all_finite(scores)) return {};
  std::vector<std::uint32_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return scores[a] < scores[b]; });
  std::size_t positives = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) positives += positive(i) ? 1 : 0;
  const std::size_t negatives = scores.size() - positives;
  if (positives == 0 || negatives == 0) return {};

  // Twice the number of (positive, negative) pairs in the right order, ties counting one: an exact integer.
  std::uint64_t twice_ordered = 0;
  std::size_t positives_below = 0;
  std::size_t negatives_below = 0;
  double ks = 0;
  double precision_sum = 0;
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin;
    std::size_t tied_positives = 0;
    for (; end < order.size() && scores[order[end]] == scores[order[begin]]; ++end)
      tied_positives += positive(order[end]) ? 1 : 0;
    const std::size_t tied_negatives = (end - begin) - tied_positives;
    // Called +1 from this score on: all rows from `begin`.
    precision_sum += share(tied_positives, positives) * share(positives - positives_below, order.size() - begin);
    twice_ordered += static_cast<std::uint64_t>(tied_positives) * (2 * negatives_below + tied_negatives);
    positives_below += tied_positives;
    negatives_below += tied_negatives;
    ks = std::max(ks, std::abs(share(positives_below, positives) - share(negatives_below, negatives)));
    begin = end;
  }
  const double pairs = static_cast<double>(positives) * static_cast<double>(negatives);
  return Ranking{static_cast<double>(twice_ordered) / (2.0 * pairs), ks, precision_sum};
}

std::optional<Ranking> rank_binary(std::span<const double> scores, std::span<const double> labels) {
  assert(scores.size() == labels.size());
  return rank(scores, [&](std::size_t i) { return labels[i] > 0; });
}

void add_hits(const std::optional<Confusion>& confusion, Metrics& metrics) {
  if (!confusion) return;
  metrics.accuracy = confusion->accuracy();
  metrics.balanced_accuracy = confusion->balanced_accuracy();
  metrics.precision = confusion->precision();
  metrics.recall = confusion->recall();
  metrics.f1 = confusion->f1();
}

Metrics measure_binary(Task task, std::span<const double> margins, std::span<const double> labels, double cut) {
  Metrics metrics;
  add_hits(binary_confusion(margins, labels, cut), metrics);
  if (const auto ranking = rank_binary(margins, labels)) {
    metrics.auc = ranking->auc;
    metrics.ks = ranking->ks;
    metrics.pr_auc = ranking->average_precision;
  }
  if (task == Task::kLogistic && all_finite(margins)) {  // squared hinge models no probability
    metrics.log_loss = mean_loss(task, margins, labels);
    metrics.deviance = 2.0 * static_cast<double>(labels.size()) * *metrics.log_loss;
    std::vector<double> probabilities(labels.size());
    class_probabilities(margins, labels.size(), probabilities);
    double squares = 0;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const double miss = probabilities[i] - (labels[i] > 0 ? 1 : 0);
      squares += miss * miss;
    }
    metrics.brier = squares / static_cast<double>(labels.size());
  }
  return metrics;
}

Metrics measure_regression(std::span<const double> margins, std::span<const double> labels) {
  Metrics metrics;
  metrics.rmse = root_mean_squared_error(margins, labels);
  metrics.r_squared = r_squared(margins, labels);
  if (metrics.rmse)
    metrics.deviance = 2.0 * static_cast<double>(labels.size()) * mean_loss(Task::kLinear, margins, labels);
  return metrics;
}

Metrics measure_counts(std::span<const double> margins, std::span<const double> labels) {
  std::vector<double> rates(margins.size());
  std::transform(margins.begin(), margins.end(), rates.begin(), Poisson::rate);
  Metrics metrics;
  if (!all_finite(margins)) return metrics;
  metrics.rmse = root_mean_squared_error(rates, labels);
  metrics.r_squared = r_squared(rates, labels);
  const bool are_counts = std::all_of(labels.begin(), labels.end(), [](double y) { return y >= 0; });
  if (are_counts)
    metrics.deviance = 2.0 * static_cast<double>(labels.size()) * mean_loss(Task::kPoisson, margins, labels);
  return metrics;
}

Metrics measure_classes(std::span<const double> margins, std::span<const double> labels) {
  Metrics metrics;
  if (!all_finite(margins)) return metrics;
  const std::size_t rows = labels.size();
  const std::size_t classes = margins.size() / rows;
  add_hits(class_confusion(margins, labels), metrics);
  metrics.log_loss = mean_loss(Task::kSoftmax, margins, labels);
  metrics.deviance = 2.0 * static_cast<double>(rows) * *metrics.log_loss;

  std::vector<double> probabilities(margins.size());
  class_probabilities(margins, rows, probabilities);
  double squares = 0;
  for (std::size_t k = 0; k < classes; ++k)
    for (std::size_t i = 0; i < rows; ++i) {
      const double miss = probabilities[k * rows + i] - (labels[i] == static_cast<double>(k) ? 1 : 0);
      squares += miss * miss;
    }
  metrics.brier = squares / (2 * static_cast<double>(rows));
  double sum = 0, precisions = 0;
  std::size_t defined = 0;
  for (std::size_t k = 0; k < classes; ++k) {
    const auto scores = std::span<const double>(probabilities).subspan(k * rows, rows);
    const auto ranking = rank(scores, [&](std::size_t i) { return labels[i] == static_cast<double>(k); });
    if (!ranking) continue;
    sum += ranking->auc;
    precisions += ranking->average_precision;
    ++defined;
  }
  if (defined > 0) {
    metrics.auc = sum / static_cast<double>(defined);
    metrics.pr_auc = precisions / static_cast<double>(defined);
  }
  return metrics;
}

}  // namespace

Metrics measure(Task task, std::span<const double> margins, std::span<const double> labels, double cut) {
  if (labels.empty()) return {};
  switch (task) {
    case Task::kLinear:
      return measure_regression(margins, labels);
    case Task::kPoisson:
      return measure_counts(margins, labels);
    case Task::kSoftmax:
      return measure_classes(margins, labels);
    default:
      return measure_binary(task, margins, labels, cut);
  }
}

std::optional<double> binary_accuracy(std::span<const double> scores, std::span<const double> labels) {
  const auto confusion = binary_confusion(scores, labels);
  return confusion ? confusion->accuracy() : std::nullopt;
}

std::optional<double> balanced_binary_accuracy(std::span<const double> scores, std::span<const double> labels) {
  const auto confusion = binary_confusion(scores, labels);
  return confusion ? confusion->balanced_accuracy() : std::nullopt;
}

std::optional<double> area_under_curve(std::span<const double> scores, std::span<const double> labels) {
  const auto ranking = rank_binary(scores, labels);
  return ranking ? std::optional(ranking->auc) : std::nullopt;
}

std::optional<double> kolmogorov_smirnov(std::span<const double> scores, std::span<const double> labels) {
  const auto ranking = rank_binary(scores, labels);
  return ranking ? std::optional(ranking->ks) : std::nullopt;
}

std::optional<double> average_precision(std::span<const double> scores, std::span<const double> labels) {
  const auto ranking = rank_binary(scores, labels);
  return ranking ? std::optional(ranking->average_precision) : std::nullopt;
}

std::optional<double> log_loss_of_probabilities(std::span<const double> probabilities, std::span<const double> labels) {
  assert(probabilities.size() == labels.size());
  if (labels.empty() || !all_finite(probabilities)) return {};
  constexpr double kSmallest = 1e-15;
  double sum = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const double p = std::clamp(probabilities[i], kSmallest, 1.0 - kSmallest);
    sum -= labels[i] > 0 ? std::log(p) : std::log1p(-p);
  }
  return sum / static_cast<double>(labels.size());
}

std::optional<double> root_mean_squared_error(std::span<const double> predictions, std::span<const double> labels) {
  assert(predictions.size() == labels.size());
  if (labels.empty() || !all_finite(predictions)) return {};
  return std::sqrt(2.0 * mean_loss(Task::kLinear, predictions, labels));
}

std::optional<double> r_squared(std::span<const double> predictions, std::span<const double> labels) {
  assert(predictions.size() == labels.size());
  if (labels.empty() || !all_finite(predictions)) return {};
  double mean = 0;
  for (const double y : labels) mean += y / static_cast<double>(labels.size());
  double spread = 0;
  double error = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    spread += (labels[i] - mean) * (labels[i] - mean);
    error += (labels[i] - predictions[i]) * (labels[i] - predictions[i]);
  }
  // Constant labels leave only the rounding of their mean.
  const auto [low, high] = std::minmax_element(labels.begin(), labels.end());
  if (*low == *high) return {};
  return 1.0 - error / spread;
}

std::size_t nonzeros(std::span<const double> weights, double threshold) {
  return static_cast<std::size_t>(
      std::count_if(weights.begin(), weights.end(), [&](double w) { return std::abs(w) > threshold; }));
}

std::optional<double> SupportRecovery::precision() const {
  if (correct + incorrect == 0) return {};
  return share(correct, correct + incorrect);
}

std::optional<double> SupportRecovery::recall() const {
  if (correct + missed == 0) return {};
  return share(correct, correct + missed);
}

std::optional<double> SupportRecovery::f1() const {
  if (correct + incorrect + missed == 0) return {};
  return share(2 * correct, 2 * correct + incorrect + missed);
}

SupportRecovery support_recovery(std::span<const double> weights, std::span<const double> truth, double threshold) {
  assert(weights.size() == truth.size());
  SupportRecovery recovery;
  for (std::size_t j = 0; j < weights.size(); ++j) {
    const bool found = std::abs(weights[j]) > threshold;
    if (found && truth[j] != 0) ++recovery.correct;
    if (found && truth[j] == 0) ++recovery.incorrect;
    if (!found && truth[j] != 0) ++recovery.missed;
  }
  return recovery;
}

}  // namespace parley::glm
