// A site: what one party holds, and what it allows whatever a job says. Written by the site's administrator in TOML; no
// job and no coordinator can override it.
//
//   [site]
//   name = "clinic"                    # as jobs and its certificate call it
//   coordinator = "host:7000"
//   tls = "keys"                       # ca.pem, clinic.pem, clinic.key
//   state = "state"                    # what must survive a restart, the account of jobs, parts of models that stay here
//   ledger = "ledger"                  # what was spent of the data's budget; absent: in the state folder
//   [data]
//   path = "clinic.csv"
//   schema = "clinic.schema.toml"
//   classes = ["-1", "1"]              # of the labels of a LIBSVM table, whose schema has no label column: private jobs that
//                                      # classify must list the same
//   [limits]
//   algorithms = ["fed-iter-ht"]       # absent: any; an empty list: none
//   never = ["postcode"]               # columns that no job may use
//   minimum_records = 100
//   without_privacy = false            # whether jobs are answered that protect nobody: those without a [privacy] section,
//                                      # and those whose noise comes from a seed that others know
//   epsilon = 2.0                      # of the data set, over all runs there will ever be; both or neither:
//   delta = 1e-5                       # without them the budget is what `parley ledger budget` set
//   neighbours = "replace-one"         # the relation that the budget is about; other jobs are refused, so that none can
//                                      # open a second purse
//   unit = "record"                    # likewise what the budget protects: "record", or "client": this site's whole table
//   public_labels = false              # whether labels leave: a job of parties with columns sends them to the coordinator, with
//                                      # and without privacy, and is refused otherwise
//   public_ids = false                 # whether a private job of parties with columns gets a digest of the record ids
//   records = 2000                     # the public number that stands for n in jobs under add-remove; absent: none is answered
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "parley/catalog/job.h"
#include "parley/core/result.h"
#include "parley/privacy/ledger/ledger.h"
#include "parley/rounds/handler.h"

namespace parley::catalog {

struct PaidRun;  // private_site.h

struct Limits {
  std::optional<std::vector<std::string>> algorithms;  // absent: any
  std::vector<std::string> never;
  std::int64_t minimum_records = 1;
  bool without_privacy = false;
  std::optional<privacy::Budget> budget;
  privacy::Neighbours neighbours = privacy::Neighbours::kReplaceOne;
  privacy::Unit unit = privacy::Unit::kRecord;
  bool public_labels = false;
  bool public_ids = false;              // whether a digest of the record ids may be sent, to find parties out of step
  std::optional<std::int64_t> records;  // the public number of records that stands for n under add-remove
};

struct Site {
  std::string file;
  std::string name;
  std::string coordinator;
  std::string tls;
  std::string state;
  std::string ledger;
  std::string data;
  std::string schema;  // empty: none
  std::vector<std::string> classes;
  Limits limits;
};

Result<Site> read_site(const std::string& path);
// Before the site dials: its schema and its table can be opened, and every name in limits.never is one of theirs. A
// misspelt name would protect nothing.
Result<void> check_files(const Site& site);

// An error when private runs were admitted with the site's state folder and their ledger is gone or an older copy: a new one would be
// a whole new budget for the same records, an older one a part of it. Looked at when the site starts and when a private run is opened.
Result<void> check_ledger(const Site& site);
// Writes down in the state folder that private runs were admitted with it; on disk before the first can be charged.
Result<void> remember_private_runs(const Site& site);

// A job as it travels: its text, and what the coordinator changed in it.
struct JobText {
  std::string file;  // its name, for messages
  std::string text;
  std::vector<std::string> overrides;
  static void fields(auto& self, auto&& visit) { visit(self.file, self.text, self.overrides); }
};
Result<JobText> read_job_text(const std::string& path, const std::vector<std::string>& overrides);
Result<Job> parse(const JobText& text, Paths paths);

// Where a site keeps its part of a model whose parts stay with the parties.
std::string part_in(const std::string& state, const wire::RunId& run);

// What a private run is called in the ledger of a party, among all runs and jobs, and how far it had got here.
Result<PaidRun> paid_run(const Job& job, const rounds::Opening& opening);

// For the site's account: what is worth a line.
using Tell = std::function<void(const std::string&)>;

// The site's decision about a job: its table is read and checked against its limits. Everything that could speak about the
// data stays in the error, which stays at the site. Nothing is charged yet.
Result<rounds::Admission> admit(const Site& site, const rounds::Opening& opening, const Tell& tell);

}  // namespace parley::catalog
