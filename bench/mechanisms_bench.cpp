// Noise and private selection on one core from the secure source, beside the textbook way of the same law.
//
// The two alternate; the ratio is the median over the pairs of the pair's ratio.
// docs/performance/mechanisms.md has the numbers.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <string_view>
#include <vector>

#include "parley/core/threads.h"
#include "parley/privacy/mechanisms/discrete_gaussian.h"
#include "parley/privacy/mechanisms/discrete_laplace.h"
#include "parley/privacy/mechanisms/exponential.h"
#include "parley/privacy/mechanisms/exponential_tree.h"
#include "parley/privacy/mechanisms/noisy_max.h"
#include "parley/privacy/mechanisms/permute_and_flip.h"
#include "parley/privacy/mechanisms/poisson_sampling.h"
#include "parley/privacy/mechanisms/randomised_response.h"
#include "parley/privacy/mechanisms/rounded_gaussian.h"
#include "parley/privacy/mechanisms/top_k.h"

namespace {

using namespace parley::privacy;

constexpr int kPairs = 7;
std::size_t sink = 0;  // keeps results alive

// CPU time of this thread: everything here is single-threaded, and other work on the machine must not count.
double cpu_now() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <class F>
double seconds(const F& f) {
  const double start = cpu_now();
  f();
  return cpu_now() - start;
}

double median(std::vector<double> x) {
  std::nth_element(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2), x.end());
  return x[x.size() / 2];
}

// Canonne, Kamath, Steinke 2020, Algorithms 1-3, for whole-number scales, as written there.
class Textbook {
 public:
  explicit Textbook(Bits& bits) : bits_(bits) {}

  std::int64_t laplace(std::uint64_t scale) {
    for (;;) {
      const std::uint64_t u = bits_.below(scale);
      if (!below_exp_minus(u, scale)) continue;
      std::uint64_t v = 0;
      while (below_exp_minus(1, 1)) ++v;
      const auto x = static_cast<std::int64_t>(u + scale * v);
      const bool negative = (bits_.next_u64() & 1) != 0;
      if (negative && x == 0) continue;
      return negative ? -x : x;
    }
  }

  std::int64_t gaussian(std::uint64_t sigma) {
    const std::uint64_t t = sigma + 1;
    const std::uint64_t variance = sigma * sigma;
    for (;;) {
      const std::int64_t y = laplace(t);
      const auto distance = std::abs(static_cast<std::int64_t>(static_cast<std::uint64_t>(std::abs(y)) * t) -
                                     static_cast<std::int64_t>(variance));
      std::uint64_t numerator = static_cast<std::uint64_t>(distance) * static_cast<std::uint64_t>(distance);
      const std::uint64_t denominator = 2 * variance * t * t;
      bool keep = true;
      for (; keep && numerator > denominator; numerator -= denominator) keep = below_exp_minus(1, 1);
      if (keep && below_exp_minus(numerator, denominator)) return y;
    }
  }

 private:
  // True with probability exp(-a/b), a <= b.
  bool below_exp_minus(std::uint64_t a, std::uint64_t b) {
    std::uint64_t k = 1;
    while (bits_.below(b * k) < a) ++k;
    return k % 2 == 1;
  }
  Bits& bits_;
};

template <class Noise, class Peer>
void noise_row(std::string_view name, const Noise& noise, double scale, const Peer& peer, Bits& bits) {
  std::vector<std::int64_t> out(1 << 16);
  std::vector<double> rates, peer_rates, ratios;
  for (int pair = 0; pair < kPairs; ++pair) {
    const double ours = seconds([&] {
      for (int i = 0; i < 16; ++i) noise.draw(bits, out);
    });
    const double theirs = seconds([&] {
      for (int i = 0; i < 1 << 15; ++i) sink += static_cast<std::size_t>(peer());
    });
    sink += static_cast<std::size_t>(out[7]);
    rates.push_back(16.0 * static_cast<double>(out.size()) / ours / 1e6);
    peer_rates.push_back((1 << 15) / theirs / 1e6);
    ratios.push_back(rates.back() / peer_rates.back());
  }
  fmt::print("{:<22} scale {:>8} grains  {:>7.1f} M/s   textbook {:>5.2f} M/s   ratio {:.0f}\n", name, scale,
             median(rates), median(peer_rates), median(ratios));
}

template <class F>
void time_row(std::string_view name, int repeats, const F& f) {
  f();
  std::vector<double> times;
  for (int pair = 0; pair < kPairs; ++pair)
    times.push_back(seconds([&] {
                      for (int i = 0; i < repeats; ++i) f();
                    }) /
                    repeats);
  const double t = median(times);
  fmt::print("{:<56} {:>10.3f} {}\n", name, t >= 1e-4 ? t * 1e3 : t * 1e6, t >= 1e-4 ? "ms" : "us");
}

