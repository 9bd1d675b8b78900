// Names of records as points of ristretto255, blinded by a secret that commutes with those of others: what private set
// intersection is made of (algorithms/vertical/alignment.h).
//
//   H(id)        a point, from BLAKE2b of the id (libsodium's map of 64 bytes, two Elligator points added)
//   blinded      H(id)^a for a secret scalar a, drawn for one run: 32 bytes
//   raised       what another party blinded, raised to one's own secret: H(id)^(ab) whichever came first. Kept for
//                comparison only, so half of the 32 bytes do: two of n ids collide with probability below n^2 / 2^128
//
// Without a secret that it was raised to, a point tells nothing about its id but equality with another one raised alike
// (decisional Diffie-Hellman in the random oracle model).
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "parley/core/result.h"

namespace parley::secure {

inline constexpr std::size_t kPointBytes = 32;
inline constexpr std::size_t kTokenBytes = 16;  // of a point that is compared and not raised again

// From the operating system, for one run; 32 bytes. It hides ids for as long as nobody else has it.
Result<std::string> fresh_blinding_secret();
// For names of runs and the like: 63 bits from the operating system, never 0.
std::int64_t fresh_number();

// One point for each id, in their order, one after another.
Result<std::string> blinded(const std::vector<std::string>& ids, std::string_view secret);
// One token for each point, in their order. An error where a point is none of the group, or its neutral element.
Result<std::string> raised(std::string_view points, std::string_view secret);

}  // namespace parley::secure
