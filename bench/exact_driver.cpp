// Answers timing questions about `exact`, one line each, so that a script can alternate it with its peers.
//
//   load FILE                        rows, columns (int64), offsets (int64), columns (int32), values, labels
//   solve TASK L1 L2 RADIUS STOP     RADIUS < 0: none. Stops when the objective is at most STOP.
//     -> cpu seconds, wall seconds, objective, gap, iterations, nonzeros
//   trace TASK L1 L2 RADIUS          one line per iteration to stderr
//   threads N
//   model FILE                       the weights of the last solve, as doubles
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "bench/driver.h"
#include "parley/algorithms/exact/exact.h"
#include "parley/core/threads.h"

namespace {

using namespace parley;
using namespace parley::bench;

glm::Objective objective(std::istream& words, const Data& data) {
  std::string task;
  double radius = -1;
  glm::Objective result;
  words >> task >> result.l1 >> result.l2 >> radius;
  if (radius >= 0) result.l1_radius = radius;
  for (const glm::Task known :
       {glm::Task::kLinear, glm::Task::kLogistic, glm::Task::kSquaredHinge, glm::Task::kSoftmax})
    if (task == glm::name(known)) result.task = known;
  if (result.task == glm::Task::kSoftmax)
    for (const double label : data.labels) result.classes = std::max(result.classes, static_cast<int>(label) + 1);
  return result;
}

}  // namespace

int main() {
  Data data;
  std::vector<double> weights;
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string verb;
    words >> verb;
    if (verb == "load") {
      std::string path;
      words >> path;
      data = load(path);
      std::printf("%d %d\n", data.features.rows(), data.features.cols());
    } else if (verb == "threads") {
      int threads = 1;
      words >> threads;
      set_thread_count(threads);
      std::printf("ok\n");
    } else if (verb == "model") {
      std::string path;
      words >> path;
      std::ofstream(path, std::ios::binary)
          .write(reinterpret_cast<const char*>(weights.data()),
                 static_cast<std::streamsize>(weights.size() * sizeof(double)));
      std::printf("ok\n");
    } else if (verb == "solve" || verb == "trace") {
      const glm::Objective wanted = objective(words, data);
      double stop = -1;
      words >> stop;
      const double cpu = cpu_seconds();
      const double wall = wall_seconds();
      const auto fit = algorithms::exact({data.features, data.labels, wanted}, {}, [&](const algorithms::Progress& at) {
        if (verb == "trace")
          std::fprintf(stderr, "%3d  cpu %.4f  wall %.4f  objective %.15g  gap %.3g\n", at.iteration,
                       cpu_seconds() - cpu, wall_seconds() - wall, at.objective, at.gap);
        return at.objective > stop;
      });
      if (!fit) {
        std::printf("error %s\n", fit.error().message.c_str());
      } else {
        std::size_t nonzeros = 0;
        for (const double w : fit->weights) nonzeros += w != 0 ? 1 : 0;
        std::printf("%.9f %.9f %.17g %.6g %d %zu\n", cpu_seconds() - cpu, wall_seconds() - wall, fit->objective,
                    fit->gap, fit->iterations, nonzeros);
        weights = fit->weights;
      }
    }
    std::fflush(stdout);
  }
}
