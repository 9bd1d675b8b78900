// result.json: what a run did, for machines; the same facts as a table, for people.
#pragma once
#include <string>

#include "parley/catalog/run.h"

namespace parley::catalog {

struct ReportContext {
  std::string model_path;  // where model.json is
  double total_seconds = 0;
};

std::string result_json(const Job& job, const Outcome& outcome, const ReportContext& context);
std::string result_table(const Job& job, const Outcome& outcome, const ReportContext& context);
std::string metrics_json(const Scored& scored);
std::string metrics_table(const Scored& scored);

}  // namespace parley::catalog
