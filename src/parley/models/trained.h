// A trained model with what is needed to use it on another table: how the table is read, how its columns are scaled,
// and where the model comes from. Kept as model.json; the same job and seed give the same bytes.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "parley/core/result.h"
#include "parley/data/dataset.h"
#include "parley/data/load.h"
#include "parley/glm/model.h"
#include "parley/glm/objective.h"
#include "parley/models/join_of_parts.h"

namespace parley::models {

inline constexpr const char* kNotPrivate =
    "This run is not private: no [privacy] section was given, and nothing bounds what the model reveals about a "
    "record.";

struct Provenance {
  std::string job;
  std::string algorithm;
  std::string version;  // of Parley
  std::optional<std::int64_t> seed;
  std::size_t rows = 0;  // trained on; public: what the job states where the relation hides n
  std::string privacy;   // the statement
  std::string run;       // of a part: the same in all parts of one run, and in no other. Empty in a whole model
  bool claimed = false;  // whether the statement claims anything
  // whether what it claims holds for these weights: false in what was left with its party as it is
  bool covered = false;
};

// Whose part of a model this is: one with the columns of that party. The margin of a record is the sum over the parts.
struct PartOf {
  std::string party;
  bool labels = false;                   // tables of this part carry the labels
  std::vector<std::string> parties;      // whose parts make the model, in the order of the job
  std::optional<JoinOfParts> join = {};  // of tables that are joined; absent: the parties hold the same records
  // What a row of a left join gets that has no tuple of this part's table, for each class; empty: nothing.
  std::vector<double> without_tuple = {};
};

struct Trained {
  glm::Model model;
  glm::Objective objective;
  data::ColumnNames columns;  // as read; model.columns lists the same names
  data::Schema schema;        // reads another table alike
  std::string label;          // column name; empty: as the schema says
  Provenance provenance;
  std::optional<PartOf> part;  // absent: the whole model

  // Options that read another table to the same columns and classes; labels are read when `labels` says so.
  [[nodiscard]] data::LoadOptions reading(data::LabelUse labels) const;
};

// {"claimed", "covered", "statement"}, as every model.json has it.
nlohmann::ordered_json privacy_json(const Provenance& provenance);

data::LabelKind label_kind(glm::Task task);

// DIR/model.json. Its "privacy" says what is claimed, and whether these weights are covered by it.
Result<void> save(const Trained& trained, const std::string& directory);
Result<Trained> load_trained(const std::string& directory);

}  // namespace parley::models
