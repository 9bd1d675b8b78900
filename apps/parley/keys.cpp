// parley keys init|issue: the certificates of a federation.
#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>

#include "apps/parley/tls_folder.h"
#include "apps/parley/verbs.h"
#include "parley/core/files.h"
#include "parley/core/party_name.h"
#include "parley/core/text.h"
#include "parley/secure/certificates.h"

namespace parley::app {

namespace {

namespace fs = std::filesystem;

struct KeyOptions {
  std::string folder;
  std::string name;
  int days = 0;
};

Result<void> refuse_to_replace(const fs::path& file) {
  if (fs::exists(file)) return fail(bad_input({file.string(), 0, ""}, "exists already and is not replaced"));
  return {};
}

// The key for its owner alone; the certificate for anyone.
Result<void> write_pair(const fs::path& folder, const std::string& name, const secure::KeyPair& pair) {
  PARLEY_CHECK(refuse_to_replace(folder / (name + ".key")));
  PARLEY_CHECK(refuse_to_replace(folder / (name + ".pem")));
  const mode_t before = ::umask(0077);
  const auto written = write_atomically((folder / (name + ".key")).string(), pair.key);
  ::umask(before);
  PARLEY_CHECK(written);
  return write_atomically((folder / (name + ".pem")).string(), pair.certificate);
}

Result<int> init(const KeyOptions& options) {
  std::error_code error;
  fs::create_directories(options.folder, error);
  if (error) return fail(bad_input({options.folder, 0, ""}, "the folder cannot be made: " + error.message()));
  PARLEY_TRY(const secure::KeyPair authority, secure::make_authority(options.name, {options.days}));
  PARLEY_CHECK(write_pair(options.folder, "ca", authority));
  fmt::print("authority '{}' in {}: keep ca.key to yourself, give ca.pem to every party\n", options.name,
             options.folder);
  return 0;
}

Result<int> issue(const KeyOptions& options) {
  const fs::path folder = options.folder;
  if (options.name != kCoordinatorName)
    if (const std::string_view flaw = flaw_of_party_name(options.name); !flaw.empty())
      return fail(bad_input({.field = "NAME"}, flaw, options.name));
  secure::KeyPair authority;
  PARLEY_TRY(authority.certificate, read_whole((folder / "ca.pem").string()));
  PARLEY_TRY(authority.key, read_whole((folder / "ca.key").string()));
  PARLEY_TRY(const secure::Issued pair, secure::issue(authority, options.name, {options.days}));
  PARLEY_CHECK(write_pair(folder, options.name, pair));
  warn_of_open_key((folder / "ca.key").string());
  if (pair.clipped)
    fmt::print(stderr, "parley: {}.pem expires on {}, with the authority in ca.pem, not after {}\n", options.name,
               *pair.clipped, counted(options.days, "day"));
  fmt::print("{0}.pem and {0}.key in {1}: '{0}' needs them and ca.pem in one folder\n", options.name, options.folder);
  return 0;
}

}  // namespace

void add_keys(CLI::App& app, Exit& exit) {
  CLI::App* keys = app.add_subcommand("keys", "Make a certificate authority and certificates for a federation");
  keys->require_subcommand(1);
  const char* const example =
      "Example:\n  parley keys init keys\n  parley keys issue keys coordinator\n  parley keys issue keys clinic";
  keys->footer(example);
  const CLI::Range days(1, 36500);

  auto begin = std::make_shared<KeyOptions>(KeyOptions{.name = "federation", .days = 3650});
  CLI::App* init_verb = keys->add_subcommand("init", "Make the authority that every party trusts");
  init_verb->add_option("folder", begin->folder, "Folder for ca.pem and ca.key")->required();
  init_verb->add_option("--name", begin->name, "Name of the federation")->capture_default_str();
  init_verb->add_option("--days", begin->days, "How many days it is valid")->check(days)->capture_default_str();
  init_verb->footer(example);
  init_verb->callback([begin, &exit] { exit.finish(init(*begin)); });

  auto one = std::make_shared<KeyOptions>(KeyOptions{.days = 825});
  CLI::App* issue_verb = keys->add_subcommand("issue", "Make the certificate of one party, or of the coordinator");
  issue_verb->add_option("folder", one->folder, "Folder with ca.pem and ca.key")->required();
  issue_verb->add_option("name", one->name, "The party's name in jobs; 'coordinator' for the coordinator")->required();
  issue_verb->add_option("--days", one->days, "How many days it is valid; at most as long as the authority")
      ->check(days)
      ->capture_default_str();
  issue_verb->footer("Example:\n  parley keys issue keys clinic");
  issue_verb->callback([one, &exit] { exit.finish(issue(*one)); });
}

}  // namespace parley::app
