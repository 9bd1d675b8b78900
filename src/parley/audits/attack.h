// Tells two worlds apart by a score: several are learnt from one part of the calibration runs, and the one that does
// best on the other part is kept, with its thresholds. Runs that were used here are never counted afterwards.
//
//   difference      log-likelihood ratio of independent Gaussians of one variance: the projection on the difference
//   shared noise    the same on the difference that worlds show under the same noise, which is far less noisy
//   total           the sum of all numbers, each in its deviations: what a record that moves all of them alike moves
//   plain total     the same without scaling
//   strongest       one number
//   linear          Fisher's discriminant of the strongest numbers
//   quadratic       log-likelihood ratio of two Gaussians, each with its own covariance: also noise that leaves a
//                   direction out, or whose size the data decide
//   category, categories   log-likelihood ratio of one category or of several
//   both            difference and categories together
#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "parley/audits/estimators.h"
#include "parley/audits/features.h"

namespace parley::audits {

using Score = std::function<double(const Features&)>;

struct Cut {
  double above = 0;     // the score from which on the attack says "in"
  bool of_out = false;  // the inequality that is used: errors of the two worlds exchanged
};

struct Attack {
  std::string name;
  Score score;
  Cut by_counts;     // for the Clopper-Pearson bound
  Cut by_gaussian;   // for the Gaussian one
  double hoped = 0;  // what it seemed to show on the runs that it was chosen by
};

// Scores of runs of each world.
struct Scores {
  std::vector<double> in, out;
};
Counts counts_of(const Scores& scores, const Cut& cut);

struct Examples {
  std::span<const Features> in, out;
};

// What will be asked of the attack: how many runs of each world it will be tried on, at which delta and significance.
struct Aim {
  std::int64_t runs = 0;
  double delta = 0;
  Significance significance;
};

// `shift`: of each number between the worlds under shared noise; empty where it is not known.
Attack learn(const Examples& first, const Examples& second, std::span<const double> shift, const Aim& aim);

// How far apart worlds look under shared noise, in deviations: what pairs are compared by.
double separation(std::span<const Features> in, std::span<const Features> out, std::span<const double> deviations);
std::vector<double> deviations_of(std::span<const Features> runs);
std::vector<double> shift_of(std::span<const Features> in, std::span<const Features> out);

}  // namespace parley::audits
