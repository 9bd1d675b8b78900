#include "parley/privacy/accounting/step_loss.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <type_traits>

#include "parley/privacy/accounting/numerics.h"
#include "parley/privacy/accounting/profile.h"
#include "parley/privacy/accounting/sampled_gaussian.h"

namespace parley::privacy::accounting {
namespace {

// Every grid mass is raised by this relative amount: it covers the quadrature (below 1e-13 for the panels
// used here) and the rounding of exp and log.
constexpr double kMassSlack = 2e-13;

struct Rule {
  int size;
  std::array<double, 8> at;
  std::array<double, 8> weight;
};
// Gauss-Legendre on [-1, 1].
constexpr Rule kTwo{2, {-0.5773502691896257645, 0.5773502691896257645}, {1, 1}};
constexpr Rule kThree{3,
                      {-0.7745966692414833770, 0, 0.7745966692414833770},
                      {0.5555555555555555556, 0.8888888888888888889, 0.5555555555555555556}};
constexpr Rule kFive{5,
                     {-0.9061798459386639928, -0.5384693101056830910, 0, 0.5384693101056830910, 0.9061798459386639928},
                     {0.2369268850561890875, 0.4786286704993664680, 0.5688888888888888889, 0.4786286704993664680,
                      0.2369268850561890875}};
constexpr Rule kEight{8,
                      {-0.9602898564975362317, -0.7966664774136267396, -0.5255324099163289858, -0.1834346424956498049,
                       0.1834346424956498049, 0.5255324099163289858, 0.7966664774136267396, 0.9602898564975362317},
                      {0.1012285362903762592, 0.2223810344533744706, 0.3137066458778872873, 0.3626837833783619830,
                       0.3626837833783619830, 0.3137066458778872873, 0.2223810344533744706, 0.1012285362903762592}};

double half_sinh(double x) {
  if (x < 0.05) return x * (0.5 + x * x * (1.0 / 48 + x * x / 3840));
  return std::sinh(x / 2);
}

// Collects masses on the grid.
class GridBuilder {
 public:
  GridBuilder(double step, double lowest, double highest)
      : step_(step), inverse_(1 / half_sinh(step)), first_(static_cast<std::int64_t>(std::floor(lowest / step)) - 1) {
    const auto last = static_cast<std::int64_t>(std::ceil(highest / step)) + 1;
    s_.assign(static_cast<std::size_t>(last - first_ + 1), 0.0);
  }

  [[nodiscard]] std::int64_t cell_of(double loss) const {
    const auto cell = static_cast<std::int64_t>(std::floor(loss / step_));
    return std::clamp<std::int64_t>(cell, first_, first_ + static_cast<std::int64_t>(s_.size()) - 2);
  }
  // s placed at `loss`, which lies in cell [cell h, (cell+1) h] up to rounding.
  void add(std::int64_t cell, double loss, double s) {
    const double d = std::clamp(loss - static_cast<double>(cell) * step_, 0.0, step_);
    const auto j = static_cast<std::size_t>(cell - first_);
    s_[j] += s * half_sinh(step_ - d) * inverse_;
    s_[j + 1] += s * half_sinh(d) * inverse_;
  }
  void add_atom(double loss, double s) { add(cell_of(loss), loss, s); }

  [[nodiscard]] LossGrid finish() && {
    // Drop empty ends so that first and last are real grid points of the law.
    std::size_t begin = 0, end = s_.size();
    while (begin + 1 < end && s_[begin] == 0) ++begin;
    while (end > begin + 1 && s_[end - 1] == 0) --end;
    LossGrid grid;
    grid.step = step_;
    grid.first = first_ + static_cast<std::int64_t>(begin);
    grid.log_s.reserve(end - begin);
    for (std::size_t j = begin; j < end; ++j) grid.log_s.push_back(std::log(s_[j]) + kMassSlack);
    return grid;
  }

