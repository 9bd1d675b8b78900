// The selection of a Gram-mode step: the largest |s x_l - c_l| and where it is. It is vectorised for the CPU at hand (a
// maximum does not depend on the order, so the result does not either), and the step before it adds its Gram column in
// the same pass: x and c leave the second-level cache once a step.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace parley::algorithms {

struct Largest {
  std::size_t index = 0;  // the smallest one in a tie
  double size = 0;
};

Largest largest_difference(double s, std::span<const double> x, std::span<const double> c);

// A column by its places that are not zero, or whole.
class PackedColumn {
 public:
  explicit PackedColumn(std::vector<double> whole) : values_(std::move(whole)) {}

  [[nodiscard]] std::size_t bytes() const;

  // x += a column
  void add_to(std::span<double> x, double a) const;
  // The same, and then the largest |s x_l - c_l|.
  Largest add_and_find_largest(std::span<double> x, double a, double s, std::span<const double> c) const;

 private:
  friend class SparseSum;
  PackedColumn() = default;
  void add_block(std::size_t block, std::span<double> x, double a) const;

  std::vector<std::uint32_t> starts_;  // of each block's entries, and their end; none for a whole column
  std::vector<std::uint16_t> places_;  // counted from the begin of the block
  std::vector<double> values_;
};

// A sum that knows which of its places were added to.
class SparseSum {
 public:
  explicit SparseSum(std::size_t size) : sums_(size), touched_((size + kBits - 1) / kBits) {}

  void add(std::size_t at, double value) {
    sums_[at] += value;
    touched_[at / kBits] |= std::uint64_t{1} << at % kBits;
  }
  PackedColumn take();  // what was added; nothing is left

 private:
  static constexpr std::size_t kBits = 64;
  std::vector<double> sums_;
  std::vector<std::uint64_t> touched_;
};

}  // namespace parley::algorithms
