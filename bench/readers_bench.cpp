// readers_bench FILE KIND THREADS REPEATS: reads a file as `parley train` would and prints one JSON line
// per read: seconds of the wall clock, of the processor, and the shape. With REPEATS = 1 the peak of
// resident memory is that of a single read.
#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>

#include "parley/core/threads.h"
#include "parley/data/load.h"

namespace {

double process_seconds() {
  timespec now = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::size_t peak_resident_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("VmHWM:", 0) == 0) return std::stoul(line.substr(6)) * 1024;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  parley::data::LoadOptions options;
  options.labels = std::string(argv[2]) == "real" ? parley::data::LabelKind::kReal : parley::data::LabelKind::kClasses;
  parley::set_thread_count(std::atoi(argv[3]));
  const std::size_t before = peak_resident_bytes();
  for (int k = 0; k < std::atoi(argv[4]); ++k) {
    const auto wall = std::chrono::steady_clock::now();
    const double cpu = process_seconds();
    const auto data = parley::data::load(argv[1], options);
    const double cpu_seconds = process_seconds() - cpu;
    const double wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - wall).count();
    if (!data) {
      fmt::print(stderr, "{}\n", data.error().message);
      return 1;
    }
    double sum = 0;
    for (const double y : data->labels.values) sum += y;
    fmt::print(
        "{{\"wall\": {}, \"cpu\": {}, \"rows\": {}, \"columns\": {}, \"nonzeros\": {}, \"matrix_bytes\": {}, "
        "\"label_sum\": {}, "
        "\"resident_before\": {}, \"resident_peak\": {}}}\n",
        wall_seconds, cpu_seconds, data->rows(), data->features.cols(), data->features.nonzeros(),
        data->features.bytes(), sum, before, peak_resident_bytes());
  }
  return 0;
}
