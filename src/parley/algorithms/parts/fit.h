// What a single-site trainer takes and gives back. Trainers neither print nor look at a clock:
// they report each iteration to an observer, which may ask them to stop.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "parley/glm/objective.h"
#include "parley/linalg/matrix.h"

namespace parley::algorithms {

struct PrivateTerms;  // private_terms.h

struct Problem {
  const linalg::Matrix& features;  // n x d
  std::span<const double> labels;  // n; real, -1/+1, or class number 0..K-1, by task
  glm::Objective objective;
  const PrivateTerms* privacy = nullptr;  // null: the run is not private
  std::span<const double> weights = {};   // of the records, at least 0: w_i in 1/n sum_i w_i phi_i; none: all 1
};

struct Progress {
  int iteration = 0;
  double objective = 0;
  double gap = 0;    // the trainer's own certificate, as in Fit::gap; NaN when it has none
  int expected = 0;  // iterations of the whole run where that is known beforehand, else 0
};

// Returns false to ask for an early stop (Ctrl-C); the trainer then returns its best model so far.
using Observer = std::function<bool(const Progress&)>;

enum class Stop {
  kConverged,
  kIterations,
  kInterrupted,
  kStalled,
  kBudgetEnded,  // the privacy budget held fewer steps than were asked for; the model is that of those steps
};

// What Fit::gap measures.
enum class Certificate { kNone, kDualityGap, kFrankWolfeGap, kGradientNorm };

struct Fit {
  std::vector<double> weights;     // d * K, class by class
  std::vector<double> intercepts;  // K, or empty without an intercept
  double objective = 0;
  double gap = 0;
  Certificate certificate = Certificate::kNone;
  Stop stop = Stop::kConverged;
  int iterations = 0;
  std::optional<double> l2_used;  // a ridge that a private run added because the model states no penalty
  std::string remark;             // what a person should know of how this model came about
  std::int64_t releases = 0;      // values that left through the gate; 0 when not private
  std::vector<double> history;    // objective after each iteration
  std::vector<double> residuals;  // of a federated run whose coordinator knows how far from an optimum it is
};

// Weights and intercepts of coordinates k * width + j: of every class its columns, then its intercept where there is
// one.
void split(const Problem& problem, std::span<const double> coordinates, Fit& fit);
// The same, and the objective there.
void set_model(const Problem& problem, std::span<const double> coordinates, Fit& fit);

}  // namespace parley::algorithms
