#include "parley/algorithms/vertical/ridge_gradients.h"

#include <algorithm>
#include <cmath>

#include "parley/linalg/vectors.h"

namespace parley::algorithms {

namespace {

constexpr double kAccuracy = 1e-13;  // of the right-hand side
constexpr int kMostSteps = 5000;

}  // namespace

Result<void> RidgeGradients::set_rho(const ColumnShare& share, double rho) {
  ridge_ = l2_ / rho;
  diagonal_ = share.features.column_squared_norms();
  if (share.constant) diagonal_.push_back(static_cast<double>(share.features.rows()));
  for (double& entry : diagonal_) entry = entry + ridge_ > 0 ? entry + ridge_ : 1.0;
  return {};
}

Result<void> RidgeGradients::solve(const ColumnShare& share, std::span<const double> target, std::span<double> x) {
  const auto applied = [&](std::span<const double> v) {
    std::vector<double> out = products_of(share, margins_of(share, v));
    linalg::axpy(ridge_, v, out);
    return out;
  };
  const std::vector<double> right = products_of(share, target);
  std::vector<double> residual = right;
  linalg::axpy(-1.0, applied(x), residual);
  const double enough = kAccuracy * linalg::l2_norm(right);
  std::vector<double> direction(x.size(), 0.0), scaled(x.size());
  double before = 0;
  for (int step = 0; step < kMostSteps && linalg::l2_norm(residual) > enough; ++step) {
    for (std::size_t j = 0; j < x.size(); ++j) scaled[j] = residual[j] / diagonal_[j];
    const double now = linalg::dot(residual, scaled);
    if (!(now > 0)) break;
    linalg::scale(step == 0 ? 0.0 : now / before, direction);
    linalg::axpy(1.0, scaled, direction);
    const std::vector<double> along = applied(direction);
    const double curvature = linalg::dot(direction, along);
    if (!(curvature > 0)) break;
    linalg::axpy(now / curvature, direction, x);
    linalg::axpy(-now / curvature, along, residual);
    before = now;
  }
  if (!std::isfinite(linalg::l2_norm(x)))
    return fail(failed("the party's features hold numbers too large to solve for"));
  return {};
}

}  // namespace parley::algorithms
