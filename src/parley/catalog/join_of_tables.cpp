#include "parley/catalog/join_of_tables.h"

#include <algorithm>

#include "parley/algorithms/relational/key_exchange.h"
#include "parley/catalog/relational_terms.h"
#include "parley/catalog/tables.h"
#include "parley/linalg/builder.h"

namespace parley::catalog {

using linalg::Index;
using linalg::Matrix;

namespace {

// The tuples of one table's parties one after another.
Matrix stacked(const std::vector<Matrix>& parts) {
  if (parts.size() == 1) return parts.front();
  Index rows = 0;
  for (const Matrix& part : parts) rows += part.rows();
  linalg::ColumnsBuilder columns(rows);
  for (Index j = 0; j < parts.front().cols(); ++j) {
    std::vector<double> column(static_cast<std::size_t>(rows), 0.0);
    std::size_t first = 0;
    for (const Matrix& part : parts) {
      part.for_each_in_column(j,
                              [&](Index row, double value) { column[first + static_cast<std::size_t>(row)] = value; });
      first += static_cast<std::size_t>(part.rows());
    }
    columns.append_dense(column);
  }
  return std::move(columns).build();
}

}  // namespace

Result<JoinOfTables> JoinOfTables::make(const jobs::Job& job, std::span<const PartyTable* const> parties) {
  const algorithms::RelationalTerms terms = relational_terms(job);
  std::vector<Matrix> features;
  std::vector<std::vector<algorithms::SentKey>> keys;
  std::vector<algorithms::SentTuples> tuples(parties.size());
  for (const PartyTable* party : parties) {
    features.push_back(joined_features(job, *party));
    keys.push_back(algorithms::sent_keys(party->keys));
  }
  for (std::size_t p = 0; p < parties.size(); ++p)
    tuples[p] = {static_cast<int>(p), &keys[p], &parties[p]->train.labels.values};
  PARLEY_TRY(const algorithms::Joined joined, algorithms::joined(terms, tuples));
  JoinOfTables made;
  made.rows_ = algorithms::joined_tables(joined.map);
  for (const jobs::JobTable& table : job.tables.tables) {
    std::vector<Matrix> parts;
    std::vector<int> holders = table.parties;
    std::sort(holders.begin(), holders.end());  // as their tuples are numbered
    for (const int party : holders) parts.push_back(std::move(features[static_cast<std::size_t>(party)]));
    made.features_.push_back(stacked(parts));
  }
  for (const std::int32_t tuple : joined.map.tuple_of[static_cast<std::size_t>(terms.label_table)])
    made.labels_.push_back(joined.labels[static_cast<std::size_t>(tuple)]);
  return made;
}

std::vector<double> JoinOfTables::weights_of(std::size_t table, std::span<const double> weights) const {
  std::size_t first = 0, all = 0;
  for (std::size_t i = 0; i < features_.size(); ++i) {
    if (i == table) first = all;
    all += static_cast<std::size_t>(features_[i].cols());
  }
  const auto columns = static_cast<std::size_t>(features_[table].cols());
  std::vector<double> own;
  for (std::size_t at = 0; at + all <= weights.size() && all > 0; at += all) {
    const std::span<const double> of_class = weights.subspan(at + first, columns);
    own.insert(own.end(), of_class.begin(), of_class.end());
  }
  return own;
}

}  // namespace parley::catalog
