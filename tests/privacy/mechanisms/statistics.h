// Tests of random draws with a false-alarm rate that is proved, not asymptotic: every tail is the exact
// binomial one, and many looks share one level by the union bound.
//
// One call of a test that compares with kAlarm raises a false alarm with probability at most 1e-9, so a suite
// of up to 1000 such calls stays below 1e-6 in total, secure and seeded draws alike.
#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace parley::privacy::statistics {

inline constexpr double kAlarm = 1e-9;

// P(Bin(trials, p) <= k) and P(Bin(trials, p) >= k).
double binomial_at_most(double k, double trials, double p);
double binomial_at_least(double k, double trials, double p);

// One-sided Clopper-Pearson bounds: the true p lies below/above them with probability at most level.
double clopper_pearson_lower(double successes, double trials, double level);
double clopper_pearson_upper(double successes, double trials, double level);

// The smaller of 1 and cells * 2 * the smallest binomial tail: a p-value for "counts came from
// probabilities". Outcomes that are not listed form one more cell.
double p_value(std::span<const double> counts, std::span<const double> probabilities, double draws);

// The same for draws of whole numbers z = -reach..reach with the given pmf; everything outside is one cell.
template <class Pmf>
double p_value(const std::map<std::int64_t, double>& histogram, double draws, std::int64_t reach, const Pmf& pmf) {
  std::vector<double> counts, probabilities;
  for (std::int64_t z = -reach; z <= reach; ++z) {
    const auto found = histogram.find(z);
    counts.push_back(found == histogram.end() ? 0 : found->second);
    probabilities.push_back(pmf(z));
  }
  return p_value(counts, probabilities, draws);
}

template <class Numbers>
std::map<std::int64_t, double> histogram(const Numbers& numbers) {
  std::map<std::int64_t, double> counts;
  for (const std::int64_t number : numbers) ++counts[number];
  return counts;
}

// The largest epsilon that the counts of one event on two neighbours refute at this level:
// ln(lower bound of P(event | here) / upper bound of P(event | there)), or 0.
double epsilon_lower_bound(double here, double there, double trials, double level);

}  // namespace parley::privacy::statistics
