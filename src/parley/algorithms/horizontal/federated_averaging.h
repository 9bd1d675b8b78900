// Federated averaging, from which the horizontal algorithms are made by a choice of parts:
//
//   coordinator:  sends x_t
//   each party i: x_i <- K local steps from x_t on its own records (local_steps.h); sends x_i and n_i
//   coordinator:  x_{t+1} <- sum_i p_i x_i,  p_i = n_i / n over the parties that answered;  for some  H_tau of it
//
//                      H_tau after each step   H_tau of the average   steps   down     up
//   fed_iter_ht.h              yes                    yes               K     sparse   sparse
//   fed_ht.h                   no                     yes               K     sparse   dense
//   distributed_iht.h          no                     yes               1     sparse   dense
//   fedavg.h                   no                     no                K     dense    dense
//
// Where the step is left open and is a safe one, all records are read, nothing is thresholded and nothing is private, the
// coordinator goes on beyond the average (Nesterov 1983; restarts of O'Donoghue & Candes 2015):
//
//   x_{t+1} <- average;  y_{t+1} <- x_{t+1} + (m_t - 1)/m_{t+1} (x_{t+1} - x_t),  m_{t+1} = (1 + sqrt(1 + 4 m_t^2))/2
//   m <- 1 where (y_t - x_{t+1})'(x_{t+1} - x_t) > 0;  y_t is what parties are sent
//
// It ends when a round moves the model by no more than 1e-7 of its length, in the run without privacy and batches.
//
// A sparse message holds the kept entries only: 12 bytes each. Sums run in party order, whatever order the answers
// came in. n_i is public: of a private run under add-remove it is the number that the job states for the party
// (local_steps.h, public_records). The private form of this file protects records; whole clients: client_averaging.h.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "parley/algorithms/horizontal/local_steps.h"
#include "parley/algorithms/horizontal/packed_parameters.h"
#include "parley/algorithms/horizontal/private_local_steps.h"
#include "parley/algorithms/horizontal/row_share.h"
#include "parley/algorithms/parts/federated.h"
#include "parley/linalg/vectors.h"
#include "parley/rounds/algorithm.h"

namespace parley::algorithms {

struct AveragingParts {
  bool threshold_steps = false;
  bool threshold_average = false;
  bool one_step = false;  // a message after every step
};

// What the files of the four algorithms share with the catalog: refuses an objective that they cannot take.
Result<void> check_averaging(const glm::Objective& objective, const LocalSettings& settings, AveragingParts parts);

// What leaves a party, in words; where the client is the unit, what leaves it under masks.
std::vector<Leaving> leaves_of_averaging(const RunTerms& terms, const LocalSettings& settings, AveragingParts parts);
// No reply of a party has more bytes: a sparse entry has 12, a dense one and a masked one 8.
std::size_t largest_averaging_reply(const glm::Objective& objective, std::span<const PartyFacts> parties);

template <AveragingParts parts>
class FederatedAveraging {
 public:
  static constexpr AveragingParts kParts = parts;

  struct Iterate {
    std::int64_t round = 0;          // t: rounds done
    double step = 0;                 // the same for every party and round
    std::vector<double> parameters;  // x_t, or y_t
    std::vector<double> average;     // x_t where y_t is sent
    double momentum = 1;             // m_t
    bool settled = false;            // the last round moved nothing
    static void fields(auto& self, auto&& visit) {
      visit(self.round, self.step, self.parameters, self.average, self.momentum, self.settled);
    }
  };
  struct Task {
    std::int64_t round = 0;
    double step = 0;
    PackedParameters<parts.threshold_average> parameters;
    static void fields(auto& self, auto&& visit) { visit(self.round, self.step, self.parameters); }
  };
  struct Reply {
    std::int64_t records = 0;  // n_i
    PackedParameters<parts.threshold_steps> parameters;
    static void fields(auto& self, auto&& visit) { visit(self.records, self.parameters); }
  };
  struct Memory {
    static void fields(auto&, auto&& visit) { visit(); }
    std::shared_ptr<PrivateLocalSteps> paid;  // of a private run
  };
  using Data = RowShare;
  using Settings = LocalSettings;

