#include "parley/runs/tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "parley/catalog/method.h"
#include "parley/catalog/read_job.h"
#include "parley/core/text.h"
#include "parley/glm/softmax.h"
#include "parley/privacy/accounting/repeat_and_select.h"
#include "parley/privacy/paid_runs.h"
#include "parley/privacy/sensitivity/clipped_sum.h"

namespace parley::runs {

using privacy::Epsilon;
using privacy::Gate;
using privacy::Plan;
using privacy::Target;

namespace {

constexpr std::size_t kMostTrials = 256;
constexpr double kWithin = 1 - 1e-9;  // of the target, so that roundings of the accountant stay inside

// Twice the loss of a model of zeros: worse is not told apart.
double largest_loss(const glm::Objective& objective, double label_bound) {
  switch (objective.task) {
    case glm::Task::kPoisson:  // refused before
    case glm::Task::kLinear:
      return label_bound * label_bound;
    case glm::Task::kSquaredHinge:
      return 2;
    case glm::Task::kLogistic:
      return 2 * std::log(2.0);
    case glm::Task::kSoftmax:
      return 2 * std::log(static_cast<double>(objective.classes));
  }
  return 1;
}

// <row, weights> added up column by column: how other records make a column be stored changes no digit of it.
double margin_of(const linalg::Matrix& features, linalg::Index row, std::span<const double> weights, double intercept) {
  double sum = 0;
  features.for_each_in_row(
      row, [&](linalg::Index column, double value) { sum += value * weights[static_cast<std::size_t>(column)]; });
  return sum + intercept;
}

// A loss that is not a number counts as `largest`: left out of the sum it would make a model that diverged the best of
// all.
std::vector<double> losses(const glm::Objective& objective, const linalg::Matrix& features,
                           std::span<const double> labels, const algorithms::Fit& fit, double largest) {
  std::vector<double> each(labels.size());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto row = static_cast<linalg::Index>(i);
    const auto columns = static_cast<std::size_t>(features.cols());
    std::vector<double> margins;
    for (int k = 0; k < objective.classes; ++k) {
      const auto at = static_cast<std::size_t>(k);
      margins.push_back(margin_of(features, row, std::span(fit.weights).subspan(at * columns, columns),
                                  fit.intercepts.empty() ? 0.0 : fit.intercepts[at]));
    }
    if (objective.task == glm::Task::kSoftmax) {
      const double top = *std::max_element(margins.begin(), margins.end());
      double sum = 0;
      for (const double margin : margins) sum += std::exp(margin - top);
      each[i] = top + std::log(sum) - margins[static_cast<std::size_t>(labels[i])];
    } else {
      each[i] = glm::with_loss(objective.task, [&](auto loss) { return loss.value(margins[0], labels[i]); });
    }
    if (!std::isfinite(each[i])) each[i] = largest;
  }
  return each;
}

// The noisy sum of the validation rows' losses: what a score is made of, and what it costs.
struct Scoring {
  privacy::ClipRule rule;
  privacy::Deviation noise;
  Plan plan;

  static Result<Scoring> make(const Target& target, double largest, privacy::Unit unit) {
    PARLEY_TRY(const privacy::Grain grain, privacy::Grain::below(largest, 20));
    Scoring scoring{.rule = {.bound = largest, .grain = grain, .neighbours = target.neighbours, .unit = unit},
                    .noise = {},
                    .plan = {}};
    PARLEY_TRY(const double multiplier, privacy::gaussian_noise(target, 1));
    // The sum's sensitivity as clipped_sum states it, asked of an empty one.
    PARLEY_TRY(const auto empty, privacy::clipped_sum_l2(privacy::Private(std::vector<double>{0.0}), scoring.rule));
    scoring.noise = {multiplier * empty.sensitivity()};
    PARLEY_TRY(const privacy::Event event, Gate::gaussian_event(empty.sensitivity(), grain, scoring.noise));
    scoring.plan = {target.neighbours, {event}};
    return scoring;
  }
};

// Everything that one run may cost, at (epsilon, delta) each.
struct Priced {
  std::vector<Plan> plans;  // one per trial
  Scoring scoring;
};

Result<Priced> price(const std::vector<Trial>& trials, const PrivateSite& site, const TuningData& data,
                     const Target& target, double largest) {
  PARLEY_TRY(Scoring scoring, Scoring::make(target, largest, site.terms().unit));
  Priced priced{{}, std::move(scoring)};
  for (const Trial& trial : trials) {
    Gate gate = Gate::rehearsal(site.purse());
    algorithms::PrivateTerms terms = site.terms();
    terms.target = target;
    terms.gate = &gate;
    const auto fit = trial.trainer({site.features(), data.labels, trial.objective, &terms}, {});
    if (gate.requests().empty())
      return fail(fit ? failed("a trial released nothing: there is nothing to tune") : fit.error());
    priced.plans.push_back(gate.charged());
  }
  return priced;
}

}  // namespace

