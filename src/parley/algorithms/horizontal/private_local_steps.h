// The private form of a party's local steps (local_steps.h), record by record:
//
//   every record joins with probability q, independently;  s = sum of the clipped gradients of those who joined
//   released:   s + N(0, (z C)^2 I);      the step then uses  g = s / (q n_i)
//
// q = b / n_i (1 without a batch), n_i the party's public number of records (private_terms.h), C the norm that one
// record's gradient may have. A run of T rounds takes T K such steps; z is what the accountant proves for all of them
// together, and all are charged before the first is drawn. Whatever happens to a sum afterwards - the step, the
// threshold, the average - is post-processing.
//
// Parties hold different records: each charges its own budget, and the whole run costs a record what its own party
// spent (parallel composition; privacy/ledger/across_parties.h).
#pragma once
#include <cstdint>
#include <memory>

#include "parley/algorithms/horizontal/local_settings.h"
#include "parley/algorithms/horizontal/row_share.h"
#include "parley/algorithms/parts/private_terms.h"
#include "parley/algorithms/sgd/sgd_gradient.h"
#include "parley/privacy/sensitivity/batch_sum.h"

namespace parley::algorithms {

class PrivateLocalSteps {
 public:
  // Whether the settings have a private form, whatever the data.
  static Result<void> check(const glm::Objective& objective, const LocalSettings& settings);
  // Charges the steps of the whole run; `share` must outlive it.
  static Result<std::shared_ptr<PrivateLocalSteps>> reserve(const glm::Objective& objective,
                                                            const LocalSettings& settings, const RowShare& share,
                                                            privacy::Gate& gate);

  // A noisy sum of gradients at these parameters; Fault::kBudgetEnded when the steps that were paid for are used up.
  Result<privacy::Released<std::vector<double>>> sum(std::span<const double> parameters, privacy::Gate& gate);
  [[nodiscard]] double expected_batch() const { return sampling_.rate() * problem_.privacy->records(); }

 private:
  PrivateLocalSteps(const Problem& problem, privacy::PoissonSampling sampling, privacy::BatchSum sum,
                    privacy::Deviation noise)
      : problem_(problem),
        derivatives_(problem_),
        sampling_(std::move(sampling)),
        sum_(std::move(sum)),
        noise_(noise) {}

  Problem problem_;
  BatchDerivatives derivatives_;
  privacy::PoissonSampling sampling_;
  privacy::BatchSum sum_;
  privacy::Deviation noise_;
};

}  // namespace parley::algorithms
