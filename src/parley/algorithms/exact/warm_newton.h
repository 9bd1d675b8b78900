// Newton's method that begins where it last ended: for paths of penalties, for records that weigh differently, and for
// the losses that the other forms of `exact` do not have.
//
//   minimise over (W, b)   1/n sum_i w_i phi(<x_i, W> + b, y_i) + l1 ||W||_1 + l2/2 ||W||^2
//
//   d  minimises  g'd + 1/2 d'Hd + penalty(u + d)       (horizontal/newton_direction.h)
//   u <- u + t d,  t = 1, 1/2, ... until F falls by a share of what the model promises
//
// Lee, Sun & Saunders 2014. H is dense and costs n d^2, everything else n d or d^3: along a path H of an earlier point
// serves until it no longer brings the violation of the optimality condition down by a factor of three at a step, and a
// fit begins as far beyond the last end as that was beyond the one before it, where that is lower.
#pragma once
#include <vector>

#include "parley/algorithms/exact/exact_settings.h"
#include "parley/algorithms/horizontal/newton_sums.h"
#include "parley/algorithms/parts/fit.h"
#include "parley/core/result.h"
#include "parley/glm/penalties.h"

namespace parley::algorithms {

// Parameters that H is made for.
inline constexpr std::size_t kMostWarmParameters = 3000;

class WarmNewton {
 public:
  // The problem's penalties are those that `solve` begins with; it must outlive this object.
  static Result<WarmNewton> make(const Problem& problem);

  // The optimum under these penalties. `tolerance`: of the optimality condition, relative to the one at 0.
  Result<Fit> solve(const glm::Penalty& penalty, const ExactSettings& settings, const Observer& observer);

  // Of the mean loss where it stands, in the order of the parameters: class by class, each with its intercept last.
  [[nodiscard]] const std::vector<double>& gradient() const { return gradient_; }
  // The largest entry of the gradient that a penalty meets.
  [[nodiscard]] double largest_penalised_slope() const;

 private:
  explicit WarmNewton(const Problem& problem);
  [[nodiscard]] bool penalised(std::size_t coordinate) const;
  [[nodiscard]] double value_of(const glm::Penalty& penalty) const;
  [[nodiscard]] double violation(const glm::Penalty& penalty) const;
  [[nodiscard]] double promised(const glm::Penalty& penalty, const std::vector<double>& to) const;
  [[nodiscard]] std::vector<double> direction(const glm::Penalty& penalty, double tolerance) const;
  // Moves to the first of u + d, u + d/2, ... that is low enough; false where none is.
  bool move_along(const glm::Penalty& penalty, const std::vector<double>& direction);
  void stand_at(NewtonSums sums);
  void go_on_as_before(const glm::Penalty& penalty);
  [[nodiscard]] Result<void> check_minimum(const glm::Penalty& penalty) const;

  const Problem* problem_;
  RowShare share_;
  double records_;
  std::vector<double> parameters_;
  double loss_ = 0;                // mean, at the parameters
  std::vector<double> gradient_;   // likewise
  std::vector<double> curvature_;  // H, the upper triangle; of some point of the path
  bool curvature_is_here_ = false;
  double first_violation_ = 0;              // at 0, without penalties
  std::vector<double> last_, before_last_;  // ends of fits
};

// One fit, from 0.
Result<Fit> exact_by_warm_newton(const Problem& problem, const ExactSettings& settings, const Observer& observer);

}  // namespace parley::algorithms
