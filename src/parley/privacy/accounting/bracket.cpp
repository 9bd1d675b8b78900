#include "parley/privacy/accounting/bracket.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

namespace parley::privacy::accounting {
namespace {

void say(std::string_view who, std::string_view what, double answer, double least) {
  fmt::print(stderr,
             "parley: the accountant '{}' answered {} {} where no valid answer is below {}; it is left out. Please "
             "report this.\n",
             who, what, answer, least);
  if (std::getenv("PARLEY_ACCOUNTANTS_MUST_AGREE") != nullptr) std::abort();
}

Error nothing_left(std::string_view what, double least) {
  return failed(fmt::format(
      "accounting: no accountant has an {} for this plan that is not below what it costs at least ({}); stopped", what,
      least));
}

}  // namespace

Result<ValidAnswer> smallest_valid(std::span<double> answers, std::span<const std::string_view> names, double least,
                                   double nothing, std::string_view what) {
  ValidAnswer best{nothing, 0};
  bool left_out = false;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (!(answers[i] >= least)) {  // not a number, too
      say(names[i], what, answers[i], least);
      answers[i] = nothing;
      left_out = true;
    }
    if (answers[i] < best.value) best = {answers[i], i};
  }
  if (left_out && best.value == nothing) return fail(nothing_left(what, least));
  return best;
}

Result<void> check_not_below(double answer, double least, std::string_view who, std::string_view what) {
  if (answer >= least) return {};
  say(who, what, answer, least);
  return fail(nothing_left(what, least));
}

}  // namespace parley::privacy::accounting
