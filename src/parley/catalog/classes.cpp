#include "parley/catalog/classes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "parley/data/labels.h"
#include "parley/models/trained.h"

namespace parley::catalog {

namespace {

// As they are named in labels; empty where neither the job nor the schema lists them.
std::vector<std::string> listed_classes(const jobs::Job& job, const data::Schema& schema) {
  std::vector<std::string> listed = job.labels.classes;
  for (const data::ColumnSchema& column : schema.columns)
    if (listed.empty() && column.type == data::ColumnType::kLabel && column.confirmed) listed = column.levels;
  for (std::string& name : listed) name = data::class_name(name);
  return listed;
}

// The levels that schemas declare for the label, in their order: of two the second is positive. Parties that order them
// differently would mean different things by one model, unless the job names the positive class.
Result<std::vector<std::string>> declared_classes(const jobs::Job& job, std::span<const data::Dataset> tables) {
  std::vector<std::string> declared;
  std::size_t first = 0;
  for (std::size_t p = 0; p < tables.size(); ++p)
    for (const data::ColumnSchema& column : tables[p].schema.columns) {
      if (column.type != data::ColumnType::kLabel || !column.confirmed || column.levels.empty()) continue;
      if (declared.empty()) first = p;
      std::ptrdiff_t last = -1;
      for (const std::string& level : column.levels) {
        const std::string name = data::class_name(level);
        const auto at = std::find(declared.begin(), declared.end(), name) - declared.begin();
        if (at < last && job.labels.positive.empty())
          return fail(bad_input(
              {job.file, 0, "party." + job.parties[p].name},
              fmt::format("its schema orders the levels of the label otherwise than that of '{}'; give the parties one "
                          "schema, or name labels.positive",
                          job.parties[first].name),
              fmt::format("{}", fmt::join(column.levels, ", "))));
        last = at;
        if (at == static_cast<std::ptrdiff_t>(declared.size())) declared.push_back(name);
      }
    }
  return declared;
}

// The classes of a private job that lists none: 1 and what is not, by convention, whatever of it occurs. Nothing of the
// data decides what they are called.
Result<AgreedClasses> conventional_classes(const jobs::Job& job, const std::vector<std::string>& found,
                                           data::Format format) {
  AgreedClasses agreed{.names = {"-1", "0", "1"}};
  const bool known = std::all_of(found.begin(), found.end(), [&](const std::string& name) {
    return std::find(agreed.names.begin(), agreed.names.end(), name) != agreed.names.end();
  });
  if (!known || job.objective.task == glm::Task::kSoftmax) return fail(classes_are_missing(job));
  data::LabelRules rules{.absent_classes = true,
                         .negative = format == data::Format::kLibsvm ? "-1" : "0",
                         .place = {job.file, 0, "labels"}};
  if (!job.labels.positive.empty()) rules.positive = {job.labels.positive};
  PARLEY_TRY(data::LabelsAndNotes made, data::make_labels({{0, 1, 2}, agreed.names}, rules));
  agreed.values = std::move(made.labels.values);
  agreed.classes = std::move(made.labels.classes);
  return agreed;
}

}  // namespace

Result<AgreedClasses> agree_on_classes(const jobs::Job& job, std::span<const data::Dataset> tables) {
  AgreedClasses agreed;
  if (glm::has_real_labels(job.objective.task)) return agreed;
  std::vector<std::string> found = job.labels.classes;
  for (const data::Dataset& table : tables)
    for (const std::string& name : table.labels.classes)
      if (std::find(found.begin(), found.end(), name) == found.end()) found.push_back(name);
  if (!job.labels.classes.empty()) {
    agreed.names = found;
  } else {
    PARLEY_TRY(agreed.names, declared_classes(job, tables));
    const std::vector<std::string> declared = agreed.names;
    if (job.privacy && declared.empty()) return conventional_classes(job, found, tables.front().schema.format);
    for (const std::size_t at : data::level_order(found))
      if (std::find(declared.begin(), declared.end(), found[at]) == declared.end()) agreed.names.push_back(found[at]);
  }
  if (agreed.names.size() < 2)
    return fail(bad_input({job.file, 0, "labels"}, "the parties' rows hold one class only; a classifier needs two"));
  data::RawLabels one_of_each{{}, agreed.names};
  for (std::size_t k = 0; k < agreed.names.size(); ++k) one_of_each.values.push_back(static_cast<double>(k));
  data::LabelRules rules{.kind = models::label_kind(job.objective.task), .place = {job.file, 0, "labels"}};
  if (!job.labels.positive.empty())
    rules.positive = {job.labels.positive};
  else if (rules.kind == data::LabelKind::kBinary && agreed.names.size() == 2)
    rules.positive = {agreed.names[1]};
  if (rules.kind == data::LabelKind::kClasses) rules.classes = agreed.names;
  PARLEY_TRY(data::LabelsAndNotes made, data::make_labels(std::move(one_of_each), rules));
  agreed.values = std::move(made.labels.values);
  agreed.classes = std::move(made.labels.classes);
  return agreed;
}

void number_labels(const AgreedClasses& agreed, data::Labels& labels) {
  if (labels.values.empty() || agreed.names.empty()) return;
  std::vector<double> value_of;  // by the table's own class number
  for (const std::string& name : labels.classes) {
    const auto at = std::find(agreed.names.begin(), agreed.names.end(), name) - agreed.names.begin();
    value_of.push_back(agreed.values[static_cast<std::size_t>(at)]);
  }
  for (double& label : labels.values) label = value_of[static_cast<std::size_t>(label)];
  labels.classes = agreed.classes;
}

bool lists_classes(const jobs::Job& job) {
  return !glm::has_real_labels(job.objective.task) && (job.privacy || !job.labels.classes.empty());
}

Result<std::vector<std::string>> public_classes(const jobs::Job& job, const data::Dataset& train) {
  data::RawLabels one_of_each{{}, listed_classes(job, train.schema)};
  const std::vector<std::string>& names = one_of_each.names;
  if (names.empty()) return train.labels.classes;  // those of the convention; check_schema refuses others
  data::LabelRules rules{.kind = models::label_kind(job.objective.task), .place = {job.file, 0, "labels.classes"}};
  if (job.objective.task == glm::Task::kSoftmax)
    rules.classes = names;
  else if (!job.labels.positive.empty())
    rules.positive = {job.labels.positive};
  else if (names.size() == 2)
    rules.positive = {names[1]};
  for (std::size_t k = 0; k < names.size(); ++k) one_of_each.values.push_back(static_cast<double>(k));
  PARLEY_TRY(data::LabelsAndNotes made, data::make_labels(std::move(one_of_each), rules));
  return std::move(made.labels.classes);
}

bool finds_classes(const jobs::Job& job, const data::Dataset& train) {
  return !glm::has_real_labels(job.objective.task) && !train.labels.values.empty() &&
         listed_classes(job, train.schema).empty();
}

// The two labels that LIBSVM files and many tables have: a convention, and so public like the format itself, which
// decides between -1 and 0
// (data/labels.h).
bool by_convention(const jobs::Job& job, std::vector<std::string> classes) {
  using Pair = std::vector<std::string>;
  std::sort(classes.begin(), classes.end());
  return job.objective.task != glm::Task::kSoftmax && (classes == Pair{"-1", "1"} || classes == Pair{"0", "1"});
}

Error classes_are_missing(const jobs::Job& job) {
  return bad_input(
      {job.file, 0, "labels.classes"},
      "is missing: which classes there are would be found in the data; list them, or the label's levels in the schema");
}

}  // namespace parley::catalog
