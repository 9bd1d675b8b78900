// How the ledger writes its entries down, and reads them back: budgets and charged plans as JSON, names,
// the chain of hashes.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "parley/privacy/ledger/charges.h"
#include "parley/privacy/ledger/standing.h"

namespace parley::privacy {

// The hash of an entry behind `previous`.
std::string linked(const std::string& previous, const Entry& entry);

std::optional<Unit> unit_named(std::string_view text);
std::optional<Neighbours> neighbours_named(std::string_view text);

std::string to_json(const Budget& budget);
Result<Budget> parse_budget(const std::string& text);

// Which accountants made a price. One more whenever an accountant is found to have answered too low; entries that do
// not say are of the first (repricing.h).
inline constexpr std::int64_t kPricing = 2;

// A charged plan as it is written down: its events and the price they were charged at.
struct ChargedPlan {
  Plan plan;
  Price price;
  std::int64_t steps = 0;  // when it is read
  std::int64_t pricing = kPricing;
};

std::string to_json(const ChargedPlan& charged, std::int64_t steps, std::int64_t wanted);
Result<ChargedPlan> parse_charged_plan(const std::string& text);

// A release costs something. Earlier versions wrote down that it does not where a budget counted by steps: then what
// its noise costs without any delta stands for it, without limit where there is no such number.
Price price_in(const ChargedPlan& charged);

}  // namespace parley::privacy
