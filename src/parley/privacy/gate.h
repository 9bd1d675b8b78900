// The only door between Sensitive and Released.
//
// Two ways to pay:
//   one by one    a release with a key is charged durably, then drawn;
//   by plan       reserve() charges durably everything that a run will draw, or the longest prefix of its steps that the
//                 budget holds; releases without a key then count against the plan in memory, each at most as often as
//                 the plan says, and are refused beyond it. What is not drawn stays paid for.
// Either way a release does, in this order:
//   1. check that the value, the purse and the noise belong together;
//   2. charge (a refusal ends here, before any noise exists);
//   3. draw the noise;
//   4. hand out a Released value, and write it into the transcript when one is kept.
// A crash between 2 and 3 wastes budget and never leaks. A site that is started again goes on with the plan that its ledger
// holds and with the draws that it kept (ledger/resuming.md).
//
// Running without privacy is asked for by name, and every value it releases says that nothing is claimed. It has no
// purse and is in no ledger: a ledger tells what was spent of budgets, not who else has seen the data.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parley/core/result.h"
#include "parley/privacy/accounting/filter.h"
#include "parley/privacy/accounting/repeat_and_select.h"
#include "parley/privacy/ledger/ledger.h"
#include "parley/privacy/masking/one_time_mask.h"
#include "parley/privacy/mechanisms/discrete_gaussian.h"
#include "parley/privacy/mechanisms/discrete_laplace.h"
#include "parley/privacy/mechanisms/exponential.h"
#include "parley/privacy/mechanisms/label_laplace.h"
#include "parley/privacy/mechanisms/noisy_max.h"
#include "parley/privacy/mechanisms/permute_and_flip.h"
#include "parley/privacy/mechanisms/randomised_response.h"
#include "parley/privacy/mechanisms/rounded_gaussian.h"
#include "parley/privacy/mechanisms/top_k.h"
#include "parley/privacy/randomness/generator.h"
#include "parley/privacy/sensitivity/batch_sum.h"
#include "parley/privacy/sensitivity/class_labels.h"
#include "parley/privacy/values.h"

namespace parley::privacy {

// Noise parameters as types, so that a deviation cannot be taken for a scale. In the unit of the values.
struct Deviation {
  double sigma = 0;
};
struct LaplaceScale {
  double scale = 0;
};

// How the k best are picked: two ways to one law and one price (top_k.h). One shot reads the scores once.
enum class Picking { kOneShot, kPeeling };
struct BestOf {
  std::size_t k = 1;
  Picking picking = Picking::kOneShot;
};

// What a run reserves: `once`, then `steps` times what one step draws, as events of exactly the mechanisms drawn.
struct Reservation {
  std::vector<Event> once{};
  std::vector<Event> step{};
  std::int64_t steps = 1;
};

// How far a run has used its plan: kept at the site with every answer, so that a restart goes on from there.
struct Progress {
  std::int64_t plans = 0;          // reserved
  std::vector<std::int64_t> left;  // what the last of them still allows, mechanism by mechanism
  std::int64_t releases = 0;
  static void fields(auto& self, auto&& visit) { visit(self.plans, self.left, self.releases); }
};

// Everything a gate released, in order, as numbers (an index is one number).
using Transcript = std::vector<double>;

// Whoever writes AnswersAreMarked{} says in the open that nothing of the run leaves before Ledger::mark_answer() returned,
// and that `kept` is what was kept with the last answer that left (ledger/resuming.md).
struct AnswersAreMarked {};

class PaidRuns;

class Gate {
 public:
  // Releases from this gate are paid from `purse` for the run `run`. Ledger and generator must outlive it.
  static Result<Gate> open(Ledger& ledger, Purse purse, std::string run, Bits& bits);
  // The gate of a run that was here before: a plan that its ledger holds is not charged again, and `kept` says what of it
  // is used. What was drawn since is drawn again, so none of it may have left: see AnswersAreMarked.
  static Result<Gate> resume(Ledger& ledger, Purse purse, std::string run, Bits& bits, Progress kept, AnswersAreMarked);
  // A gate that releases what another one did, whatever it is given, and claims nothing: who runs an algorithm again
  // with it, on any other data, must get the same model, because a model is made of released values only.
  static Gate replay(Transcript transcript, Purse purse);
  // A gate that notes what would be reserved and refuses it: for planning.
  static Gate rehearsal(Purse purse);
  // The gate of a run that asked for no privacy: it lets values out in the clear, and refuses to add noise.
  static Gate without_privacy(Unprotected) { return {nullptr, {}, {}, nullptr}; }
  [[nodiscard]] bool charges() const { return ledger_ != nullptr || replays_ || rehearses_ || granted_; }

  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  Gate(Gate&&) noexcept = default;
  Gate& operator=(Gate&&) noexcept = delete;

