#include "parley/jobs/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "parley/core/files.h"
#include "parley/core/party_name.h"
#include "parley/core/text.h"
#include "parley/data/database_address.h"
#include "parley/data/labels.h"
#include "parley/privacy/ledger/digest.h"
#include "parley/privacy/sensitivity/grid_features.h"

namespace parley::jobs {

namespace {

constexpr double kMostRecords = privacy::GridFeatures::kMostStated;

void read_model(Toml model, glm::Objective& objective) {
  if (model.kind("intercept") == Toml::Kind::kText) {
    model.choice<glm::Intercept>(
        "intercept", objective.intercept,
        {{"none", glm::Intercept::kNone}, {"free", glm::Intercept::kFree}, {"penalised", glm::Intercept::kPenalised}});
  } else {
    bool wanted = false;
    model.boolean("intercept", wanted);
    objective.intercept = wanted ? glm::Intercept::kFree : glm::Intercept::kNone;
  }
  model.number("l1", objective.l1, at_least(0));
  model.number("l2", objective.l2, at_least(0));
  model.number("l1_radius", objective.l1_radius, above(0));
  std::vector<double> groups;
  if (model.numbers("l1_groups", groups)) {
    if (!objective.l1_radius) model.reject("l1_groups", "share the radius of model.l1_radius, which is missing");
    for (const double size : groups)
      if (!(size >= 1 && size <= 2147483647 && size == std::floor(size)))
        model.reject("l1_groups", "must hold whole numbers of columns, from 1", fmt::format("{}", size));
      else
        objective.l1_groups.push_back(static_cast<int>(size));
  }
  model.number("box", objective.box, above(0));
  if (objective.box && objective.l1_radius) model.reject("box", "contradicts l1_radius: choose one of the two");
  int sparsity = 0;
  if (model.integer("sparsity", sparsity, at_least(1))) objective.sparsity = sparsity;
  if (objective.l1_radius && objective.sparsity)
    model.reject("sparsity", "contradicts l1_radius: choose one of the two");
  if (objective.l1_radius && objective.l1 > 0)
    model.reject("l1", "contradicts l1_radius: a penalty and a ball of the same norm; choose one of the two");
}

void read_data(Toml data, DataSection& section) {
  data.choice<Scale>("scale", section.scale,
                     {{"bounds", Scale::kBounds}, {"none", Scale::kNone}, {"standardize", Scale::kStandardize}});
  data.boolean("unit_rows", section.unit_rows);
  if (section.unit_rows && section.scale == Scale::kStandardize)
    data.reject("unit_rows", "contradicts scale = \"standardize\": choose one of the two");
  data.number("bound", section.bound, above(0));
  data.number("label_bound", section.label_bound, above(0));
  if (data.number("test_fraction", section.test_fraction, between(0, 1)) && *section.test_fraction >= 1)
    data.reject("test_fraction", "must be below 1: something must be left to train on");
  data.integer("features", section.features, at_least(1));
  data.integer("largest_join", section.largest_join, between(1, 2147483647));
  data.texts("include", section.include);
  data.texts("exclude", section.exclude);
  for (const std::string& name : section.exclude)
    if (std::find(section.include.begin(), section.include.end(), name) != section.include.end())
      data.reject("exclude", "leaves out a column that include names", name);
}

void read_privacy(Toml settings, PrivacySection& section) {
  settings.require("epsilon");
  settings.number("epsilon", section.epsilon, above(0));
  if (settings.number("delta", section.delta, above(0)) && !(*section.delta < 1))
    settings.reject("delta", "must be below 1");
  settings.choice<privacy::Unit>("unit", section.unit,
                                 {{"record", privacy::Unit::kRecord},
                                  {"tuple", privacy::Unit::kTuple},
                                  {"entity", privacy::Unit::kEntity},
                                  {"label", privacy::Unit::kLabel},
                                  {"client", privacy::Unit::kClient}});
  settings.choice<privacy::Neighbours>(
      "neighbours", section.neighbours,
      {{"replace-one", privacy::Neighbours::kReplaceOne}, {"add-remove", privacy::Neighbours::kAddRemove}});
  settings.choice<privacy::Against>(
      "against", section.against,
      {{"everyone", privacy::Against::kEveryone}, {"outsiders", privacy::Against::kOutsiders}});
  settings.choice<privacy::Calibration>(
      "calibration", section.calibration,
      {{"proved", privacy::Calibration::kProved}, {"paper", privacy::Calibration::kPaper}});
  settings.choice<privacy::Smoothness>(
      "smoothness", section.smoothness,
      {{"bounds", privacy::Smoothness::kBounds}, {"private", privacy::Smoothness::kPrivate}});
  settings.number("derivative_bound", section.derivative_bound, above(0));
  std::int64_t records = 0;
  if (settings.integer("records", records, between(1, kMostRecords))) section.records = records;
  settings.text("table", section.table);
  settings.text("entity", section.entity);
  std::int64_t rows = 0;
  if (settings.integer("most_rows", rows, between(1, kMostRecords))) section.most_rows = rows;
  settings.text("ledger", section.ledger);
}

void read_tune(Toml settings, TuneSection& section) {
  settings.number("trials", section.trials, between(1, 1000));
  settings.number("validation", section.validation, between(0.01, 0.9));
  settings.require("choices");
  settings.texts("choices", section.choices);
  for (const std::string& choice : section.choices)
    if (!choice.starts_with("model.") && !choice.starts_with("algorithm."))
      settings.reject("choices", "are settings of [model] and [algorithm], as \"section.key=value|value\"", choice);
}

void read_path(Toml settings, PathSection& section) {
  settings.choice<bool>("penalty", section.l1, {{"l1", true}, {"l2", false}});
  settings.require("penalty");
  settings.integer("points", section.points, between(1, 10000));
  settings.number("smallest", section.smallest, above(0));
  if (!(section.smallest < 1)) settings.reject("smallest", "is a share of the largest penalty, and must be below 1");
  if (!settings.numbers("values", section.values)) return;
  if (section.values.empty()) settings.reject("values", "must not be empty: a path goes along some penalties");
  for (const double value : section.values)
    if (!(std::isfinite(value) && value >= 0))
      settings.reject("values", "must be numbers >= 0", fmt::format("{}", value));
}

// "balanced", or a number for each class.
void read_class_weights(Toml labels, Job& job) {
  const bool classes = !glm::has_real_labels(job.objective.task);
  if (labels.kind("weights") == Toml::Kind::kText) {
    labels.choice<bool>("weights", job.labels.balanced, {{"balanced", true}});
    if (job.labels.balanced && job.partition != Partition::kSingle)
      labels.reject("weights", "no party knows how many records of each class there are: give a number for each class");
  } else {
    labels.numbers("weights", job.labels.weights);
  }
  if (!weighs_classes(job)) return;
  if (!classes)
    labels.reject("weights", "are of classes, and this task has none; a column of type \"weight\" weighs records");
  for (const double weight : job.labels.weights)
    if (!(std::isfinite(weight) && weight >= 0))
      labels.reject("weights", "must be numbers >= 0", fmt::format("{}", weight));
  const bool two = job.objective.task == glm::Task::kLogistic || job.objective.task == glm::Task::kSquaredHinge;
  if (two && !job.labels.weights.empty() && job.labels.weights.size() != 2)
    labels.reject("weights", "needs two numbers: of the negative class and of the positive one",
                  fmt::format("{} of them", job.labels.weights.size()));
}

// What is done with a model once it is there.
void read_use(Toml model, Job& job) {
  if (model.number("threshold", job.threshold, above(0))) {
    if (!(*job.threshold < 1)) model.reject("threshold", "is a probability, and must be below 1");
    if (job.objective.task != glm::Task::kLogistic)
      model.reject("threshold", "is a probability of the positive class, which the logistic task alone has",
                   glm::name(job.objective.task));
  }
  model.boolean("inference", job.inference);
  if (!job.inference) return;
  const glm::Objective& objective = job.objective;
  if (objective.task == glm::Task::kSquaredHinge || objective.task == glm::Task::kSoftmax)
    model.reject("inference", "is for the tasks linear, logistic and poisson", glm::name(objective.task));
  if (objective.l1 > 0 || objective.l2 > 0 || objective.l1_radius || objective.box || objective.sparsity)
    model.reject("inference", "needs a model without penalty or constraint, which pull its weights towards 0");
  if (job.data.unit_rows)
    model.reject("inference", "does not go with data.unit_rows: the model is not linear in the columns");
}

// A class is named as in the table, where it may well be a number.
void read_class(Toml& labels, std::string_view key, std::string& name) {
  const Toml::Kind kind = labels.kind(key);
  if (kind != Toml::Kind::kInteger && kind != Toml::Kind::kNumber) {
    labels.text(key, name);
    return;
  }
  double number = 0;
  if (labels.number(key, number)) name = fmt::format("{}", number);
}

// What contradicts a promise of privacy, whatever the algorithm.
void check_privacy(Toml& toml, const Job& job) {
  if (job.data.scale == Scale::kStandardize)
    toml.table("data").reject(
        "scale",
        "standardize takes means and deviations from the data, which is not private; use \"bounds\" or \"none\"");
  if (job.objective.intercept == glm::Intercept::kFree)
    toml.table("model").reject("intercept", "a free intercept has no private form; use \"penalised\" or false");
}

// Add-remove hides how many records there are. What depends on that takes a number that the job states, and what would
// let the number decide about other records is refused.
void check_hidden_count(Toml& toml, const Job& job) {
  if (job.privacy->neighbours != privacy::Neighbours::kAddRemove || job.partition == Partition::kVertical) return;
  const bool all_state = std::all_of(job.parties.begin(), job.parties.end(),
                                     [](const PartySection& party) { return party.records.has_value(); });
  if (!job.privacy->records && (job.parties.empty() || !all_state))
    toml.table("privacy").reject(
        "records",
        "is missing: add-remove hides the number of records, so the job states a public one, about as "
        "large, as in records = 10000");
  if (job.data.test_fraction.value_or(0) > 0)
    toml.table("data").reject(
        "test_fraction",
        "picks rows by their number in the table, which changes when add-remove takes one away; give "
        "[[party]] a test file");
  if (job.tune)
    toml.reject("tune",
                "picks validation rows by their number in the table, which changes when add-remove takes one away; use "
                "replace-one");
}

// Labels that leave with noise of their own. Their epsilon is a part of the run's where whole records are protected, and
// all of it where nothing else is.
void read_label_noise(Toml& toml, Job& job) {
  using Mechanism = privacy::LabelNoise::Mechanism;
  Toml labels = toml.table("labels");
  if (labels.has("privacy")) {
    job.labels.noise.emplace();
    labels.choice<Mechanism>(
        "privacy", job.labels.noise->mechanism,
        {{"randomised-response", Mechanism::kRandomisedResponse}, {"laplace", Mechanism::kLaplace}});
    if (job.labels.declared_public)
      labels.reject("privacy", "contradicts labels.public = true: labels leave with noise or as they are");
  }
  std::optional<double> epsilon;
  labels.number("epsilon", epsilon, above(0));
  if (!job.labels.noise) {
    if (epsilon) labels.reject("epsilon", "is of the noise that labels leave with; name it in labels.privacy");
    if (job.privacy && job.privacy->unit == privacy::Unit::kLabel)
      toml.table("privacy").reject(
          "unit", "\"label\" protects labels and nothing else: say how they leave in labels.privacy", "label");
    return;
  }
  if (!job.privacy && !epsilon) labels.require("epsilon");
  if (!job.privacy) {
    job.privacy.emplace();
    job.privacy->epsilon = epsilon.value_or(1);
    job.privacy->unit = privacy::Unit::kLabel;
  }
  const bool alone = job.privacy->unit == privacy::Unit::kLabel;
  const double whole = job.privacy->epsilon;
  if (!alone && !epsilon) labels.require("epsilon");
  if (epsilon && !alone && !(*epsilon < whole))
    labels.reject("epsilon", fmt::format("is a part of privacy.epsilon, {}, and must be below it", whole),
                  fmt::format("{}", *epsilon));
  if (epsilon && alone && *epsilon != whole)
    labels.reject("epsilon", fmt::format("is all that the run spends, and privacy.epsilon says {}", whole),
                  fmt::format("{}", *epsilon));
  job.labels.noise->epsilon = epsilon.value_or(whole);
}

// Where labels are all that is protected, what is about records means nothing.
void check_label_unit(Toml& toml, const Job& job) {
  if (job.privacy->unit != privacy::Unit::kLabel || !toml.has("privacy")) return;
  Toml privacy = toml.table("privacy");
  for (const char* key : {"records", "derivative_bound", "smoothness", "calibration", "against"})
    if (privacy.has(key)) privacy.reject(key, "is about records; the unit of this job is the label");
  if (job.privacy->neighbours != privacy::Neighbours::kReplaceOne)
    privacy.reject("neighbours", "a label is replaced by another, and the number of them is public: replace-one only");
  if (job.keep_parts) toml.table("model").reject("keep_parts", "is about records; the unit of this job is the label");
}

// Where a whole client is the unit, what the job would state about records means nothing: a job speaks of one unit.
void check_clients(Toml& toml, const Job& job) {
  if (job.privacy->unit != privacy::Unit::kClient) return;
  Toml privacy = toml.table("privacy");
  if (job.partition != Partition::kHorizontal)
    privacy.reject("unit", "\"client\" is for parties with records of their own (partition = \"horizontal\")");
  else if (job.parties.size() < 2)
    privacy.reject("unit", "\"client\" hides one client among others: at least two are needed",
                   fmt::format("{}", job.parties.size()));
  if (job.privacy->neighbours != privacy::Neighbours::kReplaceOne)
    privacy.reject("neighbours", "who takes part is in the job and public; clients have replace-one");
  if (!job.privacy->delta) privacy.reject("delta", "is missing: with clients as the unit there is no default");
  const bool records = std::any_of(job.parties.begin(), job.parties.end(),
                                   [](const PartySection& party) { return party.records.has_value(); });
  if (job.privacy->records || records)
    privacy.reject("records", "is about records; the unit of this job is the client");
  if (job.privacy->derivative_bound)
    privacy.reject("derivative_bound", "is about records; the unit of this job is the client");
  if (privacy.has("against"))
    privacy.reject("against",
                   "is not for a job to say where the unit is the client: sums under masks hold against a coordinator "
                   "that hands on "
                   "keys as they are, together with one other client; leave it out");
  if (job.data.test_fraction.value_or(0) > 0)
    toml.table("data").reject(
        "test_fraction",
        "whether a share of a client's rows can be held out tells how many it has, which is private; give "
        "[[party]] a test file");
  // Any two groups of so many have two clients in common (algorithms/parts/recoverable_masks.h).
  const int fewest = static_cast<int>(job.parties.size() + 1) / 2 + 1;
  if (job.rules.on_missing == rounds::OnMissing::kProceed && job.rules.quorum < fewest)
    toml.table("rounds").reject("quorum",
                                fmt::format("must be at least {} of {} clients where some may drop out of masked sums",
                                            fewest, job.parties.size()),
                                std::to_string(job.rules.quorum));
}

void read_rounds(Toml section, const Job& job, rounds::Rules& rules) {
  section.choice<rounds::OnMissing>("on_missing", rules.on_missing,
                                    {{"wait", rounds::OnMissing::kWait},
                                     {"proceed", rounds::OnMissing::kProceed},
                                     {"fail", rounds::OnMissing::kFail}});
  double seconds = 0;
  if (section.number("deadline_seconds", seconds, between(0.001, 1e7)))
    rules.deadline = std::chrono::milliseconds(static_cast<std::int64_t>(1000 * seconds));
  section.integer("quorum", rules.quorum, at_least(1));
  section.number("largest_value", rules.largest_value, above(0));
  if (rules.on_missing != rounds::OnMissing::kWait && !rules.deadline)
    section.reject("on_missing", "needs deadline_seconds: when is a party missing?");
  if (rules.on_missing == rounds::OnMissing::kProceed && job.partition == Partition::kVertical)
    section.reject("on_missing", "nobody else has the columns of a party that is missing; use \"wait\" or \"fail\"");
  if (!job.parties.empty() && rules.quorum > static_cast<int>(job.parties.size()))
    section.reject("quorum", "is more than the job's " + counted(job.parties.size(), "party", "parties"));
}

void read_parties(Toml& toml, Job& job, Paths paths) {
  std::set<std::string> names;
  for (Toml& party : toml.tables("party")) {
    PartySection read;
    party.require("name");
    if (paths == Paths::kHere) party.require("data");
    party.text("name", read.name);
    party.text("data", read.data);
    party.text("schema", read.schema);
    party.text("test", read.test);
    party.text("order", read.order);
    std::int64_t records = 0;
    if (party.integer("records", records, between(1, kMostRecords))) read.records = records;
    if (const std::string_view flaw = flaw_of_party_name(read.name);
        party.kind("name") == Toml::Kind::kText && !flaw.empty())
      party.reject("name", flaw, read.name);
    for (const auto& [key, address] : {std::pair{"data", read.data}, std::pair{"test", read.test}})
      if (const std::string flaw = data::flaw_of_database(address); !flaw.empty()) party.reject(key, flaw);
    if (party.has("data") && read.data.empty() && party.kind("data") == Toml::Kind::kText)
      party.reject("data", "must not be empty");
    if (!names.insert(read.name).second) party.reject("name", "appears twice", read.name);
    if (!read.test.empty() && job.data.test_fraction)
      party.reject("test", "contradicts data.test_fraction: test rows come from a file or from a fraction, not both");
    read.data = beside(job.file, read.data);
    read.schema = beside(job.file, read.schema);
    read.test = beside(job.file, read.test);
    read.order = beside(job.file, read.order);
    job.parties.push_back(std::move(read));
  }
}

// Which jobs have [[join]] and [[union]], and that the clauses make one tree of all tables.
Result<void> check_joins(Toml& toml, const Job& job) {
  const bool may_join = job.partition == Partition::kRelational || job.partition == Partition::kSingle;
  for (const char* section : {"join", "union"})
    if (toml.has(section) && !may_join)
      toml.reject(section, "is for tables (partition = \"relational\", or \"single\" in one process)",
                  name(job.partition));
  if (job.partition == Partition::kRelational && !toml.has("join"))
    toml.reject("join", "is missing: a relational job says how its tables join, with left and right of a [[join]]");
  if (toml.has("data") && toml.table("data").has("largest_join") && !toml.has("join"))
    toml.table("data").reject("largest_join", "is for jobs with a [[join]]");
  if (toml.has("union") && !toml.has("join")) toml.reject("union", "is a table of a join: a [[join]] is missing");
  return toml.finish();
}

// "section.key: ...".
bool names_a_setting(std::string_view message) {
  static constexpr std::string_view kSections[] = {"job.",    "model.", "algorithm.", "data.",  "privacy.", "labels.",
                                                   "rounds.", "tune.",  "join.",      "union.", "path."};
  if (message.starts_with("join: ")) return true;  // all clauses together
  return std::any_of(std::begin(kSections), std::end(kSections), [&](std::string_view section) {
    if (!message.starts_with(section)) return false;
    const std::string_view rest = message.substr(section.size());
    const std::size_t key = std::min(rest.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"), rest.size());
    return key > 0 && rest.substr(key).starts_with(": ");
  });
}

// A file may well be called job.toml or data.csv.
bool names_a_file(const Job& job, std::string_view message) {
  const auto begins_it = [&](const std::string& file) { return !file.empty() && message.starts_with(file + ":"); };
  return begins_it(job.file) || std::any_of(job.parties.begin(), job.parties.end(), [&](const PartySection& party) {
           return begins_it(party.data) || begins_it(party.schema) || begins_it(party.test);
         });
}

}  // namespace

std::string_view name(Partition partition) {
  switch (partition) {
    case Partition::kSingle:
      return "single";
    case Partition::kHorizontal:
      return "horizontal";
    case Partition::kVertical:
      return "vertical";
    case Partition::kRelational:
      return "relational";
  }
  return "?";
}

std::size_t label_table(const Job& job) {
  const auto named = std::find_if(job.parties.begin(), job.parties.end(),
                                  [&](const PartySection& each) { return each.name == job.labels.party; });
  return job.tables.label_table(job.labels.party, static_cast<int>(named - job.parties.begin()));
}

bool holds_labels(const Job& job, int party) {
  if (!job.tables.empty()) return job.tables.table_of(party) == label_table(job);
  return job.labels.party.empty() ? party == 0 : job.parties[static_cast<std::size_t>(party)].name == job.labels.party;
}

bool protects_records(const Job& job) {
  return job.privacy && job.privacy->unit != privacy::Unit::kLabel;
}

bool pays(const Job& job, int party) {
  return protects_records(job) || (job.privacy && holds_labels(job, party));
}

bool weighs_classes(const Job& job) {
  return job.labels.balanced || !job.labels.weights.empty();
}

bool hides_count(const Job& job) {
  return job.privacy &&
         (job.privacy->neighbours == privacy::Neighbours::kAddRemove || job.privacy->unit == privacy::Unit::kClient);
}

Error in_job(const Job& job, Error error) {
  if (error.fault == Fault::kBadInput && names_a_setting(error.message) && !names_a_file(job, error.message))
    error.message = job.file + ": " + error.message;
  return error;
}

std::string beside(const std::string& file, const std::string& path) {
  if (data::is_database(path) && !data::file_of(path).empty() && path.find("://") == std::string::npos)
    return data::with_file(path, beside(file, data::file_of(path)));
  if (path.empty() || path.find("://") != std::string::npos) return path;
  const std::filesystem::path given(path);
  if (given.is_absolute()) return path;
  return (std::filesystem::path(file).parent_path() / given).lexically_normal().string();
}

Result<Job> parse_job(Toml toml, const std::string& path, Paths paths, const ReadMethod& read_method) {
  Job job;
  job.file = path;

  Toml section = toml.table("job");
  toml.require("job");
  section.text("name", job.name);
  section.choice<Partition>("partition", job.partition,
                            {{"single", Partition::kSingle},
                             {"horizontal", Partition::kHorizontal},
                             {"vertical", Partition::kVertical},
                             {"relational", Partition::kRelational}});
  section.require("task");
  section.choice<glm::Task>("task", job.objective.task,
                            {{"linear", glm::Task::kLinear},
                             {"logistic", glm::Task::kLogistic},
                             {"squared-hinge", glm::Task::kSquaredHinge},
                             {"softmax", glm::Task::kSoftmax},
                             {"poisson", glm::Task::kPoisson}});
  // The output folder has this name where no other is given.
  const bool foreign = std::any_of(job.name.begin(), job.name.end(), [](char c) {
    return c == '/' || c == '\\' || static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
  if (foreign || job.name.starts_with('.'))
    section.reject("name", "must be a name that a folder can have, without a slash or a leading dot", job.name);
  if (job.name.empty()) job.name = std::filesystem::path(path).stem().string();

  read_model(toml.table("model"), job.objective);
  Toml model = toml.table("model");
  model.boolean("keep_parts", job.keep_parts);
  if (job.keep_parts && job.partition != Partition::kVertical)
    model.reject("keep_parts", "is for parties that hold columns (partition = \"vertical\"): no other model has parts");
  read_data(toml.table("data"), job.data);

  Toml labels = toml.table("labels");
  labels.text("party", job.labels.party);
  labels.text("column", job.labels.column);
  read_class(labels, "positive", job.labels.positive);
  labels.texts("classes", job.labels.classes);
  for (std::string& name : job.labels.classes) name = data::class_name(name);  // as labels are named: +1 is 1
  labels.boolean("public", job.labels.declared_public);
  if (!job.labels.positive.empty() &&
      (glm::has_real_labels(job.objective.task) || job.objective.task == glm::Task::kSoftmax))
    labels.reject("positive", "is for the tasks with two classes (logistic, squared-hinge)");

  read_class_weights(toml.table("labels"), job);
  read_use(toml.table("model"), job);
  if (toml.has("path")) read_path(toml.table("path"), job.path.emplace());

  read_parties(toml, job, paths);
  Toml secure = toml.table("secure");
  job.secure = SecureSection::read(secure);
  std::vector<std::string> names;
  for (const PartySection& party : job.parties) names.push_back(party.name);
  job.tables = read_joins(toml, names);
  read_rounds(toml.table("rounds"), job, job.rules);
  if (toml.has("network")) {
    Toml network = toml.table("network");
    job.network.emplace();
    network.number("latency_ms", job.network->latency_ms, at_least(0));
    network.number("bandwidth_mbps", job.network->bandwidth_mbps, above(0));
  }

  if (toml.has("privacy")) read_privacy(toml.table("privacy"), job.privacy.emplace());
  read_label_noise(toml, job);
  if (job.privacy) {
    // Beside the job, wherever the output goes: another output folder is not a new budget.
    if (job.privacy->ledger.empty() && paths == Paths::kHere) job.privacy->ledger = "ledger";
    job.privacy->ledger = beside(path, job.privacy->ledger);
  }
  Toml algorithm = toml.table("algorithm");
  const bool chosen = !algorithm.has("name");
  if (algorithm.text("name", job.algorithm) && job.algorithm.empty()) algorithm.reject("name", "must not be empty");
  algorithm.integer("seed", job.seed, at_least(0));
  // The settings of an algorithm that nobody knows are not reported as mistakes of their own.
  if (chosen || !job.algorithm.empty()) {
    if (chosen) choose_algorithm(job, model.has("intercept"));
    PARLEY_TRY(job.method, read_method(algorithm, job));
  }
  if (protects_records(job)) check_privacy(toml, job);
  if (job.privacy) check_label_unit(toml, job);
  if (job.method) job.method->check(toml, job);
  if (toml.has("tune")) {
    read_tune(toml.table("tune"), job.tune.emplace());
    if (job.method && job.method->partition() != Partition::kSingle) toml.reject("tune", "is for single-site jobs");
    if (!job.privacy) toml.reject("tune", "chooses settings privately and needs a [privacy] section");
  }
  if (job.privacy) check_clients(toml, job);
  if (job.privacy) check_hidden_count(toml, job);
  PARLEY_CHECK(check_joins(toml, job));

  if (job.partition != job.method->partition())
    return fail(bad_input({path, 0, "job.partition"},
                          fmt::format("{} works on '{}' data", job.algorithm, name(job.method->partition())),
                          name(job.partition)));
  if (job.parties.empty())
    return fail(bad_input({path, 0, "party"}, "no data: add a [[party]] section with name and data"));
  if (job.partition == Partition::kSingle && job.parties.size() > 1 && job.tables.empty())
    return fail(bad_input({path, 0, "party"}, "a single-site job has one [[party]], or several and a [[join]]",
                          fmt::format("{} of them", job.parties.size())));
  if (!job.tables.empty()) {
    const auto order = data::order_of_join(job.tables.spec);
    if (!order) return fail(bad_input({path, 0, ""}, order.error().message));
  }
  if (!job.labels.party.empty()) {
    bool found = false;
    for (const PartySection& party : job.parties) found |= party.name == job.labels.party;
    found |= job.tables.find(job.labels.party).has_value();  // a union's
    if (!found) return fail(bad_input({path, 0, "labels.party"}, "names no [[party]] of this job", job.labels.party));
  }
  return job;
}

Result<Job> read_job(const std::string& path, const std::vector<std::string>& overrides, const ReadMethod& method) {
  PARLEY_TRY(std::string text, read_whole(path, 16 << 20));  // settings are written by people
  PARLEY_TRY(Toml toml, Toml::parse(text, path));
  std::string learns = text;
  for (const std::string& assignment : overrides) {
    PARLEY_CHECK(toml.set(assignment));
    text += "\n" + assignment;
    if (!assignment.starts_with("privacy.ledger")) learns += "\n" + assignment;
  }
  PARLEY_TRY(Job job, parse_job(std::move(toml), path, Paths::kHere, method));
  job.overrides = overrides;
  job.digest = privacy::digest_of(text);
  job.run = privacy::digest_of(learns);
  return job;
}

}  // namespace parley::jobs
