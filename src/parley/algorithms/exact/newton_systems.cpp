#include "parley/algorithms/exact/newton_systems.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "parley/algorithms/parts/cholesky.h"

namespace parley::algorithms {

namespace {

double inner(std::span<const double> a, std::span<const double> b) {
  double s[4] = {};
  std::size_t j = 0;
  for (; j + 4 <= a.size(); j += 4)
    for (std::size_t l = 0; l < 4; ++l) s[l] += a[j + l] * b[j + l];
  for (; j < a.size(); ++j) s[0] += a[j] * b[j];
  return (s[0] + s[1]) + (s[2] + s[3]);
}

class GramSolver : public NewtonSolver {
 public:
  explicit GramSolver(const NewtonSystem& system) : system_(system) {}

  void solve(std::span<const double> c, std::span<const double> gradient, double, std::span<double> step) override {
    const std::size_t d = system_.rows.columns();
    if (!is_still_good(c)) factor(c);
    ++uses_;
    for (std::size_t j = 0; j < d; ++j) step[j] = -gradient[j];
    cholesky_solve(factor_, d, step);
  }

 private:
  // Curvatures that differ from the factored ones by a share s make a step that leaves some s^2 of the
  // suboptimality: near the end one or two such steps are cheaper than a new matrix. Where nothing is
  // penalised they are not, as weights that run away are told from others by full steps.
  [[nodiscard]] bool is_still_good(std::span<const double> c) const {
    constexpr double kShare = 0.02;
    constexpr int kMostUses = 3;
    if (factor_.empty()) return false;
    if (system_.constant_curvature) return true;
    if (uses_ >= kMostUses || system_.penalties.front() == 0) return false;
    double changed = 0;
    double total = 0;
    for (std::size_t i = 0; i < c.size(); ++i) {
      changed += std::abs(c[i] - factored_[i]);
      total += factored_[i];
    }
    return changed <= kShare * total;
  }

  // Columns that depend on others make the matrix singular when nothing is penalised. A ridge far
  // below the data's own curvature then picks one of the equally good steps.
  void factor(std::span<const double> c) {
    const std::size_t d = system_.rows.columns();
    uses_ = 0;
    factored_.assign(c.begin(), c.end());
    factor_.resize(d * d);
    system_.rows.gram(c, factor_);
    double largest = 0;
    for (std::size_t j = 0; j < d; ++j) {
      factor_[j * d + j] += system_.penalties[j];
      largest = std::max(largest, factor_[j * d + j]);
    }
    if (!(largest > 0)) largest = 1;
    std::vector<double> original(d);
    for (std::size_t j = 0; j < d; ++j) original[j] = factor_[j * d + j];
    const std::vector<double> formed = factor_;
    for (double ridge = 1e-13 * largest; !cholesky(factor_, d); ridge *= 10) {
      factor_ = formed;
      for (std::size_t j = 0; j < d; ++j) factor_[j * d + j] = original[j] + ridge;
    }
  }

  NewtonSystem system_;
  int uses_ = 0;                  // of the factor
  std::vector<double> factored_;  // the curvatures behind it
  std::vector<double> factor_;
};

class KernelSolver : public NewtonSolver {
 public:
  explicit KernelSolver(const NewtonSystem& system) : system_(system) {
    const std::size_t n = system.rows.rows();
    kernel_.resize(n * n);
    system.rows.kernel(kernel_);
  }

  void solve(std::span<const double> c, std::span<const double> gradient, double, std::span<double> step) override {
    const std::size_t n = system_.rows.rows();
    const double l2 = system_.penalties.front();
    std::vector<double> root(n);
    for (std::size_t i = 0; i < n; ++i) root[i] = std::sqrt(c[i]);
    if (factor_.empty() || !system_.constant_curvature) {
      factor_.resize(n * n);
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j <= i; ++j) factor_[i * n + j] = root[i] * kernel_[i * n + j] * root[j];
      for (std::size_t i = 0; i < n; ++i) factor_[i * n + i] += l2;
      for (double ridge = 1e-14 * l2; !cholesky(factor_, n); ridge *= 10) {
        for (std::size_t i = 0; i < n; ++i)
          for (std::size_t j = 0; j <= i; ++j) factor_[i * n + j] = root[i] * kernel_[i * n + j] * root[j];
        for (std::size_t i = 0; i < n; ++i) factor_[i * n + i] += l2 + ridge;
      }
    }
    std::vector<double> z(n);
    system_.rows.multiply(gradient, z);
    for (std::size_t i = 0; i < n; ++i) z[i] *= -root[i];
    cholesky_solve(factor_, n, z);
    for (std::size_t i = 0; i < n; ++i) z[i] *= root[i];
    system_.rows.multiply_transposed(z, step);
    for (std::size_t j = 0; j < step.size(); ++j) step[j] = -(gradient[j] + step[j]) / l2;
  }

