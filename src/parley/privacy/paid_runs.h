// The runs that Gate::reserve_best_of() paid for and drew: the only way to a gate that charges no ledger itself. What
// was paid for is the best of them, so the best is all that comes out. What it costs: accounting/repeat_and_select.md.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "parley/core/result.h"
#include "parley/privacy/gate.h"

namespace parley::privacy {

class PaidRuns {
 public:
  PaidRuns(const PaidRuns&) = delete;
  PaidRuns& operator=(const PaidRuns&) = delete;
  PaidRuns(PaidRuns&&) noexcept = default;
  PaidRuns& operator=(PaidRuns&&) noexcept = default;
  ~PaidRuns() = default;

  // Each gate lets out its plan once.
  struct Run {
    std::size_t setting;  // drawn uniformly, without the data
    Gate training;        // for plans[setting]
    Gate scoring;         // for the score
  };
  template <class Output>
  struct Scored {
    Output output;
    Released<double> score;
    bool interrupted = false;  // someone asked for an end
  };
  // Does `once` as often as was drawn, and hands out what had the largest score; of equals the first. How often it was
  // may not be seen by others, not even by the time that it took. A run that fails ends it, and so does one that was
  // interrupted: nothing comes out then or later. The best of the runs so far is not what was paid for: how many there
  // are is not drawn from the law that the price is for, and can cost 3.5 times as much as one run instead of twice.
  template <class Output>
  Result<Output> best(const std::function<Result<Scored<Output>>(Run&)>& once) &&;

 private:
  friend class Gate;
  PaidRuns(std::vector<Plan> plans, Plan score, Purse purse, Bits& bits, std::int64_t runs)
      : plans_(std::move(plans)),
        score_(std::move(score)),
        purse_(std::move(purse)),
        bits_(&bits),
        streams_(bits.next_u64()),
        left_(runs) {}
  // With bits of its own: runs from one seed do not share their samples.
  struct Begun {
    std::unique_ptr<Bits> bits;
    Run run;
  };
  Result<Begun> begin(std::int64_t run);

  std::vector<Plan> plans_;
  Plan score_;
  Purse purse_;
  Bits* bits_;
  std::uint64_t streams_;  // where the numbers of the runs' streams begin
  std::int64_t left_;
};

template <class Output>
Result<Output> PaidRuns::best(const std::function<Result<Scored<Output>>(Run&)>& once) && {
  std::optional<Scored<Output>> best;
  // Whatever happens below, there is no second time; runs that were moved elsewhere left no plans here.
  for (std::int64_t run = plans_.empty() ? 0 : std::exchange(left_, 0); run > 0; --run) {
    PARLEY_TRY(Begun begun, begin(run));
    PARLEY_TRY(Scored<Output> scored, once(begun.run));
    if (scored.interrupted)
      return fail(
          failed("interrupted: the best of some of the runs is not what was paid for; nothing was released, and the "
                 "charge stands"));
    if (!best || scored.score.value() > best->score.value()) best = std::move(scored);
  }
  if (!best) return fail(failed("these runs were handed out before; nothing was released"));
  return std::move(best->output);
}

}  // namespace parley::privacy
