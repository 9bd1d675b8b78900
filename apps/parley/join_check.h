// parley join --check: what a site needs before it joins, looked at without joining.
#pragma once
#include <string>

#include "parley/core/result.h"

namespace parley::app {

// Prints a line for each. 0 when the site can join; 2 when something at the site is wrong, 1 when the coordinator alone
// cannot be reached.
Result<int> check_site(const std::string& file);

// What is wrong with this machine's clock, as far as it can know; empty: nothing.
std::string flaw_of_clock();

}  // namespace parley::app
