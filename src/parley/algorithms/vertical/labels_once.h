// How labels reach the coordinator of a vertical run: before everything else, once, from the one party that holds them.
//
// In a run without privacy those leave that a site lets go (jobs/site.h). A private run needs labels that are declared
// public to the parties, and claims nothing about them.
#pragma once
#include <span>
#include <vector>

#include "parley/algorithms/vertical/column_share.h"
#include "parley/core/result.h"
#include "parley/glm/loss.h"
#include "parley/privacy/gate.h"

namespace parley::algorithms {

// Who holds the labels, from what the parties said.
struct LabelHolder {
  int party = -1;           // number in the job's list; -1: not known
  std::size_t records = 0;  // 0: not known
  int classes = 1;          // of softmax: numbered from 0
};

// Of a private run.
Result<void> labels_may_leave(bool public_labels);

// At a party: its labels, or nothing where another holds them. `asked` remembers that they were asked for.
Result<privacy::Released<std::vector<double>>> send_labels(const ColumnShare& share, bool public_labels, bool& asked,
                                                           privacy::Gate& gate);

// At the coordinator: whether a party may have sent these, and those of the party that holds them.
Result<void> check_labels(const LabelHolder& holder, glm::Task task, int party, std::span<const double> labels);
Result<std::vector<double>> the_labels(std::span<const std::vector<double>* const> sent);

}  // namespace parley::algorithms
