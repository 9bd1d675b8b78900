#include "parley/privacy/accounting/least_cost.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "parley/privacy/accounting/numerics.h"
#include "parley/privacy/accounting/profile.h"
#include "parley/privacy/accounting/pure_composition.h"
#include "parley/privacy/accounting/sampled_gaussian.h"

namespace parley::privacy::accounting {
namespace {

using Real = long double;

// Closed forms are rounded up by about 1e-12 on their way; this takes it back, and more.
constexpr double kBack = 1e-9;

// An outcome that has probability p under P and p e^(-loss) under Q.
struct Outcome {
  Real p;
  Real loss;
};
// Sorted by loss. What the outcomes lack of probability 1 is ignored, which only lowers the bound.
using Pair = std::vector<Outcome>;

// At most this many outcomes are kept of a product, and a step with a density is cut into this many cells.
constexpr std::size_t kOutcomes = 36;
constexpr int kCells = 60;
// Relative room for the rounding of one product and of what is put together with it.
constexpr Real kRounding = 64 * std::numeric_limits<Real>::epsilon();

// ---- steps ----

// The outcomes of a step with P-mass and Q-mass in cells between `edges`, the first and last of which are infinite.
// mass(a, b) answers {P, Q} of a cell. A cell whose Q-mass is below the smallest number is left out.
template <class Masses>
Pair in_cells(const std::vector<Real>& edges, const Masses& masses) {
  Pair pair;
  for (std::size_t i = 0; i + 1 < edges.size(); ++i) {
    const auto [p, q] = masses(edges[i], edges[i + 1]);
    if (p > 0 && q > 0 && std::isnormal(p) && std::isnormal(q)) pair.push_back({p, std::log(p / q) - kRounding});
  }
  std::sort(pair.begin(), pair.end(), [](const Outcome& a, const Outcome& b) { return a.loss < b.loss; });
  return pair;
}

std::vector<Real> even_edges(Real low, Real high, int cells) {
  std::vector<Real> edges{-std::numeric_limits<Real>::infinity()};
  for (int i = 0; i <= cells; ++i) edges.push_back(low + (high - low) * i / cells);
  edges.push_back(std::numeric_limits<Real>::infinity());
  return edges;
}

// P(a < N(0,1) < b) without cancellation.
Real normal_mass(Real a, Real b) {
  if (a >= 0) return normal_tail(a) - normal_tail(b);
  if (b <= 0) return normal_tail(-b) - normal_tail(-a);
  return 1 - normal_tail(-a) - normal_tail(b);
}

// N(mu, 1) against N(0, 1). Where Q has no number the loss of a cell is that of its lower edge.
Pair gaussian_pair(Real mu) {
  Pair pair;
  const std::vector<Real> edges = even_edges(-6, 10, kCells);
  for (std::size_t i = 0; i + 1 < edges.size(); ++i) {
    const Real p = normal_mass(edges[i], edges[i + 1]), q = normal_mass(edges[i] + mu, edges[i + 1] + mu);
    if (!std::isnormal(p)) continue;
    if (std::isnormal(q)) {
      pair.push_back({p, std::log(p / q) - kRounding});
    } else if (std::isfinite(edges[i])) {
      pair.push_back({p, mu * edges[i] + mu * mu / 2});
    }
  }
  std::sort(pair.begin(), pair.end(), [](const Outcome& a, const Outcome& b) { return a.loss < b.loss; });
  return pair;
}

Pair sampled_pair(const SampledGaussian& pair) {
  const Real low = (pair.neighbours == Neighbours::kAddRemove ? 0 : -1) - 6 * static_cast<Real>(pair.sigma);
  const auto above = [](const auto& tail, const auto& head, Real a, Real b, Real middle) -> Real {
    if (a >= middle) return (std::isinf(a) ? 0 : tail(a)) - (std::isinf(b) ? 0 : tail(b));
    if (b <= middle) return (std::isinf(b) ? 0 : head(b)) - (std::isinf(a) ? 0 : head(a));
    return 1 - (std::isinf(a) ? 0 : head(a)) - (std::isinf(b) ? 0 : tail(b));
  };
  return in_cells(even_edges(low, 1 + 10 * static_cast<Real>(pair.sigma), kCells), [&](Real a, Real b) {
    const auto x = [](Real edge) { return static_cast<double>(edge); };
    const Real p =
        above([&](Real e) { return pair.p_above(x(e)); }, [&](Real e) { return pair.p_below(x(e)); }, a, b, 0);
    const Real q =
        above([&](Real e) { return pair.q_above(x(e)); }, [&](Real e) { return pair.q_below(x(e)); }, a, b, 0);
    return std::pair{p, q};
  });
}

// Atoms 1/2 at e and e^(-e)/2 at -e, density e^(-(e-l)/2)/4 between; a cell [a, b] has the loss (a + b)/2.
Pair laplace_pair(Real e) {
  constexpr int kBetween = 24;
  Pair pair{{std::exp(-e) / 2, -e}};
  for (int i = 0; i < kBetween; ++i) {
    const Real a = -e + 2 * e * i / kBetween, b = -e + 2 * e * (i + 1) / kBetween;
    pair.push_back({std::exp((b - e) / 2) * -std::expm1((a - b) / 2) / 2, (a + b) / 2});
  }
  pair.push_back({0.5L, e});
  return pair;
}

// P around 0, Q around a whole number of grains: geometric sums over cells of [1, distance - 1] between two ends.
Pair discrete_laplace_pair(Real scale, Real distance) {
  const Real g = std::exp(-1 / scale), e = distance / scale;
  const auto power = [&](Real x) { return std::exp(-x / scale); };
  Pair pair{{power(distance) / (1 + g), -e}};
  const Real cells = std::min<Real>(24, distance - 1);
  for (Real i = cells; i >= 1; --i) {
    const Real first = 1 + std::floor((distance - 1) * (i - 1) / cells), last = std::floor((distance - 1) * i / cells);
    if (last < first) continue;
    // P: (g^first - g^(last+1))/(1+g), Q: (g^(distance-last) - g^(distance-first+1))/(1+g).
    const Real width = -std::expm1(-(last - first + 1) / scale);
    pair.push_back({power(first) * width / (1 + g), (distance - last - first) / scale});
  }
  pair.push_back({1 / (1 + g), e});
  return pair;
}

// P around distance, Q around 0, in cells of whole numbers. Few atoms are added up. Of many, a cell has at least the
// normal mass times 1 - (z^2/24 + 0.13)/sigma^2 within z deviations, and at most that times 1 + 0.13/sigma^2.
Pair discrete_gaussian_pair(Real sigma, Real distance) {
  constexpr Real kFew = 100;
  if (sigma > kFew) {
    const Real mu = distance / sigma;
    // Cells of whole numbers end between two of them.
    std::vector<Real> edges = even_edges(-6, 10, kCells);
    for (Real& edge : edges) edge = (std::floor(edge * sigma) + 0.5L) / sigma;
    Pair pair;
    for (std::size_t i = 1; i + 2 < edges.size(); ++i) {
      const Real p = normal_mass(edges[i], edges[i + 1]), q = normal_mass(edges[i] + mu, edges[i + 1] + mu);
      const Real farthest = std::max(std::fabs(edges[i]), std::fabs(edges[i + 1]));
      const Real off = (farthest * farthest / 24 + 0.3L) / (sigma * sigma);
      if (std::isnormal(p) && std::isnormal(q)) pair.push_back({p * (1 - off), std::log(p / q) - off - kRounding});
    }
    return pair;
  }
  const Real variance = sigma * sigma, reach = std::ceil(14 * sigma) + 1;
  const auto weight = [&](Real x) { return std::exp(-x * x / (2 * variance)); };
  Real normaliser = 1;
  for (Real x = 1; x <= 40 * sigma + 40; ++x) normaliser += 2 * weight(x);
  const Real width = std::max<Real>(1, std::ceil(2 * reach / kCells));
  Pair pair;
  for (Real x = -reach; x <= reach; x += width) {
    Real p = 0, q = 0;
    for (Real y = x; y < x + width; ++y) p += weight(y), q += weight(y + distance);
    if (std::isnormal(p) && std::isnormal(q)) pair.push_back({p / normaliser, std::log(p / q)});
  }
  return pair;
}

Pair randomised_response(Real e) {
  return {{1 / (1 + std::exp(e)), -e}, {1 / (1 + std::exp(-e)), e}};
}

// Two outcomes, with losses u and u - e: P(u) = (e^e - e^u)/(e^e - 1). Any u in (0, e) is an exponential mechanism.
Pair two_choices(Real e, Real u) {
  const Real scale = -std::expm1(-e);
  return {{std::exp(u - e) * -std::expm1(-u) / scale, u - e}, {-std::expm1(u - e) / scale, u}};
}

// ---- products ----

// e^x, never below it, for x <= 0: in double, which is several times quicker and as good a bound.
Real exp_above(Real x) {
  const double near = std::exp(static_cast<double>(x)) * (1 + 1e-15 * (1 - static_cast<double>(x)));
  return std::max(near, std::numeric_limits<double>::min());
}

// Puts neighbouring outcomes together: a third of the cells by loss, a third by probability, a third by the order of
// magnitude of the tail, so that the middle and the part that decides a small delta both keep their shape.
Pair together(const Pair& all, Real smallest_tail) {
  if (all.size() <= kOutcomes) return all;
  Real total = 0;
  for (const Outcome& outcome : all) total += outcome.p;
  Real low = all.front().loss, high = all.back().loss, below = 0;
  for (const Outcome& outcome : all) {
    if (below < 1e-7L * total) low = outcome.loss;
    below += outcome.p;
    if (total - below > smallest_tail) high = outcome.loss;
  }
  if (!(high > low)) low = all.front().loss, high = all.back().loss;
  const Real per_loss = high > low ? 1 / (high - low) : 1, per_mass = 1 / total;
  const double per_magnitude = -1 / std::log(static_cast<double>(smallest_tail));
  const Real share = kOutcomes / 3.0L;
  Pair result;
  Real sum = 0, covered = 0, reference = 0, above = total;
  std::int64_t cell = -1;
  const auto close = [&] {
    if (sum > 0)
      result.push_back({sum, reference - std::log(covered / sum + std::numeric_limits<Real>::min()) - kRounding});
  };
  for (const Outcome& outcome : all) {
    const Real by_loss = std::clamp((outcome.loss - low) * per_loss, Real{0}, Real{1});
    const Real tail = above * per_mass;
    const Real by_mass = 1 - tail;
    const double by_tail = -std::log(static_cast<double>(std::clamp(tail, smallest_tail, Real{1}))) * per_magnitude;
    const auto own = static_cast<std::int64_t>(share * (by_loss + by_mass + by_tail));
    if (own != cell) {
      close();
      cell = own;
      sum = covered = 0;
      reference = outcome.loss;
    }
    sum += outcome.p;
    covered += outcome.p * exp_above(reference - outcome.loss);
    above -= outcome.p;
  }
  close();
  return result;
}

Outcome both(const Outcome& x, const Outcome& y) {
  return {x.p * y.p * (1 - kRounding), x.loss + y.loss - kRounding * (std::fabs(x.loss) + std::fabs(y.loss))};
}

Pair sorted_together(Pair all, Real smallest_tail) {
  std::erase_if(all, [](const Outcome& outcome) { return !std::isnormal(outcome.p); });
  std::sort(all.begin(), all.end(), [](const Outcome& x, const Outcome& y) { return x.loss < y.loss; });
  return together(all, smallest_tail);
}

Pair product(const Pair& a, const Pair& b, Real smallest_tail) {
  Pair all;
  all.reserve(a.size() * b.size());
  for (const Outcome& x : a)
    for (const Outcome& y : b) all.push_back(both(x, y));
  return sorted_together(std::move(all), smallest_tail);
}

// product(a, a), whose outcomes come in equal pairs.
Pair square(const Pair& a, Real smallest_tail) {
  Pair all;
  all.reserve(a.size() * (a.size() + 1) / 2);
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = i; j < a.size(); ++j) {
      all.push_back(both(a[i], a[j]));
      if (i != j) all.back().p *= 2;
    }
  return sorted_together(std::move(all), smallest_tail);
}

Pair power(Pair base, std::int64_t count, Real smallest_tail) {
  std::optional<Pair> result;
  while (true) {
    if (count % 2 == 1) result = result ? product(*result, base, smallest_tail) : base;
    count /= 2;
    if (count == 0) return *result;
    base = square(base, smallest_tail);
  }
}

// ---- plans ----

// The plan with every event replaced by what a mechanism of its kind does. `share`: u = share e for the exponential
// mechanism.
struct Least {
  Pair pair;             // empty: nothing is revealed
  Real log_no_leak = 0;  // ln of the probability that no (epsilon, delta) step reveals everything

