// result.json: what a run did, for machines; the same facts as a table, for people.
#pragma once
#include <string>

#include "parley/runs/outcome.h"

namespace parley::runs {

// With [privacy] what no claim covers - the exact objective and its history, metrics, notes, times - is in one object,
// "simulation" with "covered": false, and in the table behind this line.
inline constexpr const char* kNotCovered = "Not covered by the claim, for the holder of the data only:";

struct ReportContext {
  std::string model_path;  // where model.json is
  double total_seconds = 0;
};

std::string result_json(const jobs::Job& job, const Outcome& outcome, const ReportContext& context);
std::string result_table(const jobs::Job& job, const Outcome& outcome, const ReportContext& context);
std::string metrics_json(const models::Scored& scored);
std::string metrics_table(const models::Scored& scored);

}  // namespace parley::runs
