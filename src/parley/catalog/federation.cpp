#include "parley/catalog/federation.h"

#include <random>

namespace parley::catalog {

Result<void> check_federated(const Job& job) {
  if (job.privacy && job.privacy->calibration != algorithms::Calibration::kProved)
    return fail(
        bad_input({job.file, 0, "privacy.calibration"}, "no paper gives noise for this algorithm that holds; use \"proved\"", "paper"));
  return job.federation->check(job);
}

glm::Objective objective_of(const Job& job, const std::vector<std::string>& classes) {
  glm::Objective objective = job.objective;
  objective.classes = objective.task == glm::Task::kSoftmax ? static_cast<int>(classes.size()) : 1;
  return objective;
}

algorithms::Stop stop_of(rounds::Ended ended, bool converged) {
  switch (ended) {
    case rounds::Ended::kStopped:
      return algorithms::Stop::kInterrupted;
    case rounds::Ended::kBudgetEnded:
      return algorithms::Stop::kBudgetEnded;
    case rounds::Ended::kDone:
      break;
  }
  return converged ? algorithms::Stop::kConverged : algorithms::Stop::kIterations;
}

std::uint64_t seed_of(const Job& job) {
  if (job.seed) return static_cast<std::uint64_t>(*job.seed);
  std::random_device device;
  return (static_cast<std::uint64_t>(device()) << 32) ^ device();
}

}  // namespace parley::catalog
