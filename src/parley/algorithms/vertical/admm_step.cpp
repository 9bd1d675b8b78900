#include "parley/algorithms/vertical/admm_step.h"

#include <algorithm>
#include <cmath>

#include "parley/core/threads.h"
#include "parley/glm/softmax.h"
#include "parley/glm/unbiased.h"
#include "parley/linalg/vectors.h"

namespace parley::algorithms {

namespace {

constexpr std::size_t kChunk = 4096;  // records

void prox_of_classes(double step, std::span<const double> labels, std::span<double> z) {
  const std::size_t records = labels.size(), classes = z.size() / records;
  parallel_chunks(records, kChunk, [&](std::size_t begin, std::size_t end) {
    std::vector<double> row(classes), at(classes);
    for (std::size_t i = begin; i < end; ++i) {
      for (std::size_t k = 0; k < classes; ++k) row[k] = z[k * records + i];
      glm::Softmax::prox(step, row, static_cast<int>(labels[i]), at);
      for (std::size_t k = 0; k < classes; ++k) z[k * records + i] = at[k];
    }
  });
}

}  // namespace

double parts_of_residual(const AdmmSettings& settings, int parties) {
  const bool together =
      settings.update == AdmmSettings::Update::kAveraged && settings.order == AdmmSettings::Order::kParallel;
  return together ? parties : 1;
}

std::vector<double> correction(std::span<const double> sum, std::span<const double> consensus,
                               std::span<const double> dual, double weight, double rho) {
  std::vector<double> told(sum.size());
  for (std::size_t i = 0; i < told.size(); ++i) told[i] = (sum[i] - consensus[i]) / weight + dual[i] / rho;
  return told;
}

void ConsensusStep::take(std::span<const double> sum, std::span<double> consensus, std::span<double> dual) const {
  const double step = 1 / rho;
  for (std::size_t i = 0; i < sum.size(); ++i) consensus[i] = sum[i] + step * dual[i];
  if (task == glm::Task::kSoftmax)
    prox_of_classes(step, labels, consensus);
  else
    glm::with_loss(task, [&](auto loss) {
      parallel_chunks(consensus.size(), kChunk, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i)
          consensus[i] = glm::unbiased::prox(loss, step, consensus[i], labels[i]);
      });
    });
  for (std::size_t i = 0; i < sum.size(); ++i) dual[i] += rho * (sum[i] - consensus[i]);
}

std::vector<double> pull_of(std::span<const double> sum, std::span<const double> consensus,
                            std::span<const double> dual, double rho) {
  std::vector<double> pull(sum.size());
  for (std::size_t i = 0; i < pull.size(); ++i) pull[i] = dual[i] + rho * (sum[i] - consensus[i]);
  return pull;
}

double own_residuals(glm::Task task, std::span<const double> labels, std::span<const double> consensus,
                     std::span<const double> sum, std::span<const double> pull) {
  std::vector<double> gradient(consensus.size());
  glm::unbiased::loss_derivatives(task, consensus, labels, gradient);
  double squares = 0;
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const double loss = gradient[i] - pull[i], primal = sum[i] - consensus[i];
    squares += loss * loss + primal * primal;
  }
  return squares;
}

double surely_stable_rho(glm::Task task, int parties) {
  return 1.1 * glm::curvature_bound(task) * std::max(1, 3 * parties - 4) / 2;
}

double default_rho(const glm::Objective& objective, const AdmmSettings& settings, int parties, double row_norm) {
  const double curvature = glm::curvature_bound(objective.task);
  constexpr double kLeast = 1e-4;  // of the curvature: without l2 nothing else sets the scale
  const double strength = std::max({objective.l2, kLeast * curvature, objective.l1 * kLeast});
  double rho = 5 * std::sqrt(strength * curvature * parties) / (row_norm > 0 ? row_norm : 1);
  // Under l1 alone few columns carry weight, and the longest record says nothing of how margins answer.
  if (objective.l1 > 0 && objective.l2 == 0) rho = std::max(rho, curvature / 8);
  const bool paper = settings.update == AdmmSettings::Update::kPaper &&
                     settings.order == AdmmSettings::Order::kParallel && parties > 1;
  return paper ? std::max(rho, surely_stable_rho(objective.task, parties)) : rho;
}

void ResidualWatch::look(double residual, double consensus) {
  if (seen == 0) first = least = recent = residual;
  if (seen > 0 && seen % kWindow == 0) {
    least = std::min(least, recent);
    recent = residual;
  }
  recent = std::min(recent, residual);
  last = residual;
  relative = residual / std::max(1e-300, consensus);
  ++seen;
}

bool ResidualWatch::grows() const {
  constexpr double kFar = 1e3;
  if (!std::isfinite(last) || last > kFar * std::max(first, least)) return true;
  return seen > kWindow && seen % kWindow == 0 && recent >= least && relative > kSmall;
}

double balanced_rho(double rho, std::int64_t round, double primal, double dual) {
  constexpr double kMost = 10, kWorthIt = 2;
  std::int64_t due = 10;
  while (due < round) due *= 2;
  if (due != round || !(primal > 0) || !(dual > 0)) return rho;
  const double factor = std::clamp(std::sqrt(primal / dual), 1 / kMost, kMost);
  return factor > kWorthIt || factor < 1 / kWorthIt ? rho * factor : rho;
}

}  // namespace parley::algorithms
