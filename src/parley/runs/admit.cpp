#include "parley/runs/admit.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "parley/algorithms/vertical/alignment.h"
#include "parley/catalog/align_tables.h"
#include "parley/catalog/federation.h"
#include "parley/catalog/method.h"
#include "parley/catalog/read_job.h"
#include "parley/core/files.h"
#include "parley/core/text.h"
#include "parley/data/labels.h"
#include "parley/privacy/accounting/statement.h"
#include "parley/privacy/ledger/digest.h"
#include "parley/privacy/ledger/ledger_folder.h"
#include "parley/privacy/ledger/seen_head.h"
#include "parley/runs/member.h"
#include "parley/runs/same_table.h"
#include "parley/runs/site_peers.h"

namespace parley::runs {

namespace fs = std::filesystem;

namespace {

Place about(const jobs::Site& site, const char* key) {
  return {site.file, 0, key};
}

// The site's number in the job; none where it is not named.
std::optional<int> number_of(const jobs::Site& site, const jobs::Job& job) {
  const auto own = std::find_if(job.parties.begin(), job.parties.end(),
                                [&](const jobs::PartySection& party) { return party.name == site.name; });
  if (own == job.parties.end()) return std::nullopt;
  return static_cast<int>(own - job.parties.begin());
}

Result<void> check_limits(const jobs::Site& site, const jobs::Job& job, bool is_charged) {
  const auto& allowed = site.limits.algorithms;
  if (allowed && std::find(allowed->begin(), allowed->end(), job.algorithm) == allowed->end())
    return fail(bad_input(about(site, "limits.algorithms"), "does not list the job's algorithm", job.algorithm));
  if (!job.privacy && !site.limits.without_privacy)
    return fail(
        bad_input(about(site, "limits.without_privacy"), "is false, and the job has no [privacy] section", job.name));
  if (!protects_records(job) && !site.limits.without_privacy)
    return fail(bad_input(about(site, "limits.without_privacy"),
                          "is false, and the job protects labels alone: what is made of features leaves as it is",
                          job.name));
  // Who knows the seed can take the noise away again.
  if (job.seed && !site.limits.without_privacy)
    return fail(bad_input(about(site, "limits.without_privacy"),
                          "is false, and the job's noise comes from a seed that others know; "
                          "leave algorithm.seed out",
                          job.name));
  // Costs under the two relations are never added up: a job of the other one would have a whole budget of its
  // own.
  if (!is_charged) return {};
  if (job.privacy->neighbours != site.limits.neighbours)
    return fail(bad_input(about(site, "limits.neighbours"), "is not the job's",
                          std::string(privacy::name(job.privacy->neighbours))));
  // Nor are costs for two units.
  if (job.privacy->unit != site.limits.unit)
    return fail(
        bad_input(about(site, "limits.unit"), "is not the job's", std::string(privacy::name(job.privacy->unit))));
  return {};
}

// Labels of parties with columns or tables go to the coordinator as they are, with privacy and without, unless they leave
// with noise that is paid for. Parties that release nothing but together keep them.
Result<void> check_labels_leave(const jobs::Site& site, const jobs::Job& job, const catalog::PartyTable& table) {
  if (catalog::holding_of(job) == privacy::Holding::kJointReleases) return {};
  const bool leave = (table.aligned || !job.tables.empty()) && !job.labels.noise;
  if (table.train.labels.values.empty() || !leave || site.limits.public_labels) return {};
  return fail(bad_input(about(site, "limits.public_labels"),
                        "is false, and the job would send this site's labels as they are", job.name));
}

// What a private job takes to be public and this site may know better.
Result<void> check_public(const jobs::Site& site, const jobs::Job& job, const catalog::PartyTable& table) {
  if (table.train.labels.values.empty()) return {};
  // Which classes occur here would be said before the first round, also where they are a convention.
  if (glm::has_real_labels(job.objective.task) || !job.labels.classes.empty()) return {};
  for (const data::ColumnSchema& column : table.train.schema.columns)
    if (column.type == data::ColumnType::kLabel && column.confirmed && !column.levels.empty()) return {};
  return fail(bad_input(about(site, "data.schema"),
                        "which classes there are would be found in the data; list the label's levels, or the job's "
                        "labels.classes"));
}

// A table is read with the job's list of classes, and a label that the list leaves out is refused. So the list must be
// this site's own: by one of its choice a job could ask whether a single record has a label.
Result<void> check_classes(const jobs::Site& site, const jobs::Job& job, const data::Schema& schema,
                           const data::ColumnSchema* label) {
  const bool in_the_schema = !schema.columns.empty();  // LIBSVM tables have no label column
  const std::string& holder = job.labels.party.empty() ? job.parties.front().name : job.labels.party;
  if (glm::has_real_labels(job.objective.task) || (job.partition == jobs::Partition::kVertical && site.name != holder))
    return {};
  if (in_the_schema && (label == nullptr || job.labels.classes.empty())) return {};
  const char* key = in_the_schema ? "data.schema" : "data.classes";
  const auto names = [](const std::vector<std::string>& classes) {
    std::set<std::string> all;
    for (const std::string& one : classes) all.insert(data::class_name(one));
    return all;
  };
  const std::set<std::string> own = names(in_the_schema ? label->levels : site.classes),
                              asked = names(job.labels.classes);
  if (own.empty())
    return fail(bad_input(about(site, key),
                          "must list the classes of this site's labels: a private job reads them by no other list",
                          job.name));
  for (const std::string& one : own)
    if (!asked.contains(one))
      return fail(bad_input(about(site, key), "lists a class that the job's labels.classes leave out", one));
  for (const std::string& one : asked)
    if (!own.contains(one))
      return fail(bad_input(about(site, key), "leaves out a class that the job's labels.classes list", one));
  return {};
}

// Whether a table can be read must tell a private job nothing: which cells are refused is for this site's schema alone
// to say. Looks at the job and the schema, never at the data. What a schema itself refuses (a missing cell, an unknown
// level) is refused whatever the job says.
Result<void> check_reading(const jobs::Site& site, const jobs::Job& job, const jobs::PartySection& own) {
  const auto refuse = [&](const char* rule, const std::string& value) {
    return fail(bad_input(about(site, "data.schema"), rule, value));
  };
  if (site.schema.empty())
    return refuse("is missing: a private job reads a table by a schema of this site's", job.name);
  PARLEY_TRY(const data::Schema schema, data::read_schema(site.schema));
  const data::ColumnSchema* label = nullptr;
  for (const data::ColumnSchema& column : schema.columns)
    if (column.type == data::ColumnType::kLabel) label = &column;
  if (const data::ColumnSchema* named = schema.find(job.labels.column); named != nullptr && named != label)
    return refuse("does not call the job's labels.column a label", job.labels.column);
  PARLEY_CHECK(check_classes(site, job, schema, label));
  if (schema.columns.empty()) {
    if (!schema.features || !schema.first_index)
      return refuse("must state features and first_index: else they would be found in the data", job.name);
    if (job.data.features && *job.data.features != *schema.features)
      return refuse("states another number of features than the job", std::to_string(*job.data.features));
  }
  if (schema.out_of_bounds == data::OutOfBounds::kRefuse && (job.data.bound || job.data.label_bound))
    return refuse("refuses what is out of bounds, and the job has bounds of its own", job.name);
  if (job.privacy->neighbours == privacy::Neighbours::kAddRemove) {
    const auto stated = own.records ? own.records : job.privacy->records;
    if (!site.limits.records)
      return fail(bad_input(about(site, "limits.records"),
                            "is missing: a public number of records, which stands for theirs under add-remove"));
    if (stated != site.limits.records)
      return fail(bad_input(about(site, "limits.records"), "is not the number that the job states for this site",
                            stated ? std::to_string(*stated) : "none"));
  }
  return {};
}

std::string private_runs_in(const jobs::Site& site) {
  return (std::filesystem::path(site.state) / "private-runs").string();
}

// Opens the site's own ledger and gate, whatever the job says about them.
Result<void> open_private(const jobs::Site& site, jobs::Job job, const rounds::Opening& opening, Member& member) {
  PARLEY_CHECK(check_public(site, job, member.table));
  PARLEY_CHECK(check_ledger(site));
  job.privacy->ledger = site.ledger;
  PARLEY_TRY(PaidRun run, paid_run(job, opening));
  run.cap = PaidRun::Cap::kOfSite;
  run.budget = site.limits.budget;
  run.seen = privacy::head_file_in(site.state);
  std::error_code unknown;
  std::filesystem::create_directories(site.state, unknown);  // writing says what is wrong
  return open_site(job, catalog::objective_of(job, member.table.train.labels.classes), member, run);
}

std::string standing(PrivateSite& site) {
  const auto report = site.report();
  if (!report) return report.error().message;
  return fmt::format("epsilon {} of {} and delta {} of {} are spent on '{}' in all, epsilon {:.4g} is left",
                     privacy::rounded_up(report->spent_epsilon, 4), report->budget.epsilon.value(),
                     privacy::rounded_up(report->spent_delta, 3), report->budget.delta.value(),
                     printable(site.purse().data_set),
                     std::max(0.0, report->budget.epsilon.value() - report->spent_epsilon));
}

// A party of a private run whose site writes the charge down when it is made: with the first task that draws, before
// the answer is kept.
class ToldWhenCharged final : public rounds::Responder {
 public:
  ToldWhenCharged(std::unique_ptr<rounds::Responder> party, std::shared_ptr<PrivateSite> site, Tell tell)
      : party_(std::move(party)),
        site_(std::move(site)),
        tell_(std::move(tell)),
        told_(site_->gate().progress().plans > 0) {}

