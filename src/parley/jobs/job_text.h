// A job as it travels: its text, and what the coordinator changed in it.
#pragma once
#include <string>
#include <vector>

#include "parley/core/result.h"

namespace parley::jobs {

struct JobText {
  std::string file;  // its name, for messages
  std::string text;
  std::vector<std::string> overrides;
  static void fields(auto& self, auto&& visit) { visit(self.file, self.text, self.overrides); }
};
Result<JobText> read_job_text(const std::string& path, const std::vector<std::string>& overrides);

}  // namespace parley::jobs
