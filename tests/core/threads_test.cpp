#include "parley/core/threads.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <latch>
#include <numeric>
#include <stdexcept>
#include <thread>

#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define PARLEY_THREAD_SANITIZER
#endif
#endif

using namespace parley;

namespace {

double harmonic(std::size_t begin, std::size_t end) {
  double sum = 0;
  for (std::size_t i = begin; i < end; ++i) sum += 1.0 / static_cast<double>(i + 1);
  return sum;
}

class Threads : public ::testing::Test {
 protected:
  ~Threads() override { set_thread_count(0); }
};

}  // namespace

TEST(ParallelSum, IsTheSameForEveryNumberOfThreads) {
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

// Of every length: what is done alone, what is handed on when it takes longer, what is posted at once.
TEST_F(Threads, CoverEveryItemOnceHoweverLongItTakes) {
  set_thread_count(3);
  for (int repeat = 0; repeat < 3; ++repeat)
    for (const std::size_t size : std::vector<std::size_t>{2, 17, 100, 1000, 20000}) {
      std::vector<int> seen(size);
      std::vector<double> sums(size);
      parallel_chunks(size, 3, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
          ++seen[i];
          sums[i] = harmonic(0, 20);
        }
      });
      EXPECT_EQ(std::accumulate(seen.begin(), seen.end(), 0), static_cast<int>(size));
      EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), static_cast<std::ptrdiff_t>(size));
    }
}

TEST_F(Threads, ComeWhenTheyAreWaitedFor) {
  for (const int threads : {2, 5}) {
    std::latch all(threads);
    std::atomic<int> calls{0};
    on_threads(threads, [&] {
      ++calls;
      all.arrive_and_wait();
    });
    EXPECT_EQ(calls, threads);
  }
}

TEST_F(Threads, HelpInsideChunksToo) {
  set_thread_count(4);
  std::vector<double> outer(6);
  for (int repeat = 0; repeat < 50; ++repeat)
    parallel_chunks(outer.size(), 1,
                    [&](std::size_t chunk, std::size_t) { outer[chunk] = parallel_sum(20000, 500, harmonic); });
  set_thread_count(1);
  const double alone = parallel_sum(20000, 500, harmonic);
  for (const double sum : outer) EXPECT_EQ(sum, alone);
}

TEST_F(Threads, AreSharedByCallersThatDoNotKnowOfEachOther) {
  set_thread_count(3);
  const double expected = parallel_sum(50000, 100, harmonic);
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 8; ++c)
    callers.emplace_back([&] {
      for (int repeat = 0; repeat < 40; ++repeat) wrong += parallel_sum(50000, 100, harmonic) != expected;
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(Threads, WhatAChunkThrowsReachesTheCaller) {
  set_thread_count(3);
  for (int repeat = 0; repeat < 20; ++repeat) {
    EXPECT_THROW(parallel_chunks(1000, 1,
                                 [&](std::size_t begin, std::size_t) {
                                   if (harmonic(0, 200) > 0 && begin == 700) throw std::runtime_error("chunk");
                                 }),
                 std::runtime_error);
    std::latch both(2);
    EXPECT_THROW(on_threads(2,
                            [&] {
                              both.arrive_and_wait();
                              throw std::runtime_error("call");
                            }),
                 std::runtime_error);
  }
  EXPECT_EQ(parallel_sum(1000, 10, [](std::size_t begin, std::size_t end) { return static_cast<double>(end - begin); }),
            1000);
}

TEST_F(Threads, AreThereInAForkedChild) {
#ifdef PARLEY_THREAD_SANITIZER
  GTEST_SKIP() << "the thread sanitizer follows no threads of a forked child";
#endif
  set_thread_count(2);
  const double expected = parallel_sum(200000, 100, harmonic);
  const pid_t child = ::fork();
  if (child == 0) {
    std::latch both(2);
    on_threads(2, [&] { both.arrive_and_wait(); });
    ::_exit(parallel_sum(200000, 100, harmonic) == expected ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

// Ten sums are done before anybody would have come. Of a thousand such jobs a busy machine may interrupt some, not
// half.
TEST_F(Threads, AreNotCalledForSmallWork) {
  set_thread_count(2);
  const auto caller = std::this_thread::get_id();
  int alone = 0;
  for (int job = 0; job < 1000; ++job) {
    std::atomic<int> others{0};
    parallel_chunks(8, 1, [&](std::size_t, std::size_t) {
      if (harmonic(0, 10) > 0 && std::this_thread::get_id() != caller) ++others;
    });
    alone += others == 0;
  }
  EXPECT_GT(alone, 500);
}
