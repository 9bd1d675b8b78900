// A model as a run leaves it: whole, or in parts that belong to parties, each with the columns of that party.
//
//   DIR/model.json                     whole; or {"format": "parley-model-parts", "parts": [{"party", "path"}, ...]}
//   DIR/part-1/model.json, ...         one model file per part, which says whose it is and whose others belong to it
//   STATE/models/RUN/model.json        the same file, where a site keeps its own part
//
// The margin of a record is the sum of the parts' margins: no part alone says anything about a record.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "parley/core/result.h"
#include "parley/models/trained.h"

namespace parley::models {

// `whole`: what is claimed of all parts together.
Result<void> save(const std::vector<Trained>& parts, const Provenance& whole, const std::string& directory);

// The model of one run's folder or file; or every part of a model, from folders or files in any order. Either one whole
// model comes back or all parts in the order of the job; anything less is an error.
Result<std::vector<Trained>> load_parts(const std::vector<std::string>& paths);

// Whose classes have names: a part without labels calls them -1 and +1.
const Trained& with_labels(const std::vector<Trained>& parts);

// The model and result files of a run's folder, those of its parts too: what predictions must not be written over.
std::vector<std::string> files_of_run(const std::string& directory);

// Whether a folder holds a model that a privacy budget paid for: to make it again would be paid for again. A model.json
// that is not a model is an error.
Result<bool> holds_private_model(const std::string& directory);

// The part that knows the labels and the names of their classes; of a whole model that.
const Trained& with_labels(std::span<const Trained> parts);

}  // namespace parley::models
