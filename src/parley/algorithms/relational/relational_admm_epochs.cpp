// The coordinator's side of an epoch: margins, z, lambda, and the sums that travel.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "parley/algorithms/relational/relational_admm.h"
#include "parley/core/threads.h"
#include "parley/linalg/vectors.h"

namespace parley::algorithms {

using linalg::Index;

namespace {

constexpr std::size_t kRowsPerChunk = 8192;
constexpr double kDiverged = 100;     // times the objective of the zero model
constexpr double kSmallest = 1e-300;  // nothing divides by 0

// What a pass over the rows adds up.
struct PassSums {
  double loss = 0;
  double gap = 0;        // |a - z|^2
  double margins = 0;    // |a|^2
  double consensus = 0;  // |z|^2
  double dual = 0;       // |lambda|^2; of majorisation the derivatives'

  void add(const PassSums& other) {
    loss += other.loss;
    gap += other.gap;
    margins += other.margins;
    consensus += other.consensus;
    dual += other.dual;
  }
};

// pass(rows, their labels, their margins) for chunks of the join's rows. What it leaves in the place of the margins
// stands in `by_row`.
template <class Values, class Pass>
PassSums over_rows(const RelationalAdmm::Iterate& iterate, std::size_t label_table, std::size_t classes,
                   const Values& values_of, std::vector<double>& by_row, const Pass& pass) {
  const std::size_t rows = iterate.tables.front().rows.slots.size();
  by_row.resize(rows * classes);
  std::vector<PassSums> partial(chunk_count(rows, kRowsPerChunk));
  parallel_chunks(rows, kRowsPerChunk, [&](std::size_t begin, std::size_t end) {
    const auto margins = std::span(by_row).subspan(begin * classes, (end - begin) * classes);
    std::fill(margins.begin(), margins.end(), 0.0);
    for (const RelationalAdmm::TableState& table : iterate.tables)
      if (!values_of(table).empty())  // it has columns
        add_values(table.rows, values_of(table), classes, {begin, end}, margins);
    std::vector<double> labels(end - begin);
    const std::vector<Index>& slots = iterate.tables[label_table].rows.slots;
    for (std::size_t j = begin; j < end; ++j) labels[j - begin] = iterate.labels[static_cast<std::size_t>(slots[j])];
    partial[begin / kRowsPerChunk] = pass(RowRange{begin, end}, std::span<const double>(labels), margins);
  });
  PassSums sums;
  for (const PassSums& each : partial) sums.add(each);
  return sums;
}

const std::vector<double>& newest(const RelationalAdmm::TableState& table) {
  return table.values;
}

}  // namespace

Result<void> RelationalAdmm::begin_epoch(Iterate& iterate) const {
  const auto numbers = static_cast<double>(iterate.tables.front().rows.slots.size() * loss().classes);
  const double moved = owner_weight() * std::sqrt(iterate.moved / numbers);
  const double force = settings_.update == TableUpdate::kMajorised ? majorise(iterate) : agree(iterate);
  iterate.change = iterate.epoch == 0 ? 1 : moved / std::max(force, kSmallest);
  iterate.moved = 0;
  return check_progress(iterate);
}

// z, lambda, e and Y; returns rms lambda.
double RelationalAdmm::agree(Iterate& iterate) const {
  const RowLoss loss = this->loss();
  const double rho = settings_.rho, relaxation = settings_.relaxation;
  const bool keeps = settings_.order == TableOrder::kGaussSeidel;
  if (keeps) iterate.consensus.resize(iterate.dual.size());
  std::vector<double> e;
  const auto pass = [&](RowRange rows, std::span<const double> labels, std::span<double> margins) {
    PassSums sums{.loss = loss_sum(loss, margins, labels)};
    const auto dual = std::span(iterate.dual).subspan(rows.begin * loss.classes, margins.size());
    std::vector<double> z(margins.size());
    for (std::size_t k = 0; k < z.size(); ++k) z[k] = margins[k] + dual[k] / rho;
    proximal_points(loss, rho, z, labels, z);
    for (std::size_t k = 0; k < z.size(); ++k) {
      const double gap = margins[k] - z[k];
      sums.gap += gap * gap;
      sums.margins += margins[k] * margins[k];
      sums.consensus += z[k] * z[k];
      margins[k] = dual[k] + 2 * rho * gap;  // e
      dual[k] += relaxation * rho * gap;
      sums.dual += dual[k] * dual[k];
    }
    if (keeps) std::copy(z.begin(), z.end(), &iterate.consensus[rows.begin * loss.classes]);
    return sums;
  };
  const PassSums sums = over_rows(iterate, label_table(), loss.classes, newest, e, pass);
  iterate.primal = std::sqrt(sums.gap / std::max({sums.margins, sums.consensus, kSmallest}));
  iterate.loss = sums.loss / row_count(iterate);
  for (std::size_t i = 0; i < iterate.tables.size(); ++i)
    if (trained_[i] && (!keeps || static_cast<int>(i) == iterate.turn))
      correct(iterate.tables[i], iterate.tables[i].values, e);
  return std::sqrt(sums.dual / static_cast<double>(iterate.dual.size()));
}

// v, the loss's derivative there and Y; returns rms of the derivative.
double RelationalAdmm::majorise(Iterate& iterate) const {
  const RowLoss loss = this->loss();
  std::vector<double> e;
  const auto loss_alone = [&](RowRange, std::span<const double> labels, std::span<double> margins) {
    return PassSums{.loss = loss_sum(loss, margins, labels)};
  };
  iterate.loss = over_rows(iterate, label_table(), loss.classes, newest, e, loss_alone).loss / row_count(iterate);
  const double now = objective_at(iterate);
  if (iterate.epoch > 1 && now > iterate.last_objective) iterate.momentum = 1;
  const double next = (1 + std::sqrt(1 + 4 * iterate.momentum * iterate.momentum)) / 2;
  const double push = iterate.epoch == 0 ? 0 : (iterate.momentum - 1) / next;
  if (iterate.epoch > 0) iterate.momentum = next;
  for (TableState& table : iterate.tables)
    for (std::size_t k = 0; k < table.values.size(); ++k)
      table.point[k] = table.values[k] + push * (table.values[k] - table.before[k]);
  const auto derivatives = [&](RowRange, std::span<const double> labels, std::span<double> margins) {
    PassSums sums;
    losses_and_derivatives(loss, margins, labels);
    sums.dual = linalg::squared_norm(margins);
    return sums;
  };
  const auto point = [](const TableState& table) -> const std::vector<double>& { return table.point; };
  const PassSums sums = over_rows(iterate, label_table(), loss.classes, point, e, derivatives);
  for (std::size_t i = 0; i < iterate.tables.size(); ++i)
    if (trained_[i]) correct(iterate.tables[i], iterate.tables[i].point, e);
  iterate.primal = 0;
  return std::sqrt(sums.dual / static_cast<double>(e.size()));
}

// Gauss-Seidel: e = lambda + rho (a - z) at the newest margins, for the table whose turn it is.
void RelationalAdmm::next_turn(Iterate& iterate) const {
  std::vector<double> e;
  const auto pass = [&](RowRange rows, std::span<const double>, std::span<double> margins) {
    for (std::size_t k = 0; k < margins.size(); ++k) {
      const std::size_t at = rows.begin * loss().classes + k;
      margins[k] = iterate.dual[at] + settings_.rho * (margins[k] - iterate.consensus[at]);
    }
    return PassSums{};
  };
  over_rows(iterate, label_table(), loss().classes, newest, e, pass);
  TableState& table = iterate.tables[static_cast<std::size_t>(iterate.turn)];
  correct(table, table.values, e);
}

// Y = the rows' e  -  w G h.
void RelationalAdmm::correct(TableState& table, std::span<const double> values, std::span<const double> by_row) const {
  const std::size_t classes = loss().classes;
  const double weight = owner_weight();
  if (settings_.reduce_bytes) {
    table.sums.resize(values.size());
    sum_by_slot(table.rows, by_row, classes, table.sums);
    for (std::size_t k = 0; k < values.size(); ++k) table.sums[k] -= weight * table.rows.uses[k / classes] * values[k];
    return;
  }
  table.sums.clear();
  for (std::size_t j = 0; j < table.rows.slots.size(); ++j) {
    const Index slot = table.rows.slots[j];
    if (slot < 0) continue;
    for (std::size_t k = 0; k < classes; ++k)
      table.sums.push_back(by_row[j * classes + k] - weight * values[static_cast<std::size_t>(slot) * classes + k]);
  }
}

double RelationalAdmm::objective_at(const Iterate& iterate) const {
  double squares = 0;
  for (const TableState& table : iterate.tables) squares += table.squares;
  return iterate.loss + objective_.l2 / 2 * squares;
}

Result<void> RelationalAdmm::check_progress(Iterate& iterate) const {
  const double before = iterate.last_objective;
  iterate.last_objective = objective_at(iterate);
  if (iterate.epoch == 0) iterate.first_objective = iterate.last_objective;
  if (std::isfinite(iterate.last_objective) &&
      (iterate.last_objective <= kDiverged * iterate.first_objective || iterate.last_objective <= before))
    return {};
  return fail(failed(fmt::format("the objective diverges: {:.4g} at first, {:.4g} after epoch {}; {}",
                                 iterate.first_objective, iterate.last_objective, iterate.epoch,
                                 settings_.update == TableUpdate::kPaper
                                     ? "the printed update lets every table correct the whole residual at once; "
                                       "update = \"relaxed\" or order = \"gauss-seidel\" converge"
                                     : "a column of a table is far larger than the others; scale it")));
}

}  // namespace parley::algorithms
