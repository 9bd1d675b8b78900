// The largest of many scores of which few change at a time: maxima of groups of 256 are kept, a changed score marks
// its group, and a look scans the marked groups and the maxima. Of equal scores the lower index wins.
#pragma once
#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace parley::algorithms {

class LargestScore {
 public:
  explicit LargestScore(std::size_t size)
      : scores_(size), largest_((size + kGroup - 1) / kGroup), marked_(largest_.size(), 1) {}

  void update(std::size_t index, double score) {
    scores_[index] = score;
    marked_[index / kGroup] = 1;
  }

  std::size_t select() {
    for (std::size_t group = 0; group < largest_.size(); ++group) {
      if (marked_[group] == 0) continue;
      const auto in = of_group(group);
      largest_[group] = *std::max_element(in.begin(), in.end());
      marked_[group] = 0;
    }
    const auto best = static_cast<std::size_t>(std::max_element(largest_.begin(), largest_.end()) - largest_.begin());
    const auto in = of_group(best);
    return best * kGroup + static_cast<std::size_t>(std::find(in.begin(), in.end(), largest_[best]) - in.begin());
  }
  [[nodiscard]] double operator[](std::size_t index) const { return scores_[index]; }

 private:
  static constexpr std::size_t kGroup = 256;
  [[nodiscard]] std::span<const double> of_group(std::size_t group) const {
    return std::span(scores_).subspan(group * kGroup, std::min(kGroup, scores_.size() - group * kGroup));
  }
  std::vector<double> scores_;
  std::vector<double> largest_;
  std::vector<char> marked_;
};

}  // namespace parley::algorithms
