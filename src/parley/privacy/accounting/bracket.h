// The door through which every answer of the accountants leaves: none below what the plan
// costs at least (least_cost.h).
//
// The smallest of several upper bounds is only as sound as the worst of them. An answer below the lower bound is wrong,
// whoever computed it; it is left out, and so is its claim. Where nothing is left the caller gets an error and stops.
// Either is reported in one line on stderr. With PARLEY_ACCOUNTANTS_MUST_AGREE in the environment, as in the tests, it
// ends the process: a wrong accountant is a bug to be mended, not a condition to live with.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "parley/core/result.h"

namespace parley::privacy::accounting {

struct ValidAnswer {
  double value = 0;
  std::size_t index = 0;
};

// The smallest of `answers` that is not below `least`; answers below it are set to `nothing`, which is what an
// accountant answers that proves nothing (infinity for epsilon, 1 for delta). `names` are those of the answers; `what`
// says what they are, for the message.
Result<ValidAnswer> smallest_valid(std::span<double> answers, std::span<const std::string_view> names, double least,
                                   double nothing, std::string_view what);

// For bounds that are not one of several.
Result<void> check_not_below(double answer, double least, std::string_view who, std::string_view what);

}  // namespace parley::privacy::accounting
