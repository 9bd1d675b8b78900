// How sure the weights of a model are that maximises a likelihood: no penalty, no constraint, nothing private.
//
//   covariance   V = phi (n H)^-1,  H the Hessian of the mean loss; phi = 1, linear: residual sum of squares / (n - p)
//   statistic    z = w / se, linear: t with n - p degrees of freedom;  p = P(|Z| > |z|);  interval  w +- q se
//   deviance     residual 2 n loss, null that of the intercept alone (of zeros where there is no intercept)
//
// McCullagh & Nelder 1989. Weights and errors are per unit of the columns as they are in the table: with f_j = (x_j -
// c_j) s_j a weight is s_j w_j and the intercept b - sum_j c_j s_j w_j. Weights of records count as precision; then there
// is no null deviance.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "parley/algorithms/parts/final_curvature.h"
#include "parley/core/result.h"
#include "parley/glm/model.h"

namespace parley::runs {

struct Inference {
  struct Coefficient {
    std::string name;  // of the column; "(intercept)"
    double estimate = 0, standard_error = 0, statistic = 0, p_value = 0, lower = 0, upper = 0;
  };
  bool normal = true;  // z; else t
  double confidence = 0.95;
  double dispersion = 1;
  std::optional<double> null_deviance;
  double residual_deviance = 0;
  std::size_t null_degrees = 0, residual_degrees = 0;
  std::vector<Coefficient> coefficients;
};

struct LikelihoodFit {
  const glm::Model& model;
  const algorithms::FinalCurvature& end;
  std::size_t records = 0;
  bool weighted = false;
};

// An error says why there is none: columns that depend on each other, too few records.
Result<Inference> infer(const LikelihoodFit& fit);

std::string to_json(const Inference& inference);
std::string table(const Inference& inference);

// Two-sided: P(|T| > |t|) of Student's t with so many degrees of freedom; of the normal distribution without.
double tail_of(double statistic, std::optional<double> degrees);
// The number that |T| exceeds with probability `tail`.
double quantile_of(double tail, std::optional<double> degrees);

}  // namespace parley::runs
