// Threads whose number never changes a result.
//
// Work is cut into chunks whose borders depend on the problem alone; threads only decide who does
// which chunk. A reduction adds the chunks' partial results in chunk order.
//
// How threads wait (threads.cpp): nobody holds a core for long without work. Whoever calls does chunks itself, and
// calls helpers only when what is left is worth it. Helpers belong to the process, not to the caller: parties of one
// process, and chunks that have chunks of their own, share the same cores.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <vector>

namespace parley {

// Number of threads kernels may use; by default what the machine has.
int thread_count();
void set_thread_count(int threads);

inline std::size_t chunk_count(std::size_t size, std::size_t grain) {
  return (size + grain - 1) / grain;
}

// How long an item took at one place of the code when it was there before, in nanoseconds. It decides who works, never
// what comes out.
struct Pace {
  std::atomic<float> per_item{0};
};

// Chunks 0..chunks-1, each run once, in any order, by this thread and others.
struct SharedWork {
  void (*run)(const void* body, std::size_t chunk) = nullptr;
  const void* body = nullptr;
  std::size_t chunks = 0;
  std::size_t items = 0;
};
void share(const SharedWork& work, Pace& pace);           // with helpers if it is worth it
void share_at_once(const SharedWork& work, int threads);  // with helpers, if any are free

// body(begin, end) for every chunk of `grain` items; chunks run in any order. What one throws, the caller gets.
template <class Body>
void parallel_chunks(std::size_t size, std::size_t grain, const Body& body) {
  const std::size_t chunks = chunk_count(size, grain);
  const auto run = [&](std::size_t c) { body(c * grain, std::min(size, (c + 1) * grain)); };
  if (chunks <= 1 || thread_count() <= 1) {
    for (std::size_t c = 0; c < chunks; ++c) run(c);
    return;
  }
  static constinit Pace pace;  // of this body: every lambda is a type of its own
  share({[](const void* it, std::size_t c) { (*static_cast<const decltype(run)*>(it))(c); }, &run, chunks, size}, pace);
}

// body() in several threads at once, this one among them, `threads` of them if that many are free; returns when all
// have. Where fewer are free, some call it again, so it must return at once when nothing is left to do.
template <class Body>
void on_threads(int threads, const Body& body) {
  if (threads <= 1) return body();
  const auto calls = static_cast<std::size_t>(threads);
  share_at_once({[](const void* it, std::size_t) { (*static_cast<const Body*>(it))(); }, &body, calls, calls}, threads);
}

// Sum of body(begin, end) over the chunks, added in chunk order.
template <class Body>
double parallel_sum(std::size_t size, std::size_t grain, const Body& body) {
  std::vector<double> partial(chunk_count(size, grain));
  parallel_chunks(size, grain, [&](std::size_t begin, std::size_t end) { partial[begin / grain] = body(begin, end); });
  double sum = 0;
  for (const double p : partial) sum += p;
  return sum;
}

}  // namespace parley
