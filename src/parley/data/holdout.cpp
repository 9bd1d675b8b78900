#include "parley/data/holdout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "parley/core/text.h"

namespace parley::data {

namespace {

std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

}  // namespace

Result<Holdout> hold_out(std::size_t rows, double fraction, std::uint64_t seed) {
  if (!(fraction > 0 && fraction < 1))
    return fail(bad_input({.field = "data.test_fraction"}, "must lie between 0 and 1, both excluded",
                          fmt::format("{}", fraction)));
  const auto count = static_cast<std::size_t>(std::llround(fraction * static_cast<double>(rows)));
  if (count == 0 || count >= rows)
    return fail(
        bad_input({.field = "data.test_fraction"},
                  fmt::format("leaves {} of {} for testing; both sides need at least one", count, counted(rows, "row")),
                  fmt::format("{}", fraction)));
  const std::uint64_t start = mix(seed);
  const auto hash = [start](linalg::Index i) {
    return mix(start + static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15);
  };
  std::vector<linalg::Index> order(rows);
  std::iota(order.begin(), order.end(), linalg::Index{0});
  const auto border = order.begin() + static_cast<std::ptrdiff_t>(count);
  std::nth_element(order.begin(), border, order.end(), [&](linalg::Index a, linalg::Index b) {
    const std::uint64_t ha = hash(a);
    const std::uint64_t hb = hash(b);
    return ha != hb ? ha < hb : a < b;
  });
  Holdout split{{border, order.end()}, {order.begin(), border}};
  std::sort(split.train.begin(), split.train.end());
  std::sort(split.test.begin(), split.test.end());
  return split;
}

Result<TrainTest> hold_out(const Dataset& all, double fraction, std::uint64_t seed) {
  PARLEY_TRY(const Holdout split, hold_out(all.rows(), fraction, seed));
  return TrainTest{all.select_rows(split.train), all.select_rows(split.test)};
}

}  // namespace parley::data
