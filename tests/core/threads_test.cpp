#include "parley/core/threads.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace parley;

TEST(ParallelSum, IsTheSameForEveryNumberOfThreads) {
  const auto harmonic = [](std::size_t begin, std::size_t end) {
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) sum += 1.0 / static_cast<double>(i + 1);
    return sum;
  };
  set_thread_count(1);
  const double one = parallel_sum(100000, 1000, harmonic);
  set_thread_count(2);
  const double two = parallel_sum(100000, 1000, harmonic);
  set_thread_count(0);
  EXPECT_EQ(one, two);
}

TEST(ParallelChunks, CoversEveryItemOnce) {
  std::vector<int> seen(1234);
  parallel_chunks(seen.size(), 100, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) ++seen[i];
  });
  for (const int count : seen) EXPECT_EQ(count, 1);
}
