#include "parley/algorithms/private_sharing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "parley/privacy/sensitivity/theorems.h"

namespace parley::algorithms {

namespace {

constexpr double kDefaultValueBound = 5;  // margins beyond it are certain anyway
constexpr double kSolveError = 0x1p-24;   // theorems.md, "Floating point"
constexpr int kGrainBits = 24;

// Delta of the vector of shared values, its floating-point error included.
Result<privacy::ProvedDistance> shared_sensitivity(const ColumnShare& share, const PrivateSharing::Run& run, double value_bound,
                                                   double target_bound) {
  const auto records = static_cast<double>(share.features.rows());
  const double rho = run.settings.rho, lambda = run.ridge * rho;
  const double row_bound = std::sqrt(share.privacy->row_bound * share.privacy->row_bound + (share.constant ? 1.0 : 0.0));
  const double weight_bound = 0.5 * std::sqrt(records * rho / lambda) * target_bound;
  const double kappa = 1 + records * row_bound * row_bound * rho / lambda;
  if (8 * (records + static_cast<double>(share.features.cols())) * kappa * 0x1p-53 > kSolveError)
    return fail(
        bad_input({.field = "model.l2"}, "is too small for a private run of this size: rounding of the solve would not be covered"));
  return privacy::admm_sharing_sensitivity({.value_bound = value_bound,
                                            .row_bound = row_bound,
                                            .dual_bound = rho * target_bound,
                                            .weight_bound = weight_bound,
                                            .rho = rho,
                                            .lambda = lambda,
                                            .value_error = kSolveError * row_bound * weight_bound * std::sqrt(records)});
}

}  // namespace

Result<std::shared_ptr<const PrivateSharing>> PrivateSharing::reserve(const ColumnShare& share, const Run& run, privacy::Gate& gate) {
  const PrivateTerms& terms = *share.privacy;
  if (terms.target.neighbours != privacy::Neighbours::kReplaceOne)
    return fail(
        bad_input({.field = "privacy.neighbours"}, "one value per record travels, so the number of records is public: replace-one only"));
  const double value_bound = run.settings.value_bound > 0     ? run.settings.value_bound
                             : run.task == glm::Task::kLinear ? terms.label_bound
                                                              : kDefaultValueBound;
  std::shared_ptr<PrivateSharing> made(new PrivateSharing);
  made->target_bound_ = 2 * value_bound;
  PARLEY_TRY(made->sensitivity_, shared_sensitivity(share, run, value_bound, made->target_bound_));
  PARLEY_TRY(const privacy::Grain grain, privacy::Grain::below(value_bound, kGrainBits));
  made->rule_ = {.bound = value_bound, .grain = grain, .neighbours = terms.target.neighbours, .unit = terms.unit};
  const double whole = made->sensitivity() + grain.value() * std::sqrt(static_cast<double>(share.features.rows()));
  // Every party's every round touches the record.
  const std::int64_t releases = std::int64_t{run.settings.rounds} * run.parties;
  PARLEY_TRY(const double multiplier, privacy::gaussian_noise(terms.target, releases));
  made->noise_ = {multiplier * whole * (1 + 1e-12)};
  PARLEY_TRY(const auto probe,
             privacy::values_by_theorem(privacy::Private(std::vector<double>(static_cast<std::size_t>(share.features.rows()))), made->rule_,
                                        *made->sensitivity_));
  PARLEY_TRY(const privacy::Event event, privacy::Gate::gaussian_event(probe.sensitivity(), grain, made->noise_));
  PARLEY_TRY(const std::int64_t paid, gate.reserve({.step = {event}, .steps = run.settings.rounds}, terms.target.delta));
  static_cast<void>(paid);  // fewer: the gate refuses beyond them, and the run ends there
  return std::shared_ptr<const PrivateSharing>(std::move(made));
}

std::vector<double> PrivateSharing::clipped_target(std::span<const double> target) const {
  std::vector<double> clipped(target.begin(), target.end());
  for (double& t : clipped) t = std::clamp(t, -target_bound_, target_bound_);
  return clipped;
}

Result<privacy::Released<std::vector<double>>> PrivateSharing::release(const privacy::Private<std::vector<double>>& values,
                                                                       privacy::Gate& gate) const {
  PARLEY_TRY(const auto sensitive, privacy::values_by_theorem(values, rule_, *sensitivity_));
  return gate.gaussian(sensitive, noise_);
}

}  // namespace parley::algorithms
