#include "parley/data/partition.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "parley/core/party_name.h"
#include "parley/core/text.h"
#include "parley/core/version.h"
#include "parley/data/partition_parts.h"

namespace parley::data {

namespace fs = std::filesystem;

std::vector<std::string> pieces(std::string_view text, char separator) {
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    std::string_view piece = text.substr(begin, end - begin);
    while (!piece.empty() && piece.front() == ' ') piece.remove_prefix(1);
    while (!piece.empty() && piece.back() == ' ') piece.remove_suffix(1);
    out.emplace_back(piece);
    begin = end + 1;
  }
  return out;
}

std::string task_of(const RowLabels& labels) {
  if (labels.real) return "linear";
  return labels.classes.size() <= 2 ? "logistic" : "softmax";
}

Result<void> set_label(const RawTable& table, const std::string& label_name, std::size_t label, JobDraft& job,
                       std::vector<std::string>& notes) {
  if (label == SIZE_MAX) {
    notes.emplace_back("no label column was found: the job needs [labels] column and task");
    return {};
  }
  PARLEY_TRY(const RowLabels labels, row_labels(table, label_name));
  job.task = task_of(labels);
  job.label_column = table.names()[label];
  return {};
}

SplitFolder::SplitFolder(const RawTable& table, std::uint64_t seed, const SplitOutput& output, std::size_t parts,
                         const std::string& default_name)
    : table_(table),
      seed_(seed),
      output_(output),
      names_(output.names),
      outputs_(output.existing, {table.file(), output.schema_file}) {
  if (!names_.empty()) return;
  const std::size_t digits = std::to_string(parts).size();
  for (std::size_t p = 0; p < parts; ++p) names_.push_back(fmt::format("{}-{:0{}}", default_name, p + 1, digits));
}

Result<void> SplitFolder::check_names() const {
  std::set<std::string> seen;
  for (const std::string& name : names_) {
    if (const std::string_view flaw = flaw_of_party_name(name); !flaw.empty())
      return fail(bad_input({.field = "--names"}, flaw, name));
    if (!seen.insert(name).second) return fail(bad_input({.field = "--names"}, "must be different", name));
  }
  return {};
}

Result<void> SplitFolder::check_schema(std::size_t label, std::size_t id) const {
  if (!output_.schema) return {};
  const std::vector<std::string>& names = table_.names();
  for (const std::string& name : names)
    if (output_.schema->find(name) == nullptr)
      return fail(bad_input({output_.schema_file, 0, ""}, "does not have this column of the table", name));
  const auto check = [&](ColumnType type, std::size_t asked, const char* option) -> Result<void> {
    for (const ColumnSchema& column : output_.schema->columns)
      if (column.type == type && asked != SIZE_MAX && names[asked] != column.name)
        return fail(bad_input(
            {.field = option},
            fmt::format("the schema's {} is '{}'; another one was asked for", name(type), column.name), names[asked]));
    return {};
  };
  PARLEY_CHECK(check(ColumnType::kLabel, label, "--label"));
  return check(ColumnType::kId, id, "--id");
}

Result<OutputFile*> SplitFolder::open(std::size_t party, std::int64_t rows, std::int64_t columns) {
  static constexpr const char* kPacked[] = {"", ".gz", ".zst", ".xz"};
  const std::string name =
      names_[party] + (table_.is_libsvm() ? ".libsvm" : ".csv") + kPacked[static_cast<std::size_t>(output_.packing)];
  PARLEY_TRY(OutputFile * file, outputs_.open(output_.folder / name));
  tables_.push_back({{output_.folder / name, 0, rows, columns}, file});
  files_.push_back(name);
  columns_.resize(files_.size());
  return file;
}

namespace {

Schema schema_of(const Schema& whole, const std::vector<std::string>& columns) {
  Schema schema = whole;
  schema.skip_lines = 0;  // these and comments are in no part
  schema.comment.clear();
  std::erase_if(schema.columns, [&](const ColumnSchema& column) {
    return std::find(columns.begin(), columns.end(), column.name) == columns.end();
  });
  return schema;
}

}  // namespace

Result<void> SplitFolder::give_schema(std::size_t party, const std::string& file,
                                      const std::vector<std::string>& columns, const std::vector<ColumnSchema>& made) {
  if (!output_.schema) return {};
  Schema schema = schema_of(*output_.schema, columns);
  schema.header.reset();
  schema.columns.insert(schema.columns.begin(), made.begin(), made.end());
  schemas_.resize(names_.size());
  schemas_.at(party) = file;
  return outputs_.write_whole(output_.folder / file, to_toml(schema));
}

Result<void> SplitFolder::give_schema_to_all() {
  if (!output_.schema) return {};
  schemas_.assign(names_.size(), "schema.toml");
  return outputs_.write_whole(output_.folder / schemas_.front(), to_toml(schema_of(*output_.schema, table_.names())));
}

void SplitFolder::note_columns(std::size_t party, std::vector<std::string> columns) {
  columns_.at(party) = std::move(columns);
}

