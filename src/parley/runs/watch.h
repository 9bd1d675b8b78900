// What a run tells whoever watches it, in values: words are the watcher's.
#pragma once
#include <functional>
#include <string>
#include <variant>

#include "parley/algorithms/parts/fit.h"
#include "parley/core/error.h"
#include "parley/rounds/tapped_channel.h"

namespace parley::runs {

// What a run is about to do.
struct Reading {
  std::string table;  // of a job of one site
  int parties = 0;    // of a federation
};
struct Training {};
using Phase = std::variant<Reading, Training>;

struct Watch {
  algorithms::Observer observer;  // each iteration; false asks for a stop
  std::function<void(const Phase&)> phase = {};
  std::function<bool()> stop = {};  // whether a stop was asked for, before there is an iteration to report
  rounds::Tap tap = {};             // of a simulation: every frame that passes
};

// A stop that came before there was anything to keep; nothing has been charged for either.
inline Error stopped_early() {
  return failed("interrupted before the first iteration; nothing was written");
}

}  // namespace parley::runs
