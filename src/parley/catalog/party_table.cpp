#include "parley/catalog/party_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "parley/catalog/method.h"
#include "parley/core/text.h"
#include "parley/data/holdout.h"
#include "parley/models/scaling.h"
#include "parley/models/trained.h"

namespace parley::catalog {

namespace {

// What a job says about reading a party's table, but not what kind of labels it has. Where private LIBSVM tables begin
// is not found in them: at 1, unless a schema says 0.
Result<data::LoadOptions> reading_of(const jobs::Job& job, const jobs::PartySection& party) {
  data::LoadOptions options;
  if (!party.schema.empty()) {
    PARLEY_TRY(options.schema, data::read_schema(party.schema));
  }
  options.label = job.labels.column;
  options.bound = job.data.bound;
  options.label_bound = job.data.label_bound;
  if (job.data.features) options.features = static_cast<int>(*job.data.features);
  if (job.privacy && !(options.schema && options.schema->first_index)) options.first_index = 1;
  options.classes = job.labels.classes;
  if (job.partition == jobs::Partition::kVertical) options.keys = job.secure.ids;
  options.include = job.data.include;
  options.exclude = job.data.exclude;
  options.columns_lie_apart = job.parties.size() > 1 && job.partition != jobs::Partition::kHorizontal;
  for (const jobs::JobTable& table : job.tables.tables)
    for (const int holder : table.parties)
      if (job.parties[static_cast<std::size_t>(holder)].name == party.name) options.keys = table.key_columns();
  return options;
}

// With labels as numbers of the classes that the table has.
Result<data::LoadOptions> reading_raw(const jobs::Job& job, const jobs::PartySection& party, data::LabelUse labels) {
  PARLEY_TRY(data::LoadOptions options, reading_of(job, party));
  options.label_use = labels;
  options.labels = glm::has_real_labels(job.objective.task) ? data::LabelKind::kReal : data::LabelKind::kClasses;
  if (labels == data::LabelUse::kNone) options.label.clear();
  return options;
}

// Without a seed the held-out rows are still the same in every run: the split is not a secret.
Result<void> hold_out(const jobs::Job& job, PartyTable& table) {
  if (!job.data.test_fraction || !(*job.data.test_fraction > 0)) return {};
  PARLEY_TRY(data::TrainTest split,
             data::hold_out(table.train, *job.data.test_fraction, static_cast<std::uint64_t>(job.seed.value_or(0))));
  table.train = std::move(split.train);
  table.test = std::move(split.test);
  return {};
}

Result<void> scale(const jobs::Job& job, PartyTable& table) {
  PARLEY_CHECK(models::choose_scaling(job.data, table.train, table.scaling));
  PARLEY_TRY(table.features, models::scaled_features(table.scaling, table.train.features));
  return {};
}

// Weights of classes that there are, counts that are counts, and records' weights where the algorithm takes them.
Result<void> check_weights(const jobs::Job& job, const std::string& file, const data::Dataset& train) {
  if (!train.weights.empty() && (job.privacy || !method_of(job).weighs_records() || !job.tables.empty()))
    return fail(bad_input({file, 0, "weight"},
                          job.privacy
                              ? "a column of weights has no private form yet; make it type = \"ignore\""
                              : job.algorithm + " does not weigh records; exact and newton do, or make the column "
                                                "type = \"ignore\""));
  if (!train.weights.empty() &&
      std::all_of(train.weights.begin(), train.weights.end(), [](double w) { return w == 0; }))
    return fail(bad_input({file, 0, "weight"}, "is 0 for every record: nothing counts"));
  const std::size_t classes = train.labels.classes.size();
  if (!job.labels.weights.empty() && classes > 0 && job.labels.weights.size() != classes)
    return fail(bad_input({job.file, 0, "labels.weights"},
                          fmt::format("needs a number for each of the {} classes", classes),
                          fmt::format("{} of them", job.labels.weights.size())));
  if (job.objective.task != glm::Task::kPoisson) return {};
  for (const double y : train.labels.values)
    if (!(y >= 0 && y <= glm::Poisson::kLargestRate))
      return fail(bad_input({file, 0, job.labels.column.empty() ? "label" : job.labels.column},
                            "is a count or another number from 0 to e^20 where the task is poisson",
                            job.privacy ? "" : fmt::format("{}", y)));
  return {};
}

Result<void> check_trainable(const jobs::Job& job, const std::string& file, const data::Dataset& train) {
  if (train.rows() < 2)
    return fail(bad_input({file, 0, ""}, "training needs at least two rows", fmt::format("{} left", train.rows())));
  if (train.features.cols() == 0) return fail(bad_input({file, 0, ""}, "holds no feature column"));
  PARLEY_CHECK(check_weights(job, file, train));
  return check_two_classes(job, file, train);
}

}  // namespace

Result<void> check_two_classes(const jobs::Job& job, const std::string& file, const data::Dataset& train) {
  // In a private run a single record must not decide whether there is a model.
  if (glm::has_real_labels(job.objective.task) || job.privacy) return {};
  const double first = train.labels.values.front();
  for (const double label : train.labels.values)
    if (label != first) return {};
  return fail(bad_input({file, 0, train.schema.format == data::Format::kLibsvm ? "label" : job.labels.column},
                        "the training rows hold one class only; a classifier needs two"));
}

std::vector<double> weights_of(const jobs::Job& job, const data::Dataset& table) {
  std::vector<double> weights = table.weights;
  if (!jobs::weighs_classes(job)) return weights;
  const bool two = job.objective.task != glm::Task::kSoftmax;
  const auto class_of = [&](double label) { return two ? (label > 0 ? 1U : 0U) : static_cast<std::size_t>(label); };
  std::vector<double> of_class = job.labels.weights;
  if (job.labels.balanced) {
    of_class.assign(std::max<std::size_t>(2, table.labels.classes.size()), 0.0);
    for (const double label : table.labels.values) of_class[class_of(label)] += 1;
    double present = 0;
    for (const double rows : of_class) present += rows > 0 ? 1 : 0;
    for (double& rows : of_class)
      if (rows > 0) rows = static_cast<double>(table.rows()) / (present * rows);
  }
  if (weights.empty()) weights.assign(table.rows(), 1.0);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] *= of_class[class_of(table.labels.values[i])];
  return weights;
}

