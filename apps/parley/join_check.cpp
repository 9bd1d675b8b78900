#include "apps/parley/join_check.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/timex.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <utility>

#include "apps/parley/tls_folder.h"
#include "parley/catalog/read_job.h"
#include "parley/core/files.h"
#include "parley/core/text.h"
#include "parley/data/database_address.h"
#include "parley/data/load.h"
#include "parley/data/schema.h"
#include "parley/jobs/site.h"
#include "parley/privacy/ledger/ledger_folder.h"
#include "parley/runs/admit.h"
#include "parley/secure/certificates.h"
#include "parley/secure/handshake.h"
#include "parley/secure/identity_file.h"
#include "parley/transport/grpc/client.h"

namespace parley::app {

namespace {

namespace fs = std::filesystem;

class Findings {
 public:
  void good(const char* about, const std::string& what) { print("ok", about, what); }
  void note(const char* about, const std::string& what) { print("--", about, what); }
  void bad(const char* about, const std::string& what, int code = 2) {
    print("!!", about, what);
    code_ = std::max(code_, code);
  }
  [[nodiscard]] int code() const { return code_; }

 private:
  static void print(const char* mark, const char* about, const std::string& what) {
    fmt::print("{} {:<12} {}\n", mark, about, what);
  }
  int code_ = 0;
};

Result<std::string> shown_of(const jobs::Site& site, const transport::Credentials& own) {
  PARLEY_TRY(const secure::About about, secure::about(own.certificate));
  return fmt::format("{}.pem holds until {}, {} from now", site.name, about.last_day,
                     counted((about.end - std::time(nullptr)) / 86400, "day"));
}

void check_identity(const jobs::Site& site, Findings& found) {
  const std::string file = secure::identity_file(site.tls, site.name);
  if (!fs::exists(file)) {
    if (site.peers.empty())
      return found.note("identity", "none: of masked sums, whoever hands on the parties' keys is trusted to do so");
    return found.bad("identity", file + ": does not exist, and [[peer]] needs it; parley keys identity makes it");
  }
  const auto identity = secure::read_identity(file);
  if (!identity) return found.bad("identity", identity.error().message);
  std::string peers;
  for (const secure::Pin& pin : site.peers) peers += (peers.empty() ? "; pins " : ", ") + pin.name;
  found.good("identity", secure::text_of_key(identity->public_key()) + (peers.empty() ? "; pins nobody" : peers));
}

// As the site's own schema reads it: a job may leave columns out.
void check_data(const jobs::Site& site, Findings& found) {
  const auto readable = [&]() -> Result<data::Dataset> {
    data::LoadOptions options;
    if (!site.schema.empty()) {
      PARLEY_TRY(options.schema, data::read_schema(site.schema));
    }
    options.label_use = data::LabelUse::kNone;
    return data::load(site.data, options);
  };
  const auto table = readable();
  if (!table) return found.bad("data", table.error().message);
  if (static_cast<std::int64_t>(table->rows()) < site.limits.minimum_records)
    return found.bad(
        "data", fmt::format("{}: has {}, and limits.minimum_records is {}", site.data,
                            counted(static_cast<long long>(table->rows()), "record"), site.limits.minimum_records));
  found.good("data", fmt::format("{}: {}, {}", site.data, counted(static_cast<long long>(table->rows()), "record"),
                                 counted(static_cast<long long>(table->columns.size()), "feature")));
  if (site.schema.empty()) found.note("schema", "none: no private job is answered without one");
}

void check_ledger(const jobs::Site& site, Findings& found) {
  if (const auto good = runs::check_ledger(site); !good) return found.bad("ledger", good.error().message);
  const auto there = privacy::holds_database(site.ledger);
  if (!there) return found.bad("ledger", there.error().message);
  if (*there) return found.good("ledger", site.ledger);
  if (site.limits.budget) return found.good("ledger", "none yet; it is made with the budget of [limits]");
  found.note("ledger", "none, and [limits] states no budget: no private job is answered");
}

void check_state(const jobs::Site& site, Findings& found) {
  std::error_code error;
  fs::create_directories(site.state, error);
  const std::string probe = (fs::path(site.state) / "check.probe").string();
  if (error) return found.bad("state", site.state + ": the folder cannot be made: " + error.message());
  if (const auto written = write_atomically(probe, "x"); !written) return found.bad("state", written.error().message);
  fs::remove(probe, error);
  if (const auto alone = FileLock::take((fs::path(site.state) / "in-use").string()); !alone)
    return found.note("state", site.state + ": a daemon uses it");
  found.good("state", site.state);
}

void check_connection(const jobs::Site& site, const transport::Credentials& own, Findings& found) {
  const secure::Handshake met =
      secure::shake_hands(site.coordinator, own.authority, {own.certificate, own.key}, transport::kCoordinator);
  if (!met.doubt.empty()) return found.bad("connection", site.coordinator + ": " + met.doubt, 1);
  if (!met.reached) return found.bad("connection", site.coordinator + ": nobody answers there now", 1);
  if (own.distrusts && own.distrusts(met.certificate))
    return found.bad("connection", site.coordinator + ": shows a certificate that was revoked", 1);
  found.good("connection", site.coordinator + ": a coordinator of this federation answers");
}

}  // namespace

std::string flaw_of_clock() {
  timex clock{};
  const int state = ::adjtimex(&clock);
  constexpr std::time_t kReleased = 1767225600;  // 2026-01-01
  if (std::time(nullptr) < kReleased)
    return fmt::format("says {:%Y-%m-%dT%H:%M:%SZ}, which is past; certificates will seem not valid yet",
                       fmt::gmtime(std::time(nullptr)));
  if (state == TIME_ERROR && (clock.status & STA_UNSYNC) != 0) return "is not kept by a time service";
  return {};
}

Result<int> check_site(const std::string& file) {
  PARLEY_TRY(const jobs::Site site, catalog::read_site(file));
  Findings found;
  found.good("config", fmt::format("{}: '{}', with the coordinator at {}", file, site.name, site.coordinator));
  if (const auto files = jobs::check_files(site); !files)
    found.bad("limits", files.error().message);
  else
    check_data(site, found);
  check_state(site, found);
  check_ledger(site, found);
  if (const std::string flaw = flaw_of_clock(); !flaw.empty())
    found.note("clock", flaw);
  else
    found.good("clock", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))));
  check_identity(site, found);
  if (const auto own = read_credentials(site.tls, site.name); !own) {
    found.bad("certificate", own.error().message);
    found.note("connection", "not tried without a certificate");
  } else {
    if (const auto shown = shown_of(site, *own)) found.good("certificate", *shown);
    check_connection(site, *own, found);
  }
  return found.code();
}

}  // namespace parley::app
