#include "apps/parley/interrupt.h"

#include <csignal>

namespace parley::app {

namespace {

volatile std::sig_atomic_t asked = 0;

void on_signal(int signal) {
  if (asked != 0) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  asked = 1;
}

}  // namespace

void watch_interrupts() {
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
}

bool interrupted() {
  return asked != 0;
}

}  // namespace parley::app
