#include "parley/privacy/mechanisms/top_k.h"

#include <fmt/format.h>

#include <numeric>

#include "parley/privacy/mechanisms/exponential_tree.h"

namespace parley::privacy {

Result<TopK> TopK::make(const SelectionSettings& settings, std::size_t k) {
  if (k == 0) return fail(bad_input({.field = "k"}, "must be at least 1", "0"));
  PARLEY_TRY(ExponentialSelection pick, ExponentialSelection::make(settings));
  return TopK(std::move(pick), k);
}

Result<void> TopK::check(std::span<const double> scores) const {
  if (scores.size() < k_)
    return fail(bad_input({.field = "scores"}, fmt::format("must be at least k = {} in number", k_),
                          fmt::format("{}", scores.size())));
  return {};
}

Result<std::vector<std::size_t>> TopK::one_shot(std::span<const double> scores, Bits& bits) const {
  PARLEY_CHECK(check(scores));
  PARLEY_TRY(ExponentialTree tree, ExponentialTree::make(pick_, scores));
  std::vector<std::size_t> picked;
  while (picked.size() < k_) {
    PARLEY_TRY(const std::size_t index, tree.select(bits));
    tree.remove(index);
    picked.push_back(index);
  }
  return picked;
}

Result<std::vector<std::size_t>> TopK::peel(std::span<const double> scores, Bits& bits) const {
  PARLEY_CHECK(check(scores));
  std::vector<double> left(scores.begin(), scores.end());
  std::vector<std::size_t> index(scores.size());
  std::iota(index.begin(), index.end(), std::size_t{0});
  std::vector<std::size_t> picked;
  while (picked.size() < k_) {
    PARLEY_TRY(const std::size_t at, pick_.select(left, bits));
    picked.push_back(index[at]);
    left[at] = left.back();
    index[at] = index.back();
    left.pop_back();
    index.pop_back();
  }
  return picked;
}

}  // namespace parley::privacy
