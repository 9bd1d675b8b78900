// What a client adds to the sum of a round when whole clients are the unit of privacy, and what that costs:
//
//   q_i  = [ u_i min(1, C / ||u_i||_2) / g ]     clipped, rounded to the grid, checked in integers (clipped_sum.h)
//   Z_i  discrete Gaussian, deviation s grains
//   sent:  q_i + Z_i under a mask                (masking/masked_sum.md)
//
// Replacing a client moves sum_i q_i by D = 2 (C/g + sqrt(m)/2) at most; s = z D / sqrt(M-1), where z is what T
// Gaussian releases of sensitivity 1 need for the target. Where clients may drop out and q of them stay, s = z D /
// sqrt(q-1). The grain g is the power of two for which s has 31 digits.
// All of it follows from C, M, T, m and the target, which are public.
#pragma once
#include <cstdint>
#include <vector>

#include "parley/core/result.h"
#include "parley/privacy/accounting/calibration.h"
#include "parley/privacy/gate.h"
#include "parley/privacy/sensitivity/clipped_sum.h"

namespace parley::algorithms {

struct ClientSumShape {
  double clip = 0;             // C
  int clients = 0;             // M
  std::int64_t rounds = 1;     // T
  std::size_t parameters = 0;  // m
  int fewest = 0;              // clients whose noise a sum has at least, where some may drop out; 0: all
};

class ClientSum {
 public:
  static Result<ClientSum> make(const privacy::Target& target, const ClientSumShape& shape);

  // Charges all rounds.
  [[nodiscard]] Result<void> reserve(privacy::Gate& gate) const;
  // u_i, clipped and on the grid.
  [[nodiscard]] Result<privacy::Sensitive<privacy::GridVector, privacy::L2>> bounded(
      const privacy::Private<std::vector<double>>& update) const;

  [[nodiscard]] privacy::Grain grain() const { return rule_.grain; }
  [[nodiscard]] privacy::NoiseShare noise() const { return noise_; }
  // No coordinate of the clients' sum is larger, in grains: what noise would have to be for that has no probability to
  // speak of.
  [[nodiscard]] double largest_sum() const { return largest_sum_; }
  [[nodiscard]] const privacy::Event& event() const { return event_; }  // of a round

 private:
  ClientSum(const privacy::Target& target, const ClientSumShape& shape, const privacy::ClipRule& rule)
      : target_(target), shape_(shape), rule_(rule) {}
  privacy::Target target_;
  ClientSumShape shape_;
  privacy::ClipRule rule_;
  privacy::NoiseShare noise_;
  privacy::Event event_;
  double largest_sum_ = 0;
};

}  // namespace parley::algorithms
