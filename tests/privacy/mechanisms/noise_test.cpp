// The three noises follow their laws, by the table and by the exact way round the table.
// labels: slow
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "parley/privacy/mechanisms/discrete_gaussian.h"
#include "parley/privacy/mechanisms/discrete_laplace.h"
#include "parley/privacy/mechanisms/rounded_gaussian.h"
#include "parley/privacy/mechanisms/strip_law.h"
#include "tests/privacy/mechanisms/reference.h"
#include "tests/privacy/mechanisms/statistics.h"

using namespace parley;
using namespace parley::privacy;
using statistics::kAlarm;

namespace {

template <class Noise>
std::vector<std::int64_t> draws(const Noise& noise, std::size_t count, Bits& bits) {
  std::vector<std::int64_t> out(count);
  noise.draw(bits, out);
  return out;
}

// Draws of a wide law gathered in cells of `width`, whose probabilities are sums of the pmf.
template <class Pmf>
double p_value_in_cells(std::span<const std::int64_t> numbers, std::int64_t width, const Pmf& pmf) {
  std::vector<std::int64_t> cells;
  for (const std::int64_t number : numbers)
    cells.push_back(number >= 0 ? number / width : -((-number + width - 1) / width));
  return statistics::p_value(statistics::histogram(cells), static_cast<double>(numbers.size()), 40,
                             [&](std::int64_t cell) {
                               double sum = 0;
                               for (std::int64_t z = cell * width; z < (cell + 1) * width; ++z) sum += pmf(z);
                               return sum;
                             });
}

constexpr std::size_t kDraws = 400'000;

}  // namespace

TEST(DiscreteLaplaceNoise, FollowsItsLawAtEveryScale) {
  SeededGenerator bits(11);
  for (const double scale : {0.1, 0.5, 1.0, 2.5, 7.99, 8.0, 16.5, 100.0}) {
    const auto noise = DiscreteLaplaceNoise::make(scale, Grain{0}).value();
    const auto pmf = [&](std::int64_t z) { return reference::discrete_laplace(z, scale); };
    const auto width = std::max<std::int64_t>(1, static_cast<std::int64_t>(scale / 5));
    EXPECT_GT(p_value_in_cells(draws(noise, kDraws, bits), width, pmf), kAlarm) << scale;
  }
}

TEST(DiscreteGaussianNoise, FollowsItsLawAtEverySigma) {
  SeededGenerator bits(12);
  for (const double sigma : {0.1, 0.5, 1.0, 2.5, 15.99, 16.0, 33.3, 100.0}) {
    const auto noise = DiscreteGaussianNoise::make(sigma, Grain{0}).value();
    const auto width = std::max<std::int64_t>(1, static_cast<std::int64_t>(sigma / 5));
    EXPECT_GT(p_value_in_cells(draws(noise, kDraws, bits), width, reference::DiscreteGaussianPmf(sigma)), kAlarm)
        << sigma;
  }
}

TEST(DiscreteGaussianNoise, OfASumFollowsTheLawOfTheSum) {
  // Added up draw by draw and drawn at once, against one law: at sigma = 3 they differ by a factor below e^(1e-37).
  SeededGenerator bits(16);
  for (const std::int64_t count : {1, 2, 5, 64}) {
    const double sigma = 3.0 * std::sqrt(static_cast<double>(count));
    const auto width = std::max<std::int64_t>(1, static_cast<std::int64_t>(sigma / 5));
    const auto at_once = DiscreteGaussianNoise::make_sum(3.0, Grain{0}, count).value();
    EXPECT_GT(p_value_in_cells(draws(at_once, kDraws, bits), width, reference::DiscreteGaussianPmf(sigma)), kAlarm);
    const auto one = DiscreteGaussianNoise::make(3.0, Grain{0}).value();
    std::vector<std::int64_t> sums(kDraws / 10);
    for (std::int64_t& sum : sums)
      for (std::int64_t k = 0; k < count; ++k) sum += one.draw(bits);
    EXPECT_GT(p_value_in_cells(sums, width, reference::DiscreteGaussianPmf(sigma)), kAlarm) << count;
  }
  EXPECT_FALSE(DiscreteGaussianNoise::make_sum(3.0, Grain{0}, 0));
}

