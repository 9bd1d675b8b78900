// parley doctor: whether this machine has what Parley needs.
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>

#include <array>
#include <filesystem>

#include "apps/parley/join_check.h"
#include "apps/parley/verbs.h"
#include "parley/core/descriptors.h"
#include "parley/core/files.h"
#include "parley/core/text.h"
#include "parley/core/threads.h"
#include "parley/core/version.h"
#include "parley/linalg/cpu.h"
#include "parley/privacy/randomness/generator.h"

namespace parley::app {

namespace {

struct DoctorOptions {
  std::string folder = ".";
};

void say(bool good, const char* about, const std::string& what) {
  fmt::print("{} {:<12} {}\n", good ? "ok" : "!!", about, what);
}

// Whole files that survive a power cut: what ledgers and checkpoints are made of.
bool check_disk(const std::string& folder) {
  const std::string probe = (std::filesystem::path(folder) / "parley-doctor.probe").string();
  const auto written = write_atomically(probe, "x");
  std::error_code ignored;
  std::filesystem::remove(probe, ignored);
  struct statvfs disk {};
  const double left = ::statvfs(folder.c_str(), &disk) == 0
                          ? static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize)
                          : 0;
  constexpr double kEnough = 1e8;
  say(written && left >= kEnough, "disk",
      written ? fmt::format("{}: can be written, {} left", folder, human_bytes(left)) : written.error().message);
  return written && left >= kEnough;
}

Result<int> doctor(const DoctorOptions& options) {
  bool good = true;
  say(true, "version", kVersion);
  struct sysinfo machine {};
  const double memory = ::sysinfo(&machine) == 0 ? static_cast<double>(machine.totalram) * machine.mem_unit : 0;
  say(true, "machine",
      fmt::format("{}, {} of memory, kernels for {}", counted(thread_count(), "thread"), human_bytes(memory),
                  linalg::name(linalg::best_cpu_level())));
  std::array<unsigned char, 32> bytes{};
  const bool random = privacy::system_entropy(bytes);
  say(random, "randomness", random ? "the system gives it" : "the system gives none: no private job can run");
  good = good && random;
  good = check_disk(options.folder) && good;
  const std::size_t descriptors = raise_descriptor_limit();
  constexpr std::size_t kFewest = 256;
  say(descriptors >= kFewest, "descriptors", fmt::format("{} files and connections may be open", descriptors));
  good = good && descriptors >= kFewest;
  const std::string clock = flaw_of_clock();
  fmt::print("{} {:<12} {}\n", clock.empty() ? "ok" : "--", "clock",
             clock.empty() ? "is kept by a time service" : clock);
  return good ? 0 : 1;
}

}  // namespace

void add_doctor(CLI::App& app, Exit& exit) {
  auto options = std::make_shared<DoctorOptions>();
  CLI::App* verb = app.add_subcommand("doctor", "Say whether this machine has what Parley needs");
  verb->add_option("--folder", options->folder, "Where ledgers, state or models are to be kept")->capture_default_str();
  verb->footer("Example:\n  parley doctor --folder state\n\nWhat a site needs beside: parley join --check site.toml");
  verb->callback([options, &exit] { exit.finish(doctor(*options)); });
}

}  // namespace parley::app
