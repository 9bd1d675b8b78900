#include "parley/glm/unbiased.h"

#include <algorithm>
#include <vector>

#include "parley/glm/batch.h"

namespace parley::glm::unbiased {

namespace {

bool are_plain(Task task, std::span<const double> targets) {
  return task != Task::kLogistic || std::all_of(targets.begin(), targets.end(), [](double t) { return t * t == 1; });
}

std::vector<double> signs(std::span<const double> targets) {
  std::vector<double> sign(targets.size());
  for (std::size_t i = 0; i < targets.size(); ++i) sign[i] = targets[i] < 0 ? -1.0 : 1.0;
  return sign;
}

double tilt(double target) {
  return 0.5 * ((target < 0 ? -1.0 : 1.0) - target);
}

// mean of (s - t)/2 m
double mean_tilt(std::span<const double> margins, std::span<const double> targets) {
  double sum = 0;
  for (std::size_t i = 0; i < targets.size(); ++i) sum += tilt(targets[i]) * margins[i];
  return sum / static_cast<double>(targets.size());
}

void add_tilts(std::span<const double> targets, std::span<double> derivatives) {
  for (std::size_t i = 0; i < targets.size(); ++i) derivatives[i] += tilt(targets[i]);
}

}  // namespace

double mean_loss(Task task, std::span<const double> margins, std::span<const double> targets) {
  if (are_plain(task, targets)) return glm::mean_loss(task, margins, targets);
  return glm::mean_loss(task, margins, signs(targets)) + mean_tilt(margins, targets);
}

void loss_derivatives(Task task, std::span<const double> margins, std::span<const double> targets,
                      std::span<double> out) {
  if (are_plain(task, targets)) return glm::loss_derivatives(task, margins, targets, out);
  glm::loss_derivatives(task, margins, signs(targets), out);
  add_tilts(targets, out);
}

double mean_loss_and_derivatives(Task task, std::span<const double> margins, std::span<const double> targets,
                                 std::span<double> out) {
  if (are_plain(task, targets)) return glm::mean_loss_and_derivatives(task, margins, targets, out);
  const double tilted = mean_tilt(margins, targets);  // `out` may be `margins`
  const double mean = glm::mean_loss_and_derivatives(task, margins, signs(targets), out);
  add_tilts(targets, out);
  return mean + tilted;
}

void loss_curvatures(Task task, std::span<const double> margins, std::span<const double> targets,
                     std::span<double> out) {
  if (are_plain(task, targets)) return glm::loss_curvatures(task, margins, targets, out);
  glm::loss_curvatures(task, margins, signs(targets), out);
}

}  // namespace parley::glm::unbiased
