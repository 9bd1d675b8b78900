#include "parley/glm/judgement.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "parley/glm/batch.h"

namespace parley::glm {

namespace {

std::optional<double> share(std::size_t part, std::size_t whole) {
  if (whole == 0) return {};
  return static_cast<double>(part) / static_cast<double>(whole);
}

bool all_finite(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); });
}

// The mean over the classes that have rows.
template <class OfClass>
std::optional<double> mean_of_classes(const Confusion& confusion, const OfClass& of_class) {
  std::size_t present = 0;
  double sum = 0;
  for (std::size_t k = 0; k < confusion.classes; ++k) {
    if (confusion.labelled(k) == 0) continue;
    ++present;
    sum += of_class(k).value_or(0);
  }
  if (present == 0) return {};
  return sum / static_cast<double>(present);
}

template <class LabelOf>
std::optional<Confusion> confusion_of(std::span<const double> margins, std::size_t rows, std::size_t classes,
                                      const LabelOf& label) {
  if (rows == 0 || !all_finite(margins)) return {};
  Confusion confusion{classes, std::vector<std::size_t>(classes * classes), false};
  for (std::size_t i = 0; i < rows; ++i)
    ++confusion.rows[label(i) * classes + static_cast<std::size_t>(predicted_class(margins, rows, i))];
  return confusion;
}

std::vector<CalibrationBin> calibration(std::span<const double> margins, std::span<const double> labels) {
  std::vector<double> probabilities(labels.size());
  class_probabilities(margins, labels.size(), probabilities);
  std::vector<CalibrationBin> bins(kTenths);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    CalibrationBin& bin = bins[std::min(kTenths - 1, static_cast<std::size_t>(probabilities[i] * kTenths))];
    ++bin.rows;
    bin.probability += probabilities[i];
    bin.positives += labels[i] > 0 ? 1 : 0;
  }
  for (CalibrationBin& bin : bins)
    if (bin.rows > 0) {
      bin.probability /= static_cast<double>(bin.rows);
      bin.positives /= static_cast<double>(bin.rows);
    }
  return bins;
}

// Along the scores from the highest the number of positives grows evenly within rows of equal score.
std::vector<GainStep> gain(std::span<const double> scores, std::span<const double> labels) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  const auto all = static_cast<double>(scores.size());
  const auto positives =
      static_cast<double>(std::count_if(labels.begin(), labels.end(), [](double y) { return y > 0; }));
  std::vector<GainStep> steps;
  if (positives == 0 || positives == all) return steps;
  double found = 0;
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin;
    double tied = 0;
    for (; end < order.size() && scores[order[end]] == scores[order[begin]]; ++end)
      tied += labels[order[end]] > 0 ? 1 : 0;
    while (steps.size() < kTenths) {
      const double share = static_cast<double>(steps.size() + 1) / kTenths, wanted = share * all;
      if (wanted > static_cast<double>(end)) break;
      const double part = (wanted - static_cast<double>(begin)) / static_cast<double>(end - begin);
      steps.push_back({share, (found + part * tied) / positives});
    }
    found += tied;
    begin = end;
  }
  return steps;
}

}  // namespace

int predicted_class(std::span<const double> margins, std::size_t rows, std::size_t row) {
  if (margins.size() == rows) return margins[row] > 0 ? 1 : 0;
  std::size_t best = 0;
  for (std::size_t k = 1; k * rows < margins.size(); ++k)
    if (margins[k * rows + row] > margins[best * rows + row]) best = k;
  return static_cast<int>(best);
}

std::size_t Confusion::labelled(std::size_t label) const {
  std::size_t sum = 0;
  for (std::size_t k = 0; k < classes; ++k) sum += of(label, k);
  return sum;
}

std::size_t Confusion::predicted(std::size_t predicted) const {
  std::size_t sum = 0;
  for (std::size_t k = 0; k < classes; ++k) sum += of(k, predicted);
  return sum;
}

std::optional<double> Confusion::precision(std::size_t label) const {
  return share(of(label, label), predicted(label));
}

std::optional<double> Confusion::recall(std::size_t label) const {
  return share(of(label, label), labelled(label));
}

std::optional<double> Confusion::f1(std::size_t label) const {
  return share(2 * of(label, label), labelled(label) + predicted(label));
}

std::optional<double> Confusion::accuracy() const {
  std::size_t right = 0;
  for (std::size_t k = 0; k < classes; ++k) right += of(k, k);
  return share(right, std::accumulate(rows.begin(), rows.end(), std::size_t{0}));
}

std::optional<double> Confusion::balanced_accuracy() const {
  std::size_t present = 0;
  for (std::size_t k = 0; k < classes; ++k) present += labelled(k) > 0 ? 1 : 0;
  if (present < 2) return {};
  return mean_of_classes(*this, [this](std::size_t k) { return recall(k); });
}

std::optional<double> Confusion::precision() const {
  return binary ? precision(1) : mean_of_classes(*this, [this](std::size_t k) { return precision(k); });
}

std::optional<double> Confusion::recall() const {
  return binary ? recall(1) : mean_of_classes(*this, [this](std::size_t k) { return recall(k); });
}

std::optional<double> Confusion::f1() const {
  return binary ? f1(1) : mean_of_classes(*this, [this](std::size_t k) { return f1(k); });
}

std::optional<Confusion> binary_confusion(std::span<const double> scores, std::span<const double> labels, double cut) {
  std::vector<double> above(scores.begin(), scores.end());
  if (cut != 0)
    for (double& score : above) score -= cut;
  auto confusion = confusion_of(above, labels.size(), 2, [&](std::size_t i) { return labels[i] > 0 ? 1 : 0; });
  if (confusion) confusion->binary = true;
  return confusion;
}

std::optional<Confusion> class_confusion(std::span<const double> margins, std::span<const double> labels) {
  const std::size_t classes = labels.empty() ? 0 : margins.size() / labels.size();
  return confusion_of(margins, labels.size(), classes,
                      [&](std::size_t i) { return static_cast<std::size_t>(labels[i]); });
}

std::optional<Judgement> judge(Task task, std::span<const double> margins, std::span<const double> labels, double cut) {
  if (has_real_labels(task)) return {};
  auto confusion = task == Task::kSoftmax ? class_confusion(margins, labels) : binary_confusion(margins, labels, cut);
  if (!confusion) return {};
  Judgement judgement{std::move(*confusion), {}, {}};
  if (task == Task::kLogistic) judgement.calibration = calibration(margins, labels);
  if (task != Task::kSoftmax) judgement.gain = gain(margins, labels);
  return judgement;
}

}  // namespace parley::glm
