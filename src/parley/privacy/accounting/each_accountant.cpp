#include "parley/privacy/accounting/each_accountant.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <variant>

#include "parley/privacy/accounting/conversion.h"
#include "parley/privacy/accounting/loss_composition.h"
#include "parley/privacy/accounting/numerics.h"
#include "parley/privacy/accounting/profile.h"
#include "parley/privacy/accounting/pure_composition.h"
#include "parley/privacy/accounting/renyi.h"

namespace parley::privacy::accounting {

namespace {

std::array<double, 4> sort_key(const Mechanism& mechanism) {
  return std::visit(
      [&]<class M>(const M& m) -> std::array<double, 4> {
        const auto kind = static_cast<double>(mechanism.index());
        if constexpr (std::is_same_v<M, Gaussian>) return {kind, m.sigma, m.sensitivity, 0};
        if constexpr (std::is_same_v<M, DiscreteGaussian>)
          return {kind, m.sigma, m.sensitivity, static_cast<double>(m.dimensions)};
        if constexpr (std::is_same_v<M, Laplace> || std::is_same_v<M, DiscreteLaplace>)
          return {kind, m.scale, m.sensitivity, static_cast<double>(m.dimensions)};
        if constexpr (std::is_same_v<M, Exponential> || std::is_same_v<M, Pure>) return {kind, m.epsilon, 0, 0};
        if constexpr (std::is_same_v<M, ApproxDp>) return {kind, m.epsilon, m.delta, 0};
        if constexpr (std::is_same_v<M, Zcdp>) return {kind, m.rho, 0, 0};
        if constexpr (std::is_same_v<M, SubsampledGaussian>) return {kind, m.noise_multiplier, m.sampling_rate, 0};
        return {kind, 0, 0, 0};
      },
      mechanism);
}

}  // namespace

MergedPlan::MergedPlan(const Plan& plan) : neighbours(plan.neighbours), events(plan.events) {
  std::sort(events.begin(), events.end(),
            [](const Event& a, const Event& b) { return sort_key(a.mechanism) < sort_key(b.mechanism); });
  std::vector<Event> merged;
  for (const Event& event : events) {
    steps += event.count;
    unprotected = unprotected || std::holds_alternative<Unprotected>(event.mechanism);
    if (!merged.empty() && merged.back().mechanism == event.mechanism) {
      merged.back().count += event.count;
    } else {
      merged.push_back(event);
    }
  }
  events = std::move(merged);
}

double zcdp_sum(const MergedPlan& plan) {
  double rho = 0;
  for (const Event& event : plan.events)
    rho += static_cast<double>(event.count) * zcdp(event.mechanism, plan.neighbours);
  return rho * (1 + kSlack);
}

double renyi_sum(const MergedPlan& plan, double order) {
  double divergence = 0;
  for (const Event& event : plan.events)
    divergence += static_cast<double>(event.count) * renyi(event.mechanism, plan.neighbours, order);
  return divergence * (1 + kSlack);
}

double pure_sum(const MergedPlan& plan) {
  double sum = 0;
  for (const Event& event : plan.events)
    sum += static_cast<double>(event.count) * accounting::pure_epsilon(event.mechanism);
  return sum;
}

namespace {

// ---- what (epsilon, delta) steps reveal with certainty ----

// ln of the probability that no ApproxDp step reveals everything. Given that none does, each is epsilon-DP
// (Kairouz, Oh, Viswanath 2015), so delta = 1 - (1 - leak)(1 - delta of the rest).
double log_no_leak(const MergedPlan& plan) {
  double sum = 0;
  for (const Event& event : plan.events)
    if (const auto* step = std::get_if<ApproxDp>(&event.mechanism))
      sum += static_cast<double>(event.count) * std::log1p(-step->delta) * (1 + kSlack);
  return sum;
}

double with_leak(double log_kept, double delta) {
  return log_kept == 0 ? delta : std::min(1.0, (-std::expm1(log_kept) + std::exp(log_kept) * delta) * (1 + kSlack));
}

// The delta that the rest may use so that the whole stays within `delta`; not above 0 when the leak alone
// exceeds it.
double without_leak(double log_kept, double delta) {
  if (log_kept == 0) return delta;
  const double leak = -std::expm1(log_kept);
  return (delta - leak) / std::exp(log_kept) * (1 - kSlack) - 4e-16 * leak;
}

// ---- one accountant each ----

double step_pure(const Mechanism& mechanism) {
  if (const auto* step = std::get_if<ApproxDp>(&mechanism)) return step->epsilon;
  return accounting::pure_epsilon(mechanism);
}

// Pure steps add up; the others share delta equally and each pays its own exact epsilon.
struct BasicShares {
  double pure = 0;
  double impure_steps = 0;
};
BasicShares basic_shares(const MergedPlan& plan) {
  BasicShares shares;
  for (const Event& event : plan.events) {
    const double own = step_pure(event.mechanism);
    if (std::isinf(own)) {
      shares.impure_steps += static_cast<double>(event.count);
    } else {
      shares.pure += static_cast<double>(event.count) * own;
    }
  }
  shares.pure *= 1 + kSlack;
  return shares;
}

double basic_epsilon(const MergedPlan& plan, double delta) {
  const double rest = without_leak(log_no_leak(plan), delta);
  const BasicShares shares = basic_shares(plan);
  if (!(rest > 0)) return kInfinity;
  double sum = shares.pure;
  for (const Event& event : plan.events)
    if (std::isinf(step_pure(event.mechanism)))
      sum +=
          static_cast<double>(event.count) * step_epsilon(event.mechanism, plan.neighbours, rest / shares.impure_steps);
  return sum * (1 + kSlack);
}

double basic_delta(const MergedPlan& plan, double epsilon) {
  const BasicShares shares = basic_shares(plan);
  if (shares.impure_steps == 0) return shares.pure <= epsilon ? with_leak(log_no_leak(plan), 0) : 1;
  const double left = (epsilon - shares.pure) / shares.impure_steps * (1 - kSlack);
  if (!(left >= 0)) return 1;
  double sum = 0;
  for (const Event& event : plan.events)
    if (std::isinf(step_pure(event.mechanism)))
      sum += static_cast<double>(event.count) * step_delta(event.mechanism, plan.neighbours, left);
  return with_leak(log_no_leak(plan), std::min(1.0, sum * (1 + kSlack)));
}

// The privacy loss distribution with every step replaced by what its event says, or (as_pure) by randomised
// response.
struct Losses {
  LossComposition composition;
  double distance = 0;  // total variation charged for discrete noise treated as continuous
  double mu = 0;        // all Gaussians together
  int others = 0;       // steps that are not Gaussian
};

Losses losses(const MergedPlan& plan, bool as_pure) {
  Losses all;
  double mu_squared = 0;
  const auto add_gaussian = [&](double mu, std::int64_t count) { mu_squared += static_cast<double>(count) * mu * mu; };
  for (const Event& event : plan.events) {
    const Mechanism& mechanism = event.mechanism;
    if (as_pure) {
      if (const auto* step = std::get_if<ApproxDp>(&mechanism)) all.composition.add_leak(step->delta, event.count);
      all.composition.add(step_loss(Pure{step_pure(mechanism)}, plan.neighbours), event.count);
      ++all.others;
      continue;
    }
    if (const auto* gaussian = std::get_if<Gaussian>(&mechanism)) {
      add_gaussian(gaussian->sensitivity / gaussian->sigma, event.count);
      continue;
    }
    if (const auto* approximate = std::get_if<ApproxDp>(&mechanism))
      all.composition.add_leak(approximate->delta, event.count);
    auto step = step_loss(mechanism, plan.neighbours);
    if (const auto* sampled = std::get_if<SubsampledGaussian>(&mechanism);
        sampled && (sampled->sampling_rate == 1 || !step)) {
      // With so little noise that its losses fit on no grid, the step is priced as if everybody joined, which
      // costs more.
      add_gaussian((plan.neighbours == Neighbours::kAddRemove ? 1 : 2) / sampled->noise_multiplier, event.count);
      continue;
    }
    if (const auto* discrete = std::get_if<DiscreteGaussian>(&mechanism); discrete && !step && discrete->sigma >= 1) {
      // Rounding a Gaussian is post-processing, and discrete Gaussian noise is that up to a total variation.
      add_gaussian(discrete->sensitivity / discrete->sigma, event.count);
      all.distance += static_cast<double>(event.count) * static_cast<double>(discrete->dimensions) *
                      discrete_gaussian_distance(discrete->sigma);
      continue;
    }
    all.composition.add(std::move(step), event.count);
    ++all.others;
  }
  all.mu = std::sqrt(mu_squared) * (1 + kSlack);
  if (all.others > 0 && all.mu > 0) all.composition.add(gaussian_loss(all.mu), 1);
  return all;
}

// Identical pure steps: the exact formula. A few mixed ones: outcome by outcome. Many: randomised responses by FFT.
bool all_pure(const MergedPlan& plan) {
  return std::all_of(plan.events.begin(), plan.events.end(),
                     [](const Event& event) { return std::isfinite(step_pure(event.mechanism)); });
}
bool identical_pure(const MergedPlan& plan) {
  return std::all_of(plan.events.begin(), plan.events.end(), [&](const Event& event) {
    return step_pure(event.mechanism) == step_pure(plan.events[0].mechanism);
  });
}

std::vector<MixedPure::Steps> pure_steps(const MergedPlan& plan) {
  std::vector<MixedPure::Steps> steps;
  for (const Event& event : plan.events) steps.push_back({step_pure(event.mechanism), event.count});
  return steps;
}
// Every event is an e-DP step and nothing more: its loss distribution is randomised response, as kov takes it.
bool nothing_but_pure(const MergedPlan& plan) {
  return std::all_of(plan.events.begin(), plan.events.end(), [](const Event& event) {
    return std::holds_alternative<Pure>(event.mechanism) || std::holds_alternative<ApproxDp>(event.mechanism);
  });
}

double kov_epsilon(const MergedPlan& plan, double delta, double grid) {
  if (plan.events.empty()) return 0;
  if (!all_pure(plan)) return kInfinity;
  const double rest = without_leak(log_no_leak(plan), delta);
  if (!(rest > 0)) return kInfinity;
  if (identical_pure(plan)) return optimal_pure_epsilon(step_pure(plan.events[0].mechanism), plan.steps, rest);
  if (const auto steps = pure_steps(plan); MixedPure::few(steps)) return MixedPure(steps).epsilon(rest);
  return std::min(basic_shares(plan).pure, losses(plan, true).composition.epsilon(delta, grid));
}

double kov_delta(const MergedPlan& plan, double epsilon, double grid) {
  if (plan.events.empty()) return 0;
  if (!all_pure(plan)) return 1;
  if (identical_pure(plan))
    return with_leak(log_no_leak(plan), optimal_pure_delta(step_pure(plan.events[0].mechanism), plan.steps, epsilon));
  if (basic_shares(plan).pure <= epsilon) return with_leak(log_no_leak(plan), 0);
  if (const auto steps = pure_steps(plan); MixedPure::few(steps))
    return with_leak(log_no_leak(plan), MixedPure(steps).delta(epsilon));
  return losses(plan, true).composition.delta(epsilon, grid);
}

// Two mechanisms within total variation t of each other: delta grows by at most t (1 + e^epsilon).
double with_distance(double delta, double distance, double epsilon) {
  if (distance == 0) return delta;
  return std::min(1.0, (delta + distance * (1 + std::exp(epsilon))) * (1 + kSlack));
}

double pld_delta(const MergedPlan& plan, double epsilon, double grid) {
  if (plan.events.empty()) return 0;
  if (nothing_but_pure(plan)) return kov_delta(plan, epsilon, grid);
  if (plan.steps == 1 && !std::holds_alternative<Zcdp>(plan.events[0].mechanism))
    return step_delta(plan.events[0].mechanism, plan.neighbours, epsilon);
  const Losses all = losses(plan, false);
  const double core = all.others == 0 ? gaussian_delta(all.mu, epsilon) : all.composition.delta(epsilon, grid);
  return with_distance(core, all.distance, epsilon);
}

double pld_epsilon(const MergedPlan& plan, double delta, double grid) {
  if (plan.events.empty()) return 0;
  if (nothing_but_pure(plan)) return kov_epsilon(plan, delta, grid);
  if (plan.steps == 1 && !std::holds_alternative<Zcdp>(plan.events[0].mechanism))
    return step_epsilon(plan.events[0].mechanism, plan.neighbours, delta);
  const Losses all = losses(plan, false);
  const auto core = [&](double rest) {
    return all.others == 0 ? gaussian_epsilon(all.mu, rest) : all.composition.epsilon(rest, grid);
  };
  if (all.distance == 0) return core(delta);
  // The charge for the distance depends on the epsilon found: pay for a guess, and accept what the guess
  // covers.
  double guess = core(delta);
  for (int i = 0; i < 8; ++i) {
    const double paid = guess * (1 + 1e-3) + 1e-6;
    const double rest = (delta - all.distance * (1 + std::exp(paid)) * (1 + kSlack)) * (1 - kSlack);
    if (!(rest > 0)) return kInfinity;
    const double found = core(rest);
    if (found <= paid) return found;
    guess = found;
  }
  return kInfinity;
}

double zcdp_epsilon(const MergedPlan& plan, double delta) {
  const double rest = without_leak(log_no_leak(plan), delta);
  const double rho = zcdp_sum(plan);
  if (rho == 0) return 0;
  return rest > 0 && std::isfinite(rho) ? epsilon_from_zcdp(rho, rest) : kInfinity;
}

double zcdp_delta(const MergedPlan& plan, double epsilon) {
  const double rho = zcdp_sum(plan);
  if (rho == 0) return 0;
  return std::isfinite(rho) ? with_leak(log_no_leak(plan), delta_from_zcdp(rho, epsilon)) : 1;
}

double rdp_epsilon(const MergedPlan& plan, double delta) {
  if (plan.events.empty()) return 0;
  const double rest = without_leak(log_no_leak(plan), delta);
  if (!(rest > 0)) return kInfinity;
  return epsilon_from_curve([&](double order) { return renyi_sum(plan, order); }, rest).value;
}

double rdp_delta(const MergedPlan& plan, double epsilon) {
  if (plan.events.empty()) return 0;
  return with_leak(log_no_leak(plan),
                   delta_from_curve([&](double order) { return renyi_sum(plan, order); }, epsilon).value);
}

double computed_delta(const MergedPlan& plan, double epsilon, Accountant accountant, double grid) {
  switch (accountant) {
    case Accountant::kBasic:
      return basic_delta(plan, epsilon);
    case Accountant::kKov:
      return kov_delta(plan, epsilon, grid);
    case Accountant::kZcdp:
      return zcdp_delta(plan, epsilon);
    case Accountant::kRdp:
      return rdp_delta(plan, epsilon);
    case Accountant::kPld:
      return pld_delta(plan, epsilon, grid);
    case Accountant::kBest:
      break;
  }
  double best = 1;
  for (const Accountant each : kAccountants) best = std::min(best, computed_delta(plan, epsilon, each, grid));
  return best;
}

}  // namespace

double epsilon_by(const MergedPlan& plan, double delta, Accountant accountant, double grid) {
  if (plan.unprotected) return kInfinity;
  switch (accountant) {
    case Accountant::kBasic:
      return basic_epsilon(plan, delta);
    case Accountant::kKov:
      return kov_epsilon(plan, delta, grid);
    case Accountant::kZcdp:
      return zcdp_epsilon(plan, delta);
    case Accountant::kRdp:
      return rdp_epsilon(plan, delta);
    case Accountant::kPld:
      return pld_epsilon(plan, delta, grid);
    case Accountant::kBest:
      break;
  }
  double best = kInfinity;
  for (const Accountant each : kAccountants) best = std::min(best, epsilon_by(plan, delta, each, grid));
  return best;
}

// 0 is said only where it is true: a number that is too small for a double is not none.
double delta_by(const MergedPlan& plan, double epsilon, Accountant accountant, double grid) {
  if (plan.unprotected) return 1;
  const double delta = computed_delta(plan, epsilon, accountant, grid);
  constexpr double kSmallest = std::numeric_limits<double>::min();
  return delta >= kSmallest || pure_sum(plan) <= epsilon ? delta : kSmallest;
}

double estimated_log_delta(const MergedPlan& plan, double epsilon, double log_delta) {
  if (plan.unprotected || plan.events.empty()) return std::nan("");
  const Losses all = losses(plan, false);
  return all.others == 0 ? std::log(gaussian_delta(all.mu, epsilon))
                         : all.composition.estimated_log_delta(epsilon, log_delta);
}

}  // namespace parley::privacy::accounting
