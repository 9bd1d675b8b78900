// Ctrl-C and SIGTERM for verbs that wait on a network: a thread of its own receives them, so nothing has to be polled.
// The first asks for a stop; a second ends the program at once. Made before any other thread.
#pragma once
#include <atomic>
#include <functional>
#include <mutex>
#include <thread>

namespace parley::app {

class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  [[nodiscard]] bool asked() const { return asked_; }
  void then(std::function<void()> wake);  // called when a stop is asked for; at once if it was

 private:
  void watch();
  std::atomic<bool> asked_ = false;
  std::mutex mutex_;
  std::function<void()> wake_;
  std::thread thread_;
};

// While it lives, Ctrl-C and SIGTERM end the program at once and leave no unfinished file behind. Made before any other thread.
class CleanEnd {
 public:
  CleanEnd();

 private:
  StopSignals signals_;
};

}  // namespace parley::app
