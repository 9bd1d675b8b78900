// A star of tables with a known model: the setting of relational training (TablePuppet, Appendix A, eq. 26).
//
//   fact row j:       features x_j ~ N(0, I), one key per dimension table
//   dimension row:    its key, features ~ N(0, I)
//   margin_j          = <x_j, w_0> + sum over tables t <row of t with the key of j, w_t>,   w ~ N(0, 1)
//   label             margin + N(0, noise^2), or -1/+1 with the logistic probability of the margin
//
// How often a key is used follows a power law over a random order of the keys; the multiplicities found are in
// truth.json.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "parley/core/threads.h"
#include "parley/data/generate_parts.h"

namespace parley::data::synthetic {

namespace {

struct DimensionTable {
  TableShape shape;
  std::string key;  // name of the key column, here and in the fact table
  std::vector<double> weights;
  std::vector<double> margins;             // of each row, <x, w>
  std::vector<double> cumulative;          // weight of the keys up to this rank
  std::vector<std::uint32_t> key_of_rank;  // keys from 0
};

std::uint32_t draw_key(const DimensionTable& table, Random& random) {
  const double at = random.uniform() * table.cumulative.back();
  const auto rank = std::upper_bound(table.cumulative.begin(), table.cumulative.end(), at) - table.cumulative.begin();
  return table.key_of_rank[std::min<std::size_t>(static_cast<std::size_t>(rank), table.key_of_rank.size() - 1)];
}

std::vector<double> normal_weights(Random& random, std::int64_t count) {
  std::vector<double> weights(static_cast<std::size_t>(count));
  for (double& w : weights) w = random.normal();
  return weights;
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
  return sum;
}

Result<void> check(const Star& recipe, const Destination& destination) {
  PARLEY_CHECK(check_count("rows", recipe.rows));
  PARLEY_CHECK(check_count("columns", recipe.columns));
  PARLEY_CHECK(check_count("fact-parts", recipe.fact_parts, recipe.rows));
  if (recipe.dimensions.empty() || recipe.dimensions.size() > 100)
    return fail(bad_input({.field = "dimension"}, "between 1 and 100 dimension tables are needed"));
  for (const auto& dimension : recipe.dimensions) {
    PARLEY_CHECK(check_count("dimension rows", dimension.rows));
    PARLEY_CHECK(check_count("dimension columns", dimension.columns));
  }
  PARLEY_CHECK(check_spread("noise", recipe.noise));
  if (!(recipe.skew >= 0 && recipe.skew <= 20))
    return fail(bad_input({.field = "skew"}, "must lie between 0 and 20", fmt::format("{}", recipe.skew)));
  if (destination.format == TableFormat::kLibsvm)
    return fail(bad_input({.field = "format"}, "tables with keys need names: star is CSV only", "libsvm"));
  return {};
}

}  // namespace

Result<Generated> make(const Star& recipe, std::uint64_t seed, const Destination& destination) {
  PARLEY_CHECK(check(recipe, destination));
  const bool logistic = recipe.task == Star::Task::kLogistic;
  Workshop shop("star", seed, destination, TableFormat::kCsv);

  TableShape fact{"fact", recipe.rows, recipe.columns, 1, "fact_x", true, {"id"}};
  std::vector<DimensionTable> tables;
  std::vector<TableShape> shapes = {fact};
  std::int64_t resident = recipe.columns;
  for (const auto& dimension : recipe.dimensions) {
    const std::string stem = fmt::format("dim{}", tables.size() + 1);
    DimensionTable table;
    table.key = stem + "_key";
    table.shape = {stem, dimension.rows, dimension.columns, 1, stem + "_x", false, {table.key}};
    fact.keys.push_back(table.key);
    shapes.push_back(table.shape);
    resident += 3 * dimension.rows + dimension.columns;
    tables.push_back(std::move(table));
  }
  PARLEY_CHECK(shop.check_room(shapes, resident));

  Random model(seed, kModel);
  const std::vector<double> fact_weights = normal_weights(model, recipe.columns);
  JobDraft job{.partition = "relational", .l2 = 1e-3, .algorithm = "relational-admm", .iterations = 100};
  Truth truth{.source = "TablePuppet, Appendix A (the setting; the law is Parley's own)",
              .task = logistic ? "logistic" : "linear"};
  truth.models = {{.coefficients = named_nonzeros(fact.prefix, fact_weights)}};

  std::vector<JobDraft::Party> dimension_parties;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    DimensionTable& table = tables[t];
    job.joins.push_back({"fact." + table.key, table.shape.stem + "." + table.key});
    table.weights = normal_weights(model, table.shape.columns);
    const auto named = named_nonzeros(table.shape.prefix, table.weights);
    truth.models[0].coefficients.insert(truth.models[0].coefficients.end(), named.begin(), named.end());

    const auto rows = static_cast<std::size_t>(table.shape.rows);
    table.margins.resize(rows);
    PARLEY_TRY(const std::string file, shop.add_table(table.shape, [&](std::int64_t number, Row& row) {
      Random random(seed, kFeatures + 16 * (t + 1), static_cast<std::uint64_t>(number));
      row.keys = {static_cast<std::uint64_t>(number) + 1};
      row.values.resize(static_cast<std::size_t>(table.shape.columns));
      for (double& value : row.values) value = shop.rounded(random.normal());
      table.margins[static_cast<std::size_t>(number)] = dot(row.values, table.weights);
    }));
    dimension_parties.push_back({table.shape.stem, file});

    table.key_of_rank.resize(rows);
    std::iota(table.key_of_rank.begin(), table.key_of_rank.end(), 0u);
    Random order(seed, kKeys, t);
    shuffle(order, table.key_of_rank);
    table.cumulative.resize(rows);
    double total = 0;
    for (std::size_t r = 0; r < rows; ++r)
      table.cumulative[r] = total += portable_exp(-recipe.skew * portable_log(static_cast<double>(r + 1)));
  }

