// Progress on stderr: a bar on a terminal, a plain line now and then otherwise, nothing when quiet.
#pragma once
#include <chrono>
#include <functional>
#include <string>

#include "parley/algorithms/parts/fit.h"

namespace parley::app {

class ProgressLine {
 public:
  explicit ProgressLine(bool quiet);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void step(const algorithms::Progress& progress);   // total iterations are not known: gap and count
  void count(const algorithms::Progress& progress);  // of a private run: how far it is, and nothing that data decide
  void phase(const std::string& what);               // "reading data ..."
  void say(const std::string& what);                 // a line that stays
  void clear();

 private:
  void draw(const algorithms::Progress& progress, const std::function<std::string(double seconds)>& rest);
  using Clock = std::chrono::steady_clock;
  bool quiet_;
  bool terminal_;
  bool drawn_ = false;
  Clock::time_point started_ = Clock::now();
  Clock::time_point next_ = started_;
};

}  // namespace parley::app