 private:
  double step_, inverse_;
  std::int64_t first_;
  std::vector<double> s_;
};

// A continuous law given through x: the loss increases with x, log_s is the logarithm of sqrt(p q) at x.
// Law must offer loss(x), at_loss(l), log_s(x), panel() (a width over which everything is smooth) and
// steepness(x) (a bound of |d log_s/dx| near x).
template <class Law>
void integrate_cells(const Law& law, double low, double high, double step, GridBuilder& grid) {
  double left = low;
  std::int64_t cell = grid.cell_of(law.loss(low));
  while (left < high) {
    double right = law.at_loss(static_cast<double>(cell + 1) * step);
    if (!(right > left)) {
      ++cell;
      if (static_cast<double>(cell) * step > law.loss(high) + step) break;
      continue;
    }
    right = std::min(right, high);
    const double width = right - left;
    // Of log_s, or of the logarithm of the weights that a cell gives to its two ends.
    const double change = std::max(width * law.steepness(std::max(std::fabs(left), std::fabs(right))), 0.5 * step);
    const bool narrow = width < 0.5 * law.panel();
    const Rule& rule = change < 4e-3 && narrow   ? kTwo
                       : change < 5e-2 && narrow ? kThree
                       : change < 0.5 && narrow  ? kFive
                                                 : kEight;
    const int panels = rule.size < 8 ? 1 : 1 + static_cast<int>(std::max(width / law.panel(), change / 4));
    const double half = width / (2 * panels);
    for (int panel = 0; panel < panels; ++panel) {
      const double centre = left + (2 * panel + 1) * half;
      for (int i = 0; i < rule.size; ++i) {
        const double x = centre + half * rule.at[static_cast<std::size_t>(i)];
        const auto [loss, log_s] = law.both(x);
        grid.add(cell, loss, half * rule.weight[static_cast<std::size_t>(i)] * std::exp(log_s));
      }
    }
    left = right;
    ++cell;
  }
}

// Nodes only say where to look: twice as wide will do.
template <class Law>
void integrate_nodes(const Law& law, double low, double high, LossNodes& nodes) {
  const int panels = 1 + static_cast<int>((high - low) / (2 * law.panel()));
  const double half = (high - low) / (2 * panels);
  for (int panel = 0; panel < panels; ++panel)
    for (int i = 0; i < kFive.size; ++i) {
      const double x = low + half * (2 * panel + 1 + kFive.at[static_cast<std::size_t>(i)]);
      const auto [loss, log_s] = law.both(x);
      nodes.loss.push_back(loss);
      nodes.log_s.push_back(log_s + std::log(half * kFive.weight[static_cast<std::size_t>(i)]));
    }
}

struct LossAndS {
  double loss, log_s;
};

// sqrt(p q) underflows beyond this many noise deviations; what is outside is below 1e-290.
constexpr double kReach = 36;

// A point between `near` and `far` beyond which the mass is at most `tail`, not much further out than need be. Starts
// where sqrt(p q) is a normal double; a cut that is too near only charges more.
constexpr double kSmallestLogS = -690;
template <class Law, class Mass>
double cut_at(const Law& law, double near, double far, double tail, const Mass& mass) {
  while (law.both(far).log_s < kSmallestLogS) far = near + 0.95 * (far - near);
  for (int i = 0; i < 12; ++i) {
    const double middle = 0.5 * (near + far);
    (mass(middle) > tail ? near : far) = middle;
  }
  return far;
}

// ---- sampled Gaussian ----

class SampledGaussianLoss final : public StepLoss {
 public:
  explicit SampledGaussianLoss(const SampledGaussian& pair)
      : pair_(pair), log_scale_(-std::log(pair.sigma * std::sqrt(2 * std::numbers::pi))) {}

  LossNodes nodes(const Cut& cut) const override {
    LossNodes nodes;
    const auto [low, high] = range(cut);
    integrate_nodes(*this, low, high, nodes);
    return nodes;
  }
  double span(const Cut& cut) const override {
    const auto [low, high] = range(cut);
    return loss(high) - loss(low);
  }
  LossGrid grid(double step, const Cut& cut) const override {
    const auto [low, high] = range(cut);
    GridBuilder builder(step, loss(low), loss(high));
    integrate_cells(*this, low, high, step, builder);
    LossGrid grid = std::move(builder).finish();
    grid.forward_infinite = upward(pair_.p_above(high));
    grid.forward_lowest = upward(pair_.p_below(low));
    grid.backward_infinite = upward(pair_.q_below(low));
    grid.backward_lowest = upward(pair_.q_above(high));
    return grid;
  }
  bool symmetric() const override { return pair_.neighbours == Neighbours::kReplaceOne; }