  const auto keys_of = [&](std::int64_t number, std::vector<std::uint64_t>& keys) {
    Random random(seed, kKeys + 16, static_cast<std::uint64_t>(number));
    keys = {static_cast<std::uint64_t>(number) + 1};
    for (const auto& table : tables) keys.push_back(std::uint64_t{draw_key(table, random)} + 1);
  };
  for (std::int64_t part = 0; part < recipe.fact_parts; ++part) {
    const std::int64_t begin = recipe.rows * part / recipe.fact_parts;
    const std::int64_t end = recipe.rows * (part + 1) / recipe.fact_parts;
    TableShape shape = fact;
    if (recipe.fact_parts > 1) shape.stem = fmt::format("fact-{}", part + 1);
    shape.rows = end - begin;
    PARLEY_TRY(const std::string file, shop.add_table(shape, [&](std::int64_t local, Row& row) {
      const std::int64_t number = begin + local;
      keys_of(number, row.keys);
      Random random(seed, kFeatures, static_cast<std::uint64_t>(number));
      row.values.resize(static_cast<std::size_t>(recipe.columns));
      for (double& value : row.values) value = shop.rounded(random.normal());
      double margin = dot(row.values, fact_weights);
      for (std::size_t t = 0; t < tables.size(); ++t) margin += tables[t].margins[row.keys[t + 1] - 1];
      Random noise(seed, kNoise, static_cast<std::uint64_t>(number));
      row.label = logistic ? (noise.uniform() * (1 + portable_exp(-margin)) < 1 ? 1 : -1)
                           : margin + recipe.noise * noise.normal();
    }));
    job.parties.push_back({shape.stem, file});
  }
  job.label_party = "fact";
  if (recipe.fact_parts > 1) {
    JobDraft::Union& parts = job.unions.emplace_back();
    parts.table = "fact";
    for (const JobDraft::Party& party : job.parties) parts.parties.push_back(party.name);
  }
  job.parties.insert(job.parties.end(), dimension_parties.begin(), dimension_parties.end());

  // Multiplicities: how many fact rows use each key.
  std::vector<std::vector<std::int64_t>> used;
  used.reserve(tables.size());
  for (const auto& table : tables) used.emplace_back(static_cast<std::size_t>(table.shape.rows));
  std::vector<std::uint64_t> keys;
  for (std::int64_t number = 0; number < recipe.rows; ++number) {
    keys_of(number, keys);
    for (std::size_t t = 0; t < tables.size(); ++t) ++used[t][keys[t + 1] - 1];
  }
  for (std::size_t t = 0; t < tables.size(); ++t) {
    const auto [fewest, most] = std::minmax_element(used[t].begin(), used[t].end());
    const auto unused = std::count(used[t].begin(), used[t].end(), 0);
    truth.tables.push_back({tables[t].shape.stem,
                            {{"key", tables[t].key},
                             {"rows", tables[t].shape.rows},
                             {"columns", tables[t].shape.columns},
                             {"unused_keys", static_cast<std::int64_t>(unused)},
                             {"fewest_uses", *fewest},
                             {"most_uses", *most}}});
  }
  truth.settings = {{"rows", recipe.rows},
                    {"columns", recipe.columns},
                    {"fact-parts", recipe.fact_parts},
                    {"skew", recipe.skew},
                    {"noise", logistic ? 0.0 : recipe.noise}};
  return shop.finish(truth, std::move(job));
}

}  // namespace parley::data::synthetic
