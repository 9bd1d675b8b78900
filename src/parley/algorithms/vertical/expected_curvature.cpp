#include "parley/algorithms/vertical/expected_curvature.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "parley/algorithms/parts/check.h"

namespace parley::algorithms {

namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using linalg::Index;

constexpr std::size_t kMostColumns = 4000;
constexpr std::size_t kMostCorners = 20;  // columns

// L A'A / n.
MatrixXd gram_of(const CurvatureProblem& problem) {
  const Index n = problem.features.rows(), d = problem.features.cols();
  MatrixXd gram(d, d);
  std::vector<double> column(static_cast<std::size_t>(n));
  for (Index j = 0; j < d; ++j) {
    std::fill(column.begin(), column.end(), 0.0);
    problem.features.column_axpy(j, 1.0, column);
    for (Index i = j; i < d; ++i) gram(i, j) = gram(j, i) = problem.features.column_dot(i, column);
  }
  return gram * (problem.loss_curvature / n);
}

MatrixXd pairs_of(const BlockSampling& sampling, Index blocks) {
  const std::vector<double> pairs = sampling.pairs();
  return Eigen::Map<const MatrixXd>(pairs.data(), blocks, blocks);
}

// The largest eigenvalue with the diagonal scaled to 1; a zero on the diagonal is a zero row.
double normalised(const MatrixXd& matrix) {
  VectorXd scale = matrix.diagonal();
  for (double& s : scale) s = s > 0 ? 1 / std::sqrt(s) : 0;
  const MatrixXd scaled = scale.asDiagonal() * matrix * scale.asDiagonal();
  return Eigen::SelfAdjointEigenSolver<MatrixXd>(scaled, Eigen::EigenvaluesOnly).eigenvalues().maxCoeff();
}

Result<void> check(const CurvatureProblem& problem, std::size_t most) {
  const auto d = static_cast<std::size_t>(problem.features.cols());
  PARLEY_CHECK(require(d <= most, "columns", fmt::format("must be at most {}", most), d));
  return require(problem.radii.size() == d, "radii", "needs one for each column", problem.radii.size());
}

}  // namespace

Result<CurvatureBounds> curvature_bounds(const CurvatureProblem& problem, const BlockSampling& sampling) {
  PARLEY_CHECK(check(problem, kMostColumns));
  const Index d = problem.features.cols();
  const MatrixXd gram = gram_of(problem);
  const VectorXd reach = 2 * Eigen::Map<const VectorXd>(problem.radii.data(), d);
  const MatrixXd moves = reach.asDiagonal() * gram * reach.asDiagonal();
  std::vector<std::size_t> party;
  for (std::size_t k = 0; k < problem.parties.size(); ++k) party.insert(party.end(), problem.parties[k], k);

  CurvatureBounds bounds;
  bounds.product = moves.trace();
  bounds.mu_1 = moves.diagonal().maxCoeff();
  for (Index i = 0; i < d; ++i)
    for (Index j = 0; j < i; ++j) {
      const double inner = std::abs(moves(i, j));  // signs are free
      bounds.mu_2 = std::max(bounds.mu_2, inner);
      const bool same = party[static_cast<std::size_t>(i)] == party[static_cast<std::size_t>(j)];
      (same ? bounds.mu_2_within : bounds.mu_3) = std::max(same ? bounds.mu_2_within : bounds.mu_3, inner);
    }
  const MatrixXd pairs = pairs_of(sampling, d);
  bounds.sigma_pairs = normalised(pairs);
  bounds.sigma_gram = normalised(gram);
  bounds.proposition_1 = std::min(bounds.sigma_pairs, bounds.sigma_gram) * pairs.diagonal().dot(moves.diagonal());
  const double parties = static_cast<double>(problem.parties.size());
  if (sampling.kind() == Sampling::kTauNice || sampling.kind() == Sampling::kDistributed) {
    const double tau = static_cast<double>(sampling.tau());
    if (sampling.kind() == Sampling::kTauNice)
      bounds.proposition_3 = tau * bounds.mu_1 + tau * (tau - 1) * bounds.mu_2;
    else
      bounds.proposition_4 = parties * tau * bounds.mu_1 + parties * tau * (tau - 1) * bounds.mu_2_within +
                             parties * (parties - 1) * tau * tau * bounds.mu_3;
  }
  return bounds;
}

Result<double> expected_curvature(const CurvatureProblem& problem, const BlockSampling& sampling) {
  PARLEY_CHECK(check(problem, kMostCorners));
  const Index d = problem.features.cols();
  const MatrixXd curved = pairs_of(sampling, d).cwiseProduct(gram_of(problem));
  double largest = 0;
  VectorXd corner(d);
  for (std::size_t signs = 0; signs < (std::size_t{1} << static_cast<std::size_t>(d)) / 2; ++signs) {
    for (Index i = 0; i < d; ++i)
      corner(i) =
          2 * problem.radii[static_cast<std::size_t>(i)] * ((signs >> static_cast<std::size_t>(i)) & 1 ? -1 : 1);
    largest = std::max(largest, corner.dot(curved * corner));
  }
  return largest;
}

double convergence_bound(double first_gap, double curvature, double p_min, double step, double rho) {
  return 2 * (first_gap + (1 + rho) * curvature / p_min) / (p_min * step + 2);
}

double gradient_inexactness(double gradient_error, double gamma, double curvature) {
  return 2 * gradient_error / (gamma * curvature);
}

double oracle_inexactness(double oracle_error, double gamma, double curvature) {
  return 2 * oracle_error / (gamma * curvature);
}

}  // namespace parley::algorithms
