// What block-coordinate Frank-Wolfe sends, at most (bcfw.h): indices every step, a column once.
#include <algorithm>
#include <cmath>

#include "parley/algorithms/vertical/bcfw.h"

namespace parley::algorithms {

namespace {

constexpr double kEntry = 8, kIndex = 4, kSketchEntry = 4;
constexpr double kTask = 36, kReply = 16, kFeature = 28;  // bytes of messages without what is in their lists
constexpr double kShares[] = {0.01, 0.03, 0.1, 0.3, 1};   // m / n

// Columns that a private party pays for: not those of the base rate, which is one number of the party with the labels.
double columns_paid(const PartyFacts& party) {
  double count = 0;
  for (const privacy::Event& event : party.plan.events)
    if (std::holds_alternative<privacy::Gaussian>(event.mechanism) && (event.count > 1 || !party.labels))
      count = std::max(count, static_cast<double>(event.count));
  return count;
}

}  // namespace

Forecast Bcfw::forecast(std::span<const PartyFacts> parties, std::span<const std::vector<double>> column_bytes) const {
  const auto n = static_cast<double>(parties.front().records), steps = static_cast<double>(steps_);
  const double length = static_cast<double>(space_.length());
  Forecast forecast{.rounds = steps_ * (global() ? 2 : 1) + 2};
  if (settings_.sharing == BcfwSettings::Sharing::kAtStart) ++forecast.rounds;
  const auto rounds = static_cast<double>(forecast.rounds);
  double all_columns = 0, without_columns = 0, whole = 0;
  for (std::size_t k = 0; k < parties.size(); ++k) {
    const PartyFacts& party = parties[k];
    const auto columns = static_cast<double>(layout_.end(k) - layout_.begin(k));
    const double picks = box() ? columns
                         : settings_.blocks == BcfwSettings::Blocks::kGroups
                             ? static_cast<double>(layout_.borders_of(k).size() + 1)
                             : 1;
    const double sent = settings_.sharing == BcfwSettings::Sharing::kAtStart ? columns
                        : settings_.share == 1.0                             ? 0  // other noise is of comparisons
                        : terms_.is_private                                  ? std::min(columns, columns_paid(party))
                                                                             : std::min(columns, steps * picks);
    const double down = own_exact() ? 12 * std::min(columns, steps) + (sent > 0 ? kEntry * length : 0) : kEntry * n;
    const double up = picks * (kIndex + (global() ? kEntry : 0));
    Traffic traffic{.up = rounds * kReply + steps * up + (party.labels ? kEntry * n : 0),
                    .down = rounds * kTask + steps * down + 12 * std::min(columns, steps * picks) + kEntry,
                    .messages = forecast.rounds};
    if (own_exact() && !party.labels) traffic.down += kEntry * n;  // labels, once
    without_columns += traffic.up;
    all_columns += sent;
    double as_they_are = kFeature * sent;  // the largest of them; a column of ones has no entries
    for (std::size_t c = 0; c < std::min(column_bytes[k].size(), static_cast<std::size_t>(sent)); ++c)
      as_they_are += column_bytes[k][c];
    whole += as_they_are;
    traffic.up += space_.sketched() ? sent * (kFeature + kSketchEntry * length) : as_they_are;
    forecast.parties.push_back(traffic);
  }
  for (const double share : kShares) {
    const double rows = std::max(1.0, std::floor(share * n));
    const double each = kFeature + kSketchEntry * rows;
    if (share < 1)
      forecast.sketches.push_back({static_cast<std::int64_t>(rows), each, without_columns + all_columns * each,
                                   std::sqrt(n * std::log(n) / rows)});
  }
  forecast.sketches.push_back(
      {static_cast<std::int64_t>(n), all_columns > 0 ? whole / all_columns : 0, without_columns + whole, 1});
  return forecast;
}

}  // namespace parley::algorithms
