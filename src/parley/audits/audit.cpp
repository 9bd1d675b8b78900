#include "parley/audits/audit.h"

#include "parley/audits/many_canaries.h"

namespace parley::audits {

Result<Audited> audit(const jobs::Job& job, std::size_t records, const GameSettings& settings) {
  PARLEY_TRY(const auto stage, stage_of(job));
  if (job.privacy->records) records = static_cast<std::size_t>(*job.privacy->records);
  PARLEY_TRY(const std::vector<Pair> pairs, pairs_of(job, records));
  if (jobs::protects_records(job)) return play(*stage, pairs, settings);
  // Each game has half of the runs, of the time and of what the confidence leaves.
  GameSettings half = settings;
  half.runs /= 2;
  half.seconds /= 2;
  half.confidence = 1 - (1 - settings.confidence) / 2;
  PARLEY_TRY(Audited audited, play(*stage, pairs, half));
  // Labels cannot fail to be read where the pairs were.
  const auto world = [&](const std::vector<bool>& coins) { return world_of_labels(job, coins).value_or(World{}); };
  PARLEY_CHECK(play_many(*stage, {records, world}, half, audited));
  audited.confidence = settings.confidence;
  return audited;
}

}  // namespace parley::audits
