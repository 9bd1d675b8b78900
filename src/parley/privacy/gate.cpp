#include "parley/privacy/gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "parley/privacy/accounting/accountant.h"

namespace parley::privacy {

namespace {

// Shares of noise on a masked sum, in grains: what the proof needs, and what leaves room for a sum.
constexpr double kFewestMaskedGrains = 0x1p22;
constexpr double kMostMaskedGrains = 0x1p40;

// draw() or, when the generator fails, an error: there is no weaker source to fall back to, and nothing is released.
template <class Draw>
auto drawn(const Draw& draw) -> decltype(draw()) {
  try {
    return draw();
  } catch (const RandomnessFailure&) {
    return fail(failed("the source of randomness failed; the release was charged and did not happen"));
  }
}

template <class Source>
GridVector noisy(GridVector value, const Source& source, Bits& bits) {
  source.add_to(value.counts, bits);
  return value;
}

template <class Source>
double noisy(GridValue value, const Source& source, Bits& bits) {
  source.add_to({&value.count, 1}, bits);
  return from_grid(value.count, value.grain);
}

}  // namespace

Result<Gate> Gate::open(Ledger& ledger, Purse purse, std::string run, Bits& bits) {
  if (run.empty()) return fail(bad_input({.field = "run"}, "a run needs a name, so that its releases can be told apart"));
  return Gate(&ledger, std::move(purse), std::move(run), &bits);
}

Result<Gate> Gate::resume(Ledger& ledger, Purse purse, std::string run, Bits& bits, Progress kept, AnswersAreMarked) {
  if (kept.plans > 1) return fail(failed("a run of several plans cannot be taken up again"));
  PARLEY_TRY(Gate gate, open(ledger, std::move(purse), std::move(run), bits));
  gate.releases_ = kept.releases;
  gate.kept_ = std::move(kept);
  return gate;
}

Result<void> Gate::begin_round(std::int64_t round) {
  if (bits_ == nullptr) return {};
  if (all_rounds_ == nullptr) all_rounds_ = bits_;
  PARLEY_TRY(of_round_, all_rounds_->fork("round", static_cast<std::uint64_t>(round)));
  bits_ = of_round_.get();
  sampling_.reset();
  return {};
}

Progress Gate::progress() const {
  if (receipts_.empty() && kept_) return *kept_;  // nothing was drawn since
  return {static_cast<std::int64_t>(receipts_.size()), plan_ ? plan_->left() : std::vector<std::int64_t>{}, releases_};
}

Gate Gate::replay(Transcript transcript, Purse purse) {
  Gate gate(nullptr, std::move(purse), "replay", nullptr);
  gate.replays_ = true;
  gate.transcript_ = std::move(transcript);
  return gate;
}

Gate Gate::granted(Plan plan, Purse purse, Bits& bits) {
  Gate gate(nullptr, std::move(purse), "granted", &bits);
  gate.granted_ = std::move(plan);
  return gate;
}

Gate Gate::rehearsal(Purse purse) {
  Gate gate(nullptr, std::move(purse), "rehearsal", nullptr);
  gate.rehearses_ = true;
  return gate;
}

Result<void> Gate::check(Neighbours neighbours, Unit unit) const {
  if (!charges()) return fail(failed("a run without privacy has no budget to pay noise from"));
  if (neighbours != purse_.neighbours || unit != purse_.unit)
    return fail(failed(fmt::format("a {} bound under {} cannot be paid from a {} budget under {}", name(unit), name(neighbours),
                                   name(purse_.unit), name(purse_.neighbours))));
  return {};
}

namespace {

// Noise that no source can draw is not paid for. These scales are in grains (gaussian_event, laplace_event).
Result<void> check_drawable(const std::vector<Event>& events) {
  for (const Event& event : events) {
    double scale = 1;
    if (const auto* gaussian = std::get_if<Gaussian>(&event.mechanism)) scale = gaussian->sigma;
    if (const auto* gaussian = std::get_if<DiscreteGaussian>(&event.mechanism)) scale = gaussian->sigma;
    if (const auto* laplace = std::get_if<DiscreteLaplace>(&event.mechanism)) scale = laplace->scale;
    if (!(scale >= 0x1p-20) || !(scale <= 0x1p40))
      return fail(
          bad_input({.field = "privacy.epsilon"},
                    "with this many releases asks for noise beyond what a grid can carry (2^-20 to 2^40 grains); nothing was charged",
                    fmt::format("{} grains", scale)));
  }
  return {};
}

}  // namespace

Result<std::int64_t> Gate::reserve(const Reservation& reservation, Delta delta) {
  PARLEY_CHECK(check_drawable(reservation.once));
  PARLEY_CHECK(check_drawable(reservation.step));
  PlanRequest request{.run = run_,
                      .key = fmt::format("plan {}", receipts_.size() + 1),
                      .once = reservation.once,
                      .step = reservation.step,
                      .steps = std::min(reservation.steps, promised_.value_or(reservation.steps)),
                      .delta = delta,
                      .claimed = claims_valid()};
  plan_.reset();
  if (!charges()) return fail(failed("a run without privacy has no budget to pay noise from"));
  PlanReceipt receipt{.steps = request.steps};
  PARLEY_TRY(const std::optional<PaidPlan> paid, paid_before(request));
  if (granted_) {
    if (request.plan(purse_.neighbours, request.steps) != *granted_)
      return fail(failed("this plan is not the one that was paid for; nothing was released"));
    granted_ = Plan{};  // once
  } else if (paid) {
    receipt = paid->receipt;
  } else if (ledger_ != nullptr) {
    if (covers_cost_) PARLEY_CHECK(cover(request));
    if (budget_if_none_) {
      PARLEY_TRY(set_budget_, ledger_->set_budget_if_none(purse_, *budget_if_none_));
    }
    PARLEY_TRY(receipt, ledger_->charge_plan(purse_, request));
  }
  const Plan plan = request.plan(purse_.neighbours, receipt.steps);
  PARLEY_TRY(PlannedFilter filter, paid && kept_->plans > 0 ? PlannedFilter::resume(plan, kept_->left) : PlannedFilter::make(plan));
  receipts_.push_back(receipt);
  requests_.push_back(std::move(request));
  charged_.neighbours = purse_.neighbours;
  charged_.events.insert(charged_.events.end(), plan.events.begin(), plan.events.end());
  if (rehearses_) return fail(failed("a rehearsal ends where the run would be charged"));
  plan_ = std::move(filter);
  return receipt.steps;
}

// A plan in the ledger that nothing was kept of was charged and not drawn from: the answer that it was charged for was
// never kept, so it never left. The other way round the ledger is not the one that was charged.
Result<std::optional<PaidPlan>> Gate::paid_before(const PlanRequest& request) {
  if (!kept_ || ledger_ == nullptr) return std::nullopt;
  PARLEY_TRY(std::optional<PaidPlan> paid, ledger_->paid_plan(purse_, run_, request.key));
  if (!paid && kept_->plans > static_cast<std::int64_t>(receipts_.size()))
    return fail(failed("this run drew from a plan that its ledger does not hold; nothing was released"));
  if (paid && (paid->receipt.steps > request.steps || paid->claimed != request.claimed ||
               paid->plan != request.plan(purse_.neighbours, paid->receipt.steps)))
    return fail(
        failed("this run was charged for another plan: the data, the job or the source of randomness changed; nothing was released"));
  return paid;
}

Result<ApproxDp> Gate::best_of_event(const RandomRepetitions& repetitions, const std::vector<Plan>& plans, const Plan& score, Delta delta) {
  constexpr double kWithin = 1 - 1e-9;  // so that roundings of the accountant that prices the event stay inside delta
  PARLEY_TRY(const Delta inner, Delta::make(delta.value() * kWithin));
  std::vector<Plan> all = plans;
  all.push_back(score);
  PARLEY_TRY(const double cost, repetitions.epsilon_at(all, inner));
  return ApproxDp{cost, inner.value()};
}

Result<PaidRuns> Gate::reserve_best_of(const RandomRepetitions& repetitions, const std::vector<Plan>& plans, const Plan& score,
                                       Delta delta) {
  if (replays_ || granted_ || kept_) return fail(failed("runs are paid for together at a gate that charges a ledger, and once"));
  PARLEY_TRY(const ApproxDp event, best_of_event(repetitions, plans, score, delta));
  PARLEY_CHECK(reserve({.step = {{event, 1}}}, delta));
  plan_.reset();  // what was paid for is drawn at the gates of the runs
  return drawn([&]() -> Result<PaidRuns> { return PaidRuns(plans, score, purse_, *bits_, repetitions.draw(*bits_)); });
}

Result<PaidRuns::Begun> PaidRuns::begin(std::int64_t run) {
  PARLEY_TRY(auto bits, bits_->fork("paid run", streams_ + static_cast<std::uint64_t>(run)));
  PARLEY_TRY(const std::size_t setting,
             drawn([&]() -> Result<std::size_t> { return static_cast<std::size_t>(bits->below(plans_.size())); }));
  Bits& own = *bits;
  return Begun{std::move(bits), {setting, Gate::granted(plans_[setting], purse_, own), Gate::granted(score_, purse_, own)}};
}

Result<void> Gate::cover(const PlanRequest& request) {
  PARLEY_TRY(const Spent spent, ledger_->spent(purse_));
  if (spent.budget) return {};
  PARLEY_TRY(const double cost, epsilon_at(request.plan(purse_.neighbours, request.steps), request.delta));
  PARLEY_TRY(const Epsilon epsilon, Epsilon::make(cost));
  PARLEY_CHECK(ledger_->set_budget_if_none(purse_, {epsilon, request.delta, Composition::kPlans}));
  return {};
}

Result<void> Gate::charge(const Mechanism& mechanism, std::string_view key, std::int64_t count) {
  if (!charges()) return fail(failed("a run without privacy has no budget to pay noise from"));
  if (replays_) return {};
  if (ledger_ == nullptr) return fail(failed("this gate pays by plan only"));
  PARLEY_CHECK(ledger_->charge(purse_, {run_, std::string(key), {mechanism, count}, claims_valid()}));
  return {};
}

Result<void> Gate::draw_from_plan(const Mechanism& mechanism, std::int64_t count) {
  if (!plan_) return fail(failed("nothing was reserved: a release without a key needs a plan that was paid for"));
  return plan_->charge({mechanism, count}, purse_.neighbours);
}

Result<std::span<const double>> Gate::replayed(std::size_t count) {
  if (transcript_.size() - replayed_ < count)
    return fail(failed(fmt::format("the transcript ends after {} numbers; the run asks for more", transcript_.size())));
  const auto next = std::span<const double>(transcript_).subspan(replayed_, count);
  replayed_ += count;
  return next;
}

void Gate::note(std::span<const double> values) {
  ++releases_;
  if (keep_transcript_ && !replays_) transcript_.insert(transcript_.end(), values.begin(), values.end());
}

// A word is two numbers: its upper and its lower half.
void Gate::note_words(const MaskedVector& sent) {
  std::vector<double> halves;
  for (const std::int64_t word : sent.words) {
    halves.push_back(static_cast<double>(static_cast<std::uint64_t>(word) >> 32));
    halves.push_back(static_cast<double>(static_cast<std::uint64_t>(word) & 0xffffffff));
  }
  note(halves);
}

Result<Released<std::vector<double>>> Gate::released_vector(std::size_t size, const std::function<GridVector()>& draw) {
  std::vector<double> values;
  if (replays_) {
    PARLEY_TRY(const std::span<const double> told, replayed(size));
    values.assign(told.begin(), told.end());
  } else {
    PARLEY_TRY(values, drawn([&]() -> Result<std::vector<double>> { return values_of(draw()); }));
  }
  note(values);
  return Released<std::vector<double>>(std::move(values), claims_valid());
}

template <class Draw>
Result<Released<double>> Gate::released_number(const Draw& draw) {
  double value = 0;
  if (replays_) {
    PARLEY_TRY(const std::span<const double> told, replayed(1));
    value = told.front();
  } else {
    PARLEY_TRY(value, drawn([&]() -> Result<double> { return draw(); }));
  }
  note({&value, 1});
  return Released<double>(value, claims_valid());
}

Result<Released<std::size_t>> Gate::released_index(const std::function<Result<std::size_t>()>& draw) {
  std::size_t index = 0;
  if (replays_) {
    PARLEY_TRY(const std::span<const double> told, replayed(1));
    index = static_cast<std::size_t>(told.front());
  } else {
    PARLEY_TRY(index, drawn(draw));
  }
  const auto number = static_cast<double>(index);
  note({&number, 1});
  return Released<std::size_t>(index, claims_valid());
}

Result<Released<std::vector<std::size_t>>> Gate::released_indices(std::size_t size,
                                                                  const std::function<Result<std::vector<std::size_t>>()>& draw) {
  std::vector<std::size_t> indices;
  if (replays_) {
    PARLEY_TRY(const std::span<const double> told, replayed(size));
    for (const double number : told) indices.push_back(static_cast<std::size_t>(number));
  } else {
    PARLEY_TRY(indices, drawn(draw));
  }
  note(std::vector<double>(indices.begin(), indices.end()));
  return Released<std::vector<std::size_t>>(std::move(indices), claims_valid());
}

std::vector<double> Gate::values_of(const GridVector& grid) {
  std::vector<double> values;
  values.reserve(grid.counts.size());
  const double grain = grid.grain.value();
  for (const std::int64_t count : grid.counts) values.push_back(static_cast<double>(count) * grain);
  return values;
}

Result<const RoundedGaussianNoise*> Gate::gaussian_source(double sigma, Grain grain) {
  for (const auto& known : gaussians_)
    if (known->grain() == grain && known->sigma_in_grains() == grain.grains(sigma)) return known.get();
  PARLEY_TRY(RoundedGaussianNoise made, RoundedGaussianNoise::make(sigma, grain));
  return gaussians_.emplace_back(std::make_unique<RoundedGaussianNoise>(std::move(made))).get();
}

Result<const DiscreteGaussianNoise*> Gate::discrete_gaussian_source(double sigma, Grain grain) {
  for (const auto& known : discrete_gaussians_)
    if (known->grain() == grain && known->sigma_in_grains() == grain.grains(sigma)) return known.get();
  PARLEY_TRY(DiscreteGaussianNoise made, DiscreteGaussianNoise::make(sigma, grain));
  return discrete_gaussians_.emplace_back(std::make_unique<DiscreteGaussianNoise>(std::move(made))).get();
}

Result<const DiscreteLaplaceNoise*> Gate::laplace_source(double scale, Grain grain) {
  for (const auto& known : laplaces_)
    if (known->grain() == grain && known->scale_in_grains() == grain.grains(scale)) return known.get();
  PARLEY_TRY(DiscreteLaplaceNoise made, DiscreteLaplaceNoise::make(scale, grain));
  return laplaces_.emplace_back(std::make_unique<DiscreteLaplaceNoise>(std::move(made))).get();
}

template <class Mechanism>
Result<const Mechanism*> Gate::made_once(MadeOnce<Mechanism>& known, double epsilon, double sensitivity) {
  for (const auto& each : known)
    if (each->epsilon == epsilon && each->sensitivity == sensitivity) return &each->mechanism;
  PARLEY_TRY(Mechanism made, Mechanism::make({.epsilon = epsilon, .sensitivity = sensitivity}));
  known.push_back(std::make_unique<Made<Mechanism>>(Made<Mechanism>{epsilon, sensitivity, std::move(made)}));
  return &known.back()->mechanism;
}

Result<const ExponentialSelection*> Gate::selection(double epsilon, double sensitivity) {
  return made_once(selections_, epsilon, sensitivity);
}

Result<Event> Gate::gaussian_event(double sensitivity, Grain grain, Deviation noise) {
  PARLEY_CHECK(validate(grain));
  const Event event{Gaussian{grain.grains(noise.sigma), grain.grains(sensitivity)}, 1};
  PARLEY_CHECK(validate(event));
  return event;
}

Result<Event> Gate::laplace_event(double sensitivity, Grain grain, LaplaceScale noise, std::int64_t dimensions) {
  PARLEY_CHECK(validate(grain));
  const Event event{DiscreteLaplace{grain.grains(noise.scale), grain.grains(sensitivity), dimensions}, 1};
  PARLEY_CHECK(validate(event));
  return event;
}

Result<Released<double>> Gate::gaussian(const Sensitive<GridValue, L2>& value, Deviation noise) {
  PARLEY_CHECK(check(value));
  const Grain grain = value.value_.grain;
  PARLEY_TRY(const RoundedGaussianNoise* source, gaussian_source(noise.sigma, grain));
  PARLEY_CHECK(draw_from_plan(source->event(grain.grains(value.sensitivity()))));
  return released_number([&] { return noisy(value.value_, *source, *bits_); });
}

Result<Released<double>> Gate::laplace(const Sensitive<GridValue, L1>& value, LaplaceScale noise) {
  PARLEY_CHECK(check(value));
  const Grain grain = value.value_.grain;
  PARLEY_TRY(const DiscreteLaplaceNoise* source, laplace_source(noise.scale, grain));
  PARLEY_CHECK(draw_from_plan(source->event(grain.grains(value.sensitivity()), 1)));
  return released_number([&] { return noisy(value.value_, *source, *bits_); });
}

Result<Released<std::vector<double>>> Gate::gaussian(const Sensitive<GridVector, L2>& value, Deviation noise) {
  PARLEY_CHECK(check(value));
  const Grain grain = value.value_.grain;
  PARLEY_TRY(const RoundedGaussianNoise* source, gaussian_source(noise.sigma, grain));
  PARLEY_CHECK(draw_from_plan(source->event(grain.grains(value.sensitivity()))));
  return released_vector(value.value_.counts.size(), [&] { return noisy(value.value_, *source, *bits_); });
}

Result<Released<std::vector<double>>> Gate::gaussian(Sensitive<SampledVector, L2>&& given, Deviation noise) {
  const Sensitive<SampledVector, L2> value = std::move(given);
  PARLEY_CHECK(check(value));
  const GridVector& sum = value.value_.sum;
  PARLEY_TRY(const RoundedGaussianNoise* source, gaussian_source(noise.sigma, sum.grain));
  PARLEY_CHECK(draw_from_plan(SubsampledGaussian{noise.sigma / value.sensitivity(), value.value_.rate}));
  return released_vector(sum.counts.size(), [&] { return noisy(sum, *source, *bits_); });
}

Result<Event> Gate::masked_event(double sensitivity, Grain grain, NoiseShare noise) {
  PARLEY_CHECK(validate(grain));
  if (noise.parties < 2)
    return fail(bad_input({.field = "parties"}, "a sum of fewer than two parties hides nobody", fmt::format("{}", noise.parties)));
  const double grains = grain.grains(noise.sigma);
  if (!(grains >= kFewestMaskedGrains) || !(grains <= kMostMaskedGrains))
    return fail(bad_input({.field = "grain"}, "a share of noise must have 2^22 to 2^40 grains", fmt::format("{}", grains)));
  // A party that looks at the sum knows its own noise: one share is left out. 2^-40 is what discrete noise takes.
  const double others = std::sqrt(static_cast<double>(noise.parties - 1));
  const Event event{Gaussian{grains * others * (1 - 0x1p-40), grain.grains(sensitivity)}, 1};
  PARLEY_CHECK(validate(event));
  return event;
}

Result<MaskSecret> Gate::mask_secret() {
  std::unique_ptr<Bits> own;  // of a replay, which draws no noise
  if (bits_ == nullptr) {
    PARLEY_TRY(own, SecureGenerator::from_system());
  }
  return drawn([&]() -> Result<MaskSecret> {
    MaskSecret secret{};
    (own ? own.get() : bits_)->fill(secret);
    return secret;
  });
}

Result<Released<MaskedVector>> Gate::masked(const Sensitive<GridVector, L2>& value, NoiseShare noise, OneTimeMask&& given) {
  const OneTimeMask mask = std::move(given);
  PARLEY_CHECK(check(value));
  const GridVector& grid = value.value_;
  if (mask.size() != grid.counts.size() || mask.parties_ != noise.parties)
    return fail(failed("a mask must be as long as the value, and of the parties that add noise"));
  PARLEY_TRY(const Event event, masked_event(value.sensitivity(), grid.grain, noise));
  PARLEY_TRY(const DiscreteGaussianNoise* source, discrete_gaussian_source(noise.sigma, grid.grain));
  PARLEY_CHECK(draw_from_plan(event.mechanism));
  MaskedVector sent;
  if (replays_) {
    PARLEY_TRY(const std::span<const double> told, replayed(2 * grid.counts.size()));
    for (std::size_t k = 0; k < told.size(); k += 2)
      sent.words.push_back(static_cast<std::int64_t>(static_cast<std::uint64_t>(told[k]) << 32 | static_cast<std::uint64_t>(told[k + 1])));
    ++releases_;
  } else {
    PARLEY_TRY(sent, drawn([&]() -> Result<MaskedVector> {
                 GridVector noised = noisy(grid, *source, *bits_);
                 for (std::size_t k = 0; k < noised.counts.size(); ++k)  // modulo 2^64
                   noised.counts[k] = static_cast<std::int64_t>(static_cast<std::uint64_t>(noised.counts[k]) + mask.words_[k]);
                 return MaskedVector{std::move(noised.counts)};
               }));
    note_words(sent);
  }
  return Released<MaskedVector>(std::move(sent), claims_valid());
}

Result<Released<std::vector<double>>> Gate::laplace(const Sensitive<GridVector, L1>& value, LaplaceScale noise) {
  PARLEY_CHECK(check(value));
  const Grain grain = value.value_.grain;
  PARLEY_TRY(const DiscreteLaplaceNoise* source, laplace_source(noise.scale, grain));
  const auto dimensions = static_cast<std::int64_t>(value.value_.counts.size());
  PARLEY_CHECK(draw_from_plan(source->event(grain.grains(value.sensitivity()), dimensions)));
  return released_vector(value.value_.counts.size(), [&] { return noisy(value.value_, *source, *bits_); });
}

Result<Released<std::size_t>> Gate::select(const Sensitive<ScoreList, Linf>& scores, Epsilon epsilon) {
  PARLEY_CHECK(check(scores));
  PARLEY_TRY(const ExponentialSelection* mechanism, selection(epsilon.value(), scores.sensitivity()));
  PARLEY_CHECK(draw_from_plan(mechanism->event()));
  return released_index([&] { return mechanism->select(scores.value_.values(), *bits_); });
}

Result<Released<std::size_t>> Gate::noisy_max(const Sensitive<ScoreList, Linf>& scores, Epsilon epsilon) {
  PARLEY_CHECK(check(scores));
  PARLEY_TRY(const NoisyMax* mechanism, made_once(noisy_maxima_, epsilon.value(), scores.sensitivity()));
  PARLEY_CHECK(draw_from_plan(mechanism->event()));
  return released_index([&] { return mechanism->select(scores.value_.values(), *bits_); });
}

template <class T>
Result<Released<std::size_t>> Gate::flipped(const Sensitive<T, Linf>& bound, std::span<const double> scores, Epsilon epsilon, Key key,
                                            std::optional<Grain> grain) {
  PARLEY_CHECK(check(bound));
  PARLEY_TRY(const PermuteAndFlip mechanism,
             PermuteAndFlip::make({.epsilon = epsilon.value(), .sensitivity = bound.sensitivity(), .grain = grain}));
  PARLEY_CHECK(pay({mechanism.event(), 1}, key));
  return released_index([&] { return mechanism.select(scores, *bits_); });
}
template Result<Released<std::size_t>> Gate::flipped(const Sensitive<ScoreList, Linf>&, std::span<const double>, Epsilon, Key,
                                                     std::optional<Grain>);
template Result<Released<std::size_t>> Gate::flipped(const Sensitive<GridVector, Linf>&, std::span<const double>, Epsilon, Key,
                                                     std::optional<Grain>);

template <class T>
Result<Released<std::vector<std::size_t>>> Gate::picked(const Sensitive<T, Linf>& bound, std::span<const double> scores, BestOf best,
                                                        Epsilon each, Key key, std::optional<Grain> grain) {
  PARLEY_CHECK(check(bound));
  if (best.k > scores.size())
    return fail(
        bad_input({.field = "k"}, fmt::format("must be at most the number of scores, {}", scores.size()), fmt::format("{}", best.k)));
  PARLEY_TRY(const TopK mechanism, TopK::make({.epsilon = each.value(), .sensitivity = bound.sensitivity(), .grain = grain}, best.k));
  PARLEY_CHECK(pay(mechanism.event(), key));
  return released_indices(
      best.k, [&] { return best.picking == Picking::kOneShot ? mechanism.one_shot(scores, *bits_) : mechanism.peel(scores, *bits_); });
}
template Result<Released<std::vector<std::size_t>>> Gate::picked(const Sensitive<ScoreList, Linf>&, std::span<const double>, BestOf,
                                                                 Epsilon, Key, std::optional<Grain>);
template Result<Released<std::vector<std::size_t>>> Gate::picked(const Sensitive<GridVector, Linf>&, std::span<const double>, BestOf,
                                                                 Epsilon, Key, std::optional<Grain>);

// Labels are different people's, so all of them cost what one costs.
Result<Released<std::vector<std::size_t>>> Gate::responses(const Sensitive<ClassLabels, Hamming>& labels, Epsilon epsilon, Key key) {
  PARLEY_CHECK(check(labels));
  PARLEY_TRY(const RandomisedResponse mechanism, RandomisedResponse::make(epsilon.value(), labels.value_.classes));
  PARLEY_CHECK(pay({mechanism.event(), 1}, key));
  return released_indices(labels.value_.labels.size(), [&]() -> Result<std::vector<std::size_t>> {
    std::vector<std::size_t> answers = labels.value_.labels;
    PARLEY_CHECK(mechanism.respond(answers, *bits_));
    return answers;
  });
}

Result<Released<std::vector<double>>> Gate::noisy_labels(const Sensitive<ClassLabels, Hamming>& labels, Epsilon epsilon, Key key) {
  PARLEY_CHECK(check(labels));
  const ClassLabels& given = labels.value_;
  PARLEY_TRY(const LabelLaplace mechanism, LabelLaplace::make(epsilon.value(), given.classes));
  PARLEY_CHECK(pay({mechanism.event(), 1}, key));
  return released_vector(given.labels.size() * given.classes, [&] {
    return GridVector{mechanism.release(given.labels, *bits_).value(), mechanism.grain()};  // labels are below classes
  });
}

Result<Batch> Gate::sample(const PoissonSampling& sampling, std::size_t records) {
  std::vector<std::size_t> joined;
  if (replays_) return Batch({}, sampling.rate());
  if (bits_ == nullptr) return fail(failed(charges() ? "a rehearsal draws nothing" : "a run without privacy draws no secret sample"));
  if (sampling_ == nullptr) {
    PARLEY_TRY(sampling_, bits_->fork("sampling"));
  }
  return drawn([&]() -> Result<Batch> {
    sampling.draw(records, *sampling_, joined);
    return Batch(std::move(joined), sampling.rate());
  });
}

Result<Released<std::vector<double>>> Gate::gaussian(const Sensitive<GridVector, L2>& value, Deviation noise, std::string_view key) {
  PARLEY_CHECK(check(value));
  const Grain grain = value.value_.grain;
  PARLEY_TRY(const RoundedGaussianNoise* source, gaussian_source(noise.sigma, grain));
  PARLEY_CHECK(charge(source->event(grain.grains(value.sensitivity())), key));
  return released_vector(value.value_.counts.size(), [&] { return noisy(value.value_, *source, *bits_); });
}

Result<Released<std::vector<double>>> Gate::laplace(const Sensitive<GridVector, L1>& value, LaplaceScale noise, std::string_view key) {
  PARLEY_CHECK(check(value));
  const Grain grain = value.value_.grain;
  PARLEY_TRY(const DiscreteLaplaceNoise* source, laplace_source(noise.scale, grain));
  const auto dimensions = static_cast<std::int64_t>(value.value_.counts.size());
  PARLEY_CHECK(charge(source->event(grain.grains(value.sensitivity()), dimensions), key));
  return released_vector(value.value_.counts.size(), [&] { return noisy(value.value_, *source, *bits_); });
}

Result<Released<std::size_t>> Gate::select(const Sensitive<GridVector, Linf>& scores, Epsilon epsilon, std::string_view key) {
  PARLEY_CHECK(check(scores));
  PARLEY_TRY(const ExponentialSelection mechanism,
             ExponentialSelection::make({.epsilon = epsilon.value(), .sensitivity = scores.sensitivity(), .grain = scores.value_.grain}));
  PARLEY_CHECK(charge(mechanism.event(), key));
  return released_index([&] { return mechanism.select(values_of(scores.value_), *bits_); });
}

}  // namespace parley::privacy
