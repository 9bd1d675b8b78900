// Poisson subsampling: every record joins with probability q, independently of all others.
//
// The gaps between records that join are geometric, P(gap = k) = (1-q)^k q, so the work is that of the records that
// join. Gaps are drawn exactly for the fraction that the double q is. Proof: poisson_sampling.md.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "parley/core/result.h"
#include "parley/privacy/mechanisms/strip_sampler.h"
#include "parley/privacy/randomness/generator.h"

namespace parley::privacy {

class PoissonSampling {
 public:
  // 0 < rate <= 1, and not below 2^-40.
  static Result<PoissonSampling> make(double rate);

  // Those of {0, ..., records - 1} that join, in order. Who joined is as secret as the records.
  void draw(std::size_t records, Bits& bits, std::vector<std::size_t>& joined) const;

  [[nodiscard]] double rate() const { return rate_; }

 private:
  explicit PoissonSampling(double rate);
  double rate_;
  std::optional<StripSampler> gaps_;  // none when everybody joins
};

}  // namespace parley::privacy
