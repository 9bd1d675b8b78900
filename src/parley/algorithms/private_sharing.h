// What one party of a private ADMM-sharing run reserved, and the only way its values leave (admm_sharing.h, theorems.md).
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "parley/algorithms/admm_sharing.h"
#include "parley/algorithms/private_terms.h"
#include "parley/privacy/sensitivity/clipped_sum.h"

namespace parley::algorithms {

class PrivateSharing {
 public:
  struct Run {
    const AdmmSettings& settings;
    glm::Task task = glm::Task::kLinear;
    double ridge = 0;  // lambda / rho
    int parties = 1;
  };
  // Charges the party's releases of the whole run.
  static Result<std::shared_ptr<const PrivateSharing>> reserve(const ColumnShare& share, const Run& run, privacy::Gate& gate);

  [[nodiscard]] std::vector<double> clipped_target(std::span<const double> target) const;
  Result<privacy::Released<std::vector<double>>> release(const privacy::Private<std::vector<double>>& values, privacy::Gate& gate) const;

  [[nodiscard]] double sensitivity() const { return sensitivity_->value(); }  // of the shared vector, in l2, before rounding
  [[nodiscard]] double deviation() const { return noise_.sigma; }

 private:
  PrivateSharing() = default;
  double target_bound_ = 0;                             // T
  std::optional<privacy::ProvedDistance> sensitivity_;  // set by reserve()
  privacy::ClipRule rule_;                              // V and the grain
  privacy::Deviation noise_;
};

}  // namespace parley::algorithms
