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
constexpr double kComparisonShare = 0.25;  // of what indices get, where parties are compared
constexpr double kLargestFloor = 0.1;      // of B R
constexpr double kLoudest = 0.5;           // deviation of a column's noise, in B c_J
constexpr double kReach = 8;               // deviations of noise that a number which travels has room for
constexpr int kStepsOfPaper = 20;
constexpr int kLabelGrainBits = 20;

double columns_sent(double columns, double steps, const BcfwSettings& settings) {
  return settings.sharing == BcfwSettings::Sharing::kAtStart ? columns : std::min(steps - 1, columns);
}

// Of the budget for indices: what is left for the draws themselves.
double drawing_share(const BcfwSettings& settings) {
  return settings.ball == BcfwSettings::Ball::kGlobal ? 1 - kComparisonShare : 1;
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
    const double columns = settings.sharing == BcfwSettings::Sharing::kAtStart ? shape.columns : steps - 1;
    if (columns < 1 && settings.sharing == BcfwSettings::Sharing::kAtNeed) return 1.0;
    const double loudest = kLoudest * shape.bound * shape.column_norm;
    return column_deviation(rho, 0.5, shape, columns) <= loudest ? 0.5 : 1.0;
  };
  if (settings.iterations) return SuggestedSelection{*settings.iterations, share_at(*settings.iterations)};
  for (const int steps : {kMostSuggestedSteps, 20, 10, 5, 2, 1})
    if (const double share = share_at(steps);
        noise_floor(rho, share * drawing_share(settings), shape, steps) <= largest)
      return SuggestedSelection{steps, share};
  const double share = share_at(1) * drawing_share(settings);
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
// 24 of a float32. `multiplier`: the noise's deviation over the sensitivity.
Result<PrivateSelection::Packing> PrivateSelection::packing(const ColumnShare& share, const Run& run, double bound,
                                                            double multiplier) {
  const auto records = static_cast<double>(share.features.rows());
  const auto length = static_cast<double>(run.space.length());
  const double norm = run.space.column_norm();
  const double error = run.space.sketched() ? records * records * 0x1p-52 * bound * norm : 0;
  PARLEY_TRY(const privacy::ProvedDistance moves,
             privacy::sketched_column_sensitivity({.bound = bound, .column_norm = norm, .error = error}));
  // No entry of J a is larger in size than B sum_r |J_pr|; what is beyond this is clipped, as everywhere.
  const double reach = run.space.sketched() ? bound * norm * std::sqrt(records) : bound;
  const double room = reach + kReach * multiplier * moves.value();
  PARLEY_TRY(privacy::Grain grain, privacy::Grain::below(2 * room, 15));
  const bool fine = grain.value() * std::sqrt(length) <= 0.05 * moves.value();
  if (!fine) {
    PARLEY_TRY(grain, privacy::Grain::below(2 * room, 24));
  }
  return Packing{.moves = moves,
                 .rule = {.bound = reach,
                          .grain = grain,
                          .neighbours = share.privacy->target.neighbours,
                          .unit = share.privacy->unit},
                 .noise = {multiplier * (moves.value() + grain.value() * std::sqrt(length)) * (1 + 1e-12)},
                 .scale = grain.value(),
                 .storage = fine ? linalg::Storage::kInt16 : linalg::Storage::kFloat32};
}

// Its Laplace noise on the mean gradient, G being at most B R: report-noisy-max at that scale costs 2 D / scale.
PrivateSelection::Noise PrivateSelection::paper_noise(const PrivateTerms& terms, const SelectionShape& shape,
                                                      const Run& run) {
  const double epsilon = terms.target.epsilon.value(), delta = terms.target.delta.value();
  const int steps = run.settings.iterations.value_or(kStepsOfPaper);
  const double k = run.parties, t = steps;
  const auto rows = static_cast<double>(run.space.length());
  const double leading = run.space.sketched() ? 1 + std::sqrt(shape.records / rows) : 1;
  const double deviation =
      leading * std::sqrt(k * t) * std::sqrt(2 * (std::log(1 / delta) + epsilon / 2)) / (shape.records * epsilon / 2);
  return {.steps = steps,
          .selection = epsilon / (2 * run.radius * std::sqrt(2 * t * std::log(2 / delta))),
          .column = deviation / (2 * shape.bound * shape.column_norm),
          .columns = static_cast<std::int64_t>(columns_sent(shape.columns, t, run.settings))};
}

Result<PrivateSelection::Noise> PrivateSelection::proved_noise(double rho, const SelectionShape& shape,
                                                               const BcfwSettings& settings) {
  PARLEY_TRY(const SuggestedSelection suggested, suggested_selection(rho, shape, settings));
  const double steps = suggested.steps, columns = columns_sent(shape.columns, steps, settings);
  Noise noise{.steps = suggested.steps,
              .selection = selection_epsilon(rho, suggested.share * drawing_share(settings), shape.parties, steps)};
  if (drawing_share(settings) < 1)
    noise.comparison = std::sqrt(shape.parties * steps / (2 * suggested.share * kComparisonShare * rho));
  if (suggested.share < 1 && columns >= 1) {
    noise.columns = static_cast<std::int64_t>(columns);
    noise.column = column_deviation(rho, suggested.share, shape, columns) / (2 * shape.bound * shape.column_norm);
  }
  return noise;
}

Result<std::vector<Event>> PrivateSelection::step_events(const Noise& noise) const {
  std::vector<Event> step = {{noisy_max_ ? privacy::Mechanism{privacy::Pure{noise.selection}}
                                         : privacy::Mechanism{privacy::Exponential{noise.selection}},
                              1}};
  if (noise.comparison > 0) {
    PARLEY_TRY(step.emplace_back(),
               privacy::Gate::gaussian_event(sums_.value_sensitivity(), privacy::ExactSums::value_grain(),
                                             {noise.comparison * sums_.value_sensitivity()}));
  }
  return step;
}

