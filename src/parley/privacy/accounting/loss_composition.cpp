#include "parley/privacy/accounting/loss_composition.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <unsupported/Eigen/FFT>

#include "parley/privacy/accounting/loss_aim.h"
#include "parley/privacy/accounting/numerics.h"
#include "parley/privacy/accounting/tilted_grid.h"

namespace parley::privacy::accounting {
namespace {

using Complex = std::complex<double>;

constexpr double kUnit = std::numeric_limits<double>::epsilon() / 2;
constexpr std::int64_t kLargestTransform = std::int64_t{1} << 21;
// Close to the largest possible loss ln(delta) falls without bound, and following its slope has to end
// somewhere.
constexpr std::int64_t kLargestRefined = std::int64_t{1} << 18;
// Tilted mass that may lie outside the window, as a share of the tolerance: e^-7. It costs much less than that: what is
// above is bounded by Chernoff, where delta hardly counts it, and what is below comes back, in the periodic array, at the top.
constexpr double kWindowLog = 7;
// Grid points further from 0 than this lose their place in a double.
constexpr double kLargestIndex = 4e15;

// The next length that is a power of two times one of these.
std::int64_t transform_size(double size) {
  std::int64_t best = kLargestTransform;
  for (const std::int64_t odd : {1, 3, 5, 9, 15, 25}) {
    std::int64_t n = 256 * odd;
    while (static_cast<double>(n) < size) n *= 2;
    best = std::min(best, n);
  }
  return best;
}

// Plans (tables of roots of unity) are kept: they cost more than a transform.
Eigen::FFT<double>& transform_of_this_thread() {
  thread_local Eigen::FFT<double> transform = [] {
    Eigen::FFT<double> made;
    made.SetFlag(Eigen::FFT<double>::HalfSpectrum);
    return made;
  }();
  return transform;
}

}  // namespace

struct LossComposition::Target {
  const Aim* aim;
  double tilt;
  double epsilon;  // where accuracy is wanted
  double tolerance;
  double slope;  // -d ln(delta)/d epsilon near epsilon, at least the tilt: decides the grid
};

// The composed law in a window. Grid point n has loss l_n = (first_ + n) h and tilted mass m_n >= 0; its mass is
// e^(log_scale - tilt l_n) m_n. delta is a sum over the points above epsilon. It is kept relative to its first point n,
//   near[n] = sum_{i >= n} m_i e^(-tilt (l_i - l_n)),
//   far[n]  = sum_{i >= n} m_i e^(-tilt (l_i - l_n)) (1 - e^(-(l_i - l_n))),
//   delta   = e^(log_scale - tilt l_n) ((1 - g) near[n] + g far[n]),     g = e^(epsilon - l_n) in [e^-h, 1],
// where every term is nonnegative and every factor at most 1: nothing cancels, nothing overflows, and a term that
// underflows is less than 1e-4900 of the sum that it is missing from.
class LossComposition::Window {
 public:
  // Upper bound of delta(epsilon).
  [[nodiscard]] double delta(double epsilon) const {
    if (!valid_) return 1;
    // Atoms are on the grid up to the rounding of their place: what is asked for is moved by as much.
    const long double asked = static_cast<long double>(epsilon) - blur_;
    const long double position = asked / step_ - first_;
    std::size_t n = 0;
    long double below = 0;
    if (position < 0) {
      below = below_;
    } else if (position >= static_cast<long double>(near_.size() - 1)) {
      return std::min(1.0, (rest_ + above_) * (1 + kSlack));
    } else {
      n = static_cast<std::size_t>(std::floor(position)) + 1;
      while (n > 0 && loss_at(n - 1) > asked) --n;  // the division rounds
    }
    if (n + 1 >= near_.size()) return std::min(1.0, (rest_ + above_) * (1 + kSlack));
    const long double past = std::min(asked - loss_at(n), 0.0L);
    const long double inside = -std::expm1(past) * near_[n] + std::exp(past) * far_[n];
    const long double answer = std::exp(log_scale_ - tilt_ * loss_at(n)) * inside * (1 + 1e-11L) + below + above_ + rest_;
    // Not a number, too: infinity times nothing is not nothing.
    return answer < 1 ? static_cast<double>(answer) * (1 + kSlack) : 1.0;
  }
  // -d ln(delta)/d epsilon. Where the law is far from normal it exceeds the tilt, and the grid must follow
  // it.
  [[nodiscard]] double slope(double epsilon) const {
    const double step = 2 * step_;
    const double here = delta(epsilon), there = delta(epsilon + step);
    return there > 0 && here > there ? std::log(here / there) / step : 0;
  }
  // Whether the grid was fine enough for the slope that was found: cost (1 + slope) k h^2/12, within a
  // factor 2.
  [[nodiscard]] bool fine_enough(const Target& target, double slope_found) const {
    if (exact_grid_ || size_ > kLargestRefined / 2) return true;
    return 1 + slope_found < 2 * (1 + std::max(target.tilt, target.slope));
  }
  [[nodiscard]] double low() const { return static_cast<double>(loss_at(0)); }
  [[nodiscard]] double high() const { return static_cast<double>(loss_at(near_.size() - 1)); }
  [[nodiscard]] long double loss_at(std::size_t n) const {
    return static_cast<long double>(first_ + static_cast<std::int64_t>(n)) * step_;
  }

