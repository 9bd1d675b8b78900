// Ctrl-C and SIGTERM for verbs that wait on a network: a thread of its own receives them, so nothing has to be polled.
// The first asks for a stop; a second ends the program at once. Made before any other thread. For whoever asks for it
// SIGHUP is received too, and asks that settings are read again; else it ends the program, as when a terminal is
// closed.
#pragma once
#include <atomic>
#include <functional>
#include <mutex>
#include <thread>

namespace parley::app {

class StopSignals {
 public:
  enum class Hangup { kEnds, kIsHeard };
  explicit StopSignals(Hangup hangup = Hangup::kEnds);
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  [[nodiscard]] bool asked() const { return asked_; }
  bool hung_up() { return hung_up_.exchange(false); }  // since it was asked last
  void then(std::function<void()> wake);  // called when a stop or a reading is asked for; at once if it was

 private:
  void watch();
  Hangup hangup_;
  std::atomic<bool> asked_ = false;
  std::atomic<bool> hung_up_ = false;
  std::mutex mutex_;
  std::function<void()> wake_;
  std::thread thread_;
};

// While it lives, Ctrl-C and SIGTERM end the program at once and leave no unfinished file behind. Made before any other
// thread.
class CleanEnd {
 public:
  CleanEnd();

 private:
  StopSignals signals_;
};

}  // namespace parley::app
