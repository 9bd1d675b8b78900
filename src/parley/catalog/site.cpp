#include "parley/catalog/site.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "parley/catalog/coordinate.h"
#include "parley/core/files.h"
#include "parley/core/text.h"

namespace parley::catalog {

namespace {

constexpr std::size_t kLargestJob = std::size_t{1} << 20;

Place about(const Site& site, const char* key) { return {site.file, 0, key}; }

Result<void> check_limits(const Site& site, const Job& job) {
  const auto& allowed = site.limits.algorithms;
  if (!allowed.empty() && std::find(allowed.begin(), allowed.end(), job.algorithm) == allowed.end())
    return fail(bad_input(about(site, "limits.algorithms"), "does not list the job's algorithm", job.algorithm));
  if (job.privacy)
    return fail(bad_input({job.file, 0, "privacy"}, "private runs are not carried between machines in this version"));
  if (!site.limits.without_privacy)
    return fail(bad_input(about(site, "limits.without_privacy"), "is false, and the job has no [privacy] section", job.name));
  return {};
}

// "ward=surgery" comes from the column "ward".
bool made_from(const std::string& column, const std::string& name) {
  return column == name || column.starts_with(name + "=");
}

Result<void> check_table(const Site& site, const PartyTable& table) {
  if (static_cast<std::int64_t>(table.train.rows()) < site.limits.minimum_records)
    return fail(bad_input(about(site, "limits.minimum_records"), "is more than the table has for this job",
                          fmt::format("{} records", table.train.rows())));
  for (const std::string& column : table.train.columns.list())
    for (const std::string& name : site.limits.never)
      if (made_from(column, name))
        return fail(bad_input(about(site, "limits.never"), "names a column that the job would use; give it type = \"ignore\" in the schema",
                              name));
  return {};
}

// What stays at the site when the run is over: its part of the model, if the parts stay with the parties.
void keep_part(const Site& site, const Job& job, const Introduction& introduction, const wire::RunId& run, const rounds::Responder& party) {
  const wire::Bytes memory = party.memory();
  const auto parts = job.federation->model(job, {{&introduction, 1}, {}, {&memory, 1}});
  if (!parts) return;
  const std::filesystem::path folder = std::filesystem::path(site.state) / "models" / wire::hex(run);
  if (parts->empty()) return;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  static_cast<void>(save(parts->front().trained, folder.string()));
}

}  // namespace

Result<Site> read_site(const std::string& path) {
  PARLEY_TRY(Toml toml, Toml::read(path));
  Site site;
  site.file = path;
  Toml section = toml.table("site");
  toml.require("site");
  for (const char* key : {"name", "coordinator", "tls", "state"}) section.require(key);
  section.text("name", site.name);
  section.text("coordinator", site.coordinator);
  section.text("tls", site.tls);
  section.text("state", site.state);
  Toml data = toml.table("data");
  toml.require("data");
  data.require("path");
  data.text("path", site.data);
  data.text("schema", site.schema);
  Toml limits = toml.table("limits");
  limits.texts("algorithms", site.limits.algorithms);
  limits.texts("never", site.limits.never);
  limits.integer("minimum_records", site.limits.minimum_records, at_least(1));
  limits.boolean("without_privacy", site.limits.without_privacy);
  PARLEY_CHECK(toml.finish());
  for (const std::string& name : site.limits.algorithms)
    if (find_algorithm(name) == nullptr) {
      std::vector<std::string> known;
      for (const Algorithm& algorithm : algorithms_by_name()) known.push_back(algorithm.name);
      return fail(bad_input(about(site, "limits.algorithms"), "unknown algorithm" + suggestion(name, known), name));
    }
  for (std::string* file : {&site.tls, &site.state, &site.data, &site.schema}) *file = beside(path, *file);
  return site;
}

Result<JobText> read_job_text(const std::string& path, const std::vector<std::string>& overrides) {
  PARLEY_TRY(std::string text, read_whole(path, kLargestJob));
  return JobText{path, std::move(text), overrides};
}

Result<Job> parse(const JobText& text, Paths paths) {
  PARLEY_TRY(Toml toml, Toml::parse(text.text, text.file));
  for (const std::string& assignment : text.overrides) PARLEY_CHECK(toml.set(assignment));
  return parse_job(std::move(toml), text.file, paths);
}

Result<rounds::Admission> admit(const Site& site, const rounds::Opening& opening) {
  PARLEY_TRY(const JobText text, wire::decode<JobText>(opening.job));
  PARLEY_TRY(Job job, parse(text, Paths::kAtSites));
  if (job.federation == nullptr) return fail(bad_input({text.file, 0, "algorithm.name"}, "is not for several parties", job.algorithm));
  PARLEY_CHECK(check_limits(site, job));
  const auto own = std::find_if(job.parties.begin(), job.parties.end(), [&](const Party& party) { return party.name == site.name; });
  if (own == job.parties.end()) return fail(bad_input({text.file, 0, "party"}, "does not name this site", site.name));
  // Whatever the job says about files, the site reads its own.
  *own = {site.name, site.data, site.schema, ""};
  const int number = static_cast<int>(own - job.parties.begin());
  PARLEY_TRY(std::vector<PartyTable> tables, job.federation->read(job, {&number, 1}));
  PARLEY_CHECK(check_table(site, tables.front()));
  const auto table = std::make_shared<const PartyTable>(std::move(tables.front()));
  PARLEY_TRY(rounds::Admission admission, admit(job, *table, rounds::without_privacy(privacy::Unprotected{})));
  // Holds the table for as long as the party reads it.
  admission.at_close = [site, job, table, run = opening.run](const rounds::Responder& party) {
    keep_part(site, job, introduce(*table), run, party);
  };
  return admission;
}

}  // namespace parley::catalog
