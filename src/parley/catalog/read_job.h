// Jobs and sites, read with every algorithm of the catalog.
#pragma once
#include <string>
#include <vector>

#include "parley/core/result.h"
#include "parley/jobs/job.h"
#include "parley/jobs/job_text.h"
#include "parley/jobs/site.h"

namespace parley::catalog {

// `overrides` are "section.key=value".
Result<jobs::Job> read_job(const std::string& path, const std::vector<std::string>& overrides);
Result<jobs::Job> parse_job(Toml toml, const std::string& path, jobs::Paths paths = jobs::Paths::kHere);
Result<jobs::Job> parse_job(const jobs::JobText& text, jobs::Paths paths);
Result<jobs::Site> read_site(const std::string& path);

}  // namespace parley::catalog
