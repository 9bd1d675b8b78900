// Federations whose parties hold different records of the same columns. The model is one vector of parameters, the
// coordinator's (local_steps.h).
#pragma once
#include <algorithm>

#include "parley/algorithms/federated_averaging.h"
#include "parley/catalog/federation.h"
#include "parley/catalog/private_site.h"
#include "parley/rounds/drive.h"

namespace parley::catalog {

class HorizontalFederation : public Federation {
 public:
  Result<std::vector<PartyTable>> read(const Job& job, std::span<const int> parties) const override;
  Result<void> check(const Job& job, std::span<const Introduction> parties) const override;
  [[nodiscard]] privacy::Holding holding() const override { return privacy::Holding::kDisjointRecords; }
  Result<std::vector<ModelPart>> model(const Job& job, const Held& held) const override;
  Result<Scores> scores(std::span<const ModelPart> parts, std::span<const data::Dataset* const> tables) const override;
  Result<double> objective(const Job& job, std::span<const PartyTable> tables, const Held& held) const override;
};

// One of the four algorithms of algorithms/federated_averaging.h with its settings.
template <class A>
class AveragingFederation final : public HorizontalFederation {
 public:
  explicit AveragingFederation(const algorithms::LocalSettings& settings) : settings_(settings) {}

  Result<std::unique_ptr<rounds::Responder>> responder(const Job& job, const PartyTable& table,
                                                       rounds::GateOfRound gate) const override {
    PARLEY_TRY(A algorithm, make(job, table.train.labels.classes));
    return std::make_unique<rounds::Party<A>>(std::move(algorithm), share_of(table), std::move(gate));
  }

  Result<void> reserve(const Job& job, const PartyTable& table, privacy::Gate& gate) const override {
    PARLEY_TRY(const A algorithm, make(job, table.train.labels.classes));
    typename A::Memory memory;
    return algorithm.reserve(share_of(table), memory, gate);
  }

  Result<Learnt> coordinate(const Job& job, std::span<const Introduction> parties, rounds::Exchange& exchange,
                            const AfterRound& after) const override {
    PARLEY_TRY(const A algorithm, make(job, parties.front().classes));
    double row_norm = 0;
    for (const Introduction& party : parties) row_norm = std::max(row_norm, party.row_norm);
    const auto first = algorithm.start(static_cast<std::size_t>(parties.front().column_count), row_norm);
    PARLEY_TRY(auto outcome, rounds::drive(algorithm, first, exchange, [&](std::int64_t round, const typename A::Iterate& iterate) {
                 return !after || after(round, iterate.parameters);
               }));
    return Learnt{stop_of(outcome.ended, false), outcome.rounds, std::move(outcome.iterate.parameters)};
  }

 private:
  static algorithms::RowShare share_of(const PartyTable& table) {
    return {table.number, table.features, table.train.labels.values, table.site ? &table.site->terms() : nullptr};
  }
  Result<A> make(const Job& job, const std::vector<std::string>& classes) const {
    algorithms::LocalSettings settings = settings_;
    settings.seed = seed_of(job);
    return A::make(objective_of(job, classes), settings);
  }

  algorithms::LocalSettings settings_;
};

}  // namespace parley::catalog
