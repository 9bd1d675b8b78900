// parley keys init|issue|request|sign|revoke|identity|fingerprint: the certificates of a federation, and the identities
// that its sites pin.
#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>

#include "apps/parley/tls_folder.h"
#include "apps/parley/verbs.h"
#include "parley/core/files.h"
#include "parley/core/party_name.h"
#include "parley/core/text.h"
#include "parley/secure/certificates.h"
#include "parley/secure/identity_file.h"
#include "parley/secure/revoked.h"

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

// For its owner alone.
Result<void> write_key(const fs::path& file, const std::string& key) {
  PARLEY_CHECK(refuse_to_replace(file));
  const mode_t before = ::umask(0077);
  const auto written = write_atomically(file.string(), key);
  ::umask(before);
  return written;
}

// The key for its owner alone; the certificate for anyone.
Result<void> write_pair(const fs::path& folder, const std::string& name, const secure::KeyPair& pair) {
  PARLEY_CHECK(refuse_to_replace(folder / (name + ".pem")));
  PARLEY_CHECK(write_key(folder / (name + ".key"), pair.key));
  return write_atomically((folder / (name + ".pem")).string(), pair.certificate);
}

Result<void> check_name(const std::string& name) {
  if (name == kCoordinatorName) return {};
  if (const std::string_view flaw = flaw_of_party_name(name); !flaw.empty())
    return fail(bad_input({.field = "NAME"}, flaw, name));
  return {};
}

Result<void> make_folder_for_keys(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return fail(bad_input({folder, 0, ""}, "the folder cannot be made: " + error.message()));
  return {};
}

Result<secure::KeyPair> authority_in(const fs::path& folder) {
  secure::KeyPair authority;
  PARLEY_TRY(authority.certificate, read_whole((folder / "ca.pem").string()));
  PARLEY_TRY(authority.key, read_whole((folder / "ca.key").string()));
  return authority;
}

void say_when_it_ends(const KeyOptions& options, const secure::Issued& issued) {
  if (issued.clipped)
    fmt::print(stderr, "parley: {}.pem expires on {}, with the authority in ca.pem, not after {}\n", options.name,
               *issued.clipped, counted(options.days, "day"));
}

Result<int> init(const KeyOptions& options) {
  PARLEY_CHECK(make_folder_for_keys(options.folder));
  PARLEY_TRY(const secure::KeyPair authority, secure::make_authority(options.name, {options.days}));
  PARLEY_CHECK(write_pair(options.folder, "ca", authority));
  fmt::print("authority '{}' in {}: keep ca.key to yourself, give ca.pem to every party\n", options.name,
             options.folder);
  return 0;
}

Result<int> issue(const KeyOptions& options) {
  const fs::path folder = options.folder;
  PARLEY_CHECK(check_name(options.name));
  PARLEY_TRY(const secure::KeyPair authority, authority_in(folder));
  PARLEY_TRY(const secure::Issued pair, secure::issue(authority, options.name, {options.days}));
  PARLEY_CHECK(write_pair(folder, options.name, pair));
  warn_of_open_key((folder / "ca.key").string());
  say_when_it_ends(options, pair);
  fmt::print("{0}.pem and {0}.key in {1}: '{0}' needs them and ca.pem in one folder\n", options.name, options.folder);
  return 0;
}

// ---- at a site ----

// A key that is there is kept: then the request renews its certificate.
Result<int> request(const KeyOptions& options) {
  PARLEY_CHECK(check_name(options.name));
  PARLEY_CHECK(make_folder_for_keys(options.folder));
  const fs::path folder = options.folder, key_file = folder / (options.name + ".key");
  const bool renews = fs::exists(key_file);
  std::string key;
  if (renews) {
    PARLEY_TRY(key, read_whole(key_file.string(), std::size_t{1} << 20));
    warn_of_open_key(key_file.string());
  } else {
    PARLEY_TRY(key, secure::make_key());
  }
  const auto made = secure::make_request(options.name, key);
  if (!made) return fail(bad_input({key_file.string(), 0, ""}, "is not a key that a request can be made with"));
  PARLEY_TRY(const secure::Requested read, secure::read_request(*made));
  if (!renews) PARLEY_CHECK(write_key(key_file, key));
  const std::string file = (folder / (options.name + ".csr")).string();
  PARLEY_CHECK(write_atomically(file, *made));
  fmt::print(
      "{0}: send it to whoever runs the federation, who answers with {1}.pem and ca.pem (parley keys sign); {1}.key "
      "stays here\nfingerprint of the key, to compare by another way: {2}\n",
      file, options.name, read.fingerprint);
  return 0;
}

