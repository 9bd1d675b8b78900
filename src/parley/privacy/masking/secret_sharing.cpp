#include "parley/privacy/masking/secret_sharing.h"

#include <fmt/format.h>

#include <algorithm>

namespace parley::privacy {

namespace {

// Without tables: how long it takes does not depend on the bytes.
std::uint8_t times(std::uint8_t a, std::uint8_t b) {
  unsigned product = 0, shifted = a;
  for (unsigned bit = 0; bit < 8; ++bit) {
    product ^= shifted & (0U - ((static_cast<unsigned>(b) >> bit) & 1U));
    shifted = (shifted << 1) ^ (0x11bU & (0U - ((shifted >> 7) & 1U)));
  }
  return static_cast<std::uint8_t>(product);
}

// a^254, which is 1/a.
std::uint8_t inverse(std::uint8_t a) {
  std::uint8_t power = a, made = 1;
  for (int bit = 1; bit < 8; ++bit) {
    power = times(power, power);
    made = times(made, power);
  }
  return made;
}

}  // namespace

Result<std::vector<std::string>> share_secret(std::string_view secret, int threshold, int shares, Bits& bits) {
  if (threshold < 1 || threshold > shares || shares > kMostShares)
    return fail(bad_input({.field = "shares"}, fmt::format("a secret has 1 to {} shares, and no more are needed than "
                                                           "there are",
                                                           kMostShares)));
  std::vector<std::string> made(static_cast<std::size_t>(shares), std::string(secret.size(), '\0'));
  std::vector<std::uint8_t> coefficients(static_cast<std::size_t>(threshold));
  for (std::size_t at = 0; at < secret.size(); ++at) {
    coefficients[0] = static_cast<std::uint8_t>(secret[at]);
    for (std::size_t m = 1; m < coefficients.size(); ++m) coefficients[m] = static_cast<std::uint8_t>(bits.next_u64());
    for (int x = 1; x <= shares; ++x) {
      std::uint8_t value = 0;  // Horner
      for (std::size_t m = coefficients.size(); m-- > 0;)
        value = static_cast<std::uint8_t>(times(value, static_cast<std::uint8_t>(x)) ^ coefficients[m]);
      made[static_cast<std::size_t>(x - 1)][at] = static_cast<char>(value);
    }
  }
  std::fill(coefficients.begin(), coefficients.end(), std::uint8_t{0});
  return made;
}

Result<std::string> recover_secret(const std::vector<std::pair<int, std::string>>& shares) {
  std::string secret(shares.empty() ? 0 : shares.front().second.size(), '\0');
  for (std::size_t s = 0; s < shares.size(); ++s) {
    const auto& [x, share] = shares[s];
    if (x < 1 || x > kMostShares || share.size() != secret.size())
      return fail(bad_input({.field = "shares"}, "must be of one length, with numbers from 1 to 255"));
    std::uint8_t weight = 1;
    for (std::size_t other = 0; other < shares.size(); ++other) {
      if (other == s) continue;
      const int y = shares[other].first;
      if (y == x) return fail(bad_input({.field = "shares"}, "must have different numbers"));
      weight = times(weight, times(static_cast<std::uint8_t>(y), inverse(static_cast<std::uint8_t>(x ^ y))));
    }
    for (std::size_t at = 0; at < secret.size(); ++at)
      secret[at] = static_cast<char>(static_cast<std::uint8_t>(secret[at]) ^
                                     times(weight, static_cast<std::uint8_t>(share[at])));
  }
  return secret;
}

}  // namespace parley::privacy
