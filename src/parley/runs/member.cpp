#include "parley/runs/member.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "parley/algorithms/vertical/label_release.h"
#include "parley/catalog/federation.h"
#include "parley/catalog/method.h"

namespace parley::runs {

namespace {

// Of the ids and their ends, by FNV-1a; never 0 where there are ids.
std::int64_t digest(const std::vector<std::string>& ids) {
  if (ids.empty()) return 0;
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&](char c) { hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3; };
  for (const std::string& id : ids) {
    for (const char c : id) add(c);
    add('\0');
  }
  return static_cast<std::int64_t>(hash | 1);
}

// Of everything that the party trains on; never 0. A table has millions of numbers, so each is one step, and every step
// is a bijection of what came before.
std::int64_t digest(const data::Dataset& table) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
  std::uint64_t hash = kOdd;
  const auto add = [&](std::uint64_t word) {
    hash = (hash ^ word) * kOdd;
    hash ^= hash >> 32;
  };
  add(table.rows());
  for (linalg::Index j = 0; j < table.features.cols(); ++j)
    table.features.for_each_in_column(j, [&](linalg::Index row, double value) {
      if (value == 0) return;  // stored or not
      const std::uint64_t place = (static_cast<std::uint64_t>(j) << 32) + static_cast<std::uint64_t>(row) + 1;
      add(std::bit_cast<std::uint64_t>(value) ^ (place * kOdd));
    });
  for (const double label : table.labels.values) add(std::bit_cast<std::uint64_t>(label));
  add(static_cast<std::uint64_t>(digest(table.ids)));
  for (const data::KeyText& key : table.keys) {
    std::vector<std::string> texts;
    for (std::size_t row = 0; row < key.size(); ++row)
      texts.push_back(key.missing(row) ? std::string(1, '\0') : std::string(key[row]));
    add(static_cast<std::uint64_t>(digest(texts)));
  }
  return static_cast<std::int64_t>(hash | 1);
}

// Of a column that is left out, its name alone: readers of other tables need that to leave it out too.
data::Schema used(data::Schema schema) {
  for (data::ColumnSchema& column : schema.columns)
    if (column.type == data::ColumnType::kIgnore)
      column = {.name = column.name, .type = column.type, .confirmed = column.confirmed};
  return schema;
}

}  // namespace

// A site knows of itself alone; in a simulation from a seed the parties' noise must differ all the same.
std::optional<std::int64_t> noise_seed(const jobs::Job& job, int party) {
  if (!job.seed) return std::nullopt;
  return *job.seed + 1000003LL * party;
}

namespace {

// The job as one party has it.
Result<jobs::Job> own_job(const jobs::Job& job, int party) {
  PARLEY_CHECK(catalog::check_federated(job));
  jobs::Job own = job;
  own.parties = {job.parties[static_cast<std::size_t>(party)]};
  own.seed = noise_seed(job, party);
  // How many records a client has is as private as they are: what is public is how many clients there are.
  if (job.privacy->unit == privacy::Unit::kClient) own.privacy->records = static_cast<std::int64_t>(job.parties.size());
  return own;
}

// The party's features and labels become those that its site lets go.
Result<void> seat(const jobs::Job& job, const glm::Objective& objective, Member& member) {
  catalog::PartyTable& table = member.table;
  if (protects_records(job)) {
    table.features = member.site->features();
    table.terms = {member.site, &member.site->terms()};
  }
  if (!job.labels.noise || table.train.labels.values.empty()) return {};
  algorithms::LabelRelease::Rule rule{.noise = *job.labels.noise,
                                      .task = objective.task,
                                      .label_bound = member.site->facts().label_bound,
                                      .unit = job.privacy->unit};
  if (!protects_records(job)) rule.alone = member.site->terms().target.delta;
  PARLEY_TRY(table.noisy_labels, algorithms::LabelRelease::make(table.train.labels.values, rule));
  return {};
}

}  // namespace

