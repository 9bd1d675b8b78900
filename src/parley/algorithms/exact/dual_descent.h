// Dual coordinate descent: a quick start for Newton's method where columns are many and rows short.
//
// With C = 1 / (n l2) the problem is C sum_i phi(y_i <x_i, w>) + |w|^2 / 2, and w = sum_i alpha_i y_i x_i at the
// optimum. One row at a time, alpha_i is set to its best value and w follows. With q = |x_i|^2, m = y_i <x_i, w>:
//
//   squared hinge   alpha <- max(0, alpha - (m - 1 + alpha / (2C)) / (q + 1 / (2C)))
//                       Hsieh et al. 2008, Algorithm 1
//   logistic        alpha <- C s(-m'),   m' = m + q (C s(-m') - alpha),   s the sigmoid
//                       Yu, Huang & Lin 2011
//
// Rows come in random order, the same on every run. Rows that will hardly move are set aside until the others are done
// (shrinking): of the squared hinge those at alpha = 0 whose gradient exceeds all of the last epoch's, of the logistic
// loss those whose last move gained next to nothing. All is in single precision: what is handed on is a starting point,
// never a result; its error enters the objective squared.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "parley/algorithms/exact/compact_rows.h"
#include "parley/glm/loss.h"

namespace parley::algorithms {

struct DualObjective {
  glm::Task task;  // logistic or squared hinge
  std::span<const double> labels;
  double l2;  // the penalty of every column, > 0
};

// What belongs to one row, in one place: rows come in random order, and each place costs a wait for memory.
struct DualRow {
  float alpha;
  float anchor;  // logistic: the margin at which alpha was best
  float square;  // |x_i|^2
  float label;
};

class DualDescent {
 public:
  DualDescent(const CompactRows& rows, const DualObjective& objective);

  // Epochs until what is left to gain, by the trend of the last epochs, is below `target` times what was
  // gained, or until an epoch gains too little to go on. False in the second case.
  bool descend(double target);

  [[nodiscard]] std::vector<double> weights() const { return {weights_.begin(), weights_.end()}; }

 private:
  template <class Step>
  double epoch(const Step& step);  // what it gained
  void take_all_back();

  const CompactRows& rows_;
  DualObjective objective_;
  float c_;
  std::vector<DualRow> state_;
  std::vector<float> weights_;
  std::vector<std::uint32_t> order_;  // the first active_ take part
  std::size_t active_;
  float set_aside_at_;  // squared hinge: gradient; logistic: gain
  std::uint64_t random_ = 0x9E3779B97F4A7C15ULL;
  int epochs_ = 0;
  double gained_ = 0;
  double last_gain_ = 0;
};

}  // namespace parley::algorithms
