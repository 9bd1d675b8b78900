#include "apps/parley/tls_folder.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <ctime>
#include <filesystem>

#include "parley/core/files.h"
#include "parley/core/text.h"
#include "parley/secure/certificates.h"
#include "parley/secure/handshake.h"
#include "parley/secure/revoked.h"
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

Result<std::string> read_list(const std::string& folder) {
  const fs::path file = fs::path(folder) / kRevokedFile;
  if (!fs::exists(file)) return std::string();
  PARLEY_TRY(std::string list, read_whole(file.string(), std::size_t{1} << 24));
  PARLEY_TRY(const std::string authority, read_whole((fs::path(folder) / "ca.pem").string(), std::size_t{1} << 20));
  if (!secure::check_list(authority, list))
    return fail(bad_input({file.string(), 0, ""}, "is not a list that the authority in ca.pem signed"));
  return list;
}

std::string expiry_warning(const std::string& certificate, const std::string& name, std::time_t now) {
  constexpr std::time_t kDay = 86400, kAhead = 30 * kDay;
  const auto about = secure::about(certificate);
  if (!about || about->end - now > kAhead) return {};
  return fmt::format("{}.pem expires on {}, in {}; parley keys request renews it", name, about->last_day,
                     counted((about->end - now) / kDay, "day"));
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
    PARLEY_TRY(const std::string list, read_list(folder));
    if (secure::is_revoked(list, credentials.certificate))
      return fail(bad_input({certificate.string(), 0, ""}, "was revoked by the authority (revoked.pem); " + remedy));
    if (!list.empty())
      credentials.distrusts = [list](const std::string& shown) { return secure::is_revoked(list, shown); };
    warn_of_open_key(key.string());
    if (const std::string ends = expiry_warning(credentials.certificate, name, std::time(nullptr)); !ends.empty())
      fmt::print(stderr, "parley: warning: {}\n", ends);
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
