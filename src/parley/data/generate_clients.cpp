// Clients whose data and models differ. Tong et al., Section 5.1, simulations I and II; the letters are theirs.
//
//   u_i ~ N(0.1, alpha)           B_i ~ N(0, beta)     v_ik ~ N(B_i, 1)     x_ik ~ N(u_i, 1) for the first k, else 0
//   z_ij ~ N(v_i, diag(k^-1.2))   b_ij ~ N(u_i, 1)     margin_ij = <z_ij, x_i> + b_ij
//
//   I     y = margin
//   II    y' = 1 / (1 + exp(-margin)), and the largest y' of each client are labelled 1
//
// The order of y' is the order of the margins, which do not tie where y' rounds to 1.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "parley/core/threads.h"
#include "parley/data/generate.h"
#include "parley/data/generate_parts.h"

namespace parley::data::synthetic {

namespace {

struct Client {
  double u = 0;
  double b = 0;
  std::vector<double> model;  // x_i, leading entries only
  std::vector<double> mean;   // v_i
};

Client draw_client(const NonIid& recipe, std::uint64_t seed, std::int64_t number) {
  Random random(seed, kClient, static_cast<std::uint64_t>(number));
  Client client;
  client.u = 0.1 + std::sqrt(recipe.alpha) * random.normal();
  client.b = std::sqrt(recipe.beta) * random.normal();
  client.model.resize(static_cast<std::size_t>(recipe.nonzeros));
  for (double& x : client.model) x = client.u + random.normal();
  client.mean.resize(static_cast<std::size_t>(recipe.columns));
  for (double& v : client.mean) v = client.b + random.normal();
  return client;
}

}  // namespace

Result<Generated> make(const NonIid& recipe, std::uint64_t seed, const Destination& destination) {
  const bool classify = recipe.task == NonIid::Task::kClassification;
  PARLEY_CHECK(check_count("clients", recipe.clients, 100000));
  PARLEY_CHECK(check_count("rows", recipe.rows));
  PARLEY_CHECK(check_count("columns", recipe.columns));
  PARLEY_CHECK(check_count("nonzeros", recipe.nonzeros, recipe.columns));
  PARLEY_CHECK(check_spread("alpha", recipe.alpha));
  PARLEY_CHECK(check_spread("beta", recipe.beta));
  // Both classes at every client: with none or all labelled 1 there is nothing to learn.
  if (classify && recipe.rows < 2) return fail(bad_input({.field = "rows"}, "must be at least 2 for two classes", "1"));
  if (classify) PARLEY_CHECK(check_count("positives", recipe.positives, recipe.rows - 1));
  Workshop shop(kind_of(recipe), seed, destination, TableFormat::kCsv);

  const auto digits = std::to_string(recipe.clients).size();
  const auto name = [&](std::int64_t i) { return fmt::format("client-{:0{}}", i + 1, digits); };
  PARLEY_CHECK(shop.check_room(
      std::vector<TableShape>(static_cast<std::size_t>(recipe.clients), TableShape{"", recipe.rows, recipe.columns}),
      3 * recipe.columns + 2 * recipe.rows + recipe.clients * recipe.nonzeros));

  std::vector<double> deviation(static_cast<std::size_t>(recipe.columns));  // sqrt(k^-1.2)
  for (std::size_t k = 0; k < deviation.size(); ++k)
    deviation[k] = portable_exp(-0.6 * portable_log(static_cast<double>(k + 1)));

  Truth truth{.source = fmt::format("Tong et al., Section 5.1, simulation {}", classify ? "II" : "I"),
              .task = classify ? "logistic" : "linear"};
  JobDraft job{.partition = "horizontal",
               .sparsity = static_cast<std::size_t>(recipe.nonzeros),
               .algorithm = "fed-iter-ht",
               .iterations = 100};
  for (std::int64_t i = 0; i < recipe.clients; ++i) {
    const Client client = draw_client(recipe, seed, i);
    const auto fill_features = [&](std::int64_t number, Row& row) {
      Random random(seed, kFeatures, (static_cast<std::uint64_t>(i) << 32) + static_cast<std::uint64_t>(number));
      row.values.resize(static_cast<std::size_t>(recipe.columns));
      for (std::size_t k = 0; k < row.values.size(); ++k)
        row.values[k] = shop.rounded(client.mean[k] + deviation[k] * random.normal());
      double margin = client.u + random.normal();
      for (std::size_t k = 0; k < client.model.size(); ++k) margin += row.values[k] * client.model[k];
      row.label = margin;
    };

    // Labels of a client depend on all its rows. The rows are made twice rather than kept: a client may
    // be larger than the memory.
    std::vector<char> positive;
    if (classify) {
      std::vector<double> margins(static_cast<std::size_t>(recipe.rows));
      parallel_chunks(margins.size(), 64, [&](std::size_t begin, std::size_t end) {
        Row row;
        for (std::size_t number = begin; number < end; ++number) {
          fill_features(static_cast<std::int64_t>(number), row);
          margins[number] = row.label;
        }
      });
      std::vector<std::uint32_t> order(margins.size());
      std::iota(order.begin(), order.end(), 0u);
      std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        return margins[a] != margins[b] ? margins[a] > margins[b] : a < b;
      });
      positive.resize(margins.size());
      for (std::int64_t k = 0; k < recipe.positives; ++k) positive[order[static_cast<std::size_t>(k)]] = 1;
    }

    PARLEY_TRY(const std::string file,
               shop.add_table({name(i), recipe.rows, recipe.columns}, [&](std::int64_t number, Row& row) {
                 fill_features(number, row);
                 if (classify) row.label = positive[static_cast<std::size_t>(number)];
               }));
    job.parties.push_back({name(i), file});
    truth.models.push_back({.party = name(i),
                            .facts = {{"u", client.u}, {"B", client.b}},
                            .intercept = client.u,
                            .coefficients = named_nonzeros("x", client.model)});
  }
  truth.settings = {{"clients", recipe.clients},   {"rows", recipe.rows},   {"columns", recipe.columns},
                    {"nonzeros", recipe.nonzeros}, {"alpha", recipe.alpha}, {"beta", recipe.beta}};
  if (classify) truth.settings.push_back({"positives", recipe.positives});
  return shop.finish(truth, std::move(job));
}

}  // namespace parley::data::synthetic