  double loss(double x) const { return pair_.loss(x); }
  double at_loss(double l) const { return pair_.at_loss(l); }
  double panel() const { return std::min(pair_.sigma / 4, pair_.sigma * pair_.sigma / 2); }
  double steepness(double x) const { return (x + 1) / (pair_.sigma * pair_.sigma); }
  LossAndS both(double x) const {
    const double l = loss(x);
    const double z = x / pair_.sigma;
    // sqrt(p q): q is N_0 (add-remove), or p mirrored (replace-one), p = q e^l in both.
    if (pair_.neighbours == Neighbours::kAddRemove) return {l, log_scale_ - 0.5 * z * z + 0.5 * l};
    return {l, 0.5 * (pair_.log_density(x) + pair_.log_density(-x))};
  }

 private:
  struct Range {
    double low, high;
  };
  Range range(const Cut& cut) const {
    const double below = pair_.neighbours == Neighbours::kAddRemove ? 0 : 1;
    return {cut_at(*this, -below, -kReach * pair_.sigma - below, cut.below, [&](double x) { return pair_.q_below(x); }),
            cut_at(*this, 1, kReach * pair_.sigma + 1, cut.above, [&](double x) { return pair_.p_above(x); })};
  }
  static double upward(long double mass) { return static_cast<double>(mass) * (1 + kSlack); }

  SampledGaussian pair_;
  double log_scale_;
};

// ---- Gaussian: x is the loss itself ----

class GaussianLoss final : public StepLoss {
 public:
  explicit GaussianLoss(double mu)
      : mu_(mu), log_scale_(-std::log(mu * std::sqrt(2 * std::numbers::pi)) - mu * mu / 8) {}

  LossNodes nodes(const Cut& cut) const override {
    LossNodes nodes;
    integrate_nodes(*this, -end(cut.below), end(cut.above), nodes);
    return nodes;
  }
  double span(const Cut& cut) const override { return end(cut.below) + end(cut.above); }
  LossGrid grid(double step, const Cut& cut) const override {
    const double low = -end(cut.below), high = end(cut.above);
    GridBuilder builder(step, low, high);
    integrate_cells(*this, low, high, step, builder);
    LossGrid grid = std::move(builder).finish();
    // Under P the loss is N(mu^2/2, mu^2), under Q N(-mu^2/2, mu^2).
    const auto mass = [&](double distance, double shift) {
      return static_cast<double>(normal_tail(distance / static_cast<long double>(mu_) + shift)) * (1 + kSlack);
    };
    grid.forward_infinite = mass(high, -mu_ / 2);
    grid.forward_lowest = mass(-low, mu_ / 2);
    grid.backward_infinite = mass(-low, -mu_ / 2);
    grid.backward_lowest = mass(high, mu_ / 2);
    return grid;
  }

  double loss(double x) const { return x; }
  double at_loss(double l) const { return l; }
  double panel() const { return mu_ / 4; }
  double steepness(double x) const { return (x + mu_) / (mu_ * mu_); }
  LossAndS both(double l) const { return {l, log_scale_ - 0.5 * (l / mu_) * (l / mu_)}; }

 private:
  // The law is symmetric in direction: both ends are cut by the same rule.
  double end(double tail) const {
    return cut_at(*this, mu_ * mu_ / 2, mu_ * (kReach + mu_ / 2), tail,
                  [&](double l) { return normal_tail(l / static_cast<long double>(mu_) - mu_ / 2); });
  }
  double mu_, log_scale_;
};

// ---- Laplace and bounded range: sqrt(p q) is constant between -e and e ----

class FlatLoss final : public StepLoss {
 public:
  // sqrt(p q) = exp(log_flat) inside, and exp(log_atom) in each of the two atoms at the ends.
  FlatLoss(double e, double log_flat, double log_atom) : e_(e), log_flat_(log_flat), log_atom_(log_atom) {}

