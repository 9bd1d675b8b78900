#include "parley/algorithms/frank_wolfe/frank_wolfe_scan.h"

#include <algorithm>
#include <bit>
#include <cassert>

#include "parley/linalg/cpu.h"
#include "parley/linalg/vectors.h"

namespace parley::algorithms {

namespace {

constexpr std::size_t kBlock = 512;  // places: what a block needs stays in the first-level cache
constexpr std::size_t kLanes = 32;   // enough independent maxima to hide the latency of one

// The largest of `bar` and the sizes. Lanes are folded only when one of them is above the bar.
inline __attribute__((always_inline)) double largest_of(double s, const double* x, const double* c, std::size_t count,
                                                        double bar) {
  double lanes[kLanes];
  std::fill_n(lanes, kLanes, bar);
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (std::size_t l = 0; l < kLanes; ++l) {
      const double size = __builtin_fabs(s * x[i + l] - c[i + l]);
      lanes[l] = lanes[l] < size ? size : lanes[l];
    }
  for (; i < count; ++i) lanes[0] = std::max(lanes[0], __builtin_fabs(s * x[i] - c[i]));
  std::int64_t above = 0;  // as wide as a lane, so that lanes are compared together
  for (std::size_t l = 0; l < kLanes; ++l) above |= lanes[l] > bar ? 1 : 0;
  if (above == 0) return bar;
  for (std::size_t half = kLanes / 2; half > 0; half /= 2)
    for (std::size_t l = 0; l < half; ++l) lanes[l] = lanes[l] < lanes[l + half] ? lanes[l + half] : lanes[l];
  return lanes[0];
}

double largest_baseline(double s, const double* x, const double* c, std::size_t count, double bar) {
  return largest_of(s, x, c, count, bar);
}
#if defined(__x86_64__)
__attribute__((target("avx2"))) double largest_avx2(double s, const double* x, const double* c, std::size_t count,
                                                    double bar) {
  return largest_of(s, x, c, count, bar);
}
__attribute__((target("avx512f,avx512dq,avx512vl,prefer-vector-width=512"))) double largest_avx512(
    double s, const double* x, const double* c, std::size_t count, double bar) {
  return largest_of(s, x, c, count, bar);
}
#endif

auto* best_largest() {
  auto* largest = &largest_baseline;
#if defined(__x86_64__)
  if (linalg::cpu_level() == linalg::CpuLevel::kAvx2) largest = &largest_avx2;
  if (linalg::cpu_level() == linalg::CpuLevel::kAvx512) largest = &largest_avx512;
#endif
  return largest;
}

std::size_t block_count(std::size_t size) {
  return (size + kBlock - 1) / kBlock;
}

// The maximum over blocks that are shown in order.
class Search {
 public:
  Search(double s, std::span<const double> x, std::span<const double> c) : s_(s), x_(x), c_(c) {
    assert(x.size() == c.size());
  }

  void see(std::size_t block) {
    const std::size_t begin = block * kBlock;
    const double size =
        largest_(s_, x_.data() + begin, c_.data() + begin, std::min(kBlock, x_.size() - begin), best_.size);
    if (size > best_.size) best_ = {begin, size};
  }

  // The same sums again, in strides of the lanes until one has it.
  Largest found() {
    std::size_t& at = best_.index;
    while (at + kLanes <= x_.size() && largest_(s_, x_.data() + at, c_.data() + at, kLanes, -1) != best_.size)
      at += kLanes;
    while (__builtin_fabs(s_ * x_[at] - c_[at]) != best_.size) ++at;
    return best_;
  }

 private:
  double s_;
  std::span<const double> x_, c_;
  decltype(&largest_baseline) largest_ = best_largest();
  Largest best_{0, -1};
};

}  // namespace

Largest largest_difference(double s, std::span<const double> x, std::span<const double> c) {
  Search search(s, x, c);
  for (std::size_t block = 0; block < block_count(x.size()); ++block) search.see(block);
  return search.found();
}

PackedColumn SparseSum::take() {
  static_assert(kBlock % kBits == 0);
  std::size_t total = 0;
  for (const std::uint64_t bits : touched_) total += static_cast<std::size_t>(std::popcount(bits));
  PackedColumn packed;
  packed.starts_.reserve(block_count(sums_.size()) + 1);
  packed.places_.resize(total);
  packed.values_.resize(total);
  std::uint32_t count = 0;
  for (std::size_t word = 0; word < touched_.size(); ++word) {
    if (word * kBits % kBlock == 0) packed.starts_.push_back(count);
    for (std::uint64_t bits = std::exchange(touched_[word], 0); bits != 0; bits &= bits - 1) {
      const std::size_t at = word * kBits + static_cast<std::size_t>(std::countr_zero(bits));
      packed.places_[count] = static_cast<std::uint16_t>(at % kBlock);
      packed.values_[count++] = std::exchange(sums_[at], 0.0);
    }
  }
  packed.starts_.push_back(count);
  return packed;
}

std::size_t PackedColumn::bytes() const {
  return starts_.size() * sizeof(starts_[0]) + places_.size() * sizeof(places_[0]) +
         values_.size() * sizeof(values_[0]);
}

void PackedColumn::add_block(std::size_t block, std::span<double> x, double a) const {
  const std::size_t begin = block * kBlock;
  if (starts_.empty()) {
    const std::size_t count = std::min(kBlock, x.size() - begin);
    return linalg::axpy(a, std::span(values_).subspan(begin, count), x.subspan(begin, count));
  }
  double* const at = x.data() + begin;
  for (std::uint32_t k = starts_[block]; k < starts_[block + 1]; ++k) at[places_[k]] += a * values_[k];
}

void PackedColumn::add_to(std::span<double> x, double a) const {
  for (std::size_t block = 0; block < block_count(x.size()); ++block) add_block(block, x, a);
}

Largest PackedColumn::add_and_find_largest(std::span<double> x, double a, double s, std::span<const double> c) const {
  Search search(s, x, c);
  // One block behind the additions: a wide register waits for narrow stores that are still under way.
  const std::size_t blocks = block_count(x.size());
  for (std::size_t block = 0; block < blocks; ++block) {
    add_block(block, x, a);
    if (block > 0) search.see(block - 1);
  }
  search.see(blocks - 1);
  return search.found();
}

}  // namespace parley::algorithms
