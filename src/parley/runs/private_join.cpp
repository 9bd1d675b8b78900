#include "parley/runs/private_join.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "parley/core/text.h"
#include "parley/data/key_digest.h"
#include "parley/jobs/join_unit.h"

namespace parley::runs {

using linalg::Index;

namespace {

struct DigestHash {
  std::size_t operator()(const data::KeyDigest& key) const { return static_cast<std::size_t>(key.low ^ key.high); }
};

// Of each tuple a number: equal keys have equal ones, a missing key has one of its own.
Result<std::vector<Index>> entities_of(const data::Dataset& table, const std::string& column, const std::string& file) {
  const data::KeyText* key = table.key(column);
  if (key == nullptr)
    return fail(bad_input({file, 0, column}, "is what privacy.entity names: give it type = \"key\" in the schema"));
  const data::KeyColumns digests = data::digests_within(std::vector{key});
  std::unordered_map<data::KeyDigest, Index, DigestHash> known;
  std::vector<Index> entities;
  Index next = 0;
  for (std::size_t tuple = 0; tuple < digests.size(); ++tuple) {
    if (digests.missing(tuple)) {
      entities.push_back(next++);
      continue;
    }
    const auto [at, is_new] = known.try_emplace(digests.digests[tuple], next);
    next += is_new ? 1 : 0;
    entities.push_back(at->second);
  }
  return entities;
}

// The job as if one of its tables were all; messages name that table.
jobs::Job job_of(const jobs::Job& job, int party) {
  jobs::Job own = job;
  own.parties = {job.parties[static_cast<std::size_t>(party)]};
  return own;
}

// Of a row of the join: each table gives a tuple, or the one of rows without.
Result<double> row_bound(const jobs::Job& job, std::span<const catalog::PartyTable* const> tables) {
  double squares = job.objective.intercept == glm::Intercept::kPenalised ? 1 : 0;
  for (const catalog::PartyTable* table : tables) {
    PARLEY_TRY(const PublicFacts facts, public_facts(job_of(job, table->number), table->train, table->features));
    const bool indicator = job.tables.tables[job.tables.table_of(table->number)].indicator;
    squares += std::max(facts.row_bound * facts.row_bound, indicator ? 1.0 : 0.0);
  }
  return std::sqrt(squares);
}

}  // namespace

// A row of the join without a tuple of the unit's table is a unit of its own.
Result<void> PrivateJoin::number_units(const jobs::Job& job, std::span<const catalog::PartyTable* const> tables,
                                       const catalog::JoinOfTables& join) {
  const auto named = jobs::named_unit(job);
  const std::size_t number = named ? named->table : jobs::label_table(job);
  const jobs::JobTable& table = job.tables.tables[number];
  const catalog::PartyTable& holder = *tables[static_cast<std::size_t>(table.parties.front())];
  std::vector<Index> of_tuple;
  if (named && !named->column.empty()) {
    PARLEY_TRY(of_tuple,
               entities_of(holder.train, named->column, job.parties[static_cast<std::size_t>(holder.number)].data));
    data_set_ = job.privacy->entity;
    in_full_ = fmt::format("entity, one value of '{}'", printable(data_set_));
  } else {
    data_set_ = table.name;
    in_full_ = fmt::format("{} of '{}'", privacy::name(job.privacy->unit), table.name);
  }
  const algorithms::JoinedTable& rows = join.rows()[number];
  std::unordered_map<Index, Index> known;
  of_row_.reserve(rows.slots.size());
  for (const Index slot : rows.slots) {
    const Index tuple = slot < 0 ? Index{-1} : rows.tuples[static_cast<std::size_t>(slot)];
    if (tuple < 0 || static_cast<std::size_t>(tuple) >= holder.train.rows()) {
      of_row_.push_back(static_cast<Index>(count_++));
      continue;
    }
    const Index key = of_tuple.empty() ? tuple : of_tuple[static_cast<std::size_t>(tuple)];
    const auto [at, is_new] = known.try_emplace(key, static_cast<Index>(count_));
    count_ += is_new ? 1 : 0;
    of_row_.push_back(at->second);
  }
  if (job.privacy->most_rows) leave_out_rows(static_cast<std::size_t>(*job.privacy->most_rows));
  return {};
}

// Of a unit of m rows those that stay lie evenly among them, in the order of the join, whatever they hold.
void PrivateJoin::leave_out_rows(std::size_t most) {
  std::vector<std::size_t> rows(count_, 0), seen(count_, 0);
  for (const Index unit : of_row_) ++rows[static_cast<std::size_t>(unit)];
  for (Index& unit : of_row_) {
    const auto u = static_cast<std::size_t>(unit);
    const std::size_t at = seen[u]++;
    if (rows[u] > most && (at + 1) * most / rows[u] == at * most / rows[u]) unit = -1;
  }
}

Result<PrivateJoin> PrivateJoin::open(const jobs::Job& job, std::span<const catalog::PartyTable* const> tables,
                                      const catalog::JoinOfTables& join, const glm::Objective& objective,
                                      PrivateSite::Purpose purpose) {
  PrivateJoin made;
  PARLEY_TRY(const double bound, row_bound(job, tables));
  PARLEY_CHECK(made.number_units(job, tables, join));
  const int labels = job.tables.tables[jobs::label_table(job)].parties.front();
  const catalog::PartyTable& labelled = *tables[static_cast<std::size_t>(labels)];
  jobs::Job own = job_of(job, labels);
  own.parties.front().name = made.data_set_;
  own.privacy->records = static_cast<std::int64_t>(made.count_);
  PARLEY_TRY(made.site_, PrivateSite::open(own, labelled.train, labelled.features, objective, purpose));
  made.terms_ = made.site_->terms();
  made.terms_->row_bound = bound;
  return made;
}

Result<PrivacyReport> PrivateJoin::report(const jobs::Job& job) {
  PARLEY_TRY(PrivacyReport report, site_->report());
  report.unit_in_full = in_full_;
  report.most_rows = job.privacy->most_rows;
  report.statement = statement_of(report, job.seed);
  return report;
}

}  // namespace parley::runs