Result<int> identity(const KeyOptions& options) {
  if (const std::string_view flaw = flaw_of_party_name(options.name); !flaw.empty())
    return fail(bad_input({.field = "NAME"}, flaw, options.name));
  PARLEY_CHECK(make_folder_for_keys(options.folder));
  const std::string file = secure::identity_file(options.folder, options.name);
  PARLEY_TRY(const secure::Identity made, secure::Identity::make());
  PARLEY_CHECK(secure::write_identity(made, file));
  fmt::print(
      "{}: stays here. The other sites of the federation pin it, told by a way that does not pass the coordinator:\n"
      "[[peer]]\nname = \"{}\"\nkey = \"{}\"\n",
      file, options.name, secure::text_of_key(made.public_key()));
  return 0;
}

Result<int> fingerprint(const KeyOptions& options) {
  PARLEY_TRY(const secure::Identity read, secure::read_identity(secure::identity_file(options.folder, options.name)));
  fmt::print("{}\n", secure::text_of_key(read.public_key()));
  return 0;
}

// ---- at the authority ----

std::string earlier_in(const fs::path& folder, const std::string& name) {
  return (folder / (name + ".earlier.pem")).string();
}

// A certificate that is there is renewed for the same key; for another one once it was revoked, and never again for a
// key that was.
Result<void> check_renewal(const fs::path& folder, const secure::Requested& wish) {
  const fs::path file = folder / (wish.name + ".pem");
  if (!fs::exists(file)) return {};
  PARLEY_TRY(const std::string present, read_whole(file.string()));
  PARLEY_TRY(const std::string list, read_list(folder.string()));
  std::string earlier;
  if (fs::exists(earlier_in(folder, wish.name))) {
    PARLEY_TRY(earlier, read_whole(earlier_in(folder, wish.name)));
  }
  for (const std::string& each : secure::each_certificate(present + earlier)) {
    const auto about = secure::about(each);
    if (about && about->fingerprint == wish.fingerprint && secure::is_revoked(list, each))
      return fail(bad_input({file.string(), 0, ""}, "was revoked with the key of this request; make another key"));
  }
  PARLEY_TRY(const secure::About about, secure::about(present));
  if (about.fingerprint == wish.fingerprint || secure::is_revoked(list, present)) return {};
  return fail(bad_input({file.string(), 0, ""},
                        "is there for another key; parley keys revoke takes it back, so that this one can be signed"));
}

Result<int> sign(const KeyOptions& options, const std::string& request_file) {
  const fs::path folder = options.folder;
  PARLEY_TRY(const std::string pem, read_whole(request_file, std::size_t{1} << 20));
  const auto wish = secure::read_request(pem);
  if (!wish) return fail(bad_input({request_file, 0, ""}, wish.error().message));
  PARLEY_CHECK(check_name(wish->name));
  PARLEY_TRY(const secure::KeyPair authority, authority_in(folder));
  PARLEY_CHECK(check_renewal(folder, *wish));
  PARLEY_TRY(const secure::Issued issued, secure::sign_request(authority, pem, {options.days}));
  const fs::path file = folder / (wish->name + ".pem");
  if (fs::exists(file)) {  // kept, so that it can be revoked
    PARLEY_TRY(std::string all, read_whole(file.string()));
    if (fs::exists(earlier_in(folder, wish->name))) {
      PARLEY_TRY(const std::string earlier, read_whole(earlier_in(folder, wish->name)));
      all += earlier;
    }
    PARLEY_CHECK(write_atomically(earlier_in(folder, wish->name), all));
  }
  PARLEY_CHECK(write_atomically(file.string(), issued.certificate));
  warn_of_open_key((folder / "ca.key").string());
  say_when_it_ends({options.folder, wish->name, options.days}, issued);
  fmt::print(
      "{0}: send it back with ca.pem; '{1}' has the key\nfingerprint of the key, to compare by another way: {2}\n",
      file.string(), wish->name, wish->fingerprint);
  return 0;
}

Result<int> revoke(const KeyOptions& options) {
  const fs::path folder = options.folder;
  PARLEY_CHECK(check_name(options.name));
  PARLEY_TRY(const secure::KeyPair authority, authority_in(folder));
  PARLEY_TRY(std::string all, read_whole((folder / (options.name + ".pem")).string()));
  if (fs::exists(earlier_in(folder, options.name))) {
    PARLEY_TRY(const std::string earlier, read_whole(earlier_in(folder, options.name)));
    all += earlier;
  }
  PARLEY_TRY(const std::string list, read_list(folder.string()));
  const auto made = secure::revoke(authority, list, secure::each_certificate(all));
  if (!made) return fail(bad_input({(folder / (options.name + ".pem")).string(), 0, ""}, made.error().message));
  const std::string file = (folder / kRevokedFile).string();
  PARLEY_CHECK(write_atomically(file, *made));
  fmt::print("{}: holds what '{}' was issued; everybody puts it beside ca.pem (SIGHUP has a daemon read it)\n", file,
             options.name);
  return 0;
}

