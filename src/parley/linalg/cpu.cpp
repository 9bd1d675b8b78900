#include "parley/linalg/cpu.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "parley/linalg/kernels.h"

namespace parley::linalg {

namespace {

CpuLevel first_level() {
  const char* wanted = std::getenv("PARLEY_CPU");
  for (const CpuLevel level : {CpuLevel::kBaseline, CpuLevel::kAvx2, CpuLevel::kAvx512})
    if (wanted != nullptr && name(level) == wanted) return std::min(level, best_cpu_level());
  return best_cpu_level();
}

const Kernels& kernels_of(CpuLevel level) {
  switch (level) {
    case CpuLevel::kAvx512:
      return kernels_avx512();
    case CpuLevel::kAvx2:
      return kernels_avx2();
    case CpuLevel::kBaseline:
      break;
  }
  return kernels_baseline();
}

struct Choice {
  std::atomic<CpuLevel> level{first_level()};
  std::atomic<const Kernels*> table{&kernels_of(level)};
};

Choice& choice() {
  static Choice chosen;
  return chosen;
}

}  // namespace

CpuLevel best_cpu_level() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw"))
    return CpuLevel::kAvx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return CpuLevel::kAvx2;
  return CpuLevel::kBaseline;
}

CpuLevel cpu_level() {
  return choice().level;
}

void set_cpu_level(CpuLevel wanted) {
  const CpuLevel level = std::min(wanted, best_cpu_level());
  choice().level = level;
  choice().table = &kernels_of(level);
}

const Kernels& kernels() {
  return *choice().table.load(std::memory_order_relaxed);
}

std::string_view name(CpuLevel level) {
  switch (level) {
    case CpuLevel::kAvx512:
      return "avx512";
    case CpuLevel::kAvx2:
      return "avx2";
    case CpuLevel::kBaseline:
      break;
  }
  return "baseline";
}

}  // namespace parley::linalg
