#include "parley/catalog/party_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "parley/catalog/federation.h"
#include "parley/catalog/private_site.h"
#include "parley/catalog/scaling.h"
#include "parley/catalog/trained.h"
#include "parley/core/text.h"
#include "parley/data/holdout.h"
#include "parley/data/labels.h"

namespace parley::catalog {

namespace {

data::LabelKind kind_as_it_is(glm::Task task) {
  return task == glm::Task::kLinear ? data::LabelKind::kReal : data::LabelKind::kClasses;
}

Result<data::LoadOptions> reading(const Job& job, const Party& party, data::LabelUse labels) {
  PARLEY_TRY(data::LoadOptions options, reading_of(job, party));
  options.label_use = labels;
  options.labels = kind_as_it_is(job.objective.task);
  if (labels == data::LabelUse::kNone) options.label.clear();
  options.classes = job.labels.classes;
  return options;
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

// The levels that schemas declare for the label, in their order: of two the second is positive. Parties that order them
// differently would mean different things by one model, unless the job names the positive class.
Result<std::vector<std::string>> declared_classes(const Job& job, std::span<const data::Dataset> tables) {
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
          return fail(bad_input({job.file, 0, "party." + job.parties[p].name},
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

// The classes of a private job that lists none: 1 and what is not, by convention, whatever of it occurs. Nothing of the data decides what
// they are called.
Result<AgreedClasses> conventional_classes(const Job& job, const std::vector<std::string>& found, data::Format format) {
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

std::optional<int> first_number(const data::ColumnNames& columns) {
  if (!columns.is_numbered()) return std::nullopt;
  const auto number = [&](std::size_t j) { return std::stoi(columns[j].substr(1)); };
  const int first = number(0);
  if (number(columns.size() - 1) - first + 1 != static_cast<int>(columns.size())) return std::nullopt;
  return first;
}

Result<AgreedClasses> agree_on_classes(const Job& job, std::span<const data::Dataset> tables) {
  AgreedClasses agreed;
  if (job.objective.task == glm::Task::kLinear) return agreed;
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
  data::LabelRules rules{.kind = label_kind(job.objective.task), .place = {job.file, 0, "labels"}};
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

Result<data::ColumnNames> agree_on_columns(const Job& job, std::span<const data::Dataset> tables) {
  const bool numbered = std::all_of(tables.begin(), tables.end(),
                                    [](const data::Dataset& table) { return table.columns.is_numbered() || table.columns.empty(); });
  if (numbered) {
    int first = 1, last = 0;
    for (const data::Dataset& table : tables) {
      if (table.columns.empty()) continue;
      first = std::min(first, std::stoi(table.columns[0].substr(1)));
      last = std::max(last, std::stoi(table.columns[table.columns.size() - 1].substr(1)));
    }
    if (last >= first) return data::ColumnNames::numbered(first, last - first + 1);
  }
  const data::ColumnNames& common = tables.front().columns;
  for (std::size_t p = 1; p < tables.size(); ++p) {
    const data::ColumnNames& columns = tables[p].columns;
    if (columns == common) continue;
    for (const auto& [one, other, file] : {std::tuple{&columns, &common, p}, std::tuple{&common, &columns, std::size_t{0}}})
      for (const std::string& name : one->list())
        if (!other->find(name))
          return fail(
              bad_input({job.parties[file].data, 0, name},
                        fmt::format("is a column that '{}' does not have; parties that hold different records need the same columns: "
                                    "give them one schema",
                                    job.parties[file == 0 ? p : 0].name)));
  }
  if (common.empty()) return fail(bad_input({job.parties.front().data, 0, ""}, "holds no feature column"));
  return common;
}

Result<data::LoadOptions> reading_of(const Job& job, const Party& party) {
  data::LoadOptions options;
  if (!party.schema.empty()) {
    PARLEY_TRY(options.schema, data::read_schema(party.schema));
  }
  options.label = job.labels.column;
  options.bound = job.data.bound;
  options.label_bound = job.data.label_bound;
  if (job.data.features) options.features = static_cast<int>(*job.data.features);
  if (job.privacy && !(options.schema && options.schema->first_index)) options.first_index = 1;
  return options;
}

Result<data::Dataset> read_as_it_is(const Job& job, const Party& party, data::LabelUse labels) {
  PARLEY_TRY(const data::LoadOptions options, reading(job, party, labels));
  return data::load(party.data, options);
}

Result<PartyTable> read_alike(const Job& job, int number, data::Dataset train, const data::ColumnNames& columns,
                              const AgreedClasses& classes) {
  const Party& party = job.parties[static_cast<std::size_t>(number)];
  PartyTable table{.party = party.name, .number = number};
  const auto use = train.labels.values.empty() ? data::LabelUse::kNone : data::LabelUse::kRequired;
  PARLEY_TRY(data::LoadOptions options, reading(job, party, use));
  options.columns = columns;
  options.schema = train.schema;
  if (!(train.columns == columns)) {
    PARLEY_TRY(train, data::load(party.data, options));
  }
  if (!party.test.empty()) {
    options.classes = classes.names;
    PARLEY_TRY(table.test, data::load(party.test, options));
  } else if (job.data.test_fraction && *job.data.test_fraction > 0) {
    // Without a seed the held-out rows are still the same in every run: the split is not a secret.
    PARLEY_TRY(data::TrainTest split, data::hold_out(train, *job.data.test_fraction, static_cast<std::uint64_t>(job.seed.value_or(0))));
    train = std::move(split.train);
    table.test = std::move(split.test);
  }
  if (train.rows() < 1) return fail(bad_input({party.data, 0, ""}, "training needs at least one row", "0 left"));
  number_labels(classes, train.labels);
  if (table.test) number_labels(classes, table.test->labels);
  table.train = std::move(train);
  PARLEY_CHECK(choose_scaling(job.data, table.train, table.scaling));
  PARLEY_TRY(table.features, scaled_features(table.scaling, table.train.features));
  return table;
}

// A site knows of itself alone; in a simulation from a seed the parties' noise must differ all the same.
std::optional<std::int64_t> noise_seed(const Job& job, int party) {
  if (!job.seed) return std::nullopt;
  return *job.seed + 1000003LL * party;
}

Result<void> open_site(const Job& job, const glm::Objective& objective, PartyTable& table, const PaidRun& run) {
  PARLEY_CHECK(check_federated(job));
  Job own = job;
  own.parties = {job.parties[static_cast<std::size_t>(table.number)]};
  own.seed = noise_seed(job, table.number);
  // How many records a client has is as private as they are: what is public is how many clients there are.
  if (job.privacy->unit == privacy::Unit::kClient) own.privacy->records = static_cast<std::int64_t>(job.parties.size());
  PARLEY_TRY(table.site, PrivateSite::open(own, table.train, table.features, objective, PrivateSite::Purpose::kTraining, run));
  table.features = table.site->features();
  return {};
}

}  // namespace parley::catalog
