// Which classes a job has, what they are called, and how parties number them.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "parley/core/result.h"
#include "parley/data/dataset.h"
#include "parley/jobs/job.h"

namespace parley::catalog {

// Labels as every party must number them. Real labels: empty.
struct AgreedClasses {
  std::vector<std::string> names;    // every class of any party
  std::vector<double> values;        // -1/+1 or class number, of each
  std::vector<std::string> classes;  // of the model: {negative, positive} or the K names
};

// The classes of all tables in the order in which the job lists them; where it lists none, in that of the schemas'
// levels. Of two the second is positive, unless the job names the positive class. Of a private job where nobody lists
// any: those of the convention.
Result<AgreedClasses> agree_on_classes(const jobs::Job& job, std::span<const data::Dataset> tables);
// A table's own numbers of classes become those that were agreed on.
void number_labels(const AgreedClasses& agreed, data::Labels& labels);

// Whether the classes of the model are those that the job or the schema lists, also those that no row has.
bool lists_classes(const jobs::Job& job);
// The classes of one site's model, in the order in which the job or the schema lists them. Of a private one they are no
// others: those that occur would be found in the data. Where nobody lists any they are as they were read, and a private
// run refuses the table unless they are -1/1 or 0/1.
Result<std::vector<std::string>> public_classes(const jobs::Job& job, const data::Dataset& train);

// Whether which classes there are would be found in the data; and whether they are those of a convention, -1/1 or 0/1.
bool finds_classes(const jobs::Job& job, const data::Dataset& train);
bool by_convention(const jobs::Job& job, std::vector<std::string> classes);
Error classes_are_missing(const jobs::Job& job);

}  // namespace parley::catalog
