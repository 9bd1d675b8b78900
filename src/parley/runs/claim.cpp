#include "parley/runs/claim.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "parley/core/text.h"
#include "parley/privacy/accounting/statement.h"

namespace parley::runs {

namespace {

// Noise above this share of the largest possible signal is worth a warning.
constexpr double kLoud = 0.5;

}  // namespace

Covered covered_by(const jobs::Job& job) {
  return job.keep_parts ? Covered::kMessages : Covered::kModel;
}

std::string against_whom(const PrivacyReport& report) {
  if (report.unit == privacy::Unit::kClient)
    return report.pinned ? "the coordinator, together with one other client"
                         : "a coordinator that hands on keys as they are, together with one other client";
  return std::string(privacy::name(report.against));
}

// privacy/masking/masked_descent.md, "Whom this trusts".
std::vector<std::string> assumptions_of(const PrivacyReport& report) {
  if (report.holding != privacy::Holding::kJointReleases) return {};
  return {
      "that the parties and the dealer are semi-honest: they look at whatever they get and do what the protocol says, "
      "each party's own clip of rows and margins and its own noise included",
      "that the dealer, who is the coordinator, pools what it knows with no party: together with one that holds "
      "another's masked columns it reads those columns",
      report.pinned ? "the identities of the parties, which their sites pin"
                    : "that whoever hands on the parties' keys hands them on as they are",
      "that AES-256, SHA-256, X25519 and Ed25519 are not broken"};
}

void stamp(const PrivacyReport& report, models::Provenance& provenance) {
  provenance.privacy = report.statement;
  provenance.claimed = report.claimed;
  provenance.covered = report.claimed && report.covered == Covered::kModel;
}

std::string statement_of(const PrivacyReport& report, std::optional<std::int64_t> seed) {
  std::string text =
      fmt::format("(epsilon {}, delta {}) differential privacy for one {}, {} neighbours, against {}. {}",
                  privacy::rounded_up(report.epsilon, 4), privacy::rounded_up(report.delta, 3),
                  report.unit_in_full.empty() ? privacy::name(report.unit) : std::string_view(report.unit_in_full),
                  privacy::name(report.neighbours), against_whom(report),
                  privacy::in_words(report.epsilon, report.delta, report.neighbours, report.unit));
  if (report.neighbours == privacy::Neighbours::kAddRemove)
    text +=
        " How many records there are is covered too: the number that the job states stands for it, and tables of up to "
        "four times as many "
        "are meant.";
  if (!report.unit_in_full.empty()) {
    text +=
        " It covers the features and labels of all rows of the join that the " +
        std::string(privacy::name(report.unit)) +
        " is in. Keys are taken as public: which rows join, and how many. Nothing is claimed for a tuple of another "
        "table, which may be in rows of many.";
    if (report.most_rows)
      text += fmt::format(" At most {} of the rows of each are used.", with_commas(*report.most_rows));
  }
  if (report.unit == privacy::Unit::kClient)
    text +=
        " It holds against the coordinator and any one other client together, computationally: parts of a sum are "
        "masked. It trusts the "
        "clients to add their noise" +
        std::string(report.pinned
                        ? "; their keys are signed by identities that the sites pin, so whoever hands them on "
                          "need not be trusted."
                        : ", and the coordinator to hand on their keys as they are.");
  if (report.calibration == privacy::Calibration::kPaper)
    text += " The noise follows the paper's formula; the numbers here are what is proved of it.";
  const bool model = report.covered == Covered::kModel;
  const bool labels_alone = report.unit == privacy::Unit::kLabel;
  if (labels_alone)
    text +=
        " Features are not protected: whatever is made of them leaves as it is. A label that follows from its record's "
        "features is not hidden by this.";
  else if (report.holding == privacy::Holding::kJointReleases)
    text +=
        " Each party has a part of every record. What is released is a sum over whole records, made by all parties "
        "together, and each of them charges all of it.";
  else if (report.holding == privacy::Holding::kSameRecords)
    text +=
        " Each party has a part of every record and charges for its own part; the costs of the parties of a record add "
        "up.";
  if (report.found_in_common)
    text +=
        " Which records the parties have in common was found by private set intersection before the run and told to "
        "them "
        "as it is: that is outside this claim.";
  text += !model ? " What a party sends is covered, and whatever the others make of it. " + std::string(kPartNotCovered)
          : labels_alone ? " The model is covered: it is made of the labels that were released and of features."
          : report.holding != privacy::Holding::kDisjointRecords
              ? " The model is covered: it is made of what the parties released."
              : " The model is covered.";
  for (const std::string& assumed : assumptions_of(report)) text += " It assumes " + assumed + ".";
  text += " Objective, metrics, notes and times are computed from the data itself and are for its holder only.";
  if (report.claimed) return text;
  return fmt::format(
             "Simulation, no privacy is claimed: the noise came from seed {} and can be repeated. With noise from the "
             "operating system {} would have ",
             seed.value_or(0), model ? "the model" : "what is sent") +
         text;
}

void note_loudest_noise(PrivacyReport& report, const privacy::Plan& plan, double epsilon, std::size_t records) {
  const char* many = report.unit == privacy::Unit::kClient ? "clients" : "records";
  for (const privacy::Event& event : plan.events)
    report.noise_to_signal =
        std::max(report.noise_to_signal, noise_to_signal(event.mechanism, records, report.neighbours));
  if (report.noise_to_signal > kLoud)
    report.notes.push_back(fmt::format(
        "epsilon {} is small for {} {}: the noise of a release is {:.2g} times the largest signal that any data "
        "could have; expect a model that says little",
        epsilon, with_commas(static_cast<long long>(records)), many, report.noise_to_signal));
}

double noise_to_signal(const privacy::Mechanism& mechanism, std::size_t records, privacy::Neighbours neighbours) {
  // The largest signal is what n records contribute together, in sensitivities.
  const double signal = static_cast<double>(records) / (neighbours == privacy::Neighbours::kReplaceOne ? 2 : 1);
  if (const auto* selection = std::get_if<privacy::Exponential>(&mechanism)) return 2 / selection->epsilon / signal;
  if (const auto* selection = std::get_if<privacy::Pure>(&mechanism)) return 2 / selection->epsilon / signal;
  if (const auto* value = std::get_if<privacy::Gaussian>(&mechanism)) return value->sigma / value->sensitivity / signal;
  if (const auto* value = std::get_if<privacy::DiscreteGaussian>(&mechanism))
    return value->sigma / value->sensitivity / signal;
  if (const auto* value = std::get_if<privacy::DiscreteLaplace>(&mechanism))
    return std::sqrt(2.0) * value->scale / value->sensitivity / signal;
  if (const auto* batch = std::get_if<privacy::SubsampledGaussian>(&mechanism))
    return batch->noise_multiplier / (batch->sampling_rate * static_cast<double>(records));
  return 0;
}

}  // namespace parley::runs
