#include "parley/privacy/ledger/offer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "parley/privacy/accounting/accountant.h"

namespace parley::privacy {

namespace {

// The most steps for which fits(steps) holds, out of 0..most; fits must hold for all fewer steps too.
template <class Fits>
std::int64_t longest_prefix(std::int64_t most, const Fits& fits) {
  if (fits(most)) return most;
  std::int64_t good = 0, bad = most;
  while (bad - good > 1) {
    const std::int64_t middle = good + (bad - good) / 2;
    (fits(middle) ? good : bad) = middle;
  }
  return good;
}

}  // namespace

Offer offer_for(const Standing& standing, const Purse& purse, const PlanRequest& request) {
  Offer offer;
  const bool by_plans = standing.budget()->composition == Composition::kPlans;
  const Price left = by_plans ? standing.left() : Price{standing.budget()->epsilon.value(), request.delta.value()};
  const auto delta = Delta::make(std::min(request.delta.value(), left.delta));
  const auto priced = [&](ChargedPlan& charged) {
    const auto pure = pure_epsilon(charged.plan);
    // Delta that is used up leaves what needs none.
    const auto price = delta ? price_of(charged.plan, *delta, left.epsilon)
                             : (pure ? Result<Price>(Price{*pure, 0}) : fail(pure.error()));
    if (!price || !std::isfinite(price->epsilon)) return false;
    charged.price = *price;
    return true;
  };
  const auto fits = [&](std::int64_t steps) {
    ChargedPlan charged{request.plan(purse.neighbours, steps), {}};
    if (by_plans && !priced(charged)) return false;
    if (!standing.allows(charged.plan, charged.price)) return false;
    if (steps >= offer.steps) offer = {steps, std::move(charged)};
    return true;
  };
  longest_prefix(request.steps, fits);
  // By steps a price decides nothing here, but it is what the run claims, and what counts under a later budget by
  // plans.
  if (offer.steps > 0 && !by_plans && !priced(offer.charged)) return {};
  return offer;
}

}  // namespace parley::privacy
