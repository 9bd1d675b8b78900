#include "parley/data/generate.h"

#include <cmath>

#include "parley/data/generate_parts.h"

namespace parley::data {

namespace synthetic {

namespace {

std::vector<double> dense_weights(std::int64_t columns) {
  return std::vector<double>(static_cast<std::size_t>(columns));
}

void fill_normal(const Workshop& shop, std::int64_t number, std::int64_t columns, Row& row) {
  Random random(shop.seed(), kFeatures, static_cast<std::uint64_t>(number));
  row.values.resize(static_cast<std::size_t>(columns));
  for (double& value : row.values) value = shop.rounded(random.normal());
}

double noise_of(const Workshop& shop, std::int64_t number) {
  return Random(shop.seed(), kNoise, static_cast<std::uint64_t>(number)).normal();
}

// Terms are added in column order: a sum in another order would differ in its last bits.
double margin(const Row& row, const std::vector<double>& weights) {
  double sum = 0;
  for (std::size_t k = 0; k < row.values.size(); ++k)
    sum += row.values[k] * weights[row.columns.empty() ? k : row.columns[k]];
  return sum;
}

// Largest l1 penalty that pure noise reaches with even odds: noise sqrt(2 ln d / n).
double universal_penalty(double noise, std::int64_t rows, std::int64_t columns) {
  return noise * std::sqrt(2 * portable_log(static_cast<double>(columns) + 1) / static_cast<double>(rows));
}

}  // namespace

Result<Generated> make(const SparseRegression& recipe, std::uint64_t seed, const Destination& destination) {
  PARLEY_CHECK(check_count("rows", recipe.rows));
  PARLEY_CHECK(check_count("columns", recipe.columns));
  PARLEY_CHECK(check_density("density", recipe.feature_density));
  PARLEY_CHECK(check_density("model-density", recipe.model_density));
  PARLEY_CHECK(check_spread("noise", recipe.noise));
  Workshop shop("sparse-regression", seed, destination, TableFormat::kLibsvm);
  const TableShape shape{"data", recipe.rows, recipe.columns, recipe.feature_density};
  PARLEY_CHECK(shop.check_room({shape}, recipe.columns));

  auto weights = dense_weights(recipe.columns);
  Random random(seed, kModel);
  const double wanted = std::floor(recipe.model_density * static_cast<double>(recipe.columns) + 0.5);
  double l1_norm = 0;
  for (const std::uint64_t j : distinct_numbers(random, static_cast<std::uint64_t>(std::max(1.0, wanted)),
                                                static_cast<std::uint64_t>(recipe.columns))) {
    weights[j] = random.normal();
    l1_norm += std::abs(weights[j]);
  }

  const Successes present(recipe.feature_density, static_cast<std::uint64_t>(recipe.columns));
  PARLEY_TRY(const std::string file, shop.add_table(shape, [&](std::int64_t number, Row& row) {
    Random entries(seed, kFeatures, static_cast<std::uint64_t>(number));
    present.draw(entries, [&](std::uint64_t column) {
      row.columns.push_back(static_cast<std::uint32_t>(column));
      row.values.push_back(shop.rounded(entries.normal()));
    });
    row.label = margin(row, weights) + recipe.noise * noise_of(shop, number);
  }));

  Truth truth{.source = "Lou & Cheung, Section V", .task = "linear"};
  truth.settings = {{"rows", recipe.rows},
                    {"columns", recipe.columns},
                    {"density", recipe.feature_density},
                    {"model-density", recipe.model_density},
                    {"noise", recipe.noise}};
  truth.models = {{.coefficients = named_nonzeros("x", weights)}};
  return shop.finish(truth, {.partition = "single",
                             .l1_radius = l1_norm,
                             .algorithm = "frank-wolfe",
                             .iterations = 1000,
                             .parties = {{"site", file}}});
}

Result<Generated> make(const LogNormal& recipe, std::uint64_t seed, const Destination& destination) {
  PARLEY_CHECK(check_count("rows", recipe.rows));
  PARLEY_CHECK(check_count("columns", recipe.columns));
  PARLEY_CHECK(check_spread("sigma", recipe.sigma));
  PARLEY_CHECK(check_spread("noise", recipe.noise));
  Workshop shop("log-normal", seed, destination, TableFormat::kCsv);
  const TableShape shape{"data", recipe.rows, recipe.columns};
  PARLEY_CHECK(shop.check_room({shape}, recipe.columns));

  auto weights = dense_weights(recipe.columns);
  Random random(seed, kModel);
  for (double& weight : weights) weight = portable_exp(recipe.sigma * random.normal());
  for (const double weight : weights)
    if (!std::isfinite(weight))
      return fail(bad_input({.field = "sigma"}, "makes weights too large for a double", std::to_string(recipe.sigma)));

  PARLEY_TRY(const std::string file, shop.add_table(shape, [&](std::int64_t number, Row& row) {
    fill_normal(shop, number, recipe.columns, row);
    const double m = margin(row, weights);
    Random random_label(seed, kNoise, static_cast<std::uint64_t>(number));
    const bool positive = recipe.labels == LabelDraw::kLogistic ? random_label.uniform() * (1 + portable_exp(-m)) < 1
                                                                : m + recipe.noise * random_label.normal() > 0;
    row.label = positive ? 1 : -1;
  }));

  Truth truth{.source = "Mangold et al., Section 5 (log1, log2)", .task = "logistic"};
  truth.settings = {{"rows", recipe.rows},
                    {"columns", recipe.columns},
                    {"sigma", recipe.sigma},
                    {"labels", std::string(recipe.labels == LabelDraw::kLogistic ? "logistic" : "noisy-sign")},
                    {"noise", recipe.labels == LabelDraw::kLogistic ? 0.0 : recipe.noise}};
  truth.models = {{.coefficients = named_nonzeros("x", weights)}};
  return shop.finish(truth, {.partition = "single",
                             .l2 = 1.0 / static_cast<double>(recipe.rows),
                             .algorithm = "exact",
                             .parties = {{"site", file}}});
}

Result<Generated> make(const Square& recipe, std::uint64_t seed, const Destination& destination) {
  PARLEY_CHECK(check_count("rows", recipe.rows));
  PARLEY_CHECK(check_count("columns", recipe.columns));
  PARLEY_CHECK(check_count("nonzeros", recipe.nonzeros, recipe.columns));
  PARLEY_CHECK(check_spread("sigma", recipe.sigma));
  PARLEY_CHECK(check_spread("noise", recipe.noise));
  Workshop shop("square", seed, destination, TableFormat::kCsv);
  const TableShape shape{"data", recipe.rows, recipe.columns};
  PARLEY_CHECK(shop.check_room({shape}, recipe.columns));

  auto weights = dense_weights(recipe.columns);
  Random random(seed, kModel);
  for (const std::uint64_t j : distinct_numbers(random, static_cast<std::uint64_t>(recipe.nonzeros),
                                                static_cast<std::uint64_t>(recipe.columns))) {
    weights[j] = portable_exp(recipe.sigma * random.normal());
    if (!std::isfinite(weights[j] * weights[j]))
      return fail(bad_input({.field = "sigma"}, "makes weights too large for a double", std::to_string(recipe.sigma)));
  }

  PARLEY_TRY(const std::string file, shop.add_table(shape, [&](std::int64_t number, Row& row) {
    fill_normal(shop, number, recipe.columns, row);
    row.label = margin(row, weights) + recipe.noise * noise_of(shop, number);
  }));

  Truth truth{.source = "Mangold et al., Section 5 (square)", .task = "linear"};
  truth.settings = {{"rows", recipe.rows},
                    {"columns", recipe.columns},
                    {"nonzeros", recipe.nonzeros},
                    {"sigma", recipe.sigma},
                    {"noise", recipe.noise}};
  truth.models = {{.coefficients = named_nonzeros("x", weights)}};
  return shop.finish(truth, {.partition = "single",
                             .l1 = std::max(1e-3, universal_penalty(recipe.noise, recipe.rows, recipe.columns)),
                             .algorithm = "exact",
                             .parties = {{"site", file}}});
}

}  // namespace synthetic

std::string kind_of(const Recipe& recipe) {
  struct Name {
    std::string operator()(const SparseRegression&) const { return "sparse-regression"; }
    std::string operator()(const LogNormal&) const { return "log-normal"; }
    std::string operator()(const Square&) const { return "square"; }
    std::string operator()(const NonIid& r) const {
      return r.task == NonIid::Task::kRegression ? "non-iid-regression" : "non-iid-classification";
    }
    std::string operator()(const Star&) const { return "star"; }
  };
  return std::visit(Name{}, recipe);
}

Result<Generated> generate(const Recipe& recipe, std::uint64_t seed, const Destination& destination) {
  return std::visit([&](const auto& chosen) { return synthetic::make(chosen, seed, destination); }, recipe);
}

}  // namespace parley::data
