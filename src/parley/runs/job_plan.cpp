#include "parley/runs/job_plan.h"

#include <fmt/format.h>

namespace parley::runs {

std::string noise_of(const privacy::Mechanism& mechanism) {
  if (const auto* e = std::get_if<privacy::Exponential>(&mechanism))
    return fmt::format("epsilon {:.4g} each", e->epsilon);
  if (const auto* e = std::get_if<privacy::Pure>(&mechanism)) return fmt::format("epsilon {:.4g} each", e->epsilon);
  if (const auto* e = std::get_if<privacy::Gaussian>(&mechanism))
    return fmt::format("deviation {:.4g} sensitivities", e->sigma / e->sensitivity);
  if (const auto* e = std::get_if<privacy::DiscreteLaplace>(&mechanism))
    return fmt::format("scale {:.4g} sensitivities", e->scale / e->sensitivity);
  if (const auto* e = std::get_if<privacy::SubsampledGaussian>(&mechanism))
    return fmt::format("multiplier {:.4g}, rate {:.4g}", e->noise_multiplier, e->sampling_rate);
  return "";
}

}  // namespace parley::runs
