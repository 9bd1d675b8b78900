// The pictures of a page, as figures with their captions; empty where the runs have nothing to show.
#pragma once
#include <span>
#include <string>

#include "parley/reports/finished_run.h"

namespace parley::reports {

// Of several runs, one line each.
std::string objective_charts(std::span<const FinishedRun> runs);
std::string curves(std::span<const FinishedRun> runs);
// Of one.
std::string weights_chart(const FinishedRun& run);
std::string traffic_chart(const FinishedRun& run);
std::string budget_chart(const FinishedRun& run);
std::string noise_chart(const FinishedRun& run);
std::string time_chart(const FinishedRun& run);

}  // namespace parley::reports
