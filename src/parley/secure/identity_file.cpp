#include "parley/secure/identity_file.h"

#include <sys/stat.h>

#include <filesystem>

#include "parley/core/files.h"

namespace parley::secure {

std::string identity_file(const std::string& folder, const std::string& name) {
  return (std::filesystem::path(folder) / (name + ".identity")).string();
}

Result<Identity> read_identity(const std::string& file) {
  struct stat found {};
  if (::stat(file.c_str(), &found) == 0 && (found.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    return fail(
        bad_input({file, 0, ""}, "is an identity that users other than its owner can read or replace; chmod 600"));
  PARLEY_TRY(const std::string pem, read_whole(file, std::size_t{1} << 16));
  auto identity = Identity::read(pem);
  if (!identity) return fail(bad_input({file, 0, ""}, "is not an identity that parley keys identity made"));
  return identity;
}

Result<void> write_identity(const Identity& identity, const std::string& file) {
  if (std::filesystem::exists(file)) return fail(bad_input({file, 0, ""}, "exists already and is not replaced"));
  PARLEY_TRY(const std::string pem, identity.pem());
  const mode_t before = ::umask(0077);
  const auto written = write_atomically(file, pem);
  ::umask(before);
  return written;
}

}  // namespace parley::secure
