// Labels that are released one by one, each with noise of its own: randomised response and Laplace noise on one-hot
// labels. One record replaced changes one label and no other. Proof note: clipped_sum.md.
#pragma once
#include <cstddef>
#include <vector>

#include "parley/core/result.h"
#include "parley/privacy/values.h"

namespace parley::privacy {

struct Hamming {};  // labels: as many of them may change as the sensitivity says

struct ClassLabels {
  std::vector<std::size_t> labels;  // each below `classes`
  std::size_t classes = 2;
};

struct LabelRule {
  std::size_t classes = 2;
  Neighbours neighbours = Neighbours::kReplaceOne;
  Unit unit = Unit::kLabel;
};

// A label that is not a class counts as class 0. Replace-one only, because the number of labels is public. A label is a
// part of a record, so the unit may be the record too.
Result<Sensitive<ClassLabels, Hamming>> class_labels(const Private<std::vector<std::size_t>>& labels,
                                                     const LabelRule& rule);

}  // namespace parley::privacy
