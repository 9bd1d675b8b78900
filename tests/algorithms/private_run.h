// What a private trainer needs around it: features on their grid, a ledger with a budget, a gate, the terms.
#pragma once
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

#include "parley/algorithms/parts/private_terms.h"
#include "tests/algorithms/noisy_data.h"
#include "tests/support/temporary_folder.h"

namespace parley::test {

struct PrivateRunOptions {
  double epsilon = 1;
  double delta = 1e-6;
  privacy::Neighbours neighbours = privacy::Neighbours::kReplaceOne;
  std::uint64_t seed = 1;
  std::optional<double> budget{};  // epsilon of the site; absent: that of the run
  double derivative_bound = 1;
  std::optional<double> row_bound{};     // absent: sqrt(d)
  std::optional<std::size_t> records{};  // stated under add-remove; absent: n
  privacy::Smoothness smoothness = privacy::Smoothness::kBounds;
  std::vector<std::size_t> numbers{};
  bool finds_row_norm = false;
};

// Features are those of [-1, 1].
class PrivateRun {
 public:
  PrivateRun(const Data& data, const PrivateRunOptions& options)
      : data_(data),
        features_(*privacy::GridFeatures::make(data.features, std::vector<double>(columns(data), 1.0),
                                               stated(data, options))),
        bits_(options.seed) {
    const privacy::Purse purse{"records", privacy::Unit::kRecord, options.neighbours};
    ledger_.emplace(std::move(*privacy::Ledger::open(folder_.path().string())));
    EXPECT_TRUE(ledger_->set_budget(purse, {*privacy::Epsilon::make(options.budget.value_or(options.epsilon)),
                                            *privacy::Delta::make(options.delta), privacy::Composition::kPlans}));
    gate_.emplace(std::move(*privacy::Gate::open(*ledger_, purse, "run", bits_)));
    gate_->keep_transcript();
    set_terms(options, *gate_);
  }
  // On other data, with the releases of another run.
  PrivateRun(const Data& data, const PrivateRunOptions& options, const privacy::Transcript& told)
      : data_(data),
        features_(*privacy::GridFeatures::make(data.features, std::vector<double>(columns(data), 1.0),
                                               stated(data, options))),
        bits_(options.seed) {
    gate_.emplace(privacy::Gate::replay(told, {"records", privacy::Unit::kRecord, options.neighbours}));
    set_terms(options, *gate_);
  }
  PrivateRun(const PrivateRun&) = delete;
  PrivateRun& operator=(const PrivateRun&) = delete;

  [[nodiscard]] algorithms::Problem problem(const glm::Objective& objective) const {
    return {features_.matrix(), data_.labels, objective, &*terms_};
  }
  [[nodiscard]] algorithms::Problem open_problem(const glm::Objective& objective) const {
    return {features_.matrix(), data_.labels, objective};
  }
  privacy::Gate& gate() { return *gate_; }
  privacy::Ledger& ledger() { return *ledger_; }
  const privacy::GridFeatures& features() const { return features_; }

 private:
  static std::optional<std::size_t> stated(const Data& data, const PrivateRunOptions& options) {
    if (options.neighbours == privacy::Neighbours::kReplaceOne) return std::nullopt;
    return options.records.value_or(data.labels.size());
  }
  static std::size_t columns(const Data& data) { return static_cast<std::size_t>(data.features.cols()); }
  void set_terms(const PrivateRunOptions& options, privacy::Gate& gate) {
    terms_.emplace(algorithms::PrivateTerms{
        .target = {*privacy::Epsilon::make(options.epsilon), *privacy::Delta::make(options.delta), options.neighbours},
        .smoothness = options.smoothness,
        .derivative_bound = options.derivative_bound,
        .row_bound = options.row_bound.value_or(std::sqrt(static_cast<double>(columns(data_)))),
        .numbers = options.numbers,
        .finds_row_norm = options.finds_row_norm,
        .features = &features_,
        .gate = &gate});
  }

  const Data& data_;
  TemporaryFolder folder_;
  privacy::GridFeatures features_;
  privacy::SeededGenerator bits_;
  std::optional<privacy::Ledger> ledger_;
  std::optional<privacy::Gate> gate_;
  std::optional<algorithms::PrivateTerms> terms_;
};

}  // namespace parley::test