// A verb that takes a folder and a name.
std::shared_ptr<KeyOptions> named(CLI::App& verb, const char* folder, const char* example) {
  auto options = std::make_shared<KeyOptions>(KeyOptions{.days = 825});
  verb.add_option("folder", options->folder, folder)->required();
  verb.add_option("name", options->name, "The party's name in jobs; 'coordinator' for the coordinator")->required();
  verb.footer(std::string("Example:\n  ") + example);
  return options;
}

void add_days(CLI::App& verb, const std::shared_ptr<KeyOptions>& options, const char* what) {
  verb.add_option("--days", options->days, what)->check(CLI::Range(1, 36500))->capture_default_str();
}

}  // namespace

void add_keys(CLI::App& app, Exit& exit) {
  CLI::App* keys =
      app.add_subcommand("keys", "Make a certificate authority, certificates and identities of a federation");
  keys->require_subcommand(1);
  const char* const example =
      "Example:\n  parley keys init keys\n  parley keys issue keys coordinator\n"
      "  parley keys request clinic-keys clinic       # at the clinic, which keeps its key\n"
      "  parley keys sign keys clinic-keys/clinic.csr # at the authority";
  keys->footer(example);

  auto begin = std::make_shared<KeyOptions>(KeyOptions{.name = "federation", .days = 3650});
  CLI::App* init_verb = keys->add_subcommand("init", "Make the authority that every party trusts");
  init_verb->add_option("folder", begin->folder, "Folder for ca.pem and ca.key")->required();
  init_verb->add_option("--name", begin->name, "Name of the federation")->capture_default_str();
  add_days(*init_verb, begin, "How many days it is valid");
  init_verb->footer(example);
  init_verb->callback([begin, &exit] { exit.finish(init(*begin)); });

  constexpr const char* kAtMost = "How many days it is valid; at most as long as the authority";
  CLI::App* issue_verb =
      keys->add_subcommand("issue", "Make the key and the certificate of one party at the authority");
  auto one = named(*issue_verb, "Folder with ca.pem and ca.key", "parley keys issue keys clinic");
  add_days(*issue_verb, one, kAtMost);
  issue_verb->callback([one, &exit] { exit.finish(issue(*one)); });

  CLI::App* request_verb = keys->add_subcommand(
      "request", "Make a key that stays here, and the request for its certificate; again: renew it");
  auto wish = named(*request_verb, "Folder for the key and the request", "parley keys request clinic-keys clinic");
  request_verb->callback([wish, &exit] { exit.finish(request(*wish)); });

  CLI::App* sign_verb = keys->add_subcommand("sign", "Make the certificate that a party requests for its own key");
  auto signer = std::make_shared<KeyOptions>(KeyOptions{.days = 825});
  auto file = std::make_shared<std::string>();
  sign_verb->add_option("folder", signer->folder, "Folder with ca.pem and ca.key")->required();
  sign_verb->add_option("request", *file, "The party's request (NAME.csr)")->required();
  add_days(*sign_verb, signer, kAtMost);
  sign_verb->footer("Example:\n  parley keys sign keys clinic.csr");
  sign_verb->callback([signer, file, &exit] { exit.finish(sign(*signer, *file)); });

  CLI::App* revoke_verb = keys->add_subcommand("revoke", "Take back every certificate that a name was issued");
  auto revoked = named(*revoke_verb, "Folder with ca.pem and ca.key", "parley keys revoke keys clinic");
  revoke_verb->callback([revoked, &exit] { exit.finish(revoke(*revoked)); });

  CLI::App* identity_verb =
      keys->add_subcommand("identity", "Make a site's identity, which the other sites pin ([[peer]])");
  auto self = named(*identity_verb, "Folder with the site's certificate", "parley keys identity keys clinic");
  identity_verb->callback([self, &exit] { exit.finish(identity(*self)); });

  CLI::App* fingerprint_verb = keys->add_subcommand("fingerprint", "Print what the other sites pin of this one");
  auto shown = named(*fingerprint_verb, "Folder with the site's identity", "parley keys fingerprint keys clinic");
  fingerprint_verb->callback([shown, &exit] { exit.finish(fingerprint(*shown)); });
}

}  // namespace parley::app
