// What a site needs to train one job privately: the public numbers that bounds are made of, the ledger, the gate and
// the terms that a trainer reads; and, after the run, what may be claimed.
//
// Everything that decides about noise, steps or bounds here comes from the job, the schema, d and the number of records:
// n under replace-one, privacy.records under add-remove. They are public.
// A column without a public bound, a LIBSVM table whose number of columns nobody states, a bound or level that nobody confirmed, classes other than -1/1 and 0/1 that nobody listed, a rule that drops rows (n would depend on
// the data) and a free intercept are refused.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parley/algorithms/private_terms.h"
#include "parley/catalog/job.h"
#include "parley/catalog/trained.h"
#include "parley/core/result.h"
#include "parley/data/dataset.h"
#include "parley/glm/objective.h"
#include "parley/privacy/ledger/across_parties.h"
#include "parley/privacy/ledger/ledger.h"

namespace parley::catalog {

// What a claim is about: the model and every message that it was made of; or, where a job keeps exact parts of the model with their parties,
// what the parties send to each other.
inline constexpr const char* kPartNotCovered =
    "Its own part of the model is not covered: the job keeps parts (model.keep_parts), so the part stays with its party as it was computed "
    "from the data, for predictions that all parties make together and for nothing else.";
enum class Covered { kModel, kMessages };

// What a run may say about privacy.
struct PrivacyReport {
  bool claimed = false;  // false: the noise came from a seed
  double epsilon = 0;    // proved for what was charged
  double delta = 0;
  privacy::Unit unit = privacy::Unit::kRecord;
  privacy::Neighbours neighbours = privacy::Neighbours::kReplaceOne;
  privacy::Against against = privacy::Against::kEveryone;
  Covered covered = Covered::kModel;
  privacy::Holding holding = privacy::Holding::kDisjointRecords;
  std::string accountant;  // whose proof it is
  algorithms::Calibration calibration = algorithms::Calibration::kProved;
  std::int64_t releases = 0;
  std::size_t records = 0;  // the public number of units that noise, steps and means were made from
  double derivative_bound = 0;
  double noise_to_signal = 0;  // of the noisiest release, against the largest signal that any data could have
  privacy::Plan plan;
  std::string ledger;        // folder
  privacy::Budget budget;    // of the data set, over all runs
  double spent_epsilon = 0;  // of it, this run included
  double spent_delta = 0;
  std::string statement;  // for people
  std::vector<std::string> chosen;  // settings, by private tuning: released
  double run_epsilon = 0;           // of each run of a search
  std::vector<std::string> notes;
};

// Facts of the training table that a private run starts from.
struct PublicFacts {
  std::size_t records = 0;            // n; what the job states where the relation hides n; of clients, how many there are
  std::vector<double> column_bounds;  // of the features as the trainer sees them
  double row_bound = 0;
  double label_bound = 1;
};

// The classes of a model, in the order in which the job or the schema lists them. Of a private one they are no others: those that occur would be found in the data. Where nobody
// lists any they are as they were read, and open() refuses the table unless they are -1/1 or 0/1.
Result<std::vector<std::string>> public_classes(const Job& job, const data::Dataset& train);

Error classes_are_missing(const Job& job);

// Which run the site pays for, and who limits what it may cost. By default a run of its own, within a budget that the job
// sets where the ledger has none.
struct PaidRun {
  std::string name;                       // empty: one that nobody has used
  std::optional<privacy::Progress> kept;  // of a run that was here before
  enum class Cap { kOfJob, kOfSite };
  Cap cap = Cap::kOfJob;
  std::optional<privacy::Budget> budget;  // the site's, over all runs; absent: what its ledger holds
  std::string seen;                       // file that keeps the ledger's head beside the run (privacy/ledger/seen_head.h); empty: none
};

// What a run will charge a site, as the site says it before the first round.
struct Expected {
  privacy::Plan plan;
  double epsilon = 0;
  double delta = 0;
};

class PrivateSite {
 public:
  // `features` as the trainer would see them without privacy. With `rehearsal` nothing is opened or charged, and the
  // trainer stops at its reservation: what `parley plan` shows.
  enum class Purpose { kTraining, kRehearsal };
  static Result<std::unique_ptr<PrivateSite>> open(const Job& job, const data::Dataset& train, const linalg::Matrix& features,
                                                   const glm::Objective& objective, Purpose purpose = Purpose::kTraining,
                                                   const PaidRun& run = {});
  ~PrivateSite();

