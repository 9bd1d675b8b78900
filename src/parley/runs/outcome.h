// What comes out of a run, wherever its parties are: the same for train, coordinate and MPI.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "parley/algorithms/parts/convergence.h"
#include "parley/algorithms/parts/fit.h"
#include "parley/core/result.h"
#include "parley/jobs/job.h"
#include "parley/models/score.h"
#include "parley/models/trained.h"
#include "parley/rounds/meter.h"
#include "parley/runs/baselines.h"
#include "parley/runs/claim.h"
#include "parley/runs/coordinate.h"
#include "parley/runs/inference.h"
#include "parley/wire/encode.h"

namespace parley::runs {

// A part of a model that only its party has.
struct PartElsewhere {
  std::string party;
  std::size_t columns = 0;
  std::string path = {};  // at that party
};

struct Outcome {
  models::Trained trained;             // of a federation whose parties keep their parts: the first of them
  std::vector<models::Trained> parts;  // of a federation
  std::vector<PartElsewhere> elsewhere;
  std::optional<rounds::Communication> communication;
  algorithms::Fit fit;
  std::optional<algorithms::Convergence> convergence;  // of a simulation that asks for it
  models::Scored train;
  std::optional<models::Scored> test;
  std::optional<PrivacyReport> privacy;  // absent: the run was not private
  std::vector<std::string> notes;        // what the readers want a person to know
  std::vector<Baseline> baselines;       // where they were asked for
  std::optional<Inference> inference;    // likewise
  double read_seconds = 0;
  double train_seconds = 0;
  double wait_seconds = 0;  // for parties on other machines; not in train_seconds
};

// Of a run of rounds. `memories`: of the parties in this program, in their order; none where they are elsewhere.
// `reports`: of their sites, where those are in this program; else each party's part of the claim follows from what it
// said. What only the rows can tell - objective and metrics - is left open.
Result<Outcome> outcome_of(const jobs::Job& job, const Coordinated& run, std::span<const wire::Bytes> memories,
                           std::vector<PrivacyReport> reports = {});

// Adds which algorithm was chosen, where the job names none, and the ridge that a private run added.
void note_choice(const jobs::Job& job, Outcome& outcome);

// Adds how sure the weights are, or a note that says why that is not known.
void add_inference(const LikelihoodFit& fit, Outcome& outcome);

// Adds what its metrics make somebody doubt, of held-out rows where there are some.
void note_doubts(Outcome& outcome);

}  // namespace parley::runs
