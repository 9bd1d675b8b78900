#include "parley/algorithms/horizontal/federated_averaging.h"

#include "parley/algorithms/parts/check.h"
#include "parley/core/text.h"

namespace parley::algorithms {

namespace {

constexpr Refusal kRefused[] = {{Part::kL1Radius, "averaging cannot keep to an l1 ball; use sparsity"},
                                {Part::kL1, "averaging takes gradient steps on smooth objectives; use sparsity"}};
constexpr Refusal kRefusedWithThreshold = {Part::kNoSparsity, "hard thresholding needs the number of entries to keep"};
constexpr Refusal kRefusedWithoutThreshold = {Part::kSparsity, "fedavg does not threshold; fed-iter-ht and fed-ht do"};

}  // namespace

Result<void> check_averaging(const glm::Objective& objective, const LocalSettings& settings, AveragingParts parts) {
  PARLEY_CHECK(check(objective, {parts.threshold_average ? &kRefusedWithThreshold : &kRefusedWithoutThreshold, 1}));
  PARLEY_CHECK(check(objective, kRefused));
  PARLEY_CHECK(require(is_not_negative(settings.step), "algorithm.step", "must be a number >= 0; 0 takes a safe one",
                       settings.step));
  PARLEY_CHECK(require(settings.rounds >= 1, "algorithm.iterations", "must be at least 1", settings.rounds));
  PARLEY_CHECK(require(settings.local_steps >= 1, "algorithm.local_steps", "must be at least 1", settings.local_steps));
  PARLEY_CHECK(require(settings.batch >= 0, "algorithm.batch", "must be at least 0; 0 is all records", settings.batch));
  return require(settings.batch_growth > 0 && settings.batch_growth <= 1, "algorithm.batch_growth",
                 "must lie in (0, 1]", settings.batch_growth);
}

std::size_t largest_averaging_reply(const glm::Objective& objective, std::span<const PartyFacts> parties) {
  return 12 * parameter_count(objective, parties.front().columns);
}

std::vector<Leaving> leaves_of_averaging(const RunTerms& terms, const LocalSettings& settings, AveragingParts parts) {
  const std::string steps = parts.one_step ? "one step" : counted(settings.local_steps, "step");
  if (terms.client)
    return {
        key_of_masks(),
        {"how far the weights of the model move in " + steps + " on this party's table, one number for each weight",
         Leaving::Of::kTotal, "nobody by itself: the coordinator, and every party with the model, reads the average",
         each_round(settings.rounds),
         "the whole table counts as one unit: the move is clipped and gets a share of the noise that hides any whole "
         "table, and it leaves under a mask that cancels in the sum over all parties; paid for from the budget"}};
  return {
      {parts.threshold_steps ? "the largest weights of the model after " + steps + " on this party's records"
                             : "the weights of the model after " + steps + " on this party's records",
       Leaving::Of::kTotal, "the coordinator; the average of the parties' is in the model", each_round(settings.rounds),
       terms.is_private
           ? "every step is made with gradients that are clipped for each person and summed with Gaussian noise; paid "
             "for from the budget"
           : kUnprotected}};
}

}  // namespace parley::algorithms
