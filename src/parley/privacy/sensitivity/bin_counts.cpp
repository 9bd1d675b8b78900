#include "parley/privacy/sensitivity/bin_counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace parley::privacy {

double bin_counts_sensitivity(const BinRule& rule) {
  const double moved = rule.neighbours == Neighbours::kReplaceOne ? 2 : 1;
  return std::sqrt(moved * static_cast<double>(rule.quantities)) * (1 + 1e-14);  // the root may be rounded down
}

Result<Sensitive<GridVector, L2>> bin_counts(const Private<Contributions>& values, const BinRule& rule) {
  const Contributions& given = SensitivityBound::read(values);
  const std::size_t p = rule.quantities;
  if (p == 0 || given.dimensions != p || given.values.size() % p != 0)
    return fail(bad_input({.field = "quantities"}, "must be those that every record has", fmt::format("{}", p)));
  if (rule.edges.empty() || !std::is_sorted(rule.edges.begin(), rule.edges.end()))
    return fail(bad_input({.field = "edges"}, "must ascend, and be at least one"));
  const std::size_t bins = rule.edges.size() + 1;
  GridVector counts{std::vector<std::int64_t>(p * bins, 0), kOneRecord};
  for (std::size_t at = 0; at < given.values.size(); ++at) {
    if (std::isnan(given.values[at])) continue;
    const auto edge = std::lower_bound(rule.edges.begin(), rule.edges.end(), given.values[at]);
    ++counts.counts[(at % p) * bins + static_cast<std::size_t>(edge - rule.edges.begin())];
  }
  return SensitivityBound::state<L2>(std::move(counts), bin_counts_sensitivity(rule), rule);
}

}  // namespace parley::privacy
