// Constraint sets: projection, linear minimiser, support function and membership.
//
//   l1 ball   ||w||_1 <= r            vertices +-r e_j; support sup <u, w> = r ||u||_inf
//   box       lower <= w_j <= upper   support sum_j max(lower u_j, upper u_j)
//   k-sparse  at most k nonzeros in each class's d weights; not convex: projection is hard thresholding
//
// Ties are broken by the smaller index everywhere, so equal inputs give equal outputs.
#pragma once
#include <cstddef>
#include <span>

namespace parley::glm {

// A vertex of the l1 ball: `value` at one coordinate, zero elsewhere.
struct Vertex {
  std::size_t coordinate = 0;
  double value = 0;
};

struct L1Ball {
  double radius = 1;

  // Duchi et al. 2008: soft-threshold by the theta that meets the radius, found by repeated selection in
  // O(d) expected time. Points inside stay as they are.
  void project(std::span<double> w) const;
  // argmin over the ball of <g, w>: -sign(g_j) r e_j at the largest |g_j|.
  [[nodiscard]] Vertex minimise_linear(std::span<const double> g) const;
  [[nodiscard]] double support(std::span<const double> u) const;
  [[nodiscard]] bool contains(std::span<const double> w, double slack = 0) const;
};

struct Box {
  double lower = -1;
  double upper = 1;

  void project(std::span<double> w) const;
  void minimise_linear(std::span<const double> g, std::span<double> w) const;
  [[nodiscard]] double support(std::span<const double> u) const;
  [[nodiscard]] bool contains(std::span<const double> w, double slack = 0) const;
};

struct SparseSet {
  std::size_t nonzeros = 1;  // k, per class
  std::size_t classes = 1;   // w holds this many blocks of equal length

  // Keeps the k largest in absolute value of each class and sets the rest to zero.
  void project(std::span<double> w) const;
  [[nodiscard]] bool contains(std::span<const double> w) const;
};

}  // namespace parley::glm
