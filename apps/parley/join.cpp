// parley join SITE.toml: takes part in jobs as a site, within its limits.
#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/parley/join_check.h"
#include "apps/parley/signals.h"
#include "apps/parley/tls_folder.h"
#include "apps/parley/verbs.h"
#include "parley/catalog/read_job.h"
#include "parley/core/descriptors.h"
#include "parley/core/files.h"
#include "parley/core/text.h"
#include "parley/core/threads.h"
#include "parley/runs/admit.h"
#include "parley/transport/grpc/client.h"

namespace parley::app {

namespace {

struct JoinOptions {
  std::string site;
  int threads = 0;
  bool once = false;
  bool quiet = false;
  bool check = false;
  bool times = false;
};

// What the account says so far; a device or a pipe, which may have no end, says nothing.
std::string written_in(const std::string& file) {
  std::error_code error;
  return std::filesystem::is_regular_file(file, error) ? read_whole(file).value_or("") : "";
}

// What the site answered, for the people who must be able to say what left: one line for each event that matters. A
// line that cannot be written is kept and tried again with the next; until then nothing leaves.
class JobsLog {
 public:
  static Result<JobsLog> open(const std::string& folder, const JoinOptions& options) {
    JobsLog account((std::filesystem::path(folder) / "jobs.log").string(), options);
    PARLEY_CHECK(account.write_down());
    // Of a daemon that was killed: what it kept tells what had left.
    for (const auto& [run, so_far] : rounds::unfinished_runs(folder))
      if (const std::string line = unfinished(run, so_far); !account.has(line)) account.append(line);
    return account;
  }
  [[nodiscard]] Result<void> whole() const {
    if (unwritten_.empty()) return {};
    return fail(unavailable(file_ + ": cannot be written; nothing leaves that is not accounted for"));
  }

  void note(const rounds::SiteEvent& event) {
    using What = rounds::SiteEvent::What;
    switch (event.what) {
      case What::kOpened:
        leave_unfinished();
        unfinished_ = {event.run, event.so_far};
        break;
      case What::kAnswered:
      case What::kRepeated:
        unfinished_ = {event.run, event.so_far};
        return;
      case What::kClosed:
        unfinished_.reset();
        break;
      default:
        break;
    }
    job(event.run, in_words(event));
    if (event.what == What::kClosed && !event.why.empty()) job(event.run, "is not remembered to be over: " + event.why);
  }
  // The daemon ends, its connection is lost or another run begins: what has left of a run that may never be closed.
  void leave_unfinished() {
    if (const auto run = std::exchange(unfinished_, std::nullopt)) append(unfinished(run->first, run->second));
  }
  void site(const std::string& what) { append(what); }
  void job(const wire::RunId& run, const std::string& what) { append(of(run) + what); }
  void say(const std::string& what) const {
    if (!quiet_) fmt::print(stderr, "parley: {}{}\n", times_ ? now() + " " : "", what);
  }

 private:
  static std::string of(const wire::RunId& run) { return fmt::format("run {} ", wire::hex(run).substr(0, 12)); }
  static std::string unfinished(const wire::RunId& run, const rounds::SoFar& so_far) {
    return of(run) + "is not over; so far: " + in_words(so_far);
  }
  [[nodiscard]] bool has(const std::string& line) const {
    return written_in(file_).find(" " + line + "\n") != std::string::npos;
  }
  static std::string now() { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))); }
  JobsLog(std::string file, const JoinOptions& options)
      : file_(std::move(file)), quiet_(options.quiet), times_(options.times) {}
  void append(const std::string& line) {
    unwritten_ += fmt::format("{} {}\n", now(), line);
    say(line);
    if (const auto done = write_down(); !done) say(done.error().message);
  }
  Result<void> write_down() {
    const int file = ::open(file_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    bool good = file >= 0;
    std::size_t written = 0;
    while (good && written < unwritten_.size()) {
      const ssize_t wrote = ::write(file, unwritten_.data() + written, unwritten_.size() - written);
      if (wrote < 0 && errno == EINTR) continue;
      good = wrote > 0;
      if (good) written += static_cast<std::size_t>(wrote);
    }
    // On disk before what it tells of leaves: after a power cut the account has no gap. What could not be synced is
    // written once more; devices and pipes have nothing to sync.
    const bool wrote_all = good;
    good = good && (::fsync(file) == 0 || errno == EINVAL || errno == EROFS || errno == ENOTSUP);
    if (good || !wrote_all) unwritten_.erase(0, written);
    const std::string why = good ? "" : std::strerror(errno);
    if (file >= 0) ::close(file);
    if (good) return {};
    return fail(unavailable(fmt::format("{}: cannot be written: {}", file_, why)));
  }
  std::string file_;
  bool quiet_;
  bool times_;
  std::string unwritten_;
  std::optional<std::pair<wire::RunId, rounds::SoFar>> unfinished_;  // and not yet written down
};