  // Charges the plan at `delta` and says how many steps were charged, from 1 to those asked for;
  // Fault::kBudgetEnded when the budget does not hold even one. An earlier reservation ends.
  Result<std::int64_t> reserve(const Reservation& reservation, Delta delta);

  // The most steps that a reservation may charge: those that were said to others before it.
  void promise(std::int64_t steps) { promised_ = steps; }
  // What is drawn from here on belongs to this round. With a seed every round has a stream of its own, so a round that is
  // begun again draws what it drew; otherwise every beginning has fresh bits.
  Result<void> begin_round(std::int64_t round);
  [[nodiscard]] Progress progress() const;

  // Charges the best of a random number of runs (repeat_and_select.h) at `delta`, then draws the number. A run does one of
  // `plans` on some of the records, and `score` on others.
  Result<PaidRuns> reserve_best_of(const RandomRepetitions& repetitions, const std::vector<Plan>& plans, const Plan& score, Delta delta);
  // What that charges.
  static Result<ApproxDp> best_of_event(const RandomRepetitions& repetitions, const std::vector<Plan>& plans, const Plan& score,
                                        Delta delta);

  // A purse without a budget then gets this one with the first plan that is charged: a run that is refused before sets none.
  void budget_if_none(const Budget& budget) { budget_if_none_ = budget; }
  [[nodiscard]] bool set_budget() const { return set_budget_; }  // whether it did
  // A purse without a budget then gets the cost of the first plan as its budget, whatever that is: for reproductions.
  void cover_cost() { covers_cost_ = true; }

  // Against the reservation. value + N(0, sigma^2 I), rounded to the grain (rounded_gaussian.md).
  Result<Released<double>> gaussian(const Sensitive<GridValue, L2>& value, Deviation noise);
  Result<Released<std::vector<double>>> gaussian(const Sensitive<GridVector, L2>& value, Deviation noise);
  // The sum over a Poisson sample (batch_sum.h); costs a sampled Gaussian, and uses the sum up.
  Result<Released<std::vector<double>>> gaussian(Sensitive<SampledVector, L2>&& value, Deviation noise);
  // value + discrete Laplace.
  Result<Released<double>> laplace(const Sensitive<GridValue, L1>& value, LaplaceScale noise);
  Result<Released<std::vector<double>>> laplace(const Sensitive<GridVector, L1>& value, LaplaceScale noise);
  // An index by the exponential mechanism. For scores of which few change between steps: ScoreBoard.
  Result<Released<std::size_t>> select(const Sensitive<ScoreList, Linf>& scores, Epsilon epsilon);
  // An index by report-noisy-max; epsilon is what it costs: its Laplace noise has scale 2 sensitivity / epsilon.
  Result<Released<std::size_t>> noisy_max(const Sensitive<ScoreList, Linf>& scores, Epsilon epsilon);
  // An index by permute-and-flip, which costs any epsilon-DP release.
  Result<Released<std::size_t>> permute_and_flip(const Sensitive<ScoreList, Linf>& scores, Epsilon epsilon) {
    return flipped(scores, scores.value_.values(), epsilon, {});
  }
  // The k best, from the first to the last. Each pick costs an exponential mechanism of epsilon.
  Result<Released<std::vector<std::size_t>>> top_k(const Sensitive<ScoreList, Linf>& scores, BestOf best, Epsilon each) {
    return picked(scores, scores.value_.values(), best, each, {});
  }
  // Every label by randomised response; or as a row of as many numbers as there are classes, one-hot with Laplace noise.
  Result<Released<std::vector<std::size_t>>> randomised_response(const Sensitive<ClassLabels, Hamming>& labels, Epsilon epsilon) {
    return responses(labels, epsilon, {});
  }
  Result<Released<std::vector<double>>> laplace(const Sensitive<ClassLabels, Hamming>& labels, Epsilon epsilon) {
    return noisy_labels(labels, epsilon, {});
  }
  // A Poisson sample of the records, as secret as they are, for a BatchSum.
  Result<Batch> sample(const PoissonSampling& sampling, std::size_t records);