Result<void> open_site(const jobs::Job& job, const glm::Objective& objective, Member& member, const PaidRun& run) {
  PARLEY_TRY(const jobs::Job own, own_job(job, member.table.number));
  PARLEY_TRY(member.site, PrivateSite::open(own, member.table.train, member.table.features, objective,
                                            PrivateSite::Purpose::kTraining, run));
  return seat(job, objective, member);
}

Result<void> open_rehearsal(const jobs::Job& job, const glm::Objective& objective, Member& member) {
  PARLEY_TRY(const jobs::Job own, own_job(job, member.table.number));
  PARLEY_TRY(member.site, PrivateSite::open(own, member.table.train, member.table.features, objective,
                                            PrivateSite::Purpose::kRehearsal));
  return seat(job, objective, member);
}

jobs::Introduction introduce(const Member& member) {
  const catalog::PartyTable& table = member.table;
  const PrivateSite* site = member.site.get();
  const data::Dataset& train = table.train;
  jobs::Introduction said;
  said.party = table.party;
  said.rows = static_cast<std::int64_t>(site != nullptr ? site->facts().records : train.rows());
  if (site != nullptr && site->purse().unit == privacy::Unit::kClient) said.rows = 0;
  // Who the records are about is said only where the parties must have the same.
  if (table.aligned && member.ids_are_public) said.alignment = digest(train.ids);
  if (!table.aligned && site == nullptr) said.alignment = digest(train);
  const bool features_are_private = site != nullptr && site->purse().unit != privacy::Unit::kLabel;
  if (features_are_private)
    said.row_norm = site->facts().row_bound;  // public
  else
    for (const double squares : table.features.row_squared_norms())
      said.row_norm = std::max(said.row_norm, std::sqrt(squares));
  said.column_count = static_cast<int>(train.columns.size());
  if (const auto first = catalog::first_number(train.columns))
    said.first_number = *first;
  else
    said.columns = train.columns.list();
  for (const double bound : train.bounds) said.bounds.push_back(std::isfinite(bound) ? bound : 0.0);
  said.scales = table.scaling.scales;
  said.centers = table.scaling.centers;
  said.labels = !train.labels.values.empty();
  said.classes = train.labels.classes;
  said.schema = data::to_toml(used(train.schema));
  said.pins_peers = table.peers != nullptr && table.peers->pinned();
  if (site != nullptr) {
    const Quote& quote = site->quote();
    said.plan = privacy::to_json(quote.plan);
    said.epsilon = quote.epsilon;
    said.delta = quote.delta;
    said.derivative_bound = site->terms().derivative_bound;
  }
  return said;
}

namespace {

rounds::GateOfRound gate_of(const Member& member) {
  if (!member.site) return rounds::without_privacy(privacy::Unprotected{});
  return [site = member.site](std::int64_t round) -> Result<privacy::Gate*> {
    PARLEY_CHECK(site->gate().begin_round(round));
    return &site->gate();
  };
}

}  // namespace

Result<rounds::Admission> admission_of(const jobs::Job& job, const Member& member) {
  const catalog::Federation& federation = *catalog::federation_of(job);
  PARLEY_TRY(std::unique_ptr<rounds::Responder> party, federation.responder(job, member.table, gate_of(member)));
  rounds::Admission admission;
  admission.party = std::move(party);
  // Of a private run its gate counts what it draws.
  if (!protects_records(job)) admission.rounds = federation.rounds(job);
  if (const auto& site = member.site) {
    PARLEY_CHECK(site->expect([&](privacy::Gate& gate) { return federation.reserve(job, member.table, gate); }));
    admission.drawn = [site] { return wire::encode(site->gate().progress()); };
    admission.leaving = [site](std::int64_t round, std::string_view answer) { return site->leaving(round, answer); };
  }
  admission.introduction = wire::encode(introduce(member));
  return admission;
}

}  // namespace parley::runs
