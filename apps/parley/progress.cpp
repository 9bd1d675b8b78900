#include "apps/parley/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace parley::app {

namespace {

constexpr int kBarWidth = 24;

std::string bar(int iteration, int expected) {
  const double share = expected > 0 ? std::clamp(static_cast<double>(iteration) / expected, 0.0, 1.0) : 0.0;
  const int full = static_cast<int>(std::lround(share * kBarWidth));
  return fmt::format("[{}{}] {:3.0f} %", std::string(static_cast<std::size_t>(full), '#'),
                     std::string(static_cast<std::size_t>(kBarWidth - full), '.'), 100 * share);
}

}  // namespace

ProgressLine::ProgressLine(bool quiet) : quiet_(quiet), terminal_(::isatty(STDERR_FILENO) != 0) {}

ProgressLine::~ProgressLine() {
  clear();
}

void ProgressLine::clear() {
  if (drawn_ && terminal_) std::fputs("\r\x1b[K", stderr);
  drawn_ = false;
}

void ProgressLine::phase(const std::string& what) {
  if (quiet_) return;
  clear();
  if (terminal_) {
    fmt::print(stderr, "\r\x1b[K{}", what);
    std::fflush(stderr);
    drawn_ = true;
  }
}

void ProgressLine::say(const std::string& what) {
  if (quiet_) return;
  clear();
  fmt::print(stderr, "parley: {}\n", what);
}

void ProgressLine::count(const algorithms::Progress& progress) {
  draw(progress, [](double) { return std::string(); });
}

void ProgressLine::step(const algorithms::Progress& progress) {
  draw(progress, [&](double seconds) {
    std::string line;
    if (std::isfinite(progress.objective)) line += fmt::format("  objective {:.8g}", progress.objective);
    if (std::isfinite(progress.gap)) line += fmt::format("  gap {:.2e}", progress.gap);
    return line + fmt::format("  {:.1f} s", seconds);
  });
}

void ProgressLine::draw(const algorithms::Progress& progress, const std::function<std::string(double seconds)>& rest) {
  if (quiet_) return;
  const auto now = Clock::now();
  if (now < next_) return;
  using std::chrono::milliseconds;
  next_ = now + (terminal_ ? milliseconds(100) : milliseconds(2000));
  const double seconds = std::chrono::duration<double>(now - started_).count();
  std::string line;
  if (progress.expected > 0) line = bar(progress.iteration, progress.expected) + "  ";
  line += fmt::format("iteration {}", progress.iteration) + rest(seconds);
  if (terminal_) {
    fmt::print(stderr, "\r\x1b[K{}", line);
    std::fflush(stderr);
    drawn_ = true;
  } else if (seconds >= 2) {
    fmt::print(stderr, "{}\n", line);
  }
}

}  // namespace parley::app
