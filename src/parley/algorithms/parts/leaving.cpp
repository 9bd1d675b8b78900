#include "parley/algorithms/parts/leaving.h"

#include <fmt/format.h>

#include "parley/core/text.h"

namespace parley::algorithms {

std::string each_round(long long rounds) {
  return fmt::format("in each of at most {}", counted(rounds, "round"));
}

Leaving key_of_masks() {
  return {"a public key, made for this run, from which masks are agreed with the other parties", Leaving::Of::kPublic,
          "the coordinator, who hands it to the other parties", "once", "it needs none"};
}

Leaving labels_of(const LabelTerms& terms) {
  Leaving labels{"the labels, one for each person, where this party holds them", Leaving::Of::kPerson,
                 "the coordinator", "once, before the first round", kUnprotected};
  if (terms.noise)
    labels.protection =
        fmt::format("each label leaves once, {}, with epsilon {}, which this party pays for from its budget",
                    terms.noise->mechanism == privacy::LabelNoise::Mechanism::kLaplace ? "with Laplace noise"
                                                                                       : "by randomised response",
                    terms.noise->epsilon);
  else if (terms.is_private)
    labels.protection = "none: the job declares them public, and the site must allow it (limits.public_labels)";
  return labels;
}

}  // namespace parley::algorithms