  [[nodiscard]] Real leak() const { return -std::expm1(log_no_leak) * (1 - kBack); }
  [[nodiscard]] Real delta(Real epsilon) const {
    Real inside = 0;
    for (auto outcome = pair.rbegin(); outcome != pair.rend() && outcome->loss > epsilon; ++outcome)
      inside += outcome->p * -std::expm1(epsilon - outcome->loss);
    return leak() + std::exp(log_no_leak) * inside * (1 - kBack);
  }
};

Least least(const Plan& plan, double share, double delta) {
  std::int64_t steps = 0;
  for (const Event& event : plan.events) steps += event.count;
  // Tails of a part of the plan count as often as the part occurs.
  const Real smallest_tail = std::clamp<Real>(1e-3L * delta / static_cast<Real>(steps), 1e-300L, 1e-3L);
  Least all;
  Real mu_squared = 0;
  std::vector<Pair> parts;
  for (const Event& event : plan.events) {
    const auto count = static_cast<Real>(event.count);
    const auto add = [&](Pair pair) {
      if (!pair.empty()) parts.push_back(power(std::move(pair), event.count, smallest_tail));
    };
    std::visit(
        [&]<class M>(const M& m) {
          if constexpr (std::is_same_v<M, Gaussian>) {
            mu_squared +=
                count * (m.sensitivity / static_cast<Real>(m.sigma)) * (m.sensitivity / static_cast<Real>(m.sigma));
          } else if constexpr (std::is_same_v<M, Zcdp>) {
            mu_squared += count * 2 * m.rho;
          } else if constexpr (std::is_same_v<M, Laplace>) {
            add(laplace_pair(static_cast<Real>(m.sensitivity) / m.scale));
          } else if constexpr (std::is_same_v<M, DiscreteLaplace>) {
            if (m.sensitivity >= 1) add(discrete_laplace_pair(m.scale, std::floor(m.sensitivity)));
          } else if constexpr (std::is_same_v<M, DiscreteGaussian>) {
            if (m.sensitivity >= 1) add(discrete_gaussian_pair(m.sigma, std::floor(m.sensitivity)));
          } else if constexpr (std::is_same_v<M, Exponential>) {
            add(two_choices(m.epsilon, share * m.epsilon));
          } else if constexpr (std::is_same_v<M, Pure>) {
            add(randomised_response(m.epsilon));
          } else if constexpr (std::is_same_v<M, ApproxDp>) {
            all.log_no_leak += count * std::log1p(-static_cast<Real>(m.delta));
            if (m.epsilon > 0) add(randomised_response(m.epsilon));
          } else if constexpr (std::is_same_v<M, SubsampledGaussian>) {
            add(sampled_pair({m.noise_multiplier, m.sampling_rate, plan.neighbours}));
          }
        },
        event.mechanism);
  }
  if (mu_squared > 0) parts.push_back(gaussian_pair(std::sqrt(mu_squared) * (1 - kBack)));
  for (Pair& part : parts) all.pair = all.pair.empty() ? std::move(part) : product(all.pair, part, smallest_tail);
  return all;
}

// A mechanism whose exact profile is in profile.h and which the event may be.
Mechanism plain(const Mechanism& mechanism) {
  if (const auto* m = std::get_if<Laplace>(&mechanism)) return Laplace{m->scale, m->sensitivity, 1};
  if (const auto* m = std::get_if<Zcdp>(&mechanism)) return Gaussian{1, std::sqrt(2 * m->rho)};
  return mechanism;
}
// Profiles of steps that cost next to nothing are widened by the rounding of a difference: those are not lower bounds.
constexpr double kLeastMu = 1e-4;
bool has_exact_profile(const Mechanism& mechanism) {
  if (const auto* m = std::get_if<Gaussian>(&mechanism)) return m->sensitivity / m->sigma > kLeastMu;
  if (const auto* m = std::get_if<Zcdp>(&mechanism)) return std::sqrt(2 * m->rho) > kLeastMu;
  if (const auto* m = std::get_if<SubsampledGaussian>(&mechanism))
    return m->sampling_rate / m->noise_multiplier > kLeastMu;
  return !std::holds_alternative<DiscreteLaplace>(mechanism) && !std::holds_alternative<DiscreteGaussian>(mechanism) &&
         !std::holds_alternative<Unprotected>(mechanism);
}

// The walk of optimal_pure_delta gives up beyond this many steps.
constexpr std::int64_t kMostPure = 100'000'000;

// The shares of e at which two choices of the exponential mechanism are tried: half is best for small steps.
std::vector<double> shares(const Plan& plan) {
  for (const Event& event : plan.events)
    if (const auto* step = std::get_if<Exponential>(&event.mechanism); step != nullptr && step->epsilon > 1)
      return {0.5, 0.75, 0.95};
  return {0.5};
}

}  // namespace

