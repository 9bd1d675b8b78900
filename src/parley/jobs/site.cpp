#include "parley/jobs/site.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "parley/core/address.h"
#include "parley/core/party_name.h"
#include "parley/core/text.h"
#include "parley/core/toml.h"
#include "parley/data/database_address.h"
#include "parley/data/table_text.h"
#include "parley/jobs/job.h"

namespace parley::jobs {

namespace {

Place about(const Site& site, const char* key) {
  return {site.file, 0, key};
}

void read_peers(Toml& toml, Site& site) {
  for (Toml& peer : toml.tables("peer")) {
    secure::Pin pin;
    std::string key;
    for (const char* each : {"name", "key"}) peer.require(each);
    if (!peer.text("name", pin.name) || !peer.text("key", key)) continue;
    if (const std::string_view flaw = flaw_of_party_name(pin.name); !flaw.empty()) peer.reject("name", flaw, pin.name);
    if (pin.name == site.name) peer.reject("name", "is this site itself", pin.name);
    if (auto read = secure::key_of_text(key))
      pin.key = std::move(*read);
    else
      peer.reject("key", "must be 64 hexadecimal digits, as parley keys fingerprint prints them", key);
    for (const secure::Pin& other : site.peers) {
      if (other.name == pin.name) peer.reject("name", "is there twice", pin.name);
      if (other.key == pin.key) peer.reject("key", "is that of '" + other.name + "' too", key);
    }
    site.peers.push_back(std::move(pin));
  }
}

// Feature 7 of a LIBSVM file is x7.
bool is_number_of_feature(const std::string& name) {
  return name.size() > 1 && name.front() == 'x' && name.find_first_not_of("0123456789", 1) == std::string::npos;
}

}  // namespace

Result<Site> read_site(const std::string& path, const std::vector<std::string>& algorithms) {
  PARLEY_TRY(Toml toml, Toml::read(path));
  Site site;
  site.file = path;
  Toml section = toml.table("site");
  toml.require("site");
  for (const char* key : {"name", "coordinator", "tls", "state"}) section.require(key);
  section.text("name", site.name);
  if (const std::string_view flaw = flaw_of_party_name(site.name);
      section.kind("name") == Toml::Kind::kText && !flaw.empty())
    section.reject("name", flaw, site.name);
  section.text("coordinator", site.coordinator);
  section.text("tls", site.tls);
  section.text("state", site.state);
  section.text("ledger", site.ledger);
  section.text("federation_secret", site.federation_secret);
  Toml data = toml.table("data");
  toml.require("data");
  data.require("path");
  data.text("path", site.data);
  data.text("schema", site.schema);
  data.texts("classes", site.classes);
  read_peers(toml, site);
  Toml limits = toml.table("limits");
  std::vector<std::string> allowed;
  if (limits.texts("algorithms", allowed)) site.limits.algorithms = std::move(allowed);
  limits.texts("never", site.limits.never);
  limits.integer("minimum_records", site.limits.minimum_records, at_least(1));
  limits.boolean("without_privacy", site.limits.without_privacy);
  std::optional<double> epsilon, delta;
  limits.number("epsilon", epsilon, above(0));
  if (limits.number("delta", delta, above(0)) && !(*delta < 1)) limits.reject("delta", "must be below 1");
  if (epsilon.has_value() != delta.has_value())
    limits.reject(epsilon ? "epsilon" : "delta", "epsilon and delta are one limit: give both or neither");
  limits.choice<privacy::Neighbours>(
      "neighbours", site.limits.neighbours,
      {{"replace-one", privacy::Neighbours::kReplaceOne}, {"add-remove", privacy::Neighbours::kAddRemove}});
  limits.choice<privacy::Unit>(
      "unit", site.limits.unit,
      {{"record", privacy::Unit::kRecord}, {"label", privacy::Unit::kLabel}, {"client", privacy::Unit::kClient}});
  limits.boolean("public_labels", site.limits.public_labels);
  limits.boolean("public_ids", site.limits.public_ids);
  limits.integer("records", site.limits.records, at_least(1));
  if (const std::string flaw = data::flaw_of_database(site.data); !flaw.empty()) data.reject("path", flaw);
  PARLEY_CHECK(toml.finish());
  PARLEY_CHECK(check_address(site.coordinator, about(site, "site.coordinator"), PortZero::kRefused));
  if (epsilon) {
    PARLEY_TRY(const privacy::Epsilon most, privacy::Epsilon::make(*epsilon));
    PARLEY_TRY(const privacy::Delta rarely, privacy::Delta::make(*delta));
    site.limits.budget = privacy::Budget{most, rarely, privacy::Composition::kPlans};
  }
  for (const std::string& name : site.limits.algorithms.value_or(std::vector<std::string>{}))
    if (std::find(algorithms.begin(), algorithms.end(), name) == algorithms.end())
      return fail(
          bad_input(about(site, "limits.algorithms"), "unknown algorithm" + suggestion(name, algorithms), name));
  if (site.ledger.empty()) site.ledger = (std::filesystem::path(site.state) / "ledger").string();
  for (std::string* file : {&site.tls, &site.state, &site.ledger, &site.data, &site.schema, &site.federation_secret})
    *file = beside(path, *file);
  return site;
}

Result<void> check_files(const Site& site) {
  std::optional<data::Schema> schema;
  if (!site.schema.empty()) {
    PARLEY_TRY(schema, data::read_schema(site.schema));
  }
  PARLEY_CHECK(data::open_table(site.data, schema.value_or(data::Schema())));
  if (site.limits.never.empty()) return {};
  auto format = schema ? schema->format : data::Format::kDetect;
  if (format == data::Format::kDetect && schema && !schema->columns.empty()) format = data::Format::kCsv;
  if (format == data::Format::kDetect) {
    PARLEY_TRY(format, data::format_of_text(site.data));
  }
  std::vector<std::string> known;
  if (format == data::Format::kCsv) {
    PARLEY_TRY(known, data::column_names(site.data, schema.value_or(data::Schema())));
  }
  if (schema)
    for (const data::ColumnSchema& column : schema->columns) {
      known.push_back(column.name);
      for (const std::string& level : column.levels) known.push_back(column.name + "=" + level);
    }
  for (const std::string& name : site.limits.never) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    if (format == data::Format::kLibsvm && is_number_of_feature(name)) continue;
    return fail(bad_input(about(site, "limits.never"),
                          "names no column of this site's table or schema" + suggestion(name, known), name));
  }
  return {};
}

}  // namespace parley::jobs