  rounds::Answered answer(const wire::Header& request, std::string_view task) override {
    rounds::Answered answered = party_->answer(request, task);
    const auto& receipts = site_->gate().receipts();
    if (!told_ && !receipts.empty()) {
      const privacy::PlanReceipt& charge = receipts.front();
      tell_(fmt::format("is charged epsilon {} and delta {}, entry {} of the ledger; {}",
                        privacy::rounded_up(charge.epsilon, 4), privacy::rounded_up(charge.delta, 3), charge.entry,
                        standing(*site_)));
      told_ = true;
    }
    return answered;
  }
  [[nodiscard]] wire::Bytes memory() const override { return party_->memory(); }
  Result<void> restore(std::string_view memory) override { return party_->restore(memory); }
  [[nodiscard]] const std::string& last_error() const override { return party_->last_error(); }
  [[nodiscard]] Responder& itself() override { return party_->itself(); }

 private:
  std::unique_ptr<rounds::Responder> party_;
  std::shared_ptr<PrivateSite> site_;
  Tell tell_;
  bool told_;
};

// The account of what a private run costs: when it is admitted, and when it is charged.
void account_for(const std::shared_ptr<PrivateSite>& site, const Tell& tell, rounds::Admission& admission) {
  const Quote& expected = site->quote();
  std::int64_t draws = 0;
  for (const privacy::Event& event : expected.plan.events) draws += event.count;
  tell(fmt::format("is private: at most {} noisy values or vectors for epsilon {} and delta {}{}; {}",
                   with_commas(draws), privacy::rounded_up(expected.epsilon, 4), privacy::rounded_up(expected.delta, 3),
                   site->gate().claims_valid() ? "" : " (from a seed: nothing is claimed)", standing(*site)));
  admission.party = std::make_unique<ToldWhenCharged>(std::move(admission.party), site, tell);
}

// "ward=surgery" comes from the column "ward".
bool made_from(const std::string& column, const std::string& name) {
  return column == name || column.starts_with(name + "=");
}

Result<void> check_table(const jobs::Site& site, const jobs::Job& job, const catalog::PartyTable& table) {
  // Under add-remove the public number stands for n: whether a job is admitted must not tell how many records there
  // are.
  const bool hidden = job.privacy && job.privacy->neighbours == privacy::Neighbours::kAddRemove;
  const std::int64_t records = hidden ? site.limits.records.value_or(0) : static_cast<std::int64_t>(table.train.rows());
  if (records < site.limits.minimum_records)
    return fail(bad_input(about(site, "limits.minimum_records"), "is more than the table has for this job",
                          counted(records, "record")));
  std::vector<std::string> used = table.train.columns.list();
  // The label, and the ids, which a job can ask for by name; and the keys that it joins by.
  for (const data::ColumnSchema& column : table.train.schema.columns)
    if (column.type == data::ColumnType::kLabel || column.type == data::ColumnType::kId ||
        column.type == data::ColumnType::kWeight)
      used.push_back(column.name);
  for (const data::KeyText& key : table.train.keys) used.push_back(key.column());
  for (const std::string& column : used)
    for (const std::string& name : site.limits.never)
      if (made_from(column, name))
        return fail(bad_input(about(site, "limits.never"),
                              "names a column that the job would use; give it type = \"ignore\" in the schema", name));
  return {};
}

// What stays at the site when the run is over: its part of the model, if the parts stay with the parties.
void keep_part(const jobs::Site& site, const jobs::Job& job, const Member& member, const wire::RunId& run,
               const rounds::Responder& party, const Tell& tell) {
  const wire::Bytes memory = party.memory();
  const jobs::Introduction introduction = introduce(member);
  auto parts = catalog::federation_of(job)->model(job, {{&introduction, 1}, {}, {&memory, 1}});
  if (!parts) return tell("leaves no part of the model here: " + parts.error().message);
  if (parts->empty()) return;
  const std::filesystem::path folder = part_in(site.state, run);
  parts->front().provenance.run = wire::hex(run);
  if (member.site)
    if (const auto report = member.site->report()) stamp(*report, parts->front().provenance);
  if (!member.site && job.privacy) parts->front().provenance.privacy = kLabelsElsewhere;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (const auto saved = models::save(parts->front(), folder.string()); !saved)
    return tell("leaves no part of the model here: " + saved.error().message);
  tell("leaves this site's part of the model in " + (folder / "model.json").string());
}

// What keys leave under, another one in each run.
Result<data::FederationSecret> secret_of(const jobs::Site& site, const rounds::Opening& opening) {
  if (site.federation_secret.empty())
    return fail(bad_input(about(site, "site.federation_secret"),
                          "is missing: the job joins tables, and keys leave a site hashed under it or not at all"));
  PARLEY_TRY(const data::FederationSecret secret, data::FederationSecret::read(site.federation_secret));
  return secret.of_run(wire::hex(opening.run));
}

// For its owner alone: it tells which of the site's records others have too.
void keep_order(const jobs::Site& site, const data::RecordIds& ids, const wire::RunId& run,
                const rounds::Responder& party, const Tell& tell) {
  const wire::Bytes memory = party.memory();
  const auto known = wire::decode<algorithms::Alignment::Memory>(memory, wire::Numbers::kAny);
  const auto order = known ? algorithms::order_of(*known, ids) : std::nullopt;
  if (!order) return tell("leaves no order of rows here");
  const fs::path path = fs::path(site.state) / "orders" / (wire::hex(run) + ".order");
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  fs::permissions(path.parent_path(), fs::perms::owner_all, error);
  if (const auto written = write_atomically(path.string(), data::to_text(*order)); !written)
    return tell("leaves no order of rows here: " + written.error().message);
  tell(fmt::format(
      "leaves the order of {} of this site's rows in {}: data.order for jobs with secure.align = \"orders\"",
      with_commas(static_cast<long long>(order->rows.size())), path.string()));
}

// A job that trains nothing: the parties find the records that they have in common.
Result<rounds::Admission> admit_alignment(const jobs::Site& site, const jobs::Job& job, const rounds::Opening& opening,
                                          const Tell& tell) {
  using algorithms::Alignment;
  const std::optional<int> number = number_of(site, job);
  if (!number) return fail(bad_input({job.file, 0, "party"}, "does not name this site", site.name));
  if (!site.limits.alignment)
    return fail(bad_input(about(site, "limits.alignment"),
                          "is false, and the job would tell others which of their records are here too", job.name));
  PARLEY_CHECK(catalog::check_alignable(job));
  for (const std::string& column : job.secure.ids)
    for (const std::string& name : site.limits.never)
      if (column == name) return fail(bad_input(about(site, "limits.never"), "names a column of secure.ids", name));
  jobs::Job own = job;
  own.parties[static_cast<std::size_t>(*number)] = {site.name, site.data, site.schema, "", {}, ""};
  PARLEY_TRY(const SameTable same, SameTable::of(site.data, site.schema));
  PARLEY_CHECK(same.as_in(opening));
  PARLEY_TRY(data::RecordIds read,
             catalog::ids_of(own, *number, catalog::files_of(own.parties[static_cast<std::size_t>(*number)])));
  PARLEY_CHECK(same.still());
  const auto ids = std::make_shared<const data::RecordIds>(std::move(read));
  if (static_cast<std::int64_t>(ids->ids.size()) < site.limits.minimum_records)
    return fail(bad_input(about(site, "limits.minimum_records"), "is more than the table has ids"));
  rounds::Admission admission;
  admission.party = std::make_unique<rounds::AlgorithmParty<Alignment>>(
      Alignment(static_cast<int>(job.parties.size()), catalog::mode_of(*job.secure.find)),
      Alignment::Data{ids.get(), *number}, rounds::without_privacy(privacy::Unprotected{}));
  admission.rounds = Alignment::kDone;
  admission.data = same.digest();
  admission.at_close = [site, ids, tell, run = opening.run](const rounds::Responder& party) {
    keep_order(site, *ids, run, party, tell);
  };
  tell(fmt::format("is an alignment: {} ids, {} changed by the rule, {} without one, {} repeated; no claim covers it",
                   ids->ids.size(), ids->changed, ids->missing, ids->repeated));
  return admission;
}

}  // namespace

std::string part_in(const std::string& state, const wire::RunId& run) {
  return (std::filesystem::path(state) / "models" / wire::hex(run)).string();
}

Result<void> check_ledger(const jobs::Site& site) {
  PARLEY_TRY(const bool there, privacy::holds_database(site.ledger));
  std::error_code unknown;
  const std::string seen = privacy::head_file_in(site.state);
  const bool was_seen = std::filesystem::exists(seen, unknown);
  if (there && was_seen) PARLEY_CHECK(privacy::Ledger::open_read_only(site.ledger, seen));
  if (there || (!was_seen && !std::filesystem::exists(private_runs_in(site), unknown) &&
                !rounds::knows_private_runs(site.state)))
    return {};
  return fail(bad_input(about(site, "site.ledger"),
                        "is not there, and private runs of this state folder were charged to it: bring it back, or "
                        "begin another one with "
                        "parley ledger budget and remove ledger.head from the state folder",
                        site.ledger));
}

Result<void> remember_private_runs(const jobs::Site& site) {
  std::error_code unknown;
  if (std::filesystem::exists(private_runs_in(site), unknown)) return {};
  std::filesystem::create_directories(site.state, unknown);  // writing says what is wrong
  return write_atomically(
      private_runs_in(site),
      "Private runs were admitted with this state folder. While this file is here a site whose ledger is gone does\n"
      "not start, because a new one would forget what was spent.\n");
}

Result<PaidRun> paid_run(const jobs::Job& job, const rounds::Opening& opening) {
  PaidRun run;
  run.name = fmt::format("{}-{}-{}", printable(job.name), wire::hex(opening.run),
                         privacy::digest_of(opening.job).substr(0, 16));
  if (opening.resumed) {
    run.kept.emplace();
    if (!opening.drawn.empty()) PARLEY_CHECK(wire::decode_to(*run.kept, opening.drawn));
  }
  return run;
}

Result<rounds::Admission> admit(const jobs::Site& site, const rounds::Opening& opening, const Tell& tell) {
  PARLEY_TRY(const jobs::JobText text, wire::decode<jobs::JobText>(opening.job));
  PARLEY_TRY(jobs::Job job, catalog::parse_job(text, jobs::Paths::kAtSites));
  const catalog::Federation* federation = catalog::federation_of(job);
  if (federation == nullptr)
    return fail(bad_input({text.file, 0, "algorithm.name"}, "is not for several parties", job.algorithm));
  if (job.secure.find) return admit_alignment(site, job, opening, tell);
  std::vector<std::string> names;
  for (const jobs::PartySection& party : job.parties) names.push_back(printable(party.name));
  tell(fmt::format("is '{}': {} by {}, of {}, asked for by the coordinator at {}{}", printable(job.name),
                   glm::name(job.objective.task), job.algorithm, fmt::join(names, ", "), site.coordinator,
                   !job.privacy             ? "; no privacy: what leaves is not protected"
                   : !protects_records(job) ? "; labels alone are protected: whatever else leaves is not"
                                            : ""));
  PARLEY_CHECK(catalog::check_federated(job));
  const std::optional<int> named = number_of(site, job);
  if (!named) return fail(bad_input({text.file, 0, "party"}, "does not name this site", site.name));
  const int number = *named;
  const bool is_charged = jobs::pays(job, number);
  PARLEY_CHECK(check_limits(site, job, is_charged));
  PARLEY_TRY(std::shared_ptr<const secure::Peers> peers, peers_of(site, job, number));
  if (peers != nullptr && peers->pinned()) tell("has keys of pinned peers alone");
  const auto own = job.parties.begin() + number;
  // Whatever the job says about files, the site reads its own.
  *own = {site.name, site.data, site.schema, "", own->records, site.order};
  if (is_charged) PARLEY_CHECK(check_reading(site, job, *own));
  PARLEY_TRY(const SameTable same, SameTable::of(site.data, site.schema, site.order));
  PARLEY_CHECK(same.as_in(opening));
  if (job.secure.align == jobs::SecureSection::Align::kOrders && site.order.empty())
    return fail(bad_input(about(site, "data.order"),
                          "is missing: the job takes the tables in orders that parley align made", job.name));
  catalog::PartySource source = catalog::files_of(*own);
  if (!job.tables.empty()) {
    PARLEY_TRY(source.secret, secret_of(site, opening));
  }
  PARLEY_TRY(std::vector<catalog::PartyTable> tables, federation->read(job, {&number, 1}, {std::move(source)}));
  PARLEY_CHECK(same.still());
  const auto member = std::make_shared<Member>(Member{std::move(tables.front())});
  PARLEY_CHECK(check_table(site, job, member->table));
  PARLEY_CHECK(check_labels_leave(site, job, member->table));
  member->table.run = wire::hex(opening.run) + "-" + privacy::digest_of(opening.job);
  member->table.peers = std::move(peers);
  member->ids_are_public = !protects_records(job) || site.limits.public_ids;
  if (is_charged) PARLEY_CHECK(open_private(site, job, opening, *member));
  PARLEY_TRY(rounds::Admission admission, admission_of(job, *member));
  admission.data = same.digest();
  if (member->site) {
    PARLEY_CHECK(remember_private_runs(site));
    account_for(member->site, tell, admission);
  }
  // Holds the table for as long as the party reads it.
  admission.at_close = [site, job, member, tell, run = opening.run](const rounds::Responder& party) {
    keep_part(site, job, *member, run, party, tell);
    if (member->site) tell("ends; " + standing(*member->site));
  };
  return admission;
}

}  // namespace parley::runs
