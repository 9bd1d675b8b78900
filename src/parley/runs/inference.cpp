#include "parley/runs/inference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "parley/algorithms/parts/cholesky.h"
#include "parley/core/text.h"

namespace parley::runs {

namespace {

// The regularised incomplete beta function by its continued fraction (Lentz), for x below its mode's side.
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  double c = 1, d = 1 - (a + b) * x / (a + 1);
  d = 1 / (std::abs(d) < kTiny ? kTiny : d);
  double fraction = d;
  const auto take = [&](double numerator) {
    d = 1 + numerator * d;
    d = 1 / (std::abs(d) < kTiny ? kTiny : d);
    c = 1 + numerator / c;
    if (std::abs(c) < kTiny) c = kTiny;
    fraction *= c * d;
  };
  for (int m = 1; m < 1000; ++m) {
    take(m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)));
    const double before = fraction;
    take(-(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)));
    if (std::abs(fraction - before) <= 1e-16 * std::abs(fraction)) break;
  }
  return fraction;
}

double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
  return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

// (n H)^-1 without the factor 1/n: the inverse of a symmetric matrix given by its triangle. Column by column the share of
// each that others do not explain tells whether there is one.
Result<std::vector<double>> inverse_of(const std::vector<double>& triangle, std::size_t size,
                                       const std::vector<std::string>& names) {
  std::vector<double> square(size * size), scale(size);
  for (std::size_t a = 0, at = 0; a < size; ++a)
    for (std::size_t b = a; b < size; ++b, ++at) square[a * size + b] = square[b * size + a] = triangle[at];
  for (std::size_t a = 0; a < size; ++a) {
    const double own = square[a * size + a];
    if (!(own > 0))
      return fail(failed(fmt::format("column '{}' says nothing about any record", printable(names[a], 40))));
    scale[a] = 1 / std::sqrt(own);
  }
  for (std::size_t a = 0; a < size; ++a)
    for (std::size_t b = 0; b < size; ++b) square[a * size + b] *= scale[a] * scale[b];
  constexpr double kOwnShare = 1e-10;
  std::vector<double> factor = square;
  bool whole = algorithms::cholesky(factor, size);
  std::size_t weakest = 0;
  double least = 1;
  for (std::size_t a = 0; whole && a < size; ++a) {
    const double share = factor[a * size + a] * factor[a * size + a];
    if (share < least) {
      least = share;
      weakest = a;
    }
  }
  if (!whole || least < kOwnShare)
    return fail(
        failed(fmt::format("columns depend on each other{}: leave one of them out",
                           whole ? fmt::format(" ('{}' follows from others)", printable(names[weakest], 40)) : "")));
  std::vector<double> inverse(size * size), unit(size);
  for (std::size_t a = 0; a < size; ++a) {
    std::fill(unit.begin(), unit.end(), 0.0);
    unit[a] = 1;
    algorithms::cholesky_solve(factor, size, unit);
    for (std::size_t b = 0; b < size; ++b) inverse[a * size + b] = unit[b] * scale[a] * scale[b];
  }
  return inverse;
}

// From what the loss and its slope are at 0, where every margin is 0.
std::optional<double> null_deviance(const LikelihoodFit& fit, bool with_intercept) {
  if (fit.weighted) return std::nullopt;
  const double n = static_cast<double>(fit.records), loss = fit.end.first_loss, slope = fit.end.first_slope;
  if (!with_intercept) return 2 * n * loss;
  const auto x_log_x = [](double x) { return glm::x_log_x(x); };
  switch (fit.model.task) {
    case glm::Task::kLinear:  // loss = mean y^2 / 2, slope = -mean y
      return n * (2 * loss - slope * slope);
    case glm::Task::kLogistic: {  // slope = 1/2 - share of positives
      const double share = std::clamp(0.5 - slope, 0.0, 1.0);
      return -2 * n * (x_log_x(share) + x_log_x(1 - share));
    }
    case glm::Task::kPoisson: {  // loss = 1 + mean(y log y) - mean y, slope = 1 - mean y
      const double mean = 1 - slope;
      return 2 * n * (loss - 1 + mean - x_log_x(mean));
    }
    default:
      return std::nullopt;
  }
}

}  // namespace

double tail_of(double statistic, std::optional<double> degrees) {
  if (!degrees) return std::erfc(std::abs(statistic) / std::sqrt(2.0));
  return incomplete_beta(*degrees / 2, 0.5, *degrees / (*degrees + statistic * statistic));
}

