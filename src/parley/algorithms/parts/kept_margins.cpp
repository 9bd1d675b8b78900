#include "parley/algorithms/parts/kept_margins.h"

#include <algorithm>
#include <numeric>

#include "parley/glm/batch.h"

namespace parley::algorithms {

using linalg::Index;

namespace {

std::size_t width_of(const Problem& problem) {
  const auto columns = static_cast<std::size_t>(problem.features.cols());
  return columns + (problem.objective.intercept == glm::Intercept::kNone ? 0 : 1);
}

}  // namespace

KeptMargins::KeptMargins(const Problem& problem, Upkeep upkeep)
    : problem_(problem),
      upkeep_(upkeep),
      rows_(static_cast<double>(problem.labels.size())),
      columns_(static_cast<std::size_t>(problem.features.cols())),
      classes_(static_cast<std::size_t>(problem.objective.classes)),
      width_(width_of(problem)),
      products_(classes_ * problem.labels.size()),
      touched_(problem.labels.size()),
      touched_labels_(problem.labels.size()) {
  if (upkeep_ == Upkeep::kPass || !(upkeep_ == Upkeep::kRows || cheaper_by_rows(rows_))) return;
  all_rows_.resize(problem.labels.size());
  std::iota(all_rows_.begin(), all_rows_.end(), Index{0});
}

bool KeptMargins::by_rows(std::size_t coordinate) const {
  if (is_constant(coordinate) || upkeep_ == Upkeep::kPass) return false;
  if (upkeep_ == Upkeep::kRows) return true;
  return cheaper_by_rows(static_cast<double>(problem_.features.column(static_cast<Index>(coordinate % width_)).count));
}

bool KeptMargins::cheaper_by_rows(double rows) const {
  // In nanoseconds, about. By rows: a row, its entries in sparse and in dense columns, a coordinate ranked by itself.
  // In a pass: an entry of a sparse and of a dense column, a derivative, a coordinate ranked with all others.
  constexpr double kRow = 15, kPushed = 2, kPushedDense = 12, kRanked = 8;
  constexpr double kPassed = 1.3, kPassedDense = 0.3, kDerived = 5, kWeighed = 20;
  const auto classes = static_cast<double>(classes_), coordinates = static_cast<double>(classes_ * width_);
  const auto dense = static_cast<double>(problem_.features.dense_columns().size());
  const double sparse = std::max(0.0, static_cast<double>(problem_.features.nonzeros()) / rows_ - dense);  // a row
  const double touched = classes * rows * (sparse + dense);
  const double by_rows =
      classes * rows * (kRow + kPushed * sparse + kPushedDense * dense) + kRanked * std::min(touched, coordinates);
  const double by_pass =
      classes * rows_ * (kPassed * sparse + kPassedDense * dense + kDerived) + kWeighed * coordinates;
  return by_rows < by_pass;
}

void KeptMargins::shrink(double fold, double scale) {
  scale_ = scale;
  if (fold == 1) return;
  for (double& z : products_) z *= fold;
}

void KeptMargins::move_all(std::size_t coordinate, double change) {
  const std::size_t n = problem_.labels.size();
  const auto plane = std::span(products_).subspan(coordinate / width_ * n, n);
  if (is_constant(coordinate)) {
    for (double& z : plane) z += change;
    return;
  }
  // The same rounding as move_touched(), which a kernel of whole columns need not have.
  problem_.features.for_each_in_column(static_cast<Index>(coordinate % width_), [&](Index i, double value) {
    plane[static_cast<std::size_t>(i)] += value * change;
  });
}

// derivatives_ is class by class; the sums want it record by record.
void KeptMargins::by_record(std::size_t rows) {
  if (classes_ == 1) return;
  by_class_.swap(derivatives_);
  derivatives_.resize(by_class_.size());
  for (std::size_t k = 0; k < classes_; ++k)
    for (std::size_t r = 0; r < rows; ++r) derivatives_[r * classes_ + k] = by_class_[k * rows + r];
}

void KeptMargins::derive_all() {
  margins_.resize(products_.size());
  derivatives_.resize(products_.size());
  std::transform(products_.begin(), products_.end(), margins_.begin(), [this](double z) { return scale_ * z; });
  loss_sum_ = rows_ * glm::mean_loss_and_derivatives(problem_.objective.task, margins_, problem_.labels, derivatives_);
  by_record(problem_.labels.size());
}

void KeptMargins::gather_touched() {
  const std::size_t n = problem_.labels.size();
  margins_.resize(classes_ * touched_count_);
  for (std::size_t k = 0; k < classes_; ++k)
    for (std::size_t r = 0; r < touched_count_; ++r)
      margins_[k * touched_count_ + r] = scale_ * products_[k * n + static_cast<std::size_t>(touched_[r])];
}

void KeptMargins::move_touched(std::size_t coordinate, double change) {
  const glm::Task task = problem_.objective.task;
  const std::size_t n = problem_.labels.size();
  const auto column = static_cast<Index>(coordinate % width_);
  double* plane = products_.data() + coordinate / width_ * n;
  // Where a dense column is 0 cannot be foreseen: rows are written down in any case and counted if it is not.
  std::size_t rows = 0;
  problem_.features.for_each_in_column(column, [this, &rows](Index i, double value) {
    touched_[rows] = i;
    touched_labels_[rows] = problem_.labels[static_cast<std::size_t>(i)];
    rows += value != 0 ? 1 : 0;
  });
  touched_count_ = rows;
  if (rows == 0) return;
  const auto count = static_cast<double>(rows);
  const auto labels = std::span(touched_labels_).first(rows);
  gather_touched();
  loss_sum_ -= count * glm::mean_loss(task, margins_, labels);
  problem_.features.for_each_in_column(
      column, [&](Index i, double value) { plane[static_cast<std::size_t>(i)] += value * change; });
  gather_touched();
  derivatives_.resize(margins_.size());
  loss_sum_ += count * glm::mean_loss_and_derivatives(task, margins_, labels, derivatives_);
  by_record(rows);
}

PlainSums::PlainSums(const Problem& problem)
    : features_(problem.features),
      rows_(static_cast<double>(problem.labels.size())),
      columns_(static_cast<std::size_t>(problem.features.cols())),
      classes_(static_cast<std::size_t>(problem.objective.classes)),
      width_(width_of(problem)),
      derivatives_(classes_ * problem.labels.size()),
      sums_(classes_ * width_),
      is_touched_(sums_.size()) {}

void PlainSums::assign(std::span<const double> derivatives) {
  std::copy(derivatives.begin(), derivatives.end(), derivatives_.begin());
  std::vector<double> packed(width_ == columns_ ? 0 : classes_ * columns_);
  const std::span<double> target = packed.empty() ? std::span(sums_) : std::span(packed);
  features_.multiply_transposed(derivatives_, static_cast<int>(classes_), target);
  if (packed.empty()) return;
  for (std::size_t k = 0; k < classes_; ++k) {
    const auto from = packed.begin() + static_cast<std::ptrdiff_t>(k * columns_);
    const auto to = sums_.begin() + static_cast<std::ptrdiff_t>(k * width_);
    std::copy(from, from + static_cast<std::ptrdiff_t>(columns_), to);
    double& ones = sums_[k * width_ + columns_];
    ones = 0;
    for (std::size_t at = k; at < derivatives_.size(); at += classes_) ones += derivatives_[at];
  }
}

void PlainSums::assign_row(Index row, std::span<const double> derivatives) {
  const auto add = [this](std::size_t coordinate, double difference) {
    sums_[coordinate] += difference;
    if (is_touched_[coordinate] != 0) return;
    is_touched_[coordinate] = 1;
    touched_.push_back(static_cast<std::uint32_t>(coordinate));
  };
  for (std::size_t k = 0; k < classes_; ++k) {
    double& known = derivatives_[static_cast<std::size_t>(row) * classes_ + k];
    const double change = derivatives[k] - known;
    if (change == 0) continue;
    known = derivatives[k];
    features_.for_each_in_row_by_kind(
        row, [&](Index j, double value) { add(k * width_ + static_cast<std::size_t>(j), change * value); });
    if (width_ != columns_) add(k * width_ + columns_, change);
  }
}

void PlainSums::forget_touched() {
  for (const std::uint32_t coordinate : touched_) is_touched_[coordinate] = 0;
  touched_.clear();
}

}  // namespace parley::algorithms
