// What a private job over tables that join protects: [privacy] unit, table, entity, most_rows.
#pragma once
#include <cstddef>
#include <optional>
#include <string>

#include "parley/core/toml.h"
#include "parley/jobs/job.h"

namespace parley::jobs {

// The table that privacy.table or privacy.entity names, and the entity's column.
struct NamedUnit {
  std::size_t table = 0;
  std::string column;  // empty: each tuple is a unit
};
std::optional<NamedUnit> named_unit(const Job& job);

// The keys of [privacy] that are for joins, and what contradicts a private join. Mistakes are recorded in `toml`.
void check_join_unit(Toml& toml, const Job& job);

}  // namespace parley::jobs