double quantile_of(double tail, std::optional<double> degrees) {
  double low = 0, high = 1;
  while (tail_of(high, degrees) > tail && high < 1e12) high *= 2;
  for (int i = 0; i < 200 && high - low > 1e-14 * high; ++i) {
    const double middle = 0.5 * (low + high);
    (tail_of(middle, degrees) > tail ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

Result<Inference> infer(const LikelihoodFit& fit) {
  const glm::Model& model = fit.model;
  const std::size_t columns = model.columns.size();
  const bool with_intercept = !model.intercepts.empty();
  const std::size_t size = columns + (with_intercept ? 1 : 0);
  if (fit.end.triangle.size() != size * (size + 1) / 2) return fail(failed("the fit did not end at a known curvature"));
  if (fit.records <= size)
    return fail(failed(fmt::format("{} for {}: too few", counted(static_cast<long long>(fit.records), "record"),
                                   counted(static_cast<long long>(size), "parameter"))));
  std::vector<std::string> names = model.columns;
  if (with_intercept) names.emplace_back("(intercept)");
  PARLEY_TRY(const std::vector<double> inverse, inverse_of(fit.end.triangle, size, names));

  const auto n = static_cast<double>(fit.records);
  const bool linear = model.task == glm::Task::kLinear;
  Inference found{.normal = !linear};
  found.residual_degrees = fit.records - size;
  found.null_degrees = fit.records - (with_intercept ? 1 : 0);
  found.residual_deviance = 2 * n * fit.end.loss;
  found.null_deviance = null_deviance(fit, with_intercept);
  if (linear) found.dispersion = found.residual_deviance / static_cast<double>(found.residual_degrees);
  const std::optional<double> degrees =
      linear ? std::optional(static_cast<double>(found.residual_degrees)) : std::nullopt;
  const double reach = quantile_of(1 - found.confidence, degrees);

  const std::vector<double> weights = model.raw_weights();
  const auto scale = [&](std::size_t j) { return model.scales.empty() ? 1.0 : model.scales[j]; };
  const auto add = [&](const std::string& name, double estimate, double variance) {
    const double error = std::sqrt(std::max(variance, 0.0) * found.dispersion / n);
    const double statistic = estimate / error;
    found.coefficients.push_back({name, estimate, error, statistic, tail_of(statistic, degrees),
                                  estimate - reach * error, estimate + reach * error});
  };
  if (with_intercept) {
    std::vector<double> along(size, 0.0);
    along.back() = 1;
    for (std::size_t j = 0; j < columns && !model.centers.empty(); ++j) along[j] = -model.centers[j] * scale(j);
    double variance = 0;
    for (std::size_t a = 0; a < size; ++a)
      for (std::size_t b = 0; b < size; ++b) variance += along[a] * inverse[a * size + b] * along[b];
    add(names.back(), model.raw_intercepts().front(), variance);
  }
  for (std::size_t j = 0; j < columns; ++j) add(names[j], weights[j], scale(j) * scale(j) * inverse[j * size + j]);
  return found;
}

std::string to_json(const Inference& inference) {
  using Json = nlohmann::ordered_json;
  const auto finite = [](double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); };
  Json json{{"statistic", inference.normal ? "z" : "t"},
            {"confidence", inference.confidence},
            {"dispersion", finite(inference.dispersion)},
            {"null_deviance", inference.null_deviance ? finite(*inference.null_deviance) : Json(nullptr)},
            {"residual_deviance", finite(inference.residual_deviance)},
            {"null_degrees", inference.null_degrees},
            {"residual_degrees", inference.residual_degrees},
            {"coefficients", Json::array()}};
  for (const Inference::Coefficient& one : inference.coefficients)
    json["coefficients"].push_back({{"name", one.name},
                                    {"estimate", finite(one.estimate)},
                                    {"standard_error", finite(one.standard_error)},
                                    {"statistic", finite(one.statistic)},
                                    {"p_value", finite(one.p_value)},
                                    {"lower", finite(one.lower)},
                                    {"upper", finite(one.upper)}});
  return json.dump();
}

std::string table(const Inference& inference) {
  constexpr std::size_t kShown = 40;
  std::string out = fmt::format("\n  {:<24} {:>12} {:>12} {:>8} {:>10} {:>26}\n", "per unit of the column", "weight",
                                "std. error", inference.normal ? "z" : "t", "p", "95 % interval");
  for (std::size_t k = 0; k < std::min(kShown, inference.coefficients.size()); ++k) {
    const Inference::Coefficient& one = inference.coefficients[k];
    out += fmt::format("  {:<24} {:>12.6g} {:>12.4g} {:>8.3f} {:>10.3g} {:>26}\n", printable(one.name, 24),
                       one.estimate, one.standard_error, one.statistic, one.p_value,
                       fmt::format("{:.5g} .. {:.5g}", one.lower, one.upper));
  }
  if (inference.coefficients.size() > kShown)
    out += fmt::format("  ... and {}, in result.json\n",
                       counted(static_cast<long long>(inference.coefficients.size() - kShown), "more column"));
  if (inference.null_deviance)
    out += fmt::format("  null deviance {:.6g} on {} degrees of freedom\n", *inference.null_deviance,
                       inference.null_degrees);
  out += fmt::format("  residual deviance {:.6g} on {} degrees of freedom\n", inference.residual_deviance,
                     inference.residual_degrees);
  return out;
}

}  // namespace parley::runs
