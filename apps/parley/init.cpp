// parley init TABLE: drafts a schema and a job that trains at once, and takes a person's word on the bounds.
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "apps/parley/output_folder.h"
#include "apps/parley/verbs.h"
#include "parley/core/files.h"
#include "parley/core/text.h"
#include "parley/data/database_address.h"
#include "parley/data/draft.h"
#include "parley/data/write.h"

namespace parley::app {

namespace {

struct InitOptions {
  std::string table;
  std::string out;
  std::string label;
  std::string task;
  std::optional<double> epsilon;
  std::vector<std::string> confirm;
  bool force = false;
  bool json = false;
};

// Where the drafts go: a folder with the table's name.
std::string folder_for(const InitOptions& options) {
  if (!options.out.empty()) return options.out;
  const std::string file = data::file_of(options.table);
  const std::string stem = std::filesystem::path(data::without_packing(file)).stem().string();
  return stem.empty() || stem == file ? "drafted" : stem;
}

std::string as_the_job_names(const std::string& table, const std::string& folder) {
  const std::string file = data::file_of(table);
  if (file.empty()) return table;  // on a server
  const std::string relative = std::filesystem::absolute(file)
                                   .lexically_normal()
                                   .lexically_relative(std::filesystem::absolute(folder).lexically_normal())
                                   .string();
  return data::is_database(table) ? data::with_file(table, relative) : relative;
}

struct Said {
  std::string job, schema_file;
  data::Schema schema;
  std::optional<data::Draft> draft;  // absent: the schema was there and was confirmed
};

void say(const Said& said, const InitOptions& options) {
  const std::string open = data::to_confirm(said.schema);
  if (options.json) {
    nlohmann::ordered_json out{{"job", said.job}, {"schema", said.schema_file}};
    if (said.draft) {
      out["task"] = said.draft->task;
      out["why"] = said.draft->why;
      out["label"] = said.draft->label;
      out["notes"] = said.draft->notes;
    }
    out["to_confirm"] = said.schema.unconfirmed();
    fmt::print("{}\n", out.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    return;
  }
  if (said.draft) {
    fmt::print("wrote {} and {}\n", said.job, said.schema_file);
    fmt::print("task {}: {}\n", said.draft->task, said.draft->why);
    for (const std::string& note : said.draft->notes) fmt::print("note: {}\n", note);
  } else {
    fmt::print("wrote {}\n", said.schema_file);
  }
  if (!open.empty())
    fmt::print(
        "\nTo confirm before a private run, from what is known without looking at the data:\n{}"
        "as in  parley init {} --confirm all  or  --confirm NAME=LO:HI\n",
        open, options.table);
  fmt::print("\nnext: parley train {}\n", said.job);
}

Result<int> init(const InitOptions& options) {
  const std::string folder = folder_for(options);
  PARLEY_CHECK(check_folder(folder));
  Said said{.job = (std::filesystem::path(folder) / "job.toml").string(),
            .schema_file = (std::filesystem::path(folder) / "schema.toml").string()};
  std::error_code unknown;
  if (!options.force && !options.confirm.empty() && std::filesystem::exists(said.schema_file, unknown)) {
    // What a person edited stays.
    PARLEY_TRY(said.schema, data::read_schema(said.schema_file));
    for (const std::string& wish : options.confirm) PARLEY_CHECK(data::confirm(said.schema, wish, said.schema_file));
    PARLEY_CHECK(write_atomically(said.schema_file, data::to_toml(said.schema)));
    say(said, options);
    return 0;
  }
  for (const std::string& file : {said.job, said.schema_file}) {
    PARLEY_CHECK(data::refuse_table(file, std::vector{options.table}));
    if (options.force || !std::filesystem::exists(file, unknown)) continue;
    return fail(
        bad_input({file, 0, ""},
                  "is there already: --confirm takes the bounds in it as they are or as you say, --force drafts "
                  "anew"));
  }
  PARLEY_TRY(const data::Description about, data::describe(options.table, options.label));
  PARLEY_TRY(said.draft, data::draft(about, {.label = options.label,
                                             .task = options.task,
                                             .epsilon = options.epsilon,
                                             .data = as_the_job_names(options.table, folder)}));
  said.schema = said.draft->schema;
  for (const std::string& wish : options.confirm) PARLEY_CHECK(data::confirm(said.schema, wish, options.table));
  PARLEY_CHECK(make_folder(folder));
  PARLEY_CHECK(write_atomically(said.schema_file, data::to_toml(said.schema)));
  PARLEY_CHECK(write_atomically(said.job, said.draft->job));
  say(said, options);
  return 0;
}

}  // namespace

void add_init(CLI::App& app, Exit& exit) {
  auto options = std::make_shared<InitOptions>();
  CLI::App* verb = app.add_subcommand("init", "Draft a schema and a job for a table");
  verb->add_option("TABLE", options->table,
                   "CSV or LIBSVM, plain or packed; or a table of a database (sqlite:FILE?table=T)")
      ->required();
  verb->add_option("--label", options->label,
                   "The label: a column's name, its number from 1, first or last (default: y, label, target or class)");
  verb->add_option("--task", options->task, "What to learn (default: guessed from the label)")
      ->check(CLI::IsMember({"linear", "logistic", "squared-hinge", "softmax", "poisson"}));
  verb->add_option("--epsilon", options->epsilon, "Draft a private job with this promise")
      ->check(CLI::Range(1e-6, 1e6));
  verb->add_option("--confirm", options->confirm,
                   "all; NAME, as drafted; or NAME=LO:HI: bounds that are public (repeat for more). Where the drafts "
                   "are there already, their schema is confirmed and else left as it is")
      ->allow_extra_args(false);
  verb->add_option("--out,-o", options->out, "Folder for job.toml and schema.toml (default: the table's name)");
  verb->add_flag("--force", options->force, "Replace drafts that are there");
  verb->add_flag("--json", options->json, "Say in JSON what was written");
  verb->footer(
      "Examples:\n"
      "  parley init examples/readmission/clinic.csv --label readmitted --out drafted\n"
      "  parley init examples/readmission/clinic.csv --confirm age=0:120 --confirm all --out drafted\n\n"
      "Names of records become the id, dates become days, missing numbers the middle of their bounds and a column of "
      "their own. A column is left out by type = \"ignore\" in the schema.");
  verb->callback([options, &exit] { exit.finish(init(*options)); });
}

}  // namespace parley::app
