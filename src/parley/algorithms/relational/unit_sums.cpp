#include "parley/algorithms/relational/unit_sums.h"

#include <algorithm>
#include <cmath>

#include "parley/glm/loss.h"
#include "parley/glm/softmax.h"

namespace parley::algorithms {

using linalg::Index;

UnitSums::UnitSums(const JoinedProblem& problem, double derivative_bound)
    : problem_(problem),
      derivative_bound_(derivative_bound),
      classes_(static_cast<std::size_t>(problem.objective.classes)) {
  for (std::size_t i = 0; i < problem.rows.size(); ++i) {
    const linalg::Matrix features = problem.features[i].select_rows(problem.rows[i].tuples);
    Table table{.first = columns_, .begins = std::vector<std::size_t>(problem.rows[i].tuples.size() + 1, 0)};
    for (Index c = 0; c < features.cols(); ++c)
      features.for_each_in_column(c, [&](Index slot, double value) {
        if (value != 0) ++table.begins[static_cast<std::size_t>(slot) + 1];
      });
    for (std::size_t slot = 1; slot < table.begins.size(); ++slot) table.begins[slot] += table.begins[slot - 1];
    table.columns.resize(table.begins.back());
    table.values.resize(table.begins.back());
    std::vector<std::size_t> next(table.begins.begin(), table.begins.end() - 1);
    for (Index c = 0; c < features.cols(); ++c)
      features.for_each_in_column(c, [&](Index slot, double value) {
        if (value == 0) return;  // stored or not
        const std::size_t at = next[static_cast<std::size_t>(slot)]++;
        table.columns[at] = columns_ + static_cast<std::size_t>(c);
        table.values[at] = value;
      });
    columns_ += static_cast<std::size_t>(features.cols());
    tables_.push_back(std::move(table));
  }
  begins_.assign(problem.units.count + 1, 0);
  for (const Index unit : problem.units.of_row)
    if (unit >= 0) ++begins_[static_cast<std::size_t>(unit) + 1];
  for (std::size_t unit = 1; unit < begins_.size(); ++unit) begins_[unit] += begins_[unit - 1];
  rows_.resize(begins_.back());
  std::vector<std::size_t> next(begins_.begin(), begins_.end() - 1);
  for (std::size_t j = 0; j < problem.units.of_row.size(); ++j)
    if (const Index unit = problem.units.of_row[j]; unit >= 0) rows_[next[static_cast<std::size_t>(unit)]++] = j;
  derivatives_.resize(problem.labels.size() * classes_);
}

double UnitSums::move_to(std::span<const double> weights) {
  std::fill(derivatives_.begin(), derivatives_.end(), 0.0);
  std::vector<double> values;
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    const Table& table = tables_[i];
    values.assign((table.begins.size() - 1) * classes_, 0.0);
    for (std::size_t slot = 0; slot + 1 < table.begins.size(); ++slot)
      for (std::size_t k = 0; k < classes_; ++k)
        for (std::size_t at = table.begins[slot]; at < table.begins[slot + 1]; ++at)
          values[slot * classes_ + k] += table.values[at] * weights[k * columns_ + table.columns[at]];
    add_values(problem_.rows[i], values, classes_, {0, problem_.labels.size()}, derivatives_);
  }
  double loss = 0;
  for (std::size_t j = 0; j < problem_.labels.size(); ++j) {
    const std::span<double> row = std::span(derivatives_).subspan(j * classes_, classes_);
    const double y = problem_.labels[j];
    if (problem_.objective.task == glm::Task::kSoftmax) {
      loss += glm::Softmax::value(row, static_cast<int>(y));
      glm::Softmax::gradient(row, static_cast<int>(y), row);
    } else {
      glm::with_loss(problem_.objective.task, [&](auto scalar) {
        loss += scalar.value(row[0], y);
        row[0] = scalar.derivative(row[0], y);
      });
    }
    for (double& q : row) q = std::clamp(q, -derivative_bound_, derivative_bound_);
  }
  return loss / static_cast<double>(problem_.labels.size());
}

void UnitSums::add_row(std::size_t row, std::span<double> out) const {
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    const Index slot = problem_.rows[i].slots[row];
    if (slot < 0) continue;
    const Table& table = tables_[i];
    const std::size_t end = table.begins[static_cast<std::size_t>(slot) + 1];
    for (std::size_t k = 0; k < classes_; ++k) {
      const double q = derivatives_[row * classes_ + k];
      for (std::size_t at = table.begins[static_cast<std::size_t>(slot)]; at < end; ++at)
        out[k * columns_ + table.columns[at]] += q * table.values[at];
    }
  }
}

Result<privacy::Sensitive<privacy::GridVector, privacy::L2>> UnitSums::sum(const privacy::ClipRule& rule) const {
  std::vector<double> of_unit(coordinates());
  const auto contribution = [&](std::size_t unit) {
    std::fill(of_unit.begin(), of_unit.end(), 0.0);
    for (std::size_t at = begins_[unit]; at < begins_[unit + 1]; ++at) add_row(rows_[at], of_unit);
    return std::span<const double>(of_unit);
  };
  return privacy::clipped_vector_sum(privacy::Private(privacy::UnitContributions{units(), coordinates(), contribution}),
                                     rule);
}

}  // namespace parley::algorithms