  // The party's part of a sum over parties, which nobody learns but as the sum (masking/masked_sum.md): value + discrete
  // Gaussian noise + mask. Costs what the noise of all parties but one costs, and uses the mask up.
  Result<Released<MaskedVector>> masked(const Sensitive<GridVector, L2>& value, NoiseShare noise, OneTimeMask&& mask);
  // For the masks of a run; has nothing to do with the data.
  Result<MaskSecret> mask_secret();

  // The events of these draws, for a reservation.
  static Result<Event> masked_event(double sensitivity, Grain grain, NoiseShare noise);
  static Result<Event> gaussian_event(double sensitivity, Grain grain, Deviation noise);
  static Result<Event> laplace_event(double sensitivity, Grain grain, LaplaceScale noise, std::int64_t dimensions = 1);

  // Charged one by one. `key` names the release within the run; a key can be used once.
  Result<Released<std::vector<double>>> gaussian(const Sensitive<GridVector, L2>& value, Deviation noise, std::string_view key);
  Result<Released<std::vector<double>>> laplace(const Sensitive<GridVector, L1>& value, LaplaceScale noise, std::string_view key);
  Result<Released<std::size_t>> select(const Sensitive<GridVector, Linf>& scores, Epsilon epsilon, std::string_view key);

  Result<Released<std::size_t>> permute_and_flip(const Sensitive<GridVector, Linf>& scores, Epsilon epsilon, std::string_view key) {
    return flipped(scores, values_of(scores.value_), epsilon, key, scores.value_.grain);
  }
  Result<Released<std::vector<std::size_t>>> top_k(const Sensitive<GridVector, Linf>& scores, BestOf best, Epsilon each,
                                                   std::string_view key) {
    return picked(scores, values_of(scores.value_), best, each, key, scores.value_.grain);
  }
  Result<Released<std::vector<std::size_t>>> randomised_response(const Sensitive<ClassLabels, Hamming>& labels, Epsilon epsilon,
                                                                 std::string_view key) {
    return responses(labels, epsilon, key);
  }
  Result<Released<std::vector<double>>> laplace(const Sensitive<ClassLabels, Hamming>& labels, Epsilon epsilon, std::string_view key) {
    return noisy_labels(labels, epsilon, key);
  }

  // The wrong norm is a mistake that the compiler names.
  template <class Norm>
  Result<Released<std::vector<double>>> gaussian(const Sensitive<GridVector, Norm>&, Deviation, std::string_view) {
    static_assert(kNever<Norm>, "Gaussian noise needs an l2 bound");
    return fail(failed(""));
  }
  template <class Norm>
  Result<Released<std::vector<double>>> laplace(const Sensitive<GridVector, Norm>&, LaplaceScale, std::string_view) {
    static_assert(kNever<Norm>, "Laplace noise needs an l1 bound");
    return fail(failed(""));
  }
  template <class Norm>
  Result<Released<std::size_t>> select(const Sensitive<GridVector, Norm>&, Epsilon, std::string_view) {
    static_assert(kNever<Norm>, "selection needs a bound on every score (Linf)");
    return fail(failed(""));
  }

