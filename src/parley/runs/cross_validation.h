// How well a job's settings, or each penalty of a path, do on records that they were not trained on: k-fold
// cross-validation.
//
//   the training rows are dealt to k folds, by the seed; of classifiers each class alike
//   for each fold: train on the others, along the path from its strongest penalty to its weakest, each fit beginning
//                  where the last one ended; score on the fold
//
// Stone 1974; paths with warm starts: Friedman, Hastie & Tibshirani 2010. Beside the best penalty stands the strongest
// whose score is within one standard error of it (Breiman et al. 1984).
//
// Nothing here is private: a record takes part in k - 1 trainings and in a score, and nothing is paid for. A job with
// [privacy] is refused; [tune] chooses settings within a budget.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "parley/core/result.h"
#include "parley/jobs/job.h"
#include "parley/runs/watch.h"

namespace parley::runs {

struct CrossValidated {
  struct Point {
    std::optional<double> penalty;  // absent: the job's own settings
    double score = 0;               // mean over the folds; smaller is better
    double standard_error = 0;
    std::optional<double> auc;  // of two classes, mean over the folds
    double nonzeros = 0;        // mean over the folds
  };
  std::size_t rows = 0;
  int folds = 0;
  std::string scored_by;  // "log loss", ...
  std::string penalty;    // "model.l1", "model.l2"; empty without a path
  std::vector<Point> points;
  std::size_t best = 0;
  std::size_t within_one_error = 0;
  std::vector<std::string> notes;
};

Result<CrossValidated> cross_validate(const jobs::Job& job, int folds, const Watch& watch);

std::string to_json(const CrossValidated& found);
std::string table(const CrossValidated& found);

}  // namespace parley::runs
