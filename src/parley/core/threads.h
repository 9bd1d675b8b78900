// Threads whose number never changes a result.
//
// Work is cut into chunks whose borders depend on the problem alone; threads only decide who does
// which chunk. A reduction adds the chunks' partial results in chunk order.
#pragma once
#include <algorithm>
#include <cstddef>
#include <vector>

namespace parley {

// Number of threads kernels may use; by default what the machine has.
int thread_count();
void set_thread_count(int threads);

inline std::size_t chunk_count(std::size_t size, std::size_t grain) {
  return (size + grain - 1) / grain;
}

// body(begin, end) for every chunk of `grain` items; chunks run in any order.
template <class Body>
void parallel_chunks(std::size_t size, std::size_t grain, const Body& body) {
  const auto chunks = static_cast<std::ptrdiff_t>(chunk_count(size, grain));
  const int threads = chunks > 1 ? std::min<int>(thread_count(), static_cast<int>(std::min<std::ptrdiff_t>(chunks, 1 << 16))) : 1;
  if (threads <= 1) {
    for (std::ptrdiff_t c = 0; c < chunks; ++c)
      body(static_cast<std::size_t>(c) * grain, std::min(size, (static_cast<std::size_t>(c) + 1) * grain));
    return;
  }
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (std::ptrdiff_t c = 0; c < chunks; ++c)
    body(static_cast<std::size_t>(c) * grain, std::min(size, (static_cast<std::size_t>(c) + 1) * grain));
}

// body() in several threads at once, this one among them, `threads` of them if they are to be had; returns when all have.
template <class Body>
void on_threads(int threads, const Body& body) {
  if (threads <= 1) return body();
#pragma omp parallel num_threads(threads)
  body();
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
