#include "parley/algorithms/sgd/sgd_sites.h"

#include <utility>
#include <vector>

#include "parley/algorithms/parts/private_terms.h"
#include "parley/privacy/mechanisms/poisson_sampling.h"
#include "parley/privacy/noisy_total.h"
#include "parley/privacy/randomness/generator.h"
#include "parley/privacy/sensitivity/batch_sum.h"

namespace parley::algorithms {

namespace {

constexpr double kFewRecords = 8;  // columns to a record, at least

class OpenSite final : public SgdSite {
 public:
  OpenSite(const Problem& problem, BatchDerivatives& derivatives, const SgdPlan& plan,
           privacy::PoissonSampling sampling, std::unique_ptr<privacy::Bits> bits)
      : records_(problem.labels.size()),
        steps_(plan.steps),
        derivatives_(derivatives),
        sum_(problem, derivatives, plan.clip),
        sampling_(std::move(sampling)),
        bits_(std::move(bits)) {}

  Result<std::span<const double>> sum(std::span<const double> weights) override {
    sampling_.draw(records_, *bits_, batch_);
    return sum_.sum(batch_, derivatives_.at(weights, batch_));
  }
  [[nodiscard]] int steps() const override { return steps_; }

 private:
  std::size_t records_;
  int steps_;
  BatchDerivatives& derivatives_;
  PlainBatchSum sum_;
  privacy::PoissonSampling sampling_;
  std::unique_ptr<privacy::Bits> bits_;
  std::vector<std::size_t> batch_;
};

class GatedSite final : public SgdSite {
 public:
  GatedSite(const Problem& problem, BatchDerivatives& derivatives, privacy::PoissonSampling sampling,
            privacy::BatchSum sum, privacy::Deviation noise, int steps)
      : problem_(problem),
        derivatives_(derivatives),
        sampling_(std::move(sampling)),
        sum_(std::move(sum)),
        noise_(noise),
        steps_(steps) {}

  Result<std::span<const double>> sum(std::span<const double> weights) override {
    privacy::Gate& gate = *problem_.privacy->gate;
    PARLEY_TRY(privacy::Batch batch, gate.sample(sampling_, problem_.labels.size()));
    const auto derivatives = derivatives_.at(weights, batch.records());
    PARLEY_TRY(const auto released, gate.release(sum_.sum(std::move(batch), derivatives), noise_));
    released_ = released.value();
    return std::span<const double>(released_);
  }
  [[nodiscard]] int steps() const override { return steps_; }

 private:
  const Problem& problem_;
  BatchDerivatives& derivatives_;
  privacy::PoissonSampling sampling_;
  privacy::BatchSum sum_;
  privacy::Deviation noise_;
  int steps_;
  std::vector<double> released_;
};

Result<privacy::BatchSum> clipped_sums(const Problem& problem, BatchDerivatives& derivatives, const SgdPlan& plan) {
  const PrivateTerms& terms = *problem.privacy;
  PARLEY_TRY(privacy::BatchSum sum,
             privacy::BatchSum::make(*terms.features, {.norm_bound = plan.clip,
                                                       .derivative_bound = terms.derivative_bound,
                                                       .classes = problem.objective.classes,
                                                       .constant = problem.objective.intercept != glm::Intercept::kNone,
                                                       .neighbours = terms.target.neighbours,
                                                       .unit = terms.unit,
                                                       .noise_multiplier = plan.noise}));
  const auto batch = static_cast<std::size_t>(plan.rate * static_cast<double>(problem.labels.size()));
  if (!derivatives.by_passes(batch)) sum.read_rows_from(derivatives.rows());
  return sum;
}

}  // namespace

Result<std::unique_ptr<SgdSite>> open_site(const Problem& problem, BatchDerivatives& derivatives, const SgdPlan& plan,
                                           std::uint64_t seed) {
  PARLEY_TRY(privacy::PoissonSampling sampling, privacy::PoissonSampling::make(plan.rate));
  privacy::SeededGenerator root(seed);
  PARLEY_TRY(std::unique_ptr<privacy::Bits> bits, root.fork("sampling"));
  return std::make_unique<OpenSite>(problem, derivatives, plan, std::move(sampling), std::move(bits));
}

Result<std::unique_ptr<SgdSite>> gated_site(const Problem& problem, BatchDerivatives& derivatives,
                                            const SgdPlan& plan) {
  const PrivateTerms& terms = *problem.privacy;
  PARLEY_TRY(privacy::PoissonSampling sampling, privacy::PoissonSampling::make(plan.rate));
  PARLEY_TRY(privacy::BatchSum sum, clipped_sums(problem, derivatives, plan));
  const privacy::Deviation noise{plan.noise * sum.contribution()};
  // The multiplier as the gate will compute it from the same two doubles.
  const privacy::SubsampledGaussian event{noise.sigma / sum.contribution(), plan.rate};
  PARLEY_TRY(const std::int64_t steps,
             terms.gate->reserve({.step = {{event, 1}}, .steps = plan.steps}, terms.target.delta));
  return std::make_unique<GatedSite>(problem, derivatives, std::move(sampling), std::move(sum), noise,
                                     static_cast<int>(steps));
}

bool is_linear(const Problem& problem, const SgdPlan& plan) {
  const glm::Objective& objective = problem.objective;
  const bool sparse = kFewRecords * plan.rate * plan.records <= static_cast<double>(problem.features.cols());
  // Noise fine enough for noisy_total.md.
  const bool fine = plan.noise >= 0.125 && problem.privacy->features->most_records() < 0x1p24;
  return sparse && fine && plan.momentum == 0 && plan.result == SgdResult::kLast && objective.l1 == 0 &&
         objective.l2 == 0 && !objective.l1_radius && !objective.sparsity;
}

Result<LinearOutcome> descend_linearly(const Problem& problem, BatchDerivatives& derivatives, const SgdPlan& plan,
                                       LinearWatch& watch) {
  privacy::Gate& gate = *problem.privacy->gate;
  const std::size_t records = problem.labels.size();
  PARLEY_TRY(const privacy::PoissonSampling sampling, privacy::PoissonSampling::make(plan.rate));
  PARLEY_TRY(privacy::BatchSum sum, clipped_sums(problem, derivatives, plan));
  const privacy::Deviation noise{plan.noise * sum.contribution()};
  const double factor = -plan.step / (plan.rate * plan.records);
  const privacy::SubsampledGaussian event = privacy::NoisyTotal::event(sum, noise, plan.rate);
  PARLEY_TRY(privacy::NoisyTotal total, privacy::NoisyTotal::make(gate, std::move(sum), noise, factor));
  PARLEY_TRY(const std::int64_t steps,
             gate.reserve({.step = {{event, 1}}, .steps = plan.steps}, problem.privacy->target.delta));
  LinearOutcome outcome{.allowed = static_cast<int>(steps)};
  for (bool wanted = true; wanted && outcome.steps < outcome.allowed;) {
    PARLEY_TRY(privacy::Batch batch, gate.sample(sampling, records));
    PARLEY_TRY(const std::span<const double> weights, total.weights_at(batch));
    const auto at_batch = derivatives.at_rows(weights, batch.records());
    PARLEY_CHECK(total.add(std::move(batch), at_batch));
    if (!watch.wants(++outcome.steps)) continue;
    PARLEY_TRY(const std::span<const double> all, total.weights());
    wanted = watch.see(outcome.steps, all);
  }
  PARLEY_TRY(const auto released, total.release());
  outcome.weights = released.value();
  for (double& weight : outcome.weights) weight *= factor;
  return outcome;
}

}  // namespace parley::algorithms
