// Keys as digests: what the map of a join is built from.
//
// Between sites a digest is BLAKE2b (RFC 7693) of 128 bits, keyed with the federation's secret: whoever lacks the
// secret, the coordinator above all, learns from digests which keys are equal and nothing else about them. Whoever has
// it can try keys out, so sites trust each other that far. In one process nothing leaves, and a quick hash without a
// secret does.
//
// Keys compare as text: 7 of a database's integer column equals "7" of a CSV file, and "07" equals neither. A key of
// several columns is the list of their texts, each with its length before it, so that ("ab", "c") is not ("a", "bc").
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "parley/core/result.h"
#include "parley/data/join.h"
#include "parley/data/key_text.h"

namespace parley::data {

class FederationSecret {
 public:
  // A file of at least 16 bytes that the sites hand to each other and not to the coordinator.
  static Result<FederationSecret> read(const std::string& path);
  // Another one for each run: digests of two runs cannot be linked by whoever lacks the secret.
  [[nodiscard]] Result<FederationSecret> of_run(std::string_view run) const;

  [[nodiscard]] std::span<const unsigned char> key() const { return key_; }

 private:
  std::vector<unsigned char> key_;
};

// Columns of one table that make up one key; all are equally long.
using KeyParts = std::span<const KeyText* const>;

KeyColumns digests_within(const KeyParts& columns);  // one process
Result<KeyColumns> digests_between(const KeyParts& columns, const FederationSecret& secret);

}  // namespace parley::data
