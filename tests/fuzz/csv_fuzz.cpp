#include <cstddef>
#include <cstdint>
#include <string_view>

#include "parley/data/csv.h"
#include "parley/data/load.h"
#include "tests/fuzz/properties.h"

using namespace parley;

namespace {

// Cutting a file into chunks must not change what its records are.
void check_cut(std::string_view content, const data::LoadOptions& options) {
  const auto layout =
      data::find_layout(content, true, "f", {options.schema ? &*options.schema : nullptr, options.label});
  if (!layout) return fuzz::check_error(layout.error());
  const auto plan = data::plan_columns(*layout, options, "f", false);
  if (!plan) return fuzz::check_error(plan.error());
  const std::string_view records = content.substr(layout->data_begin);
  data::CsvChunk whole;
  data::CsvWorkspace rows;
  data::parse_csv_chunk(records, *layout, *plan, whole, rows);
  for (const std::size_t share : {records.size() / 3, records.size() / 2, records.size() - records.size() / 5}) {
    const std::size_t cut = data::cut_at_record(records.substr(0, share), layout->delimiter, layout->comment);
    data::CsvChunk first;
    data::CsvChunk second;
    data::parse_csv_chunk(records.substr(0, cut), *layout, *plan, first, rows);
    data::parse_csv_chunk(records.substr(cut), *layout, *plan, second, rows);
    if (first.error != nullptr) {
      fuzz::require(
          whole.error != nullptr && whole.error->line == first.error->line && whole.error->rule == first.error->rule,
          "a chunk's error is the file's");
      continue;
    }
    fuzz::require((whole.error != nullptr) == (second.error != nullptr), "chunks fail where the file does");
    if (second.error != nullptr)
      fuzz::require(whole.error->line == first.lines + second.error->line, "an error keeps its line");
    else
      fuzz::require(whole.rows == first.rows + second.rows && whole.dropped == first.dropped + second.dropped,
                    "chunks have the file's rows");
  }
}

}  // namespace

// The first byte chooses options, the rest is the file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  const std::uint8_t choice = bytes[0];
  const std::string_view content(reinterpret_cast<const char*>(bytes) + 1, size - 1);
  data::LoadOptions options;
  options.format = data::Format::kCsv;
  options.labels = (choice & 1) != 0   ? data::LabelKind::kReal
                   : (choice & 2) != 0 ? data::LabelKind::kBinary
                                       : data::LabelKind::kClasses;
  options.label_use = (choice & 4) != 0   ? data::LabelUse::kRequired
                      : (choice & 8) != 0 ? data::LabelUse::kOptional
                                          : data::LabelUse::kNone;
  if ((choice & 16) != 0) options.bound = 1.5;
  if ((choice & 32) != 0) {
    data::Schema schema;
    schema.delimiter = (choice & 64) != 0 ? "," : " ";
    schema.comment = "#";
    if ((choice & 128) != 0)
      schema.columns = {
          {.name = "y", .type = data::ColumnType::kLabel, .missing = data::Missing::kDropRow},
          {.name = "a", .type = data::ColumnType::kInteger, .lower = -3, .upper = 5, .missing = data::Missing::kZero},
          {.name = "c", .type = data::ColumnType::kCategory, .levels = {"p", "q"}, .missing = data::Missing::kLevel},
          {.name = "b", .type = data::ColumnType::kBoolean, .missing = data::Missing::kDropRow}};
    options.schema = schema;
  }
  const auto loaded = data::load_text(content, "f", options);
  fuzz::check(loaded);
  fuzz::check_narrow(content, options, loaded);
  check_cut(content, options);
  const data::OpenBytes open = [&] { return data::open_bytes(content, "f"); };
  const auto lenient = data::read_csv_table(open, "f", options, true);
  if (!lenient) fuzz::check_error(lenient.error());
  if (!loaded) return 0;
  const auto schema = data::parse_schema(data::to_toml(loaded->schema), "schema");
  fuzz::require(schema && *schema == loaded->schema, "the schema of a table reads back");
  const auto again = data::load_text(content, "f", data::options_like(*loaded, options));
  fuzz::require(again.has_value(), "a file reads like itself");
  fuzz::require(again->columns == loaded->columns, "a file has its own columns");
  fuzz::require(again->labels.values == loaded->labels.values, "a file has its own labels");
  return 0;
}
