// What one party of a federation reads: its own files and nothing else.
//
// Parties may see different classes and, in LIBSVM files, different last columns. So a table is read in two steps: as
// it is, and then alike - with the columns and classes that the parties agreed on.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "parley/catalog/job.h"
#include "parley/core/result.h"
#include "parley/data/dataset.h"
#include "parley/data/load.h"
#include "parley/glm/model.h"

namespace parley::catalog {

class PrivateSite;  // private_site.h
struct PaidRun;

struct PartyTable {
  std::string party;
  int number = 0;  // in the job's list
  data::Dataset train;
  std::optional<data::Dataset> test;
  glm::Model scaling;                 // scales, centers and unit_rows alone
  linalg::Matrix features;            // of `train`, scaled
  bool aligned = false;               // its records are those of the other parties, in the same order
  bool ids_are_public = true;         // may be said as a digest, to find parties out of step
  std::string run;                    // which run of which job it is read for, as this party was told; empty: by its own process
  std::shared_ptr<PrivateSite> site;  // of a private run; its features are then on its grid
};

// Labels as every party must number them. Real labels: empty.
struct AgreedClasses {
  std::vector<std::string> names;    // every class of any party
  std::vector<double> values;        // -1/+1 or class number, of each
  std::vector<std::string> classes;  // of the model: {negative, positive} or the K names
};

// x<first>, x<first+1>, ... without a gap; nothing for named columns.
std::optional<int> first_number(const data::ColumnNames& columns);

// The classes of all tables in the order in which the job lists them; where it lists none, in that of the schemas' levels. Of two the second
// is positive, unless the job names the positive class. Of a private job where nobody lists any: those of the convention.
Result<AgreedClasses> agree_on_classes(const Job& job, std::span<const data::Dataset> tables);
// Numbered columns: from the first to the last of any table. Named ones must be the same in every table.
Result<data::ColumnNames> agree_on_columns(const Job& job, std::span<const data::Dataset> tables);

// What a job says about reading a party's table, but not what kind of labels it has. Where private LIBSVM tables begin is not
// found in them: at 1, unless a schema says 0.
Result<data::LoadOptions> reading_of(const Job& job, const Party& party);
Result<data::Dataset> read_as_it_is(const Job& job, const Party& party, data::LabelUse labels);
// The rest of the party's table once everyone agreed: same columns, labels as numbers, test rows, scaled features.
Result<PartyTable> read_alike(const Job& job, int party, data::Dataset train, const data::ColumnNames& columns,
                              const AgreedClasses& classes);

// Opens the party's ledger and gate for a private run; `table.features` become those of the site.
Result<void> open_site(const Job& job, const glm::Objective& objective, PartyTable& table, const PaidRun& run);
// What the noise of a party comes from in a simulation.
std::optional<std::int64_t> noise_seed(const Job& job, int party);

}  // namespace parley::catalog
