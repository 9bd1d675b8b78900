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