  LossNodes nodes(const Cut&) const override {
    LossNodes nodes{{-e_, e_}, {log_atom_, log_atom_}};
    if (!std::isfinite(log_atom_)) nodes = {};
    integrate_nodes(*this, -e_, e_, nodes);
    return nodes;
  }
  double span(const Cut&) const override { return 2 * e_; }
  double largest() const override { return e_; }
  LossGrid grid(double step, const Cut&) const override {
    GridBuilder builder(step, -e_, e_);
    integrate_cells(*this, -e_, e_, step, builder);
    if (std::isfinite(log_atom_)) {
      builder.add_atom(-e_, std::exp(log_atom_));
      builder.add_atom(e_, std::exp(log_atom_));
    }
    return std::move(builder).finish();
  }
  double lattice() const override { return std::isfinite(log_atom_) ? e_ : 0; }
  bool has_atoms() const override { return std::isfinite(log_atom_); }

  double loss(double x) const { return x; }
  double at_loss(double l) const { return l; }
  double panel() const { return std::min(0.5, e_ / 4); }
  double steepness(double) const { return 0; }
  LossAndS both(double l) const { return {l, log_flat_}; }

 private:
  double e_, log_flat_, log_atom_;
};

// ---- laws that are all atoms ----

class AtomicLoss final : public StepLoss {
 public:
  explicit AtomicLoss(LossNodes atoms, double lattice = 0) : atoms_(std::move(atoms)), lattice_(lattice) {
    const auto [low, high] = std::minmax_element(atoms_.loss.begin(), atoms_.loss.end());
    low_ = *low;
    high_ = *high;
  }
  LossNodes nodes(const Cut&) const override { return atoms_; }
  double span(const Cut&) const override { return high_ - low_; }
  double largest() const override { return dropped_ > 0 ? kInfinity : std::max(high_, -low_); }
  LossGrid grid(double step, const Cut&) const override {
    GridBuilder builder(step, low_, high_);
    double above = dropped_, below = dropped_;
    for (std::size_t i = 0; i < atoms_.loss.size(); ++i) {
      if (atoms_.log_s[i] >= kSmallestLogS) {
        builder.add_atom(atoms_.loss[i], std::exp(atoms_.log_s[i]));
      } else {
        (atoms_.loss[i] > 0 ? above : below) += std::exp(atoms_.log_s[i] + atoms_.loss[i] / 2);
      }
    }
    LossGrid grid = std::move(builder).finish();
    grid.forward_infinite = grid.backward_infinite = above;
    grid.forward_lowest = grid.backward_lowest = below;
    return grid;
  }
  double lattice() const override { return lattice_; }
  bool only_lattice() const override { return lattice_ > 0; }
  bool has_atoms() const override { return true; }
  // Mass of P above the atoms, and below them; the law is symmetric.
  void set_dropped(double mass) { dropped_ = mass; }

