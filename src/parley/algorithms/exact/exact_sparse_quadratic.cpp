#include "parley/algorithms/exact/exact_sparse_quadratic.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "parley/algorithms/parts/cholesky.h"
#include "parley/algorithms/parts/lanes.h"

namespace parley::algorithms {

namespace {

double sign(double x) {
  return static_cast<double>(x > 0) - static_cast<double>(x < 0);
}

double soft_threshold(double x, double by) {
  return x > by ? x - by : (x < -by ? x + by : 0.0);
}

PARLEY_INLINE void add_scaled_body(double* into, const double* from, double factor, std::size_t size) {
  for (std::size_t k = 0; k < size; ++k) into[k] += factor * from[k];
}
PARLEY_KERNEL(void, add_scaled, (double* into, const double* from, double factor, std::size_t size),
              (into, from, factor, size))

// Added to the diagonal of a factored block, relative to its largest entry: makes dependent columns
// factorable; the gradient itself stays exact, so repeated steps still converge to the true minimiser.
constexpr double kRidge = 1e-10;

}  // namespace

QuadraticModel::QuadraticModel(std::vector<double> hessian, std::vector<double> gradient, std::vector<double> origin,
                               std::vector<char> penalised)
    : size_(gradient.size()),
      hessian_(std::move(hessian)),
      origin_gradient_(std::move(gradient)),
      origin_(std::move(origin)),
      penalised_(std::move(penalised)),
      u_(origin_),
      gradient_(origin_gradient_),
      all_(size_) {
  std::iota(all_.begin(), all_.end(), std::size_t{0});
}

double QuadraticModel::coordinate_violation(std::size_t j, double lambda) const {
  if (!penalised_[j]) return std::abs(gradient_[j]);
  return u_[j] != 0.0 ? std::abs(gradient_[j] + lambda * sign(u_[j])) : std::max(0.0, std::abs(gradient_[j]) - lambda);
}

double QuadraticModel::violation(double lambda) const {
  double worst = 0;
  for (std::size_t j = 0; j < size_; ++j) worst = std::max(worst, coordinate_violation(j, lambda));
  return worst;
}

double QuadraticModel::norm() const {
  double sum = 0;
  for (std::size_t j = 0; j < size_; ++j)
    if (penalised_[j]) sum += std::abs(u_[j]);
  return sum;
}

void QuadraticModel::refresh_gradient() {
  gradient_ = origin_gradient_;
  for (std::size_t j = 0; j < size_; ++j) {
    const double move = u_[j] - origin_[j];
    if (move != 0.0) add_scaled(gradient_.data(), hessian_.data() + j * size_, move, size_);
  }
}

// One pass of coordinate descent; returns the largest violation met on the way.
double QuadraticModel::sweep(std::span<const std::size_t> coordinates, double lambda) {
  double worst = 0;
  for (const std::size_t j : coordinates) {
    const double curvature = hessian_[j * size_ + j];
    const double wrong = coordinate_violation(j, lambda);
    if (!(curvature > 0) || wrong == 0.0) continue;
    worst = std::max(worst, wrong);
    const double threshold = penalised_[j] ? lambda / curvature : 0.0;
    const double next = soft_threshold(u_[j] - gradient_[j] / curvature, threshold);
    const double move = next - u_[j];
    if (move == 0.0) continue;
    u_[j] = next;
    add_scaled(gradient_.data(), hessian_.data() + j * size_, move, size_);
  }
  return worst;
}

void QuadraticModel::collect_active() {
  active_.clear();
  for (std::size_t j = 0; j < size_; ++j)
    if ((!penalised_[j] || u_[j] != 0.0) && hessian_[j * size_ + j] > 0) active_.push_back(j);
}

bool QuadraticModel::factor_active() {
  const std::size_t count = active_.size();
  factor_.resize(count * count);
  double largest = 0;
  for (std::size_t b = 0; b < count; ++b) {
    const double* const column = hessian_.data() + active_[b] * size_;
    for (std::size_t a = 0; a <= b; ++a) factor_[b * count + a] = column[active_[a]];
    largest = std::max(largest, factor_[b * count + b]);
  }
  for (std::size_t b = 0; b < count; ++b) factor_[b * count + b] += kRidge * largest;
  return cholesky(factor_, count);
}

double QuadraticModel::value(std::span<const double> u, std::span<const double> gradient, double lambda) const {
  double sum = 0;
  for (std::size_t j = 0; j < size_; ++j) {
    sum += 0.5 * (u[j] - origin_[j]) * (gradient[j] + origin_gradient_[j]);
    if (penalised_[j]) sum += lambda * std::abs(u[j]);
  }
  return sum;
}

// The minimiser for the present signs, or as far towards it as the model keeps falling.
// Returns whether all signs held, so that the active coordinates are now optimal.
bool QuadraticModel::newton_step(double lambda) {
  collect_active();
  if (active_.empty()) return true;
  if (!factor_active()) return true;
  const std::size_t count = active_.size();
  std::vector<double> step(count);
  for (std::size_t a = 0; a < count; ++a) {
    const std::size_t j = active_[a];
    step[a] = -(gradient_[j] + (penalised_[j] ? lambda * sign(u_[j]) : 0.0));
  }
  cholesky_solve(factor_, count, step);

  double reach = 1;
  for (std::size_t a = 0; a < count; ++a) {
    const std::size_t j = active_[a];
    if (penalised_[j] && u_[j] * (u_[j] + step[a]) <= 0) reach = std::min(reach, -u_[j] / step[a]);
  }
  const std::vector<double> before = u_;
  const double value_before = value(u_, gradient_, lambda);
  const auto move = [&](double length) {
    u_ = before;
    for (std::size_t a = 0; a < count; ++a) {
      const std::size_t j = active_[a];
      const double next = u_[j] + length * step[a];
      // A coordinate that arrives at zero must be zero exactly: it is the one that cut the step.
      const bool crossed = penalised_[j] && (u_[j] * next <= 0 || -u_[j] / step[a] == length);
      u_[j] = crossed ? 0.0 : next;
    }
    refresh_gradient();
  };
  move(1);
  if (reach == 1) {
    // Nearly dependent columns can spoil the factor; a step that climbs is taken back.
    const double rounding = 1e-13 * std::abs(value_before);
    const bool fell = value(u_, gradient_, lambda) <= value_before + rounding;
    if (!fell) move(0);
    return true;
  }
  if (value(u_, gradient_, lambda) >= value_before) move(reach);
  return false;
}

void QuadraticModel::minimise(double lambda, double tolerance) {
  constexpr int kRounds = 40;
  constexpr int kPatience = 3;
  double least_violation = std::numeric_limits<double>::infinity();
  double least_value = std::numeric_limits<double>::infinity();
  int idle = 0;
  for (int round = 0; round < kRounds; ++round) {
    sweep(all_, lambda);
    const double wrong = violation(lambda);
    if (wrong <= tolerance) return;
    const double reached = value(u_, gradient_, lambda);
    idle = wrong < 0.5 * least_violation || reached < least_value - 1e-14 * std::abs(least_value) ? 0 : idle + 1;
    if (idle == kPatience) return;
    least_violation = std::min(least_violation, wrong);
    least_value = std::min(least_value, reached);
    collect_active();
    // As many sweeps as cost about half a factorisation of the active block.
    const std::size_t affordable = 4 + active_.size() * active_.size() / (6 * size_ + 1);
    bool settled = false;
    for (std::size_t k = 0; k < affordable && !settled; ++k) settled = sweep(active_, lambda) <= 0.3 * tolerance;
    if (settled) continue;
    for (int cut = 0; cut < 8 && !newton_step(lambda); ++cut) {
    }
  }
}

// Newton's method on norm - radius: on the present signs u = H_AA^-1 (c - lambda s), so the norm s'u falls
// with slope s' H_AA^-1 s.
double QuadraticModel::next_multiplier(double lambda, double excess) {
  collect_active();
  if (norm() > 0 && factor_active()) {
    std::vector<double> signs(active_.size());
    for (std::size_t a = 0; a < active_.size(); ++a) signs[a] = penalised_[active_[a]] ? sign(u_[active_[a]]) : 0.0;
    std::vector<double> response = signs;
    cholesky_solve(factor_, active_.size(), response);
    const double slope = std::inner_product(signs.begin(), signs.end(), response.begin(), 0.0);
    if (slope > 0) return lambda + excess / slope;
  }
  double steepest = 0;
  for (std::size_t j = 0; j < size_; ++j)
    if (penalised_[j]) steepest = std::max(steepest, std::abs(gradient_[j]));
  return 0.7 * std::min(lambda, steepest);
}

// Along a direction with hardly any curvature, as nearly equal columns have one, the norm leaps while the multiplier
// cannot be told from its neighbour. Both ends of the leap minimise the same function, and so does every point between
// them: u becomes the one whose norm is the radius.
void QuadraticModel::meet_the_ball(std::span<const double> inside, std::span<const double> outside, double radius) {
  double low = 0, high = 1;  // shares of `outside`
  for (int halving = 0; halving < 200 && low < high; ++halving) {
    const double share = 0.5 * (low + high);
    if (share == low || share == high) break;
    for (std::size_t j = 0; j < size_; ++j) u_[j] = (1 - share) * inside[j] + share * outside[j];
    (norm() > radius ? high : low) = share;
  }
  for (std::size_t j = 0; j < size_; ++j) u_[j] = (1 - low) * inside[j] + low * outside[j];
  refresh_gradient();
}

double QuadraticModel::minimise_on_ball(double radius, double least_lambda, double first_lambda, double tolerance) {
  double low = least_lambda;
  double high = std::numeric_limits<double>::infinity();
  double lambda = std::max(first_lambda, least_lambda);
  double last_width = high;
  std::vector<double> inside, outside;  // minimisers for the multipliers high and low
  for (int round = 0; round < 100; ++round) {
    // Rough solutions will do on the way down to the right multiplier.
    minimise(lambda, std::max(tolerance, 1e-3 * lambda));
    double excess = norm() - radius;
    if (excess > -0.2 * radius || lambda == least_lambda) {
      minimise(lambda, tolerance);
      excess = norm() - radius;
    }
    if (std::abs(excess) <= 1e-14 * radius || (excess < 0 && lambda == least_lambda)) break;
    (excess > 0 ? low : high) = lambda;
    (excess > 0 ? outside : inside) = u_;
    if (std::isfinite(high) && high - low <= 4e-16 * high) break;
    if (!std::isfinite(high)) {
      lambda *= 2;
      continue;
    }
    // Small multipliers are approached step by step from above: far below the right one the model
    // is nearly without penalty, and dependent columns make its minimiser huge.
    const double next = std::max({next_multiplier(lambda, excess), 0.02 * lambda, least_lambda});
    const bool slow = round % 3 == 2 && high - low > 0.5 * last_width;
    if (round % 3 == 2) last_width = high - low;
    lambda = next > low && next < high && !slow ? next : std::max(least_lambda, std::sqrt(low * high));
    if (next == least_lambda && low == least_lambda) lambda = least_lambda;
    if (lambda <= low || lambda >= high) lambda = 0.5 * (low + high);
  }
  if (std::abs(norm() - radius) > 1e-14 * radius && !inside.empty() && !outside.empty())
    meet_the_ball(inside, outside, radius);
  if (const double length = norm(); length > radius) {
    const double shrink = radius / length * (1 - std::numeric_limits<double>::epsilon());
    for (std::size_t j = 0; j < size_; ++j)
      if (penalised_[j]) u_[j] *= shrink;
    refresh_gradient();
  }
  return lambda;
}

}  // namespace parley::algorithms
