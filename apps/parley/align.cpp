// parley align JOB.toml: which records the parties have in common, without showing an id.
#include "apps/parley/align.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "apps/parley/output_folder.h"
#include "apps/parley/verbs.h"
#include "parley/catalog/align_tables.h"
#include "parley/catalog/read_job.h"
#include "parley/core/files.h"
#include "parley/core/text.h"
#include "parley/runs/stopwatch.h"

namespace parley::app {

namespace {

using Find = jobs::SecureSection::Find;
using Json = nlohmann::ordered_json;

Find find_of(const AlignOptions& options) {
  return options.count ? Find::kCount : options.left ? Find::kLeft : Find::kCommon;
}

std::string who_learns_what(const std::string& first, Find find) {
  std::string text = fmt::format(
      "The coordinator and '{0}' learn how many ids each party has, and how many each other party has in common with "
      "'{0}'. ",
      first);
  if (find == Find::kCount)
    text += fmt::format("Every other party learns how many ids '{}' has. Nobody learns which are in common. ", first);
  else
    text += fmt::format(
        "'{0}' learns which of its own records each other party has. Every other party learns how many ids '{0}' has, "
        "which of its own records {1}, and the order. ",
        first, find == Find::kLeft ? fmt::format("'{}' has", first) : "all parties have");
  return text +
         "This holds while everybody follows the protocol and the coordinator hands on what parties send. It is "
         "outside every claim of differential privacy: which records are in common is told as it is.";
}

std::string rule_of(const jobs::Job& job) {
  return fmt::format("blanks at both ends are taken off; {}; compared byte by byte in UTF-8, not in normal form NFC",
                     job.secure.rule.fold_case ? "A to Z become a to z" : "case is kept");
}

// `ids`: of the parties whose tables are here.
Json report_of(const jobs::Job& job, const InCommon& found, const std::vector<data::RecordIds>& ids, Find find) {
  Json report;
  report["parties"] = Json::array();
  for (std::size_t p = 0; p < found.ids.size(); ++p) {
    Json party{{"name", job.parties[p].name}, {"ids", found.ids[p]}};
    if (p < ids.size())
      party.update({{"records", ids[p].records},
                    {"changed", ids[p].changed},
                    {"without_id", ids[p].missing},
                    {"repeated", ids[p].repeated},
                    {"beyond_ascii", ids[p].beyond_ascii}});
    if (p > 0) party["common_with_first"] = found.common[p - 1];
    report["parties"].push_back(party);
  }
  if (find != Find::kCount) report["kept"] = found.kept;
  const rounds::Traffic all = found.communication.total();
  report["communication"] = {
      {"uplink_bytes", all.up}, {"downlink_bytes", all.down}, {"rounds", found.communication.rounds}};
  report["rule"] = rule_of(job);
  report["learns"] = who_learns_what(job.parties.front().name, find);
  return report;
}

void print_table(const Json& report) {
  for (const Json& party : report["parties"]) {
    fmt::print("  {:<16} {} ids", party["name"].get<std::string>(), with_commas(party["ids"].get<std::int64_t>()));
    if (party.contains("common_with_first"))
      fmt::print(", {} in common with the first", with_commas(party["common_with_first"].get<std::int64_t>()));
    if (party.contains("records"))
      fmt::print("; of {}, {} changed by the rule, {} without an id, {} repeated",
                 counted(party["records"].get<std::int64_t>(), "record"), party["changed"].get<std::int64_t>(),
                 party["without_id"].get<std::int64_t>(), party["repeated"].get<std::int64_t>());
    fmt::print("\n");
  }
  if (report.contains("kept")) fmt::print("  {:<16} {}\n", "kept", with_commas(report["kept"].get<std::int64_t>()));
  const Json& sent = report["communication"];
  fmt::print("  {:<16} {} up, {} down\n  {:<16} {}\n\n  {}\n", "traffic",
             human_bytes(sent["uplink_bytes"].get<double>()), human_bytes(sent["downlink_bytes"].get<double>()), "rule",
             report["rule"].get<std::string>(), report["learns"].get<std::string>());
}

// For its owner alone: it tells which of a party's records others have too.
Result<void> write_orders(const AlignOptions& options, const jobs::Job& job, const catalog::AlignedTables& aligned) {
  namespace fs = std::filesystem;
  for (std::size_t p = 0; p < aligned.orders.size(); ++p) {
    if (!aligned.orders[p]) continue;
    PARLEY_CHECK(make_folder(options.out));
    const fs::path path = fs::path(options.out) / (job.parties[p].name + ".order");
    const mode_t before = ::umask(0077);
    const auto written = write_atomically(path.string(), data::to_text(*aligned.orders[p]));
    ::umask(before);
    PARLEY_CHECK(written);
    if (!options.json) fmt::print("  {}\n", path.string());
  }
  return {};
}

Result<catalog::AlignedTables> align_tables(const jobs::Job& job, Find find) {
  std::vector<std::string> names;
  std::vector<data::RecordIds> ids;
  const catalog::Sources sources = catalog::files_of(job);
  for (std::size_t p = 0; p < job.parties.size(); ++p) {
    names.push_back(job.parties[p].name);
    PARLEY_TRY(ids.emplace_back(), catalog::ids_of(job, static_cast<int>(p), sources[p]));
  }
  return catalog::align_here(names, std::move(ids), catalog::mode_of(find));
}

Result<int> align(const AlignOptions& options) {
  if (options.left && options.count)
    return fail(bad_input({.field = "--left"}, "contradicts --count, which writes no order"));
  if (options.listen.empty() != options.tls.empty())
    return fail(bad_input({.field = "--listen"}, "and --tls belong together: both where sites dial in"));
  const Find find = find_of(options);
  const runs::Stopwatch watch;
  jobs::Job job;
  catalog::AlignedTables aligned;
  InCommon found;
  if (options.listen.empty()) {
    PARLEY_TRY(job, catalog::read_job(options.job, options.overrides));
    PARLEY_CHECK(catalog::check_alignable(job));
    PARLEY_TRY(aligned, align_tables(job, find));
    found = {{}, aligned.common, aligned.kept, aligned.communication};
    for (const data::RecordIds& ids : aligned.ids) found.ids.push_back(static_cast<std::int64_t>(ids.ids.size()));
  } else {
    PARLEY_TRY(const jobs::JobText text, jobs::read_job_text(options.job, options.overrides));
    PARLEY_TRY(job, catalog::parse_job(text, jobs::Paths::kAtSites));
    constexpr const char* kNames[] = {"common", "left", "count"};
    PARLEY_TRY(found, align_sites(options, kNames[static_cast<int>(find)]));
  }
  Json report = report_of(job, found, aligned.ids, find);
  report["seconds"] = watch.seconds();
  if (!options.json) print_table(report);
  PARLEY_CHECK(write_orders(options, job, aligned));
  if (options.json) fmt::print("{}\n", report.dump(2));
  return 0;
}

}  // namespace

void add_align(CLI::App& app, Exit& exit) {
  auto options = std::make_shared<AlignOptions>();
  CLI::App* verb =
      app.add_subcommand("align", "Find the records that parties have in common, without showing their ids");
  verb->add_option("job", options->job, "The job (TOML), of parties that hold columns")->required();
  verb->add_option("-o,--out", options->out,
                   "Folder for PARTY.order, the order of each party's rows; a site keeps its "
                   "own in its state folder")
      ->default_val("orders");
  verb->add_option("--set", options->overrides, "Override a setting of the job: section.key=value (repeat for more)")
      ->allow_extra_args(false);
  verb->add_option("--listen", options->listen, "Where tables are at sites: address to listen on, HOST:PORT");
  verb->add_option("--tls", options->tls, "Then: folder with ca.pem, coordinator.pem and coordinator.key");
  verb->add_flag("--left", options->left,
                 "Keep every record of the first party; where another one lacks it, its order has a gap");
  verb->add_flag("--count", options->count, "Count common records and tell nobody which they are");
  verb->add_flag("--json", options->json, "Print JSON on stdout and nothing else");
  verb->footer("Example:\n  parley align examples/clinic-and-insurer/job.toml --out orders");
  verb->callback([options, &exit] { exit.finish(align(*options)); });
}

}  // namespace parley::app
