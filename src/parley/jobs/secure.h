// How records of parties with columns stand beside each other (docs/align.md): the section [secure] of a job.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "parley/core/toml.h"
#include "parley/data/record_ids.h"

namespace parley::jobs {

struct SecureSection {
  enum class Align {
    kGiven,   // in the order of the tables
    kIds,     // by a private set intersection when the tables are read, all in one process
    kOrders,  // by one that was made before: each party has an order of its rows
  };
  Align align = Align::kGiven;
  // The job is an alignment itself, by `parley align` with sites: what is kept.
  enum class Find { kCommon, kLeft, kCount };
  std::optional<Find> find{};
  std::vector<std::string> ids;  // columns that make up an id; empty: the schema's id
  data::IdRule rule;

  static SecureSection read(Toml& secure);
};

}  // namespace parley::jobs
