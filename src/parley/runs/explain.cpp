#include "parley/runs/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "parley/algorithms/parts/leaving.h"
#include "parley/catalog/catalog.h"
#include "parley/catalog/federation.h"
#include "parley/catalog/method.h"
#include "parley/core/text.h"

namespace parley::runs {

namespace {

using algorithms::Leaving;

std::string_view of_whom(Leaving::Of of) {
  switch (of) {
    case Leaving::Of::kPublic:
      return "about nobody";
    case Leaving::Of::kTotal:
      return "in total, of all people together";
    case Leaving::Of::kPerson:
      return "PER PERSON";
  }
  return "";
}

// Before the first round (jobs/introduction.h).
std::vector<Leaving> introductions(const jobs::Job& job, const std::optional<jobs::Site>& site) {
  const bool rows = job.partition == jobs::Partition::kHorizontal;
  const bool client = job.privacy && job.privacy->unit == privacy::Unit::kClient;
  const bool protects = jobs::protects_records(job);
  const char* const to = "the coordinator";
  const char* const once = "once, before the first round";
  std::vector<Leaving> said{
      {"the party's name, and the names, public bounds and scales of the columns that the job uses",
       Leaving::Of::kPublic, to, once, "none is needed: they come from the schema, not the data"}};
  if (!client)
    said.push_back(
        {jobs::hides_count(job) ? "the public number that stands for the number of records" : "the number of records",
         jobs::hides_count(job) ? Leaving::Of::kPublic : Leaving::Of::kTotal, to, once,
         jobs::hides_count(job) ? "the true number does not leave" : algorithms::kUnprotected});
  said.push_back({protects ? "a public bound of the norm of a row" : "the largest norm of a row",
                  protects ? Leaving::Of::kPublic : Leaving::Of::kPerson, to, once,
                  protects ? "none is needed: it follows from the schema" : algorithms::kUnprotected});
  if (job.objective.task != glm::Task::kLinear)
    said.push_back(
        {"the names of the classes, from whoever holds labels", Leaving::Of::kTotal, to, once,
         job.privacy ? "they are the job's or the schema's, not what occurs in the data" : algorithms::kUnprotected});
  const bool ids = job.partition == jobs::Partition::kVertical && (!protects || (site && site->limits.public_ids));
  if (ids)
    said.push_back({"a digest of all record ids in their order, which confirms a guess of all of them",
                    Leaving::Of::kTotal, to, once, algorithms::kUnprotected});
  if (rows && !job.privacy)
    said.push_back({"a digest of the table, which shows whether two parties have the same one", Leaving::Of::kTotal, to,
                    once, algorithms::kUnprotected});
  return said;
}

std::string in_words(const Leaving& leaving) {
  return fmt::format("- {}\n    {}; {}\n    read by: {}\n    protection: {}\n", leaving.what, of_whom(leaving.of),
                     leaving.when, leaving.to, leaving.protection);
}

std::string heading(const std::string& text) {
  return "\n" + text + "\n" + std::string(text.size(), '-') + "\n";
}

// What it costs the people of this site, and against what.
std::string cost(const jobs::Job& job, const std::optional<jobs::Site>& site) {
  if (!job.privacy)
    return "The job has no [privacy] section. Nothing is claimed: whoever gets what leaves may find out about single "
           "people, and so may whoever gets the model.\n";
  const jobs::PrivacySection& privacy = *job.privacy;
  std::string text = fmt::format(
      "At most epsilon {}{} of differential privacy for one {} ({}), charged to the site's own ledger before anything "
      "is "
      "drawn. Charges add up over jobs and are never given back.\n",
      privacy.epsilon, privacy.delta ? fmt::format(" and delta {}", *privacy.delta) : " and delta 1/n²",
      privacy::name(privacy.unit), privacy::name(privacy.neighbours));
  if (privacy.unit == privacy::Unit::kClient) text += "One client is this site's whole table.\n";
  if (privacy.unit == privacy::Unit::kLabel)
    text += "Labels alone are protected; what is made of features leaves as it is.\n";
  if (job.seed)
    text += "The job fixes algorithm.seed: whoever knows it can take the noise away, so nothing is claimed.\n";
  if (site && site->limits.budget)
    text += fmt::format("This site allows epsilon {} and delta {} over all jobs there will ever be.\n",
                        site->limits.budget->epsilon.value(), site->limits.budget->delta.value());
  return text;
}

std::string of_peers(const std::optional<jobs::Site>& site) {
  if (!site) return "";
  if (site->peers.empty())
    return "This site pins no other site ([[peer]]): where quantities leave under masks, the coordinator is trusted to "
           "hand "
           "on the parties' keys as they are.\n";
  std::string names;
  for (const secure::Pin& pin : site->peers) names += (names.empty() ? "" : ", ") + pin.name;
  return "This site pins " + names +
         ": keys of masks are taken from them alone, and whoever hands the keys on need not be trusted with that.\n";
}

std::string afterwards(const jobs::Job& job) {
  const std::string covered = jobs::protects_records(job)
                                  ? job.keep_parts ? "The parts that stay are not covered by the claim.\n"
                                                   : "The model is covered by the claim.\n"
                                  : "The model is not protected: its weights are made of the data.\n";
  switch (job.partition) {
    case jobs::Partition::kSingle:
      return "model.json and result.json are written where the command is run. Whoever runs it decides who gets "
             "them.\n" +
             covered;
    case jobs::Partition::kHorizontal:
      return "The coordinator holds the model, one for all parties.\n" + covered;
    case jobs::Partition::kVertical:
    case jobs::Partition::kRelational:
      return "Each party keeps its own part of the model in its state folder.\n" + covered;
  }
  return covered;
}

}  // namespace

std::string explain(const jobs::Job& job, const std::optional<jobs::Site>& site) {
  const catalog::Row& row = catalog::method_of(job).row();
  const catalog::Federation* federation = catalog::federation_of(job);
  std::string page =
      fmt::format("What leaves {} in the job '{}'\n", site ? "'" + site->name + "'" : "a site", job.name);
  page += std::string(page.size() - 1, '=') + "\n";
  std::vector<std::string> others;
  for (const jobs::PartySection& party : job.parties)
    if (!site || party.name != site->name) others.push_back(party.name);
  page += fmt::format("It learns a {} model by {} ({}: {}).\n", glm::name(job.objective.task), row.name, row.source,
                      row.summary);
  if (federation != nullptr)
    page += fmt::format("{}: {}.\n", site ? "The other parties" : "The parties", fmt::join(others, ", "));
  if (site && federation != nullptr && others.size() == job.parties.size())
    page += "THE JOB DOES NOT NAME THIS SITE.\n";
  page += heading("What leaves");
  if (federation == nullptr) {
    page += "Nothing: the table is read and the model made in one place.\n";
  } else {
    for (const Leaving& leaving : introductions(job, site)) page += in_words(leaving);
    for (const Leaving& leaving : federation->leaves(job)) page += in_words(leaving);
    if (job.privacy)
      page += in_words({"what the run will charge this party, as a list of noisy releases", Leaving::Of::kPublic,
                        "the coordinator", "once, before the first round", "none is needed: it follows from the job"});
  }
  page += heading("At what cost");
  page += cost(job, site);
  if (federation != nullptr) page += of_peers(site);
  page += heading("What there is afterwards");
  page += afterwards(job);
  page += heading("What stays");
  page +=
      "The rows of the table, the site's ledger, and the log of what was sent (jobs.log). Errors that the coordinator "
      "gets are codes without text.\n";
  return page;
}

}  // namespace parley::runs
