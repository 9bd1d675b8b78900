// A site: what one party holds, and what it allows whatever a job says. Written by the site's administrator in TOML; no
// job and no coordinator can override it.
//
//   [site]
//   name = "clinic"                    # as jobs and its certificate call it
//   coordinator = "host:7000"
//   tls = "keys"                       # ca.pem, clinic.pem, clinic.key
//   state = "state"                    # what must survive a restart, the account of jobs, parts of models that stay
//   ledger = "ledger"                  # what was spent of the data's budget; absent: in the state folder
//   federation_secret = "secret"       # what keys of a join are hashed under; the coordinator does not have it
//   [data]
//   path = "clinic.csv"
//   schema = "clinic.schema.toml"
//   classes = ["-1", "1"]              # of the labels of a LIBSVM table, whose schema has no label column:
//                                      # private jobs that classify must list the same
//   [[peer]]                           # another site whose identity this one knows: it takes part in no job with a
//   name = "registry"                  # party that is not listed, once one is
//   key = "6f0c..."                    # as `parley keys fingerprint` prints it there
//   [limits]
//   algorithms = ["fed-iter-ht"]       # absent: any; an empty list: none
//   never = ["postcode"]               # columns that no job may use
//   minimum_records = 100
//   without_privacy = false            # whether jobs are answered that protect nobody: those without a [privacy]
//                                      # section, and those whose noise comes from a seed that others know
//   epsilon = 2.0                      # of the data set, over all runs there will ever be; both or neither:
//   delta = 1e-5                       # without them the budget is what `parley ledger budget` set
//   neighbours = "replace-one"         # the relation that the budget is about; other jobs are refused, so that none
//                                      # can open a second purse
//   unit = "record"                    # likewise what the budget protects: "record", or "client": this site's whole
//                                      # table
//   public_labels = false              # whether labels leave: a job of parties with columns sends them to the
//                                      # coordinator, with and without privacy, and is refused otherwise
//   public_ids = false                 # whether a private job of parties with columns gets a digest of the record ids
//   records = 2000                     # the public number that stands for n in jobs under add-remove; absent: no such
//                                      # job is answered
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "parley/core/result.h"
#include "parley/privacy/ledger/charges.h"
#include "parley/secure/peers.h"

namespace parley::jobs {

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
  std::string schema;             // empty: none
  std::string federation_secret;  // file; empty: none. Keys of a join leave hashed under it
  std::vector<std::string> classes;
  std::vector<secure::Pin> peers;  // other sites
  Limits limits;
};

// `algorithms`: the names that limits.algorithms may list.
Result<Site> read_site(const std::string& path, const std::vector<std::string>& algorithms);
// Before the site dials: its schema and its table can be opened, and every name in limits.never is one of theirs. A
// misspelt name would protect nothing.
Result<void> check_files(const Site& site);

}  // namespace parley::jobs
