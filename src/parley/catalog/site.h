// A site: what one party holds, and what it allows whatever a job says. Written by the site's administrator in TOML; no
// job and no coordinator can override it.
//
//   [site]
//   name = "clinic"                    # as jobs and its certificate call it
//   coordinator = "host:7000"
//   tls = "keys"                       # ca.pem, clinic.pem, clinic.key
//   state = "state"                    # what must survive a restart, the account of jobs, parts of models that stay here
//   [data]
//   path = "clinic.csv"
//   schema = "clinic.schema.toml"
//   [limits]
//   algorithms = ["fed-iter-ht"]       # absent: any
//   never = ["postcode"]               # columns that no job may use
//   minimum_records = 100
//   without_privacy = false            # whether jobs without a [privacy] section are answered
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "parley/catalog/job.h"
#include "parley/core/result.h"
#include "parley/rounds/handler.h"

namespace parley::catalog {

struct Limits {
  std::vector<std::string> algorithms;  // empty: any
  std::vector<std::string> never;
  std::int64_t minimum_records = 1;
  bool without_privacy = false;
};

struct Site {
  std::string file;
  std::string name;
  std::string coordinator;
  std::string tls;
  std::string state;
  std::string data;
  std::string schema;  // empty: none
  Limits limits;
};

Result<Site> read_site(const std::string& path);

// A job as it travels: its text, and what the coordinator changed in it.
struct JobText {
  std::string file;  // its name, for messages
  std::string text;
  std::vector<std::string> overrides;
  static void fields(auto& self, auto&& visit) { visit(self.file, self.text, self.overrides); }
};
Result<JobText> read_job_text(const std::string& path, const std::vector<std::string>& overrides);
Result<Job> parse(const JobText& text, Paths paths);

// The site's decision about a job: its table is read and checked against its limits. Everything that could speak about the
// data stays in the error, which stays at the site.
Result<rounds::Admission> admit(const Site& site, const rounds::Opening& opening);

}  // namespace parley::catalog
