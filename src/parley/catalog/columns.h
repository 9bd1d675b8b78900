// Parties that hold different columns of the same records, in the same order. Each party keeps its part of the model in
// its memory; the party with the labels also keeps the intercept. Of a private run a part is what the party released of
// it, unless the job keeps parts.
#pragma once
#include <span>
#include <vector>

#include "parley/algorithms/vertical/column_share.h"
#include "parley/catalog/federation.h"

namespace parley::catalog {

class Columns : public Federation {
 public:
  Result<void> check(const jobs::Job& job) const override;
  Result<std::vector<PartyTable>> read(const jobs::Job& job, std::span<const int> parties,
                                       const Sources& sources) const override;
  Result<void> check_one(const jobs::Job& job, int party, const jobs::Introduction& said) const override;
  Result<void> check(const jobs::Job& job, std::span<const jobs::Introduction> parties) const override;
  [[nodiscard]] privacy::Holding holding() const override { return privacy::Holding::kSameRecords; }
  Result<std::vector<models::Trained>> model(const jobs::Job& job, const Held& held) const override;
  Result<Scores> scores(std::span<const models::Trained> parts,
                        std::span<const data::Dataset* const> tables) const override;
  Result<double> objective(const jobs::Job& job, const Running& running) const override;

 protected:
  // What FederationOf asks of a split.
  struct Part {
    std::vector<double> weights;  // then the intercept where the party has one; empty before the first round
    bool released = false;        // they left through the gate
  };
  static Part part_of(const auto& memory) { return {memory.weights, memory.released}; }
  // All parts, where the coordinator holds them: the parties' one after another, then a constant where there is one.
  static std::span<const double> parameters_in(const auto& iterate) {
    if constexpr (requires { iterate.parameters; })
      return iterate.parameters;
    else
      return {};
  }
  static algorithms::ColumnShare share_of(const jobs::Job& job, const PartyTable& table);
  [[nodiscard]] virtual Result<Part> part_in(const wire::Bytes& memory) const = 0;
  [[nodiscard]] virtual Result<Part> part_at(rounds::Responder& party) const = 0;
};

// Columns whose parties release nothing but together: every release is of whole records, and every party charges it.
class JointColumns : public Columns {
 public:
  [[nodiscard]] privacy::Holding holding() const override { return privacy::Holding::kJointReleases; }
};

}  // namespace parley::catalog
