// Settings of a horizontal algorithm: its rounds and the steps of a party between two messages; the letters are those
// of local_steps.h.
#pragma once
#include <cstdint>

#include "parley/core/toml.h"

namespace parley::algorithms {

struct LocalSettings {
  int rounds = 100;         // T
  int local_steps = 5;      // K
  double step = 0;          // gamma; 0: 1/L with L a bound of the curvature of one record's loss
  std::int64_t batch = 0;   // b; 0: all records
  double batch_growth = 1;  // in (0, 1]
  double clip = 0;  // private runs: the norm one record's gradient may have; 0: its largest at a model of zeros.
                    // Where the unit is the client: the norm of its update, which must be given
  std::uint64_t seed = 0;

  static LocalSettings read(Toml& settings);  // its keys of [algorithm]
};

}  // namespace parley::algorithms
