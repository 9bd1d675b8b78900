// One page about runs: what was learnt, how well, who saw what, what it cost. It needs no network and no script, and
// holds nothing that the runs' own files do not say.
#pragma once
#include <span>
#include <string>

#include "parley/reports/finished_run.h"

namespace parley::reports {

inline constexpr std::size_t kMostRuns = 8;  // side by side

std::string page(std::span<const FinishedRun> runs);

// Reads the runs and writes report.html into the folder of the first.
Result<std::string> write_report(const std::vector<std::string>& folders);

}  // namespace parley::reports
