#include "parley/privacy/gate.h"

#include <fmt/format.h>

#include <algorithm>

#include "parley/privacy/accounting/accountant.h"

namespace parley::privacy {

namespace {

Error without_budget() {
  return failed("a run without privacy has no budget to pay noise from");
}

// Noise that no source can draw is not paid for. These scales are in grains (gaussian_event, laplace_event).
Result<void> check_drawable(const std::vector<Event>& events) {
  for (const Event& event : events) {
    double scale = 1;
    if (const auto* gaussian = std::get_if<Gaussian>(&event.mechanism)) scale = gaussian->sigma;
    if (const auto* gaussian = std::get_if<DiscreteGaussian>(&event.mechanism)) scale = gaussian->sigma;
    if (const auto* laplace = std::get_if<DiscreteLaplace>(&event.mechanism)) scale = laplace->scale;
    if (!(scale >= 0x1p-20) || !(scale <= 0x1p40))
      return fail(bad_input({.field = "privacy.epsilon"},
                            "with this many releases asks for noise beyond what a grid can carry (2^-20 to 2^40 "
                            "grains); nothing was charged",
                            fmt::format("{} grains", scale)));
  }
  return {};
}

}  // namespace

// ---- modes ----

Result<Gate> Gate::open(Ledger& ledger, Purse purse, std::string run, Bits& bits) {
  if (run.empty())
    return fail(bad_input({.field = "run"}, "a run needs a name, so that its releases can be told apart"));
  return Gate(Charging{.ledger = &ledger, .run = std::move(run), .stream = {&bits}}, std::move(purse));
}

Result<Gate> Gate::resume(Ledger& ledger, Purse purse, std::string run, Bits& bits, Progress kept, AnswersAreMarked) {
  if (kept.plans > 1) return fail(failed("a run of several plans cannot be taken up again"));
  PARLEY_TRY(Gate gate, open(ledger, std::move(purse), std::move(run), bits));
  gate.releases_ = kept.releases;
  std::get<Charging>(gate.mode_).kept = std::move(kept);
  return gate;
}

Gate Gate::granted(Plan plan, Purse purse, Bits& bits) {
  return {Granted{.plan = std::move(plan), .stream = {&bits}}, std::move(purse)};
}

Gate Gate::replay(Transcript transcript, Purse purse) {
  return {Replaying{std::move(transcript)}, std::move(purse)};
}

Gate Gate::rehearsal(Purse purse) {
  return {Rehearsing{}, std::move(purse)};
}

Gate Gate::without_privacy(Unprotected) {
  return {WithoutPrivacy{}, {}};
}

Gate::Stream* Gate::stream() {
  if (auto* charging = std::get_if<Charging>(&mode_)) return &charging->stream;
  if (auto* granted = std::get_if<Granted>(&mode_)) return &granted->stream;
  return nullptr;
}

Bits* Gate::bits() const {
  if (const auto* charging = std::get_if<Charging>(&mode_)) return charging->stream.now;
  if (const auto* granted = std::get_if<Granted>(&mode_)) return granted->stream.now;
  return nullptr;
}

bool Gate::claims_valid() const {
  const Bits* const own = bits();
  return own != nullptr && own->claims_valid();
}

std::string Gate::run() const {
  struct Name {
    std::string operator()(const Charging& mode) const { return mode.run; }
    std::string operator()(const Granted&) const { return "granted"; }
    std::string operator()(const Replaying&) const { return "replay"; }
    std::string operator()(const Rehearsing&) const { return "rehearsal"; }
    std::string operator()(const WithoutPrivacy&) const { return {}; }
  };
  return std::visit(Name{}, mode_);
}

const Transcript& Gate::transcript() const {
  const auto* replaying = std::get_if<Replaying>(&mode_);
  return replaying != nullptr ? replaying->told : transcript_;
}

Result<void> Gate::begin_round(std::int64_t round) {
  Stream* const own = stream();
  if (own == nullptr) return {};
  if (own->all_rounds == nullptr) own->all_rounds = own->now;
  PARLEY_TRY(own->of_round, own->all_rounds->fork("round", static_cast<std::uint64_t>(round)));
  own->now = own->of_round.get();
  own->sampling.reset();
  return {};
}

Progress Gate::progress() const {
  const auto* charging = std::get_if<Charging>(&mode_);
  if (receipts_.empty() && charging != nullptr && charging->kept) return *charging->kept;  // nothing was drawn since
  return {static_cast<std::int64_t>(receipts_.size()), plan_ ? plan_->left() : std::vector<std::int64_t>{}, releases_};
}

void Gate::budget_if_none(const Budget& budget) {
  if (auto* charging = std::get_if<Charging>(&mode_)) charging->budget_if_none = budget;
}

bool Gate::set_budget() const {
  const auto* charging = std::get_if<Charging>(&mode_);
  return charging != nullptr && charging->set_budget;
}

void Gate::cover_cost() {
  if (auto* charging = std::get_if<Charging>(&mode_)) charging->covers_cost = true;
}

// ---- reservations ----

Result<std::int64_t> Gate::reserve(const Reservation& reservation, Delta delta) {
  PARLEY_CHECK(check_drawable(reservation.once));
  PARLEY_CHECK(check_drawable(reservation.step));
  PlanRequest request{.run = run(),
                      .key = fmt::format("plan {}", receipts_.size() + 1),
                      .once = reservation.once,
                      .step = reservation.step,
                      .steps = std::min(reservation.steps, promised_.value_or(reservation.steps)),
                      .delta = delta,
                      .claimed = claims_valid()};
  plan_.reset();
  PARLEY_TRY(const Reserved reserved, std::visit([&](auto& mode) { return reserve_in(mode, request); }, mode_));
  const Plan plan = request.plan(purse_.neighbours, reserved.receipt.steps);
  PARLEY_TRY(PlannedFilter filter,
             reserved.left ? PlannedFilter::resume(plan, *reserved.left) : PlannedFilter::make(plan));
  receipts_.push_back(reserved.receipt);
  requests_.push_back(std::move(request));
  charged_.neighbours = purse_.neighbours;
  charged_.events.insert(charged_.events.end(), plan.events.begin(), plan.events.end());
  if (std::holds_alternative<Rehearsing>(mode_)) return fail(failed("a rehearsal ends where the run would be charged"));
  plan_ = std::move(filter);
  return reserved.receipt.steps;
}

Result<Gate::Reserved> Gate::reserve_in(Charging& mode, const PlanRequest& request) {
  PARLEY_TRY(const std::optional<PaidPlan> paid, paid_before(mode, request));
  if (paid) {
    Reserved reserved{paid->receipt};
    if (mode.kept->plans > 0) reserved.left = mode.kept->left;
    return reserved;
  }
  if (mode.covers_cost) PARLEY_CHECK(cover(mode, request));
  if (mode.budget_if_none) {
    PARLEY_TRY(mode.set_budget, mode.ledger->set_budget_if_none(purse_, *mode.budget_if_none));
  }
  PARLEY_TRY(const PlanReceipt receipt, mode.ledger->charge_plan(purse_, request));
  return Reserved{receipt};
}

Result<Gate::Reserved> Gate::reserve_in(Granted& mode, const PlanRequest& request) {
  if (request.plan(purse_.neighbours, request.steps) != mode.plan)
    return fail(failed("this plan is not the one that was paid for; nothing was released"));
  mode.plan = Plan{};  // once
  return Reserved{{.steps = request.steps}};
}

Result<Gate::Reserved> Gate::reserve_in(Replaying&, const PlanRequest& request) {
  return Reserved{{.steps = request.steps}};
}

Result<Gate::Reserved> Gate::reserve_in(Rehearsing&, const PlanRequest& request) {
  return Reserved{{.steps = request.steps}};
}

Result<Gate::Reserved> Gate::reserve_in(WithoutPrivacy&, const PlanRequest&) {
  return fail(without_budget());
}

// A plan in the ledger that nothing was kept of was charged and not drawn from: the answer that it was charged for was
// never kept, so it never left. The other way round the ledger is not the one that was charged.
Result<std::optional<PaidPlan>> Gate::paid_before(const Charging& mode, const PlanRequest& request) {
  if (!mode.kept) return std::nullopt;
  PARLEY_TRY(std::optional<PaidPlan> paid, mode.ledger->paid_plan(purse_, mode.run, request.key));
  if (!paid && mode.kept->plans > static_cast<std::int64_t>(receipts_.size()))
    return fail(failed("this run drew from a plan that its ledger does not hold; nothing was released"));
  if (paid && (paid->receipt.steps > request.steps || paid->claimed != request.claimed ||
               paid->plan != request.plan(purse_.neighbours, paid->receipt.steps)))
    return fail(
        failed("this run was charged for another plan: the data, the job or the source of randomness changed; nothing "
               "was released"));
  return paid;
}

Result<void> Gate::cover(Charging& mode, const PlanRequest& request) {
  PARLEY_TRY(const Spent spent, mode.ledger->spent(purse_));
  if (spent.budget) return {};
  PARLEY_TRY(const double cost, epsilon_at(request.plan(purse_.neighbours, request.steps), request.delta));
  PARLEY_TRY(const Epsilon epsilon, Epsilon::make(cost));
  PARLEY_CHECK(mode.ledger->set_budget_if_none(purse_, {epsilon, request.delta, Composition::kPlans}));
  return {};
}

// ---- what every release does first ----

Result<void> Gate::check(Neighbours neighbours, Unit unit) const {
  if (!charges()) return fail(without_budget());
  if (neighbours != purse_.neighbours || unit != purse_.unit)
    return fail(failed(fmt::format("a {} bound under {} cannot be paid from a {} budget under {}", name(unit),
                                   name(neighbours), name(purse_.unit), name(purse_.neighbours))));
  return {};
}

Result<void> Gate::pay(const Event& event, const Payment& payment) {
  const auto* keyed = std::get_if<Keyed>(&payment);
  if (keyed == nullptr) return draw_from_plan(event);
  if (replays()) return {};
  auto* const charging = std::get_if<Charging>(&mode_);
  if (charging == nullptr) return fail(failed("this gate pays by plan only"));
  PARLEY_CHECK(charging->ledger->charge(purse_, {charging->run, std::string(keyed->key), event, claims_valid()}));
  return {};
}

Result<void> Gate::draw_from_plan(const Event& event) {
  if (!plan_) return fail(failed("nothing was reserved: a release without a key needs a plan that was paid for"));
  return plan_->charge(event, purse_.neighbours);
}

Result<std::span<const double>> Gate::replayed(std::size_t count) {
  auto& mode = std::get<Replaying>(mode_);
  if (mode.told.size() - mode.next < count)
    return fail(failed(fmt::format("the transcript ends after {} numbers; the run asks for more", mode.told.size())));
  const auto next = std::span<const double>(mode.told).subspan(mode.next, count);
  mode.next += count;
  return next;
}

}  // namespace parley::privacy
