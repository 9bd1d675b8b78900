// The scalar losses over many margins at once: what one look along a search line needs.
//
//   at margins m_i + t q_i:   sum of phi, sum of phi' q (the slope along the line),
//                             phi'_i and phi''_i (generalised for the squared hinge: 2 where y m < 1)
#pragma once
#include <cstddef>
#include <span>

#include "parley/glm/loss.h"

namespace parley::algorithms {

struct LinePoint {
  double loss = 0;   // mean over rows
  double slope = 0;  // of the mean loss along the line
};

struct MarginLine {
  std::span<const double> labels;
  std::span<const double> margins;
  std::span<const double> line;  // q
};

// Threaded; the same result for every number of threads.
LinePoint look_along(glm::Task task, const MarginLine& at, double t, std::span<double> derivatives,
                     std::span<double> curvatures);

}  // namespace parley::algorithms
