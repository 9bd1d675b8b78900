// Answers timing questions about `exact`, one line each, so that a script can alternate it with its peers.
//
//   load FILE              rows, columns (int64), then offsets (int64), columns (int32), values, labels
//   (double) threads N solve TASK L2 STOP     no intercept; stops when the objective is at most STOP
//     -> cpu seconds, wall seconds, objective, gap, iterations
//   trace TASK L2          the same, with one line per iteration on stderr
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "parley/algorithms/exact.h"
#include "parley/core/threads.h"

namespace {

using namespace parley;

struct Clock {
  double cpu = cpu_now();
  double wall = wall_now();

  static double cpu_now() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  }
  static double wall_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }
};

struct Data {
  linalg::Matrix features;
  std::vector<double> labels;
};

template <class T>
std::vector<T> read(std::ifstream& file, std::size_t count) {
  std::vector<T> values(count);
  file.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(count * sizeof(T)));
  return values;
}

Data load(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return {};
  const auto shape = read<std::int64_t>(file, 2);
  const auto rows = static_cast<std::size_t>(shape[0]);
  const auto offsets = read<std::int64_t>(file, rows + 1);
  const auto count = static_cast<std::size_t>(offsets.back());
  const auto columns = read<std::int32_t>(file, count);
  const auto values = read<double>(file, count);
  Data data;
  data.labels = read<double>(file, rows);
  data.features =
      linalg::Matrix::from_rows(static_cast<linalg::Index>(shape[1]),
                                std::vector<std::size_t>(offsets.begin(), offsets.end()), columns, values);
  return data;
}

void solve(const Data& data, std::istream& words, bool trace) {
  std::string task;
  glm::Objective objective;
  double stop = -1;
  words >> task >> objective.l2 >> stop;
  for (const glm::Task known : {glm::Task::kLinear, glm::Task::kLogistic, glm::Task::kSquaredHinge})
    if (task == glm::name(known)) objective.task = known;
  const Clock start;
  const auto fit =
      algorithms::exact({data.features, data.labels, objective}, {}, [&](const algorithms::Progress& at) {
        if (trace)
          std::fprintf(stderr, "%3d  cpu %.4f  wall %.4f  objective %.15g  gap %.3g\n", at.iteration,
                       Clock::cpu_now() - start.cpu, Clock::wall_now() - start.wall, at.objective, at.gap);
        return at.objective > stop;
      });
  if (!fit)
    std::printf("error %s\n", fit.error().message.c_str());
  else
    std::printf("%.9f %.9f %.17g %.6g %d\n", Clock::cpu_now() - start.cpu, Clock::wall_now() - start.wall,
                fit->objective, fit->gap, fit->iterations);
}

}  // namespace

int main() {
  Data data;
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
    } else if (verb == "solve" || verb == "trace") {
      solve(data, words, verb == "trace");
    }
    std::fflush(stdout);
  }
}