// "TIME run RUN is private: ..."; what a coordinator chose, as the name of a job, comes later in its line.
bool tells_of_a_private_run(std::string_view line) {
  const auto word = [&line] {
    const std::string_view first = line.substr(0, line.find(' '));
    line.remove_prefix(std::min(line.size(), first.size() + 1));
    return first;
  };
  word();
  if (word() != "run") return false;
  word();
  return line.starts_with("is private: ");
}

// Of earlier versions the account alone tells that private runs were admitted.
Result<void> remember_what_was_accounted(const jobs::Site& site) {
  const std::string account = written_in((std::filesystem::path(site.state) / "jobs.log").string());
  for (std::string_view rest = account; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (tells_of_a_private_run(line)) return runs::remember_private_runs(site);
  }
  return {};
}

constexpr std::chrono::seconds kEnding{2};  // a daemon that was killed or told to end may take a moment

struct Settings {
  jobs::Site site;
  transport::Credentials credentials;
};

Result<Settings> read_settings(const std::string& file) {
  Settings settings;
  PARLEY_TRY(settings.site, catalog::read_site(file));
  PARLEY_CHECK(jobs::check_files(settings.site));
  PARLEY_TRY(settings.credentials, read_credentials(settings.site.tls, settings.site.name));
  return settings;
}

// SIGHUP: the site file and the certificates as they are now. What is wrong with them is said, and the old ones stay.
void read_again(const std::string& file, Settings& settings, JobsLog& account) {
  const auto changed = [&]() -> Result<Settings> {
    PARLEY_TRY(Settings now, read_settings(file));
    if (now.site.name != settings.site.name)
      return fail(bad_input({file, 0, "site.name"}, "is another one; that takes a daemon of its own", now.site.name));
    if (now.site.state != settings.site.state)
      return fail(
          bad_input({file, 0, "site.state"}, "is another one; end this daemon and start it again", now.site.state));
    PARLEY_CHECK(runs::check_ledger(now.site));
    return now;
  }();
  if (!changed) return account.site("what SITE.toml says now is not used: " + changed.error().message);
  settings = *changed;
  account.site("SITE.toml was read again; it holds from the next run on");
}

// What processes that were killed left unfinished. Nobody else uses the state folder.
void tidy(const jobs::Site& site) {
  remove_unfinished(site.state);
  remove_unfinished(site.ledger);
  namespace fs = std::filesystem;
  std::error_code none;
  for (fs::directory_iterator at(fs::path(site.state) / "models", none), end; !none && at != end; at.increment(none))
    remove_unfinished(at->path().string());
  // A ledger that was never finished (ledger_folder.h). Another process may be making one here: that takes a moment,
  // not minutes, and would fail without harm.
  std::vector<fs::path> old;
  for (fs::directory_iterator at(site.ledger, none), end; !none && at != end; at.increment(none))
    if (at->path().filename().string().starts_with("ledger.making.") &&
        fs::file_time_type::clock::now() - at->last_write_time(none) > std::chrono::minutes(5))
      old.push_back(at->path());
  for (const fs::path& file : old) fs::remove(file, none);
}

