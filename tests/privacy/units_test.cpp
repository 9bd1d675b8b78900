#include "parley/privacy/units.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace parley::privacy;

TEST(Epsilon, RefusesWhatIsNotAPositiveFiniteNumber) {
  EXPECT_TRUE(Epsilon::make(1.0));
  for (const double bad : {0.0, -1.0, std::numeric_limits<double>::infinity(), std::nan("")})
    EXPECT_FALSE(Epsilon::make(bad));
}

TEST(Delta, RefusesWhatIsNotAProbabilityStrictlyInside) {
  EXPECT_TRUE(Delta::make(1e-6));
  for (const double bad : {0.0, 1.0, -1e-6, 2.0, std::nan("")}) EXPECT_FALSE(Delta::make(bad));
}