 private:
  LossNodes atoms_;
  double lattice_, low_, high_;
  double dropped_ = 0;
};

std::unique_ptr<StepLoss> randomised_response(double e) {
  // P-mass e^e/(1+e^e) at e: times e^(-e/2) gives 1/(2 cosh(e/2)) at both ends.
  const double log_s = -e / 2 - std::log1p(std::exp(-e));
  return std::make_unique<AtomicLoss>(LossNodes{{-e, e}, {log_s, log_s}}, e);
}

// Q around 0, P around Delta: sqrt(p q) at x is exp(-(x-Delta/2)^2/(2 sigma^2) - Delta^2/(8 sigma^2))/Z.
std::unique_ptr<StepLoss> discrete_gaussian(double sigma, double distance) {
  const double variance = sigma * sigma, reach = std::ceil(kReach * sigma);
  long double normaliser = 1;
  for (double x = 1; x <= reach + 2; ++x) normaliser += 2 * std::exp(-static_cast<long double>(x) * x / (2 * variance));
  const auto log_normaliser = static_cast<double>(std::log(normaliser));
  LossNodes atoms;
  for (double x = -reach; x <= distance + reach; ++x) {
    atoms.loss.push_back((2 * x - distance) * distance / (2 * variance));
    const double from_middle = x - distance / 2;
    atoms.log_s.push_back(-(from_middle * from_middle + distance * distance / 4) / (2 * variance) - log_normaliser);
  }
  auto loss = std::make_unique<AtomicLoss>(std::move(atoms));
  // Beyond 36 deviations the discrete Gaussian has less than 1e-280 of its mass.
  loss->set_dropped(1e-280);
  return loss;
}

// P around 0, Q around Delta, g = exp(-1/scale): P(x <= 0) = 1/(1+g), P(x) = (1-g)/(1+g) g^x between.
std::unique_ptr<StepLoss> discrete_laplace(double scale, double distance) {
  const double e = distance / scale, log_sum = std::log1p(std::exp(-1 / scale));
  const double log_end = -e / 2 - log_sum;
  LossNodes atoms{{e, -e}, {log_end, log_end}};
  const double log_inside = std::log(-std::expm1(-1 / scale)) - log_sum - e / 2;
  for (double x = 1; x < distance; ++x) {
    atoms.loss.push_back((distance - 2 * x) / scale);
    atoms.log_s.push_back(log_inside);
  }
  return std::make_unique<AtomicLoss>(std::move(atoms), distance == 1 ? e : 0);
}

// Losses beyond this leave the range in which sqrt(p q) is a normal double.
constexpr double kLargestLoss = 1000;

}  // namespace

std::unique_ptr<StepLoss> gaussian_loss(double mu) {
  if (mu * (kReach + mu / 2) > kLargestLoss || mu < 1e-150) return nullptr;
  return std::make_unique<GaussianLoss>(mu);
}

std::unique_ptr<StepLoss> step_loss(const Mechanism& mechanism, Neighbours neighbours) {
  return std::visit(
      [&]<class M>(const M& m) -> std::unique_ptr<StepLoss> {
        if constexpr (std::is_same_v<M, Laplace>) {
          const double e = m.sensitivity / m.scale;
          if (e > kLargestLoss || e < 1e-150) return nullptr;
          if (m.dimensions != 1) return randomised_response(e);
          return std::make_unique<FlatLoss>(e, std::log(0.25) - e / 2, std::log(0.5) - e / 2);
        } else if constexpr (std::is_same_v<M, DiscreteGaussian>) {
          const double distance = std::ceil(m.sensitivity), mu = distance / m.sigma;
          if (m.dimensions != 1 || m.sigma > 1000 || mu * (kReach + mu) > kLargestLoss) return nullptr;
          return discrete_gaussian(m.sigma, distance);
        } else if constexpr (std::is_same_v<M, DiscreteLaplace>) {
          const double e = m.sensitivity / m.scale;
          if (e > kLargestLoss || e < 1e-150) return nullptr;
          if (m.dimensions != 1 || m.sensitivity != std::floor(m.sensitivity) || m.sensitivity > 1e5)
            return randomised_response(e);
          return discrete_laplace(m.scale, m.sensitivity);
        } else if constexpr (std::is_same_v<M, Exponential>) {
          if (m.epsilon > kLargestLoss || m.epsilon < 1e-150) return nullptr;
          const double log_flat = -m.epsilon / 2 - std::log(2 * -std::expm1(-m.epsilon));
          return std::make_unique<FlatLoss>(m.epsilon, log_flat, -kInfinity);
        } else if constexpr (std::is_same_v<M, Pure> || std::is_same_v<M, ApproxDp>) {
          if (m.epsilon > kLargestLoss || m.epsilon < 1e-150) return nullptr;
          return randomised_response(m.epsilon);
        } else if constexpr (std::is_same_v<M, SubsampledGaussian>) {
          const SampledGaussian pair{m.noise_multiplier, m.sampling_rate, neighbours};
          if (pair.loss(kReach * pair.sigma + 1) > kLargestLoss || pair.rate / pair.sigma < 1e-150) return nullptr;
          return std::make_unique<SampledGaussianLoss>(pair);
        } else {
          return nullptr;
        }
      },
      mechanism);
}

}  // namespace parley::privacy::accounting
