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
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin;
    std::size_t tied_positives = 0;
    for (; end < order.size() && scores[order[end]] == scores[order[begin]]; ++end)
      tied_positives += positive(order[end]) ? 1 : 0;
    const std::size_t tied_negatives = (end - begin) - tied_positives;
    twice_ordered += static_cast<std::uint64_t>(tied_positives) * (2 * negatives_below + tied_negatives);
    positives_below += tied_positives;
    negatives_below += tied_negatives;
    ks = std::max(ks, std::abs(share(positives_below, positives) - share(negatives_below, negatives)));
    begin = end;
  }
  const double pairs = static_cast<double>(positives) * static_cast<double>(negatives);
  return Ranking{static_cast<double>(twice_ordered) / (2.0 * pairs), ks};
}

std::optional<Ranking> rank_binary(std::span<const double> scores, std::span<const double> labels) {
  assert(scores.size() == labels.size());
  return rank(scores, [&](std::size_t i) { return labels[i] > 0; });
}

struct Hits {
  std::vector<std::size_t> right;  // by class
  std::vector<std::size_t> rows;

  [[nodiscard]] std::optional<double> accuracy() const {
    const auto all = std::accumulate(rows.begin(), rows.end(), std::size_t{0});
    if (all == 0) return {};
    return share(std::accumulate(right.begin(), right.end(), std::size_t{0}), all);
  }
  [[nodiscard]] std::optional<double> balanced() const {
    std::size_t present = 0;
    double sum = 0;
    for (std::size_t k = 0; k < rows.size(); ++k) {
      if (rows[k] == 0) continue;
      ++present;
      sum += share(right[k], rows[k]);
    }
    if (present < 2) return {};
    return sum / static_cast<double>(present);
  }
};

std::optional<Hits> binary_hits(std::span<const double> scores, std::span<const double> labels) {
  assert(scores.size() == labels.size());
  if (!all_finite(scores)) return {};
  Hits hits{std::vector<std::size_t>(2), std::vector<std::size_t>(2)};
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const std::size_t label = labels[i] > 0 ? 1 : 0;
    ++hits.rows[label];
    hits.right[label] += predicted_class(scores, scores.size(), i) == static_cast<int>(label) ? 1 : 0;
  }
  return hits;
}

Metrics measure_binary(Task task, std::span<const double> margins, std::span<const double> labels) {
  Metrics metrics;
  metrics.accuracy = binary_accuracy(margins, labels);
  metrics.balanced_accuracy = balanced_binary_accuracy(margins, labels);
  if (const auto ranking = rank_binary(margins, labels)) {
    metrics.auc = ranking->auc;
    metrics.ks = ranking->ks;
  }
  if (task == Task::kLogistic && all_finite(margins)) {  // squared hinge models no probability
    metrics.log_loss = mean_loss(task, margins, labels);
    metrics.deviance = 2.0 * static_cast<double>(labels.size()) * *metrics.log_loss;
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

Metrics measure_classes(std::span<const double> margins, std::span<const double> labels) {
  Metrics metrics;
  if (!all_finite(margins)) return metrics;
  const std::size_t rows = labels.size();
  const std::size_t classes = margins.size() / rows;
  Hits hits{std::vector<std::size_t>(classes), std::vector<std::size_t>(classes)};
  for (std::size_t i = 0; i < rows; ++i) {
    const auto label = static_cast<std::size_t>(labels[i]);
    ++hits.rows[label];
    hits.right[label] += static_cast<std::size_t>(predicted_class(margins, rows, i)) == label ? 1 : 0;
  }
  metrics.accuracy = hits.accuracy();
  metrics.balanced_accuracy = hits.balanced();
  metrics.log_loss = mean_loss(Task::kSoftmax, margins, labels);
  metrics.deviance = 2.0 * static_cast<double>(rows) * *metrics.log_loss;

  std::vector<double> probabilities(margins.size());
  class_probabilities(margins, rows, probabilities);
  double sum = 0;
  std::size_t defined = 0;
  for (std::size_t k = 0; k < classes; ++k) {
    const auto scores = std::span<const double>(probabilities).subspan(k * rows, rows);
    const auto ranking = rank(scores, [&](std::size_t i) { return labels[i] == static_cast<double>(k); });
    if (!ranking) continue;
    sum += ranking->auc;
    ++defined;
  }
  if (defined > 0) metrics.auc = sum / static_cast<double>(defined);
  return metrics;
}

}  // namespace

Metrics measure(Task task, std::span<const double> margins, std::span<const double> labels) {
  if (labels.empty()) return {};
  switch (task) {
    case Task::kLinear:
      return measure_regression(margins, labels);
    case Task::kSoftmax:
      return measure_classes(margins, labels);
    default:
      return measure_binary(task, margins, labels);
  }
}

std::optional<double> binary_accuracy(std::span<const double> scores, std::span<const double> labels) {
  const auto hits = binary_hits(scores, labels);
  return hits ? hits->accuracy() : std::nullopt;
}

std::optional<double> balanced_binary_accuracy(std::span<const double> scores, std::span<const double> labels) {
  const auto hits = binary_hits(scores, labels);
  return hits ? hits->balanced() : std::nullopt;
}

std::optional<double> area_under_curve(std::span<const double> scores, std::span<const double> labels) {
  const auto ranking = rank_binary(scores, labels);
  return ranking ? std::optional(ranking->auc) : std::nullopt;
}

std::optional<double> kolmogorov_smirnov(std::span<const double> scores, std::span<const double> labels) {
  const auto ranking = rank_binary(scores, labels);
  return ranking ? std::optional(ranking->ks) : std::nullopt;
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

int predicted_class(std::span<const double> margins, std::size_t rows, std::size_t row) {
  if (margins.size() == rows) return margins[row] > 0 ? 1 : 0;
  std::size_t best = 0;
  for (std::size_t k = 1; k * rows < margins.size(); ++k)
    if (margins[k * rows + row] > margins[best * rows + row]) best = k;
  return static_cast<int>(best);
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
