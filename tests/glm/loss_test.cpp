#include "parley/glm/loss.h"

#include <gtest/gtest.h>

using namespace parley::glm;

TEST(Logistic, IsSafeAtHugeMargins) {
  EXPECT_EQ(Logistic::value(-1e6, 1), 1e6);
  EXPECT_EQ(Logistic::value(1e6, 1), 0);
  EXPECT_EQ(Logistic::derivative(-1e6, 1), -1);
  EXPECT_EQ(Logistic::second(1e6, 1), 0);
}
