// What one party of a job reads: its own table and nothing else.
//
// The only party of a job reads its table as the model needs it. Of several, each may see different classes and, in
// LIBSVM files, different last columns; so their tables are read in two steps: as they are, and then alike - with the
// columns and classes that the parties agreed on.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "parley/algorithms/parts/private_terms.h"
#include "parley/algorithms/vertical/column_share.h"
#include "parley/catalog/classes.h"
#include "parley/core/result.h"
#include "parley/data/dataset.h"
#include "parley/data/key_digest.h"
#include "parley/data/load.h"
#include "parley/data/source.h"
#include "parley/glm/model.h"
#include "parley/jobs/job.h"
#include "parley/secure/peers.h"

namespace parley::catalog {

// Where a party's rows come from.
struct PartySource {
  data::Source train;
  std::optional<data::Source> test = {};
  std::optional<data::FederationSecret> secret = {};  // that its keys leave under; none: they stay in this process
};
using Sources = std::vector<PartySource>;
// The files that the job names, for all its parties or for some.
PartySource files_of(const jobs::PartySection& party);
Sources files_of(const jobs::Job& job);

struct PartyTable {
  std::string party;
  int number = 0;  // in the job's list
  data::Dataset train;
  std::optional<data::Dataset> test;
  glm::Model scaling;          // scales, centers and unit_rows alone
  linalg::Matrix features;     // of `train`, scaled; of a private run on its grid
  bool aligned = false;        // its records are those of the other parties, in the same order
  std::int64_t alignment = 0;  // that its order comes from; 0: from none
  std::string run;  // which run of which job it is read for, as this party was told; empty: by its own process
  std::shared_ptr<const secure::Peers> peers;                    // at a site with an identity
  std::shared_ptr<const algorithms::PrivateTerms> terms;         // of a private run
  std::shared_ptr<const algorithms::LabelRelease> noisy_labels;  // where `train.labels` leave with noise of their own
  std::vector<data::KeyColumns> keys;  // of `train`, digests: as the job numbers the keys of the table
};

// What each record of a table weighs: by its class, and by its own weight. Empty: all the same.
std::vector<double> weights_of(const jobs::Job& job, const data::Dataset& table);

// The table of a job's only party.
Result<PartyTable> read_alone(const jobs::Job& job, const PartySource& source);

// Of several parties: the table as it is, with labels as numbers of its own classes; and the rest once everyone agreed.
Result<data::Dataset> read_raw(const jobs::Job& job, int party, const PartySource& source, data::LabelUse labels);
Result<PartyTable> read_alike(const jobs::Job& job, int party, const PartySource& source, data::Dataset train,
                              const data::ColumnNames& columns, const AgreedClasses& classes);

// Of a run that protects no labels: that both classes occur.
Result<void> check_two_classes(const jobs::Job& job, const std::string& file, const data::Dataset& train);

// x<first>, x<first+1>, ... without a gap; nothing for named columns.
std::optional<int> first_number(const data::ColumnNames& columns);
// Numbered columns: from the first to the last of any table. Named ones must be the same in every table.
Result<data::ColumnNames> agree_on_columns(const jobs::Job& job, std::span<const data::Dataset> tables);

}  // namespace parley::catalog
