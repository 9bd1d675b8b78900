#include "parley/catalog/read_job.h"

#include <fmt/format.h>

#include <utility>

#include "parley/catalog/catalog.h"
#include "parley/catalog/federation.h"
#include "parley/core/text.h"
#include "parley/jobs/join_unit.h"
#include "parley/privacy/ledger/digest.h"

namespace parley::catalog {

namespace {

Result<std::shared_ptr<const jobs::Method>> read_method(Toml& section, const jobs::Job& job) {
  const Row* row = find(job.algorithm);
  if (row == nullptr)
    return fail(bad_input({job.file, 0, "algorithm.name"}, "unknown algorithm" + suggestion(job.algorithm, names()),
                          job.algorithm));
  auto method = std::make_shared<Method>(*row);
  const bool clients = job.privacy && job.privacy->unit == privacy::Unit::kClient;
  if (row->train) method->train = row->train(section);
  if (row->train_over_join) method->train_over_join = row->train_over_join(section);
  const bool may_leave = clients && job.rules.on_missing == rounds::OnMissing::kProceed;
  if (row->federate)
    method->federation = (may_leave && row->federate_leaving_clients ? row->federate_leaving_clients
                          : clients && row->federate_clients         ? row->federate_clients
                                                                     : row->federate)(section);
  return method;
}

template <class Able>
std::string listed(Able Row::*able, const char* between) {
  std::string all;
  for (const Row& row : rows())
    if (row.*able) all += (all.empty() ? "" : between) + row.name;
  return all;
}

// A trainer of one table would take the first one for all.
Result<jobs::Job> if_it_joins(Result<jobs::Job> job) {
  if (!job || job->tables.empty() || job->partition != jobs::Partition::kSingle || method_of(*job).train_over_join)
    return job;
  return fail(bad_input(
      {job->file, 0, "algorithm.name"},
      "trains on one table, and the job joins several; over joins there are: " + listed(&Row::train_over_join, ", "),
      job->algorithm));
}

// Which jobs align records, and from what.
Result<jobs::Job> if_it_aligns(Result<jobs::Job> job, jobs::Paths paths) {
  using Align = jobs::SecureSection::Align;
  if (!job || job->secure.align == Align::kGiven) return job;
  const auto refuse = [&](const char* key, const char* rule, const std::string& value) {
    return fail(bad_input({job->file, 0, key}, rule, value));
  };
  const bool here = paths == jobs::Paths::kHere;
  if (job->partition != jobs::Partition::kVertical)
    return refuse("secure.align", "is for parties that hold columns of the same records (partition = \"vertical\")",
                  std::string(jobs::name(job->partition)));
  if (job->secure.align == Align::kIds && !here)
    return refuse("secure.align", "is for tables in one process; between sites: parley align, then \"orders\"", "ids");
  for (const jobs::PartySection& party : job->parties) {
    if (job->secure.align == Align::kOrders && here && party.order.empty())
      return refuse("secure.align", "needs the order of every party's rows; this one has none", party.name);
    if (!party.test.empty())
      return refuse("party.test", "is not aligned by secure.align: take data.test_fraction", party.name);
  }
  return job;
}

}  // namespace

jobs::Partition Method::partition() const {
  return row_.partition;
}

bool Method::weighs_records() const {
  return row_.weighs_records;
}

void Method::check(Toml& toml, const jobs::Job& job) const {
  if (job.labels.noise && !row_.noisy_labels)
    toml.table("labels").reject(
        "privacy", fmt::format("only {} learn from labels that left with noise", listed(&Row::noisy_labels, ", ")));
  if (job.privacy && toml.has("privacy")) jobs::check_join_unit(toml, job);
  check_model(toml, job);
  if (!jobs::protects_records(job)) return;
  if (job.privacy->smoothness == privacy::Smoothness::kPrivate && !row_.private_smoothness)
    toml.table("privacy").reject("smoothness", fmt::format("only {} take steps by smoothness constants; use \"bounds\"",
                                                           listed(&Row::private_smoothness, " and ")));
  if (!row_.can_be_private)
    toml.reject("privacy",
                fmt::format("{} has no private form{}; these have: {}; without the [privacy] section the run "
                            "is not private and says so",
                            row_.name, row_.private_instead, listed(&Row::can_be_private, ", ")));
}

// Models that some algorithms learn, and that are not learnt privately.
void Method::check_model(Toml& toml, const jobs::Job& job) const {
  struct Wanted {
    bool asked, able;
    const char *section, *key, *what;
    bool Row::*by;
  };
  const bool alone = job.tables.empty();
  const Wanted all[] = {
      {job.objective.task == glm::Task::kPoisson, row_.counts && alone, "job", "task", "takes counts", &Row::counts},
      {jobs::weighs_classes(job), row_.weighs_records && alone, "labels", "weights", "weighs classes",
       &Row::weighs_records},
      {job.inference, row_.infers && alone, "model", "inference", "tells standard errors", &Row::infers}};
  for (const Wanted& wanted : all) {
    if (!wanted.asked) continue;
    if (job.privacy)
      toml.table(wanted.section)
          .reject(wanted.key, wanted.by == &Row::infers
                                  ? "is not available in a private run: intervals would have to hold the noise too"
                                  : "has no private form yet: nothing is proved about what it would release");
    else if (!wanted.able)
      toml.table(wanted.section)
          .reject(wanted.key, fmt::format("{} does not do this{}; what {}: {}", row_.name,
                                          alone ? "" : " over tables that join", wanted.what, listed(wanted.by, ", ")));
  }
}

const Method& method_of(const jobs::Job& job) {
  return static_cast<const Method&>(*job.method);
}

const Federation* federation_of(const jobs::Job& job) {
  return method_of(job).federation.get();
}

Result<jobs::Job> read_job(const std::string& path, const std::vector<std::string>& overrides) {
  return if_it_aligns(if_it_joins(jobs::read_job(path, overrides, read_method)), jobs::Paths::kHere);
}

Result<jobs::Job> parse_job(Toml toml, const std::string& path, jobs::Paths paths) {
  return if_it_aligns(if_it_joins(jobs::parse_job(std::move(toml), path, paths, read_method)), paths);
}

Result<jobs::Job> parse_job(const jobs::JobText& text, jobs::Paths paths) {
  PARLEY_TRY(Toml toml, Toml::parse(text.text, text.file));
  std::string whole = text.text;
  for (const std::string& assignment : text.overrides) {
    PARLEY_CHECK(toml.set(assignment));
    whole += "\n" + assignment;
  }
  PARLEY_TRY(jobs::Job job, parse_job(std::move(toml), text.file, paths));
  job.digest = privacy::digest_of(whole);  // as jobs::read_job has it
  return job;
}

Result<jobs::Site> read_site(const std::string& path) {
  return jobs::read_site(path, names());
}

}  // namespace parley::catalog