  using Reserve = std::function<Result<void>(privacy::Gate&)>;
  // What the run will ask its ledger for, by having it reserve from a gate that refuses. Touches no ledger.
  [[nodiscard]] Result<privacy::PlanRequest> rehearse(const Reserve& reserve) const;
  // Works out what the run will charge, by a rehearsal, and holds it to that. Charges nothing;
  // Fault::kBudgetEnded when the budget does not hold a single step.
  Result<void> expect(const Reserve& reserve);
  [[nodiscard]] const Expected& expected() const { return expected_; }
  // An answer of the run leaves (privacy::Ledger::mark_answer).
  Result<void> leaving(std::int64_t round, std::string_view answer);

  [[nodiscard]] const algorithms::PrivateTerms& terms() const { return *terms_; }
  [[nodiscard]] const linalg::Matrix& features() const { return features_.matrix(); }
  [[nodiscard]] privacy::Gate& gate() { return *gate_; }
  [[nodiscard]] const privacy::Purse& purse() const { return purse_; }
  [[nodiscard]] privacy::Bits& bits() { return *bits_; }
  [[nodiscard]] const PublicFacts& facts() const { return facts_; }
  [[nodiscard]] Result<PrivacyReport> report();

 private:
  PrivateSite(PublicFacts facts, privacy::GridFeatures features) : facts_(std::move(facts)), features_(std::move(features)) {}
  Result<void> open_ledger(const PaidRun& run, const privacy::Budget& wanted);
  Result<void> check_other_purses();

  PublicFacts facts_;
  privacy::GridFeatures features_;
  PrivacySection section_;
  Covered covered_ = Covered::kModel;
  privacy::Holding holding_ = privacy::Holding::kDisjointRecords;
  privacy::Purse purse_;
  std::string run_;
  bool resumed_ = false;
  Expected expected_;
  std::optional<std::int64_t> seed_;
  std::unique_ptr<privacy::Bits> bits_;
  std::optional<privacy::Ledger> ledger_;
  std::optional<privacy::Budget> wanted_;  // the job's, for a purse that has none
  bool set_budget_ = false;
  std::unique_ptr<privacy::Gate> gate_;
  std::optional<algorithms::PrivateTerms> terms_;
  std::vector<std::string> notes_;
};

Covered covered_by(const Job& job);
privacy::Holding holding_of(const Job& job);
// Whether the number of records is as private as they are: add-remove, or a client's.
bool hides_count(const Job& job);
// Writes into a model what is claimed, and whether it is covered.
void stamp(const PrivacyReport& report, Provenance& provenance);
// The claim in words; `seed`: what the noise came from, if from one.
std::string statement_of(const PrivacyReport& report, std::optional<std::int64_t> seed);
// The loudest of the plan, and a warning where it leaves little to learn.
void judge_noise(PrivacyReport& report, const privacy::Plan& plan, double epsilon, std::size_t records);

// R when the job gives none: what the derivative is at most, or at a model of zeros where it has no bound.
double default_derivative_bound(glm::Task task, double label_bound);

// Noise of one release over the largest signal that any data of n records could have: of a selection, the Gumbel scale
// against the largest score; of a value, its deviation against the largest value. 0 for what this says nothing about.
double noise_to_signal(const privacy::Mechanism& mechanism, std::size_t records, privacy::Neighbours neighbours);

}  // namespace parley::catalog
