#include "parley/algorithms/vertical/convergence_judge.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "parley/algorithms/parts/private_terms.h"
#include "parley/algorithms/vertical/block_curvature.h"
#include "parley/algorithms/vertical/expected_curvature.h"
#include "parley/glm/unbiased.h"
#include "parley/linalg/vectors.h"

namespace parley::algorithms {

namespace {

using Vector = std::vector<double>;

// A'v, the column of ones last.
Vector transposed(const ColumnShare& share, std::span<const double> v) {
  Vector sums(columns_of(share));
  share.features.multiply_transposed(v, std::span(sums).first(static_cast<std::size_t>(share.features.cols())));
  if (share.constant) sums.back() = std::accumulate(v.begin(), v.end(), 0.0);
  return sums;
}

void add_margins(const ColumnShare& share, std::span<const double> weights, Vector& margins) {
  Vector own(margins.size());
  share.features.multiply(weights.first(static_cast<std::size_t>(share.features.cols())), own);
  linalg::axpy(1.0, own, margins);
  if (share.constant)
    for (double& margin : margins) margin += weights.back();
}

}  // namespace

ConvergenceJudge::ConvergenceJudge(const Bcfw& algorithm, std::vector<ColumnShare> shares)
    : algorithm_(algorithm),
      shares_(std::move(shares)),
      covered_(algorithm.layout().whole_balls(algorithm.sampling())),
      low_(-std::numeric_limits<double>::infinity()) {
  found_.p_min = algorithm.p_min();
  if (!covered_) return;
  found_.rho_g = found_.rho_l = 0;
  bound_curvature(
      {shares_, algorithm.layout(), algorithm.sampling(), glm::curvature_bound(algorithm.terms().objective.task)},
      found_);
}

// As the party ranks its columns.
Vector ConvergenceJudge::seen_by(const Bcfw::Iterate& iterate, std::size_t party) const {
  const ColumnShare& share = shares_[party];
  if (!algorithm_.own_exact()) return transposed(share, iterate.derivative);
  const auto task = algorithm_.ask(iterate, static_cast<int>(party));
  const std::size_t n = iterate.labels.size();
  Vector margins(n), derivative(n);
  if (!task->others.empty()) algorithm_.space().margins(task->others, margins);
  add_margins(share, linalg::dense(task->weights), margins);
  for (double& margin : margins) margin += task->offset.empty() ? 0.0 : task->offset.front();
  glm::unbiased::loss_derivatives(algorithm_.terms().objective.task, margins, iterate.labels, derivative);
  const double bound = share.privacy != nullptr ? share.privacy->derivative_bound : 0;
  for (double& each : derivative) each = (bound > 0 ? std::clamp(each, -bound, bound) : each) / static_cast<double>(n);
  return transposed(share, derivative);
}

ConvergenceJudge::Point ConvergenceJudge::look(const Bcfw::Iterate& iterate) {
  const BlockLayout& layout = algorithm_.layout();
  const std::size_t n = iterate.labels.size();
  const double offset = iterate.parameters.size() > layout.columns() ? iterate.parameters.back() : 0;
  Point here{
      .step = iterate.step,
      .x = {iterate.parameters.begin(), iterate.parameters.begin() + static_cast<std::ptrdiff_t>(layout.columns())}};
  Vector margins(n, offset), derivative(n);
  for (std::size_t k = 0; k < shares_.size(); ++k)
    add_margins(shares_[k], std::span(here.x).subspan(layout.begin(k), layout.end(k) - layout.begin(k)), margins);
  objectives_.push_back(
      glm::unbiased::mean_loss_and_derivatives(algorithm_.terms().objective.task, margins, iterate.labels, derivative));
  linalg::scale(1 / static_cast<double>(n), derivative);
  const bool more = iterate.phase == Bcfw::kPick;  // somebody will rank columns here
  for (std::size_t k = 0; k < shares_.size(); ++k) {
    const Vector own = transposed(shares_[k], derivative);
    here.gradient.insert(here.gradient.end(), own.begin(), own.end());
    if (!more || !covered_) continue;
    const Vector seen = seen_by(iterate, k);
    here.seen.insert(here.seen.end(), seen.begin(), seen.end());
  }
  double gap = 0;  // max over s of <x - s, g>
  if (layout.box()) {
    for (std::size_t j = 0; j < here.x.size(); ++j)
      gap += here.x[j] * here.gradient[j] + layout.radius_of(j) * std::abs(here.gradient[j]);
  } else {
    for (std::size_t b = 0; b < layout.balls(); ++b) {
      const std::size_t begin = layout.ball_begin(b), count = layout.ball_end(b) - begin;
      const auto g = std::span(here.gradient).subspan(begin, count);
      gap += linalg::dot(std::span(here.x).subspan(begin, count), g) + layout.radius_of(begin) * linalg::linf_norm(g);
    }
  }
  low_ = std::max(low_, objectives_.back() - gap);
  return here;
}

void ConvergenceJudge::judge_step(const Bcfw::Iterate& after) {
  const BlockLayout& layout = algorithm_.layout();
  const Point& here = *before_;
  const double gamma = after.gamma;
  if (!covered_ || here.seen.empty() || !(gamma > 0) || !(found_.curvature > 0)) return;
  const auto inexact = [&](std::optional<double>& rho, double error) {
    rho = std::max(*rho, 2 * error / (gamma * found_.curvature));
  };
  // The vertex that a column's ball or interval moved to, where it moved: +-1 times its radius.
  const auto vertex = [&](std::size_t j) {
    const double moved = (after.parameters[j] - (1 - gamma) * here.x[j]) / (gamma * layout.radius_of(j));
    return std::abs(moved) > 0.5 ? std::copysign(1.0, moved) : 0.0;
  };
  const auto error = [&](std::size_t j) { return std::abs(here.seen[j] - here.gradient[j]); };
  if (layout.box()) {
    for (std::size_t j = 0; j < layout.columns(); ++j) {
      const double sign = after.parameters[j] == here.x[j] ? 0 : vertex(j);
      if (sign == 0) continue;
      inexact(found_.rho_g, error(j));
      inexact(found_.rho_l, layout.radius_of(j) * (sign * here.seen[j] + std::abs(here.seen[j])));
    }
    return;
  }
  for (std::size_t b = 0; b < layout.balls(); ++b) {
    double largest = 0, off = 0, taken = 0;
    bool moved = false;
    for (std::size_t j = layout.ball_begin(b); j < layout.ball_end(b); ++j) {
      largest = std::max(largest, std::abs(here.seen[j]));
      off = std::max(off, error(j));
      if (const double sign = vertex(j); after.parameters[j] != here.x[j] && sign != 0) {
        moved = true;
        taken = sign * here.seen[j];
      }
    }
    if (!moved) continue;
    inexact(found_.rho_g, off);
    inexact(found_.rho_l, layout.radius_of(layout.ball_begin(b)) * (taken + largest));
  }
}

void ConvergenceJudge::see(const Bcfw::Iterate& iterate) {
  if (iterate.labels.empty() || iterate.phase == Bcfw::kColumns) return;
  if (before_ && before_->step == iterate.step) return;
  if (before_) judge_step(iterate);
  before_ = look(iterate);
}

Convergence ConvergenceJudge::result() const {
  Convergence result = found_;
  const BlockLayout& layout = algorithm_.layout();
  const BlockSampling& sampling = algorithm_.sampling();
  if (covered_) {
    double diameter = 0;
    if (layout.box())
      for (std::size_t j = 0; j < layout.columns(); ++j) diameter += 2 * layout.radius_of(j);
    else
      for (std::size_t b = 0; b < layout.balls(); ++b) diameter += 2 * layout.radius_of(layout.ball_begin(b));
    const auto blocks =
        static_cast<double>(layout.box() || !sampling.takes_all() ? sampling.largest_round() : layout.balls());
    result.rho = (diameter + blocks) * *found_.rho_g + blocks * *found_.rho_l;
  }
  for (std::size_t t = 0; t < objectives_.size(); ++t) {
    result.gap.push_back(objectives_[t] - low_);
    if (covered_)
      result.bound.push_back(convergence_bound(objectives_.front() - low_, result.curvature, result.p_min,
                                               static_cast<double>(t), *result.rho));
  }
  return result;
}

}  // namespace parley::algorithms
