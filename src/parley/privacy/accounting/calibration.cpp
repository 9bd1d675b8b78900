#include "parley/privacy/accounting/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "parley/privacy/accounting/bracket.h"
#include "parley/privacy/accounting/conversion.h"
#include "parley/privacy/accounting/least_cost.h"
#include "parley/privacy/accounting/numerics.h"
#include "parley/privacy/accounting/profile.h"

namespace parley::privacy {
namespace {

constexpr double kLeastSampled = 0.05;  // noise multiplier

using namespace accounting;

Result<void> check_steps(std::int64_t steps) {
  if (steps < 1 || steps > kMaxCount)
    return fail(bad_input({.field = "steps"}, fmt::format("must be a whole number from 1 to {}", kMaxCount),
                          fmt::format("{}", steps)));
  return {};
}

// ln delta, kept off the ends where its slope vanishes.
double log_of(double delta) {
  return std::log(std::max(delta, 1e-300));
}

// While searching, the grid may cost 1 % of delta, and an answer this close below the target in ln delta is taken: some
// 6e-4 of the noise. An answer at least kClear below it needs no second look: the accountant's own grid costs 0.1 % of
// delta, so that asking it for epsilon at the target's delta stays within the target too.
constexpr double kSearchGrid = 1e-2;
constexpr double kClose = 1.6e-2;
constexpr double kClear = 2e-3;
// Below this epsilon delta hardly depends on it, and a per cent of delta is more than a per cent of epsilon: always
// look again.
constexpr double kFlat = 0.05;

struct Bracket {
  double safe, unsafe;  // ln scale
};

// Finds where a nondecreasing function of ln scale crosses 0, to `width`; nullopt when it never does.
template <class F>
std::optional<Bracket> cross(const F& excess, double start, double stride, double width) {
  double x = start, value = excess(x);
  double safe = NAN, unsafe = NAN, at_safe = 0, at_unsafe = 0;
  for (int i = 0; std::isnan(safe) || std::isnan(unsafe); ++i) {
    if (i > 200) return std::nullopt;
    if (value <= 0) {
      safe = x, at_safe = value;
      x += stride;
    } else {
      unsafe = x, at_unsafe = value;
      x -= stride;
    }
    if (!std::isnan(safe) && !std::isnan(unsafe)) break;
    if (i > 0) stride *= 2;
    value = excess(x);
  }
  // Illinois: secant steps that cannot stall. Aim slightly to the safe side so that the last step lands
  // there.
  for (int i = 0; i < 100 && unsafe - safe > width; ++i) {
    const double fraction = at_unsafe > at_safe ? -at_safe / (at_unsafe - at_safe) : 0.5;
    double middle = safe + (unsafe - safe) * std::clamp(fraction, 0.02, 0.98);
    const double nudge = 0.3 * width;
    if (fraction > 0.02 && fraction < 0.98)
      middle = i % 2 == 0 ? std::max(middle - nudge, safe + nudge) : std::min(middle + nudge, unsafe - nudge);
    if (i % 8 == 7) middle = 0.5 * (safe + unsafe);
    const double at = excess(middle);
    if (at <= 0) {
      safe = middle, at_safe = at;
      at_unsafe *= i > 1 ? 0.5 : 1;
    } else {
      unsafe = middle, at_unsafe = at;
      at_safe *= i > 1 ? 0.5 : 1;
    }
  }
  return Bracket{safe, unsafe};
}

Error no_answer() {
  return failed("calibration: no noise level in the range that the accountants cover meets this target");
}

}  // namespace

Result<double> largest_scale(const std::function<double(double)>& delta_at_scale, double delta, double guess) {
  const double goal = std::log(delta);
  const auto found =
      cross([&](double x) { return log_of(delta_at_scale(std::exp(x))) - goal; }, std::log(guess), 0.1, 1e-6);
  if (!found) return fail(no_answer());
  return std::exp(found->safe);
}

namespace {

Result<double> largest_scale_by(Accountant accountant, const std::function<Plan(double)>& plan_at, const Target& target,
                                double guess) {
  const double epsilon = target.epsilon.value(), delta = target.delta.value(), goal = std::log(delta);
  const auto bound = [&](double x) {
    return log_of(searched_delta_at(plan_at(std::exp(x)), epsilon, accountant, kSearchGrid).value_or(1.0));
  };
  // delta within the target at epsilon is the proof. The other way round must hold too, so that asking the
  // accountant for epsilon at this delta never answers above the target (its own grid is finer than the
  // search's, hence lower).
  const auto settle = [&](double x) -> Result<double> {
    for (double step = 2e-6; step < 1; step *= 4, x -= step) {
      const Plan plan = plan_at(std::exp(x));
      // Any accountant that stays within the target makes the best one do so; these are the likely ones.
      for (const Accountant each : {Accountant::kPld, Accountant::kRdp, Accountant::kKov, Accountant::kBest}) {
        const auto spent =
            searched_epsilon_at(plan, target.delta, accountant == Accountant::kBest ? each : accountant, kSearchGrid);
        if (spent && *spent <= epsilon) return std::exp(x);
        if (accountant != Accountant::kBest) break;
      }
    }
    return fail(no_answer());
  };

  double start = std::log(guess), stride = 0.25;
  if (accountant == Accountant::kBest || accountant == Accountant::kPld) {
    // The estimate costs microseconds and its shape is right: solve it, see by how much the bound differs
    // there, solve again.
    const auto estimate = [&](double x) {
      const double value = estimated_log_delta(plan_at(std::exp(x)), epsilon, goal);
      return std::isnan(value) ? 1.0 : std::max(value, -690.0);
    };
    const double middle = goal - 0.5 * (kClose + kClear);
    double aim = middle - kSearchGrid, x = start;
    for (int i = 0; i < 6; ++i) {
      const auto near = cross([&](double at) { return estimate(at) - aim; }, x, i == 0 ? 0.5 : 0.01, 5e-5);
      if (!near) break;
      x = near->safe;
      const double value = bound(x);
      if (value <= goal - kClear && value > goal - kClose && epsilon > kFlat) return std::exp(x);
      if (value <= goal && value > goal - kClose) return settle(x);
      start = x;
      stride = 0.004;
      aim -= value - middle;
    }
  }
  const auto found = cross([&](double x) { return bound(x) - goal; }, start, stride, 5e-5);
  if (!found) return fail(no_answer());
  return settle(found->safe);
}

bool has_sampled_gaussian(const Plan& plan) {
  return std::any_of(plan.events.begin(), plan.events.end(),
                     [](const Event& event) { return std::holds_alternative<SubsampledGaussian>(event.mechanism); });
}

}  // namespace

namespace {

Result<double> searched_scale(const std::function<Plan(double)>& plan_at, const Target& target, double guess,
                              Accountant accountant) {
  const Plan first = plan_at(guess);
  if (!validate(first)) return fail(no_answer());
  // Sampled Gaussians: loss distributions are never behind the others where they answer at all, and asking the others
  // too would take most of the time. What they prove, the best accountant proves.
  if (accountant == Accountant::kBest && has_sampled_gaussian(first)) {
    auto found = largest_scale_by(Accountant::kPld, plan_at, target, guess);
    if (found) return found;
  }
  return largest_scale_by(accountant, plan_at, target, guess);
}

// The search asked accountants alone; what came of it goes through the door.
Result<void> check_within(const Plan& plan, const Target& target) {
  return check_not_below(target.epsilon.value(), least_epsilon(plan, target.delta.value()), "calibration", "epsilon");
}

}  // namespace

Result<double> largest_scale(const std::function<Plan(double)>& plan_at, const Target& target, double guess,
                             Accountant accountant) {
  PARLEY_TRY(const double scale, searched_scale(plan_at, target, guess, accountant));
  PARLEY_CHECK(check_within(plan_at(scale), target));
  return scale;
}

Result<double> gaussian_noise(const Target& target, std::int64_t steps) {
  PARLEY_CHECK(check_steps(steps));
  const double mu = gaussian_mu_within(target.epsilon.value(), target.delta.value());
  const double noise = std::sqrt(static_cast<double>(steps)) / mu * (1 + 4 * kSlack);
  PARLEY_CHECK(check_within({target.neighbours, {{Gaussian{noise, 1}, steps}}}, target));
  return noise;
}

Result<double> sampled_gaussian_noise(const Target& target, double sampling_rate, std::int64_t steps,
                                      Accountant accountant) {
  PARLEY_CHECK(check_steps(steps));
  PARLEY_CHECK(validate(Mechanism{SubsampledGaussian{1, sampling_rate}}, "plan"));
  PARLEY_TRY(const double plain, gaussian_noise(target, steps));
  if (accountant == Accountant::kBest || accountant == Accountant::kPld) {
    // Sampling only helps, and below kLeastSampled its losses are not followed: what needs no more than that
    // without it is done.
    const double without = target.neighbours == Neighbours::kAddRemove ? plain : 2 * plain;
    if (sampling_rate == 1 || without < kLeastSampled) return without;
  }
  const auto plan_at = [&](double scale) {
    return Plan{target.neighbours, {{SubsampledGaussian{1 / scale, sampling_rate}, steps}}};
  };
  // Between no amplification and the full square of it.
  const double guess = 1 / std::max(0.6, plain * sampling_rate);
  PARLEY_TRY(const double scale, largest_scale(plan_at, target, guess, accountant));
  return 1 / scale;
}

Result<double> selection_epsilon(const Target& target, std::int64_t steps, Accountant accountant) {
  PARLEY_CHECK(check_steps(steps));
  const auto plan_at = [&](double epsilon) { return Plan{target.neighbours, {{Exponential{epsilon}, steps}}}; };
  const double rho = zcdp_within(target.epsilon.value(), target.delta.value());
  const double guess =
      std::max(target.epsilon.value() / static_cast<double>(steps), std::sqrt(8 * rho / static_cast<double>(steps)));
  return largest_scale(plan_at, target, guess, accountant);
}

Result<SelectAndReleaseNoise> select_and_release_noise(const Target& target, const SelectAndRelease& shape,
                                                       Accountant accountant) {
  PARLEY_CHECK(check_steps(shape.steps));
  if (!(shape.share >= 0 && shape.share <= 1))
    return fail(bad_input({.field = "share"}, "must lie between 0 and 1", fmt::format("{}", shape.share)));
  if (shape.noise == ValueNoise::kAuto) {
    SelectAndRelease fixed = shape;
    fixed.noise = ValueNoise::kGaussian;
    PARLEY_TRY(SelectAndReleaseNoise gaussian, select_and_release_noise(target, fixed, accountant));
    if (shape.share == 1) return gaussian;
    // Laplace can only win for a handful of steps: its losses are as large as a Gaussian's but bounded.
    fixed.noise = ValueNoise::kLaplace;
    PARLEY_TRY(SelectAndReleaseNoise laplace, select_and_release_noise(target, fixed, accountant));
    return std::sqrt(2.0) * laplace.value_multiplier < gaussian.value_multiplier ? laplace : gaussian;
  }
  const bool gaussian = shape.noise == ValueNoise::kGaussian;
  // scale^2 = rho of one step. Selection: rho_s = e^2/8. Value: 1/(2 z^2), or e^2/2 with e = 1/b for Laplace.
  const auto parts = [&](double scale) {
    SelectAndReleaseNoise noise;
    noise.noise = shape.noise;
    noise.plan.neighbours = target.neighbours;
    if (shape.share > 0) {
      noise.selection_epsilon = std::sqrt(8 * shape.share) * scale;
      noise.plan.events.push_back({Exponential{noise.selection_epsilon}, shape.steps});
    }
    if (shape.share < 1) {
      noise.value_multiplier = 1 / (std::sqrt(2 * (1 - shape.share)) * scale);
      noise.plan.events.push_back(
          {gaussian ? Mechanism{Gaussian{noise.value_multiplier, 1}} : Mechanism{Laplace{noise.value_multiplier, 1}},
           shape.steps});
    }
    return noise;
  };
  const double rho = zcdp_within(target.epsilon.value(), target.delta.value());
  PARLEY_TRY(const double scale, largest_scale([&](double s) { return parts(s).plan; }, target,
                                               std::sqrt(rho / static_cast<double>(shape.steps)), accountant));
  SelectAndReleaseNoise noise = parts(scale);
  PARLEY_TRY(noise.account, account_at_delta(noise.plan, target.delta));
  return noise;
}

}  // namespace parley::privacy
