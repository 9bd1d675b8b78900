#include "parley/algorithms/vertical/block_curvature.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace parley::algorithms {

namespace {

using Vector = std::vector<double>;
using linalg::Index;

// A set that moves as one: a ball, or a block of a box.
struct Unit {
  std::size_t begin = 0, end = 0;  // columns
  std::size_t party = 0;
  double p = 1;
  double most = 0;  // m_b n / L
};

class Bounds {
 public:
  explicit Bounds(const BlockProblem& problem)
      : problem_(problem), n_(static_cast<std::size_t>(problem.shares.front().features.rows())) {
    const BlockLayout& layout = problem.layout;
    const bool balls = !layout.box() && problem.sampling.takes_all();
    const Vector p = balls ? Vector(layout.balls(), 1.0) : problem.sampling.inclusion();
    for (std::size_t b = 0; b < p.size(); ++b) {
      Unit unit{balls ? layout.ball_begin(b) : layout.block_begin(b), balls ? layout.ball_end(b) : layout.block_end(b)};
      unit.party = layout.party_of(unit.begin);
      unit.p = p[b];
      units_.push_back(unit);
    }
    for (Unit& unit : units_) unit.most = move_of(unit);
  }

  void write(Convergence& convergence) const {
    const BlockSampling& sampling = problem_.sampling;
    const auto add = [&](const char* name, double bound) {
      convergence.curvatures.emplace_back(name, bound * problem_.loss_curvature / static_cast<double>(n_));
    };
    double sum = 0, mean = 0, most = 0, likeliest = 0;
    for (const Unit& unit : units_) {
      sum += unit.most;
      mean += unit.p * unit.most;
      most = std::max(most, unit.most);
      likeliest = std::max(likeliest, unit.p);
    }
    const auto largest = static_cast<double>(sampling.takes_all() ? units_.size() : sampling.largest_round());
    add("proposition_1", largest * mean);
    if (largest == 1) add("proposition_2", likeliest * sum);
    const auto tau = static_cast<double>(sampling.tau()), parties = static_cast<double>(problem_.layout.parties());
    if (sampling.kind() == Sampling::kTauNice && !sampling.takes_all()) {
      const Pairs pairs = pairs_of(most);
      add("proposition_3", tau * most + tau * (tau - 1) * std::max(pairs.within, pairs.across));
    }
    if (sampling.kind() == Sampling::kDistributed && !sampling.takes_all()) {
      const Pairs pairs = pairs_of(most);
      add("proposition_4", parties * tau * most + parties * tau * (tau - 1) * pairs.within +
                               parties * (parties - 1) * tau * tau * pairs.across);
    }
    if (sampling.kind() != Sampling::kCustom && sampling.kind() != Sampling::kImportance) add("rows", by_rows());
    convergence.curvature = convergence.curvatures.front().second;
    for (const auto& [name, bound] : convergence.curvatures)
      convergence.curvature = std::min(convergence.curvature, bound);
  }

 private:
  struct Pairs {
    double within, across;  // parties
  };

  [[nodiscard]] bool constant(std::size_t column) const {
    const std::size_t party = problem_.layout.party_of(column);
    return static_cast<Index>(column - problem_.layout.begin(party)) == problem_.shares[party].features.cols();
  }

  // f(record, value) of a column among all parties'.
  template <class F>
  void for_each(std::size_t column, F&& f) const {
    const std::size_t party = problem_.layout.party_of(column);
    if (constant(column)) {
      for (std::size_t i = 0; i < n_; ++i) f(i, 1.0);
      return;
    }
    problem_.shares[party].features.for_each_in_column(
        static_cast<Index>(column - problem_.layout.begin(party)),
        [&](Index row, double value) { f(static_cast<std::size_t>(row), value); });
  }

  [[nodiscard]] double squared_norm(std::size_t column) const {
    double sum = 0;
    for_each(column, [&](std::size_t, double value) { sum += value * value; });
    return sum;
  }

