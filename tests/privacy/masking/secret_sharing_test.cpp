#include "parley/privacy/masking/secret_sharing.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>

using namespace parley;
using namespace parley::privacy;

namespace {

std::string text(std::size_t size, Bits& bits) {
  std::string made(size, '\0');
  for (char& c : made) c = static_cast<char>(bits.next_u64());
  return made;
}

}  // namespace

TEST(SecretSharing, AnyThresholdOfTheSharesGivesTheSecret) {
  SeededGenerator bits(1);
  for (int shares = 1; shares <= 6; ++shares)
    for (int threshold = 1; threshold <= shares; ++threshold) {
      const std::string secret = text(32, bits);
      const auto made = *share_secret(secret, threshold, shares, bits);
      for (unsigned who = 0; who < (1U << shares); ++who) {
        std::vector<std::pair<int, std::string>> some;
        for (int x = 1; x <= shares; ++x)
          if ((who >> (x - 1)) & 1U) some.emplace_back(x, made[static_cast<std::size_t>(x - 1)]);
        if (static_cast<int>(some.size()) == threshold) {
          EXPECT_EQ(*recover_secret(some), secret);
        }
      }
    }
  const std::string secret = text(5, bits);
  const auto many = *share_secret(secret, 128, kMostShares, bits);
  std::vector<std::pair<int, std::string>> last;
  for (int x = kMostShares; x > kMostShares - 128; --x) last.emplace_back(x, many[static_cast<std::size_t>(x - 1)]);
  EXPECT_EQ(*recover_secret(last), secret);
}

// Of the two shares that an adversary has of three that are needed, every pair is equally likely whatever the secret is:
// chi squared over 256 cells of one share's byte, and of the sum of both, has mean 255 and deviation 22.6; 400 is six
// deviations. A sharing whose coefficients are zero fails by far.
TEST(SecretSharing, FewerSharesThanTheThresholdSayNothing) {
  for (const char secret : {'\0', '\xff', 'a'}) {
    SeededGenerator bits(static_cast<std::uint64_t>(static_cast<unsigned char>(secret)) + 7);
    std::array<int, 256> first{}, sum{};
    constexpr int kDraws = 51'200;
    for (int draw = 0; draw < kDraws; ++draw) {
      const auto made = *share_secret(std::string(1, secret), 3, 5, bits);
      const auto a = static_cast<unsigned char>(made[0][0]), b = static_cast<unsigned char>(made[3][0]);
      ++first[a];
      ++sum[static_cast<unsigned char>(a ^ b)];
    }
    for (const auto& counts : {first, sum}) {
      const double expected = kDraws / 256.0;
      double chi = 0;
      for (const int count : counts) chi += (count - expected) * (count - expected) / expected;
      EXPECT_LT(chi, 400);
    }
  }
}

TEST(SecretSharing, ImpossibleSharesAreRefused) {
  SeededGenerator bits(3);
  EXPECT_FALSE(share_secret("secret", 0, 3, bits));
  EXPECT_FALSE(share_secret("secret", 4, 3, bits));
  EXPECT_FALSE(share_secret("secret", 2, 256, bits));
  const auto made = *share_secret("secret", 2, 3, bits);
  EXPECT_FALSE(recover_secret({{1, made[0]}, {1, made[1]}}));
  EXPECT_FALSE(recover_secret({{0, made[0]}, {1, made[1]}}));
  EXPECT_FALSE(recover_secret({{1, made[0]}, {2, "short"}}));
  EXPECT_NE(*recover_secret({{1, made[0]}, {2, made[2]}}), "secret") << "a share under another's number";
}