void OneKind::add(const Event& event) {
  const auto* gaussian = std::get_if<Gaussian>(&event.mechanism);
  const auto* step = std::get_if<Pure>(&event.mechanism);
  gaussians = gaussians && gaussian != nullptr;
  pure = pure && step != nullptr && (steps == 0 || step->epsilon == epsilon);
  steps += event.count;
  if (gaussian != nullptr)
    squares += static_cast<double>(event.count) * (gaussian->sensitivity / gaussian->sigma) *
               (gaussian->sensitivity / gaussian->sigma);
  if (step != nullptr) epsilon = step->epsilon;
}

namespace {

OneKind kind_of(const Plan& plan) {
  OneKind kind;
  for (const Event& event : plan.events) kind.add(event);
  return kind;
}
// mu of Gaussians alone; nullopt for others, and where its profile is not a lower bound.
std::optional<double> one_gaussian(const OneKind& kind) {
  const double mu = std::sqrt(kind.squares);
  return kind.gaussians && mu > kLeastMu ? std::optional(mu) : std::nullopt;
}
bool one_pure(const OneKind& kind) {
  return kind.pure && kind.steps <= kMostPure;
}

// Where a closed form is exact for the plan.
std::optional<double> exact_epsilon(const OneKind& kind, double delta) {
  const double room = std::min(delta * (1 + kBack), 1.0);
  if (const auto mu = one_gaussian(kind)) return gaussian_epsilon(*mu, room) * (1 - kBack);
  if (one_pure(kind)) return optimal_pure_epsilon(kind.epsilon, kind.steps, room) * (1 - kBack);
  return std::nullopt;
}

std::optional<double> exact_delta(const OneKind& kind, double epsilon) {
  const double beyond = epsilon * (1 + kBack);
  if (const auto mu = one_gaussian(kind)) return gaussian_delta(*mu, beyond) * (1 - kBack);
  if (one_pure(kind)) return optimal_pure_delta(kind.epsilon, kind.steps, beyond) * (1 - kBack);
  return std::nullopt;
}

double least_epsilon_of(const Mechanism& step, Neighbours neighbours, double delta) {
  if (!has_exact_profile(step)) return 0;
  return step_epsilon(plain(step), neighbours, std::min(delta * (1 + kBack), 1.0)) * (1 - kBack);
}

}  // namespace

