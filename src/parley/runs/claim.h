// What a run may say about privacy: for one record, against whom, at which epsilon and delta, and of what.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "parley/jobs/job.h"
#include "parley/models/trained.h"
#include "parley/privacy/accounting/event.h"
#include "parley/privacy/ledger/across_parties.h"
#include "parley/privacy/ledger/charges.h"
#include "parley/privacy/units.h"

namespace parley::runs {

// What a claim is about: the model and every message that it was made of; or, where a job keeps exact parts of the
// model with their parties, what the parties send to each other.
inline constexpr const char* kPartNotCovered =
    "Its own part of the model is not covered: the job keeps parts (model.keep_parts), so the part stays with its "
    "party as it was computed "
    "from the data, for predictions that all parties make together and for nothing else.";
// Of the part of a party that holds none of the labels, where they are all that is protected.
inline constexpr const char* kLabelsElsewhere =
    "Nothing is claimed for this part: the run protects labels alone, which another party holds and released with "
    "noise. "
    "It is made of them and of this party's own columns, which are not protected.";
enum class Covered { kModel, kMessages };

// What a run may say about privacy.
struct PrivacyReport {
  bool claimed = false;  // false: the noise came from a seed
  double epsilon = 0;    // proved for what was charged
  double delta = 0;
  privacy::Unit unit = privacy::Unit::kRecord;
  privacy::Neighbours neighbours = privacy::Neighbours::kReplaceOne;
  privacy::Against against = privacy::Against::kEveryone;
  Covered covered = Covered::kModel;
  privacy::Holding holding = privacy::Holding::kDisjointRecords;
  bool pinned = false;     // the parties pin each other: nobody who hands keys on can put in its own
  std::string accountant;  // whose proof it is
  privacy::Calibration calibration = privacy::Calibration::kProved;
  std::int64_t releases = 0;
  std::size_t records = 0;       // the public number of units that noise, steps and means were made from
  bool found_in_common = false;  // which records the parties have was told by an alignment before
  double derivative_bound = 0;
  double noise_to_signal = 0;  // of the noisiest release, against the largest signal that any data could have
  privacy::Plan plan;
  std::string ledger;        // folder
  privacy::Budget budget;    // of the data set, over all runs
  double spent_epsilon = 0;  // of it, this run included
  double spent_delta = 0;
  std::string statement;                  // for people
  std::string unit_in_full;               // of a join: whose tuples, or which key
  std::optional<std::int64_t> most_rows;  // of a join: that a unit has
  std::vector<std::string> chosen;        // settings, by private tuning: released
  double run_epsilon = 0;                 // of each run of a search
  std::vector<std::string> notes;
};

// Against whom the claim is proved. Sums under masks: privacy/masking/masked_sum.md.
std::string against_whom(const PrivacyReport& report);

// What the claim rests on beside its noise, each to be read after "it assumes".
std::vector<std::string> assumptions_of(const PrivacyReport& report);

Covered covered_by(const jobs::Job& job);
// Writes into a model what is claimed, and whether it is covered.
void stamp(const PrivacyReport& report, models::Provenance& provenance);
// The claim in words; `seed`: what the noise came from, if from one.
std::string statement_of(const PrivacyReport& report, std::optional<std::int64_t> seed);
// The loudest of the plan, and a warning where it leaves little to learn.
void note_loudest_noise(PrivacyReport& report, const privacy::Plan& plan, double epsilon, std::size_t records);

// Noise of one release over the largest signal that any data of n records could have: of a selection, the Gumbel scale
// against the largest score; of a value, its deviation against the largest value. 0 for what this says nothing about.
double noise_to_signal(const privacy::Mechanism& mechanism, std::size_t records, privacy::Neighbours neighbours);

}  // namespace parley::runs
