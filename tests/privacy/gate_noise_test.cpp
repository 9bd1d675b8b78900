// Numbers leave with the noise that the ledger was charged for: the scale is read back from the charge, and what left
// must follow that law. With a tenth less noise than was charged the same procedure fails.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <variant>
#include <vector>

#include "parley/privacy/gate.h"
#include "parley/privacy/sensitivity/clipped_sum.h"
#include "tests/privacy/mechanisms/reference.h"
#include "tests/privacy/mechanisms/statistics.h"
#include "tests/privacy/with_ledger.h"

using namespace parley;
using namespace parley::privacy;

namespace {

constexpr std::size_t kNumbers = 40'000;
constexpr int kSums = 40'000;
constexpr double kCellsPerScale = 4, kLessNoise = 0.9;
constexpr std::int64_t kReach = 16;

class GateNoise : public WithLedger {
 protected:
  void SetUp() override { ASSERT_TRUE(ledger_->set_budget(kPatients, {*Epsilon::make(1e6), *Delta::make(0.5)})); }
  // `count` releases of a value, and the mechanism that the ledger was charged for each of them.
  template <class Value, class Noise>
  std::vector<double> left(const Value& value, Noise noise, int count, Mechanism& charged) {
    SeededGenerator bits(7);
    std::vector<double> values;
    const auto keep = [&](const auto& released) {
      ASSERT_TRUE(released) << released.error().message;
      const auto& numbers = released->value();
      values.insert(values.end(), numbers.begin(), numbers.end());
    };
    Gate gate = std::move(*Gate::open(*ledger_, kPatients, "run", bits));
    keep(gate.release(value, noise, Keyed{"one"}));
    charged = ledger_->spent(kPatients)->events.back().mechanism;
    if (count == 1) return values;
    const auto reserved = gate.reserve({.step = {{charged, 1}}, .steps = count}, *Delta::make(1e-6));
    EXPECT_TRUE(reserved) << reserved.error().message;
    for (int i = 0; i < count; ++i) keep(gate.release(value, noise));
    EXPECT_FALSE(gate.release(value, noise)) << "no draw beyond the plan";
    return values;
  }

  // Whether values are zeros plus noise of the law whose scale a charge states, in units of the value's sensitivity.
  static bool gaussian(const std::vector<double>& values, double sigma) {
    return follows(values, sigma, [](double cell) {
      return reference::normal_between(cell / kCellsPerScale, (cell + 1) / kCellsPerScale);
    });
  }
  static bool laplace(const std::vector<double>& values, double scale) {
    return follows(values, scale, [](double cell) {
      const double x = (cell >= 0 ? cell : -cell - 1) / kCellsPerScale;
      return (std::exp(-x) - std::exp(-x - 1 / kCellsPerScale)) / 2;
    });
  }
  static std::vector<double> times(std::vector<double> values, double factor) {
    for (double& value : values) value *= factor;
    return values;
  }

  static ClipRule rule() { return {.bound = 1.0, .grain = {-30}}; }
  static Private<std::vector<double>> zeros() { return Private(std::vector<double>(100, 0.0)); }

 private:
  static bool follows(const std::vector<double>& values, double scale, const std::function<double(double)>& law) {
    std::vector<std::int64_t> cells;
    for (const double value : values)
      cells.push_back(static_cast<std::int64_t>(std::floor(value / scale * kCellsPerScale)));
    return statistics::p_value(statistics::histogram(cells), static_cast<double>(cells.size()), kReach,
                               [&](std::int64_t cell) { return law(static_cast<double>(cell)); }) > statistics::kAlarm;
  }
};

}  // namespace

TEST_F(GateNoise, OfAVectorIsTheGaussianThatWasCharged) {
  const auto sum = *clipped_vector_sum(Private(Contributions{std::vector<double>(kNumbers, 0.0), kNumbers}), rule());
  Mechanism charged;
  const auto values = left(sum, Deviation{3 * sum.sensitivity()}, 1, charged);
  const auto& paid = std::get<Gaussian>(charged);
  const double sigma = paid.sigma / paid.sensitivity * sum.sensitivity();
  EXPECT_TRUE(gaussian(values, sigma));
  EXPECT_FALSE(gaussian(times(values, kLessNoise), sigma));
}

TEST_F(GateNoise, OfASumIsTheGaussianThatWasCharged) {
  const auto sum = *clipped_sum_l2(zeros(), rule());
  Mechanism charged;
  const auto values = left(sum, Deviation{0.7 * sum.sensitivity()}, kSums, charged);
  const auto& paid = std::get<Gaussian>(charged);
  const double sigma = paid.sigma / paid.sensitivity * sum.sensitivity();
  EXPECT_TRUE(gaussian(values, sigma));
  EXPECT_FALSE(gaussian(times(values, kLessNoise), sigma));
}

TEST_F(GateNoise, OfASumIsTheLaplaceThatWasCharged) {
  const auto sum = *clipped_sum(zeros(), rule());
  Mechanism charged;
  const auto values = left(sum, LaplaceScale{1.3 * sum.sensitivity()}, kSums, charged);
  const auto& paid = std::get<DiscreteLaplace>(charged);
  const double scale = paid.scale / paid.sensitivity * sum.sensitivity();
  EXPECT_TRUE(laplace(values, scale));
  EXPECT_FALSE(laplace(times(values, kLessNoise), scale));
}
