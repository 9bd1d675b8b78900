// Which records the parties of a job have in common (algorithms/vertical/alignment.h), and their tables in that order.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "parley/algorithms/vertical/alignment.h"
#include "parley/catalog/party_table.h"
#include "parley/core/result.h"
#include "parley/data/record_ids.h"
#include "parley/data/row_order.h"
#include "parley/jobs/job.h"
#include "parley/rounds/meter.h"

namespace parley::catalog {

// A job whose parties can be aligned.
Result<void> check_alignable(const jobs::Job& job);
algorithms::Alignment::Mode mode_of(jobs::SecureSection::Find find);

// The ids of one party's table, as the job says that they are compared.
Result<data::RecordIds> ids_of(const jobs::Job& job, int party, const PartySource& source);

struct AlignedTables {
  std::vector<data::RecordIds> ids;                   // of each party
  std::vector<std::optional<data::RowOrder>> orders;  // of each party; none where records were counted only
  std::vector<std::int64_t> common;                   // with the first party, of each other one
  std::int64_t kept = 0;
  rounds::Communication communication;
};
// All parties in this process, by the messages that would travel.
Result<AlignedTables> align_here(const std::vector<std::string>& parties, std::vector<data::RecordIds> ids,
                                 algorithms::Alignment::Mode mode);

// Brings tables that were read as they are into the order that the job says, and tells which alignment it comes from;
// 0: the order of the tables is what the job takes.
Result<std::vector<std::int64_t>> bring_in_order(const jobs::Job& job, std::span<const int> parties,
                                                 const Sources& sources, std::vector<data::Dataset>& tables);

}  // namespace parley::catalog
