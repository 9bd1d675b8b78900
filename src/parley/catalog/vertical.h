// Federations whose parties hold different columns of the same records, in the same order. Each party keeps its part of the
// model in its memory; the party with the labels also keeps the intercept. Of a private run a part is what the party released of it, unless the
// job keeps parts.
#pragma once
#include "parley/algorithms/admm_sharing.h"
#include "parley/catalog/federation.h"

namespace parley::catalog {

class VerticalFederation : public Federation {
 public:
  Result<void> check(const Job& job) const override;
  Result<std::vector<PartyTable>> read(const Job& job, std::span<const int> parties) const override;
  Result<void> check_one(const Job& job, int party, const Introduction& said) const override;
  Result<void> check(const Job& job, std::span<const Introduction> parties) const override;
  [[nodiscard]] std::size_t largest_reply(const Job& job, std::span<const Introduction> parties) const override;
  [[nodiscard]] privacy::Holding holding() const override { return privacy::Holding::kSameRecords; }
  Result<std::vector<Trained>> model(const Job& job, const Held& held) const override;
  Result<Scores> scores(std::span<const Trained> parts, std::span<const data::Dataset* const> tables) const override;
  Result<double> objective(const Job& job, std::span<const PartyTable> tables, const Held& held) const override;

 protected:
  // A party's weights and, after them, the intercept where it has one; empty before the first round.
  [[nodiscard]] virtual Result<std::vector<double>> weights_in(const wire::Bytes& memory) const = 0;
  // The same where they are about to be written into a model: an error where the claim would not cover them and the job does not keep parts.
  [[nodiscard]] virtual Result<std::vector<double>> part_in(const Job& job, const wire::Bytes& memory) const = 0;
};

class AdmmFederation final : public VerticalFederation {
 public:
  explicit AdmmFederation(const algorithms::AdmmSettings& settings) : settings_(settings) {}

  Result<void> check(const Job& job) const override;
  using VerticalFederation::check;
  Result<std::unique_ptr<rounds::Responder>> responder(const Job& job, const PartyTable& table, rounds::GateOfRound gate) const override;
  [[nodiscard]] std::int64_t rounds(const Job& job) const override;
  Result<void> reserve(const Job& job, const PartyTable& table, privacy::Gate& gate) const override;
  Result<Learnt> coordinate(const Job& job, std::span<const Introduction> parties, rounds::Exchange& exchange,
                            const AfterRound& after) const override;

 protected:
  Result<std::vector<double>> weights_in(const wire::Bytes& memory) const override;
  Result<std::vector<double>> part_in(const Job& job, const wire::Bytes& memory) const override;

 private:
  [[nodiscard]] Result<algorithms::AdmmSharing> make(const Job& job) const { return make(job, settings_.rounds); }
  [[nodiscard]] Result<algorithms::AdmmSharing> make(const Job& job, int rounds) const;
  [[nodiscard]] algorithms::AdmmSettings settings_of(const Job& job) const;  // what the job decides beside [algorithm]

  algorithms::AdmmSettings settings_;
};

}  // namespace parley::catalog
