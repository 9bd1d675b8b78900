// Parties that hold different records of the same columns. The model is one vector of parameters, the coordinator's
// (algorithms/horizontal/local_steps.h).
#pragma once
#include <span>
#include <vector>

#include "parley/algorithms/horizontal/row_share.h"
#include "parley/catalog/federation.h"

namespace parley::catalog {

// An error when two parties of the job have one table: the same file, however its path is spelt, or the same bytes. Of
// files in this machine's reach.
Result<void> check_files_differ(const jobs::Job& job, const Sources& sources);

class Rows : public Federation {
 public:
  Result<void> check(const jobs::Job& job) const override;
  Result<std::vector<PartyTable>> read(const jobs::Job& job, std::span<const int> parties,
                                       const Sources& sources) const override;
  Result<void> check_one(const jobs::Job& job, int party, const jobs::Introduction& said) const override;
  Result<void> check(const jobs::Job& job, std::span<const jobs::Introduction> parties) const override;
  [[nodiscard]] std::vector<std::size_t> outvoted(std::span<const jobs::Introduction> parties) const override;
  [[nodiscard]] privacy::Holding holding() const override { return privacy::Holding::kDisjointRecords; }
  Result<std::vector<models::Trained>> model(const jobs::Job& job, const Held& held) const override;
  Result<Scores> scores(std::span<const models::Trained> parts,
                        std::span<const data::Dataset* const> tables) const override;
  Result<double> objective(const jobs::Job& job, const Running& running) const override;

 protected:
  // What FederationOf asks of a split.
  struct Part {};  // a party keeps none
  static Part part_of(const auto&) { return {}; }
  static std::span<const double> parameters_in(const auto& iterate) { return iterate.parameters; }
  static algorithms::RowShare share_of(const jobs::Job& job, const PartyTable& table);
  [[nodiscard]] virtual Result<Part> part_in(const wire::Bytes& memory) const = 0;
  [[nodiscard]] virtual Result<Part> part_at(rounds::Responder& party) const = 0;
};

}  // namespace parley::catalog
