#include "parley/algorithms/vertical/private_selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "parley/algorithms/vertical/labels_once.h"
#include "parley/privacy/accounting/conversion.h"
#include "parley/privacy/sensitivity/clipped_sum.h"

namespace parley::algorithms {

namespace {

using privacy::Event;

constexpr double kBaseRateShare = 0.01;
constexpr double kLargestFloor = 0.1;  // of B R
constexpr double kLoudest = 0.5;       // deviation of a column's noise, in B c_J
constexpr double kReach = 8;           // deviations of noise that a number which travels has room for
constexpr int kStepsOfPaper = 20;
constexpr int kLabelGrainBits = 20;

double columns_sent(double columns, double steps, const BcfwSettings& settings) {
  return settings.sharing == BcfwSettings::Sharing::kAtStart ? columns : std::min(steps - 1, columns);
}

// Deviation of the base rate's noise over its sensitivity.
double base_rate_multiplier(double rho) {
  return 1 / std::sqrt(2 * kBaseRateShare * rho);
}

}  // namespace

double base_rate_offset(glm::Task task, double mean, double records) {
  if (task != glm::Task::kLogistic) return mean;
  const double most = records / (records + 2);
  const double m = std::clamp(mean, -most, most);
  return std::log((1 + m) / (1 - m));
}

double selection_epsilon(double rho, double share, int parties, double steps) {
  return std::sqrt(8 * share * rho / (parties * steps));
}

double column_deviation(double rho, double share, const SelectionShape& shape, double columns) {
  return 2 * shape.bound * shape.column_norm * std::sqrt(shape.parties * columns / (2 * (1 - share) * rho));
}

double noise_floor(double rho, double share, const SelectionShape& shape, double steps) {
  const double winner = std::log(2 * std::ceil(shape.columns));
  return 2 * shape.bound * shape.derivative_bound / shape.records *
         std::sqrt(shape.parties * steps / (2 * share * rho)) * winner;
}

Result<SuggestedSelection> suggested_selection(double rho, const SelectionShape& shape, const BcfwSettings& settings) {
  const double largest = kLargestFloor * shape.bound * shape.derivative_bound;
  const auto share_at = [&](double steps) {
    if (settings.share) return *settings.share;
    const double columns = columns_sent(shape.columns, steps, settings);
    if (columns < 1 && settings.sharing == BcfwSettings::Sharing::kAtNeed) return 1.0;
    const double loudest = kLoudest * shape.bound * shape.column_norm;
    return column_deviation(rho, 0.5, shape, columns) <= loudest ? 0.5 : 1.0;
  };
  if (settings.iterations) return SuggestedSelection{*settings.iterations, share_at(*settings.iterations)};
  for (const int steps : {kMostSuggestedSteps, 20, 10, 5, 2, 1})
    if (const double share = share_at(steps); noise_floor(rho, share, shape, steps) <= largest)
      return SuggestedSelection{steps, share};
  const double share = share_at(1);
  return fail(bad_input(
      {.field = "privacy.epsilon"},
      fmt::format(
          "is too small to pick one column of {:.0f} among {:.0f} records: the noise of a selection is {:.2g} times "
          "the largest signal that data usually have; it needs about {:.0f} records, or set "
          "algorithm.iterations to run all the same",
          shape.columns, shape.records, noise_floor(rho, share, shape, 1) / largest,
          std::ceil(shape.records * noise_floor(rho, share, shape, 1) / largest))));
}

// Numbers travel on a grid of a power of two: in 16 bits where that is fine enough beside the sensitivity, else in the
// 24 of a float32.
Result<PrivateSelection::Packing> PrivateSelection::packing(const ColumnShare& share, const Run& run, double bound,
                                                            double deviation) {
  const auto records = static_cast<double>(share.features.rows());
  const auto length = static_cast<double>(run.space.length());
  const double norm = run.space.column_norm();
  const double error = run.space.sketched() ? records * records * 0x1p-52 * bound * norm : 0;
  PARLEY_TRY(const privacy::ProvedDistance moves,
             privacy::sketched_column_sensitivity({.bound = bound, .column_norm = norm, .error = error}));
  // No entry of J a is larger in size than B sum_r |J_pr|; what is beyond this is clipped, as everywhere.
  const double reach = run.space.sketched() ? bound * norm * std::sqrt(records) : bound;
  const double room = reach + kReach * deviation;
  PARLEY_TRY(privacy::Grain grain, privacy::Grain::below(2 * room, 15));
  const bool fine = grain.value() * std::sqrt(length) <= 0.05 * moves.value();
  if (!fine) {
    PARLEY_TRY(grain, privacy::Grain::below(2 * room, 24));
  }
  return Packing{
      .moves = moves,
      .rule = {.bound = reach,
               .grain = grain,
               .neighbours = share.privacy->target.neighbours,
               .unit = share.privacy->unit},
      .noise = {deviation * (moves.value() + grain.value() * std::sqrt(length)) / moves.value() * (1 + 1e-12)},
      .scale = grain.value(),
      .storage = fine ? linalg::Storage::kInt16 : linalg::Storage::kFloat32};
}

Result<std::shared_ptr<PrivateSelection>> PrivateSelection::reserve(const ColumnShare& share, const Run& run,
                                                                    privacy::Gate& gate) {
  const PrivateTerms& terms = *share.privacy;
  const privacy::GridFeatures& features = *terms.features;
  PARLEY_TRY(privacy::ExactSums sums, privacy::ExactSums::make(features, {.derivative_bound = terms.derivative_bound,
                                                                          .classes = 1,
                                                                          .constant = share.constant,
                                                                          .neighbours = terms.target.neighbours,
                                                                          .unit = terms.unit}));
  std::shared_ptr<PrivateSelection> made(new PrivateSelection(std::move(sums)));
  made->terms_ = share.privacy;
  made->plain_ = features.matrix().with_column_scale({});
  SelectionShape shape{.records = terms.records(),
                       .columns = static_cast<double>(columns_of(share)),
                       .parties = run.parties,
                       .bound = share.constant ? 1.0 : 0.0,
                       .derivative_bound = terms.derivative_bound,
                       .column_norm = run.space.column_norm()};
  for (std::size_t j = 0; j < features.columns(); ++j) shape.bound = std::max(shape.bound, features.bound(j));
  const bool paper = terms.calibration == privacy::Calibration::kPaper;
  const double epsilon = terms.target.epsilon.value(), delta = terms.target.delta.value();
  const double whole = privacy::accounting::zcdp_within(epsilon, delta);
  const bool offset = run.base_rate;
  const double rho = offset ? (1 - kBaseRateShare) * whole : whole;

  double selection = 0, deviation = 0;
  int steps = run.settings.iterations.value_or(kStepsOfPaper);
  bool sends = true;
  if (paper) {
    // Its Laplace noise on the mean gradient, G being at most B R: report-noisy-max at that scale costs 2 D / scale.
    const double k = run.parties, t = steps;
    selection = epsilon / (2 * run.radius * std::sqrt(2 * t * std::log(2 / delta)));
    const auto rows = static_cast<double>(run.space.length());
    const double leading = run.space.sketched() ? 1 + std::sqrt(shape.records / rows) : 1;
    deviation =
        leading * std::sqrt(k * t) * std::sqrt(2 * (std::log(1 / delta) + epsilon / 2)) / (shape.records * epsilon / 2);
  } else {
    PARLEY_TRY(const SuggestedSelection suggested, suggested_selection(rho, shape, run.settings));
    steps = suggested.steps;
    sends = suggested.share < 1;
    selection = selection_epsilon(rho, suggested.share, run.parties, steps);
    if (sends)
      deviation = column_deviation(rho, suggested.share, shape,
                                   std::max(1.0, columns_sent(shape.columns, steps, run.settings)));
  }
  const double count = columns_sent(shape.columns, steps, run.settings);
  sends = sends && count >= 1;
  made->noisy_max_ = paper;

  privacy::Reservation reservation{.steps = steps};
  std::vector<Event> base_rate;
  if (offset) {
    made->label_bound_ = run.task == glm::Task::kLinear ? terms.label_bound : 1;
    PARLEY_TRY(made->label_grain_, privacy::Grain::below(made->label_bound_, kLabelGrainBits));
    PARLEY_TRY(const auto probe,
               privacy::clipped_sum_l2(privacy::Private(std::vector<double>(1)), {.bound = made->label_bound_,
                                                                                  .grain = made->label_grain_,
                                                                                  .neighbours = terms.target.neighbours,
                                                                                  .unit = terms.unit}));
    made->base_rate_sigma_ = base_rate_multiplier(whole) * probe.sensitivity() * (1 + 1e-12);
    PARLEY_TRY(const Event event,
               privacy::Gate::gaussian_event(probe.sensitivity(), made->label_grain_, {made->base_rate_sigma_}));
    base_rate.push_back(event);
  }
  if (sends) {
    PARLEY_TRY(made->packing_, packing(share, run, shape.bound, deviation));
    PARLEY_TRY(const auto probe, privacy::values_by_theorem(privacy::Private(std::vector<double>(run.space.length())),
                                                            made->packing_->rule, made->packing_->moves));
    PARLEY_TRY(Event event,
               privacy::Gate::gaussian_event(probe.sensitivity(), made->packing_->rule.grain, made->packing_->noise));
    event.count = static_cast<std::int64_t>(count);
    reservation.once.push_back(event);
  } else if (!paper) {
    const auto plan_at = [&](double each) {
      privacy::Plan plan{terms.target.neighbours, base_rate};
      plan.events.push_back({privacy::Exponential{each}, std::int64_t{run.parties} * steps});
      return plan;
    };
    PARLEY_TRY(selection, privacy::largest_scale(plan_at, terms.target, selection));
  }
  if (share.holds_labels())
    reservation.once.insert(reservation.once.begin(), base_rate.begin(), base_rate.end());
  else
    made->base_rate_sigma_ = 0;
  PARLEY_TRY(const std::vector<Event> of_labels, events_of_labels(share));
  reservation.once.insert(reservation.once.begin(), of_labels.begin(), of_labels.end());
  PARLEY_TRY(made->epsilon_, privacy::Epsilon::make(selection));
  reservation.step = {
      {paper ? privacy::Mechanism{privacy::Pure{selection}} : privacy::Mechanism{privacy::Exponential{selection}}, 1}};
  PARLEY_TRY(made->steps_, gate.reserve(reservation, terms.target.delta));
  return made;
}

Result<privacy::Released<double>> PrivateSelection::base_rate(std::span<const double> labels,
                                                              privacy::Gate& gate) const {
  PARLEY_TRY(const auto sum,
             privacy::clipped_sum_l2(privacy::Private(std::vector<double>(labels.begin(), labels.end())),
                                     {.bound = label_bound_,
                                      .grain = label_grain_,
                                      .neighbours = terms_->target.neighbours,
                                      .unit = terms_->unit}));
  PARLEY_TRY(const auto released, gate.release(sum, privacy::Deviation{base_rate_sigma_}));
  struct Scale {
    double records, bound;
  };
  return privacy::derive([](const std::vector<double>& total,
                            const Scale& by) { return std::clamp(total.front() / by.records, -by.bound, by.bound); },
                         released, privacy::Public{Scale{terms_->records(), label_bound_}});
}

std::vector<double> PrivateSelection::own_margins(const ColumnShare& share, std::span<const double> weights) const {
  const auto columns = static_cast<std::size_t>(share.features.cols());
  std::vector<double> exact(columns), margins(static_cast<std::size_t>(share.features.rows()));
  terms_->features->exact_weights(weights.first(columns), exact);
  plain_.multiply(exact, margins);
  if (share.constant)
    for (double& margin : margins) margin += weights.back();
  return margins;
}

Result<privacy::Released<linalg::Index>> PrivateSelection::select(std::span<const double> derivatives,
                                                                  privacy::Gate& gate) {
  sums_.assign(derivatives);
  const auto scores = sums_.scores(privacy::VertexRule{});
  auto chosen = noisy_max_ ? gate.release(scores, privacy::ByNoisyMax{epsilon_})
                           : gate.release(scores, privacy::ByExponential{epsilon_});
  if (!chosen) return fail(std::move(chosen).error());
  return privacy::derive(
      [](const std::size_t& candidate) {
        const auto column = static_cast<linalg::Index>(candidate / 2) + 1;
        return candidate % 2 == 0 ? column : -column;
      },
      *chosen);
}

Result<privacy::Released<SharedFeature>> PrivateSelection::column(std::span<const double> numbers, linalg::Index j,
                                                                  privacy::Gate& gate) const {
  const Packing& packing = *packing_;
  PARLEY_TRY(const auto sensitive,
             privacy::values_by_theorem(privacy::Private(std::vector<double>(numbers.begin(), numbers.end())),
                                        packing.rule, packing.moves));
  PARLEY_TRY(const auto noisy, gate.release(sensitive, packing.noise));
  struct Form {
    std::int64_t column;
    double scale;
    linalg::Storage storage;
  };
  // What lies beyond the room of a number is cut off: it is noise already.
  return privacy::derive(
      [](const std::vector<double>& values, const Form& form) {
        const double most = form.storage == linalg::Storage::kInt16 ? 32767 : 16777215;
        std::vector<double> kept(values);
        for (double& value : kept) value = form.scale * std::clamp(value / form.scale, -most, most);
        return packed(form.column, kept, form.scale, form.storage);
      },
      noisy, privacy::Public{Form{j, packing.scale, packing.storage}});
}

}  // namespace parley::algorithms
