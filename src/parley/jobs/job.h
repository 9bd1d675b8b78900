// A job: what to learn, from whose data, how, and under which privacy. Written by a person in TOML,
// public to every party.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parley/core/result.h"
#include "parley/core/toml.h"
#include "parley/data/join.h"
#include "parley/glm/objective.h"
#include "parley/jobs/joins.h"
#include "parley/jobs/secure.h"
#include "parley/privacy/label_noise.h"
#include "parley/privacy/units.h"
#include "parley/rounds/exchange.h"

namespace parley::jobs {

enum class Partition { kSingle, kHorizontal, kVertical, kRelational };
std::string_view name(Partition partition);

enum class Scale {
  kBounds,  // x / B_j with the public bound of the column
  kNone,
  kStandardize,  // (x - mean) / deviation, both computed from the data: never with privacy
};

struct DataSection {
  Scale scale = Scale::kBounds;
  bool unit_rows = false;       // then divide each row by its Euclidean norm
  std::optional<double> bound;  // of every feature that no schema bounds
  std::optional<double> label_bound;
  std::optional<double> test_fraction;
  std::optional<std::int64_t> features;            // number of columns of LIBSVM files
  std::int64_t largest_join = data::kLargestJoin;  // rows that a join may have
  std::vector<std::string> include{};              // columns that are features; empty: all
  std::vector<std::string> exclude{};              // columns that are not
};

struct PrivacySection {
  double epsilon = 1;
  std::optional<double> delta;  // absent: 1/n^2, with the public number of records
  privacy::Unit unit = privacy::Unit::kRecord;
  privacy::Neighbours neighbours = privacy::Neighbours::kReplaceOne;
  privacy::Against against = privacy::Against::kEveryone;
  privacy::Calibration calibration = privacy::Calibration::kProved;
  privacy::Smoothness smoothness = privacy::Smoothness::kBounds;
  std::optional<double> derivative_bound;  // R; absent: from the loss and the label's bound
  std::optional<std::int64_t> records;     // a public number of them: needed where the relation hides n
  std::string table;                       // of a join, unit tuple: whose tuples
  std::string entity;                      // of a join, unit entity: TABLE.COLUMN
  std::optional<std::int64_t> most_rows;   // of a join: rows of a unit that are used; absent: all
  std::string ledger;                      // folder; empty: "ledger" beside the job
};

// Settings tried under privacy, the best kept: a random number of trials, each with settings drawn from the choices.
struct TuneSection {
  double trials = 10;                // expected number
  double validation = 0.2;           // share of the training rows that scores are computed on
  std::vector<std::string> choices;  // "section.key=value|value|..."
};

// Penalties that `parley cv` goes along.
struct PathSection {
  bool l1 = false;             // else l2
  std::vector<double> values;  // empty: `points` of them, down to `smallest` of the largest
  int points = 100;
  double smallest = 1e-4;
};

struct LabelsSection {
  std::string party;
  std::string column;
  std::string positive;                        // the class that becomes +1
  std::vector<std::string> classes;            // all of them, where no party sees every one
  bool balanced = false;                       // each class weighs as much as any other
  std::vector<double> weights{};               // of the classes, in their order; empty: all 1
  bool declared_public = false;                // to the parties of a private run
  std::optional<privacy::LabelNoise> noise{};  // they leave once, with it; absent: as they are
};

struct PartySection {
  std::string name;
  std::string data;
  std::string schema;                   // empty: none
  std::string test;                     // empty: none
  std::optional<std::int64_t> records;  // privacy.records of this party's table
  std::string order{};                  // file: its rows in the common order; empty: none
};

// What a coordinated job says about its parties' files: nothing that a site would follow.
enum class Paths {
  kHere,     // read in this process
  kAtSites,  // the sites' own business
};

struct Job;

// The algorithm that a job names, with its settings. A job carries it; what it is, the catalog knows
// (catalog/method.h).
class Method {
 public:
  virtual ~Method() = default;
  [[nodiscard]] virtual Partition partition() const = 0;
  // Records in `toml` what of the job the algorithm cannot do.
  virtual void check(Toml& toml, const Job& job) const = 0;
};
// Reads the algorithm's own keys of the section. An error: there is no algorithm of the job's name.
using ReadMethod = std::function<Result<std::shared_ptr<const Method>>(Toml& section, const Job& job)>;

struct Job {
  std::string file;  // where it was read; paths in it are relative to its folder
  // of its text and of what was set beside it, the same at everybody in a run; empty where it was not read from text
  std::string digest;
  // likewise, but for where a ledger was set to lie: names a run in one process, the same job's by the same name
  std::string run;
  std::string name;
  Partition partition = Partition::kSingle;
  glm::Objective objective;
  std::string algorithm;
  std::string why;                       // it was chosen, where the job names none
  std::shared_ptr<const Method> method;  // what its name and settings stand for
  std::optional<std::int64_t> seed;
  DataSection data;
  std::optional<PrivacySection> privacy;  // absent: the run is not private
  std::optional<TuneSection> tune;
  std::optional<PathSection> path;
  std::optional<double> threshold;     // the probability above which a row is called positive; absent: 1/2
  bool inference = false;              // standard errors and tests of the weights are asked for
  std::vector<std::string> overrides;  // that were applied to the file
  LabelsSection labels;
  SecureSection secure;
  // of a private run of parties with columns: exact parts of the model stay with them, not covered
  bool keep_parts = false;
  std::vector<PartySection> parties;
  JobTables tables;                        // of [[join]] and [[union]]; empty: the parties are not joined
  rounds::Rules rules;                     // for parties on other machines
  std::optional<rounds::Network> network;  // for which the time of the run is told
};

// Reads and checks the whole job; `overrides` are "section.key=value". With every algorithm of this program:
// catalog/read_job.h.
Result<Job> read_job(const std::string& path, const std::vector<std::string>& overrides, const ReadMethod& method);
Result<Job> parse_job(Toml toml, const std::string& path, Paths paths, const ReadMethod& method);

// For a job that names no algorithm (choice.cpp).
void choose_algorithm(Job& job, bool states_intercept);

// Whether the party holds the labels, where parties hold columns.
bool holds_labels(const Job& job, int party);
std::size_t label_table(const Job& job);  // of a job whose tables join
// Whether whole records are protected, or clients. Where the unit is the label, features leave as they are.
bool protects_records(const Job& job);
// Whether the party releases something that it pays for.
bool pays(const Job& job, int party);

// Whether classes weigh differently.
bool weighs_classes(const Job& job);

// Whether the number of records is as private as they are: add-remove, or a client's.
bool hides_count(const Job& job);

// What a trainer or a reader says about a setting, with the job's name before it: they know sections and keys, and no
// files.
Error in_job(const Job& job, Error error);

// Paths in a file are relative to the file's folder, also the file in an address (sqlite:shop.db?table=users); other
// addresses (postgresql://...) are left alone.
std::string beside(const std::string& file, const std::string& path);

}  // namespace parley::jobs
