#include "parley/privacy/paid_runs.h"

namespace parley::privacy {

Result<ApproxDp> Gate::best_of_event(const RandomRepetitions& repetitions, const std::vector<Plan>& plans,
                                     const Plan& score, Delta delta) {
  constexpr double kWithin = 1 - 1e-9;  // so that roundings of the accountant that prices the event stay inside delta
  PARLEY_TRY(const Delta inner, Delta::make(delta.value() * kWithin));
  std::vector<Plan> all = plans;
  all.push_back(score);
  PARLEY_TRY(const double cost, repetitions.epsilon_at(all, inner));
  return ApproxDp{cost, inner.value()};
}

Result<PaidRuns> Gate::reserve_best_of(const RandomRepetitions& repetitions, const std::vector<Plan>& plans,
                                       const Plan& score, Delta delta) {
  const auto* charging = std::get_if<Charging>(&mode_);
  const bool other = replays() || std::holds_alternative<Granted>(mode_);
  if (other || (charging != nullptr && charging->kept))
    return fail(failed("runs are paid for together at a gate that charges a ledger, and once"));
  PARLEY_TRY(const ApproxDp event, best_of_event(repetitions, plans, score, delta));
  PARLEY_CHECK(reserve({.step = {{event, 1}}}, delta));
  plan_.reset();  // what was paid for is drawn at the gates of the runs
  return drawn(
      [&]() -> Result<PaidRuns> { return PaidRuns(plans, score, purse_, *bits(), repetitions.draw(*bits())); });
}

Result<PaidRuns::Begun> PaidRuns::begin(std::int64_t run) {
  PARLEY_TRY(auto bits, bits_->fork("paid run", streams_ + static_cast<std::uint64_t>(run)));
  PARLEY_TRY(const std::size_t setting,
             drawn([&]() -> Result<std::size_t> { return static_cast<std::size_t>(bits->below(plans_.size())); }));
  Bits& own = *bits;
  return Begun{std::move(bits),
               {setting, Gate::granted(plans_[setting], purse_, own), Gate::granted(score_, purse_, own)}};
}

}  // namespace parley::privacy