  [[nodiscard]] double move_of(const Unit& unit) const {
    double longest = 0, sum = 0;
    for (std::size_t j = unit.begin; j < unit.end; ++j) {
      const double length = 2 * problem_.layout.radius_of(j) * std::sqrt(squared_norm(j));
      longest = std::max(longest, length);
      sum += length;
    }
    const double length = problem_.layout.box() ? sum : longest;
    return length * length;
  }

  // The largest <A_b delta_b, A_c delta_c> of two units.
  [[nodiscard]] Pairs pairs_of(double most) const {
    const bool single = std::all_of(units_.begin(), units_.end(), [](const Unit& u) { return u.end == u.begin + 1; });
    if (problem_.layout.columns() > kMostColumnsForPairs || (problem_.layout.box() && !single)) return {most, most};
    Pairs pairs{0, 0};
    Vector column(n_);
    for (const Unit& one : units_)
      for (std::size_t j = one.begin; j < one.end; ++j) {
        std::fill(column.begin(), column.end(), 0.0);
        for_each(j, [&](std::size_t i, double value) { column[i] = value; });
        for (const Unit& other : units_)
          for (std::size_t l = other.begin; l < other.end && other.begin > one.begin; ++l) {
            double inner = 0;
            for_each(l, [&](std::size_t i, double value) { inner += value * column[i]; });
            double& largest = one.party == other.party ? pairs.within : pairs.across;
            largest =
                std::max(largest, 4 * problem_.layout.radius_of(j) * problem_.layout.radius_of(l) * std::abs(inner));
          }
      }
    return pairs;
  }

  // sum_i E (sum over b in T of h_ib)^2: of every record the sums of h and h^2 of each group that is sampled alike.
  [[nodiscard]] double by_rows() const {
    const bool whole = problem_.sampling.takes_all(), one = whole || problem_.sampling.takes_pairs_alike();
    const std::size_t groups = one ? 1 : problem_.layout.parties();
    std::vector<Vector> sums(groups, Vector(n_)), squares(groups, Vector(n_));
    Vector count(groups), p(groups);
    Vector largest(n_);
    for (const Unit& unit : units_) {
      const std::size_t group = one ? 0 : unit.party;
      count[group] += 1;
      p[group] = unit.p;
      if (unit.end == unit.begin + 1) {
        const double reach = 2 * problem_.layout.radius_of(unit.begin);
        for_each(unit.begin, [&](std::size_t i, double value) {
          sums[group][i] += reach * std::abs(value);
          squares[group][i] += reach * reach * value * value;
        });
        continue;
      }
      std::fill(largest.begin(), largest.end(), 0.0);
      for (std::size_t j = unit.begin; j < unit.end; ++j) {
        const double reach = 2 * problem_.layout.radius_of(j);
        for_each(j, [&](std::size_t i, double value) {
          const double here = reach * std::abs(value);
          largest[i] = problem_.layout.box() ? largest[i] + here : std::max(largest[i], here);
        });
      }
      for (std::size_t i = 0; i < n_; ++i) {
        sums[group][i] += largest[i];
        squares[group][i] += largest[i] * largest[i];
      }
    }
    double total = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      double mean = 0;
      for (std::size_t g = 0; g < groups; ++g) {
        // Two of a group are taken together with p (tau - 1) / (size - 1).
        const double pair = count[g] > 1 ? p[g] * (p[g] * count[g] - 1) / (count[g] - 1) : 0;
        const double expected = p[g] * sums[g][i];
        total += p[g] * squares[g][i] + pair * (sums[g][i] * sums[g][i] - squares[g][i]) - expected * expected;
        mean += expected;
      }
      total += mean * mean;
    }
    return total;
  }

  const BlockProblem& problem_;
  std::size_t n_;
  std::vector<Unit> units_;
};

}  // namespace

void bound_curvature(const BlockProblem& problem, Convergence& convergence) {
  Bounds(problem).write(convergence);
}

}  // namespace parley::algorithms
