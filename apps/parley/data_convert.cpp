// parley data convert IN OUT: CSV to LIBSVM and back, packed by the ending of the name.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "apps/parley/data_report.h"
#include "apps/parley/signals.h"
#include "apps/parley/verbs.h"
#include "parley/data/convert.h"

namespace parley::app {

namespace {

struct Asked {
  std::string from;
  std::string to;
  std::string from_format;
  std::string to_format;
  std::string schema;
  std::string label;
  std::string names;
  bool zero_based = false;
  bool one_based = false;
  bool force = false;
  bool json = false;
};

data::Format format_named(const std::string& name) {
  if (name == "csv") return data::Format::kCsv;
  return name == "libsvm" ? data::Format::kLibsvm : data::Format::kDetect;
}

Result<int> run(const Asked& asked) {
  const CleanEnd clean_end;
  data::Conversion conversion;
  conversion.from = asked.from;
  conversion.to = asked.to;
  conversion.from_format = format_named(asked.from_format);
  conversion.to_format = format_named(asked.to_format);
  conversion.label = asked.label;
  conversion.names_file = asked.names;
  conversion.existing = asked.force ? data::Existing::kReplace : data::Existing::kRefuse;
  if (asked.zero_based) conversion.first_index = 0;
  if (asked.one_based) conversion.first_index = 1;
  if (!asked.schema.empty()) {
    PARLEY_TRY(conversion.schema, data::read_schema(asked.schema));
    conversion.schema_file = asked.schema;
  }
  PARLEY_TRY(const auto converted, data::convert(conversion));
  if (asked.json) {
    const auto name = [](data::Format format) { return format == data::Format::kLibsvm ? "libsvm" : "csv"; };
    nlohmann::ordered_json out = {{"path", converted.table.path.string()},
                                  {"from", name(converted.from)},
                                  {"to", name(converted.to)},
                                  {"rows", converted.table.rows},
                                  {"columns", converted.table.columns},
                                  {"bytes", converted.table.bytes},
                                  {"notes", converted.notes}};
    fmt::print("{}\n", out.dump(1, ' ', false, nlohmann::json::error_handler_t::replace));
  } else {
    fmt::print("{}{}", lines_about(std::vector{converted.table}), lines_about(converted.notes));
  }
  return 0;
}

}  // namespace

void add_data_convert(CLI::App& data_verb, Exit& exit) {
  auto asked = std::make_shared<Asked>();
  CLI::App* verb =
      data_verb.add_subcommand("convert", "Convert CSV to LIBSVM and back, packed as the names of the files say");
  verb->footer(
      "Examples:\n"
      "  parley data convert examples/readmission/clinic.csv clinic.libsvm.gz \\\n"
      "    --schema examples/readmission/clinic.schema.toml --names columns.txt\n"
      "  parley data convert clinic.libsvm.gz clinic.csv");
  verb->add_option("in", asked->from, "File to read, packed or not")->required();
  verb->add_option("out", asked->to, "File to write: .csv or .libsvm, then .gz, .zst or .xz to pack it")->required();
  const auto formats = CLI::IsMember({"csv", "libsvm"});
  verb->add_option("--from", asked->from_format, "Format of the input, where its content does not tell")
      ->check(formats);
  verb->add_option("--to", asked->to_format, "Format of the output, where its name does not tell")->check(formats);
  verb->add_option("--label", asked->label, "Label column of a CSV file (default: y, label, target or class)");
  verb->add_option("--schema", asked->schema, "Schema of a CSV input (default: inferred)");
  verb->add_option("--names", asked->names,
                   "From CSV to LIBSVM: write the names of the columns to this file, one a line");
  auto* zero = verb->add_flag("--zero-based", asked->zero_based, "Number LIBSVM columns from 0");
  verb->add_flag("--one-based", asked->one_based, "Number LIBSVM columns from 1")->excludes(zero);
  verb->add_flag("--force", asked->force, "Replace files that are there");
  verb->add_flag("--json", asked->json, "Say in JSON what was written");
  verb->callback([asked, &exit] { exit.finish(run(*asked)); });
}

}  // namespace parley::app
