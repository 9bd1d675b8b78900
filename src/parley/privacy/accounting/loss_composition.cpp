#include "parley/privacy/accounting/loss_composition.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "parley/privacy/accounting/loss_aim.h"
#include "parley/privacy/accounting/loss_spectrum.h"
#include "parley/privacy/accounting/loss_window.h"
#include "parley/privacy/accounting/numerics.h"
#include "parley/privacy/accounting/tilted_grid.h"

namespace parley::privacy::accounting {
namespace {

constexpr double kUnit = std::numeric_limits<double>::epsilon() / 2;
// Tilted mass that may lie outside the window, as a share of the tolerance: e^-7. It costs much less than that: what is
// above is bounded by Chernoff, where delta hardly counts it, and what is below comes back, in the periodic array, at
// the top.
constexpr double kWindowLog = 7;
// Grid points further from 0 than this lose their place in a double.
constexpr double kLargestIndex = 4e15;
// delta is a difference of sums whose terms agree up to the spread of the loss: below this the 1e-11 that every answer
// is widened by would not cover their rounding.
constexpr double kLeastDeviation = 1e-7;

}  // namespace

struct LossComposition::Target {
  const LossAim* aim;
  double tilt;
  double epsilon;  // where accuracy is wanted
  double tolerance;
  double slope;  // -d ln(delta)/d epsilon near epsilon, at least the tilt: decides the grid

  [[nodiscard]] double steepness() const { return 1 + std::max(tilt, slope); }
};

// Where the tilted sum lies: it leaves less than e^-outside beyond either end.
struct LossComposition::Reach {
  double mean = 0, deviation = 0;
  Minimum up{}, down{};  // the tilt, beyond the target's, that bounds an end best; and the end

