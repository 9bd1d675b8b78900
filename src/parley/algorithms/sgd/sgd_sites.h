// The part of stochastic gradient descent that looks at the data: it draws a batch and tells the sum of its clipped
// gradients.
//
// The open site tells the sum itself; the gated one tells what the gate releases of it, step by step. Where an update
// is linear in the released sums and batches are small beside the number of columns, the sums of all steps are released
// together at the end, and noise is drawn for what a batch reads (privacy/noisy_total.h): the same law for less work.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "parley/algorithms/parts/fit.h"
#include "parley/algorithms/sgd/sgd_gradient.h"
#include "parley/algorithms/sgd/sgd_plan.h"
#include "parley/core/result.h"

namespace parley::algorithms {

class SgdSite {
 public:
  virtual ~SgdSite() = default;
  // Of a new batch at these weights; valid until the next call.
  virtual Result<std::span<const double>> sum(std::span<const double> weights) = 0;
  [[nodiscard]] virtual int steps() const = 0;  // that may be taken: fewer than planned when a budget holds no more
};

// `derivatives` must outlive the site. The same seed and rate draw the same batches as a private site whose
// gate draws from that seed.
Result<std::unique_ptr<SgdSite>> open_site(const Problem& problem, BatchDerivatives& derivatives, const SgdPlan& plan,
                                           std::uint64_t seed);
// Charges the whole plan first.
Result<std::unique_ptr<SgdSite>> gated_site(const Problem& problem, BatchDerivatives& derivatives, const SgdPlan& plan);

// Whether W_T is a multiple of the sum of all releases (no momentum, penalty, constraint or average) and a
// batch has few records beside the coordinates. Decided by public numbers: the choice shows in the ledger.
bool is_linear(const Problem& problem, const SgdPlan& plan);
// W_T after all steps, and how many there were.
struct LinearOutcome {
  std::vector<double> weights;
  int steps = 0;
  int allowed = 0;  // by the budget
};
// Tells `watch` each step and, where it wants them, the weights; false asks for a stop.
class LinearWatch {
 public:
  virtual ~LinearWatch() = default;
  [[nodiscard]] virtual bool wants(int step) const = 0;
  virtual bool see(int step, std::span<const double> weights) = 0;
};
Result<LinearOutcome> descend_linearly(const Problem& problem, BatchDerivatives& derivatives, const SgdPlan& plan,
                                       LinearWatch& watch);

}  // namespace parley::algorithms
