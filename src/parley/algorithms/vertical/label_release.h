// Labels that leave once, each with noise of its own (label differential privacy), as targets t with E t = y given the
// label y. The loss takes targets in the place of labels and is not biased by the noise (glm/unbiased.h).
//
//   randomised response   the class is kept with probability p = e^E / (e^E + 1), else told as the other
//                         t = +-1 / (2p - 1):   E t = y (p - (1 - p)) / (2p - 1) = y
//   Laplace, classes      a one-hot row with noise of scale 2/E on both entries;  t = row_1 - row_0
//   Laplace, numbers      y clipped to [-Y, Y], with noise of scale 2Y/E
//
// Privacy. One label replaced changes what is drawn for its own record and nothing else, and either mechanism costs E
// there (mechanisms/randomised_response.md, label_laplace.md, sensitivity/clipped_sum.md, "Labels"). Records are
// different people's, so n labels cost E. Whatever is made of the targets afterwards costs no more: here the labels are
// kept as Private, and nothing but the gate reads them.
//
// What is claimed depends on what else leaves (privacy::Unit of the gate that pays):
//   label    features leave as they are.  E for one label, its record's features being known to all
//   record   everything else of the record is paid for too, by what the run reserved.  E is a part of the run's epsilon
#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "parley/core/result.h"
#include "parley/glm/loss.h"
#include "parley/privacy/gate.h"
#include "parley/privacy/label_noise.h"
#include "parley/privacy/sensitivity/clipped_sum.h"

namespace parley::algorithms {

class LabelRelease {
 public:
  struct Rule {
    privacy::LabelNoise noise;
    glm::Task task = glm::Task::kLogistic;
    double label_bound = 1;  // Y, of numbers
    privacy::Unit unit = privacy::Unit::kLabel;
    std::optional<privacy::Delta> alone{};  // they are all that the run protects, charged at this delta
  };
  // Whether labels of the task can leave so, whatever they are.
  static Result<void> check(glm::Task task, const privacy::LabelNoise& noise);
  static Result<std::shared_ptr<const LabelRelease>> make(std::span<const double> labels, const Rule& rule);

  [[nodiscard]] std::size_t records() const { return records_; }
  [[nodiscard]] const std::optional<privacy::Delta>& alone() const { return rule_.alone; }
  // What it costs: an event of the reservation that pays for it.
  [[nodiscard]] Result<privacy::Event> event() const;
  Result<privacy::Released<std::vector<double>>> release(privacy::Gate& gate) const;

 private:
  LabelRelease(const Rule& rule, std::size_t records) : rule_(rule), records_(records) {}
  [[nodiscard]] privacy::ClipRule numbers_rule() const;
  [[nodiscard]] privacy::LaplaceScale numbers_scale(double sensitivity) const;
  Rule rule_;
  std::size_t records_;
  privacy::Private<std::vector<std::size_t>> classes_{{}};  // 0: -1, 1: +1
  privacy::Private<std::vector<double>> numbers_{{}};
  privacy::Grain grain_{};  // of numbers
};

// 1 / (2p - 1): what a told class is multiplied by.
double response_scale(double epsilon);
// R: a record's derivative of the corrected loss is at most this, for Laplace noise but for three deviations and more of
// it. `plain`: R of the loss of labels as they are.
double derivative_reach(const LabelRelease::Rule& rule, double plain);

}  // namespace parley::algorithms
