// The certificates of one member of a federation, from the folder that `parley keys` filled.
#pragma once
#include <filesystem>
#include <string>

#include "parley/core/files.h"
#include "parley/transport/grpc/server.h"

namespace parley::app {

inline Result<transport::Credentials> read_credentials(const std::string& folder, const std::string& name) {
  const std::filesystem::path in(folder);
  transport::Credentials credentials;
  PARLEY_TRY(credentials.authority, read_whole((in / "ca.pem").string()));
  PARLEY_TRY(credentials.certificate, read_whole((in / (name + ".pem")).string()));
  PARLEY_TRY(credentials.key, read_whole((in / (name + ".key")).string()));
  return credentials;
}

}  // namespace parley::app