void LeastOfSteps::add(const Event& event) {
  kind_.add(event);
  largest_ = std::max(largest_, least_epsilon_of(event.mechanism, neighbours_, delta_));
}

double LeastOfSteps::epsilon() const {
  return kind_.steps == 0 ? 0 : exact_epsilon(kind_, delta_).value_or(largest_);
}

double least_epsilon(const Plan& plan, double delta) {
  if (plan.events.empty()) return 0;
  if (const auto exact = exact_epsilon(kind_of(plan), delta)) return *exact;
  double largest = 0;
  for (const Event& event : plan.events)
    largest = std::max(largest, least_epsilon_of(event.mechanism, plan.neighbours, delta));
  for (const double share : shares(plan)) {
    const Least cost = least(plan, share, delta);
    if (cost.delta(largest) <= delta) continue;
    if (cost.leak() > delta) return kInfinity;  // (epsilon, delta) steps reveal everything too often
    double low = largest, high = std::max(largest, static_cast<double>(cost.pair.back().loss));
    for (int i = 0; i < 100 && high - low > 1e-9 * high; ++i) {
      const double middle = low + 0.5 * (high - low);
      (cost.delta(middle) > delta ? low : high) = middle;
    }
    largest = std::max(largest, low * (1 - kBack));
  }
  return largest;
}

double least_delta(const Plan& plan, double epsilon) {
  if (plan.events.empty()) return 0;
  if (const auto exact = exact_delta(kind_of(plan), epsilon)) return *exact;
  double largest = 0;
  for (const Event& event : plan.events)
    if (has_exact_profile(event.mechanism))
      largest =
          std::max(largest, step_delta(plain(event.mechanism), plan.neighbours, epsilon * (1 + kBack)) * (1 - kBack));
  // How small a tail counts is known once delta is: the second look has it.
  for (const double share : shares(plan)) {
    double about = std::max(largest, 1e-12);
    for (int i = 0; i < 2 && about > 0; ++i) {
      about = static_cast<double>(least(plan, share, about).delta(epsilon * (1 + kBack)));
      largest = std::max(largest, about);
    }
  }
  return largest;
}

}  // namespace parley::privacy::accounting