void noises(Bits& bits) {
  Textbook textbook(bits);
  for (const double scale : {1.0, 10.0, 1000.0}) {
    const auto whole = static_cast<std::uint64_t>(scale);
    noise_row(
        "discrete Laplace", DiscreteLaplaceNoise::make(scale, Grain{0}).value(), scale,
        [&] { return textbook.laplace(whole); }, bits);
    noise_row(
        "discrete Gaussian", DiscreteGaussianNoise::make(scale, Grain{0}).value(), scale,
        [&] { return textbook.gaussian(whole); }, bits);
    noise_row(
        "rounded Gaussian", RoundedGaussianNoise::make(scale, Grain{0}).value(), scale,
        [&] { return textbook.gaussian(whole); }, bits);
  }
  time_row("making a discrete Gaussian (its table)", 20,
           [&] { sink += DiscreteGaussianNoise::make(1000.0, Grain{0}).has_value() ? 1 : 0; });
  time_row("making a discrete Laplace (its table)", 20,
           [&] { sink += DiscreteLaplaceNoise::make(1000.0, Grain{0}).has_value() ? 1 : 0; });
}

void selections(Bits& bits) {
  constexpr std::size_t kScores = 1'000'000;
  const SelectionSettings settings{.epsilon = 1, .sensitivity = 1};
  std::vector<double> flat(kScores), peaked(kScores);
  for (std::size_t i = 0; i < kScores; ++i) flat[i] = 10 * std::sin(0.37 * static_cast<double>(i));
  peaked = flat;
  peaked[123'456] = 100;
  const auto exponential = ExponentialSelection::make(settings).value();
  const auto flip = PermuteAndFlip::make(settings).value();
  const auto noisy = NoisyMax::make(settings).value();
  const auto top = TopK::make(settings, 100).value();
  time_row("exponential mechanism, 1e6 even scores", 3, [&] { sink += exponential.select(flat, bits).value(); });
  time_row("exponential mechanism, 1e6 scores, one far ahead", 3,
           [&] { sink += exponential.select(peaked, bits).value(); });
  time_row("  by rejection alone, one far ahead", 3,
           [&] { sink += exponential.select_by_rejection(peaked, bits).value(); });
  time_row("permute-and-flip, 1e6 even scores", 3, [&] { sink += flip.select(flat, bits).value(); });
  time_row("permute-and-flip, 1e6 scores, one far ahead", 3, [&] { sink += flip.select(peaked, bits).value(); });
  time_row("report-noisy-max, 1e6 scores", 3, [&] { sink += noisy.select(flat, bits).value(); });
  time_row("top 100 of 1e6, one shot", 1, [&] { sink += top.one_shot(flat, bits).value()[0]; });
  auto tree = ExponentialTree::make(exponential, flat).value();
  time_row("tree over 1e6 scores, a draw", 2000, [&] { sink += tree.select(bits).value(); });
  time_row("tree over 1e6 scores, an update at random", 2000, [&] {
    const std::size_t i = bits.below(kScores);
    sink += tree.update(i, flat[i] + 0.1).has_value() ? 1 : 0;
  });
  std::vector<std::size_t> joined;
  const auto sampling = PoissonSampling::make(0.001).value();
  time_row("Poisson sampling of 1e6 records at 0.001", 20, [&] {
    sampling.draw(kScores, bits, joined);
    sink += joined.size();
  });
  const auto response = RandomisedResponse::make(1, 10).value();
  time_row("randomised response, one label of 10 classes", 10'000, [&] { sink += response.respond(3, bits).value(); });
}

}  // namespace

int main() {
  parley::set_thread_count(1);
  const auto bits = std::move(SecureGenerator::from_system()).value();
  std::vector<std::uint64_t> words(1 << 16);
  std::vector<double> bulk, single;
  for (int pair = 0; pair < kPairs; ++pair) {
    bulk.push_back(64.0 * 8 * static_cast<double>(words.size()) / 1e9 / seconds([&] {
                     for (int i = 0; i < 64; ++i) bits->fill(words);
                   }));
    single.push_back(8.0 * (1 << 22) / 1e9 / seconds([&] {
                       for (int i = 0; i < 1 << 22; ++i) sink += bits->next_u64();
                     }));
  }
  fmt::print("secure words: in bulk {:.2f} GB/s, one by one {:.2f} GB/s\n", median(bulk), median(single));
  noises(*bits);
  selections(*bits);
  return sink == 42 ? 1 : 0;
}
