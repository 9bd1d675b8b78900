// What one party of a private ADMM-sharing run reserved, and the only way its values leave (admm_sharing.h,
// theorems.md).
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "parley/algorithms/parts/private_terms.h"
#include "parley/algorithms/vertical/admm_settings.h"
#include "parley/algorithms/vertical/column_share.h"
#include "parley/core/result.h"
#include "parley/glm/loss.h"
#include "parley/privacy/gate.h"
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
  static Result<std::shared_ptr<const PrivateSharing>> reserve(const ColumnShare& share, const Run& run,
                                                               privacy::Gate& gate);

  // Of a run that releases parts: the weights that the party ends with, once.
  Result<privacy::Released<std::vector<double>>> release_part(const privacy::Private<std::vector<double>>& weights,
                                                              privacy::Gate& gate) const;

  [[nodiscard]] std::vector<double> clipped_target(std::span<const double> target) const;
  Result<privacy::Released<std::vector<double>>> release(const privacy::Private<std::vector<double>>& values,
                                                         privacy::Gate& gate) const;

  [[nodiscard]] double sensitivity() const {
    return values_.sensitivity->value();
  }  // of the shared vector, in l2, before rounding
  [[nodiscard]] privacy::Grain grain() const { return values_.rule.grain; }  // of the shared values
  [[nodiscard]] double deviation() const { return values_.noise.sigma; }
  [[nodiscard]] double part_sensitivity() const { return part_->sensitivity->value(); }  // of the weights, likewise
  [[nodiscard]] double part_deviation() const { return part_->noise.sigma; }

 private:
  // A vector that leaves by a theorem.
  struct Leaving {
    std::optional<privacy::ProvedDistance> sensitivity;  // set by make()
    privacy::ClipRule rule;                              // how far it reaches, and the grain
    privacy::Deviation noise;
    privacy::Event event;
    static Result<Leaving> make(const privacy::ProvedDistance& sensitivity, const privacy::ClipRule& rule,
                                std::size_t size, double multiplier);
    Result<privacy::Released<std::vector<double>>> release(const privacy::Private<std::vector<double>>& vector,
                                                           privacy::Gate& gate) const;
  };
  PrivateSharing() = default;
  double target_bound_ = 0;  // T
  Leaving values_;
  std::optional<Leaving> part_;
};

}  // namespace parley::algorithms
