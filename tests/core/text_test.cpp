#include "parley/core/text.h"

#include <gtest/gtest.h>

using namespace parley;

TEST(Suggestion, FindsTheTypingMistake) {
  const std::vector<std::string> names = {"iterations", "name", "seed"};
  EXPECT_EQ(suggestion("iteratons", names), "; did you mean 'iterations'?");
  EXPECT_EQ(suggestion("zzzzzzzz", names), "; known: iterations, name, seed");
}

TEST(HumanBytes, UsesThreeDigits) {
  EXPECT_EQ(human_bytes(999), "999 B");
  EXPECT_EQ(human_bytes(1500), "1.5 kB");
  EXPECT_EQ(human_bytes(123456789), "123 MB");
}

TEST(WithCommas, GroupsByThree) {
  EXPECT_EQ(with_commas(1234567), "1,234,567");
  EXPECT_EQ(with_commas(-123), "-123");
}

TEST(Counted, SaysOneAndSeveral) {
  EXPECT_EQ(counted(1, "row"), "1 row");
  EXPECT_EQ(counted(0, "row"), "0 rows");
  EXPECT_EQ(counted(1234, "row"), "1,234 rows");
  EXPECT_EQ(counted(1, "party", "parties"), "1 party");
  EXPECT_EQ(counted(2, "party", "parties"), "2 parties");
}
