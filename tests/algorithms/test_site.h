// A site with a fresh ledger and generous limits, for tests of private trainers.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "parley/algorithms/parts/fit.h"
#include "parley/algorithms/parts/private_terms.h"
#include "parley/privacy/ledger/ledger.h"
#include "parley/privacy/randomness/generator.h"
#include "tests/support/temporary_folder.h"

namespace parley::algorithms {

class TestSite {
 public:
  struct Limits {
    double epsilon = 1;  // of the run
    double delta = 1e-6;
    double budget = 0;  // of the site; 0: that of the run
    double derivative_bound = 1;
    double label_bound = 1;
    std::uint64_t seed = 1;
    privacy::Calibration calibration = privacy::Calibration::kProved;
    std::optional<std::size_t> records{};  // stated: the relation is then add-remove
    privacy::Smoothness smoothness = privacy::Smoothness::kBounds;
    double row_bound = 1;
  };

  TestSite(const linalg::Matrix& features, const Limits& limits, std::optional<privacy::Transcript> transcript = {})
      : features_(*privacy::GridFeatures::make(
            features, std::vector<double>(static_cast<std::size_t>(features.cols()), 1.0), limits.records)),
        bits_(limits.seed) {
    const auto neighbours = limits.records ? privacy::Neighbours::kAddRemove : privacy::Neighbours::kReplaceOne;
    const privacy::Purse purse{"records", privacy::Unit::kRecord, neighbours};
    const auto budget = *privacy::Epsilon::make(limits.budget > 0 ? limits.budget : limits.epsilon);
    const auto delta = *privacy::Delta::make(limits.delta);
    (void)ledger_.set_budget(purse, {budget, delta, privacy::Composition::kPlans});
    gate_.emplace(transcript ? privacy::Gate::replay(*transcript, purse)
                             : std::move(*privacy::Gate::open(ledger_, purse, "run", bits_)));
    gate_->keep_transcript();
    terms_.emplace(PrivateTerms{.target = {*privacy::Epsilon::make(limits.epsilon), delta, neighbours},
                                .calibration = limits.calibration,
                                .smoothness = limits.smoothness,
                                .derivative_bound = limits.derivative_bound,
                                .row_bound = limits.row_bound,
                                .label_bound = limits.label_bound,
                                .features = &features_,
                                .gate = &*gate_});
  }
  TestSite(const TestSite&) = delete;
  TestSite& operator=(const TestSite&) = delete;

  Problem problem(std::span<const double> labels, const glm::Objective& objective) const {
    return {features_.matrix(), labels, objective, &*terms_};
  }
  const privacy::Gate& gate() const { return *gate_; }

 private:
  privacy::GridFeatures features_;
  privacy::SeededGenerator bits_;
  TemporaryFolder folder_;
  privacy::Ledger ledger_ = std::move(*privacy::Ledger::open(folder_.path()));
  std::optional<privacy::Gate> gate_;
  std::optional<PrivateTerms> terms_;
};

}  // namespace parley::algorithms