TEST(RoundedGaussianNoise, FollowsItsLawAtEverySigma) {
  SeededGenerator bits(13);
  for (const double sigma : {0.1, 0.5, 1.0, 2.5, 15.99, 16.0, 33.3, 100.0}) {
    const auto noise = RoundedGaussianNoise::make(sigma, Grain{0}).value();
    const auto pmf = [&](std::int64_t z) { return reference::rounded_gaussian(z, sigma); };
    const auto width = std::max<std::int64_t>(1, static_cast<std::int64_t>(sigma / 5));
    EXPECT_GT(p_value_in_cells(draws(noise, kDraws, bits), width, pmf), kAlarm) << sigma;
  }
}

TEST(Noises, FollowTheirLawsWithTheSecureSource) {
  const auto bits = std::move(SecureGenerator::from_system()).value();
  const auto laplace = DiscreteLaplaceNoise::make(3.0, Grain{0}).value();
  const auto discrete = DiscreteGaussianNoise::make(3.0, Grain{0}).value();
  const auto rounded = RoundedGaussianNoise::make(3.0, Grain{0}).value();
  EXPECT_GT(p_value_in_cells(draws(laplace, kDraws, *bits), 1,
                             [](std::int64_t z) { return reference::discrete_laplace(z, 3); }),
            kAlarm);
  EXPECT_GT(p_value_in_cells(draws(discrete, kDraws, *bits), 1, reference::DiscreteGaussianPmf(3)), kAlarm);
  EXPECT_GT(p_value_in_cells(draws(rounded, kDraws, *bits), 1,
                             [](std::int64_t z) { return reference::rounded_gaussian(z, 3); }),
            kAlarm);
}

TEST(Noises, LowDigitsOfWideLawsAreUniform) {
  // sigma = 2^20 grains: the last four bits of |z| are uniform to 1e-12.
  SeededGenerator bits(14);
  const auto check = [&](const auto& noise) {
    std::vector<double> counts(16);
    for (const std::int64_t z : draws(noise, kDraws, bits)) ++counts[static_cast<std::size_t>(z & 15)];
    return statistics::p_value(counts, std::vector<double>(16, 1.0 / 16), kDraws);
  };
  EXPECT_GT(check(DiscreteLaplaceNoise::make(0x1p20, Grain{0}).value()), kAlarm);
  EXPECT_GT(check(DiscreteGaussianNoise::make(0x1p20, Grain{0}).value()), kAlarm);
  EXPECT_GT(check(RoundedGaussianNoise::make(0x1p20, Grain{0}).value()), kAlarm);
}

TEST(Noises, WideLawsFollowTheContinuousOnes) {
  // At 2^30 grains and cells of 2^27, the discrete laws and their continuous limits differ by less than 1e-8.
  SeededGenerator bits(15);
  const auto cells = [&](const auto& noise) {
    std::vector<std::int64_t> out;
    for (const std::int64_t z : draws(noise, kDraws, bits)) out.push_back(z >> 27);
    return statistics::histogram(out);
  };
  const auto normal = [](std::int64_t cell) {
    return reference::normal_between(static_cast<double>(cell) / 8, static_cast<double>(cell + 1) / 8);
  };
  const auto laplace = [](std::int64_t cell) {
    const double x = static_cast<double>(cell >= 0 ? cell : -cell - 1) / 8;
    return (std::exp(-x) - std::exp(-x - 0.125)) / 2;
  };
  EXPECT_GT(statistics::p_value(cells(DiscreteGaussianNoise::make(0x1p30, Grain{0}).value()), kDraws, 40, normal),
            kAlarm);
  EXPECT_GT(statistics::p_value(cells(RoundedGaussianNoise::make(0x1p30, Grain{0}).value()), kDraws, 40, normal),
            kAlarm);
  EXPECT_GT(statistics::p_value(cells(DiscreteLaplaceNoise::make(0x1p30, Grain{0}).value()), kDraws, 80, laplace),
            kAlarm);
}

