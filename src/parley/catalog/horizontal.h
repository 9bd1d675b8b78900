// Federations whose parties hold different records of the same columns. The model is one vector of parameters, the
// coordinator's (local_steps.h).
#pragma once
#include <algorithm>
#include <utility>

#include "parley/algorithms/client_averaging.h"
#include "parley/algorithms/federated_averaging.h"
#include "parley/catalog/federation.h"
#include "parley/catalog/private_site.h"
#include "parley/rounds/drive.h"

namespace parley::catalog {

// Whether the unit of the job's privacy is the whole client, and what everyone knows of such a run.
inline bool by_clients(const Job& job) {
  return job.privacy && job.privacy->unit == privacy::Unit::kClient;
}
Result<algorithms::ClientTerms> client_terms(const Job& job, const std::string& run);
// What each party of the job said that it trains on; 0 for one that has no part in the run.
std::vector<std::int64_t> introduced_records(const Job& job, std::span<const Introduction> parties);

// An error when two parties of the job have one table: the same file, however its path is spelt, or the same bytes. Of files in this
// machine's reach.
Result<void> check_files_differ(const Job& job);

class HorizontalFederation : public Federation {
 public:
  Result<void> check(const Job& job) const override;
  Result<std::vector<PartyTable>> read(const Job& job, std::span<const int> parties) const override;
  Result<void> check_one(const Job& job, int party, const Introduction& said) const override;
  Result<void> check(const Job& job, std::span<const Introduction> parties) const override;
  [[nodiscard]] std::vector<std::size_t> outvoted(std::span<const Introduction> parties) const override;
  [[nodiscard]] std::size_t largest_reply(const Job& job, std::span<const Introduction> parties) const override;
  [[nodiscard]] privacy::Holding holding() const override { return privacy::Holding::kDisjointRecords; }
  Result<std::vector<Trained>> model(const Job& job, const Held& held) const override;
  Result<Scores> scores(std::span<const Trained> parts, std::span<const data::Dataset* const> tables) const override;
  Result<double> objective(const Job& job, std::span<const PartyTable> tables, const Held& held) const override;
};

// One of the four algorithms of algorithms/federated_averaging.h with its settings; where a job protects whole clients, its
// form of algorithms/client_averaging.h.
template <algorithms::AveragingParts parts>
class AveragingFederation final : public HorizontalFederation {
 public:
  explicit AveragingFederation(const algorithms::LocalSettings& settings) : settings_(settings) {}

  Result<void> check(const Job& job) const override {
    PARLEY_CHECK(HorizontalFederation::check(job));
    PARLEY_CHECK(with_algorithm(job, {"-1", "+1"}, [](const auto&) -> Result<void> { return {}; }));  // names decide nothing here
    if (!job.privacy) return {};
    if (!by_clients(job)) return algorithms::PrivateLocalSteps::check(job.objective, settings_);
    PARLEY_TRY(const algorithms::ClientTerms terms, client_terms(job, ""));
    PARLEY_CHECK(algorithms::ClientSum::make(terms.target, {settings_.clip, terms.clients, settings_.rounds, 1}));
    return {};
  }
  using HorizontalFederation::check;

  Result<std::unique_ptr<rounds::Responder>> responder(const Job& job, const PartyTable& table, rounds::GateOfRound gate) const override {
    return with_algorithm(
        job, table.train.labels.classes,
        [&]<class A>(A algorithm) -> Result<std::unique_ptr<rounds::Responder>> {
          return std::make_unique<rounds::Party<A>>(std::move(algorithm), share_of(table), std::move(gate));
        },
        table.run);
  }

  [[nodiscard]] std::int64_t rounds(const Job& job) const override {
    return std::int64_t{settings_.rounds} + (by_clients(job) ? 1 : 0);  // clients make their keys first
  }

  Result<void> reserve(const Job& job, const PartyTable& table, privacy::Gate& gate) const override {
    return with_algorithm(job, table.train.labels.classes, [&]<class A>(const A& algorithm) -> Result<void> {
      typename A::Memory memory;
      return algorithm.reserve(share_of(table), memory, gate);
    });
  }

  Result<Learnt> coordinate(const Job& job, std::span<const Introduction> parties, rounds::Exchange& exchange,
                            const AfterRound& after) const override {
    double row_norm = 0;
    for (const Introduction& party : parties) row_norm = std::max(row_norm, party.row_norm);
    return with_algorithm(job, parties.front().classes, [&]<class A>(A algorithm) -> Result<Learnt> {
      if constexpr (requires { algorithm.expect(std::vector<std::int64_t>{}); }) algorithm.expect(introduced_records(job, parties));
      const auto first = algorithm.start(static_cast<std::size_t>(parties.front().column_count), row_norm);
      PARLEY_TRY(auto outcome, rounds::drive(algorithm, first, exchange, [&](std::int64_t round, const typename A::Iterate& iterate) {
                   return !after || after(round, iterate.parameters);
                 }));
      return Learnt{stop_of(outcome.ended, false), outcome.rounds, std::move(outcome.iterate.parameters)};
    });
  }

 private:
  static algorithms::RowShare share_of(const PartyTable& table) {
    return {table.number, table.features, table.train.labels.values, table.site ? &table.site->terms() : nullptr};
  }
  // use(algorithm), whichever of the two forms the job asks for. `run`: of a party, for its masks.
  template <class Use>
  auto with_algorithm(const Job& job, const std::vector<std::string>& classes, const Use& use, const std::string& run = {}) const
      -> decltype(use(std::declval<algorithms::FederatedAveraging<parts>>())) {
    algorithms::LocalSettings settings = settings_;
    settings.seed = seed_of(job);
    const glm::Objective objective = objective_of(job, classes);
    if (by_clients(job)) {
      PARLEY_TRY(const algorithms::ClientTerms terms, client_terms(job, run));
      PARLEY_TRY(auto algorithm, algorithms::ClientAveraging<parts>::make(objective, settings, terms));
      return use(std::move(algorithm));
    }
    PARLEY_TRY(auto algorithm, algorithms::FederatedAveraging<parts>::make(objective, settings));
    return use(std::move(algorithm));
  }

  algorithms::LocalSettings settings_;
};

}  // namespace parley::catalog