  [[nodiscard]] double top() const { return up.value; }
  [[nodiscard]] double bottom() const { return down.value; }
};

struct LossComposition::Grid {
  double step = 0;        // h
  std::int64_t size = 0;  // points of the transform
  bool exact = false;     // every loss lies on it
};

// Every step's law on the grid.
struct LossComposition::Laws {
  std::vector<LossGrid> grids;
  std::vector<CentredLaw> centred;
  std::int64_t origin = 0;  // grid point of the first composed mass
  long double log_moment = 0;
  double rounding = 0;  // of the composed mass, as an exponent
  double blur = 0;      // by which atoms may be off their place
  double infinite = 0;  // mass of infinite losses
};

void LossComposition::add(std::unique_ptr<StepLoss> step, std::int64_t count) {
  if (step == nullptr) {
    available_ = false;
    return;
  }
  parts_.push_back({std::move(step), count});
}

void LossComposition::add_leak(double probability, std::int64_t count) {
  log_no_leak_ += static_cast<double>(count) * std::log1p(-probability) * (1 + kSlack);
}

bool LossComposition::symmetric() const {
  return std::all_of(parts_.begin(), parts_.end(), [](const Part& part) { return part.step->symmetric(); });
}

std::optional<LossComposition::Reach> LossComposition::reach(const Target& target) const {
  const LossAim& aim = *target.aim;
  const LossAim::Cumulants centre = aim.cumulants(target.tilt);
  // Laws on a few points lose their spread when tilted hard; what is left of it must not shrink the grid to nothing.
  const double deviation = std::sqrt(std::max(centre.variance, 1e-3 * aim.cumulants(0).variance));
  if (!(deviation > kLeastDeviation) || !std::isfinite(deviation)) return std::nullopt;
  // By Chernoff.
  const double outside = kWindowLog - std::log(target.tolerance);
  const auto end = [&](int side) {
    const auto bound = [&](double log_t) {
      const double t = std::exp(log_t);
      return (aim.cumulants(target.tilt + side * t).log_moment - centre.log_moment + outside) / t;
    };
    const double guess = std::log(std::sqrt(2 * outside) / deviation);
    const Minimum best = golden_section(guess - 3, guess + 1, 12, bound);
    return Minimum{side * std::exp(best.at), side * best.value};
  };
  return Reach{centre.mean, deviation, end(+1), end(-1)};
}

// As coarse as the tolerance allows. Atoms of one lattice get a grid that has all of them.
std::optional<LossComposition::Grid> LossComposition::choose_grid(const Target& target, const Reach& reach) const {
  double steps = 0, lattice = 0;
  bool one_lattice = true, only_lattice = true;
  for (const Part& part : parts_) {
    steps += static_cast<double>(part.count);
    only_lattice = only_lattice && part.step->only_lattice();
    const double own = part.step->lattice();
    if (own > 0) {
      one_lattice = one_lattice && (lattice == 0 || lattice == own);
      lattice = own;
    }
  }
  const double steepness = target.steepness();
  const double epsilon_excess =
      std::min(target.tolerance / steepness, 0.1 * target.tolerance * std::max(target.epsilon, 0.01));
  double h = std::min(std::sqrt(12 * epsilon_excess / (steepness * steps)), reach.deviation / 8);
  if (!(h > 0) || !std::isfinite((reach.top() - reach.bottom()) / h)) return std::nullopt;
  const auto span = [&] { return (reach.top() - reach.bottom()) / h + 8; };
  const bool refined = target.slope > target.tilt;
  while (span() > static_cast<double>(refined ? kLargestRefined : kLargestTransform)) h *= 1.25;
  if (lattice > 0 && one_lattice && h < lattice) h = lattice / std::ceil(lattice / h);
  // Everything on one lattice: its own grid is exact.
  const bool exact = lattice > 0 && one_lattice && only_lattice;
  if (exact) h = lattice;
  const std::int64_t size = transform_size(span());
  for (const Part& part : parts_)
    while (part.step->span(target.aim->cut()) / h > 4e6) h *= 1.25;
  return Grid{h, size, exact};
}

std::optional<LossComposition::Laws> LossComposition::laws_on(const Grid& grid, const Target& target) const {
  Laws all;
  long double offset = 0, mean = 0, infinite_log = log_no_leak_;
  for (const Part& part : parts_) {
    const auto count = static_cast<double>(part.count);
    all.grids.push_back(part.step->grid(grid.step, target.aim->cut()));
    CentredLaw own{.law = tilted(all.grids.back(), target.aim->direction(), target.tilt), .shift = 0, .count = count};
    const TiltedGrid& law = own.law;
    own.shift = std::llround(law.mean_index);
    offset += static_cast<long double>(count) * static_cast<long double>(own.shift);
    mean += static_cast<long double>(count) * law.mean_index;
    all.log_moment += static_cast<long double>(count) * law.log_moment;
    all.rounding += count * law.rounding();
    if (part.step->has_atoms()) all.blur += count * law.farthest * grid.step * 4 * kUnit;
    if (law.infinite > 0.5) return std::nullopt;
    infinite_log += count * std::log1p(-static_cast<long double>(law.infinite));
    all.centred.push_back(std::move(own));
  }
  if (!(std::fabs(offset) < kLargestIndex) || !(std::fabs(mean) < kLargestIndex) || !std::isfinite(all.log_moment))
    return std::nullopt;
  all.origin = static_cast<std::int64_t>(offset);
  all.infinite = static_cast<double>(-std::expm1(infinite_log)) * (1 + 1e-12);
  return all;
}

// The array is periodic, the law is where it was aimed.
LossWindow LossComposition::place(const Target& target, const Reach& reach, const Grid& grid, const Laws& laws,
                                  const ComposedMasses& masses) {
  const double h = grid.step;
  const double spare = static_cast<double>(grid.size) - (reach.top() - reach.bottom()) / h;
  const auto periodic_first = static_cast<std::int64_t>(std::floor(reach.bottom() / h - spare / 2));
  // Points below the epsilons that will be asked for need no sums.
  const double needed = std::min(target.epsilon, reach.mean) - 3 * reach.deviation;
  const std::int64_t skipped = std::clamp<std::int64_t>(
      static_cast<std::int64_t>(std::floor(needed / h)) - periodic_first - 1, 0, grid.size - 2);
  LossWindow window({.step = h,
                     .tilt = target.tilt,
                     .blur = laws.blur,
                     .log_scale = laws.log_moment + laws.rounding,
                     .first = periodic_first + skipped,
                     .points = static_cast<std::size_t>(grid.size - skipped),
                     .origin = laws.origin,
                     .exact = grid.exact},
                    masses);
  // Chernoff with the grid's own moments.
  const auto tail = [&](double t, double edge) {
    long double exponent = -static_cast<long double>(t) * edge;
    for (std::size_t p = 0; p < laws.grids.size(); ++p) {
      const TiltedGrid law = tilted(laws.grids[p], target.aim->direction(), t);
      exponent += static_cast<long double>(laws.centred[p].count) * (law.log_moment + law.rounding());
    }
    const long double bound = std::exp(exponent) * (1 + 1e-9L);
    return bound < 1 ? static_cast<double>(bound) + std::numeric_limits<double>::min() : 1.0;
  };
  const double up = target.tilt + reach.up.at, down = target.tilt + reach.down.at;
  window.set_outside({.above = tail(up, window.high()),
                      .below = target.epsilon < window.low() && down < 0 ? tail(down, window.low()) : 1,
                      .infinite = laws.infinite});
  return window;
}

LossWindow LossComposition::compose(const Target& target) const {
  const std::optional<Reach> around = reach(target);
  if (!around) return {};
  const std::optional<Grid> grid = choose_grid(target, *around);
  if (!grid) return {};
  const std::optional<Laws> laws = laws_on(*grid, target);
  if (!laws) return {};
  const ComposedMasses masses = composed(laws->centred, grid->size);
  if (!std::isfinite(masses.error)) return {};
  return place(target, *around, *grid, *laws, masses);
}

namespace {
// First guess of ln delta, before anything is known: keeps tails down to 1e-60.
constexpr double kUnknownLogDelta = -120;
}  // namespace

double LossComposition::estimated_log_delta(double epsilon, double log_delta) const {
  if (!available_ || parts_.empty()) return std::nan("");
  double worst = -kInfinity;
  for (const int direction : {+1, -1}) {
    const LossAim aim(parts_, direction, log_delta);
    worst = std::max(worst, aim.estimate(aim.tilt_for_epsilon(epsilon), epsilon));
    if (symmetric()) break;
  }
  return std::min(worst, 0.0);
}

double LossComposition::delta_in(int direction, double epsilon, double tolerance, double enough) const {
  if (!available_) return 1;
  if (parts_.empty()) return -std::expm1(log_no_leak_);
  // Below `enough` the exact value does not matter: tails may be cut as if it were that.
  const double floor = enough > 0 ? std::log(enough) : -600;
  double log_delta = std::max(kUnknownLogDelta, floor);
  for (int i = 0; i < 2; ++i) {
    // Cutting at the tails that matter can lower the estimate, which moves the cut: once is enough.
    const LossAim rough(parts_, direction, log_delta);
    log_delta = std::clamp(rough.estimate(rough.tilt_for_epsilon(epsilon), epsilon), floor, 0.0);
  }
  double answer = 1, slope = 0;
  for (int attempt = 0; attempt < 4; ++attempt) {
    const LossAim aim(parts_, direction, log_delta);
    const Target target{&aim, aim.tilt_for_epsilon(epsilon), epsilon, tolerance, slope};
    const LossWindow window = compose(target);
    if (!window.valid()) break;
    const double found = window.delta(epsilon);
    const bool settled = attempt > 0 && found > answer * (1 - 0.1 * tolerance);  // another look changed nothing
    answer = std::min(answer, found);
    slope = std::max(slope, window.slope(epsilon));
    if (answer < enough || (settled && answer < 1)) break;
    const double off = std::log(std::max(answer, 1e-300)) - log_delta;
    // An estimate far above cuts off too much; one far below keeps tails that decide the tilt and not the answer.
    const bool tails_fit = std::fabs(off) < 5 || (off < 0 && log_delta <= floor);
    if (tails_fit && window.fine_enough(target.steepness(), slope)) break;
    log_delta = std::clamp(std::log(std::max(answer, 1e-300)), floor, 0.0);
  }
  return answer;
}

// Usually one direction clearly dominates: a coarse bound of the other then settles the matter.
double LossComposition::delta(double epsilon, double tolerance) const {
  const double forward = delta_in(+1, epsilon, tolerance);
  if (symmetric() || !available_ || parts_.empty()) return forward;
  if (tolerance < kCoarse && delta_in(-1, epsilon, kCoarse, forward) <= forward) return forward;
  return std::max(forward, delta_in(-1, epsilon, tolerance));
}

double LossComposition::epsilon_in(int direction, double delta, double tolerance) const {
  if (!available_) return kInfinity;
  const double leak = -std::expm1(log_no_leak_);
  if (delta <= leak) return kInfinity;
  if (parts_.empty()) return 0;
  const LossAim aim(parts_, direction, std::log(delta - leak));
  Target target{&aim, aim.tilt_for_delta(delta - leak), 0, tolerance, 0};
  double answer = kInfinity;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const LossAim::Cumulants c = aim.cumulants(target.tilt);
    target.epsilon = std::isfinite(answer) ? answer : std::max(c.mean, 0.0);
    const LossWindow window = compose(target);
    if (!window.valid()) return answer;
    const auto safe = [&](double epsilon) { return window.delta(epsilon) <= delta; };
    const double low = std::max(0.0, window.low()), high = window.high();
    if (safe(0)) return 0;
    if (!safe(high)) {
      target.tilt = target.tilt * 1.5 + 0.5 / std::sqrt(c.variance);
      continue;
    }
    const double found = smallest_safe(safe(low) ? 0 : low, high, safe);
    const bool settled = found > answer * (1 - 0.1 * tolerance);  // another look changed nothing
    answer = std::min(answer, found);
    if (settled) break;
    const double slope = window.slope(found);
    const bool aimed = std::fabs(found - c.mean) < 2.5 * std::sqrt(c.variance);
    if (aimed && window.fine_enough(target.steepness(), slope)) break;
    target.slope = std::max(target.slope, slope);
    if (!aimed) target.tilt = aim.tilt_for_epsilon(found);
  }
  return answer;
}

