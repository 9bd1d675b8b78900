// Answers questions about the private descents, so that a script can alternate them with peers and measure models.
//
//   load FILE                          rows, columns, then offsets (int64), columns (int32), values and labels
//                                      (double); features are in [-1, 1] and rows have norm at most 1
//   threads N
//   sgd EPSILON DELTA [key=value]...   intercept=1 neighbours=replace-one seed=N steps= batch_rate= step= momentum=
//                                      clip= result=
//   cd  EPSILON DELTA [key=value]...   intercept=1 neighbours= seed= passes= step= order=
//     -> cpu seconds, wall seconds, steps, objective
//   noise EPSILON DELTA RATE STEPS     -> the noise multiplier of such a run under add-remove
//   draws COUNT SIGMA [lazy]           -> CPU seconds of that many draws of Gaussian noise, SIGMA in grains
//   model FILE                         the weights and intercept of the last model, as doubles
//
// EPSILON inf: not private.
#include <stdlib.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "bench/driver.h"
#include "parley/algorithms/coordinate/coordinate_descent.h"
#include "parley/algorithms/parts/private_terms.h"
#include "parley/algorithms/sgd/sgd.h"
#include "parley/core/threads.h"
#include "parley/privacy/mechanisms/discrete_gaussian.h"
#include "parley/privacy/mechanisms/rounded_gaussian.h"

