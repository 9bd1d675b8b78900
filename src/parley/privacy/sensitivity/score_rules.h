// How the mean gradient of a coordinate becomes the score of a candidate, for ExactSums::scores
// (exact_sums.h). A rule has
//
//   kSides                    candidates per coordinate; candidate v belongs to coordinate v / kSides
//   score(v, gradient)        computed from public numbers and the gradient,
//                             to within 2^-48 slope (|gradient| + offset)
//   slope(coordinate)         |score(v, g) - score(v, g')| <= slope |g - g'|, proved
//   offset(coordinate)        the largest public number, in the gradient's unit, that is added to the gradient or
//                             compared with it: floating point rounds at that size
//
// The slope decides how much noise a selection gets, so a rule is scored only when its proof is in this folder: the
// concept ProvedRule lists those that are, and nobody can add to it from elsewhere. A new rule is a class here, with
// its proof note, and one more line of the concept.
#pragma once
#include <cmath>
#include <concepts>
#include <cstddef>
#include <span>

#include "parley/privacy/sensitivity/greedy_scores.h"

namespace parley::privacy {

// The 2D vertices of the l1 ball: candidate 2c is +e_c, candidate 2c + 1 is -e_c, the score is the descent along it. A
// public gradient (that of a penalty) may be added. Slope 1: the score is linear in the gradient.
struct VertexRule {
  static constexpr std::size_t kSides = 2;
  std::span<const double> public_gradient{};  // empty: none

  [[nodiscard]] double score(std::size_t candidate, double gradient) const {
    const double full = gradient + offset_of(candidate / 2);
    return candidate % 2 == 0 ? -full : full;
  }
  [[nodiscard]] static double slope(std::size_t) { return 1; }
  [[nodiscard]] double offset(std::size_t coordinate) const { return std::abs(offset_of(coordinate)); }

 private:
  [[nodiscard]] double offset_of(std::size_t coordinate) const {
    return public_gradient.empty() ? 0.0 : public_gradient[coordinate];
  }
};

// The first vertex of each pair: the descent along +e_c, which along -e_c is the opposite (SignedBoard). Slope 1.
struct DescentRule {
  static constexpr std::size_t kSides = 1;
  VertexRule vertices{};

  [[nodiscard]] double score(std::size_t c, double gradient) const { return vertices.score(2 * c, gradient); }
  [[nodiscard]] static double slope(std::size_t) { return 1; }
  [[nodiscard]] double offset(std::size_t c) const { return vertices.offset(c); }
};

template <class Rule>
concept ProvedRule = std::same_as<Rule, VertexRule>  // exact_sums.md
    || std::same_as<Rule, DescentRule>               // exact_sums.md
    || std::same_as<Rule, GreedyScores>;             // greedy_scores.md

}  // namespace parley::privacy
