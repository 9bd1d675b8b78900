#include "parley/algorithms/federated_averaging.h"

#include <fmt/format.h>

#include <cmath>

namespace parley::algorithms {

Result<void> check_averaging(const glm::Objective& objective, const LocalSettings& settings, AveragingParts parts) {
  const auto refuse = [](const char* field, const char* rule, auto value) -> Result<void> {
    return fail(bad_input({.field = field}, rule, fmt::format("{}", value)));
  };
  if (parts.threshold_average && !objective.sparsity)
    return fail(bad_input({.field = "model.sparsity"}, "hard thresholding needs the number of entries to keep"));
  if (!parts.threshold_average && objective.sparsity)
    return refuse("model.sparsity", "fedavg does not threshold; fed-iter-ht and fed-ht do", *objective.sparsity);
  if (objective.l1_radius) return refuse("model.l1_radius", "averaging knows no ball; use sparsity", *objective.l1_radius);
  if (objective.l1 != 0) return refuse("model.l1", "averaging takes gradient steps on smooth objectives; use sparsity", objective.l1);
  if (!(settings.step >= 0) || !std::isfinite(settings.step))
    return refuse("algorithm.step", "must be a number >= 0; 0 takes a safe one", settings.step);
  if (settings.rounds < 1) return refuse("algorithm.iterations", "must be at least 1", settings.rounds);
  if (settings.local_steps < 1) return refuse("algorithm.local_steps", "must be at least 1", settings.local_steps);
  if (settings.batch < 0) return refuse("algorithm.batch", "must be at least 0; 0 is all records", settings.batch);
  if (!(settings.batch_growth > 0) || settings.batch_growth > 1)
    return refuse("algorithm.batch_growth", "must lie in (0, 1]", settings.batch_growth);
  return {};
}

}  // namespace parley::algorithms
