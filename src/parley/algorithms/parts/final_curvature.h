// What the end of a fit says about how sure its parameters are (runs/inference.h): means over the records, which have no
// weights or are multiplied by them.
#pragma once
#include <vector>

namespace parley::algorithms {

struct FinalCurvature {
  std::vector<double> triangle;  // of the Hessian of the mean loss there, the upper one row by row, class by class
  double loss = 0;               // there
  double first_loss = 0;         // at parameters of 0
  double first_slope = 0;        // of the loss there in the intercept; 0 where there is none
};

}  // namespace parley::algorithms