// Where no column is sent and all parties have one plan, what the best accountant proves for all of them together.
Result<void> PrivateSelection::raise(Noise& noise, std::span<const Event> base_rate, int parties) const {
  const auto at = [&](double scale) {
    Noise scaled = noise;
    scaled.selection *= scale;
    scaled.comparison /= scale;
    return scaled;
  };
  const auto plan_at = [&](double scale) {
    privacy::Plan plan{terms_->target.neighbours, {base_rate.begin(), base_rate.end()}};
    const auto step = step_events(at(scale));
    if (!step) plan.events.push_back({privacy::Unprotected{}, 1});
    for (Event event : step ? *step : std::vector<Event>{}) {
      event.count *= parties * noise.steps;
      plan.events.push_back(event);
    }
    return plan;
  };
  PARLEY_TRY(const double scale, privacy::largest_scale(plan_at, terms_->target, 1.0));
  noise = at(scale);
  return {};
}

// The last step sends no column. Where every other step may send one, a step is charged with its column, so that a
// budget that does not hold them all ends the run with the last column that it holds.
Result<void> PrivateSelection::charge(const Noise& noise, privacy::Reservation reservation, privacy::Gate& gate) {
  PARLEY_TRY(reservation.step, step_events(noise));
  reservation.steps = noise.steps;
  if (!packing_) {
    PARLEY_TRY(steps_, gate.reserve(reservation, terms_->target.delta));
    return {};
  }
  PARLEY_TRY(const auto probe, privacy::values_by_theorem(privacy::Private(std::vector<double>(length_)),
                                                          packing_->rule, packing_->moves));
  PARLEY_TRY(Event column, privacy::Gate::gaussian_event(probe.sensitivity(), packing_->rule.grain, packing_->noise));
  const bool with_steps = noise.columns + 1 == noise.steps;
  if (with_steps) {
    reservation.once.insert(reservation.once.end(), reservation.step.begin(), reservation.step.end());
    reservation.step.push_back(column);
    --reservation.steps;
  } else {
    column.count = noise.columns;
    reservation.once.push_back(column);
  }
  PARLEY_TRY(steps_, gate.reserve(reservation, terms_->target.delta));
  steps_ += with_steps ? 1 : 0;
  return {};
}

Result<std::vector<Event>> PrivateSelection::base_rate_events(double rho, glm::Task task) {
  label_bound_ = task == glm::Task::kLinear ? terms_->label_bound : 1;
  PARLEY_TRY(label_grain_, privacy::Grain::below(label_bound_, kLabelGrainBits));
  PARLEY_TRY(const auto probe,
             privacy::clipped_sum_l2(privacy::Private(std::vector<double>(1)), {.bound = label_bound_,
                                                                                .grain = label_grain_,
                                                                                .neighbours = terms_->target.neighbours,
                                                                                .unit = terms_->unit}));
  base_rate_sigma_ = base_rate_multiplier(rho) * probe.sensitivity() * (1 + 1e-12);
  PARLEY_TRY(const Event event, privacy::Gate::gaussian_event(probe.sensitivity(), label_grain_, {base_rate_sigma_}));
  return std::vector<Event>{event};
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
  made->length_ = run.space.length();
  SelectionShape shape{.records = terms.records(),
                       .columns = static_cast<double>(columns_of(share)),
                       .parties = run.parties,
                       .bound = share.constant ? 1.0 : 0.0,
                       .derivative_bound = terms.derivative_bound,
                       .column_norm = run.space.column_norm()};
  for (std::size_t j = 0; j < features.columns(); ++j) shape.bound = std::max(shape.bound, features.bound(j));

  const double whole = privacy::accounting::zcdp_within(terms.target.epsilon.value(), terms.target.delta.value());
  std::vector<Event> base_rate;
  if (run.base_rate) {
    PARLEY_TRY(base_rate, made->base_rate_events(whole, run.task));
  }
  const double rho = base_rate.empty() ? whole : (1 - kBaseRateShare) * whole;
  made->noisy_max_ = terms.calibration == privacy::Calibration::kPaper;
  Noise noise;
  if (made->noisy_max_) {
    noise = paper_noise(terms, shape, run);
  } else {
    PARLEY_TRY(noise, proved_noise(rho, shape, run.settings));
    const bool one_plan = run.settings.iterations || run.parties == 1;
    if (noise.columns == 0 && one_plan) PARLEY_CHECK(made->raise(noise, base_rate, run.parties));
  }
  if (noise.columns > 0) {
    PARLEY_TRY(made->packing_, packing(share, run, shape.bound, noise.column));
  }
  PARLEY_TRY(made->epsilon_, privacy::Epsilon::make(noise.selection));
  made->comparison_ = {noise.comparison * made->sums_.value_sensitivity()};
  if (!share.holds_labels()) base_rate.clear();
  if (base_rate.empty()) made->base_rate_sigma_ = 0;
  PARLEY_TRY(std::vector<Event> once, events_of_labels(share));
  once.insert(once.end(), base_rate.begin(), base_rate.end());
  PARLEY_CHECK(made->charge(noise, {.once = std::move(once)}, gate));
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

Result<privacy::Released<double>> PrivateSelection::gradient(linalg::Index j, privacy::Gate& gate) const {
  const auto coordinate = static_cast<std::size_t>(j);
  PARLEY_TRY(const auto told, gate.release(sums_.value<privacy::L2>(coordinate), comparison_));
  return privacy::derive([](const double& contributions, const double& unit) { return contributions * unit; }, told,
                         privacy::Public{sums_.contribution(coordinate)});
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
