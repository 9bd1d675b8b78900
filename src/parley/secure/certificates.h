// The certificates of a federation: one authority that every party trusts, and for each party and the
// coordinator a certificate with its name, signed by the authority. Keys are on the curve P-256, signatures
// ECDSA with SHA-256.
//
// A name may be used on one side only: "coordinator" to be dialled, every other name to dial.
#pragma once
#include <string>

#include "parley/core/result.h"

namespace parley::secure {

struct KeyPair {  // PEM
  std::string certificate;
  std::string key;
};

struct Validity {
  int days = 825;
};

Result<KeyPair> make_authority(const std::string& federation, Validity validity);
Result<KeyPair> issue(const KeyPair& authority, const std::string& name, Validity validity);

}  // namespace parley::secure
