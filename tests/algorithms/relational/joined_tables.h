// Joins of a few small tables, as the tests of relational algorithms need them.
#pragma once
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "parley/algorithms/parts/federated.h"
#include "parley/algorithms/relational/table_share.h"
#include "parley/data/random.h"

namespace parley::tests {

// Equal texts are equal keys; an empty one is missing.
inline data::KeyColumns keys_of(const std::vector<std::string>& texts) {
  data::KeyColumns key;
  key.form = data::KeyForm::kTexts;
  for (const std::string& text : texts)
    key.digests.push_back(text.empty() ? data::kMissingKey
                                       : data::KeyDigest{std::hash<std::string>{}(text), text.size() + 1});
  return key;
}

inline algorithms::RunTerms terms_of(const glm::Objective& objective, algorithms::RelationalTerms tables) {
  algorithms::RunTerms terms{.objective = objective, .seed = 1};
  terms.parties = static_cast<int>(tables.table_of_party.size());
  terms.relational = std::make_shared<const algorithms::RelationalTerms>(std::move(tables));
  return terms;
}

// 120 orders of 9 customers and 12 products, of which the last two are in no order. Labels are -1 and +1.
struct Star {
  algorithms::RelationalTerms tables;
  std::vector<algorithms::TableShare> shares;
};
inline linalg::Matrix random_table(linalg::Index rows, linalg::Index columns, data::Random& random) {
  std::vector<double> values(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns));
  for (double& value : values) value = 2 * random.uniform() - 1;
  return linalg::Matrix::from_dense(rows, columns, values);
}
inline Star star() {
  data::Random random(16, 1, 1);
  Star made;
  std::vector<std::string> customers, products, customer, product;
  for (int i = 0; i < 9; ++i) customer.push_back("c" + std::to_string(i));
  for (int i = 0; i < 12; ++i) product.push_back("p" + std::to_string(i));
  std::vector<double> labels;
  for (int i = 0; i < 120; ++i) {
    customers.push_back(customer[static_cast<std::size_t>(random.uniform() * 9)]);
    products.push_back(product[static_cast<std::size_t>(random.uniform() * 10)]);
    labels.push_back(random.uniform() < 0.5 ? -1 : 1);
  }
  made.tables = {.join = {.tables = {"orders", "customers", "products"},
                          .edges = {{.left = 0, .right = 1}, {.left = 0, .right = 2, .left_key = 1}}},
                 .table_of_party = {0, 1, 2},
                 .label_table = 0,
                 .null_tuple = {}};
  made.shares = {{random_table(120, 2, random), labels, {keys_of(customers), keys_of(products)}, nullptr, 0},
                 {random_table(9, 3, random), {}, {keys_of(customer)}, nullptr, 1},
                 {random_table(12, 2, random), {}, {keys_of(product)}, nullptr, 2}};
  return made;
}

// The same with one table's tuples at several parties, which hold so many each, after all others.
inline Star with_union(const Star& whole, int table, const std::vector<linalg::Index>& sizes) {
  Star made = whole;
  const auto at = static_cast<std::size_t>(table);
  const algorithms::TableShare share = whole.shares[at];
  linalg::Index first = 0;
  made.shares.erase(made.shares.begin() + table);
  made.tables.table_of_party.erase(made.tables.table_of_party.begin() + table);
  for (const linalg::Index size : sizes) {
    std::vector<linalg::Index> rows(static_cast<std::size_t>(size));
    std::iota(rows.begin(), rows.end(), first);
    algorithms::TableShare part{share.features.select_rows(rows), {}, {}, nullptr, 0};
    for (const data::KeyColumns& key : share.keys) {
      data::KeyColumns own{{}, key.form};
      for (const linalg::Index row : rows) own.digests.push_back(key.digests[static_cast<std::size_t>(row)]);
      part.keys.push_back(own);
    }
    for (const linalg::Index row : rows)
      if (!share.labels.empty()) part.labels.push_back(share.labels[static_cast<std::size_t>(row)]);
    made.shares.push_back(part);
    made.tables.table_of_party.push_back(table);
    first += size;
  }
  for (std::size_t p = 0; p < made.shares.size(); ++p) made.shares[p].party = static_cast<int>(p);
  return made;
}

inline std::vector<algorithms::PartyFacts> facts_of(const std::vector<algorithms::TableShare>& shares,
                                                    const algorithms::RelationalTerms& tables) {
  std::vector<algorithms::PartyFacts> facts;
  for (std::size_t p = 0; p < shares.size(); ++p) {
    const std::size_t tuples = shares[p].keys.front().size();
    facts.push_back({.party = static_cast<int>(p),
                     .records = static_cast<std::int64_t>(tuples),
                     .columns = static_cast<std::size_t>(shares[p].features.cols()),
                     .labels = tables.table_of_party[p] == tables.label_table});
  }
  return facts;
}

}  // namespace parley::tests
