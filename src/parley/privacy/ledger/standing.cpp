#include "parley/privacy/ledger/standing.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "parley/privacy/accounting/accountant.h"

namespace parley::privacy {

namespace {

// The order that allows the largest rho when every step is Gaussian: it maximises (epsilon - L/x)/(1 + x) over
// x = a - 1 > 0 with L = ln(1/delta), so x = s + sqrt(s^2 + s), s = L/epsilon. A function of the budget alone.
double renyi_order(double epsilon, double delta) {
  const double s = std::log(1 / delta) / epsilon;
  return 1 + s + std::sqrt(s * s + s);
}

Result<Filter> filter_for(const Budget& budget, Neighbours neighbours) {
  Filter::Rules rules;
  rules.orders = {renyi_order(budget.epsilon.value(), budget.delta.value())};
  rules.step_delta = 0.1 * budget.delta.value();
  return Filter::make({budget.epsilon, budget.delta, neighbours}, rules);
}

}  // namespace

double sum_rounded_up(double a, double b) {
  const double sum = a + b;
  const double larger = std::max(a, b), smaller = std::min(a, b);
  const double lost = smaller - (sum - larger);  // exact (Dekker): what rounding took away
  return lost > 0 ? std::nextafter(sum, std::numeric_limits<double>::infinity()) : sum;
}

Result<Price> price_of(const Plan& plan, Delta delta, double most) {
  PARLEY_TRY(const double pure, pure_epsilon(plan));
  PARLEY_TRY(const double best, epsilon_at(plan, delta));
  if (pure <= best) return Price{pure, 0};
  // A plan that was calibrated to `most` was checked there, on the calibration's grid; epsilon may come out a hair
  // above.
  if (best > most && best < most * (1 + 1e-3)) {
    PARLEY_TRY(const double there, delta_at(plan, most));
    if (there <= delta.value()) return Price{most, delta.value()};
  }
  return Price{best, delta.value()};
}

void Standing::group(std::vector<Event>& events, const Event& event) {
  for (Event& known : events)
    if (known.mechanism == event.mechanism) {
      // Beyond the limit no accountant answers, and nothing more is allowed.
      known.count = std::min(known.count + event.count, kMaxCount + 1);
      return;
    }
  events.push_back(event);
}

Result<void> Standing::set_budget(const Budget& budget) {
  budget_ = budget;
  filter_.reset();
  exceeded_ = false;
  if (budget.composition == Composition::kSteps) {
    PARLEY_TRY(filter_, filter_for(budget, purse_.neighbours));
    for (const Event& event : events_) exceeded_ = exceeded_ || !filter_->charge(event, purse_.neighbours);
  } else {
    exceeded_ = exceeds(budget);
  }
  return {};
}

void Standing::note_release(const Event& event, bool claimed) {
  ++charges_;
  if (!claimed) ++void_charges_;
  group(events_, event);
  group(releases_, event);
  if (filter_ && !filter_->charge(event, purse_.neighbours)) exceeded_ = true;
}

void Standing::note_plan(const Plan& plan, Price price, bool claimed) {
  ++charges_;
  if (!claimed) ++void_charges_;
  for (const Event& event : plan.events) {
    group(events_, event);
    if (filter_ && !filter_->charge(event, purse_.neighbours)) exceeded_ = true;
  }
  plans_ = {sum_rounded_up(plans_.epsilon, price.epsilon), sum_rounded_up(plans_.delta, price.delta)};
  // What was admitted fits, unless an earlier version admitted it at a price below its cost.
  if (budget_ && !filter_ && exceeds(*budget_)) exceeded_ = true;
}

bool Standing::exceeds(const Budget& budget) const {
  const Price price = sums();
  return !(price.epsilon <= budget.epsilon.value() && price.delta <= budget.delta.value());
}

// Plans at their prices; single releases by their pure epsilons, infinite where they have none.
Price Standing::sums() const {
  Price total = plans_;
  if (releases_.empty()) return total;
  const auto pure = pure_epsilon(Plan{purse_.neighbours, releases_});
  total.epsilon = sum_rounded_up(total.epsilon, pure.value_or(std::numeric_limits<double>::infinity()));
  return total;
}

bool Standing::allows(std::span<const Event> releases) const {
  if (!budget_ || exceeded_) return false;
  if (filter_) {
    Filter trial = *filter_;
    return std::all_of(releases.begin(), releases.end(),
                       [&](const Event& event) { return trial.charge(event, purse_.neighbours).has_value(); });
  }
  const auto pure = pure_epsilon(Plan{purse_.neighbours, {releases.begin(), releases.end()}});
  return pure && sum_rounded_up(sums().epsilon, *pure) <= budget_->epsilon.value();
}

bool Standing::allows(const Plan& plan, Price price) const {
  if (filter_) return allows(plan.events);
  if (!budget_ || exceeded_) return false;
  const Price total = sums();
  return sum_rounded_up(total.epsilon, price.epsilon) <= budget_->epsilon.value() &&
         sum_rounded_up(total.delta, price.delta) <= budget_->delta.value();
}

Price Standing::left() const {
  if (!budget_ || exceeded_) return {};
  const Price total = sums();
  const auto rest = [](double whole, double part) {
    double left = std::max(0.0, whole - part);
    while (left > 0 && sum_rounded_up(part, left) > whole) left = std::nextafter(left, 0.0);
    return left;
  };
  return {rest(budget_->epsilon.value(), total.epsilon), rest(budget_->delta.value(), total.delta)};
}

Spent Standing::spent() const {
  Spent spent;
  spent.purse = purse_;
  spent.budget = budget_;
  spent.charges = charges_;
  spent.void_charges = void_charges_;
  spent.events = events_;
  for (const Event& event : events_) spent.releases += event.count;
  if (!budget_) return spent;
  spent.overspent = exceeded_;
  if (!filter_) {
    const Price total = sums();
    spent.epsilon = total.epsilon;
    spent.delta = total.delta;
    spent.used =
        exceeded_ ? 1.0 : std::max(total.epsilon / budget_->epsilon.value(), total.delta / budget_->delta.value());
    return spent;
  }
  spent.delta = budget_->delta.value();
  spent.used = exceeded_ ? 1.0 : filter_->used();
  // Pure sums and zCDP hold for steps that were chosen as they went.
  const Plan plan{purse_.neighbours, events_};
  spent.epsilon = events_.empty() ? 0 : std::numeric_limits<double>::infinity();
  for (const Accountant accountant : {Accountant::kBasic, Accountant::kZcdp})
    if (const auto epsilon = epsilon_at(plan, budget_->delta, accountant))
      spent.epsilon = std::min(spent.epsilon, *epsilon);
  return spent;
}

}  // namespace parley::privacy