  // In the clear: what a run without [privacy] does. Nothing is claimed for it, and the value says so.
  template <class T>
  static Released<T> in_the_clear(const Private<T>& value, Unprotected) {
    return Released<T>(PrivateReader::read(value), false);
  }
  // The same where the run decides: refused by a gate that charges.
  template <class T>
  [[nodiscard]] Result<Released<T>> unprotected(Private<T> value) const {
    if (charges()) return fail(failed("a private run releases nothing in the clear"));
    return Released<T>(PrivateReader::take(std::move(value)), false);
  }
  template <class Norm>
  static Released<std::vector<double>> in_the_clear(const Sensitive<GridVector, Norm>& value, Unprotected) {
    return Released<std::vector<double>>(values_of(value.value_), false);
  }
  static Released<std::vector<double>> in_the_clear(const Sensitive<ScoreList, Linf>& scores, Unprotected) {
    const std::span<const double> values = scores.value_.values();
    return Released<std::vector<double>>({values.begin(), values.end()}, false);
  }

  [[nodiscard]] bool claims_valid() const { return bits_ != nullptr && bits_->claims_valid(); }
  [[nodiscard]] std::int64_t releases() const { return releases_; }  // draws so far, planned or not
  [[nodiscard]] const std::vector<PlanReceipt>& receipts() const { return receipts_; }
  [[nodiscard]] const Plan& charged() const { return charged_; }  // of all reservations
  [[nodiscard]] const std::vector<PlanRequest>& requests() const { return requests_; }
  // Off until asked for: vectors of many steps are long.
  void keep_transcript() { keep_transcript_ = true; }
  [[nodiscard]] const Transcript& transcript() const { return transcript_; }

 private:
  friend class ScoreBoard;
  friend class NoisyTotal;
  friend class SignedBoard;
  friend class ShrinkingBoard;
  friend class PaidRuns;
  // A gate for exactly this plan, which was paid for as a part of something larger.
  static Gate granted(Plan plan, Purse purse, Bits& bits);
  static std::vector<double> values_of(const GridVector& grid);
  Gate(Ledger* ledger, Purse purse, std::string run, Bits* bits)
      : ledger_(ledger), purse_(std::move(purse)), run_(std::move(run)), bits_(bits) {}
  template <class T, class Norm>
  [[nodiscard]] Result<void> check(const Sensitive<T, Norm>& value) const {
    return check(value.neighbours(), value.unit());
  }
  [[nodiscard]] Result<void> check(Neighbours neighbours, Unit unit) const;
  Result<void> cover(const PlanRequest& request);
  Result<std::optional<PaidPlan>> paid_before(const PlanRequest& request);
  Result<void> charge(const Mechanism& mechanism, std::string_view key, std::int64_t count = 1);
  Result<void> draw_from_plan(const Mechanism& mechanism, std::int64_t count = 1);
  // With a key one by one, else against the plan.
  using Key = std::optional<std::string_view>;
  Result<void> pay(const Event& event, Key key) {
    return key ? charge(event.mechanism, *key, event.count) : draw_from_plan(event.mechanism, event.count);
  }
  template <class T>
  Result<Released<std::size_t>> flipped(const Sensitive<T, Linf>& bound, std::span<const double> scores, Epsilon epsilon, Key key,
                                        std::optional<Grain> grain = {});
  template <class T>
  Result<Released<std::vector<std::size_t>>> picked(const Sensitive<T, Linf>& bound, std::span<const double> scores, BestOf best,
                                                    Epsilon each, Key key, std::optional<Grain> grain = {});
  Result<Released<std::vector<std::size_t>>> responses(const Sensitive<ClassLabels, Hamming>& labels, Epsilon epsilon, Key key);
  Result<Released<std::vector<double>>> noisy_labels(const Sensitive<ClassLabels, Hamming>& labels, Epsilon epsilon, Key key);
  // The last step of every release: draw() unless a transcript is replayed; noted down when asked for.
  template <class Draw>
  Result<Released<double>> released_number(const Draw& draw);
  Result<Released<std::vector<double>>> released_vector(std::size_t size, const std::function<GridVector()>& draw);
  Result<Released<std::size_t>> released_index(const std::function<Result<std::size_t>()>& draw);
  Result<Released<std::vector<std::size_t>>> released_indices(std::size_t size,
                                                              const std::function<Result<std::vector<std::size_t>>()>& draw);
  Result<std::span<const double>> replayed(std::size_t count);
  void note(std::span<const double> values);
  void note_words(const MaskedVector& sent);
  // Tables are made once for each noise that a run uses.
  Result<const RoundedGaussianNoise*> gaussian_source(double sigma, Grain grain);
  Result<const DiscreteGaussianNoise*> discrete_gaussian_source(double sigma, Grain grain);
  Result<const DiscreteLaplaceNoise*> laplace_source(double scale, Grain grain);
  template <class Mechanism>
  struct Made {
    double epsilon, sensitivity;
    Mechanism mechanism;
  };
  template <class Mechanism>
  using MadeOnce = std::vector<std::unique_ptr<Made<Mechanism>>>;
  template <class Mechanism>
  static Result<const Mechanism*> made_once(MadeOnce<Mechanism>& known, double epsilon, double sensitivity);
  Result<const ExponentialSelection*> selection(double epsilon, double sensitivity);

