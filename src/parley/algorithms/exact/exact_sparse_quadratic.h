// Quadratic models of small dense Hessians, under an l1 penalty or on an l1 ball.
//
//   q(u) = g'(u - w) + 1/2 (u - w)'H(u - w)
//   penalised:  minimise q(u) + lambda * sum over the penalised coordinates of |u_j|
//   ball:       minimise q(u) + lambda_0 * (the same sum)   with that sum at most the radius
//
// Coordinate descent finds the signs; on fixed signs the minimiser solves a linear system, so a
// Cholesky step ends what coordinate descent would take long to finish. The step is cut where a
// sign would change: a direction without curvature along which the penalty falls is followed until
// a coordinate reaches zero, which is how dependent columns leave the support. The ball is a search
// for the multiplier lambda: on fixed signs the norm of u(lambda) is linear in lambda, so Newton's
// method on "norm - radius" ends after finitely many sign patterns.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

namespace parley::algorithms {

class QuadraticModel {
 public:
  // hessian: size x size, both triangles, positive semidefinite. penalised: 1 or 0 per coordinate.
  QuadraticModel(std::vector<double> hessian, std::vector<double> gradient, std::vector<double> origin,
                 std::vector<char> penalised);

  // Both start from the current u (at first the origin) and stop when no coordinate violates its
  // optimality condition by more than `tolerance`, or when rounding allows no further progress.
  void minimise(double lambda, double tolerance);
  // Returns the multiplier; it is at least `least_lambda`, and equal to it inside the ball.
  double minimise_on_ball(double radius, double least_lambda, double first_lambda, double tolerance);

  [[nodiscard]] std::span<const double> solution() const { return u_; }
  // Largest violation of the optimality conditions of the penalised problem at u.
  [[nodiscard]] double violation(double lambda) const;
  [[nodiscard]] double norm() const;  // sum of |u_j| over the penalised coordinates

  // Hands the Hessian back, for reuse.
  [[nodiscard]] std::vector<double> release_hessian() && { return std::move(hessian_); }

 private:
  [[nodiscard]] double coordinate_violation(std::size_t j, double lambda) const;
  double sweep(std::span<const std::size_t> coordinates, double lambda);
  void collect_active();
  [[nodiscard]] bool factor_active();
  bool newton_step(double lambda);
  [[nodiscard]] double next_multiplier(double lambda, double excess);
  void meet_the_ball(std::span<const double> inside, std::span<const double> outside, double radius);
  [[nodiscard]] double value(std::span<const double> u, std::span<const double> gradient, double lambda) const;
  void refresh_gradient();

  std::size_t size_;
  std::vector<double> hessian_;
  std::vector<double> origin_gradient_;
  std::vector<double> origin_;
  std::vector<char> penalised_;
  std::vector<double> u_;
  std::vector<double> gradient_;  // of q at u
  std::vector<std::size_t> all_;
  std::vector<std::size_t> active_;  // unpenalised or nonzero
  std::vector<double> factor_;       // lower Cholesky factor of the active block
};

}  // namespace parley::algorithms
