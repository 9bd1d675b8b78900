#include "apps/parley/tls_folder.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <ctime>
#include <filesystem>

#include "parley/core/files.h"
#include "parley/secure/certificates.h"
#include "parley/secure/handshake.h"
#include "parley/transport/grpc/client.h"

namespace parley::app {

namespace {

namespace fs = std::filesystem;

Result<std::string> read_pem(const fs::path& file, const std::string& remedy) {
  if (!fs::exists(file)) return fail(bad_input({file.string(), 0, ""}, "does not exist; " + remedy));
  return read_whole(file.string(), std::size_t{1} << 20);
}

}  // namespace

void warn_of_open_key(const std::string& file) {
  struct stat found {};
  if (::stat(file.c_str(), &found) != 0 || (found.st_mode & (S_IRWXG | S_IRWXO)) == 0) return;
  fmt::print(stderr, "parley: warning: {0}: is a private key that users other than its owner can read; chmod 600 {0}\n",
             file);
}

Result<transport::Credentials> read_credentials(const std::string& folder, const std::string& name) {
  const fs::path authority = fs::path(folder) / "ca.pem";
  const fs::path certificate = fs::path(folder) / (name + ".pem");
  const fs::path key = fs::path(folder) / (name + ".key");
  const std::string remedy = fmt::format("whoever runs the federation makes it: parley keys issue KEYS {}", name);
  transport::Credentials credentials;
  PARLEY_TRY(credentials.authority, read_pem(authority, "whoever runs the federation has it: parley keys init KEYS"));
  PARLEY_TRY(credentials.certificate, read_pem(certificate, remedy));
  PARLEY_TRY(credentials.key, read_pem(key, remedy));
  const auto flaw =
      secure::flaw_of(credentials.authority, {credentials.certificate, credentials.key}, name, std::time(nullptr));
  if (!flaw) {
    warn_of_open_key(key.string());
    return credentials;
  }
  using In = secure::Flaw::In;
  const fs::path& file = flaw->in == In::kAuthority ? authority : flaw->in == In::kKey ? key : certificate;
  return fail(bad_input({file.string(), 0, ""}, flaw->what));
}

std::string why_not_believed(const transport::Credentials& own, const std::string& name, const std::string& address) {
  // It was good when the daemon began.
  if (const auto flaw = secure::flaw_of(own.authority, {own.certificate, own.key}, name, std::time(nullptr)))
    return fmt::format("{} {}; SIGHUP has a new one read",
                       flaw->in == secure::Flaw::In::kAuthority ? "ca.pem" : name + ".pem", flaw->what);
  return secure::doubt_of(address, own.authority, {own.certificate, own.key}, transport::kCoordinator);
}

}  // namespace parley::app
