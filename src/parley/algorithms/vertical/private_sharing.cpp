#include "parley/algorithms/vertical/private_sharing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "parley/algorithms/vertical/labels_once.h"
#include "parley/privacy/sensitivity/theorems.h"

namespace parley::algorithms {

namespace {

constexpr double kDefaultValueBound = 5;  // margins beyond it are certain anyway
constexpr double kSolveError = 0x1p-24;   // theorems.md, "Floating point"
constexpr int kGrainBits = 24;
constexpr int kPartGrainBits = 20;  // of the weights' sensitivity

// What bounds the party's problem, from public numbers alone.
struct Bounds {
  double rho, lambda;
  double row;          // B
  double weight;       // X
  double target;       // T
  double records;      // n
  double columns;      // of D
  double solve_error;  // of x, relative

  static Result<Bounds> make(const ColumnShare& share, const PrivateSharing::Run& run, double target_bound) {
    Bounds b{};
    b.records = static_cast<double>(share.features.rows());
    b.columns = static_cast<double>(share.features.cols()) + (share.constant ? 1.0 : 0.0);
    b.rho = run.settings.rho;
    b.lambda = run.ridge * b.rho;
    b.row = std::sqrt(share.privacy->row_bound * share.privacy->row_bound + (share.constant ? 1.0 : 0.0));
    b.target = target_bound;
    b.weight = 0.5 * std::sqrt(b.records * b.rho / b.lambda) * target_bound;
    const double kappa = 1 + b.records * b.row * b.row * b.rho / b.lambda;
    b.solve_error = 8 * (b.records + b.columns) * kappa * 0x1p-53;
    if (b.solve_error > kSolveError)
      return fail(bad_input({.field = "model.l2"},
                            "is too small for a private run of this size: rounding of the solve would not be covered"));
    return b;
  }
};

// Delta of the vector of shared values, its floating-point error included.
Result<privacy::ProvedDistance> shared_sensitivity(const Bounds& b, double value_bound) {
  return privacy::admm_sharing_sensitivity({.value_bound = value_bound,
                                            .row_bound = b.row,
                                            .dual_bound = b.rho * b.target,
                                            .weight_bound = b.weight,
                                            .rho = b.rho,
                                            .lambda = b.lambda,
                                            .value_error = kSolveError * b.row * b.weight * std::sqrt(b.records)});
}

// Likewise of the weights.
Result<privacy::ProvedDistance> weights_sensitivity(const Bounds& b) {
  return privacy::admm_weights_sensitivity({.row_bound = b.row,
                                            .dual_bound = b.rho * b.target,
                                            .weight_bound = b.weight,
                                            .rho = b.rho,
                                            .lambda = b.lambda,
                                            .weight_error = b.solve_error * b.weight});
}

}  // namespace

Result<PrivateSharing::Leaving> PrivateSharing::Leaving::make(const privacy::ProvedDistance& sensitivity,
                                                              const privacy::ClipRule& rule, std::size_t size,
                                                              double multiplier) {
  Leaving leaving{.sensitivity = sensitivity, .rule = rule, .noise = {}, .event = {}};
  const double whole = sensitivity.value() + rule.grain.value() * std::sqrt(static_cast<double>(size));
  leaving.noise = {multiplier * whole * (1 + 1e-12)};
  PARLEY_TRY(const auto probe,
             privacy::values_by_theorem(privacy::Private(std::vector<double>(size)), rule, sensitivity));
  PARLEY_TRY(leaving.event, privacy::Gate::gaussian_event(probe.sensitivity(), rule.grain, leaving.noise));
  return leaving;
}

Result<privacy::Released<std::vector<double>>> PrivateSharing::Leaving::release(
    const privacy::Private<std::vector<double>>& vector, privacy::Gate& gate) const {
  PARLEY_TRY(const auto sensitive, privacy::values_by_theorem(vector, rule, *sensitivity));
  return gate.release(sensitive, noise);
}

Result<std::shared_ptr<const PrivateSharing>> PrivateSharing::reserve(const ColumnShare& share, const Run& run,
                                                                      privacy::Gate& gate) {
  const PrivateTerms& terms = *share.privacy;
  if (terms.target.neighbours != privacy::Neighbours::kReplaceOne)
    return fail(bad_input({.field = "privacy.neighbours"},
                          "one value per record travels, so the number of records is public: replace-one only"));
  const double value_bound = run.settings.value_bound > 0     ? run.settings.value_bound
                             : run.task == glm::Task::kLinear ? terms.label_bound
                                                              : kDefaultValueBound;
  std::shared_ptr<PrivateSharing> made(new PrivateSharing);
  made->target_bound_ = 2 * value_bound;
  PARLEY_TRY(const Bounds bounds, Bounds::make(share, run, made->target_bound_));
  const auto rule = [&](double bound, privacy::Grain grain) {
    return privacy::ClipRule{.bound = bound, .grain = grain, .neighbours = terms.target.neighbours, .unit = terms.unit};
  };
  // Every party's every round touches the record. Where parts are released, half of the cost is theirs: one release of
  // each party weighs as much as all of its rounds, R / z^2 = 1 / z_part^2.
  const std::int64_t rounds = run.settings.rounds;
  PARLEY_TRY(const double multiplier,
             privacy::gaussian_noise(terms.target, rounds * run.parties * (run.settings.release_parts ? 2 : 1)));
  PARLEY_TRY(const privacy::ProvedDistance of_values, shared_sensitivity(bounds, value_bound));
  PARLEY_TRY(const privacy::Grain grain, privacy::Grain::below(value_bound, kGrainBits));
  PARLEY_TRY(made->values_,
             Leaving::make(of_values, rule(value_bound, grain), static_cast<std::size_t>(bounds.records), multiplier));
  privacy::Reservation reservation{.step = {made->values_.event}, .steps = rounds};
  if (run.settings.release_parts) {
    PARLEY_TRY(const privacy::ProvedDistance of_weights, weights_sensitivity(bounds));
    PARLEY_TRY(const privacy::Grain fine, privacy::Grain::below(of_weights.value(), kPartGrainBits));
    PARLEY_TRY(made->part_,
               Leaving::make(of_weights, rule(bounds.weight, fine), static_cast<std::size_t>(bounds.columns),
                             multiplier / std::sqrt(static_cast<double>(rounds)) * (1 + 1e-9)));
    reservation.once = {made->part_->event};
  }
  PARLEY_TRY(const std::vector<privacy::Event> of_labels, events_of_labels(share));
  reservation.once.insert(reservation.once.begin(), of_labels.begin(), of_labels.end());
  PARLEY_TRY(const std::int64_t paid, gate.reserve(reservation, terms.target.delta));
  static_cast<void>(paid);  // fewer: the gate refuses beyond them, and the run ends there
  return std::shared_ptr<const PrivateSharing>(std::move(made));
}

std::vector<double> PrivateSharing::clipped_target(std::span<const double> target) const {
  std::vector<double> clipped(target.begin(), target.end());
  for (double& t : clipped) t = std::clamp(t, -target_bound_, target_bound_);
  return clipped;
}

Result<privacy::Released<std::vector<double>>> PrivateSharing::release(
    const privacy::Private<std::vector<double>>& values, privacy::Gate& gate) const {
  return values_.release(values, gate);
}

Result<privacy::Released<std::vector<double>>> PrivateSharing::release_part(
    const privacy::Private<std::vector<double>>& weights, privacy::Gate& gate) const {
  if (!part_) return fail(failed("this run keeps its parts: no release of them was paid for"));
  return part_->release(weights, gate);
}

}  // namespace parley::algorithms
