#include "parley/core/error.h"

#include <gtest/gtest.h>

#include "parley/core/result.h"

using namespace parley;

TEST(BadInput, NamesFileLineFieldRuleAndValue) {
  const Error error = bad_input({"a.csv", 7, "age"}, "not a number", "4x");
  EXPECT_EQ(error.message, "a.csv:7: age: not a number (got '4x')");
  EXPECT_EQ(error.exit_code(), 2);
}

TEST(BadInput, LeavesOutWhatIsNotKnown) {
  EXPECT_EQ(bad_input({.field = "l2"}, "must be at least 0", "-1").message, "l2: must be at least 0 (got '-1')");
}

TEST(BadInput, KeepsForeignBytesOnOneLine) {
  EXPECT_EQ(bad_input({"f", 1, ""}, "bad", "a\nb\x1b[0m").message, "f:1: bad (got 'a?b?[0m')");
  EXPECT_EQ(bad_input({"f", 1, "col\numn"}, "did you mean 'x\ny'?").message, "f:1: col?umn: did you mean 'x?y'?");
}

namespace {
Result<int> half(int n) {
  if (n % 2 != 0) return fail(failed("odd"));
  return n / 2;
}
Result<int> quarter(int n) {
  PARLEY_TRY(const int h, half(n));
  return half(h);
}
}  // namespace

TEST(Result, TryPassesValuesOnAndReturnsErrors) {
  EXPECT_EQ(quarter(8).value(), 2);
  EXPECT_EQ(quarter(6).error().message, "odd");
}