Result<int> join(const JoinOptions& options) {
  if (options.check) return check_site(options.site);
  if (options.threads > 0) set_thread_count(options.threads);
  raise_descriptor_limit();
  // From here on: who asks for a reading before the daemon is ready gets one when it is.
  StopSignals signals(StopSignals::Hangup::kIsHeard);
  PARLEY_TRY(Settings settings, read_settings(options.site));
  const jobs::Site& site = settings.site;
  // What is kept of a run has the secret of its masks, and answers before they leave: for the site's user alone.
  ::umask(0077);
  std::error_code error;
  std::filesystem::create_directories(site.state, error);
  if (error)
    return fail(bad_input({site.file, 0, "site.state"}, "the folder cannot be made: " + error.message(), site.state));

  // Two daemons on one state would each answer a round: two releases for one charge.
  PARLEY_TRY(const FileLock alone, FileLock::take((std::filesystem::path(site.state) / "in-use").string(), kEnding));

  PARLEY_CHECK(remember_what_was_accounted(site));
  PARLEY_CHECK(runs::check_ledger(site));
  tidy(site);
  PARLEY_TRY(JobsLog account, JobsLog::open(site.state, options));
  std::optional<Fault> kept_out;  // why the last job was not admitted
  const auto admit = [&](const rounds::Opening& opening) -> Result<rounds::Admission> {
    PARLEY_TRY(const jobs::JobText text, wire::decode<jobs::JobText>(opening.job));
    account.job(opening.run, "asked to take part in " + printable(text.file));
    if (const std::string ends = expiry_warning(settings.credentials.certificate, site.name, std::time(nullptr));
        !ends.empty())
      account.site("warning: " + ends);
    PARLEY_CHECK(account.whole());
    auto admission =
        runs::admit(site, opening, [&account, run = opening.run](const std::string& what) { account.job(run, what); });
    if (!admission) {
      kept_out = admission.error().fault;
      return admission;
    }
    PARLEY_CHECK(account.whole());
    admission->leaving = [&account, mark = admission->leaving](std::int64_t round,
                                                               std::string_view answer) -> Result<void> {
      if (mark) PARLEY_CHECK(mark(round, answer));
      return account.whole();
    };
    return admission;
  };
  const auto note = [&](const rounds::SiteEvent& event) {
    account.note(event);
    const bool not_in_it =
        event.what == rounds::SiteEvent::What::kNotAdmitted || event.what == rounds::SiteEvent::What::kLeftOut;
    if (not_in_it && !kept_out) kept_out = Fault::kFailed;
    if (event.what == rounds::SiteEvent::What::kOpened) kept_out.reset();
  };
  rounds::Handler handler(admit, site.state, note);
  const auto finished = [&] { return options.once && (handler.over() || kept_out); };
  while (true) {
    // A run that was admitted stays so: the handler has it, whoever dials.
    transport::GrpcClient client(
        {.address = site.coordinator,
         .credentials = settings.credentials,
         .finished = finished,
         .notice = [&](const transport::DialEvent& event) { account.say(in_words(event)); },
         .lost = [&] { account.leave_unfinished(); },
         .why_not = [&] { return why_not_believed(settings.credentials, site.name, site.coordinator); }});
    signals.then([&] { client.stop(); });
    const auto served = client.serve([&](std::string_view frame) { return handler.respond(frame); });
    signals.then({});
    if (!served) {
      account.leave_unfinished();
      return fail(served.error());
    }
    if (signals.asked() || finished() || !signals.hung_up()) break;
    read_again(options.site, settings, account);
  }
  account.leave_unfinished();
  if (!options.once || handler.over() || !kept_out) return 0;
  account.say("this site takes no part in the run; " + site.state + "/jobs.log says why");
  return *kept_out == Fault::kBudgetEnded ? 3 : 1;
}

}  // namespace

void add_join(CLI::App& app, Exit& exit) {
  auto options = std::make_shared<JoinOptions>();
  CLI::App* verb = app.add_subcommand("join", "Take part in jobs as a site, within limits that no job can override");
  verb->add_option("site", options->site, "The site (TOML): its data, its limits, and where the coordinator is")
      ->required();
  verb->add_flag(
      "--once", options->once,
      "End when one run is over, when a job was not admitted (exit 1; 3 if the budget was why) or when the run "
      "began without this site (exit 1); without this flag the daemon waits for the next job");
  verb->add_option("--threads", options->threads,
                   "Threads to use (default: all cores); their number never changes the result")
      ->check(CLI::Range(1, 4096));
  verb->add_flag("--check", options->check,
                 "Look at the site file, certificate, identity, data, ledger, clock and connection, say what is wrong, "
                 "and join nothing (exit 2 when something here is wrong, 1 when nobody answers)");
  verb->add_flag("--times", options->times, "Begin each line on stderr with the time, as lines of jobs.log do");
  verb->add_flag("--quiet", options->quiet,
                 "Print only errors and warnings on stderr; the log of jobs, STATE/jobs.log, is kept all the same");
  verb->footer(
      "Example:\n  parley join --check site.toml\n  parley join site.toml\n\n"
      "A daemon that was killed at any point and is started again goes on where it was. After Ctrl-C the run waits "
      "for it. SIGHUP makes it read SITE.toml and its certificates again; they hold from the next run on.");
  verb->callback([options, &exit] { exit.finish(join(*options)); });
}

}  // namespace parley::app
