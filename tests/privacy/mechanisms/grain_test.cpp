#include "parley/privacy/mechanisms/grain.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "parley/privacy/randomness/generator.h"

using namespace parley;
using namespace parley::privacy;

namespace {

double unit(Bits& bits) {
  return static_cast<double>(bits.next_u64() >> 11) * 0x1p-53;
}

}  // namespace

TEST(Grain, BelowIsThePowerOfTwoItSays) {
  EXPECT_EQ(Grain::below(1.0, 0).value().exponent, 0);
  EXPECT_EQ(Grain::below(3.9, 1).value().exponent, 0);
  EXPECT_EQ(Grain::below(0.75, 10).value().exponent, -11);
  for (const double bad : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()})
    EXPECT_FALSE(Grain::below(bad));
}

TEST(Rounding, GoesWhereItsNameSays) {
  const Grain quarter{-2};
  EXPECT_EQ(rounded_down(0.49, quarter).value(), 1);
  EXPECT_EQ(rounded_down(-0.01, quarter).value(), -1);
  EXPECT_EQ(rounded_to_nearest(0.125, quarter).value(), 1);
  EXPECT_EQ(rounded_to_nearest(-0.125, quarter).value(), 0);
  EXPECT_EQ(rounded_to_nearest(std::nextafter(0.125, 0.0), quarter).value(), 0);
  EXPECT_EQ(rounded_towards_zero(-0.49, quarter).value(), -1);
  EXPECT_EQ(from_grid(-3, quarter), -0.75);
}

TEST(Rounding, RefusesWhatIsNotOnTheGrid) {
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity(), 1e19, -1e19}) {
    EXPECT_FALSE(rounded_down(bad, Grain{0})) << bad;
    EXPECT_FALSE(rounded_to_nearest(bad, Grain{0})) << bad;
    EXPECT_FALSE(rounded_towards_zero(bad, Grain{0})) << bad;
  }
}

TEST(RoundedSensitivity, IsNeverExceededByRoundedNeighboursAndIsReached) {
  SeededGenerator bits(1);
  for (const double sensitivity : {0.1, 0.25, 1.0, 1.3, 7.0}) {
    const std::int64_t bound = rounded_sensitivity(sensitivity, Grain{0}).value();
    std::int64_t largest_down = 0, largest_nearest = 0;
    const auto pair = [&](double here) {
      const double there = here + sensitivity;
      // Only pairs that are no farther apart than the sensitivity in real numbers count.
      if (there - here > sensitivity) return;
      largest_down =
          std::max(largest_down, rounded_down(there, Grain{0}).value() - rounded_down(here, Grain{0}).value());
      largest_nearest = std::max(
          largest_nearest, rounded_to_nearest(there, Grain{0}).value() - rounded_to_nearest(here, Grain{0}).value());
    };
    for (int i = 0; i < 2000; ++i) pair(20 * unit(bits) - 10);
    for (int i = -40; i <= 40; ++i) pair(i * 0.25);
    EXPECT_EQ(largest_down, bound) << sensitivity;
    EXPECT_EQ(largest_nearest, bound) << sensitivity;
  }
}

TEST(RoundedSensitivity, OfVectorsIsNeverExceeded) {
  SeededGenerator bits(2);
  constexpr std::size_t kDimensions = 5;
  for (int i = 0; i < 3000; ++i) {
    std::vector<double> here(kDimensions), there(kDimensions);
    double l1 = 0, l2 = 0, rounded_l1 = 0, rounded_l2 = 0;
    for (std::size_t j = 0; j < kDimensions; ++j) {
      here[j] = 10 * unit(bits);
      // Adversarial half of the time: a tiny step over the edge where rounding flips.
      if (i % 2 == 0) here[j] = std::floor(here[j]) + 0.5 - 1e-9;
      there[j] = here[j] + (i % 2 == 0 ? 2e-9 : 4 * unit(bits) - 2);
      const double change = there[j] - here[j];
      const auto steps = static_cast<double>(rounded_to_nearest(there[j], Grain{0}).value() -
                                             rounded_to_nearest(here[j], Grain{0}).value());
      l1 += std::abs(change);
      l2 += change * change;
      rounded_l1 += std::abs(steps);
      rounded_l2 += steps * steps;
    }
    EXPECT_LE(rounded_l1, rounded_l1_sensitivity(l1, Grain{0}, kDimensions).value());
    EXPECT_LE(std::sqrt(rounded_l2), rounded_l2_sensitivity(std::sqrt(l2), Grain{0}, kDimensions).value());
  }
}

TEST(RoundedSensitivity, RefusesWhatIsNone) {
  for (const double bad : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity(), 1e300}) {
    EXPECT_FALSE(rounded_sensitivity(bad, Grain{0})) << bad;
    EXPECT_FALSE(rounded_l1_sensitivity(bad, Grain{0}, 3)) << bad;
    EXPECT_FALSE(rounded_l2_sensitivity(bad, Grain{0}, 3)) << bad;
  }
  EXPECT_FALSE(rounded_l2_sensitivity(1.0, Grain{0}, 0));
  EXPECT_FALSE(rounded_sensitivity(1.0, Grain{2000}));
}
