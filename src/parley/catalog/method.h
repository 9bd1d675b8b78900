// The algorithm that a job names, with its settings filled in: of one site a trainer, of several parties a federation.
#pragma once
#include <functional>
#include <memory>

#include "parley/algorithms/parts/fit.h"
#include "parley/algorithms/relational/factorised_newton.h"
#include "parley/core/result.h"
#include "parley/jobs/job.h"

namespace parley::catalog {

struct Row;        // catalog.h
class Federation;  // federation.h

using Trainer = std::function<Result<algorithms::Fit>(const algorithms::Problem&, const algorithms::Observer&)>;

using JoinTrainer =
    std::function<Result<algorithms::Fit>(const algorithms::JoinedProblem&, const algorithms::Observer&)>;

class Method final : public jobs::Method {
 public:
  explicit Method(const Row& row) : row_(row) {}
  [[nodiscard]] jobs::Partition partition() const override;
  void check(Toml& toml, const jobs::Job& job) const override;

  [[nodiscard]] const Row& row() const { return row_; }
  [[nodiscard]] bool weighs_records() const;     // honours the weights of records
  Trainer train;                                 // null where the algorithm is for several parties
  JoinTrainer train_over_join;                   // null where it trains on one table
  std::shared_ptr<const Federation> federation;  // null where it is for one

 private:
  void check_model(Toml& toml, const jobs::Job& job) const;

  const Row& row_;
};

// Of a job that read_job() read.
const Method& method_of(const jobs::Job& job);
// Null where the job is for one site.
const Federation* federation_of(const jobs::Job& job);

}  // namespace parley::catalog
