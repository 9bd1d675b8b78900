#include "parley/data/generate_parts.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "parley/core/text.h"
#include "parley/core/version.h"

namespace parley::data::synthetic {

namespace fs = std::filesystem;

Result<void> check_count(const char* field, std::int64_t value, std::int64_t most) {
  if (value < 1) return fail(bad_input({.field = field}, "must be at least 1", std::to_string(value)));
  if (value > most)
    return fail(bad_input({.field = field}, fmt::format("must be at most {}", most), std::to_string(value)));
  return {};
}

Result<void> check_density(const char* field, double value) {
  if (!(value > 0 && value <= 1))
    return fail(bad_input({.field = field}, "must be above 0 and at most 1", fmt::format("{}", value)));
  return {};
}

Result<void> check_spread(const char* field, double value) {
  // The square of the largest is still a number.
  if (!(value >= 0 && value <= 1e100))
    return fail(bad_input({.field = field}, "must be a finite number of at least 0", fmt::format("{}", value)));
  return {};
}

std::string column_name(const std::string& prefix, std::int64_t column) {
  return prefix + std::to_string(column + 1);
}

std::vector<std::pair<std::string, double>> named_nonzeros(const std::string& prefix,
                                                           const std::vector<double>& weights) {
  std::vector<std::pair<std::string, double>> named;
  for (std::size_t j = 0; j < weights.size(); ++j)
    if (weights[j] != 0) named.emplace_back(column_name(prefix, static_cast<std::int64_t>(j)), weights[j]);
  return named;
}

Workshop::Workshop(std::string kind, std::uint64_t seed, const Destination& destination, TableFormat usual_format)
    : kind_(std::move(kind)),
      seed_(seed),
      destination_(destination),
      format_(destination.format.value_or(usual_format)),
      outputs_(destination.existing) {
  if (destination.decimals) {
    decimal_scale_ = 1;
    for (int k = 0; k < *destination.decimals; ++k) decimal_scale_ *= 10;
  }
}

double Workshop::rounded(double value) const {
  return decimal_scale_ == 0 ? value : std::floor(value * decimal_scale_ + 0.5) / decimal_scale_;
}

Result<void> Workshop::check_room(const std::vector<TableShape>& tables, std::int64_t resident_numbers) const {
  if (destination_.decimals && (*destination_.decimals < 0 || *destination_.decimals > 15))
    return fail(bad_input({.field = "decimals"}, "must lie between 0 and 15", std::to_string(*destination_.decimals)));

  const double value_bytes = destination_.decimals ? 4.0 + *destination_.decimals : 20.0;
  double disk = 0;
  double longest_row = 0;
  for (const auto& table : tables) {
    const auto columns = static_cast<double>(table.columns);
    const double row = format_ == TableFormat::kCsv
                           ? columns * (table.density * value_bytes + 2)
                           : columns * table.density * (value_bytes + 1 + std::to_string(table.columns).size());
    disk += row * static_cast<double>(table.rows);
    longest_row = std::max(longest_row, row);
  }
  // Packing random digits halves them at best.
  if (destination_.packing != Packing::kNone) disk /= 2.2;

  std::error_code error;
  fs::path place = fs::absolute(destination_.folder, error);
  while (!place.empty() && !fs::exists(place, error) && place != place.parent_path()) place = place.parent_path();
  const fs::space_info space = fs::space(place, error);
  if (!error && disk > static_cast<double>(space.available)) {
    const bool dense_text = format_ == TableFormat::kCsv && !tables.empty() && tables.front().density < 0.1;
    return fail(bad_input({.field = "rows x columns"},
                          fmt::format("would write about {}, and {} has {} free{}", human_bytes(disk), place.string(),
                                      human_bytes(static_cast<double>(space.available)),
                                      dense_text ? "; CSV spells out every zero, LIBSVM does not" : "")));
  }
  const double memory = 8.0 * static_cast<double>(resident_numbers) + 64 * longest_row;
  const double half_of_memory =
      0.5 * static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  if (memory > half_of_memory)
    return fail(bad_input({.field = "columns"}, fmt::format("would need about {} of memory, more than half of what "
                                                            "this machine has",
                                                            human_bytes(memory))));
  return {};
}

Result<OutputFile*> Workshop::open_table(const TableShape& shape) {
  const char* const ending = format_ == TableFormat::kCsv ? ".csv" : ".libsvm";
  static constexpr const char* kPacked[] = {"", ".gz", ".zst", ".xz"};
  const fs::path path =
      destination_.folder / (shape.stem + ending + kPacked[static_cast<std::size_t>(destination_.packing)]);
  PARLEY_TRY(OutputFile * file, outputs_.open(path));
  tables_.push_back({{path, 0, shape.rows, shape.columns}, file});
  if (format_ == TableFormat::kLibsvm) return file;

  std::string header;
  for (const auto& key : shape.keys) header += key + ',';
  if (shape.has_label) header += "y,";
  for (std::int64_t j = 0; j < shape.columns; ++j) header += column_name(shape.prefix, j) + ',';
  header.back() = '\n';
  PARLEY_CHECK(file->write(header));
  return file;
}

void Workshop::append(const TableShape& shape, const Row& row, std::string& text) const {
  if (format_ == TableFormat::kLibsvm) {
    append_number(text, row.label);
    for (std::size_t k = 0; k < row.values.size(); ++k) {
      if (row.values[k] == 0) continue;
      text += ' ';
      append_integer(text, 1 + static_cast<std::int64_t>(row.columns.empty() ? k : row.columns[k]));
      text += ':';
      append_number(text, row.values[k]);
    }
    text += '\n';
    return;
  }
  for (const std::uint64_t key : row.keys) {
    append_integer(text, static_cast<std::int64_t>(key));
    text += ',';
  }
  if (shape.has_label) {
    append_number(text, row.label);
    text += ',';
  }
  const bool sparse = shape.density < 1;
  std::int64_t next = 0;
  for (std::size_t k = 0; k < row.values.size(); ++k, ++next) {
    for (; sparse && next < row.columns[k]; ++next) text += "0,";
    append_number(text, row.values[k]);
    text += ',';
  }
  for (; next < shape.columns; ++next) text += "0,";
  text.back() = '\n';
}

namespace {

nlohmann::ordered_json json_of(const std::vector<Named>& facts) {
  auto out = nlohmann::ordered_json::object();
  for (const auto& fact : facts) std::visit([&](const auto& value) { out[fact.name] = value; }, fact.value);
  return out;
}

nlohmann::ordered_json json_of(const TrueModel& model) {
  auto out = nlohmann::ordered_json::object();
  if (!model.party.empty()) out["name"] = model.party;
  out.update(json_of(model.facts));
  out["intercept"] = model.intercept;
  auto& coefficients = out["coefficients"] = nlohmann::ordered_json::object();
  // Columns come in order and once each: push_back skips the search for the name.
  auto& list = coefficients.get_ref<nlohmann::ordered_json::object_t&>();
  for (const auto& [column, value] : model.coefficients) list.push_back({column, value});
  return out;
}

std::string text_of(const std::string& kind, std::uint64_t seed, const Truth& truth) {
  nlohmann::ordered_json out;
  out["kind"] = kind;
  out["source"] = truth.source;
  out["task"] = truth.task;
  out["seed"] = seed;
  out["version"] = kVersion;
  out["settings"] = json_of(truth.settings);
  for (const auto& [name, facts] : truth.tables) {
    nlohmann::ordered_json table = {{"name", name}};
    table.update(json_of(facts));
    out["tables"].push_back(table);
  }
  if (truth.models.size() == 1 && truth.models[0].party.empty()) {
    out.update(json_of(truth.models[0]));
  } else {
    for (const auto& model : truth.models) out["parties"].push_back(json_of(model));
  }
  return out.dump(1) + '\n';
}

}  // namespace

Result<Generated> Workshop::finish(const Truth& truth, JobDraft job) {
  job.name = kind_;
  job.task = truth.task;
  if (format_ == TableFormat::kCsv) job.label_column = "y";
  job.comment =
      fmt::format("Made by: parley data generate {} --seed {} (version {}); the true model is in truth.json.{}{}",
                  kind_, seed_, kVersion, job.comment.empty() ? "" : "\n", job.comment);
  Generated generated{kind_, {}, destination_.folder / "truth.json", destination_.folder / "job.toml"};
  PARLEY_CHECK(outputs_.write_whole(generated.truth, text_of(kind_, seed_, truth)));
  PARLEY_CHECK(outputs_.write_whole(generated.job, to_toml(job)));
  PARLEY_CHECK(outputs_.commit());
  for (auto& [table, file] : tables_) {
    table.bytes = file->bytes();
    generated.tables.push_back(table);
  }
  return generated;
}

}  // namespace parley::data::synthetic
