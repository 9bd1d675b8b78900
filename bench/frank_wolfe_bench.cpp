// Frank-Wolfe at n = 2000, d = 20000, T = 1000: least squares with cached Gram columns beside the plain mode,
// in one process, alternating; and logistic regression. Prints the median of the per-pair ratios and how far
// apart the two objectives are.
//
// One thread is measured in CPU time, all threads by the clock on the wall.
//
//   frank_wolfe_bench [DENSITY...]      shares of nonzeros; 1 is dense; default 0.01 0.1 1
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <vector>

#include "parley/algorithms/frank_wolfe/frank_wolfe.h"
#include "parley/core/threads.h"
#include "parley/glm/metrics.h"

using namespace parley;
using namespace parley::algorithms;

namespace {

constexpr int kRows = 2000;
constexpr int kColumns = 20000;
constexpr int kIterations = 1000;
constexpr double kModelDensity = 0.01;
constexpr double kNoise = 0.001;
constexpr int kPairs = 5;

struct Data {
  linalg::Matrix features;
  std::vector<double> labels;
  double truth_norm = 0;
};

// The sparse-regression data of the papers: N(0, 1) entries at random places, a sparse N(0, 1) model, little noise.
Data sparse_regression(double density, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  std::vector<double> truth(kColumns);
  Data data;
  for (double& w : truth) {
    w = uniform(random) < kModelDensity ? normal(random) : 0.0;
    data.truth_norm += std::abs(w);
  }
  std::vector<std::size_t> offsets{0};
  std::vector<linalg::Index> columns;
  std::vector<double> values;
  std::geometric_distribution<int> skip(std::min(density, 1.0 - 1e-12));
  for (int i = 0; i < kRows; ++i) {
    double label = kNoise * normal(random);
    for (int j = density < 1 ? skip(random) : 0; j < kColumns; j += 1 + (density < 1 ? skip(random) : 0)) {
      columns.push_back(j);
      values.push_back(normal(random));
      label += values.back() * truth[static_cast<std::size_t>(j)];
    }
    offsets.push_back(columns.size());
    data.labels.push_back(label);
  }
  data.features = linalg::Matrix::from_rows(kColumns, offsets, columns, values);
  return data;
}

struct Timed {
  double seconds = 0;
  Fit fit;
};

double seconds_now() {
  if (thread_count() == 1)
    return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;  // CPU time: other work cannot hide
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Timed timed(const Problem& problem, const FrankWolfeSettings& settings) {
  const double begin = seconds_now();
  auto fit = frank_wolfe(problem, settings, {});
  const double took = seconds_now() - begin;
  if (!fit) {
    std::fprintf(stderr, "%s\n", fit.error().message.c_str());
    std::exit(1);
  }
  return {took, std::move(*fit)};
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void compare(const Data& data, double density, double radius_share, FrankWolfeStep step, const char* step_name) {
  const Problem problem{
      data.features, data.labels, {.task = glm::Task::kLinear, .l1_radius = radius_share * data.truth_norm}};
  const FrankWolfeSettings gram{
      .iterations = kIterations, .step = step, .gap_tolerance = 0, .mode = FrankWolfeMode::kGram};
  FrankWolfeSettings plain = gram;
  plain.mode = FrankWolfeMode::kPlain;
  std::vector<double> ratios, plain_seconds, gram_seconds;
  double difference = 0;
  Fit last;
  const int pairs = density > 0.05 ? 1 : kPairs;  // a dense plain run alone takes half a minute
  for (int pair = 0; pair < pairs; ++pair) {
    const Timed slow = timed(problem, plain);
    const Timed fast = timed(problem, gram);
    ratios.push_back(slow.seconds / fast.seconds);
    plain_seconds.push_back(slow.seconds);
    gram_seconds.push_back(fast.seconds);
    difference = std::abs(slow.fit.objective - fast.fit.objective) / slow.fit.objective;
    last = fast.fit;
  }
  std::printf("%-8d %-8g %-10.3g %-12s %9.2f %9.2f %8.1f   %9.1e   %.6g  %zu\n", thread_count(), density,
              radius_share * data.truth_norm, step_name, 1e3 * median(plain_seconds), 1e3 * median(gram_seconds),
              median(ratios), difference, last.objective, glm::nonzeros(last.weights));
  std::fflush(stdout);
}

}  // namespace

int main(int count, char** arguments) {
  std::vector<double> densities;
  for (int i = 1; i < count; ++i) densities.push_back(std::atof(arguments[i]));
  if (densities.empty()) densities = {0.01, 0.1, 1};
  std::printf("n = %d, d = %d, T = %d; model density %g\n", kRows, kColumns, kIterations, kModelDensity);
  std::printf(
      "threads  density  radius     step          plain ms   gram ms    ratio   rel. diff   objective  "
      "nonzeros\n");
  for (const double density : densities) {
    const Data data = sparse_regression(density, 1);
    Data signs = data;
    for (double& y : signs.labels) y = y > 0 ? 1 : -1;
    const Problem logistic{signs.features, signs.labels, {.task = glm::Task::kLogistic, .l1_radius = 20.0}};
    for (const int threads : {1, 0}) {
      set_thread_count(threads);
      for (const double share : {0.1, 1.0}) {
        compare(data, density, share, FrankWolfeStep::kOpenLoop, "2/(t+2)");
        if (density <= 0.05) compare(data, density, share, FrankWolfeStep::kLineSearch, "line search");
      }
      const int iterations = density > 0.05 ? 50 : 200;
      const Timed run =
          timed(logistic, {.iterations = iterations, .step = FrankWolfeStep::kOpenLoop, .gap_tolerance = 0});
      std::printf("%-8d %-8g logistic: %.3f ms per step, objective %.6g\n", thread_count(), density,
                  1e3 * run.seconds / iterations, run.fit.objective);
      std::fflush(stdout);
    }
  }
}
