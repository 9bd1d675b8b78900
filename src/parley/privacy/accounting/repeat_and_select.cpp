#include "parley/privacy/accounting/repeat_and_select.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "parley/privacy/accounting/accountant.h"
#include "parley/privacy/accounting/bracket.h"
#include "parley/privacy/accounting/conversion.h"
#include "parley/privacy/accounting/least_cost.h"

namespace parley::privacy {

namespace {

constexpr double kMostExpected = 1e6;
constexpr double kRoundUp = 1 + 1e-12;

double mean_of(std::uint64_t m) {
  const auto inverse = static_cast<double>(m);
  return (inverse - 1) / std::log(inverse);
}

}  // namespace

Result<RandomRepetitions> RandomRepetitions::make(double expected) {
  if (!(expected >= 1) || !(expected <= kMostExpected))
    return fail(bad_input({.field = "trials"}, fmt::format("must lie between 1 and {}", kMostExpected),
                          fmt::format("{}", expected)));
  std::uint64_t low = 2, high = 2;
  while (mean_of(high) < expected) high *= 2;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (mean_of(middle) < expected)
      low = middle + 1;
    else
      high = middle;
  }
  return RandomRepetitions(low);
}

double RandomRepetitions::expected() const {
  return mean_of(m_);
}

std::int64_t RandomRepetitions::draw(Bits& bits) const {
  for (;;) {
    std::int64_t k = 1;  // P(k) proportional to (1-g)^k ...
    while (bits.below(m_) != 0) ++k;
    if (bits.below(static_cast<std::uint64_t>(k)) == 0) return k;  // ... times 1/k
  }
}

Result<double> RandomRepetitions::epsilon_at(std::span<const Plan> plans, Delta delta) const {
  if (plans.empty()) return fail(bad_input({.field = "plans"}, "must not be empty"));
  for (const Plan& plan : plans) {
    PARLEY_CHECK(validate(plan));
    for (const Event& event : plan.events)
      if (std::holds_alternative<ApproxDp>(event.mechanism))
        return fail(bad_input({.field = "plans"}, "a step that fails with probability delta has no Renyi divergence",
                              "approximate"));
  }
  const auto one = [&](double order) {
    double largest = 0;
    for (const Plan& plan : plans)
      largest = std::max(largest, renyi_of(plan, order).value_or(std::numeric_limits<double>::infinity()));
    return largest;
  };
  const double log_inverse = std::log(static_cast<double>(m_)) * kRoundUp;
  // b = 1 gives ln(1/g); every other order is as valid.
  double constant = log_inverse;
  for (double excess = 1e-2; excess < 1e5; excess *= 1.05) {
    const double order = 1 + excess;
    constant = std::min(constant, ((1 - 1 / order) * one(order) + log_inverse / order) * kRoundUp);
  }
  const double log_mean = std::log(expected()) * kRoundUp;
  const auto tuned = [&](double order) { return (one(order) + constant + log_mean / (order - 1)) * kRoundUp; };
  const double answer = accounting::epsilon_from_curve(tuned, delta.value()).value;
  // The best of several runs may be any one of them, so that it costs at least what one does.
  for (const Plan& plan : plans)
    PARLEY_CHECK(accounting::check_not_below(answer, accounting::least_epsilon(plan, delta.value()),
                                             "repeat and select", "epsilon"));
  return answer;
}

}  // namespace parley::privacy
