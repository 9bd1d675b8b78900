// The certificates of a federation: one authority that every party trusts, and for each party and the
// coordinator a certificate with its name, signed by the authority. Keys are on the curve P-256, signatures
// ECDSA with SHA-256.
//
// A name may be used on one side only: "coordinator" to be dialled, every other name to dial.
#pragma once
#include <ctime>
#include <optional>
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

struct Issued : KeyPair {
  std::optional<std::string> clipped;  // the day on which it ends, with its authority, where more was asked for
};
// Ends with its authority at the latest: nobody believes it afterwards. An authority that has ended issues nothing.
Result<Issued> issue(const KeyPair& authority, const std::string& name, Validity validity);

// A key that is made where it stays, and what its holder sends the authority (PKCS#10): the name and the public half,
// signed with the key.
Result<std::string> make_key();
Result<std::string> make_request(const std::string& name, const std::string& key);
struct Requested {
  std::string name;
  std::string fingerprint;  // of the public key: what the two people compare, in 64 hexadecimal digits
};
// Refuses a request whose sender has not shown that the key is theirs.
Result<Requested> read_request(const std::string& request);
// As issue() for the holder of the request's key; Issued::key is empty.
Result<Issued> sign_request(const KeyPair& authority, const std::string& request, Validity validity);

struct About {
  std::string name;
  std::string fingerprint;  // of its public key
  std::time_t end = 0;
  std::string last_day;
};
Result<About> about(const std::string& certificate);

// What is wrong with the files of one member, in words that follow the file's name.
struct Flaw {
  enum class In { kAuthority, kCertificate, kKey };
  In in = In::kCertificate;
  std::string what;
};
// Why the others would not believe at the time `now` that whoever shows `own` is `name`: found before anybody is
// dialled, where it can be told. Nothing when they would.
std::optional<Flaw> flaw_of(const std::string& authority, const KeyPair& own, const std::string& name, std::time_t now);

}  // namespace parley::secure
