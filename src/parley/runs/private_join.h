// What a private run over a join in one process needs: the units that it protects, and one site whose ledger is charged
// for them. What a unit is: algorithms/relational/unit_sums.md.
//
// The charge is the data set's of the table that the unit is of: the table with the labels (record), privacy.table (tuple),
// or privacy.entity itself, TABLE.COLUMN. Tables whose tuples are not protected are charged nothing: nothing is claimed of
// them.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "parley/catalog/join_of_tables.h"
#include "parley/catalog/party_table.h"
#include "parley/core/result.h"
#include "parley/jobs/job.h"
#include "parley/runs/private_site.h"

namespace parley::runs {

class PrivateJoin {
 public:
  // `tables`: of all parties of the job, in their order.
  static Result<PrivateJoin> open(const jobs::Job& job, std::span<const catalog::PartyTable* const> tables,
                                  const catalog::JoinOfTables& join, const glm::Objective& objective,
                                  PrivateSite::Purpose purpose = PrivateSite::Purpose::kTraining);

  [[nodiscard]] const algorithms::PrivateTerms& terms() const { return *terms_; }
  [[nodiscard]] algorithms::JoinUnits units() const { return {of_row_, count_}; }
  [[nodiscard]] PrivateSite& site() { return *site_; }
  [[nodiscard]] Result<PrivacyReport> report(const jobs::Job& job);

 private:
  Result<void> number_units(const jobs::Job& job, std::span<const catalog::PartyTable* const> tables,
                            const catalog::JoinOfTables& join);
  void leave_out_rows(std::size_t most);

  std::unique_ptr<PrivateSite> site_;
  std::optional<algorithms::PrivateTerms> terms_;
  std::vector<linalg::Index> of_row_;
  std::size_t count_ = 0;
  std::string data_set_, in_full_;
};

}  // namespace parley::runs