namespace {

using namespace parley;
using namespace parley::bench;

// A ledger for one run, in a folder that goes with it.
class Purse {
 public:
  Purse(double epsilon, double delta, privacy::Neighbours neighbours)
      : purse_{"records", privacy::Unit::kRecord, neighbours} {
    std::string name = (std::filesystem::temp_directory_path() / "parley-bench-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    ledger_.emplace(privacy::Ledger::open(folder_).value());
    if (!ledger_->set_budget(
            purse_, {*privacy::Epsilon::make(epsilon), *privacy::Delta::make(delta), privacy::Composition::kPlans}))
      std::abort();
  }
  ~Purse() {
    ledger_.reset();
    std::filesystem::remove_all(folder_);
  }
  Purse(const Purse&) = delete;
  Purse& operator=(const Purse&) = delete;
  privacy::Gate gate(privacy::Bits& bits) { return privacy::Gate::open(*ledger_, purse_, "bench", bits).value(); }

 private:
  std::string folder_;
  privacy::Purse purse_;
  std::optional<privacy::Ledger> ledger_;
};

using Options = std::map<std::string, std::string>;

std::optional<double> number(const Options& options, const char* key) {
  const auto found = options.find(key);
  if (found == options.end()) return std::nullopt;
  return std::stod(found->second);
}

std::optional<int> whole(const Options& options, const char* key) {
  if (const auto value = number(options, key)) return static_cast<int>(*value);
  return std::nullopt;
}

bool says(const Options& options, const char* key, const char* value) {
  const auto found = options.find(key);
  return found != options.end() && found->second == value;
}

Result<algorithms::Fit> train(const std::string& verb, const algorithms::Problem& problem, const Options& options) {
  const auto seed = static_cast<std::uint64_t>(number(options, "seed").value_or(0));
  if (verb == "cd")
    return algorithms::coordinate_descent(
        problem,
        {.passes = whole(options, "passes"),
         .step = number(options, "step"),
         .order = says(options, "order", "uniform") ? algorithms::CoordinateOrder::kUniform
                                                    : algorithms::CoordinateOrder::kCyclic,
         .seed = seed},
        {});
  algorithms::SgdSettings settings{.steps = whole(options, "steps"),
                                   .batch_rate = number(options, "batch_rate"),
                                   .step = number(options, "step"),
                                   .momentum = number(options, "momentum"),
                                   .clip = number(options, "clip"),
                                   .seed = seed};
  if (says(options, "result", "last")) settings.result = algorithms::SgdResult::kLast;
  if (says(options, "result", "tail-average")) settings.result = algorithms::SgdResult::kTailAverage;
  return algorithms::sgd(problem, settings, {});
}

}  // namespace

int main() {
  Data data;
  std::optional<privacy::GridFeatures> known,
      stated;  // of n records, which replace-one makes public and add-remove does not
  algorithms::Fit fit;
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string verb;
    words >> verb;
    if (verb == "load") {
      std::string path;
      words >> path;
      data = load(path);
      const std::vector<double> bounds(static_cast<std::size_t>(data.features.cols()), 1.0);
      known.emplace(privacy::GridFeatures::make(data.features, bounds).value());
      stated.emplace(privacy::GridFeatures::make(data.features, bounds, data.labels.size()).value());
      std::printf("%d %d\n", data.features.rows(), data.features.cols());
    } else if (verb == "threads") {
      int threads = 1;
      words >> threads;
      set_thread_count(threads);
      std::printf("ok\n");
    } else if (verb == "noise") {
      double epsilon = 1, delta = 0, rate = 1;
      std::int64_t steps = 1;
      words >> epsilon >> delta >> rate >> steps;
      const privacy::Target target{*privacy::Epsilon::make(epsilon), *privacy::Delta::make(delta),
                                   privacy::Neighbours::kAddRemove};
      std::printf("%.17g\n", privacy::sampled_gaussian_noise(target, rate, steps).value());
    } else if (verb == "draws") {
      std::size_t count = 0;
      double sigma = 1;
      std::string kind;
      words >> count >> sigma >> kind;
      const auto bits = privacy::SecureGenerator::from_system().value();
      std::vector<std::int64_t> out(count);
      const auto eager = privacy::RoundedGaussianNoise::make(sigma, {0}).value();
      const auto lazy = privacy::DiscreteGaussianNoise::make(sigma, {0}).value();
      const double cpu = cpu_seconds();
      if (kind == "lazy")
        lazy.draw(*bits, out);
      else
        eager.add_to(out, *bits);
      std::printf("%.9f\n", cpu_seconds() - cpu);
    } else if (verb == "model") {
      std::string path;
      words >> path;
      std::ofstream file(path, std::ios::binary);
      for (const std::vector<double>* part : {&fit.weights, &fit.intercepts})
        file.write(reinterpret_cast<const char*>(part->data()),
                   static_cast<std::streamsize>(part->size() * sizeof(double)));
      std::printf("ok\n");
    } else {
      std::string epsilon, word;
      double delta = 0;
      words >> epsilon >> delta;
      Options options;
      while (words >> word) options[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
      const bool open = epsilon == "inf";
      const double target = open ? 1.0 : std::stod(epsilon);
      const auto neighbours = says(options, "neighbours", "replace-one") ? privacy::Neighbours::kReplaceOne
                                                                         : privacy::Neighbours::kAddRemove;
      // Under add-remove the public number of records is stated; here it is n.
      const privacy::GridFeatures& grid = neighbours == privacy::Neighbours::kReplaceOne ? *known : *stated;
      Purse purse(target, delta, neighbours);
      const auto bits = privacy::SecureGenerator::from_system().value();
      privacy::Gate gate = purse.gate(*bits);
      const algorithms::PrivateTerms terms{
          .target = {*privacy::Epsilon::make(target), *privacy::Delta::make(delta), neighbours},
          .features = &grid,
          .gate = &gate};
      const glm::Objective objective{.task = glm::Task::kLogistic,
                                     .intercept = number(options, "intercept").value_or(0) != 0
                                                      ? glm::Intercept::kPenalised
                                                      : glm::Intercept::kNone};
      const double cpu = cpu_seconds();
      const double wall = wall_seconds();
      auto trained = train(verb, {grid.matrix(), data.labels, objective, open ? nullptr : &terms}, options);
      if (!trained) {
        std::printf("error %s\n", trained.error().message.c_str());
      } else {
        fit = *std::move(trained);
        std::printf("%.9f %.9f %d %.9g\n", cpu_seconds() - cpu, wall_seconds() - wall, fit.iterations, fit.objective);
      }
    }
    std::fflush(stdout);
  }
}
