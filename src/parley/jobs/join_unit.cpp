#include "parley/jobs/join_unit.h"

#include <algorithm>

namespace parley::jobs {

using privacy::Unit;

std::optional<NamedUnit> named_unit(const Job& job) {
  if (!job.privacy) return std::nullopt;
  if (job.privacy->unit == Unit::kTuple) {
    const auto table = job.tables.find(job.privacy->table);
    return table ? std::optional(NamedUnit{*table, {}}) : std::nullopt;
  }
  if (job.privacy->unit != Unit::kEntity) return std::nullopt;
  const std::string& entity = job.privacy->entity;
  for (std::size_t i = 0; i < job.tables.tables.size(); ++i) {
    const std::string begin = job.tables.tables[i].name + ".";
    if (entity.starts_with(begin) && entity.size() > begin.size()) return NamedUnit{i, entity.substr(begin.size())};
  }
  return std::nullopt;
}

void check_join_unit(Toml& toml, const Job& job) {
  Toml privacy = toml.table("privacy");
  const PrivacySection& section = *job.privacy;
  const bool names_one = section.unit == Unit::kTuple || section.unit == Unit::kEntity;
  if (job.tables.empty()) {
    for (const char* key : {"table", "entity", "most_rows"})
      if (privacy.has(key)) privacy.reject(key, "is for jobs with a [[join]]");
    if (names_one)
      privacy.reject("unit", "is for jobs with a [[join]]: in one table every row is a record", name(section.unit));
    return;
  }
  if (section.unit != Unit::kTuple && privacy.has("table"))
    privacy.reject("table", "says whose tuples are protected: it needs unit = \"tuple\"");
  if (section.unit != Unit::kEntity && privacy.has("entity"))
    privacy.reject("entity", "says what an entity is: it needs unit = \"entity\"");
  if (section.unit == Unit::kTuple) privacy.require("table");
  if (section.unit == Unit::kEntity) privacy.require("entity");
  if (names_one && privacy.has(section.unit == Unit::kTuple ? "table" : "entity") && !named_unit(job)) {
    if (section.unit == Unit::kTuple)
      privacy.reject("table", "names no table of this job", section.table);
    else
      privacy.reject("entity", "must be a key of a table of this job, as \"TABLE.COLUMN\"", section.entity);
  }
  if (!protects_records(job)) return;
  if (section.neighbours == privacy::Neighbours::kAddRemove)
    privacy.reject("neighbours",
                   "hides how many rows there are, and over a join the keys, which tell it, are public: use "
                   "\"replace-one\"");
  if (section.records || std::any_of(job.parties.begin(), job.parties.end(),
                                     [](const PartySection& party) { return party.records.has_value(); }))
    privacy.reject("records", "is for add-remove; over a join the keys tell how many rows and units there are");
  if (toml.has("tune")) toml.reject("tune", "is for jobs with one table");
  if (toml.has("union"))
    toml.reject("union", "has no private form: whose ledger a table of several parties is charged to is not settled");
}

}  // namespace parley::jobs
