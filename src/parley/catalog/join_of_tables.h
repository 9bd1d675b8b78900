// All tables of a job in one process, as a trainer over their join needs them. The join is never made.
#pragma once
#include <span>
#include <vector>

#include "parley/algorithms/relational/factorised_newton.h"
#include "parley/catalog/party_table.h"
#include "parley/core/result.h"
#include "parley/jobs/job.h"

namespace parley::catalog {

class JoinOfTables {
 public:
  // `parties`: the tables of all parties of the job, in their order.
  static Result<JoinOfTables> make(const jobs::Job& job, std::span<const PartyTable* const> parties);

  [[nodiscard]] algorithms::JoinedProblem problem(const glm::Objective& objective) const {
    return {features_, rows_, labels_, objective};
  }
  [[nodiscard]] std::span<const algorithms::JoinedTable> rows() const { return rows_; }  // of each table
  // One table's, class by class, of those of all.
  [[nodiscard]] std::vector<double> weights_of(std::size_t table, std::span<const double> weights) const;

 private:
  std::vector<linalg::Matrix> features_;       // of each table
  std::vector<algorithms::JoinedTable> rows_;  // likewise
  std::vector<double> labels_;                 // of each row of the join
};

}  // namespace parley::catalog