  Ledger* ledger_;  // null when a transcript is replayed
  Purse purse_;
  std::string run_;
  Bits* bits_;                  // likewise
  Bits* all_rounds_ = nullptr;  // what rounds are forked from, once one was begun
  std::unique_ptr<Bits> of_round_;
  std::unique_ptr<Bits> sampling_;  // a stream of its own: noise does not decide who joins a seeded run
  std::optional<PlannedFilter> plan_;
  std::vector<PlanReceipt> receipts_;
  std::int64_t releases_ = 0;
  std::vector<PlanRequest> requests_;
  Plan charged_;
  std::optional<Plan> granted_;
  std::optional<Progress> kept_;  // of a run that was here before
  std::optional<std::int64_t> promised_;
  bool covers_cost_ = false;
  std::optional<Budget> budget_if_none_;
  bool set_budget_ = false;
  bool rehearses_ = false;
  bool keep_transcript_ = false;
  bool replays_ = false;
  Transcript transcript_;
  std::size_t replayed_ = 0;

  std::vector<std::unique_ptr<RoundedGaussianNoise>> gaussians_;
  std::vector<std::unique_ptr<DiscreteGaussianNoise>> discrete_gaussians_;
  std::vector<std::unique_ptr<DiscreteLaplaceNoise>> laplaces_;
  MadeOnce<ExponentialSelection> selections_;
  MadeOnce<NoisyMax> noisy_maxima_;
};

// The runs that reserve_best_of() paid for and drew: the only way to a gate that charges no ledger itself. What was paid
// for is the best of them, so the best is all that comes out.
class PaidRuns {
 public:
  PaidRuns(const PaidRuns&) = delete;
  PaidRuns& operator=(const PaidRuns&) = delete;
  PaidRuns(PaidRuns&&) noexcept = default;
  PaidRuns& operator=(PaidRuns&&) noexcept = default;

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
  // Does `once` as often as was drawn, and hands out what had the largest score; of equals the first. How often it was may
  // not be seen by others, not even by the time that it took. A run that fails ends it, and so does one that was interrupted: nothing comes
  // out then or later. The best of the runs so far is not what was paid for: how many there are is not drawn from the law that the price is
  // for, and can cost 3.5 times as much as one run instead of twice.
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
          failed("interrupted: the best of some of the runs is not what was paid for; nothing was released, and the charge stands"));
    if (!best || scored.score.value() > best->score.value()) best = std::move(scored);
  }
  if (!best) return fail(failed("these runs were handed out before; nothing was released"));
  return std::move(best->output);
}

}  // namespace parley::privacy
