// Keeps the account of a solve loop: how it went (Fit::history, Fit::iterations), why it ended (Fit::stop), and what
// its observer sees of it.
//
//   Fit fit;
//   Recorder record(fit, observer, {.expected = steps});
//   while (fit.iterations < steps && !record.ended()) {
//     ... one step ...
//     record.step(objective);
//   }
//   record.finish(problem, coordinates);
//
// The first reason to end stands. A loop that finds none ends with its steps.
#pragma once
#include <cstdint>
#include <limits>
#include <span>

#include "parley/algorithms/parts/fit.h"

namespace parley::algorithms {

// False when the observer asks for an end. Where nobody watches, nobody asks.
inline bool go_on(const Observer& observer, const Progress& at) {
  return !observer || observer(at);
}

// Why a run ended that did all the steps that its privacy budget held.
inline Stop when_done(std::int64_t held, std::int64_t asked) {
  return held < asked ? Stop::kBudgetEnded : Stop::kIterations;
}

class Recorder {
 public:
  struct Plan {
    Certificate certificate = Certificate::kNone;
    std::int64_t expected = 0;           // iterations of the whole run where that is known beforehand
    Stop otherwise = Stop::kIterations;  // why the run ended if nothing else ends it
  };
  Recorder(Fit& fit, const Observer& observer, const Plan& plan)
      : fit_(fit), observer_(observer), expected_(static_cast<int>(plan.expected)) {
    fit_.certificate = plan.certificate;
    fit_.gap = std::numeric_limits<double>::quiet_NaN();
    fit_.stop = plan.otherwise;
  }

  // One more point of the history.
  void keep(double objective) { fit_.history.push_back(objective); }

  // Shows the point after Fit::iterations to the observer, who may ask for an end. False when the run is over.
  bool show(double objective, double gap) {
    if (!go_on(observer_, {fit_.iterations, objective, gap, expected_})) end(Stop::kInterrupted);
    return !ended_;
  }

  // One more iteration: counted, kept and shown. False when the run is over.
  bool step(double objective) {
    ++fit_.iterations;
    keep(objective);
    return show(objective, fit_.gap);
  }

  void end(Stop reason) {
    if (!ended_) fit_.stop = reason;
    ended_ = true;
  }
  [[nodiscard]] bool ended() const { return ended_; }

  // The model of the run. Its objective is computed afresh and ends the history, which may have followed it with
  // rounding.
  void finish(const Problem& problem, std::span<const double> coordinates) {
    set_model(problem, coordinates, fit_);
    if (!fit_.history.empty()) fit_.history.back() = fit_.objective;
  }

 private:
  Fit& fit_;
  const Observer& observer_;
  int expected_;
  bool ended_ = false;
};

}  // namespace parley::algorithms
