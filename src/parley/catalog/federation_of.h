// One federated algorithm (algorithms/parts/federated.h) over parties that hold Rows, Columns or Tables: what the catalog
// needs of it follows from the two, whatever they are.
#pragma once
#include <memory>
#include <utility>
#include <vector>

#include "parley/algorithms/parts/federated.h"
#include "parley/catalog/federation.h"
#include "parley/rounds/drive.h"
#include "parley/rounds/party.h"

namespace parley::catalog {

template <algorithms::Federated Algorithm, class Split>
class FederationOf final : public Split {
 public:
  using Settings = typename Algorithm::Settings;
  explicit FederationOf(const Settings& settings) : settings_(settings) {}

  using Split::check;
  Result<void> check(const jobs::Job& job) const override {
    PARLEY_CHECK(Split::check(job));
    const algorithms::RunTerms terms = terms_of(job, {"-1", "+1"});  // names decide nothing here
    PARLEY_CHECK(Algorithm::make(terms, settings_));
    return jobs::protects_records(job) ? Algorithm::check_private(terms, settings_) : Result<void>{};
  }

  Result<std::unique_ptr<rounds::Responder>> responder(const jobs::Job& job, const PartyTable& table,
                                                       rounds::GateOfRound gate) const override {
    PARLEY_TRY(Algorithm algorithm, Algorithm::make(terms_of(job, table.train.labels.classes, table.run), settings_));
    return std::make_unique<Party>(std::move(algorithm), Split::share_of(job, table), std::move(gate));
  }

  Result<void> reserve(const jobs::Job& job, const PartyTable& table, privacy::Gate& gate) const override {
    PARLEY_TRY(const Algorithm algorithm, Algorithm::make(terms_of(job, table.train.labels.classes), settings_));
    typename Algorithm::Memory memory;
    return algorithm.reserve(Split::share_of(job, table), memory, gate);
  }

  [[nodiscard]] std::int64_t rounds(const jobs::Job& job) const override {
    const auto algorithm = Algorithm::make(terms_of(job, {"-1", "+1"}), settings_);
    return algorithm ? algorithm->most_rounds() : 0;
  }

  [[nodiscard]] Result<std::size_t> largest_reply(const jobs::Job& job,
                                                  std::span<const jobs::Introduction> parties) const override {
    PARLEY_TRY(const auto facts, facts_of(job, parties));
    PARLEY_TRY(const Algorithm algorithm, Algorithm::make(terms_of(job, classes_of(parties)), settings_));
    return algorithm.largest_reply(facts);
  }

  [[nodiscard]] Result<algorithms::Forecast> forecast(
      const jobs::Job& job, std::span<const jobs::Introduction> parties,
      std::span<const std::vector<double>> column_bytes) const override {
    PARLEY_TRY(const auto facts, facts_of(job, parties));
    PARLEY_TRY(Algorithm algorithm, Algorithm::make(terms_of(job, parties.front().classes), settings_));
    PARLEY_CHECK(algorithm.begin(facts));
    if constexpr (requires { algorithm.forecast(facts, column_bytes); })
      return algorithm.forecast(facts, column_bytes);
    else
      return algorithms::Forecast{.rounds = algorithm.most_rounds()};
  }

  [[nodiscard]] std::vector<algorithms::Leaving> leaves(const jobs::Job& job) const override {
    if constexpr (requires(const algorithms::RunTerms& terms) { Algorithm::leaves(terms, settings_); })
      return Algorithm::leaves(terms_of(job, {"-1", "+1"}), settings_);
    else
      return {};
  }

  Result<Learnt> learn(const jobs::Job& job, std::span<const jobs::Introduction> parties, rounds::Exchange& exchange,
                       const Watching& watching) const override {
    PARLEY_TRY(const auto facts, facts_of(job, parties));
    PARLEY_TRY(Algorithm algorithm, Algorithm::make(terms_of(job, classes_of(parties)), settings_));
    PARLEY_TRY(auto first, algorithm.begin(facts));
    const auto judge = judge_of(algorithm, job, watching);
    std::vector<double> residuals;
    const auto see = [&](std::int64_t round, const typename Algorithm::Iterate& iterate) {
      if constexpr (requires { judge->see(iterate); })
        if (judge) judge->see(iterate);
      if constexpr (requires { algorithm.residual(iterate); })
        if (const auto known = algorithm.residual(iterate)) residuals.push_back(*known);
      if (!watching.after) return true;
      Seen seen{round, Split::parameters_in(iterate), std::nullopt};
      if constexpr (requires { algorithm.objective(iterate); }) seen.objective = algorithm.objective(iterate);
      return watching.after(seen);
    };
    PARLEY_TRY(auto outcome, rounds::drive(algorithm, std::move(first), exchange, see));
    bool converged = false;
    if constexpr (requires { algorithm.converged(outcome.iterate); }) converged = algorithm.converged(outcome.iterate);
    Learnt learnt{stop_of(outcome.ended, converged), outcome.rounds, {}, std::move(residuals), {}};
    if constexpr (requires { algorithm.cut_short(); })
      if (algorithm.cut_short() && learnt.stop == algorithms::Stop::kIterations)
        learnt.stop = algorithms::Stop::kBudgetEnded;
    if constexpr (requires { learnt.convergence = judge->result(); })
      if (judge) learnt.convergence = judge->result();
    if constexpr (requires { algorithm.curvature(outcome.iterate); })
      if (job.inference) learnt.curvature = algorithm.curvature(outcome.iterate);
    const auto parameters = Split::parameters_in(outcome.iterate);
    learnt.parameters.assign(parameters.begin(), parameters.end());
    return learnt;
  }

 protected:
  Result<typename Split::Part> part_in(const wire::Bytes& memory) const override {
    PARLEY_TRY(auto read, wire::decode<typename Algorithm::Memory>(memory, wire::Numbers::kAny));
    return Split::part_of(read);
  }
  Result<typename Split::Part> part_at(rounds::Responder& party) const override {
    auto* own = dynamic_cast<Party*>(&party.itself());
    if (own == nullptr) return fail(failed("this party is of another algorithm"));
    return Split::part_of(own->state());
  }

 private:
  using Party = rounds::AlgorithmParty<Algorithm>;

  // Of an algorithm that has one, where a simulation asks for it; else null.
  static auto judge_of(const Algorithm& algorithm, const jobs::Job& job, const Watching& watching) {
    if constexpr (requires { typename Algorithm::Judge; }) {
      std::unique_ptr<typename Algorithm::Judge> judge;
      if (!algorithm.settings().bounds || watching.tables.empty()) return judge;
      std::vector<typename Algorithm::Data> shares;
      for (const PartyTable* table : watching.tables) shares.push_back(Split::share_of(job, *table));
      return std::make_unique<typename Algorithm::Judge>(algorithm, std::move(shares));
    } else {
      return nullptr;
    }
  }
  Settings settings_;
};

}  // namespace parley::catalog
