// Shamir 1979, How to share a secret: any `threshold` of the shares give the secret, and fewer say nothing about it.
//
//   each byte c_0 of the secret:   c_1, ..., c_{k-1} uniform bytes;  f(x) = sum_m c_m x^m  over GF(2^8)
//   share x, 1 <= x <= 255:        f(x) of every byte
//   the secret from k shares:      f(0) = sum_x f(x) prod_{y != x} y / (x - y)             (Lagrange)
//
// Given k - 1 shares every value of f(0) is equally likely: for each there is one polynomial through them. GF(2^8) is
// that of AES, x^8 + x^4 + x^3 + x + 1.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parley/core/result.h"
#include "parley/privacy/randomness/generator.h"

namespace parley::privacy {

inline constexpr int kMostShares = 255;

// The shares x = 1, ..., `shares`, each as long as the secret.
Result<std::vector<std::string>> share_secret(std::string_view secret, int threshold, int shares, Bits& bits);

// From exactly as many shares as the threshold was, each with its x. Refuses two of one x and shares of different
// lengths; shares that are of no one secret give another secret, which the caller must notice.
Result<std::string> recover_secret(const std::vector<std::pair<int, std::string>>& shares);

}  // namespace parley::privacy
