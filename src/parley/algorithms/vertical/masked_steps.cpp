#include "parley/algorithms/vertical/masked_steps.h"

#include <cmath>

#include "parley/glm/penalties.h"
#include "parley/glm/sets.h"

namespace parley::algorithms {

namespace {

constexpr int kGrid = 40;  // binary digits of a private weight after the point

void hold(const glm::Objective& objective, double step, std::vector<double>& w) {
  if (objective.l1 > 0) glm::l1_penalty(objective.l1).prox(step, w, w);
  if (objective.l1_radius) glm::L1Ball{*objective.l1_radius}.project(w);
  if (objective.box) glm::Box{-*objective.box, *objective.box}.project(w);
  if (objective.sparsity) glm::SparseSet{.nonzeros = static_cast<std::size_t>(*objective.sparsity)}.project(w);
}

}  // namespace

void masked_step(std::span<const double> gradient, const MaskedRule& rule, MaskedPoint& at) {
  const double step = 1 / (rule.curvature + rule.l2);
  std::vector<double> next(at.asked);
  for (std::size_t c = 0; c < next.size(); ++c) next[c] -= step * (gradient[c] + rule.l2 * at.asked[c]);
  hold(rule.objective, step, next);
  double uphill = 0, moved = 0;
  for (std::size_t c = 0; c < next.size(); ++c) {
    uphill += (at.asked[c] - next[c]) * (next[c] - at.point[c]);
    moved += (at.asked[c] - next[c]) * (at.asked[c] - next[c]);
  }
  at.moved = std::sqrt(moved) / step;
  ++at.steps;
  at.since = !rule.noisy && uphill > 0 ? 0 : at.since + 1;
  const double momentum =
      rule.objective.sparsity ? 0 : static_cast<double>(at.since) / static_cast<double>(at.since + 3);
  for (std::size_t c = 0; c < next.size(); ++c) at.asked[c] = next[c] + momentum * (next[c] - at.point[c]);
  at.point = std::move(next);
  if (rule.noisy && 2 * at.steps > rule.steps) {
    at.sum.resize(at.point.size());
    for (std::size_t c = 0; c < at.sum.size(); ++c) at.sum[c] += at.point[c];
    ++at.summed;
  }
}

std::vector<double> masked_model(const MaskedRule& rule, const MaskedPoint& at) {
  if (at.summed == 0) return at.point;
  std::vector<double> mean(at.sum);
  for (double& value : mean) value /= static_cast<double>(at.summed);
  hold(rule.objective, 0, mean);
  // Released numbers are on a grid: so it can be seen that they are.
  for (double& value : mean) value = std::ldexp(std::nearbyint(std::ldexp(value, kGrid)), -kGrid);
  return mean;
}

}  // namespace parley::algorithms
