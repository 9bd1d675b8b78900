// The exact line search of Frank-Wolfe methods over margins.
#pragma once
#include <span>

#include "parley/glm/loss.h"

namespace parley::algorithms {

// Margins z(gamma) = start + gamma direction of records with these labels.
struct MarginLine {
  std::span<const double> start, direction, labels;
};

// argmin over [0, 1] of sum_i phi(z_i(gamma), y_i).
double best_on_line(glm::Task task, const MarginLine& line);

}  // namespace parley::algorithms
