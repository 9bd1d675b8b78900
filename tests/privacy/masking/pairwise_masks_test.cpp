// labels: threads
#include "parley/privacy/masking/pairwise_masks.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

using namespace parley;
using namespace parley::privacy;

namespace {

// X25519 of RFC 7748, Section 6.1.
MaskSecret secret_of(std::string_view hex) {
  MaskSecret secret{};
  auto* bytes = reinterpret_cast<unsigned char*>(secret.data());
  for (std::size_t i = 0; i < 32; ++i)
    bytes[i] = static_cast<unsigned char>(std::stoi(std::string(hex.substr(2 * i, 2)), nullptr, 16));
  return secret;
}

std::string hex_of(std::string_view bytes) {
  std::string hex;
  for (const char byte : bytes) {
    const char* digits = "0123456789abcdef";
    hex += digits[static_cast<unsigned char>(byte) >> 4];
    hex += digits[static_cast<unsigned char>(byte) & 15];
  }
  return hex;
}

std::vector<std::string> keys_of(const std::vector<MaskSecret>& secrets) {
  std::vector<std::string> keys;
  for (const MaskSecret& secret : secrets) keys.push_back(*mask_public_key(secret));
  return keys;
}

}  // namespace

TEST(PairwiseMasks, UsesTheStandardsKeys) {
  EXPECT_EQ(hex_of(*mask_public_key(secret_of("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a"))),
            "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a");
}

TEST(PairwiseMasks, RefusesKeysThatHideNothing) {
  const std::vector<MaskSecret> secrets = {{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}};
  const auto keys = keys_of(secrets);
  EXPECT_TRUE(PairwiseMasks::agree(secrets[0], 0, keys, "job"));
  EXPECT_FALSE(PairwiseMasks::agree(secrets[0], 1, keys, "job")) << "another's place";
  EXPECT_FALSE(PairwiseMasks::agree(secrets[0], -1, keys, "job"));
  EXPECT_FALSE(PairwiseMasks::agree(secrets[0], 3, keys, "job"));
  EXPECT_FALSE(PairwiseMasks::agree(secrets[0], 0, {keys[0]}, "job")) << "alone";
  EXPECT_FALSE(PairwiseMasks::agree(secrets[0], 0, {keys[0], keys[1], keys[1]}, "job"));
  EXPECT_FALSE(PairwiseMasks::agree(secrets[0], 0, {keys[0], keys[1], keys[2].substr(1)}, "job"));
  for (const char order : {'\0', '\1'})  // points of order 4 and 1 or 2
    EXPECT_FALSE(PairwiseMasks::agree(secrets[0], 0, {keys[0], keys[1], order + std::string(31, '\0')}, "job"));
}

TEST(PairwiseMasks, MakesTheMaskOfARoundOnce) {
  const std::vector<MaskSecret> secrets = {{1, 2, 3, 4}, {5, 6, 7, 8}};
  auto masks = PairwiseMasks::agree(secrets[0], 0, keys_of(secrets), "job");
  EXPECT_TRUE(masks->mask(0, 10));
  EXPECT_FALSE(masks->mask(0, 10));
  EXPECT_TRUE(masks->mask(3, 10));
  EXPECT_FALSE(masks->mask(2, 10)) << "rounds ascend";
  auto again = PairwiseMasks::agree(secrets[0], 0, keys_of(secrets), "job");
  again->skip_to(masks->first_unused());
  EXPECT_FALSE(again->mask(3, 10));
  EXPECT_EQ(again->mask(4, 10)->size(), 10u);
  // After the largest number nothing would be later any more, and every mask could be made again.
  EXPECT_FALSE(again->mask(std::numeric_limits<std::int64_t>::max(), 10));
  EXPECT_FALSE(again->mask(-1, 10));
  EXPECT_FALSE(again->mask(4, 10));
  EXPECT_EQ(again->first_unused(), 5);
}
