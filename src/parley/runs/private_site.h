// What a site needs to train one job privately: the public numbers that bounds are made of, the ledger, the gate and
// the terms that a trainer reads; and, after the run, what may be claimed.
//
// Everything that decides about noise, steps or bounds here comes from the job, the schema, d and the number of
// records: n under replace-one, privacy.records under add-remove. They are public.
// A column without a public bound, a LIBSVM table whose number of columns nobody states, a bound or level that nobody
// confirmed, classes other than -1/1 and 0/1 that nobody listed, a rule that drops rows (n would depend on the data)
// and a free intercept are refused.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parley/algorithms/parts/private_terms.h"
#include "parley/core/result.h"
#include "parley/data/dataset.h"
#include "parley/glm/objective.h"
#include "parley/jobs/job.h"
#include "parley/privacy/ledger/ledger.h"
#include "parley/runs/claim.h"

namespace parley::runs {

// Facts of the training table that a private run starts from.
struct PublicFacts {
  std::size_t records = 0;  // n; what the job states where the relation hides n; of clients, how many there are
  std::vector<double> column_bounds;  // of the features as the trainer sees them
  double row_bound = 0;
  std::vector<std::size_t> numbers;  // columns that the schema calls numbers
  bool finds_row_norm = false;       // no schema says how many columns of a row are not 0
  double label_bound = 1;
};

// Of one table of the job, whose only party this is.
Result<PublicFacts> public_facts(const jobs::Job& job, const data::Dataset& train, const linalg::Matrix& features);

// Which run the site pays for, and who limits what it may cost. By default a run of its own, within a budget that the
// job sets where the ledger has none.
struct PaidRun {
  std::string name;                       // empty: one that nobody has used
  std::optional<privacy::Progress> kept;  // of a run that was here before
  enum class Cap { kOfJob, kOfSite };
  Cap cap = Cap::kOfJob;
  std::optional<privacy::Budget> budget;  // the site's, over all runs; absent: what its ledger holds
  std::string seen;  // file that keeps the ledger's head beside the run (privacy/ledger/seen_head.h); empty: none
};

// What a run will charge a site, as the site says it before the first round.
struct Quote {
  privacy::Plan plan;
  double epsilon = 0;
  double delta = 0;
  std::int64_t missing_steps = 0;  // that the run would take, and the budget does not hold
};

class PrivateSite {
 public:
  // `features` as the trainer would see them without privacy. With `rehearsal` nothing is opened or charged, and the
  // trainer stops at its reservation: what `parley plan` shows.
  enum class Purpose { kTraining, kRehearsal };
  static Result<std::unique_ptr<PrivateSite>> open(const jobs::Job& job, const data::Dataset& train,
                                                   const linalg::Matrix& features, const glm::Objective& objective,
                                                   Purpose purpose = Purpose::kTraining, const PaidRun& run = {});
  ~PrivateSite();

  using Reserve = std::function<Result<void>(privacy::Gate&)>;
  // What the run will ask its ledger for, by having it reserve from a gate that refuses. Touches no ledger.
  [[nodiscard]] Result<privacy::PlanRequest> rehearse(const Reserve& reserve) const;
  // Works out what the run will charge, by a rehearsal, and holds it to that. Charges nothing;
  // Fault::kBudgetEnded when the budget does not hold a single step.
  Result<void> expect(const Reserve& reserve);
  [[nodiscard]] const Quote& quote() const { return quote_; }
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
  PrivateSite(PublicFacts facts, privacy::GridFeatures features)
      : facts_(std::move(facts)), features_(std::move(features)) {}
  Result<void> open_ledger(const PaidRun& run, const privacy::Budget& wanted);
  Result<void> check_other_purses();

  PublicFacts facts_;
  privacy::GridFeatures features_;
  jobs::PrivacySection section_;
  Covered covered_ = Covered::kModel;
  privacy::Holding holding_ = privacy::Holding::kDisjointRecords;
  bool found_in_common_ = false;
  privacy::Purse purse_;
  std::string run_;
  bool resumed_ = false;
  Quote quote_;
  std::optional<std::int64_t> seed_;
  std::unique_ptr<privacy::Bits> bits_;
  std::optional<privacy::Ledger> ledger_;
  std::optional<privacy::Budget> wanted_;  // the job's, for a purse that has none
  bool set_budget_ = false;
  std::int64_t marked_ = -1;  // releases up to the last answer that was marked, where the unit is the label
  std::unique_ptr<privacy::Gate> gate_;
  std::optional<algorithms::PrivateTerms> terms_;
  std::vector<std::string> notes_;
};

// R when the job gives none: what the derivative is at most, or at a model of zeros where it has no bound.
double default_derivative_bound(glm::Task task, double label_bound);

}  // namespace parley::runs
