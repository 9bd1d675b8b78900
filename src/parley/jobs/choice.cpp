// The algorithm of a job that names none, and the intercept where it says nothing of one: from what is public before any
// table is read. Each chosen name is one of the catalog (docs/algorithms.md); Job::why says the reason.
#include "parley/jobs/job.h"

namespace parley::jobs {

void choose_algorithm(Job& job, bool states_intercept) {
  const glm::Objective& model = job.objective;
  const bool constrained = model.l1_radius || model.sparsity || model.box || !model.l1_groups.empty();
  const bool is_private = protects_records(job);
  switch (job.partition) {
    case Partition::kSingle:
      if (!is_private) {
        job.algorithm = model.sparsity ? "sgd" : "exact";
        job.why = model.sparsity ? "the model is to be sparse" : "it finds the optimum, and nothing is private";
      } else if (model.l1_radius) {
        job.algorithm = "frank-wolfe";
        job.why = "the run is private and the model is in an l1 ball";
      } else if (model.sparsity) {
        job.algorithm = "sgd";
        job.why = "the run is private and the model is to be sparse";
      } else {
        job.algorithm = "gradient-descent";
        job.why = "the run is private, and its settings follow from the bounds, n, d and epsilon";
      }
      break;
    case Partition::kHorizontal:
      job.algorithm = model.sparsity ? "fed-iter-ht" : is_private ? "fedavg" : "newton";
      job.why = model.sparsity ? "the model is to be sparse"
                : is_private   ? "the run is private"
                               : "it finds the optimum in few rounds, and nothing is private";
      break;
    case Partition::kVertical:
      job.algorithm = job.privacy || model.l1_radius ? "bcfw" : "admm-sharing";
      job.why = job.privacy       ? "the run is private"
                : model.l1_radius ? "the model is in an l1 ball"
                                  : "one value per record travels, and nothing is private";
      break;
    case Partition::kRelational:
      job.algorithm = "relational-admm";
      job.why = "it takes every kind of join";
      break;
  }
  const bool with_intercept =
      job.algorithm == "exact" || job.algorithm == "newton" || job.algorithm == "gradient-descent";
  if (states_intercept || constrained || !with_intercept || !job.tables.empty()) return;
  job.objective.intercept = is_private ? glm::Intercept::kPenalised : glm::Intercept::kFree;
  job.why += "; the model has an intercept";
}

}  // namespace parley::jobs
