// Numbers that travel as they are, or rounded to half the bytes.
#pragma once
#include <cstddef>
#include <utility>
#include <vector>

namespace parley::algorithms {

enum class NumberWidth { kFloat64, kFloat32 };

struct TravellingNumbers {
  std::vector<double> wide;
  std::vector<float> narrow;  // in their place
  static void fields(auto& self, auto&& visit) { visit(self.wide, self.narrow); }

  static TravellingNumbers of(std::vector<double> numbers, NumberWidth width) {
    if (width == NumberWidth::kFloat64) return {std::move(numbers), {}};
    return {{}, {numbers.begin(), numbers.end()}};
  }
  [[nodiscard]] std::size_t size() const { return wide.size() + narrow.size(); }
  [[nodiscard]] std::vector<double> numbers() const {
    std::vector<double> all(wide);
    all.insert(all.end(), narrow.begin(), narrow.end());
    return all;
  }
};

}  // namespace parley::algorithms
