// The procedures that let the mechanisms pass must reject mechanisms that are broken in the ways that happen:
// noise 20 % too small, the factor 2 of noisy max dropped, a seed used twice, rounding left out of the
// sensitivity, fixed-size batches called Poisson, a reference score that never falls. Each mutant goes through the
// very procedure that the right mechanism passes.
// labels: slow
#include <gtest/gtest.h>

#include <algorithm>
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
#include "parley/privacy/mechanisms/poisson_sampling.h"
#include "parley/privacy/mechanisms/randomised_response.h"
#include "parley/privacy/mechanisms/rounded_gaussian.h"
#include "tests/privacy/mechanisms/reference.h"
#include "tests/privacy/mechanisms/statistics.h"

using namespace parley;
using namespace parley::privacy;
using statistics::kAlarm;

namespace {

constexpr double kTooSmall = 0.8;

// Procedure 1: do whole-number draws follow the pmf?
template <class Pmf>
bool follows(const std::function<std::int64_t()>& draw, int draws, std::int64_t reach, const Pmf& pmf) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(draws));
  for (auto& number : numbers) number = draw();
  return statistics::p_value(statistics::histogram(numbers), draws, reach, pmf) > kAlarm;
}

// Procedure 2: does the mechanism keep epsilon on two neighbours? False when the counts of `event` refute it.
bool keeps(double epsilon, const std::function<bool()>& event_here, const std::function<bool()>& event_there,
           int trials) {
  double here = 0, there = 0;
  for (int i = 0; i < trials; ++i) {
    here += event_here() ? 1 : 0;
    there += event_there() ? 1 : 0;
  }
  return statistics::epsilon_lower_bound(here, there, trials, kAlarm) <= epsilon;
}

// Procedure 3: are the noises of two rounds independent? They agree as often as chance says, sum of p(z)^2.
template <class Noise, class Pmf>
bool independent(const Noise& noise, Bits& first, Bits& second, const Pmf& pmf) {
  constexpr int kDraws = 2000;
  double equal = 0, chance = 0;
  for (int i = 0; i < kDraws; ++i) equal += noise.draw(first) == noise.draw(second) ? 1 : 0;
  for (std::int64_t z = -200; z <= 200; ++z) chance += pmf(z) * pmf(z);
  return 2 * std::min(statistics::binomial_at_least(equal, kDraws, chance),
                      statistics::binomial_at_most(equal, kDraws, chance)) >
         kAlarm;
}

bool laplace_follows(double drawn_scale) {
  SeededGenerator bits(1);
  const auto noise = DiscreteLaplaceNoise::make(drawn_scale, Grain{0}).value();
  return follows([&] { return noise.draw(bits); }, 100'000, 20,
                 [](std::int64_t z) { return reference::discrete_laplace(z, 4); });
}

