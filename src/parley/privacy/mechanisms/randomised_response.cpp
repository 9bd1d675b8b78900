#include "parley/privacy/mechanisms/randomised_response.h"

#include <fmt/format.h>

#include <cmath>

namespace parley::privacy {

Result<RandomisedResponse> RandomisedResponse::make(double epsilon, std::size_t classes) {
  if (classes < 2) return fail(bad_input({.field = "classes"}, "must be at least 2", fmt::format("{}", classes)));
  PARLEY_TRY(ScoreWeights coin, ScoreWeights::with_rate(epsilon));
  return RandomisedResponse(epsilon, classes, std::move(coin));
}

double RandomisedResponse::truth_probability() const {
  return 1 / (1 + static_cast<double>(classes_ - 1) * std::exp(-epsilon_));
}

Result<void> RandomisedResponse::check(std::size_t label) const {
  if (label >= classes_)
    return fail(bad_input({.field = "label"}, fmt::format("must be below the number of classes, {}", classes_),
                          fmt::format("{}", label)));
  return {};
}

std::size_t RandomisedResponse::draw(std::size_t truth, Bits& bits) const {
  for (;;) {
    const std::size_t candidate = bits.below(classes_);
    if (candidate == truth || coin_.flip(1, bits)) return candidate;
  }
}

Result<std::size_t> RandomisedResponse::respond(std::size_t truth, Bits& bits) const {
  PARLEY_CHECK(check(truth));
  return draw(truth, bits);
}

Result<void> RandomisedResponse::respond(std::span<std::size_t> labels, Bits& bits) const {
  for (const std::size_t label : labels) PARLEY_CHECK(check(label));
  for (std::size_t& label : labels) label = draw(label, bits);
  return {};
}

}  // namespace parley::privacy