Result<SplitResult> SplitFolder::finish(JobDraft job, const std::string& how, std::vector<std::string> notes) {
  SplitResult result;
  // A party has labels of its own, or one is named.
  result.trainable = table_.is_libsvm() || !job.label_column.empty();
  if (output_.schema) job.scale = "bounds";
  result.job = output_.folder / "job.toml";
  result.record = output_.folder / "split.json";
  result.notes = table_.notes();
  result.notes.insert(result.notes.end(), notes.begin(), notes.end());
  job.name = "split";
  job.comment = fmt::format("Made by: parley data split, {}, seed {} (version {}); split.json says who got what.{}{}",
                            how, seed_, kVersion, job.comment.empty() ? "" : "\n", job.comment);
  nlohmann::ordered_json record;
  record["source"] = fs::path(table_.file()).filename().string();
  record["how"] = how;
  record["seed"] = seed_;
  record["version"] = kVersion;
  record["notes"] = result.notes;
  for (std::size_t p = 0; p < files_.size(); ++p) {
    job.parties.push_back({names_[p], files_[p], schemas_.empty() ? "" : schemas_[p]});
    nlohmann::ordered_json party = {{"name", names_[p]}, {"file", files_[p]}, {"rows", tables_[p].first.rows}};
    if (!columns_[p].empty()) party["columns"] = columns_[p];
    record["parties"].push_back(party);
  }
  PARLEY_CHECK(outputs_.write_whole(result.job, to_toml(job)));
  PARLEY_CHECK(
      outputs_.write_whole(result.record, record.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n'));
  PARLEY_CHECK(outputs_.commit());
  result.parties = names_;
  for (auto& [table, file] : tables_) {
    table.bytes = file->bytes();
    result.tables.push_back(table);
  }
  return result;
}

Result<SplitResult> split_rows(const RawTable& table, const SplitRows& plan, std::uint64_t seed,
                               const SplitOutput& output) {
  // First: it checks the number of parties, which is made into names next.
  std::vector<std::string> notes;
  PARLEY_TRY(const std::vector<std::uint32_t> party, assign_rows(table, plan, seed, notes));
  SplitFolder folder(table, seed, output, plan.parts, "party");
  if (folder.names().size() != plan.parts)
    return fail(bad_input({.field = "--names"}, "must name " + counted(plan.parts, "party", "parties"),
                          std::to_string(folder.names().size())));
  PARLEY_CHECK(folder.check_names());

  std::int64_t columns = 0;
  JobDraft job{.partition = "horizontal", .l2 = 1e-3, .algorithm = "fedavg", .iterations = 100};
  if (table.is_libsvm()) {
    columns = static_cast<std::int64_t>(table.last_index()) + 1 - table.first_index();
    PARLEY_TRY(const RowLabels labels, row_labels(table, plan.label));
    job.task = task_of(labels);
  } else {
    PARLEY_TRY(const std::size_t label, label_column(table, plan.label));
    PARLEY_TRY(const std::size_t id, id_column(table, plan.id));
    PARLEY_CHECK(folder.check_schema(label, id));
    columns = static_cast<std::int64_t>(table.names().size()) - (label != SIZE_MAX) - (id != SIZE_MAX && id != label);
    job.task = "logistic";
    PARLEY_CHECK(set_label(table, plan.label, label, job, notes));
  }

  PARLEY_CHECK(folder.give_schema_to_all());
  std::vector<std::vector<std::uint32_t>> rows(plan.parts);
  for (std::size_t i = 0; i < party.size(); ++i) rows[party[i]].push_back(static_cast<std::uint32_t>(i));
  for (std::size_t p = 0; p < plan.parts; ++p) {
    PARLEY_TRY(OutputFile * file, folder.open(p, static_cast<std::int64_t>(rows[p].size()), columns));
    if (!table.header().empty()) {
      PARLEY_CHECK(file->write(table.header()));
      PARLEY_CHECK(file->write(table.line_end()));
    }
    for (const std::uint32_t row : rows[p]) {
      PARLEY_CHECK(file->write(table.record(row)));
      PARLEY_CHECK(file->write(table.line_end()));
    }
  }
  std::string how;
  switch (plan.skew) {
    case RowSkew::kIid:
      how = "rows at random";
      break;
    case RowSkew::kDirichlet:
      how = fmt::format("rows with label skew, Dirichlet({})", plan.alpha);
      break;
    case RowSkew::kShards:
      how = fmt::format("rows with label skew, {} each", counted(plan.shards, "shard"));
      break;
    case RowSkew::kCluster:
      how = "rows by cluster of their features";
      break;
  }
  return folder.finish(std::move(job), how, std::move(notes));
}

Result<SplitResult> split(const RawTable& table, const SplitPlan& plan, std::uint64_t seed, const SplitOutput& output) {
  if (output.schema && table.is_libsvm())
    return fail(bad_input({.field = "--schema"}, "is for CSV tables, whose columns have names", table.file()));
  struct Choose {
    const RawTable& table;
    std::uint64_t seed;
    const SplitOutput& output;
    Result<SplitResult> operator()(const SplitRows& plan) const { return split_rows(table, plan, seed, output); }
    Result<SplitResult> operator()(const SplitColumns& plan) const { return split_columns(table, plan, seed, output); }
    Result<SplitResult> operator()(const SplitTables& plan) const { return split_tables(table, plan, seed, output); }
  };
  return std::visit(Choose{table, seed, output}, plan);
}

}  // namespace parley::data