  bool valid_ = false;
  bool exact_grid_ = false;
  double step_ = 0, tilt_ = 0, blur_ = 0;
  long double log_scale_ = 0;
  std::int64_t first_ = 0, size_ = 0;
  std::vector<long double> near_, far_;  // one more than there are points; the last is 0
  double above_ = 0, below_ = 0, rest_ = 0;
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

LossComposition::Window LossComposition::compose(const Target& target) const {
  Window window;
  const Aim& aim = *target.aim;
  const int direction = aim.direction();
  const double tilt = target.tilt;
  const Aim::Cumulants centre = aim.cumulants(tilt);
  // Laws on a few points lose their spread when tilted hard; what is left of it must not shrink the grid to
  // nothing.
  const double deviation = std::sqrt(std::max(centre.variance, 1e-3 * aim.cumulants(0).variance));
  // delta is a difference of sums whose terms agree up to the spread of the loss: below this the 1e-11 that every answer
  // is widened by would not cover their rounding.
  constexpr double kLeastDeviation = 1e-7;
  if (!(deviation > kLeastDeviation) || !std::isfinite(deviation)) return window;

  // How far the tilted sum reaches, by Chernoff: points beyond hold less than e^-outside.
  const double outside = kWindowLog - std::log(target.tolerance);
  const auto reach = [&](int side) {
    const auto bound = [&](double log_t) {
      const double t = std::exp(log_t);
      return (aim.cumulants(tilt + side * t).log_moment - centre.log_moment + outside) / t;
    };
    const double guess = std::log(std::sqrt(2 * outside) / deviation);
    const Minimum best = golden_section(guess - 3, guess + 1, 12, bound);
    return Minimum{side * std::exp(best.at), side * best.value};
  };
  const Minimum up = reach(+1), down = reach(-1);
  const double top = up.value, bottom = down.value;

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
  const double steepness = 1 + std::max(tilt, target.slope);
  const double epsilon_excess = std::min(target.tolerance / steepness, 0.1 * target.tolerance * std::max(target.epsilon, 0.01));
  double h = std::min(std::sqrt(12 * epsilon_excess / (steepness * steps)), deviation / 8);
  if (!(h > 0) || !std::isfinite((top - bottom) / h)) return window;
  const auto span = [&] { return (top - bottom) / h + 8; };
  const bool refined = target.slope > tilt;
  while (span() > static_cast<double>(refined ? kLargestRefined : kLargestTransform)) h *= 1.25;
  if (lattice > 0 && one_lattice && h < lattice) h = lattice / std::ceil(lattice / h);
  // Everything on one lattice: its own grid is exact.
  if (lattice > 0 && one_lattice && only_lattice) h = lattice;
  const std::int64_t size = transform_size(span());

  for (const Part& part : parts_)
    while (part.step->span(aim.cut()) / h > 4e6) h *= 1.25;

  std::vector<LossGrid> grids;
  std::vector<TiltedGrid> laws;
  long double offset = 0, mean = 0, log_moment = 0, infinite_log = log_no_leak_;
  double rounding = 0, blur = 0, lost = 0;
  std::vector<std::int64_t> shifts;
  for (const Part& part : parts_) {
    grids.push_back(part.step->grid(h, aim.cut()));
    laws.push_back(tilted(grids.back(), direction, tilt));
    const TiltedGrid& law = laws.back();
    const auto count = static_cast<double>(part.count);
    shifts.push_back(std::llround(law.mean_index));
    offset += static_cast<long double>(count) * static_cast<long double>(shifts.back());
    mean += static_cast<long double>(count) * law.mean_index;
    log_moment += static_cast<long double>(count) * law.log_moment;
    rounding += count * law.rounding();
    lost += count * law.lost;
    if (part.step->has_atoms()) blur += count * law.farthest * h * 4 * kUnit;
    if (law.infinite > 0.5) return window;
    infinite_log += count * std::log1p(-static_cast<long double>(law.infinite));
  }
  if (!(std::fabs(offset) < kLargestIndex) || !(std::fabs(mean) < kLargestIndex) || !std::isfinite(log_moment)) return window;

  // Fourier: product of powers. Each law is centred first, so phases stay small where the product is large.
  const auto n = static_cast<std::size_t>(size), half = n / 2 + 1;
  Eigen::FFT<double>& transform = transform_of_this_thread();
  // Kept between calls: fresh memory of this size costs about as much as what is computed in it.
  thread_local std::vector<double> signal;
  thread_local std::vector<Complex> spectrum;
  signal.resize(n);
  const double relative = 12 * kUnit * std::log2(static_cast<double>(size));
  struct Spectrum {
    std::vector<Complex> value;
    double error = 0;  // 2-norm of its rounding error
    double count = 0;
  };
  std::vector<Spectrum> spectra;
  for (std::size_t p = 0; p < laws.size(); ++p) {
    std::fill(signal.begin(), signal.end(), 0.0);
    const TiltedGrid& law = laws[p];
    std::int64_t at = (law.first - shifts[p]) % size;
    if (at < 0) at += size;
    for (const double w : law.weight) {
      signal[static_cast<std::size_t>(at)] += w;
      if (++at == size) at = 0;
    }
    double norm = 0;
    for (const double w : signal) norm += w * w;
    Spectrum& own = spectra.emplace_back();
    own.error = relative * std::sqrt(norm * static_cast<double>(size));
    own.count = static_cast<double>(parts_[p].count);
    own.value.resize(half);
    transform.fwd(own.value, signal);
  }
  // G = prod F^k, and the sum over frequencies of its error: |F^k - (F+dF)^k| <= k |dF| (|F|+|dF|)^(k-1), by
  // Cauchy-Schwarz over frequencies with the 2-norm of dF, plus the rounding of the power itself. Where the
  // product is below e^-90 even with every |F| widened by its error it is set to 0; that costs e^-90 per
  // frequency.
  spectrum.assign(half, Complex(0));
  std::vector<double> squares(spectra.size(), 0.0);
  double total_size = 0, neglected = 0;
  constexpr double kNegligibleLog = -90;
  // One law: the same test without a logarithm.
  const double quick =
      spectra.size() == 1 && spectra[0].count > 1 ? std::exp(kNegligibleLog / (spectra[0].count - 1)) - spectra[0].error : 0;
  for (std::size_t f = 0; f < half; ++f) {
    if (quick > 0 && std::norm(spectra[0].value[f]) < quick * quick) {
      neglected += std::exp(kNegligibleLog) * steps;
      continue;
    }
    double widened = 0, least_own = 0;
    for (const Spectrum& own : spectra) {
      const double log_widened = std::log(std::sqrt(std::norm(own.value[f])) + own.error);
      widened += own.count * log_widened;
      least_own = std::min(least_own, log_widened);
    }
    if (widened - least_own < kNegligibleLog) {
      neglected += std::exp(kNegligibleLog) * steps;
      continue;
    }
    double log_size = 0, phase = 0;
    for (std::size_t p = 0; p < spectra.size(); ++p) {
      const Spectrum& own = spectra[p];
      const double magnitude = 0.5 * std::log(std::max(std::norm(own.value[f]), 1e-300));
      log_size += own.count * magnitude;
      phase += std::remainder(own.count * std::arg(own.value[f]), 2 * std::numbers::pi);
      const double others = widened - std::log(std::sqrt(std::norm(own.value[f])) + own.error);
      squares[p] += 2 * std::exp(2 * others);
    }
    const double magnitude = std::exp(log_size);
    total_size += 2 * magnitude;
    spectrum[f] = {magnitude * std::cos(phase), magnitude * std::sin(phase)};
  }
  double error = 2 * neglected;
  for (std::size_t p = 0; p < spectra.size(); ++p)
    error += spectra[p].count * (spectra[p].error * std::sqrt(squares[p]) + 8 * kUnit * total_size);
  error /= static_cast<double>(size);
  transform.inv(signal, spectrum, static_cast<Eigen::Index>(size));
  double norm = 0;
  for (const double w : signal) norm += w * w;
  // What one step's weights lost to underflow is at most this share of the composed law.
  error += relative * std::sqrt(norm) + lost;
  if (!std::isfinite(error)) return window;

  // Place the window: the array is periodic, the law is where it was aimed.
  const double spare = static_cast<double>(size) - (top - bottom) / h;
  const auto periodic_first = static_cast<std::int64_t>(std::floor(bottom / h - spare / 2));
  // Points below the epsilons that will be asked for need no sums.
  const double needed = std::min(target.epsilon, centre.mean) - 3 * deviation;
  const std::int64_t skipped =
      std::clamp<std::int64_t>(static_cast<std::int64_t>(std::floor(needed / h)) - periodic_first - 1, 0, size - 2);
  const std::int64_t first = periodic_first + skipped;
  window.valid_ = true;
  window.exact_grid_ = lattice > 0 && one_lattice && only_lattice;
  window.step_ = h;
  window.first_ = first;
  window.size_ = size;
  window.tilt_ = tilt;
  window.blur_ = blur;
  window.log_scale_ = log_moment + rounding;
  const auto kept = static_cast<std::size_t>(size - skipped);
  window.near_.assign(kept + 1, 0.0L);
  window.far_.assign(kept + 1, 0.0L);
  const auto base = static_cast<std::int64_t>(offset);
  std::int64_t slot = (first - base) % size;
  if (slot < 0) slot += size;
  slot = (slot + static_cast<std::int64_t>(kept)) % size;
  // From the top down, as the definitions say; each step multiplies by rounded numbers once, so that 2^21 of them are
  // good to 1e-12.
  const long double width = h, decay = std::exp(-tilt * width), kept_share = std::exp(-width), gained = -std::expm1(-width);
  for (std::size_t j = kept; j-- > 0;) {
    slot = slot == 0 ? size - 1 : slot - 1;
    const double mass = std::max(signal[static_cast<std::size_t>(slot)], 0.0) + error;
    window.near_[j] = mass + decay * window.near_[j + 1];
    window.far_[j] = decay * (gained * window.near_[j + 1] + kept_share * window.far_[j + 1]);
  }
  const auto tail = [&](double t, double edge) {
    long double exponent = -static_cast<long double>(t) * edge;
    for (std::size_t p = 0; p < grids.size(); ++p) {
      const TiltedGrid law = tilted(grids[p], direction, t);
      exponent += static_cast<long double>(parts_[p].count) * (law.log_moment + law.rounding());
    }
    const long double bound = std::exp(exponent) * (1 + 1e-9L);
    return bound < 1 ? static_cast<double>(bound) + std::numeric_limits<double>::min() : 1.0;
  };
  window.above_ = tail(tilt + up.at, window.high());
  // Mass below the window matters only to an epsilon below it.
  window.below_ = target.epsilon < window.low() && tilt + down.at < 0 ? tail(tilt + down.at, window.low()) : 1;
  window.rest_ = static_cast<double>(-std::expm1(infinite_log)) * (1 + 1e-12);
  return window;
}

namespace {
// First guess of ln delta, before anything is known: keeps tails down to 1e-60.
constexpr double kUnknownLogDelta = -120;
}  // namespace

double LossComposition::estimated_log_delta(double epsilon, double log_delta) const {
  if (!available_ || parts_.empty()) return std::nan("");
  double worst = -kInfinity;
  for (const int direction : {+1, -1}) {
    const Aim aim(*this, direction, log_delta);
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
    const Aim rough(*this, direction, log_delta);
    log_delta = std::clamp(rough.estimate(rough.tilt_for_epsilon(epsilon), epsilon), floor, 0.0);
  }
  double answer = 1, slope = 0;
  for (int attempt = 0; attempt < 4; ++attempt) {
    const Aim aim(*this, direction, log_delta);
    const Target target{&aim, aim.tilt_for_epsilon(epsilon), epsilon, tolerance, slope};
    const Window window = compose(target);
    if (!window.valid_) break;
    const double found = window.delta(epsilon);
    const bool settled = attempt > 0 && found > answer * (1 - 0.1 * tolerance);  // another look changed nothing
    answer = std::min(answer, found);
    slope = std::max(slope, window.slope(epsilon));
    if (answer < enough || (settled && answer < 1)) break;
    const bool tails_fit = std::log(std::max(answer, 1e-300)) > log_delta - 5 || log_delta <= floor;
    if (tails_fit && window.fine_enough(target, slope)) break;
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
  const Aim aim(*this, direction, std::log(delta - leak));
  Target target{&aim, aim.tilt_for_delta(delta - leak), 0, tolerance, 0};
  double answer = kInfinity;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const Aim::Cumulants c = aim.cumulants(target.tilt);
    target.epsilon = std::isfinite(answer) ? answer : std::max(c.mean, 0.0);
    const Window window = compose(target);
    if (!window.valid_) return answer;
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
    if (aimed && window.fine_enough(target, slope)) break;
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
  if (std::isinf(forward) && available_ && delta > -std::expm1(log_no_leak_)) forward = epsilon_by_bisection(+1, delta, tolerance);
  if (symmetric() || std::isinf(forward) || parts_.empty()) return forward;
  if (tolerance < kCoarse && delta_in(-1, forward, kCoarse, delta) <= delta) return forward;
  const double backward = epsilon_in(-1, delta, tolerance);
  return std::max(forward, std::isinf(backward) ? epsilon_by_bisection(-1, delta, tolerance) : backward);
}

}  // namespace parley::privacy::accounting
