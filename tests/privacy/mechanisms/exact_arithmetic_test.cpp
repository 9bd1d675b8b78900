#include "parley/privacy/mechanisms/exact_arithmetic.h"

#include <gtest/gtest.h>

#include <cmath>

#include "parley/privacy/mechanisms/fixed_exp2.h"
#include "parley/privacy/mechanisms/score_weights.h"

using namespace parley;
using namespace parley::privacy;

namespace {

double as_double(const Integer& value, unsigned bits) {
  return Fraction(value, Integer(1) << bits).get_d();
}

}  // namespace

TEST(ExpMinus, EnclosesEToTheMinusOne) {
  // The first 60 digits of 1/e, from the alternating series of 1/n!.
  const Integer digits("367879441171442321595523770161460867445811131031767834507836");
  Integer ten_to_60;
  mpz_ui_pow_ui(ten_to_60.get_mpz_t(), 10, 60);
  const Enclosure low = enclose(Fraction(digits, ten_to_60), 190);
  const Enclosure high = enclose(Fraction(digits + 1, ten_to_60), 190);
  const Enclosure computed = exp_minus(1, 190);
  EXPECT_LE(low.low, computed.high);
  EXPECT_LE(computed.low, high.high);
  EXPECT_LE(computed.high - computed.low, 2);
}

TEST(ExpMinus, IsTightAndRightFromTinyToHugeArguments) {
  for (const double x : {1e-18, 1e-6, 0.1, 1.0, 3.7, 45.0, 700.0}) {
    const Enclosure computed = exp_minus(exactly(x), 1200);
    EXPECT_LE(computed.high - computed.low, 2) << x;
    EXPECT_NEAR(as_double(computed.low, 1200) / std::exp(-x), 1, 1e-13) << x;
  }
  EXPECT_EQ(exp_minus(0, 64).low, Integer(1) << 64);
  EXPECT_EQ(exp_minus(1000, 64).low, 0);
}

TEST(ExpMinus, MorePrecisionGivesAnIntervalInsideTheCoarserOne) {
  for (const double x : {0.3, 2.0, 17.0}) {
    const Enclosure coarse = exp_minus(exactly(x), 100);
    const Enclosure fine = exp_minus(exactly(x), 300);
    EXPECT_LE(coarse.low << 200, fine.low);
    EXPECT_GE(coarse.high << 200, fine.high);
  }
}

TEST(Power, MatchesRepeatedMultiplicationOfFractions) {
  const Fraction base(7, 9);
  Fraction product(1);
  for (int n = 0; n <= 40; ++n) {
    const Enclosure exact = enclose(product, 200);
    const Enclosure computed = power(base, n, 200);
    EXPECT_LE(computed.low, exact.high) << n;
    EXPECT_GE(computed.high, exact.low) << n;
    EXPECT_LE(computed.high - computed.low, 2) << n;
    product *= base;
  }
}

TEST(MinusLog2Below, IsExactForPowersOfTwoAndNeverAbove) {
  EXPECT_EQ(minus_log2_below(enclose(Fraction(1, 8), 300), 300, 64), Integer(3) << 64);
  for (const double x : {0.999999, 0.7, 0.3, 1e-9}) {
    const double computed = as_double(minus_log2_below(enclose(exactly(x), 300), 300, 100), 100);
    EXPECT_NEAR(computed / -std::log2(x), 1, 1e-10) << x;
  }
}

TEST(LazyUniform, KeepsTheDigitsItHasShown) {
  SeededGenerator bits(1);
  LazyUniform u;
  const Integer first = u.digits(64, bits);
  const Integer more = u.digits(200, bits);
  EXPECT_EQ(more >> 136, first);
}

TEST(FixedExp2, StaysInsideItsErrorBoundOverTheWholeRange) {
  // exp2l has 64 bits of mantissa: 2 units are its own.
  SeededGenerator bits(2);
  const auto& exp2 = FixedExp2::table();
  std::int64_t worst = 0;
  for (int i = 0; i < 400'000; ++i) {
    const std::uint64_t y = bits.next_u64() >> (i % 8);
    const long double exact = std::ldexp(exp2l(-static_cast<long double>(y) * 0x1p-58L), 63);
    const auto difference = static_cast<std::int64_t>(std::fabs(static_cast<long double>(exp2(y)) - exact) + 1);
    worst = std::max(worst, difference);
  }
  EXPECT_LE(worst, FixedExp2::kError);
  EXPECT_EQ(exp2(0), 1ull << 63);
  EXPECT_EQ(exp2(~0ull), 0u);
}

TEST(ScoreWeights, UpperBoundsAreAboveTheTruthAndWithinTheBand) {
  SeededGenerator bits(3);
  for (const double epsilon : {1e-9, 0.01, 1.0, 40.0}) {
    const SelectionSettings settings{.epsilon = epsilon, .sensitivity = 0.75, .grain = Grain{-2}};
    const ScoreGrid grid = ScoreGrid::make(settings).value();
    ASSERT_EQ(grid.sensitivity(), 3);
    const ScoreWeights weights = ScoreWeights::make(settings, grid).value();
    for (int i = 0; i < 300; ++i) {
      // Gaps of every size up to 50 scales, and beyond.
      const auto reach = static_cast<std::uint64_t>(std::min(300 / epsilon, 9e18)) + 1;
      const std::uint64_t gap = bits.below(reach) >> (i % 20);
      const Enclosure truth = exp_minus(exactly(epsilon) * integer(gap) / 6, 200);
      const Integer upper = integer(weights.upper(gap)) << (200 - 63);
      EXPECT_GE(upper, truth.high) << epsilon << " " << gap;
      EXPECT_LT(upper - (Integer(ScoreWeights::kBand) << (200 - 63)), truth.low) << epsilon << " " << gap;
    }
  }
}
