// What the dealer of a masked descent (masked_descent.h) hands out: everything follows from its secret, so that what it
// dealt once it deals again after a restart. It sees none of what it is for.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "parley/algorithms/vertical/masked_numbers.h"
#include "parley/core/result.h"

namespace parley::algorithms {

class MaskedDealer {
 public:
  MaskedDealer(std::string secret, const MaskedNumbers& numbers);
  [[nodiscard]] const std::string& seed(int party) const { return seeds_[static_cast<std::size_t>(party)]; }

  // What brings the parties' shares of cosines and sines of delta_t to their sum; for the last party.
  [[nodiscard]] std::string cosines(std::int64_t index) const;
  // c_k^t = A_k' sum over j != k of b_j^t for all k, column by column, and all t < indices.
  [[nodiscard]] std::vector<std::uint64_t> products(std::int64_t indices) const;
  // Likewise of one t, with the dealer's noise, less what the other parties' shares are; for the last party.
  [[nodiscard]] std::string share(std::int64_t index, std::span<const std::uint64_t> products,
                                  std::span<const std::int64_t> noise) const;

 private:
  template <class Word>
  std::string cosines_in(std::int64_t index) const;
  template <class Word>
  std::vector<std::uint64_t> products_in(std::int64_t indices) const;
  const MaskedNumbers& numbers_;
  std::vector<std::string> seeds_;
};

}  // namespace parley::algorithms
