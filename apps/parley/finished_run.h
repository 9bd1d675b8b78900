// A run that is over, as its folder remembers it: when it is started again, by a supervisor or by hand, it does not
// begin anew. A private one would be charged to every site a second time.
//
//   OUT/finished   {"run", "job": digest, "private", "model": digest of model.json, "result": digest of result.json,
//                   "exit_code", "shown": the table for people}
//
// It is written before the checkpoint goes, so that at any moment one of the two is there.
#pragma once
#include <optional>
#include <string>

#include "parley/core/result.h"

namespace parley::app {

struct FinishedRun {
  std::string run;
  std::string job;  // digest of its text and of what was set beside it, wherever it lies
  bool is_private = false;
  std::string model;   // digest of model.json; empty where the parties keep its parts
  std::string result;  // result.json
  std::string shown;
  int exit_code = 0;
};

Result<void> keep(const FinishedRun& run, const std::string& folder);
// Nothing when the folder holds the result of another job, of another run, or none.
std::optional<FinishedRun> finished_run(const std::string& folder, const std::string& job);
// The file of the folder that tells of a private run, whose parts of the model may be elsewhere; empty: none does.
std::string tells_of_private_run(const std::string& folder);

}  // namespace parley::app
