#include "apps/parley/signals.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>

#include "parley/data/write.h"

namespace parley::app {

namespace {

sigset_t watched(StopSignals::Hangup hangup) {
  sigset_t set;
  sigemptyset(&set);
  if (hangup == StopSignals::Hangup::kIsHeard) sigaddset(&set, SIGHUP);
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) sigaddset(&set, signal);
  return set;
}

}  // namespace

StopSignals::StopSignals(Hangup hangup) : hangup_(hangup) {
  const sigset_t set = watched(hangup_);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  thread_ = std::thread([this] { watch(); });
}

StopSignals::~StopSignals() {
  ::pthread_kill(thread_.native_handle(), SIGUSR1);
  thread_.join();
}

void StopSignals::watch() {
  const sigset_t set = watched(hangup_);
  for (int signal = 0; ::sigwait(&set, &signal) == 0 && signal != SIGUSR1;) {
    if (signal == SIGHUP)
      hung_up_ = true;
    else if (asked_.exchange(true))
      ::_exit(1);
    const std::lock_guard lock(mutex_);
    if (wake_) wake_();
  }
}

CleanEnd::CleanEnd() {
  signals_.then([] {
    data::Outputs::abandon_all();
    std::fputs("parley: interrupted; unfinished files were removed\n", stderr);
    ::_exit(1);
  });
}

void StopSignals::then(std::function<void()> wake) {
  const std::lock_guard lock(mutex_);
  wake_ = std::move(wake);
  if ((asked_ || hung_up_) && wake_) wake_();
}

}  // namespace parley::app
