#include "parley/privacy/mechanisms/label_laplace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace parley::privacy {

Result<LabelLaplace> LabelLaplace::make(double epsilon, std::size_t classes, std::optional<Grain> grain) {
  if (!(epsilon > 0) || !std::isfinite(epsilon))
    return fail(bad_input({.field = "epsilon"}, "must be a finite number above 0", fmt::format("{}", epsilon)));
  if (classes < 2) return fail(bad_input({.field = "classes"}, "must be at least 2", fmt::format("{}", classes)));
  // One step up, because the quotient was rounded.
  const double scale = std::nextafter(2 / epsilon, std::numeric_limits<double>::infinity());
  if (!grain) {
    PARLEY_TRY(grain, Grain::below(std::min(scale, 0x1p20)));
  }
  if (grain->exponent > 0 || grain->exponent < -60)
    return fail(
        bad_input({.field = "grain"}, "must lie between 2^-60 and 1 for labels", fmt::format("2^{}", grain->exponent)));
  PARLEY_TRY(DiscreteLaplaceNoise noise, DiscreteLaplaceNoise::make(scale, *grain));
  return LabelLaplace(classes, std::move(noise));
}

Result<std::vector<std::int64_t>> LabelLaplace::release(std::span<const std::size_t> labels, Bits& bits) const {
  std::vector<std::int64_t> rows(labels.size() * classes_);
  const std::int64_t one = std::int64_t{1} << -noise_.grain().exponent;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] >= classes_)
      return fail(bad_input({.field = "label"}, fmt::format("must be below the number of classes, {}", classes_),
                            fmt::format("{}", labels[i])));
    rows[i * classes_ + labels[i]] = one;
  }
  noise_.add_to(rows, bits);
  return rows;
}

std::vector<std::size_t> LabelLaplace::most_likely(std::span<const std::int64_t> released) const {
  std::vector<std::size_t> labels;
  for (std::size_t row = 0; row + classes_ <= released.size(); row += classes_) {
    const auto entries = released.subspan(row, classes_);
    labels.push_back(static_cast<std::size_t>(std::max_element(entries.begin(), entries.end()) - entries.begin()));
  }
  return labels;
}

DiscreteLaplace LabelLaplace::event() const {
  return noise_.event(noise_.grain().grains(2.0), static_cast<std::int64_t>(classes_));
}

}  // namespace parley::privacy