  static Result<FederatedAveraging> make(const RunTerms& terms, LocalSettings settings) {
    settings.seed = terms.seed;
    PARLEY_TRY(FederatedAveraging algorithm, make(terms.objective, settings));
    algorithm.open_ = !terms.is_private && !terms.client && settings.batch == 0;
    return algorithm;
  }
  static Result<FederatedAveraging> make(const glm::Objective& objective, LocalSettings settings) {
    if (parts.one_step) settings.local_steps = 1;
    PARLEY_CHECK(check_averaging(objective, settings, parts));
    return FederatedAveraging(objective, settings);
  }

  static std::vector<Leaving> leaves(const RunTerms& terms, const LocalSettings& settings) {
    return leaves_of_averaging(terms, settings, parts);
  }
  static Result<void> check_private(const RunTerms& terms, const LocalSettings& settings) {
    return PrivateLocalSteps::check(terms.objective, settings);
  }
  [[nodiscard]] std::int64_t most_rounds() const { return settings_.rounds; }
  [[nodiscard]] std::size_t largest_reply(std::span<const PartyFacts> parties) const {
    return largest_averaging_reply(objective_, parties);
  }

  [[nodiscard]] Forecast forecast(std::span<const PartyFacts> parties, std::span<const std::vector<double>>) const {
    const std::size_t all = parameter_count(objective_, parties.front().columns);
    const auto kept = std::min(
        all, static_cast<std::size_t>((objective_.sparsity.value_or(0) + 1) * objective_.classes));  // and intercepts
    const auto sent = [&](bool sparse) { return 8.0 + static_cast<double>(sparse ? 12 * kept : 8 * all); };
    Forecast forecast{.rounds = settings_.rounds};
    const Traffic each{.up = settings_.rounds * (8 + sent(parts.threshold_steps)),
                       .down = settings_.rounds * (16 + sent(parts.threshold_average)),
                       .messages = settings_.rounds};
    forecast.parties.assign(parties.size(), each);
    return forecast;
  }

  // What each party said that it trains on is its weight from now on: no reply changes it.
  Result<Iterate> begin(std::span<const PartyFacts> parties) {
    double row_norm = 0;
    for (const PartyFacts& party : parties) {
      row_norm = std::max(row_norm, party.row_norm);
      const auto number = static_cast<std::size_t>(party.party);
      if (introduced_.size() <= number) introduced_.resize(number + 1, 0);
      introduced_[number] = party.records;
    }
    return start(parties.front().columns, row_norm);
  }
  // `row_norm`: the largest norm of a row of any party, for a step size that the settings leave open.
  [[nodiscard]] Iterate start(std::size_t columns, double row_norm = 1) const {
    return {.step = step_size(objective_, settings_, row_norm),
            .parameters = std::vector<double>(parameter_count(objective_, columns), 0.0)};
  }

  Task ask(const Iterate& iterate) const {
    return {iterate.round, iterate.step, packed<parts.threshold_average>(iterate.parameters)};
  }

  // Charges the party's draws of the whole run. answer() does it where nobody has.
  Result<void> reserve(const RowShare& share, Memory& memory, privacy::Gate& gate) const {
    if (share.privacy == nullptr || memory.paid != nullptr) return {};
    PARLEY_TRY(memory.paid, PrivateLocalSteps::reserve(objective_, settings_, share, gate));
    return {};
  }

