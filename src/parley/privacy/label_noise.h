// How labels leave once, each with noise of its own, in the place of labels as they are: what a job says about it.
// The mechanisms: mechanisms/randomised_response.h, mechanisms/label_laplace.h.
#pragma once

namespace parley::privacy {

struct LabelNoise {
  enum class Mechanism { kRandomisedResponse, kLaplace };
  Mechanism mechanism = Mechanism::kRandomisedResponse;
  double epsilon = 1;  // of one label
};

}  // namespace parley::privacy
