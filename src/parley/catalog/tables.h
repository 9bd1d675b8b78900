// Parties that hold tables which the job joins ([[join]]); several may hold one table by rows ([[union]]). Each party keeps its
// table's part of the model in its memory, the parties of one table the same part. Which columns join them is in the job; at a
// party its keys are digests (data/key_digest.h), under the federation's secret where it has one.
#pragma once
#include <span>
#include <vector>

#include "parley/algorithms/relational/table_share.h"
#include "parley/catalog/federation.h"

namespace parley::catalog {

// The part of the model that belongs to one party: `weights` class by class, then what the table adds.
Result<models::Trained> part_of_table(const jobs::Job& job, const jobs::Introduction& party,
                                      std::span<const double> weights);

// The tables of these parties, as a join of them needs them.
Result<std::vector<PartyTable>> read_tables(const jobs::Job& job, std::span<const int> parties, const Sources& sources);
// Its features as a join uses them: with a last tuple for rows without one where the job says so, and a column of ones.
linalg::Matrix joined_features(const jobs::Job& job, const PartyTable& table);

class Tables : public Federation {
 public:
  // A row of the join may lie in parts with all of them.
  [[nodiscard]] privacy::Holding holding() const override { return privacy::Holding::kSameRecords; }
  Result<void> check(const jobs::Job& job) const override;
  Result<void> check_one(const jobs::Job& job, int party, const jobs::Introduction& said) const override;
  Result<void> check(const jobs::Job& job, std::span<const jobs::Introduction> parties) const override;
  Result<std::vector<models::Trained>> model(const jobs::Job& job, const Held& held) const override;
  Result<std::vector<PartyTable>> read(const jobs::Job& job, std::span<const int> parties,
                                       const Sources& sources) const override;
  Result<double> objective(const jobs::Job& job, const Running& running) const override;
  Result<Scores> scores(std::span<const models::Trained> parts,
                        std::span<const data::Dataset* const> tables) const override;

 protected:
  // What FederationOf asks of a split.
  using Part = std::vector<double>;  // class by class; empty before the first epoch
  static Part part_of(const auto& memory) { return memory.weights; }
  static std::span<const double> parameters_in(const auto&) { return {}; }
  static algorithms::TableShare share_of(const jobs::Job& job, const PartyTable& table);
  [[nodiscard]] virtual Result<Part> part_in(const wire::Bytes& memory) const = 0;
  [[nodiscard]] virtual Result<Part> part_at(rounds::Responder& party) const = 0;
};

}  // namespace parley::catalog
