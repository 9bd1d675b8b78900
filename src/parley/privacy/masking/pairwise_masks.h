// Masks that cancel in the sum over all parties. Bonawitz et al. 2017, Section 4. A round needs every party, unless the
// parties can be recovered from: dropouts.md.
//
//   each party i:   a secret a_i;  its public key A_i = X25519(a_i, base), which everyone gets
//   each pair:      k_ij = SHA-256(domain | X25519(a_i, A_j) | A_i | A_j | SHA-256(domain | terms)), i < j:
//                   known to i and j alone, and the same for both only if they were told the same terms
//   round t:        its task T, the same for all parties
//                   s_ij(t, T) = AES-256 in counter mode under SHA-256(domain | k_ij | t | SHA-256(domain | T))
//                   mask_i(t, T) = sum over j > i of s_ij(t, T)  -  sum over j < i of s_ji(t, T)     modulo 2^64
//                   where parties may drop out (dropouts.md)  + AES-256 in counter mode under
//                   SHA-256(domain | b_i | t | SHA-256(domain | T)),  b_i a secret of i for this round
//
// The counter of rounds ensures that a mask is used once. A site whose disk was set back has an older counter; the task
// in the key ensures that even then no mask covers the answers of two tasks.
// What the masks hide, and whom that trusts: masked_sum.md.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "parley/core/result.h"
#include "parley/privacy/masking/one_time_mask.h"

namespace parley::privacy {

inline constexpr std::size_t kMaskKeyBytes = 32;

// A_i above.
Result<std::string> mask_public_key(const MaskSecret& secret);

class PairwiseMasks {
 public:
  // The masks of party `own`; the public keys of all are given in party order. `terms`: everything that decides about
  // the noise of a party and that others told it. Refuses keys that are not all different, an own key that is not the
  // secret's, and keys of small order, under which a pair's secret would be known to everyone.
  static Result<PairwiseMasks> agree(const MaskSecret& secret, int own, const std::vector<std::string>& public_keys,
                                     std::string_view terms);

  // The mask of one round, 0 <= round < 2^63 - 1. Rounds must ascend: a mask is made once. `first_unused` and skip_to()
  // carry that over a restart. `task`: everything that the party's answer follows from, besides its data and the terms.
  // `self`: b_i above; empty: none.
  Result<OneTimeMask> mask(std::int64_t round, std::size_t size, std::string_view task = {},
                           std::string_view self = {});
  // Of a party that dropped out, once its secret was recovered: what its mask shares with these others.
  [[nodiscard]] Result<std::vector<std::uint64_t>> shared_with(const std::vector<int>& others, std::int64_t round,
                                                               std::size_t size, std::string_view task) const;
  [[nodiscard]] std::int64_t first_unused() const { return first_unused_; }
  void skip_to(std::int64_t round) { first_unused_ = round > first_unused_ ? round : first_unused_; }

 private:
  PairwiseMasks(int own, std::vector<std::string> pair_keys) : own_(own), pair_keys_(std::move(pair_keys)) {}
  int own_;
  std::vector<std::string> pair_keys_;  // by party; empty for its own
  std::int64_t first_unused_ = 0;
};

// Of a party that stayed, once its b_i was recovered: the words that b_i put into its mask.
Result<std::vector<std::uint64_t>> self_words(std::string_view self, std::int64_t round, std::size_t size,
                                              std::string_view task);

// By which b_i is known again: SHA-256(domain | b_i).
std::string self_commitment(std::string_view self);

// The sum over parties, modulo 2^64, as a number of either sign.
void add_words(const std::vector<std::int64_t>& words, std::vector<std::int64_t>& sum);

}  // namespace parley::privacy
