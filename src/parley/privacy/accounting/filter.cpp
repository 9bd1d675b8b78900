#include "parley/privacy/accounting/filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "parley/privacy/accounting/bracket.h"
#include "parley/privacy/accounting/conversion.h"
#include "parley/privacy/accounting/least_cost.h"
#include "parley/privacy/accounting/numerics.h"
#include "parley/privacy/accounting/renyi.h"

namespace parley::privacy {
namespace {

using namespace accounting;

Result<void> check_relation(Neighbours mine, Neighbours theirs) {
  if (mine == theirs) return {};
  return fail(bad_input({.field = "neighbours"},
                        fmt::format("this budget counts {}; costs of the two relations are never added", name(mine)),
                        name(theirs)));
}

Error ended(const Event& event, std::string_view why) {
  return {Fault::kBudgetEnded,
          fmt::format("privacy budget: {} x{} refused: {}", name(event.mechanism), event.count, why)};
}

// The largest divergence at this order that converts to (epsilon, delta): epsilon - ln(1-1/a) + ln(delta
// a)/(a-1).
double divergence_within(double order, double epsilon, double delta) {
  const double t = order - 1;
  const double value = epsilon - (std::log(t) - std::log1p(t)) + (std::log(delta) + std::log1p(t)) / t;
  return value * (1 - kSlack) - 1e-14 * (epsilon + std::fabs(std::log(delta)) / t);
}

}  // namespace

Result<Filter> Filter::make(const Budget& budget, const Rules& rules) {
  if (!(rules.step_delta >= 0) || !(rules.step_delta < budget.delta.value()))
    return fail(
        bad_input({.field = "step_delta"}, "must be at least 0 and below delta", fmt::format("{}", rules.step_delta)));
  Filter filter(budget);
  filter.rules_ = rules;
  const double share =
      (budget.delta.value() - rules.step_delta) / static_cast<double>(1 + rules.orders.size()) * (1 - kSlack);
  filter.rho_limit_ = zcdp_within(budget.epsilon.value(), share);
  for (const double order : rules.orders) {
    if (!(order > 1) || !std::isfinite(order))
      return fail(bad_input({.field = "orders"}, "must be finite numbers above 1", fmt::format("{}", order)));
    filter.divergence_limit_.push_back(divergence_within(order, budget.epsilon.value(), share));
  }
  filter.totals_.divergence.assign(rules.orders.size(), 0.0);
  return filter;
}

Filter::Totals Filter::with(const Event& event) const {
  Totals next = totals_;
  const auto count = static_cast<double>(event.count);
  next.pure = (next.pure + count * pure_epsilon(event.mechanism)) * (1 + kSlack);
  next.rho = (next.rho + count * zcdp(event.mechanism, budget_.neighbours)) * (1 + kSlack);
  for (std::size_t i = 0; i < next.divergence.size(); ++i)
    next.divergence[i] =
        (next.divergence[i] + count * renyi(event.mechanism, budget_.neighbours, rules_.orders[i])) * (1 + kSlack);
  if (const auto* step = std::get_if<ApproxDp>(&event.mechanism))
    next.leaked = (next.leaked + count * step->delta) * (1 + kSlack);
  next.least.add(event);
  return next;
}

void Filter::note(std::vector<Event>& events, const Event& event) {
  const auto same = std::find_if(events.begin(), events.end(),
                                 [&](const Event& known) { return known.mechanism == event.mechanism; });
  if (same == events.end()) {
    events.push_back(event);
  } else {
    same->count = std::min(same->count + event.count, kMaxCount);
  }
}

namespace {

// All charges are held against what they cost at least whenever a twentieth more of the budget is used; single steps
// and closed forms, which take microseconds, every time.
bool due(double used, double checked) {
  return used > checked + 0.05;
}

}  // namespace

double Filter::used_by(const Totals& totals) const {
  double least = totals.pure / budget_.epsilon.value();
  if (totals.leaked <= rules_.step_delta) {
    least = std::min(least, totals.rho / rho_limit_);
    for (std::size_t i = 0; i < divergence_limit_.size(); ++i)
      if (divergence_limit_[i] > 0) least = std::min(least, totals.divergence[i] / divergence_limit_[i]);
  }
  return least;
}

double Filter::used() const {
  return used_by(totals_);
}

Result<Filter::Totals> Filter::allowed(const Event& event) const {
  Totals next = with(event);
  const double after = used_by(next);
  if (!(after <= 1))
    return fail(ended(event, fmt::format("it would use {:.4g} times the budget of epsilon {} at delta {}", after,
                                         budget_.epsilon.value(), budget_.delta.value())));
  double least = next.least.epsilon();
  if (due(after, checked_)) {
    Plan all{budget_.neighbours, events_};
    note(all.events, event);
    least = least_epsilon(all, budget_.delta.value());
  }
  PARLEY_CHECK(check_not_below(budget_.epsilon.value(), least, "filter", "epsilon"));
  return next;
}

Result<void> Filter::may(const Event& event, Neighbours neighbours) const {
  PARLEY_CHECK(check_relation(budget_.neighbours, neighbours));
  PARLEY_CHECK(validate(event));
  PARLEY_CHECK(allowed(event));
  return {};
}

Result<void> Filter::charge(const Event& event, Neighbours neighbours) {
  PARLEY_CHECK(check_relation(budget_.neighbours, neighbours));
  PARLEY_CHECK(validate(event));
  PARLEY_TRY(Totals next, allowed(event));
  if (const double after = used_by(next); due(after, checked_)) {
    checked_ = after;
    ++held_together_;
  }
  totals_ = std::move(next);
  note(events_, event);
  return {};
}

Result<PlannedFilter> PlannedFilter::make(const Plan& plan) {
  PARLEY_CHECK(validate(plan));
  Plan merged{plan.neighbours, {}};
  for (const Event& event : plan.events) {
    const auto same = std::find_if(merged.events.begin(), merged.events.end(),
                                   [&](const Event& other) { return other.mechanism == event.mechanism; });
    if (same == merged.events.end()) {
      merged.events.push_back(event);
    } else {
      same->count += event.count;
    }
  }
  return PlannedFilter(std::move(merged));
}

Result<PlannedFilter> PlannedFilter::resume(const Plan& plan, const std::vector<std::int64_t>& left) {
  PARLEY_TRY(PlannedFilter filter, make(plan));
  std::vector<Event>& events = filter.remaining_.events;
  if (left.size() != events.size()) return fail(failed("what was kept of a plan does not belong to it"));
  for (std::size_t e = 0; e < events.size(); ++e) {
    if (left[e] < 0 || left[e] > events[e].count) return fail(failed("what was kept of a plan does not belong to it"));
    events[e].count = left[e];
  }
  return filter;
}

std::vector<std::int64_t> PlannedFilter::left() const {
  std::vector<std::int64_t> counts;
  for (const Event& event : remaining_.events) counts.push_back(event.count);
  return counts;
}

Result<void> PlannedFilter::may(const Event& event, Neighbours neighbours) const {
  PARLEY_CHECK(check_relation(remaining_.neighbours, neighbours));
  PARLEY_CHECK(validate(event));
  std::int64_t left = 0;
  for (const Event& planned : remaining_.events)
    if (planned.mechanism == event.mechanism) left = planned.count;
  if (event.count <= left) return {};
  return fail(ended(event, fmt::format("the plan allows {} more of exactly this mechanism", left)));
}

Result<void> PlannedFilter::charge(const Event& event, Neighbours neighbours) {
  PARLEY_CHECK(may(event, neighbours));
  for (Event& planned : remaining_.events)
    if (planned.mechanism == event.mechanism) planned.count -= event.count;
  return {};
}

}  // namespace parley::privacy