 private:
  NewtonSystem system_;
  std::vector<double> kernel_;
  std::vector<double> factor_;
};

class CgSolver : public NewtonSolver {
 public:
  explicit CgSolver(const NewtonSystem& system) : system_(system) {}

  void solve(std::span<const double> c, std::span<const double> gradient, double forcing,
             std::span<double> step) override {
    const std::span<const double> penalties = system_.penalties;
    std::vector<double> diagonal(penalties.size());
    system_.rows.curvature_diagonal(c, diagonal);
    for (std::size_t j = 0; j < diagonal.size(); ++j) diagonal[j] += penalties[j];
    const auto product = [&](std::span<const double> v, std::span<double> out) {
      system_.rows.curvature_product(c, v, out);
      for (std::size_t j = 0; j < out.size(); ++j) out[j] += penalties[j] * v[j];
    };
    conjugate_gradients(product, diagonal, gradient, forcing, step);
  }

 private:
  NewtonSystem system_;
};

}  // namespace

void conjugate_gradients(const Product& product, std::span<const double> diagonal, std::span<const double> gradient,
                         double forcing, std::span<double> step) {
  constexpr int kMostProducts = 500;
  const std::size_t size = gradient.size();
  std::vector<double> inverse(size);
  std::vector<double> residual(size);
  std::vector<double> direction(size);
  std::vector<double> image(size);
  double along = 0;  // <residual, residual / diagonal>
  for (std::size_t j = 0; j < size; ++j) {
    inverse[j] = diagonal[j] > 0 ? 1 / diagonal[j] : 1;
    residual[j] = -gradient[j];
    direction[j] = inverse[j] * residual[j];
    along += direction[j] * residual[j];
    step[j] = 0;
  }
  const double target = forcing * forcing * along;
  for (int k = 0; k < kMostProducts && along > 0; ++k) {
    product(direction, image);
    const double curvature = inner(direction, image);
    if (!(curvature > 0)) {
      // No row sees this direction. As the first one it is still a way down.
      if (k == 0) std::copy(direction.begin(), direction.end(), step.begin());
      break;
    }
    const double a = along / curvature;
    double next = 0;
    for (std::size_t j = 0; j < size; ++j) {
      step[j] += a * direction[j];
      residual[j] -= a * image[j];
      next += residual[j] * residual[j] * inverse[j];
    }
    if (next <= target) break;
    const double b = next / along;
    along = next;
    for (std::size_t j = 0; j < size; ++j) direction[j] = inverse[j] * residual[j] + b * direction[j];
  }
}

std::unique_ptr<NewtonSolver> make_solver(Solver solver, const NewtonSystem& system) {
  switch (solver) {
    case Solver::kGram:
      return std::make_unique<GramSolver>(system);
    case Solver::kKernel:
      return std::make_unique<KernelSolver>(system);
    case Solver::kCg:
      return std::make_unique<CgSolver>(system);
  }
  return nullptr;
}

Solver fastest_solver(const NewtonSystem& system) {
  const auto n = static_cast<double>(system.rows.rows());
  const auto d = static_cast<double>(system.rows.columns());
  const auto nonzeros = static_cast<double>(system.rows.nonzeros());
  // Operations per Newton step; a step by conjugate gradients takes some thirty products, and many
  // more when columns differ in scale, which a factor does not mind.
  constexpr double kProducts = 60;
  const double by_cg = kProducts * 2 * nonzeros;
  const double by_gram = system.rows.pair_count() / 2 + d * d * d / 24;
  const double by_kernel = n * n * n / 24 + n * nonzeros / 16;
  const bool alike = std::all_of(system.penalties.begin(), system.penalties.end(),
                                 [&](double l2) { return l2 > 0 && l2 == system.penalties.front(); });
  constexpr double kLargestSquare = 4000;  // columns or rows: 128 MB
  if (d <= kLargestSquare && by_gram <= by_cg && (!alike || by_gram <= by_kernel)) return Solver::kGram;
  if (alike && n <= kLargestSquare && by_kernel <= by_cg) return Solver::kKernel;
  return Solver::kCg;
}

}  // namespace parley::algorithms
