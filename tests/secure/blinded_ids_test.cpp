#include "parley/secure/blinded_ids.h"

#include <gtest/gtest.h>
#include <sodium.h>

#include <set>

using namespace parley;
using namespace parley::secure;

namespace {

const std::vector<std::string> kIds = {"a", "b", "", std::string(1000, 'x'), "\xc3\xa9"};

std::string point(const std::string& list, std::size_t at) {
  return list.substr(at * kPointBytes, kPointBytes);
}

}  // namespace

TEST(BlindedIds, SecretsCommute) {
  const auto a = fresh_blinding_secret(), b = fresh_blinding_secret();
  ASSERT_TRUE(a && b);
  const auto one = raised(*blinded(kIds, *a), *b), other = raised(*blinded(kIds, *b), *a);
  ASSERT_TRUE(one && other);
  EXPECT_EQ(*one, *other);
  EXPECT_EQ(one->size(), kIds.size() * kTokenBytes);
}

TEST(BlindedIds, AreTheMultiplesOfHashedIdsThatTheirDefinitionSays) {
  const auto secret = fresh_blinding_secret();
  const auto list = blinded(kIds, *secret);
  const std::string domain = "parley record id 1";
  for (std::size_t i = 0; i < kIds.size(); ++i) {
    unsigned char digest[64], hashed[32], expected[32];
    crypto_generichash(digest, 64, reinterpret_cast<const unsigned char*>(kIds[i].data()), kIds[i].size(),
                       reinterpret_cast<const unsigned char*>(domain.data()), domain.size());
    crypto_core_ristretto255_from_hash(hashed, digest);
    ASSERT_EQ(crypto_scalarmult_ristretto255(expected, reinterpret_cast<const unsigned char*>(secret->data()), hashed),
              0);
    EXPECT_EQ(point(*list, i), std::string(reinterpret_cast<char*>(expected), 32));
  }
}

TEST(BlindedIds, AreOtherPointsUnderAnotherSecret) {
  std::set<std::string> seen;
  for (int round = 0; round < 10; ++round) {
    const auto list = blinded(kIds, *fresh_blinding_secret());
    for (std::size_t i = 0; i < kIds.size(); ++i) EXPECT_TRUE(seen.insert(point(*list, i)).second);
  }
}

TEST(BlindedIds, RefusesWhatIsNoPoint) {
  const auto secret = fresh_blinding_secret();
  const std::string good = *blinded(kIds, *secret);
  EXPECT_TRUE(raised(good, *secret));
  EXPECT_FALSE(raised(good.substr(1), *secret)) << "cut off";
  EXPECT_FALSE(raised(std::string(kPointBytes, '\0'), *secret)) << "the neutral element hides nothing";
  EXPECT_FALSE(raised(good.substr(0, kPointBytes) + std::string(kPointBytes, '\xff'), *secret)) << "no encoding";
  EXPECT_FALSE(raised(good, "short"));
}
