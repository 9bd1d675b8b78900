// A table ready for training: features, labels and the names and public bounds of its columns.
#pragma once
#include <string>
#include <vector>

#include "parley/linalg/matrix.h"

namespace parley::data {

struct Labels {
  std::vector<double> values;        // real; or -1/+1; or class number 0..K-1
  std::vector<std::string> classes;  // empty for real labels; {negative, positive}; or the K names
};

struct Dataset {
  linalg::Matrix features;
  std::vector<std::string> columns;  // one name per feature
  std::vector<double> bounds;        // public bound B_j of |x_ij|; empty when nothing was declared
  Labels labels;
  std::vector<std::string> ids;      // record ids, or empty
  std::vector<std::string> notes;    // what the reader wants a person to know (one line each)
};

}  // namespace parley::data
