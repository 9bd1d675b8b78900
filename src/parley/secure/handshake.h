// Why two members of a federation do not believe each other. gRPC says that a handshake failed and not why, and of a
// certificate that the other side refuses it says that a socket was closed. So when one fails it is tried once more
// here, by itself, and looked at.
#pragma once
#include <string>

#include "parley/secure/certificates.h"

namespace parley::secure {

// What came of dialling `address` ("host:port") and shaking hands as whoever has `own`.
struct Handshake {
  bool reached = false;     // somebody answered, and each believed the other's certificate
  std::string doubt;        // as of doubt_of()
  std::string certificate;  // PEM, that whoever answered showed
};
Handshake shake_hands(const std::string& address, const std::string& authority, const KeyPair& own,
                      const std::string& expected);

// Dials `address` ("host:port") and shakes hands as whoever has `own`. What is wrong with a certificate, in words;
// empty when nothing is, or when it cannot be told: nobody there, or no TLS. Takes at most a few seconds.
std::string doubt_of(const std::string& address, const std::string& authority, const KeyPair& own,
                     const std::string& expected);

}  // namespace parley::secure
