// Settings chosen privately: random stopping (Papernot, Steinke 2022; privacy/accounting/repeat_and_select.h).
//
//   1. every setting of the product of the choices gets a plan at (e, delta), by rehearsal of its trainer;
//   2. e is the largest for which the best of K runs stays within the job's target;
//   3. that cost is charged, once, before the first run;
//   4. K times: draw a setting, train on the training rows, score on the validation rows with noise; keep the best.
#pragma once
#include <string>
#include <vector>

#include "parley/algorithms/parts/fit.h"
#include "parley/catalog/method.h"
#include "parley/core/result.h"
#include "parley/jobs/job.h"
#include "parley/runs/private_site.h"

namespace parley::runs {

struct Trial {
  std::vector<std::string> settings;  // "section.key=value"
  catalog::Trainer trainer;
  glm::Objective objective;
  std::string algorithm;
};

// The product of the choices; reads the job's file once for each.
Result<std::vector<Trial>> trials_of(const jobs::Job& job, int classes);

struct TuningData {
  std::span<const double> labels;    // of the training rows, which the site's features are of
  const linalg::Matrix& validation;  // features as the trainer sees them
  std::span<const double> validation_labels;
};

struct Tuned {
  algorithms::Fit fit;
  Trial trial;             // whose settings won: released
  double run_epsilon = 0;  // what a single run costs
  privacy::Plan run_plan;  // what it releases to itself
};
Result<Tuned> tune(const jobs::Job& job, std::vector<Trial> trials, PrivateSite& site, const TuningData& data,
                   const algorithms::Observer& observer);

}  // namespace parley::runs
