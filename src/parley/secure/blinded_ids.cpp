#include "parley/secure/blinded_ids.h"

#include <sodium.h>

#include <array>
#include <atomic>
#include <cstring>

#include "parley/core/threads.h"

namespace parley::secure {

namespace {

static_assert(kPointBytes == crypto_core_ristretto255_BYTES && kPointBytes == crypto_core_ristretto255_SCALARBYTES);

constexpr std::size_t kGrain = 256;  // ids of a chunk: some milliseconds
constexpr std::string_view kDomain = "parley record id 1";

const unsigned char* bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

Result<void> check_secret(std::string_view secret) {
  if (sodium_init() < 0) return fail(failed("libsodium found no source of randomness"));
  return secret.size() == kPointBytes ? Result<void>{} : fail(failed("a blinding secret of another length"));
}

void hash_to_group(std::string_view id, unsigned char* point) {
  std::array<unsigned char, crypto_core_ristretto255_HASHBYTES> digest;
  crypto_generichash(digest.data(), digest.size(), bytes(id), id.size(), bytes(kDomain), kDomain.size());
  crypto_core_ristretto255_from_hash(point, digest.data());
}

}  // namespace

Result<std::string> fresh_blinding_secret() {
  std::string secret(kPointBytes, '\0');
  if (sodium_init() < 0) return fail(failed("libsodium found no source of randomness"));
  crypto_core_ristretto255_scalar_random(reinterpret_cast<unsigned char*>(secret.data()));
  return secret;
}

std::int64_t fresh_number() {
  std::int64_t number = 0;
  randombytes_buf(&number, sizeof number);
  return (number & std::int64_t{0x7fffffffffffffff}) | 1;
}

Result<std::string> blinded(const std::vector<std::string>& ids, std::string_view secret) {
  PARLEY_CHECK(check_secret(secret));
  std::string points(ids.size() * kPointBytes, '\0');
  std::atomic<bool> bad = false;
  parallel_chunks(ids.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    std::array<unsigned char, kPointBytes> point;
    for (std::size_t i = begin; i < end; ++i) {
      hash_to_group(ids[i], point.data());
      auto* out = reinterpret_cast<unsigned char*>(points.data() + i * kPointBytes);
      if (crypto_scalarmult_ristretto255(out, bytes(secret), point.data()) != 0) bad = true;
    }
  });
  if (bad) return fail(failed("an id could not be blinded"));  // as likely as finding a discrete logarithm by chance
  return points;
}

Result<std::string> raised(std::string_view points, std::string_view secret) {
  PARLEY_CHECK(check_secret(secret));
  if (points.size() % kPointBytes != 0) return fail(failed("a list that is cut off within a point"));
  const std::size_t count = points.size() / kPointBytes;
  std::string tokens(count * kTokenBytes, '\0');
  std::atomic<bool> bad = false;
  parallel_chunks(count, kGrain, [&](std::size_t begin, std::size_t end) {
    std::array<unsigned char, kPointBytes> point;
    for (std::size_t i = begin; i < end; ++i) {
      if (crypto_scalarmult_ristretto255(point.data(), bytes(secret), bytes(points) + i * kPointBytes) != 0) bad = true;
      std::memcpy(tokens.data() + i * kTokenBytes, point.data(), kTokenBytes);
    }
  });
  if (bad) return fail(failed("a list holds what is no point of the group"));
  return tokens;
}

}  // namespace parley::secure
