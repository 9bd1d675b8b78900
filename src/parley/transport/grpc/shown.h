// The certificate that the other end of a connection showed, against what this end distrusts.
#pragma once
#include <grpcpp/security/auth_context.h>

#include <string>

#include "parley/transport/grpc/credentials.h"

namespace parley::transport {

inline constexpr const char* kRevoked = "the certificate was revoked";

inline bool is_distrusted(const Credentials& own, const grpc::AuthContext& shown) {
  if (!own.distrusts) return false;
  const auto certificates = shown.FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
  return certificates.size() != 1 ||
         own.distrusts(std::string(certificates.front().data(), certificates.front().size()));
}

}  // namespace parley::transport