// Where no window that was aimed at delta reaches it (few steps, whose law is far from normal): by windows aimed at
// epsilon, each of which gives a valid delta.
double LossComposition::epsilon_by_bisection(int direction, double delta, double tolerance) const {
  const auto safe = [&](double epsilon) { return delta_in(direction, epsilon, tolerance) <= delta; };
  if (safe(0)) return 0;
  // Bounded losses have a largest sum, and a small delta is often reached just below it.
  double ceiling = 0;
  for (const Part& part : parts_) ceiling += static_cast<double>(part.count) * part.step->largest();
  constexpr double kLargest = 1e4, kBelow = 1e-4;
  double low = 0, high = 1e-3;
  if (std::isfinite(ceiling) && !safe(ceiling * (1 - kBelow))) return ceiling * (1 + kSlack);
  while (!safe(high)) {
    low = high;
    high *= 2;
    if (high > kLargest) return kInfinity;
  }
  while (high - low > 0.1 * tolerance * high) {
    const double middle = 0.5 * (low + high);
    (safe(middle) ? high : low) = middle;
  }
  return high;
}

double LossComposition::epsilon(double delta, double tolerance) const {
  double forward = epsilon_in(+1, delta, tolerance);
  if (std::isinf(forward) && available_ && delta > -std::expm1(log_no_leak_))
    forward = epsilon_by_bisection(+1, delta, tolerance);
  if (symmetric() || std::isinf(forward) || parts_.empty()) return forward;
  if (tolerance < kCoarse && delta_in(-1, forward, kCoarse, delta) <= delta) return forward;
  const double backward = epsilon_in(-1, delta, tolerance);
  return std::max(forward, std::isinf(backward) ? epsilon_by_bisection(-1, delta, tolerance) : backward);
}

}  // namespace parley::privacy::accounting
