// The steps of a masked descent (masked_descent.h) on the gradients that were opened.
//
//   x_{t+1} = P(y_t - h (g(y_t) + l2 y_t)),   h = 1/(B^2/4 + l2),   P: the proximal step of l1, or the projection to
//   a set y_{t+1} = x_{t+1} + t/(t+3) (x_{t+1} - x_t)
//
// Nesterov 1983; Beck and Teboulle 2009. Of a private run the model is P of the mean of the later half of the x_t,
// whose noise evens out. Without noise momentum begins anew whenever it points uphill (O'Donoghue and Candes 2015),
// and the run ends when a step moves less than the tolerance asks. Over at most k nonzeros there is no momentum.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "parley/glm/objective.h"

namespace parley::algorithms {

struct MaskedPoint {
  std::vector<double> point, asked, sum;  // x_t; y_t; of the x_t of the later half
  std::int64_t steps = 0, since = 0, summed = 0;
  double moved = 0;  // ||y_t - x_{t+1}|| / h
  static void fields(auto& self, auto&& visit) {
    visit(self.point, self.asked, self.sum, self.steps, self.since, self.summed, self.moved);
  }
};

struct MaskedRule {
  const glm::Objective& objective;
  double l2 = 0;
  double curvature = 0;    // B^2/4
  std::int64_t steps = 0;  // of the whole run
  bool noisy = false;
};

void masked_step(std::span<const double> gradient, const MaskedRule& rule, MaskedPoint& at);
// The model after these steps.
std::vector<double> masked_model(const MaskedRule& rule, const MaskedPoint& at);

}  // namespace parley::algorithms
