// Less privacy budget must mean a worse answer, for every mechanism: one whose error stays put as epsilon
// falls adds no noise that depends on epsilon. Draws are seeded; where two averages are compared, they differ
// by far more than chance.
// labels: slow
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "parley/privacy/mechanisms/discrete_gaussian.h"
#include "parley/privacy/mechanisms/discrete_laplace.h"
#include "parley/privacy/mechanisms/exponential.h"
#include "parley/privacy/mechanisms/exponential_tree.h"
#include "parley/privacy/mechanisms/label_laplace.h"
#include "parley/privacy/mechanisms/noisy_max.h"
#include "parley/privacy/mechanisms/permute_and_flip.h"
#include "parley/privacy/mechanisms/randomised_response.h"
#include "parley/privacy/mechanisms/rounded_gaussian.h"
#include "parley/privacy/mechanisms/top_k.h"

using namespace parley;
using namespace parley::privacy;

namespace {

constexpr double kEpsilons[] = {10, 1, 0.1, 0.01};
constexpr int kDraws = 4000;
const std::vector<double> kScores = {10, 9, 5, 0, 0, 0, 0, 0, 0, 0};

// Errors at falling epsilon: each clearly above the one before.
void expect_rising(const std::function<double(double)>& error, double factor) {
  double before = error(kEpsilons[0]);
  for (std::size_t i = 1; i < std::size(kEpsilons); ++i) {
    const double now = error(kEpsilons[i]);
    EXPECT_GT(now, factor * before) << "epsilon " << kEpsilons[i];
    before = now;
  }
}

template <class Noise>
double mean_error(const Noise& noise) {
  SeededGenerator bits(1);
  double sum = 0;
  for (int i = 0; i < kDraws; ++i) sum += std::abs(static_cast<double>(noise.draw(bits)));
  return sum / kDraws;
}

// Mean distance of the selected score from the best: 0.001 more keeps "no error at all" comparable.
double mean_regret(const std::function<std::size_t(Bits&)>& select) {
  SeededGenerator bits(2);
  double sum = 0;
  for (int i = 0; i < kDraws; ++i) sum += kScores[0] - kScores[select(bits)];
  return sum / kDraws + 0.001;
}

template <class Selection>
double regret_of(double epsilon) {
  const auto selection = Selection::make({.epsilon = epsilon, .sensitivity = 1}).value();
  return mean_regret([&](Bits& bits) { return selection.select(kScores, bits).value(); });
}

}  // namespace

TEST(Utility, OfValuesFallsWithEpsilon) {
  // A fixed grain far below every scale: the noise, not the grid, is what is measured.
  const Grain grain{-12};
  expect_rising([&](double epsilon) { return mean_error(DiscreteLaplaceNoise::make(1 / epsilon, grain).value()); }, 8);
  expect_rising([&](double epsilon) { return mean_error(DiscreteGaussianNoise::make(1 / epsilon, grain).value()); }, 8);
  expect_rising([&](double epsilon) { return mean_error(RoundedGaussianNoise::make(1 / epsilon, grain).value()); }, 8);
}

TEST(Utility, OfSelectionsFallsWithEpsilon) {
  expect_rising(regret_of<ExponentialSelection>, 1.1);
  expect_rising(regret_of<PermuteAndFlip>, 1.1);
  expect_rising(regret_of<NoisyMax>, 1.1);
  expect_rising(
      [](double epsilon) {
        auto tree =
            ExponentialTree::make(ExponentialSelection::make({.epsilon = epsilon, .sensitivity = 1}).value(), kScores)
                .value();
        return mean_regret([&](Bits& bits) { return tree.select(bits).value(); });
      },
      1.1);
}

TEST(Utility, OfTopKFallsWithEpsilon) {
  const auto misses = [](double epsilon, bool one_shot) {
    const auto top = TopK::make({.epsilon = epsilon, .sensitivity = 1}, 3).value();
    SeededGenerator bits(3);
    double missed = 0.001;
    for (int i = 0; i < kDraws; ++i) {
      const auto picked = one_shot ? top.one_shot(kScores, bits).value() : top.peel(kScores, bits).value();
      for (const std::size_t index : picked) missed += index >= 3 ? 1.0 / kDraws : 0;
    }
    return missed;
  };
  expect_rising([&](double epsilon) { return misses(epsilon, true); }, 1.05);
  expect_rising([&](double epsilon) { return misses(epsilon, false); }, 1.05);
}

TEST(Utility, OfLabelsFallsWithEpsilon) {
  const auto lies = [](const std::function<std::size_t(Bits&)>& respond) {
    SeededGenerator bits(4);
    double wrong = 0.001;
    for (int i = 0; i < 10 * kDraws; ++i) wrong += respond(bits) != 1 ? 0.1 / kDraws : 0;
    return wrong;
  };
  expect_rising(
      [&](double epsilon) {
        const auto response = RandomisedResponse::make(epsilon, 3).value();
        return lies([&](Bits& bits) { return response.respond(1, bits).value(); });
      },
      1.01);
  expect_rising(
      [&](double epsilon) {
        const auto mechanism = LabelLaplace::make(epsilon, 3).value();
        return lies([&](Bits& bits) {
          return mechanism.most_likely(mechanism.release(std::vector<std::size_t>{1}, bits).value())[0];
        });
      },
      1.01);
}
