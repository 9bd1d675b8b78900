#include "parley/algorithms/parts/check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/algorithms/noisy_data.h"

namespace parley::algorithms {

namespace {

using glm::Intercept;
using glm::Task;

std::string said(const Result<void>& checked) {
  return checked ? "accepted" : checked.error().message;
}

TEST(Check, RefusesSetsThatATrainerDoesNotSayItTakes) {
  glm::Objective objective = test::objective_of(Task::kLinear, 0, 0, Intercept::kNone);
  objective.box = 2;
  EXPECT_EQ(said(check(objective, {})),
            "model.box: this algorithm does not take a box; exact, bcfw and admm-sharing do (got '2')");
  const Refusal takes_a_box[] = {{Part::kBox, kTaken}};
  EXPECT_EQ(said(check(objective, takes_a_box)), "accepted");
  objective.box.reset();
  objective.l1_radius = 1;
  objective.l1_groups = {1, 2};
  EXPECT_EQ(said(check(objective, takes_a_box)),
            "model.l1_groups: this algorithm has one l1 ball; exact takes groups with a ball each");
  const Refusal takes_groups[] = {{Part::kL1Groups, kTaken}};
  EXPECT_EQ(said(check(objective, takes_groups)), "accepted");
}

TEST(Check, NamesTheFieldTheReasonAndTheValueOfWhatIsRefused) {
  const Refusal all[] = {
      {Part::kSoftmax, "one"},        {Part::kL1, "two"},   {Part::kL1Radius, "three"},   {Part::kSparsity, "four"},
      {Part::kFreeIntercept, "five"}, {Part::kNoL2, "six"}, {Part::kNoL1Radius, "seven"}, {Part::kNoSparsity, "eight"}};
  glm::Objective objective = test::objective_of(Task::kSoftmax, 0.5, 0, Intercept::kFree);
  objective.l1_radius = 2;
  objective.sparsity = 3;
  EXPECT_EQ(said(check(objective, all)), "job.task: one (got 'softmax')");
  objective.task = Task::kLinear;
  EXPECT_EQ(said(check(objective, all)), "model.l1: two (got '0.5')");
  objective.l1 = 0;
  EXPECT_EQ(said(check(objective, all)), "model.l1_radius: three (got '2')");
  objective.l1_radius.reset();
  EXPECT_EQ(said(check(objective, all)), "model.sparsity: four (got '3')");
  objective.sparsity.reset();
  EXPECT_EQ(said(check(objective, all)), "model.intercept: five (got 'free')");
  objective.intercept = Intercept::kNone;
  EXPECT_EQ(said(check(objective, all)), "model.l2: six (got '0')");
  objective.l2 = 1;
  EXPECT_EQ(said(check(objective, all)), "model.l1_radius: seven");
  EXPECT_EQ(said(check(objective, {&all[7], 1})), "model.sparsity: eight");
  EXPECT_EQ(said(check(objective, {})), "accepted");
}

TEST(Check, RefusesProblemsThatNoTrainerCanRelyOn) {
  const test::Data data = test::noisy_data(Task::kLogistic, 4, 2, 0.9, 1);
  const auto of = [&](const glm::Objective& objective, std::vector<double> labels) {
    return said(check(Problem{data.features, labels, objective}, {}));
  };
  const glm::Objective plain = test::objective_of(Task::kLogistic, 0, 0);
  EXPECT_EQ(of(plain, {1, -1, 1, 1}), "accepted");
  EXPECT_EQ(of(plain, {1, -1, 1}), "labels: needs one label per row (got '3')");
  EXPECT_EQ(of(plain, {1, 0, 1, 1}), "label of row 2: a label must be -1 or +1 (got '0')");
  EXPECT_EQ(of(test::objective_of(Task::kLinear, 0, 0), {1, 0, NAN, 1}),
            "label of row 3: a label must be a finite number (got 'nan')");
  EXPECT_EQ(of(test::objective_of(Task::kSoftmax, 0, 0), {1, 0, 3, 1}),
            "label of row 3: a label must be a class number from 0 to classes - 1 (got '3')");
  EXPECT_EQ(of(test::objective_of(Task::kLogistic, -1, 0), {1, -1, 1, 1}),
            "model.l1: must be a number >= 0 (got '-1')");
  EXPECT_EQ(of(test::objective_of(Task::kLogistic, 0, INFINITY), {1, -1, 1, 1}),
            "model.l2: must be a number >= 0 (got 'inf')");
  glm::Objective other = plain;
  other.l1_radius = 0;
  EXPECT_EQ(of(other, {1, -1, 1, 1}), "model.l1_radius: must be a positive number (got '0')");
  other = plain;
  other.classes = 2;
  EXPECT_EQ(of(other, {1, -1, 1, 1}), "classes: must be 1 unless the task is softmax (got '2')");
}

TEST(Check, FreeInterceptsNeedRowsOfEveryClass) {
  const test::Data data = test::noisy_data(Task::kLogistic, 3, 2, 0.9, 1);
  const auto of = [&](Task task, Intercept intercept, std::vector<double> labels) {
    return said(check_free_intercept(Problem{data.features, labels, test::objective_of(task, 0, 0, intercept)}));
  };
  EXPECT_EQ(of(Task::kSoftmax, Intercept::kFree, {0, 2, 0}),
            "labels: no row has label 1: a free intercept needs rows of every class; drop the class, or use a "
            "penalised intercept or none");
  EXPECT_EQ(of(Task::kSoftmax, Intercept::kFree, {0, 2, 1}), "accepted");
  EXPECT_EQ(of(Task::kSoftmax, Intercept::kPenalised, {0, 2, 0}), "accepted");
  EXPECT_NE(of(Task::kLogistic, Intercept::kFree, {1, 1, 1}), "accepted");
  EXPECT_EQ(of(Task::kSquaredHinge, Intercept::kFree, {1, 1, 1}), "accepted");  // its loss reaches zero
}

}  // namespace

}  // namespace parley::algorithms
