#include "parley/privacy/ledger/digest.h"

#include <fmt/format.h>
#include <openssl/sha.h>

#include <array>

namespace parley::privacy {

std::string digest_of(std::string_view bytes) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
  std::string hex;
  for (const unsigned char byte : digest) hex += fmt::format("{:02x}", byte);
  return hex;
}

}  // namespace parley::privacy
