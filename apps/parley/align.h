// What `parley align` is asked and what it finds, with all tables here or at sites.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "parley/algorithms/vertical/alignment.h"
#include "parley/core/result.h"
#include "parley/jobs/job.h"
#include "parley/rounds/meter.h"

namespace parley::app {

struct AlignOptions {
  std::string job;
  std::vector<std::string> overrides;
  std::string out = "orders";
  std::string listen;  // empty: all tables are here
  std::string tls;
  bool left = false;
  bool count = false;
  bool json = false;
};

struct InCommon {
  std::vector<std::int64_t> ids;     // how many each party has
  std::vector<std::int64_t> common;  // with the first, of each other one
  std::int64_t kept = 0;
  rounds::Communication communication;
};

// Tells sites that dial in to align themselves. `find` as in secure.find.
Result<InCommon> align_sites(const AlignOptions& options, const std::string& find);

}  // namespace parley::app