bool discrete_gaussian_follows(double drawn_sigma) {
  SeededGenerator bits(2);
  const auto noise = DiscreteGaussianNoise::make(drawn_sigma, Grain{0}).value();
  return follows([&] { return noise.draw(bits); }, 100'000, 15, reference::DiscreteGaussianPmf(4));
}

bool rounded_gaussian_follows(double drawn_sigma) {
  SeededGenerator bits(3);
  const auto noise = RoundedGaussianNoise::make(drawn_sigma, Grain{0}).value();
  return follows([&] { return noise.draw(bits); }, 100'000, 15,
                 [](std::int64_t z) { return reference::rounded_gaussian(z, 4); });
}

// Selections over four scores at epsilon = 1; a smaller noise is a larger epsilon.
template <class Selection>
bool selection_follows(double drawn_epsilon, const std::vector<double>& law) {
  SeededGenerator bits(4);
  const std::vector<double> scores = {3, -2, 2.5, 0};
  const auto selection = Selection::make({.epsilon = drawn_epsilon, .sensitivity = 1}).value();
  return follows([&] { return static_cast<std::int64_t>(selection.select(scores, bits).value()); }, 100'000, 4,
                 [&](std::int64_t i) { return i >= 0 && i < 4 ? law[static_cast<std::size_t>(i)] : 0.0; });
}

// Noisy max claimed at epsilon = 1 on two scores of which a record lowers one and raises the other.
bool noisy_max_keeps(Scores treated_as) {
  SeededGenerator bits(5);
  const auto selection = NoisyMax::make({.epsilon = 1, .sensitivity = 1, .scores = treated_as}).value();
  const std::vector<double> here = {-1, -4}, there = {0, -5};
  return keeps(
      1, [&] { return selection.select(here, bits).value() == 1; },
      [&] { return selection.select(there, bits).value() == 1; }, 300'000);
}

// The exponential mechanism, the same way.
bool exponential_keeps(Scores treated_as) {
  SeededGenerator bits(6);
  const auto selection = ExponentialSelection::make({.epsilon = 1, .sensitivity = 1, .scores = treated_as}).value();
  const std::vector<double> here = {-1, -4}, there = {0, -5};
  return keeps(
      1, [&] { return selection.select(here, bits).value() == 1; },
      [&] { return selection.select(there, bits).value() == 1; }, 300'000);
}

// A value of sensitivity 1.2, rounded to a grain of 1 and released at epsilon = 1. The neighbours 0.4 and 1.6
// become 0 and 2.
bool rounded_release_keeps(double sensitivity_in_grains) {
  SeededGenerator bits(7);
  const auto noise = DiscreteLaplaceNoise::make(sensitivity_in_grains, Grain{0}).value();
  const std::int64_t low = rounded_to_nearest(0.4, Grain{0}).value();
  const std::int64_t high = rounded_to_nearest(1.6, Grain{0}).value();
  return keeps(
      1, [&] { return high + noise.draw(bits) >= 2; }, [&] { return low + noise.draw(bits) >= 2; }, 100'000);
}

// The exponential mechanism at epsilon = 1 over weights exp(u_i - reference) that are kept between draws, with the best
// score ever seen as the reference: when scores shrink, all weights become 0, and the first candidate wins every draw.
class NeverFallingReference {
 public:
  explicit NeverFallingReference(const std::vector<double>& scores)
      : weights_(scores.size()), reference_(*std::max_element(scores.begin(), scores.end())) {
    for (std::size_t i = 0; i < scores.size(); ++i) update(i, scores[i]);
  }
  void update(std::size_t index, double score) {
    reference_ = std::max(reference_, score);
    weights_[index] = std::exp(0.5 * (score - reference_));
  }
  [[nodiscard]] std::size_t select(Bits& bits) const {
    double total = 0;
    for (const double weight : weights_) total += weight;
    double place = std::ldexp(static_cast<double>(bits.next_u64() >> 11), -53) * total;
    std::size_t at = 0;
    for (; at + 1 < weights_.size() && place > weights_[at]; ++at) place -= weights_[at];
    return at;
  }

 private:
  std::vector<double> weights_;
  double reference_;
};

class RightReference {
 public:
  explicit RightReference(const std::vector<double>& scores)
      : tree_(ExponentialTree::make(ExponentialSelection::make({.epsilon = 1, .sensitivity = 1}).value(), scores)
                  .value()) {}
  void update(std::size_t index, double score) { EXPECT_TRUE(tree_.update(index, score)); }
  std::size_t select(Bits& bits) { return tree_.select(bits).value(); }

 private:
  ExponentialTree tree_;
};

// Four scores of which one was drawn; each is then told anew, `factor` times what it was.
template <class Sampler>
bool follows_after_scaling(double factor) {
  SeededGenerator bits(13);
  std::vector<double> scores = {1 / factor, 4 / factor, 3 / factor, 2 / factor};
  Sampler sampler(scores);
  (void)sampler.select(bits);
  for (std::size_t i = 0; i < scores.size(); ++i) sampler.update(i, scores[i] *= factor);
  const auto law = reference::exponential_mechanism(scores, 0.5);
  return follows([&] { return static_cast<std::int64_t>(sampler.select(bits)); }, 100'000, 4,
                 [&](std::int64_t i) { return i >= 0 && i < 4 ? law[static_cast<std::size_t>(i)] : 0.0; });
}

}  // namespace

TEST(Mutants, NoiseTwentyPercentTooSmallIsCaughtInEveryNoise) {
  EXPECT_TRUE(laplace_follows(4));
  EXPECT_FALSE(laplace_follows(4 * kTooSmall));
  EXPECT_TRUE(discrete_gaussian_follows(4));
  EXPECT_FALSE(discrete_gaussian_follows(4 * kTooSmall));
  EXPECT_TRUE(rounded_gaussian_follows(4));
  EXPECT_FALSE(rounded_gaussian_follows(4 * kTooSmall));
}

TEST(Mutants, NoiseTwentyPercentTooSmallIsCaughtInEverySelection) {
  const std::vector<double> scores = {3, -2, 2.5, 0};
  const auto exponential = reference::exponential_mechanism(scores, 0.5);
  const auto flip = reference::permute_and_flip(scores, 0.5);
  const auto noisy = reference::noisy_max_laplace(scores, 2);
  EXPECT_TRUE(selection_follows<ExponentialSelection>(1, exponential));
  EXPECT_FALSE(selection_follows<ExponentialSelection>(1 / kTooSmall, exponential));
  EXPECT_TRUE(selection_follows<PermuteAndFlip>(1, flip));
  EXPECT_FALSE(selection_follows<PermuteAndFlip>(1 / kTooSmall, flip));
  EXPECT_TRUE(selection_follows<NoisyMax>(1, noisy));
  EXPECT_FALSE(selection_follows<NoisyMax>(1 / kTooSmall, noisy));
}

TEST(Mutants, NoiseTwentyPercentTooSmallIsCaughtOnLabels) {
  const auto response_follows = [](double drawn_epsilon) {
    SeededGenerator bits(8);
    const auto claimed = RandomisedResponse::make(1, 3).value();
    const auto drawn = RandomisedResponse::make(drawn_epsilon, 3).value();
    return follows(
        [&] { return static_cast<std::int64_t>(drawn.respond(0, bits).value()); }, 50'000, 2,
        [&](std::int64_t label) {
          return label < 0 ? 0.0 : label == 0 ? claimed.truth_probability() : (1 - claimed.truth_probability()) / 2;
        });
  };
  EXPECT_TRUE(response_follows(1));
  EXPECT_FALSE(response_follows(1 / kTooSmall));
  const auto label_follows = [](double drawn_epsilon) {
    SeededGenerator bits(9);
    const auto mechanism = LabelLaplace::make(drawn_epsilon, 2, Grain{0}).value();
    return follows([&] { return mechanism.release(std::vector<std::size_t>{0}, bits).value()[1]; }, 50'000, 10,
                   [](std::int64_t z) { return reference::discrete_laplace(z, 2); });
  };
  EXPECT_TRUE(label_follows(1));
  EXPECT_FALSE(label_follows(1 / kTooSmall));
}

TEST(Mutants, NoiseTwentyPercentTooSmallBreaksItsEpsilonMeasurably) {
  const auto laplace_keeps = [](double scale) {
    SeededGenerator bits(10);
    const auto noise = DiscreteLaplaceNoise::make(scale, Grain{0}).value();
    return keeps(
        1, [&] { return 10 + noise.draw(bits) >= 10; }, [&] { return noise.draw(bits) >= 10; }, 300'000);
  };
  EXPECT_TRUE(laplace_keeps(10));
  EXPECT_FALSE(laplace_keeps(10 * kTooSmall));
}

TEST(Mutants, NoisyMaxWithoutTheFactorTwoIsCaughtOnNonMonotoneScores) {
  EXPECT_TRUE(noisy_max_keeps(Scores::kGeneral));
  EXPECT_FALSE(noisy_max_keeps(Scores::kMonotone));
}

TEST(Mutants, ExponentialMechanismWithoutTheFactorTwoIsCaughtOnNonMonotoneScores) {
  EXPECT_TRUE(exponential_keeps(Scores::kGeneral));
  EXPECT_FALSE(exponential_keeps(Scores::kMonotone));
}

TEST(Mutants, ASeedReusedAcrossRoundsIsCaught) {
  const auto noise = DiscreteGaussianNoise::make(5, Grain{0}).value();
  const reference::DiscreteGaussianPmf pmf(5);
  SeededGenerator seeded(11);
  const auto round = [&](std::uint64_t number) { return seeded.fork("clinic", number).value(); };
  EXPECT_TRUE(independent(noise, *round(0), *round(1), pmf));
  EXPECT_FALSE(independent(noise, *round(0), *round(0), pmf));
  const auto secure = std::move(SecureGenerator::from_system()).value();
  EXPECT_TRUE(independent(noise, *secure->fork("clinic", 0).value(), *secure->fork("clinic", 1).value(), pmf));
  // The secure source forgives even a label used twice.
  EXPECT_TRUE(independent(noise, *secure->fork("clinic", 0).value(), *secure->fork("clinic", 0).value(), pmf));
}

TEST(Mutants, RoundingLeftOutOfTheSensitivityIsCaught) {
  EXPECT_TRUE(rounded_release_keeps(static_cast<double>(rounded_sensitivity(1.2, Grain{0}).value())));
  EXPECT_FALSE(rounded_release_keeps(1.2));
}

TEST(Mutants, AReferenceThatNeverFallsIsCaughtWhenScoresShrinkAMillionfold) {
  EXPECT_TRUE(follows_after_scaling<NeverFallingReference>(0.5)) << "the mutant is right while weights are above 0";
  EXPECT_FALSE(follows_after_scaling<NeverFallingReference>(1e-6));
  EXPECT_TRUE(follows_after_scaling<RightReference>(0.5));
  EXPECT_TRUE(follows_after_scaling<RightReference>(1e-6));
}

TEST(Mutants, FixedSizeBatchesAreNotPoisson) {
  // 4 of 8 records exactly, against each with probability 1/2: all sizes but 4 are missing.
  constexpr int kDraws = 2000;
  const auto sizes_follow = [](const std::function<std::size_t()>& size) {
    return follows(
        [&] { return static_cast<std::int64_t>(size()); }, kDraws, 8,
        [](std::int64_t k) {
          return k < 0 ? 0.0
                       : std::exp(std::lgamma(9) - std::lgamma(k + 1.0) - std::lgamma(9.0 - static_cast<double>(k))) /
                             256;
        });
  };
  SeededGenerator bits(12);
  const auto sampling = PoissonSampling::make(0.5).value();
  std::vector<std::size_t> joined;
  EXPECT_TRUE(sizes_follow([&] {
    sampling.draw(8, bits, joined);
    return joined.size();
  }));
  EXPECT_FALSE(sizes_follow([] { return std::size_t{4}; }));
}
