#include "parley/catalog/relational_terms.h"

namespace parley::catalog {

using jobs::label_table;

algorithms::RelationalTerms relational_terms(const jobs::Job& job) {
  algorithms::RelationalTerms terms{.join = job.tables.spec,
                                    .table_of_party = {},
                                    .label_table = static_cast<int>(label_table(job)),
                                    .null_tuple = {},
                                    .most_rows = job.data.largest_join,
                                    .label_noise = job.labels.noise};
  for (const jobs::JobTable& table : job.tables.tables) terms.null_tuple.push_back(table.indicator);
  for (std::size_t p = 0; p < job.parties.size(); ++p)
    terms.table_of_party.push_back(static_cast<int>(job.tables.table_of(static_cast<int>(p))));
  return terms;
}

models::JoinOfParts join_of_parts(const jobs::Job& job) {
  models::JoinOfParts join{.spec = job.tables.spec,
                           .keys = {},
                           .table_of_part = relational_terms(job).table_of_party,
                           .label_table = static_cast<int>(label_table(job))};
  for (const jobs::JobTable& table : job.tables.tables) join.keys.push_back(table.keys);
  return join;
}

}  // namespace parley::catalog
