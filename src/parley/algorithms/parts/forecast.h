// What an algorithm of several parties can say of a run before it begins, from what the parties say of themselves. It is
// an upper bound where the run may end earlier.
#pragma once
#include <cstdint>
#include <vector>

namespace parley::algorithms {

// Of one party, without the frames' headers.
struct Traffic {
  double up = 0, down = 0;    // bytes
  std::int64_t messages = 0;  // each way
};

// What sketches of m rows would save, and cost.
struct SketchTrade {
  std::int64_t rows = 0;    // m; n: columns as they are
  double column_bytes = 0;  // of a column that is sent
  double uplink = 0;        // of all parties
  double blur = 0;          // sqrt(n log n / m): by how much the margins' errors let scores grow
};

struct Forecast {
  std::int64_t rounds = 0;
  std::vector<Traffic> parties{};  // none: not known
  std::vector<SketchTrade> sketches{};
  // A release is a vector of one value per record, whose sensitivity is at least twice the bound of a value.
  bool one_value_per_record = false;
};

}  // namespace parley::algorithms
