// The softmax (multinomial logistic) loss of K margins m and a class y in {0, ..., K-1}:
//
//   phi(m, y)     = lse(m) - m_y,          lse(m) = log sum_k e^(m_k)
//   grad          = p - e_y,               p = softmax(m)
//   Hessian       = diag(p) - p p',        at most 1/2 in norm (Boehning 1992)
//   phi*(u, y)    = sum_k q_k log q_k      q = u + e_y in the simplex; +infinity elsewhere
//   prox(step, v) = argmin_m step phi(m, y) + 1/2 ||m - v||^2
//
// Margins of one row are K numbers; in and out may be the same memory unless said otherwise.
#pragma once
#include <span>

namespace parley::glm {

struct Softmax {
  static constexpr double kCurvature = 0.5;

  static double log_sum_exp(std::span<const double> m);
  static double value(std::span<const double> m, int y);
  static void probabilities(std::span<const double> m, std::span<double> p);
  static void gradient(std::span<const double> m, int y, std::span<double> out);
  // out = (diag(p) - p p') v for p = softmax(m).
  static void hessian_product(std::span<const double> p, std::span<const double> v, std::span<double> out);
  // `slack` is how far rounding may have pushed q out of the simplex (in its sum and below 0).
  static double conjugate(std::span<const double> u, int y, double slack = 1e-12);
  static void prox(double step, std::span<const double> v, int y, std::span<double> out);
};

// Wright's omega: the z > 0 with z + log z = x (Corless and Jeffrey 2002).
double wright_omega(double x);

}  // namespace parley::glm
