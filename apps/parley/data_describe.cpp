// parley data describe FILE: what is in a table, and a draft of its schema.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "apps/parley/verbs.h"
#include "parley/core/files.h"
#include "parley/data/database_address.h"
#include "parley/data/describe.h"

namespace parley::app {

namespace {

struct Asked {
  std::string file;
  std::string label;
  std::string schema_out;
  bool force = false;
  bool json = false;
};

nlohmann::ordered_json as_json(const data::Description& about) {
  nlohmann::ordered_json out;
  out["file"] = about.file;
  out["format"] = about.format == data::Format::kLibsvm ? "libsvm" : "csv";
  out["rows"] = about.rows;
  out["features"] = about.features;
  out["nonzeros"] = about.nonzeros;
  out["columns"] = nlohmann::ordered_json::array();
  for (const auto& column : about.columns) {
    nlohmann::ordered_json entry{{"name", column.name}, {"type", data::name(column.type)}, {"missing", column.missing}};
    if (column.has_range) {
      entry["smallest"] = column.smallest;
      entry["largest"] = column.largest;
    }
    if (!column.levels.empty()) entry["levels"] = column.levels;
    entry["constant"] = column.constant;
    if (const auto* draft = about.draft.find(column.name); draft != nullptr) {
      if (draft->lower) entry["draft"] = {{"lower", *draft->lower}, {"upper", *draft->upper}};
      entry["confirmed"] = draft->confirmed;
    }
    out["columns"].push_back(std::move(entry));
  }
  out["to_confirm"] = about.draft.unconfirmed();
  out["notes"] = about.notes;
  out["schema"] = data::to_toml(about.draft);
  return out;
}

std::string draft_text(const data::Description& about) {
  return "# Draft of a schema. Lines marked as a guess were taken from the data: confirm or correct them.\n" +
         data::to_toml(about.draft);
}

Result<void> run(const Asked& asked) {
  if (!asked.schema_out.empty()) {
    PARLEY_CHECK(data::refuse_table(asked.schema_out, std::vector{asked.file}));
    if (!asked.force) PARLEY_CHECK(refuse_existing(asked.schema_out));
  }
  PARLEY_TRY(const data::Description about, data::describe(asked.file, asked.label));
  if (!asked.schema_out.empty()) PARLEY_CHECK(write_atomically(asked.schema_out, draft_text(about)));
  if (asked.json) {
    // Names are the file's bytes: what is not UTF-8 is replaced.
    fmt::print("{}\n", as_json(about).dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    return {};
  }
  fmt::print("{}", data::table(about));
  if (asked.schema_out.empty())
    fmt::print("\n{}", draft_text(about));
  else
    fmt::print("wrote {}\n", asked.schema_out);
  return {};
}

}  // namespace

void add_data_describe(CLI::App& data_verb, Exit& exit) {
  auto asked = std::make_shared<Asked>();
  CLI::App* verb = data_verb.add_subcommand("describe", "Summarise a table and draft its schema");
  verb->add_option("FILE", asked->file,
                   "CSV or LIBSVM, plain or packed with gzip, xz or zstd; or a table of a database "
                   "(sqlite:FILE?table=T, postgresql://...)")
      ->required();
  verb->add_option("--label", asked->label, "The label column (default: y, label, target or class)");
  verb->add_option("--schema-out", asked->schema_out, "Write the draft to this file");
  verb->add_flag("--force", asked->force, "Replace a file that is there");
  verb->add_flag("--json", asked->json, "Print JSON on stdout and nothing else");
  verb->footer(
      "Example:\n"
      "  parley data describe examples/readmission/clinic.csv --label readmitted \\\n"
      "    --schema-out clinic.schema.toml");
  verb->callback([asked, &exit] {
    if (const auto done = run(*asked); !done) exit.refuse(done.error());
  });
}

}  // namespace parley::app