TEST(Noises, ScaleAndGrainOnlyMatterTogether) {
  SeededGenerator here(5), there(5);
  const auto coarse = DiscreteGaussianNoise::make(12.5, Grain{0}).value();
  const auto fine = DiscreteGaussianNoise::make(12.5 / 1024, Grain{-10}).value();
  EXPECT_EQ(draws(coarse, 1000, here), draws(fine, 1000, there));
  EXPECT_EQ(fine.sigma_in_grains(), 12.5);
  EXPECT_EQ(fine.event(3.0).sensitivity, 3.0);
  EXPECT_EQ(fine.event(3.0).sigma, 12.5);
}

TEST(Noises, AddInPlaceTheNoiseTheyDraw) {
  SeededGenerator here(6), there(6);
  const auto noise = RoundedGaussianNoise::make(1000.0, Grain{0}).value();
  std::vector<std::int64_t> steps(1300, 7);
  noise.add_to(steps, here);
  std::vector<std::int64_t> expected(1300);
  // add_to works in blocks of 512, which draws of many do not notice: they take their words 64 draws at a
  // time.
  noise.draw(there, expected);
  for (auto& z : expected) z += 7;
  EXPECT_EQ(steps, expected);
}

TEST(Noises, SumsThatLeaveTheIntegersStopAtTheirEnd) {
  std::vector<std::int64_t> steps = {std::numeric_limits<std::int64_t>::max() - 1,
                                     std::numeric_limits<std::int64_t>::min() + 1};
  const std::vector<std::int64_t> noise = {5, -5};
  add_noise(steps, noise);
  EXPECT_EQ(steps[0], std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(steps[1], std::numeric_limits<std::int64_t>::min());
}

TEST(Noises, RefuseScalesThatAreNone) {
  for (const double bad : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity(), 1e-300, 1e300}) {
    EXPECT_FALSE(DiscreteLaplaceNoise::make(bad, Grain{0})) << bad;
    EXPECT_FALSE(DiscreteGaussianNoise::make(bad, Grain{0})) << bad;
    EXPECT_FALSE(RoundedGaussianNoise::make(bad, Grain{0})) << bad;
  }
  EXPECT_FALSE(DiscreteLaplaceNoise::make(1.0, Grain{5000}));
  EXPECT_EQ(DiscreteGaussianNoise::make(-2.0, Grain{0}).error().message,
            "sigma: must be a finite number above 0 (got '-2')");
}

// A table that keeps only a few bits of every probability sends most draws through the exact arithmetic; the
// law must be the same.
TEST(StripSampler, TheExactWayRoundTheTableKeepsTheLaw) {
  SeededGenerator bits(16);
  constexpr std::size_t kFew = 4000;
  const auto draw = [&](StripLaw law, StripSampler::Shape shape) {
    const StripSampler sampler(std::make_shared<StripLaw>(law), shape);
    std::vector<std::int64_t> out(kFew);
    sampler.draw(bits, out);
    return statistics::histogram(out);
  };
  using Form = StripSampler::Form;
  for (const unsigned table_bits : {1u, 5u}) {
    EXPECT_GT(statistics::p_value(draw({StripLaw::Kind::kLinear, Fraction(1, 3)}, {Form::kSigned, 0, table_bits}), kFew,
                                  12, [](std::int64_t z) { return reference::discrete_laplace(z, 3); }),
              kAlarm);
    EXPECT_GT(statistics::p_value(draw({StripLaw::Kind::kSquare, Fraction(1, 18)}, {Form::kSigned, 0, table_bits}),
                                  kFew, 9, reference::DiscreteGaussianPmf(3)),
              kAlarm);
    EXPECT_GT(
        statistics::p_value(draw({StripLaw::Kind::kSquare, Fraction(1, 18)}, {Form::kRoundedReal, -3, table_bits}),
                            kFew, 9, [](std::int64_t z) { return reference::rounded_gaussian(z, 3); }),
        kAlarm);
    EXPECT_GT(statistics::p_value(draw({StripLaw::Kind::kLinear, Fraction(1, 20)}, {Form::kSigned, 1, table_bits}),
                                  kFew, 30, [](std::int64_t z) { return reference::discrete_laplace(z, 20); }),
              kAlarm);
    EXPECT_GT(statistics::p_value(draw({StripLaw::Kind::kGeometric, Fraction(3, 4)}, {Form::kMagnitude, 0, table_bits}),
                                  kFew, 12, [](std::int64_t z) { return z < 0 ? 0 : 0.25 * std::pow(0.75, z); }),
              kAlarm);
  }
}