PartySource files_of(const jobs::PartySection& party) {
  PartySource source{data::Source::file(party.data)};
  if (!party.test.empty()) source.test = data::Source::file(party.test);
  return source;
}

Sources files_of(const jobs::Job& job) {
  Sources sources;
  for (const jobs::PartySection& party : job.parties) sources.push_back(files_of(party));
  return sources;
}

Result<PartyTable> read_alone(const jobs::Job& job, const PartySource& source) {
  const jobs::PartySection& party = job.parties.front();
  PARLEY_TRY(data::LoadOptions options, reading_of(job, party));
  options.labels = models::label_kind(job.objective.task);
  if (!job.labels.positive.empty()) options.positive = {job.labels.positive};
  options.absent_classes = lists_classes(job);
  PartyTable table{.party = party.name};
  PARLEY_TRY(table.train, source.train.load(options));
  if (lists_classes(job)) {
    PARLEY_TRY(table.train.labels.classes, public_classes(job, table.train));
  }
  if (source.test) {
    data::LoadOptions alike = data::options_like(table.train, options);
    alike.id_may_lack = true;
    PARLEY_TRY(table.test, source.test->load(alike));
    for (const std::string& note : table.test->notes) table.train.notes.push_back("test file: " + note);
  } else {
    PARLEY_CHECK(hold_out(job, table));
  }
  PARLEY_CHECK(check_trainable(job, source.train.name(), table.train));
  PARLEY_CHECK(scale(job, table));
  return table;
}

Result<data::Dataset> read_raw(const jobs::Job& job, int party, const PartySource& source, data::LabelUse labels) {
  PARLEY_TRY(const data::LoadOptions options, reading_raw(job, job.parties[static_cast<std::size_t>(party)], labels));
  return source.train.load(options);
}

Result<PartyTable> read_alike(const jobs::Job& job, int number, const PartySource& source, data::Dataset train,
                              const data::ColumnNames& columns, const AgreedClasses& classes) {
  const jobs::PartySection& party = job.parties[static_cast<std::size_t>(number)];
  PartyTable table{.party = party.name, .number = number};
  const auto use = train.labels.values.empty() ? data::LabelUse::kNone : data::LabelUse::kRequired;
  PARLEY_TRY(data::LoadOptions options, reading_raw(job, party, use));
  options.columns = columns;
  options.schema = train.schema;
  if (!(train.columns == columns)) {
    PARLEY_TRY(train, source.train.load(options));
  }
  table.train = std::move(train);
  if (source.test) {
    options.classes = classes.names;
    PARLEY_TRY(table.test, source.test->load(options));
  } else {
    PARLEY_CHECK(hold_out(job, table));
  }
  if (table.train.rows() < 1)
    return fail(bad_input({source.train.name(), 0, ""}, "training needs at least one row", "0 left"));
  number_labels(classes, table.train.labels);
  PARLEY_CHECK(check_weights(job, source.train.name(), table.train));
  if (table.test) number_labels(classes, table.test->labels);
  PARLEY_CHECK(scale(job, table));
  return table;
}

std::optional<int> first_number(const data::ColumnNames& columns) {
  if (!columns.is_numbered()) return std::nullopt;
  const auto number = [&](std::size_t j) { return std::stoi(columns[j].substr(1)); };
  const int first = number(0);
  if (number(columns.size() - 1) - first + 1 != static_cast<int>(columns.size())) return std::nullopt;
  return first;
}

Result<data::ColumnNames> agree_on_columns(const jobs::Job& job, std::span<const data::Dataset> tables) {
  const bool numbered = std::all_of(tables.begin(), tables.end(), [](const data::Dataset& table) {
    return table.columns.is_numbered() || table.columns.empty();
  });
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
    for (const auto& [one, other, file] :
         {std::tuple{&columns, &common, p}, std::tuple{&common, &columns, std::size_t{0}}})
      for (const std::string& name : one->list())
        if (!other->find(name))
          return fail(bad_input(
              {job.parties[file].data, 0, name},
              fmt::format(
                  "is a column that '{}' does not have; parties that hold different records need the same columns: "
                  "give them one schema",
                  job.parties[file == 0 ? p : 0].name)));
  }
  if (common.empty()) return fail(bad_input({job.parties.front().data, 0, ""}, "holds no feature column"));
  return common;
}

}  // namespace parley::catalog
