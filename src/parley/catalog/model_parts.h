// A model as a run leaves it: whole, or in parts that belong to parties, each with the columns of that party.
//
//   DIR/model.json                     whole; or {"format": "parley-model-parts", "parts": [{"party", "labels", "path"}, ...]}
//   DIR/part-1/model.json, ...         one whole model file per part: a party can be given its own alone
//
// The margin of a record is the sum of the parts' margins.
#pragma once
#include <string>
#include <vector>

#include "parley/catalog/trained.h"
#include "parley/core/result.h"

namespace parley::catalog {

struct ModelPart {
  std::string party;   // empty: the whole model
  bool labels = true;  // tables of this part carry the labels
  Trained trained;
};

Result<void> save(const std::vector<ModelPart>& parts, const std::string& directory);
Result<std::vector<ModelPart>> load_parts(const std::string& directory);

// Whether a folder holds a model that a privacy budget paid for: to make it again would be paid for again. A model.json that is
// no model is an error.
Result<bool> holds_private_model(const std::string& directory);

// What a model says about tables. Of a whole model each file is a table with rows of its own. Of a model in parts the files
// hold the same records: PARTY=FILE, or one file for each part in their order.
struct Judged {
  std::vector<std::string> ids;
  std::vector<double> margins;     // class by class
  std::vector<double> labels;      // when asked for
  std::vector<std::string> notes;  // what was not taken as it stands in a file, one line each
  [[nodiscard]] std::size_t rows() const { return ids.size(); }
};
Result<Judged> judge(const std::vector<ModelPart>& parts, const std::vector<std::string>& files, data::LabelUse labels);

}  // namespace parley::catalog