  Result<privacy::Released<Reply>> answer(const Task& task, const RowShare& share, Memory& memory,
                                          privacy::Gate& gate) const {
    constexpr auto kAfter = parts.threshold_steps ? AfterStep::kThreshold : AfterStep::kNothing;
    const auto columns = static_cast<std::size_t>(share.features.cols());
    // Before anything of that size is made.
    if (unpacked_size(task.parameters) != parameter_count(objective_, columns) || !(task.step > 0))
      return fail(bad_input({.field = "task"}, "must have one parameter per column and class, and a step above 0"));
    const LocalWork work{task.round, task.step, kAfter, unpacked(task.parameters)};
    PARLEY_CHECK(reserve(share, memory, gate));
    PARLEY_TRY(const auto parameters, local_steps(objective_, settings_, work, share, memory.paid.get(), gate));
    return privacy::derive(
        [](const std::vector<double>& learnt, const std::int64_t& records) {
          return Reply{records, packed<parts.threshold_steps>(learnt)};
        },
        parameters, privacy::Public{public_records(share)});
  }

  [[nodiscard]] Result<void> check(const Iterate& iterate, int party, const Reply& reply) const {
    if (unpacked_size(reply.parameters) != iterate.parameters.size())
      return fail(failed("it does not have as many parameters as the task"));
    if (reply.records < 1 || (!introduced_.empty() && reply.records != introduced_[static_cast<std::size_t>(party)]))
      return fail(failed("its number of records is not the one that the party introduced itself with"));
    return {};
  }

  Result<Iterate> absorb(Iterate iterate, const rounds::Answers<Reply>& answers) const {
    double records = 0;  // n
    for (const auto& answer : answers) {
      PARLEY_CHECK(check(iterate, answer.party, answer.reply));
      records += static_cast<double>(answer.reply.records);
    }
    if (answers.size() == 0) return fail(failed("no party answered; there is nothing to average"));
    std::vector<double> average(iterate.parameters.size(), 0.0);
    for (const auto& answer : answers)
      linalg::axpy(static_cast<double>(answer.reply.records) / records, answer.reply.parameters, average);
    if (parts.threshold_average) keep_largest(objective_, average);
    return moved(std::move(iterate), std::move(average));
  }

  bool done(const Iterate& iterate) const { return iterate.settled || iterate.round >= settings_.rounds; }
  [[nodiscard]] bool converged(const Iterate& iterate) const { return iterate.settled; }

 private:
  FederatedAveraging(const glm::Objective& objective, const LocalSettings& settings)
      : objective_(objective), settings_(settings) {}

  Iterate moved(Iterate iterate, std::vector<double> average) const {
    constexpr double kStill = 1e-7;  // share of the model's length
    double change = 0, turn = 0;
    const std::vector<double>& sent = iterate.parameters;
    for (std::size_t j = 0; j < average.size(); ++j) {
      change += (average[j] - sent[j]) * (average[j] - sent[j]);
      if (!iterate.average.empty()) turn += (sent[j] - average[j]) * (average[j] - iterate.average[j]);
    }
    iterate.settled = open_ && std::sqrt(change) <= kStill * linalg::l2_norm(average);
    ++iterate.round;
    const bool goes_beyond = open_ && settings_.step == 0 && !parts.threshold_average && !done(iterate);
    if (!goes_beyond || iterate.average.empty()) {
      if (goes_beyond) iterate.average = average;
      iterate.parameters = std::move(average);
      return iterate;
    }
    const double now = turn > 0 ? 1 : iterate.momentum;
    iterate.momentum = (1 + std::sqrt(1 + 4 * now * now)) / 2;
    const double beyond = (now - 1) / iterate.momentum;
    for (std::size_t j = 0; j < average.size(); ++j)
      iterate.parameters[j] = average[j] + beyond * (average[j] - iterate.average[j]);
    iterate.average = std::move(average);
    return iterate;
  }

  glm::Objective objective_;
  LocalSettings settings_;
  bool open_ = false;                     // nothing is private, and all records are read
  std::vector<std::int64_t> introduced_;  // at a coordinator
};

}  // namespace parley::algorithms
