// accounting_bench calibrate EPSILON DELTA RATE STEPS ACCOUNTANT REPEAT   -> {"sigma": .., "seconds": [..]}
// accounting_bench account ACCOUNTANT DELTA NOISE RATE STEPS REPEAT       -> {"epsilon": .., "seconds": [..]}
// add-remove throughout, one thread, wall clock of each repetition.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "parley/privacy/accounting/calibration.h"

using namespace parley::privacy;

namespace {

template <class F>
std::vector<double> timed(int repeat, const F& f) {
  std::vector<double> seconds;
  for (int i = 0; i < repeat; ++i) {
    const auto start = std::chrono::steady_clock::now();
    f();
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return seconds;
}

Accountant accountant_named(const std::string& word) {
  for (const Accountant each : kAccountants)
    if (name(each) == word) return each;
  return Accountant::kBest;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 8) return 2;
  const std::string what = argv[1];
  const auto number = [&](int i) { return std::strtod(argv[i], nullptr); };
  if (what == "calibrate") {
    const Target target{Epsilon::make(number(2)).value(), Delta::make(number(3)).value(), Neighbours::kAddRemove};
    double sigma = 0;
    const auto seconds = timed(std::atoi(argv[7]), [&] {
      sigma = sampled_gaussian_noise(target, number(4), std::atoll(argv[5]), accountant_named(argv[6])).value();
    });
    fmt::print("{{\"sigma\": {}, \"seconds\": [{}]}}\n", sigma, fmt::join(seconds, ", "));
  } else {
    const Plan plan{Neighbours::kAddRemove, {{SubsampledGaussian{number(4), number(5)}, std::atoll(argv[6])}}};
    double epsilon = 0;
    const auto seconds = timed(std::atoi(argv[7]), [&] {
      epsilon = epsilon_at(plan, Delta::make(number(3)).value(), accountant_named(argv[2])).value();
    });
    fmt::print("{{\"epsilon\": {}, \"seconds\": [{}]}}\n", epsilon, fmt::join(seconds, ", "));
  }
}
