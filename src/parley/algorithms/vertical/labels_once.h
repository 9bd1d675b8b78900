// How labels reach the coordinator of a vertical run: before everything else, once, from the one party that holds them.
//
//   as they are      without privacy those that a site lets go (jobs/site.h); a private run needs labels that are
//                    declared public to the parties. Nothing is claimed about them
//   with noise       targets in the place of labels, drawn once and paid for: label_release.h. What takes targets takes
//                    labels too: losses are those of glm/unbiased.h
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "parley/algorithms/vertical/column_share.h"
#include "parley/algorithms/vertical/label_release.h"
#include "parley/core/result.h"
#include "parley/glm/loss.h"
#include "parley/privacy/gate.h"

namespace parley::algorithms {

// Who holds the labels, from what the parties said.
struct LabelHolder {
  int party = -1;                              // number in the job's list; -1: not known
  std::size_t records = 0;                     // 0: not known
  int classes = 1;                             // of softmax: numbered from 0
  std::optional<privacy::LabelNoise> noise{};  // that they leave with
};

// Of a private run.
Result<void> labels_may_leave(bool public_labels);

// Charges the labels of a run that protects nothing else, before they are asked for.
Result<void> reserve_labels(const ColumnShare& share, bool asked, privacy::Gate& gate);
// Of a run that protects whole records: what the labels add to what it reserves once. Nothing where they leave as they
// are.
Result<std::vector<privacy::Event>> events_of_labels(const ColumnShare& share);

// At a party: its labels, or nothing where another holds them. `asked` remembers that they were asked for.
Result<privacy::Released<std::vector<double>>> send_labels(const ColumnShare& share, bool public_labels, bool& asked,
                                                           privacy::Gate& gate);

// At the coordinator: whether a party may have sent these, and those of the party that holds them.
Result<void> check_labels(const LabelHolder& holder, glm::Task task, int party, std::span<const double> labels);
Result<std::vector<double>> the_labels(std::span<const std::vector<double>* const> sent);

}  // namespace parley::algorithms
