// parley data split FILE: one table into the parties of a federation.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/parley/data_report.h"
#include "apps/parley/signals.h"
#include "apps/parley/verbs.h"
#include "parley/data/partition.h"

namespace parley::app {

namespace {

struct Asked {
  std::string file;
  std::string folder;
  std::string by = "rows";
  std::string skew = "iid";
  std::size_t parts = 2;
  std::vector<double> shares;
  double alpha = 0.5;
  std::size_t shards = 2;
  std::vector<std::size_t> counts;
  std::string groups;
  bool shuffle = false;
  bool keep_numbers = false;
  std::vector<std::string> keys;
  std::string schema;
  std::string label;
  std::string label_party;
  std::string id;
  std::vector<std::string> names;
  std::string pack;
  std::uint64_t seed = 1;
  bool force = false;
  bool json = false;
};

data::SplitPlan plan_of(const Asked& asked, bool parts_given) {
  if (asked.by == "columns") {
    data::SplitColumns plan{.parts = asked.parts,
                            .counts = asked.counts,
                            .groups = asked.groups,
                            .shuffle = asked.shuffle,
                            .keep_numbers = asked.keep_numbers,
                            .label = asked.label,
                            .label_party = asked.label_party,
                            .id = asked.id};
    if (!parts_given && !asked.names.empty()) plan.parts = asked.names.size();
    return plan;
  }
  if (asked.by == "tables") return data::SplitTables{.keys = asked.keys, .label = asked.label, .id = asked.id};
  data::SplitRows plan{.parts = asked.parts,
                       .shares = asked.shares,
                       .alpha = asked.alpha,
                       .shards = asked.shards,
                       .label = asked.label,
                       .id = asked.id};
  if (!parts_given && !asked.shares.empty()) plan.parts = asked.shares.size();
  if (!parts_given && asked.shares.empty() && !asked.names.empty()) plan.parts = asked.names.size();
  if (asked.skew == "label") plan.skew = data::RowSkew::kDirichlet;
  if (asked.skew == "shards") plan.skew = data::RowSkew::kShards;
  if (asked.skew == "cluster") plan.skew = data::RowSkew::kCluster;
  return plan;
}

// A schema says which column is the label and which the id, where no option does.
void take_roles(const data::Schema& schema, Asked& asked) {
  for (const data::ColumnSchema& column : schema.columns) {
    if (column.type == data::ColumnType::kLabel && asked.label.empty()) asked.label = column.name;
    if (column.type == data::ColumnType::kId && asked.id.empty()) asked.id = column.name;
  }
}

Result<int> run(Asked asked, bool parts_given) {
  const CleanEnd clean_end;
  data::SplitOutput output;
  if (!asked.schema.empty()) {
    PARLEY_TRY(output.schema, data::read_schema(asked.schema));
    output.schema_file = asked.schema;
    take_roles(*output.schema, asked);
  }
  PARLEY_TRY(const auto table,
             data::RawTable::read(asked.file, data::Format::kDetect, output.schema ? &*output.schema : nullptr));
  output.folder = asked.folder;
  output.names = asked.names;
  output.packing = data::packing_of("x." + asked.pack);
  output.existing = asked.force ? data::Existing::kReplace : data::Existing::kRefuse;
  PARLEY_TRY(const auto split, data::split(table, plan_of(asked, parts_given), asked.seed, output));
  if (asked.json) {
    nlohmann::ordered_json out;
    out["seed"] = asked.seed;
    for (std::size_t p = 0; p < split.tables.size(); ++p)
      out["parties"].push_back({{"name", split.parties[p]},
                                {"path", split.tables[p].path.string()},
                                {"rows", split.tables[p].rows},
                                {"columns", split.tables[p].columns},
                                {"bytes", split.tables[p].bytes}});
    out["job"] = split.job.string();
    out["record"] = split.record.string();
    out["notes"] = split.notes;
    fmt::print("{}\n", out.dump(1, ' ', false, nlohmann::json::error_handler_t::replace));
  } else {
    fmt::print("{}{}wrote {} (who got what) and {}\n{}", lines_about(split.tables), lines_about(split.notes),
               split.record.string(), split.job.string(), split.trainable ? next_step(split.job) : "");
  }
  return 0;
}

// Settings of one way of splitting are refused by the others.
void check_applies(const CLI::App& verb, const Asked& asked) {
  static const std::vector<std::pair<const char*, std::vector<std::string>>> kOnlyFor = {
      {"--skew", {"rows"}},       {"--shares", {"rows"}},           {"--alpha", {"rows"}},
      {"--shards", {"rows"}},     {"--counts", {"columns"}},        {"--groups", {"columns"}},
      {"--shuffle", {"columns"}}, {"--keep-numbers", {"columns"}},  {"--label-party", {"columns"}},
      {"--key", {"tables"}},      {"--parts", {"rows", "columns"}}, {"--schema", {"rows", "columns"}},
  };
  for (const auto& [option, ways] : kOnlyFor)
    if (verb.count(option) > 0 && std::find(ways.begin(), ways.end(), asked.by) == ways.end())
      throw CLI::ValidationError(option, fmt::format("does not go with --by {}", asked.by));
  if (verb.count("--alpha") > 0 && asked.skew != "label") throw CLI::ValidationError("--alpha", "needs --skew label");
  if (verb.count("--shards") > 0 && asked.skew != "shards")
    throw CLI::ValidationError("--shards", "needs --skew shards");
}

}  // namespace

void add_data_split(CLI::App& data_verb, Exit& exit) {
  auto asked = std::make_shared<Asked>();
  CLI::App* verb = data_verb.add_subcommand("split", "Split one table into the parties of a federation");
  verb->footer(
      "Examples:\n"
      "  parley data split examples/readmission/clinic.csv --by rows --parts 5 --skew label --alpha 0.3 \\\n"
      "    --schema examples/readmission/clinic.schema.toml --out people\n"
      "  parley data split examples/readmission/clinic.csv --by columns --groups 'age,ward;creatinine,*' \\\n"
      "    --names clinic,lab --label-party lab \\\n"
      "    --schema examples/readmission/clinic.schema.toml --out columns\n"
      "  parley data split orders.csv --by tables --key customer --key product:price,weight --out tables");
  verb->add_option("file", asked->file, "CSV or LIBSVM, packed or not")->required();
  verb->add_option("--out,-o", asked->folder, "Folder to write to; made if it is not there")->required();
  verb->add_option("--by", asked->by, "What is divided: rows (people), columns (features) or tables (by keys)")
      ->check(CLI::IsMember({"rows", "columns", "tables"}))
      ->capture_default_str();
  verb->add_option("--parts", asked->parts, "Number of parties")->check(whole_number)->capture_default_str();
  verb->add_option("--names", asked->names, "Names of the parties, separated by commas")->delimiter(',');
  verb->add_option("--skew", asked->skew,
                   "By rows: iid; label (Dirichlet shares of each class); shards (sorted by label, cut and dealt out); "
                   "cluster (k-means)")
      ->check(CLI::IsMember({"iid", "label", "shards", "cluster"}))
      ->capture_default_str();
  verb->add_option("--shares", asked->shares, "By rows: relative sizes of the parties, as in 5,3,1")->delimiter(',');
  verb->add_option("--alpha", asked->alpha, "By rows: Dirichlet parameter; a smaller one is more skewed")
      ->capture_default_str();
  verb->add_option("--shards", asked->shards, "By rows: shards of each party")
      ->check(whole_number)
      ->capture_default_str();
  verb->add_option("--counts", asked->counts, "By columns: how many each party gets, as in 66,57")
      ->delimiter(',')
      ->check(whole_number);
  verb->add_option("--groups", asked->groups,
                   "By columns: names or numbers, as in 'age,sex;5-9;*', where * is the rest");
  verb->add_flag("--shuffle", asked->shuffle, "By columns: put them into random order first");
  verb->add_flag("--keep-numbers", asked->keep_numbers,
                 "By columns: LIBSVM parts keep the column numbers of the whole table");
  verb->add_option("--key", asked->keys,
                   "By tables: a key column; what it determines moves to a table of its own (KEY:a,b names what "
                   "moves); repeat for more");
  verb->add_option("--schema", asked->schema,
                   "By rows or columns: schema of the table; each part gets its own, and the job names it");
  verb->add_option("--label", asked->label, "Label column (default: y, label, target or class)");
  verb->add_option("--label-party", asked->label_party,
                   "By columns: name or number of the party that gets the label (default: 1)");
  verb->add_option("--id", asked->id, "Id column (default: id or sid)");
  verb->add_option("--pack", asked->pack, "How to pack the files")->check(CLI::IsMember({"gz", "zst", "xz"}));
  verb->add_option("--seed", asked->seed, "Seed; the same seed gives the same files")
      ->check(whole_number)
      ->capture_default_str();
  verb->add_flag("--force", asked->force, "Replace files that are there");
  verb->add_flag("--json", asked->json, "Say in JSON what was written");
  verb->callback([asked, verb, &exit] {
    check_applies(*verb, *asked);
    exit.finish(run(*asked, verb->count("--parts") > 0));
  });
}

}  // namespace parley::app
