// A federated algorithm from its two ends, whatever it is and whichever transport carries it.
//
//   at a party            read: its own table;  responder: tasks in, answers out
//   at the coordinator    check: whether the parties fit together;  learn: rounds over an exchange that is open
//   afterwards            the model is the coordinator's (rows are split), or each party keeps its part (columns, tables)
//
// How rows, columns and tables differ is in rows.h, columns.h and tables.h; what the algorithm adds to either is in federation_of.h, one
// class for all. Nothing else tells them apart.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "parley/algorithms/parts/convergence.h"
#include "parley/algorithms/parts/federated.h"
#include "parley/algorithms/parts/final_curvature.h"
#include "parley/algorithms/parts/fit.h"
#include "parley/catalog/party_table.h"
#include "parley/jobs/introduction.h"
#include "parley/jobs/job.h"
#include "parley/models/trained.h"
#include "parley/privacy/ledger/across_parties.h"
#include "parley/rounds/drive.h"
#include "parley/rounds/party.h"

namespace parley::catalog {

struct Learnt {
  algorithms::Stop stop = algorithms::Stop::kIterations;
  std::int64_t rounds = 0;
  std::vector<double> parameters;   // what the coordinator holds; empty when the parts stay with the parties
  std::vector<double> residuals{};  // of the rounds after which the algorithm knew one
  std::optional<algorithms::Convergence> convergence{};
  std::optional<algorithms::FinalCurvature> curvature{};  // of a run that asks for inference
};

// After each round, with what the coordinator holds; false asks for a stop.
struct Seen {
  std::int64_t round = 0;
  std::span<const double> parameters;  // empty where parties keep their parts
  std::optional<double> objective;     // where the coordinator knows it
};
using AfterRound = std::function<bool(const Seen&)>;

// What watches the rounds.
struct Watching {
  AfterRound after{};
  // Of a simulation: every party's, for what only all data together can tell.
  std::span<const PartyTable* const> tables{};
};

class Federation {
 public:
  virtual ~Federation() = default;

  // Whether any party could take part in the job, whatever its data: looked at before anybody is asked and anything is
  // read.
  [[nodiscard]] virtual Result<void> check(const jobs::Job& job) const = 0;

  // The tables of these parties, read alike. A site reads its own only. `sources`: one for each of them.
  [[nodiscard]] virtual Result<std::vector<PartyTable>> read(const jobs::Job& job, std::span<const int> parties,
                                                             const Sources& sources) const = 0;

  [[nodiscard]] virtual Result<std::unique_ptr<rounds::Responder>> responder(const jobs::Job& job,
                                                                             const PartyTable& table,
                                                                             rounds::GateOfRound gate) const = 0;
  // A private party's reservation of everything that it will draw, from this gate.
  [[nodiscard]] virtual Result<void> reserve(const jobs::Job& job, const PartyTable& table,
                                             privacy::Gate& gate) const = 0;
  // Rounds that a run of the job has at most: a site answers no others.
  [[nodiscard]] virtual std::int64_t rounds(const jobs::Job& job) const = 0;
  // Whether what a party says about itself can be true, from the job and from itself: nothing of it was believed
  // before.
  [[nodiscard]] virtual Result<void> check_one(const jobs::Job& job, int party,
                                               const jobs::Introduction& said) const = 0;
  // Whether parties that introduced themselves so can learn together.
  [[nodiscard]] virtual Result<void> check(const jobs::Job& job, std::span<const jobs::Introduction> parties) const = 0;
  // Of parties that do not fit together: those, by their place, that more than half of the others contradict. None
  // where no party can be missed.
  [[nodiscard]] virtual std::vector<std::size_t> outvoted(std::span<const jobs::Introduction>) const { return {}; }
  // No reply of theirs has more bytes.
  [[nodiscard]] virtual Result<std::size_t> largest_reply(const jobs::Job& job,
                                                          std::span<const jobs::Introduction> parties) const = 0;
  // What `parley plan` says of a run of these parties (algorithms/parts/forecast.h), whose stored columns have so many
  // bytes each, the largest first; none: not asked for. An error says what such a run would fail with.
  [[nodiscard]] virtual Result<algorithms::Forecast> forecast(
      const jobs::Job& job, std::span<const jobs::Introduction> parties,
      std::span<const std::vector<double>> column_bytes) const = 0;
  // What leaves a party of the job, in the algorithm's words; none: it says nothing of itself.
  [[nodiscard]] virtual std::vector<algorithms::Leaving> leaves(const jobs::Job& job) const = 0;
  // Whether a record is one party's or lies in parts with all of them: what a private run costs it in all.
  [[nodiscard]] virtual privacy::Holding holding() const = 0;
  [[nodiscard]] virtual Result<Learnt> learn(const jobs::Job& job, std::span<const jobs::Introduction> parties,
                                             rounds::Exchange& exchange, const Watching& watching) const = 0;

  // The model from what the coordinator holds and from the memories of the given parties (rounds::Responder::memory).
  // A site hands in its own memory alone and gets its part; a coordinator hands in none.
  struct Held {
    std::span<const jobs::Introduction> parties;  // one for each memory, or all of them
    std::span<const double> parameters;           // of the coordinator
    std::span<const wire::Bytes> memories;
  };
  [[nodiscard]] virtual Result<std::vector<models::Trained>> model(const jobs::Job& job, const Held& held) const = 0;

  // Simulation only, on data that the user already holds: margins and labels over all parties' rows, and the objective.
  struct Scores {
    std::vector<double> margins;  // class by class
    std::vector<double> labels;
  };
  [[nodiscard]] virtual Result<Scores> scores(std::span<const models::Trained> parts,
                                              std::span<const data::Dataset* const> tables) const = 0;
  // In the middle of a run: from what the coordinator holds and from the parties as they are (the ones that responder()
  // made).
  struct Running {
    std::span<const PartyTable* const> tables;
    std::span<const double> parameters;
    std::span<rounds::Responder* const> parties;
  };
  [[nodiscard]] virtual Result<double> objective(const jobs::Job& job, const Running& running) const = 0;
};

// Federation::check of the job's, and what holds for all of them.
Result<void> check_federated(const jobs::Job& job);

// Of the job's federation; of one site its records are its own.
privacy::Holding holding_of(const jobs::Job& job);

// The job's objective once the number of classes is known.
glm::Objective objective_of(const jobs::Job& job, const std::vector<std::string>& classes);
// What an algorithm is told of the job, and of the parties by what they said. `run`: as a party was told.
algorithms::RunTerms terms_of(const jobs::Job& job, const std::vector<std::string>& classes,
                              const std::string& run = {});
// The classes as those who hold labels call them.
std::vector<std::string> classes_of(std::span<const jobs::Introduction> parties);
Result<std::vector<algorithms::PartyFacts>> facts_of(const jobs::Job& job, std::span<const jobs::Introduction> parties);
// How a run of rounds ended, in the words of a fit.
algorithms::Stop stop_of(rounds::Ended ended, bool converged);

}  // namespace parley::catalog
