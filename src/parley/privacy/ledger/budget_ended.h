// How much of a budget is used, in words: epsilon and delta each have an end of their own.
#pragma once
#include <string>
#include <string_view>

#include "parley/core/error.h"
#include "parley/privacy/ledger/charges.h"

namespace parley::privacy {

// "epsilon 0.5 of 2 (25 %) and delta 1e-06 of 1e-06 (100 %) are used; delta is used up"; for a purse that has a budget.
std::string use_of_budget(const Spent& spent);

// The refusal of what was `wanted` from such a purse.
Error budget_ended(const Spent& spent, std::string_view wanted);

}  // namespace parley::privacy
