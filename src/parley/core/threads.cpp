#include "parley/core/threads.h"

#include <omp.h>

#include <atomic>

namespace parley {

namespace {
std::atomic<int> chosen{0};
}

int thread_count() {
  const int threads = chosen.load(std::memory_order_relaxed);
  return threads > 0 ? threads : omp_get_num_procs();
}

void set_thread_count(int threads) {
  chosen.store(threads, std::memory_order_relaxed);
}

}  // namespace parley
