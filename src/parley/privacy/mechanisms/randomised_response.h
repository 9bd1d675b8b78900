// Randomised response over c classes (Warner 1965; Kairouz, Oh, Viswanath 2014), epsilon-DP for the label:
//
//   the true class     with probability e^epsilon / (e^epsilon + c - 1)
//   every other class  with probability 1 / (e^epsilon + c - 1)
//
// It is drawn as the exponential mechanism on scores 1 for the truth and 0 elsewhere: a uniform class, kept if it is
// the truth or if a coin of probability e^-epsilon shows heads. Proof: randomised_response.md.
#pragma once
#include <cstddef>
#include <span>

#include "parley/core/result.h"
#include "parley/privacy/accounting/event.h"
#include "parley/privacy/mechanisms/score_weights.h"
#include "parley/privacy/randomness/generator.h"

namespace parley::privacy {

class RandomisedResponse {
 public:
  // epsilon is at most 22: beyond that the answer is the truth but for one in 10^9.
  static Result<RandomisedResponse> make(double epsilon, std::size_t classes);

  Result<std::size_t> respond(std::size_t truth, Bits& bits) const;
  // In place; nothing changes on an error.
  Result<void> respond(std::span<std::size_t> labels, Bits& bits) const;

  [[nodiscard]] double truth_probability() const;
  [[nodiscard]] Pure event() const { return {epsilon_}; }

 private:
  RandomisedResponse(double epsilon, std::size_t classes, ScoreWeights coin)
      : epsilon_(epsilon), classes_(classes), coin_(std::move(coin)) {}
  [[nodiscard]] Result<void> check(std::size_t label) const;
  std::size_t draw(std::size_t truth, Bits& bits) const;
  double epsilon_;
  std::size_t classes_;
  ScoreWeights coin_;
};

}  // namespace parley::privacy