Result<std::vector<Trial>> trials_of(const jobs::Job& job, int classes) {
  std::vector<std::vector<std::string>> product = {{}};
  for (const std::string& choice : job.tune->choices) {
    const std::size_t equals = choice.find('=');
    if (equals == std::string::npos)
      return fail(bad_input({job.file, 0, "tune.choices"}, "must look like \"section.key=value|value\"", choice));
    std::vector<std::vector<std::string>> longer;
    for (std::size_t from = equals + 1; from <= choice.size();) {
      const std::size_t to = std::min(choice.find('|', from), choice.size());
      for (std::vector<std::string> settings : product) {
        settings.push_back(choice.substr(0, equals + 1) + choice.substr(from, to - from));
        longer.push_back(std::move(settings));
      }
      from = to + 1;
    }
    product = std::move(longer);
    if (product.size() > kMostTrials)
      return fail(
          bad_input({job.file, 0, "tune.choices"}, fmt::format("make more than {} settings together", kMostTrials)));
  }
  std::vector<Trial> trials;
  for (const std::vector<std::string>& settings : product) {
    std::vector<std::string> overrides = job.overrides;
    overrides.insert(overrides.end(), settings.begin(), settings.end());
    PARLEY_TRY(jobs::Job tried, catalog::read_job(job.file, overrides));
    tried.objective.classes = classes;
    trials.push_back({settings, catalog::method_of(tried).train, tried.objective, tried.algorithm});
  }
  return trials;
}

Result<Tuned> tune(const jobs::Job& job, std::vector<Trial> trials, PrivateSite& site, const TuningData& data,
                   const algorithms::Observer& observer) {
  const Target target = site.terms().target;
  const double largest = largest_loss(trials.front().objective, site.facts().label_bound);
  PARLEY_TRY(const privacy::RandomRepetitions repetitions, privacy::RandomRepetitions::make(job.tune->trials));
  // The largest epsilon of a run, to 1 %: between none and the whole target.
  double low = 0, high = target.epsilon.value();
  std::optional<Priced> fitting;
  for (int i = 0; i < 40 && (!fitting || high > 1.01 * low); ++i) {
    const double middle = fitting ? 0.5 * (low + high) : 0.4 * high;
    PARLEY_TRY(const Epsilon epsilon, Epsilon::make(middle));
    PARLEY_TRY(Priced priced, price(trials, site, data, {epsilon, target.delta, target.neighbours}, largest));
    PARLEY_TRY(const privacy::ApproxDp total,
               Gate::best_of_event(repetitions, priced.plans, priced.scoring.plan, target.delta));
    if (total.epsilon <= target.epsilon.value() * kWithin) {
      fitting = std::move(priced);
      low = middle;
    } else {
      high = middle;
    }
  }
  if (!fitting) return fail(failed("tuning: no noise within the range of double precision meets this target"));
  PARLEY_TRY(privacy::PaidRuns runs,
             site.gate().reserve_best_of(repetitions, fitting->plans, fitting->scoring.plan, target.delta));

  using Scored = privacy::PaidRuns::Scored<Tuned>;
  const auto once = [&](privacy::PaidRuns::Run& run) -> Result<Scored> {
    const Trial& trial = trials[run.setting];
    algorithms::PrivateTerms terms = site.terms();
    terms.target = {*Epsilon::make(low), target.delta, target.neighbours};
    terms.gate = &run.training;
    PARLEY_TRY(algorithms::Fit fit, trial.trainer({site.features(), data.labels, trial.objective, &terms}, observer));
    PARLEY_CHECK(run.scoring.reserve({.step = fitting->scoring.plan.events}, target.delta));
    const privacy::Private each(losses(trial.objective, data.validation, data.validation_labels, fit, largest));
    PARLEY_TRY(const auto sum, privacy::clipped_sum_l2(each, fitting->scoring.rule));
    PARLEY_TRY(const auto released, run.scoring.release(sum, fitting->scoring.noise));
    const auto score = privacy::derive([](const std::vector<double>& loss) { return -loss.front(); }, released);
    const bool interrupted = fit.stop == algorithms::Stop::kInterrupted;
    return Scored{Tuned{std::move(fit), trial, low, fitting->plans[run.setting]}, score, interrupted};
  };
  return std::move(runs).best<Tuned>(once);
}

}  // namespace parley::runs
