// The only door between Sensitive and Released.
//
// A release is paid for in one of two ways (release.h):
//   by plan      reserve() charges durably everything that a run will draw, or the longest prefix of its steps that
//                the budget holds; releases then count against the plan in memory, each at most as often as the plan
//                says, and are refused beyond it. What is not drawn stays paid for.
//   by key       a release is charged durably by itself, then drawn.
// Either way a release does, in this order:
//   1. check that the value, the purse and the noise belong together;
//   2. charge (a refusal ends here, before any noise exists);
//   3. draw the noise;
//   4. hand out a Released value, and write it into the transcript when one is kept.
// A crash between 2 and 3 wastes budget and never leaks. A site that is started again goes on with the plan that its
// ledger holds and with the draws that it kept (ledger/resuming.md).
//
// A gate is in one mode for all its life (gate_mode.h):
//   charging             open() and resume(): it charges a ledger and draws
//   granted              it draws one plan, which was paid for as a part of something larger (paid_runs.h)
//   replaying            replay(): it charges nothing, draws nothing and repeats a transcript
//   rehearsing           rehearsal(): it notes what would be reserved and refuses it
//   without privacy      without_privacy(): it lets values out in the clear and refuses to add noise
// Running without privacy is asked for by name, and every value it releases says that nothing is claimed. It has no
// purse and is in no ledger: a ledger says what was spent of budgets, not who else has seen the data.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "parley/core/result.h"
#include "parley/privacy/accounting/filter.h"
#include "parley/privacy/accounting/repeat_and_select.h"
#include "parley/privacy/gate_mode.h"
#include "parley/privacy/ledger/ledger.h"
#include "parley/privacy/made_once.h"
#include "parley/privacy/masking/dealt_masks.h"
#include "parley/privacy/masking/one_time_mask.h"
#include "parley/privacy/mechanisms/discrete_gaussian.h"
#include "parley/privacy/mechanisms/discrete_laplace.h"
#include "parley/privacy/mechanisms/exponential.h"
#include "parley/privacy/mechanisms/noisy_max.h"
#include "parley/privacy/mechanisms/rounded_gaussian.h"
#include "parley/privacy/randomness/drawn.h"
#include "parley/privacy/randomness/generator.h"
#include "parley/privacy/release.h"
#include "parley/privacy/sensitivity/batch_sum.h"
#include "parley/privacy/sensitivity/class_labels.h"
#include "parley/privacy/transcript.h"
#include "parley/privacy/values.h"

namespace parley::privacy {

// What a run reserves: `once`, then `steps` times what one step draws, as events of exactly the mechanisms drawn.
struct Reservation {
  std::vector<Event> once{};
  std::vector<Event> step{};
  std::int64_t steps = 1;
};

// Whoever writes AnswersAreMarked{} says in the open that nothing of the run leaves before Ledger::mark_answer()
// returned, and that `kept` is what was kept with the last answer that left (ledger/resuming.md).
struct AnswersAreMarked {};

// The numbers that a vector on a grid stands for.
std::vector<double> values_of(const GridVector& grid);

// Scores of many candidates at once, from which an index is picked.
template <class T>
concept ManyScores = std::same_as<T, ScoreList> || std::same_as<T, GridVector>;

template <class Norm, class Needed>
concept OtherThan = !std::same_as<Norm, Needed>;

class PaidRuns;

class Gate {
 public:
  // Releases from this gate are paid from `purse` for the run `run`. Ledger and generator must outlive it.
  static Result<Gate> open(Ledger& ledger, Purse purse, std::string run, Bits& bits);
  // The gate of a run that was here before: a plan that its ledger holds is not charged again, and `kept` says what of
  // it is used. What was drawn since is drawn again, so none of it may have left: see AnswersAreMarked.
  static Result<Gate> resume(Ledger& ledger, Purse purse, std::string run, Bits& bits, Progress kept, AnswersAreMarked);
  // A gate that releases what another one did, whatever it is given, and claims nothing: whoever runs an algorithm
  // again with it, on any other data, must get the same model, because a model is made of released values only.
  static Gate replay(Transcript transcript, Purse purse);
  // A gate that notes what would be reserved and refuses it: for planning.
  static Gate rehearsal(Purse purse);
  // The gate of a run that asked for no privacy.
  static Gate without_privacy(Unprotected);
  [[nodiscard]] bool charges() const { return !std::holds_alternative<gate_mode::WithoutPrivacy>(mode_); }

  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  Gate(Gate&&) noexcept = default;
  Gate& operator=(Gate&&) noexcept = delete;
  ~Gate() = default;

  // ---- what a run may draw ----

  // Charges the plan at `delta` and says how many steps were charged, from 1 to those asked for; Fault::kBudgetEnded
  // when the budget does not hold even one. An earlier reservation ends.
  Result<std::int64_t> reserve(const Reservation& reservation, Delta delta);
  // The most steps that a reservation may charge: those that others were told before it.
  void promise(std::int64_t steps) { promised_ = steps; }
  // What is drawn from here on belongs to this round. With a seed every round has a stream of its own, so a round that
  // is begun again draws what it drew; otherwise every beginning has fresh bits.
  Result<void> begin_round(std::int64_t round);
  [[nodiscard]] Progress progress() const;

  // Charges the best of a random number of runs (repeat_and_select.h) at `delta`, then draws the number. A run does one
  // of `plans` on some of the records, and `score` on others. Whoever calls it includes paid_runs.h.
  Result<PaidRuns> reserve_best_of(const RandomRepetitions& repetitions, const std::vector<Plan>& plans,
                                   const Plan& score, Delta delta);
  // What that charges.
  static Result<ApproxDp> best_of_event(const RandomRepetitions& repetitions, const std::vector<Plan>& plans,
                                        const Plan& score, Delta delta);

  // Gives a purse that has no budget this one with the first plan that is charged: a run that is refused before that
  // sets none.
  void budget_if_none(const Budget& budget);
  [[nodiscard]] bool set_budget() const;  // whether it did
  // Gives a purse that has no budget the cost of the first plan as its budget, whatever that is: for reproductions.
  void cover_cost();

  // ---- releases ----

  // value + noise.
  Result<Released<double>> release(const Sensitive<GridValue, L2>& value, Deviation noise,
                                   const Payment& payment = Planned{});
  Result<Released<std::vector<double>>> release(const Sensitive<GridVector, L2>& value, Deviation noise,
                                                const Payment& payment = Planned{});
  Result<Released<double>> release(const Sensitive<GridValue, L1>& value, LaplaceScale noise,
                                   const Payment& payment = Planned{});
  Result<Released<std::vector<double>>> release(const Sensitive<GridVector, L1>& value, LaplaceScale noise,
                                                const Payment& payment = Planned{});
  // The sum over a Poisson sample (batch_sum.h). It costs a sampled Gaussian, and the sum is used up.
  Result<Released<std::vector<double>>> release(Sensitive<SampledVector, L2>&& value, Deviation noise,
                                                const Payment& payment = Planned{});
  Result<Released<std::vector<double>>> release(const Sensitive<SampledVector, L2>&, Deviation,
                                                const Payment& = Planned{}) = delete;
  // The mask is used up.
  Result<Released<MaskedVector>> release(const Sensitive<GridVector, L2>& value, Masked masked,
                                         const Payment& payment = Planned{});

  // What was released already, as whole grains under a mask. Nothing is added to what it says, so nothing is charged: the
  // mask keeps it from those who see the parties' sum.
  static Result<Released<MaskedVector>> under_mask(const Released<std::vector<double>>& value, Grain grain,
                                                   OneTimeMask mask);

  // An index, or several, of a ScoreList or of a GridVector of scores. Scores on a grid are drawn on that grid, others
  // on one of 2^-20 of their sensitivity.
  template <ManyScores Scores>
  Result<Released<std::size_t>> release(const Sensitive<Scores, Linf>& scores, ByExponential pick,
                                        const Payment& payment = Planned{});
  template <ManyScores Scores>
  Result<Released<std::size_t>> release(const Sensitive<Scores, Linf>& scores, ByNoisyMax pick,
                                        const Payment& payment = Planned{});
  template <ManyScores Scores>
  Result<Released<std::size_t>> release(const Sensitive<Scores, Linf>& scores, ByPermuteAndFlip pick,
                                        const Payment& payment = Planned{});
  template <ManyScores Scores>
  Result<Released<std::vector<std::size_t>>> release(const Sensitive<Scores, Linf>& scores, BestOf best,
                                                     const Payment& payment = Planned{});

  // Every label. Labels are those of different people, so all of them cost what one costs.
  Result<Released<std::vector<std::size_t>>> release(const Sensitive<ClassLabels, Hamming>& labels,
                                                     ByRandomisedResponse response, const Payment& payment = Planned{});
  Result<Released<std::vector<double>>> release(const Sensitive<ClassLabels, Hamming>& labels, ByOneHotLaplace noise,
                                                const Payment& payment = Planned{});

  // The wrong norm is a mistake that the compiler names.
  template <class T, OtherThan<L2> Norm>
  Result<Released<T>> release(const Sensitive<T, Norm>&, Deviation, const Payment& = Planned{}) {
    static_assert(kNever<Norm>, "Gaussian noise needs an l2 bound");
    return fail(failed(""));
  }
  template <class T, OtherThan<L1> Norm>
  Result<Released<T>> release(const Sensitive<T, Norm>&, LaplaceScale, const Payment& = Planned{}) {
    static_assert(kNever<Norm>, "Laplace noise needs an l1 bound");
    return fail(failed(""));
  }
  template <class T, OtherThan<Linf> Norm, PickOfIndex Pick>
  Result<Released<std::size_t>> release(const Sensitive<T, Norm>&, Pick, const Payment& = Planned{}) {
    static_assert(kNever<Norm>, "selection needs a bound on every score (Linf)");
    return fail(failed(""));
  }

  // A Poisson sample of the records, as secret as they are, for a BatchSum.
  Result<Batch> sample(const PoissonSampling& sampling, std::size_t records);
  // For the masks of a run; it has nothing to do with the data.
  Result<MaskSecret> mask_secret();

  // The events of these draws, for a reservation.
  static Result<Event> gaussian_event(double sensitivity, Grain grain, Deviation noise);
  static Result<Event> laplace_event(double sensitivity, Grain grain, LaplaceScale noise, std::int64_t dimensions = 1);
  static Result<Event> masked_event(double sensitivity, Grain grain, NoiseShare noise);

  // In the clear: what a run without [privacy] does. Nothing is claimed for it, and the value says so.
  template <class T>
  static Released<T> in_the_clear(const Private<T>& value, Unprotected) {
    return Released<T>(PrivateReader::read(value), false);
  }
  template <class Norm>
  static Released<std::vector<double>> in_the_clear(const Sensitive<GridVector, Norm>& value, Unprotected) {
    return Released<std::vector<double>>(values_of(value.value_), false);
  }
  static Released<std::vector<double>> in_the_clear(const Sensitive<ScoreList, Linf>& scores, Unprotected) {
    const std::span<const double> values = scores.value_.values();
    return Released<std::vector<double>>({values.begin(), values.end()}, false);
  }
  // The same where the run decides: refused by a gate that charges, unless its purse is for labels. Such a run protects
  // labels and nothing else: whoever makes `value` has no labels but released ones (algorithms/vertical/label_release.h).
  template <class T>
  [[nodiscard]] Result<Released<T>> unprotected(Private<T> value) const {
    if (charges() && purse_.unit != Unit::kLabel) return fail(failed("a private run releases nothing in the clear"));
    return Released<T>(PrivateReader::take(std::move(value)), claims_valid());
  }
  // Likewise whole numbers under a mask: who adds up those of all parties learns the sum, and nobody learns a part. There
  // is no noise, so nothing is claimed about the sum. The mask is used up.
  [[nodiscard]] Result<Released<MaskedVector>> unprotected(Private<std::vector<std::int64_t>> counts,
                                                           OneTimeMask mask) const;

  // ---- under masks of a dealer (masking/dealt_masks.h; what they hide: masking/masked_descent.md) ----

  // A value that says nothing under its mask; nothing is charged. A share of a sum is none in a private run: see share().
  template <RingWord Word>
  [[nodiscard]] Result<UnderMask<Word>> under(Private<std::vector<Word>> value, DealtMask<Word> mask) const;
  // Its one way out: to the party behind the seal. `head` is public to that party.
  template <RingWord Word>
  static Result<Released<std::string>> sealed(const UnderMask<Word>& value, int bits, std::string_view head,
                                              PeerSeal& to);
  // Several as one; what a party keeps of its own, packed, and a digest of it: whoever gets it under seal knows both.
  template <RingWord Word>
  static UnderMask<Word> joined(std::vector<UnderMask<Word>> values);
  template <RingWord Word>
  static std::string kept(const UnderMask<Word>& value, int bits);
  template <RingWord Word>
  static std::string digest(const UnderMask<Word>& value, int bits);
  // A party's share of a sum, with its part of the noise; every party charges the release of the whole sum.
  Result<UnderMask<std::uint64_t>> share(const Sensitive<GridVector, L2>& value, SharedNoise noise,
                                         DealtMask<std::uint64_t> mask);
  // The same at the party that opens the sum, with the shares of all others.
  using OthersShares = std::span<const std::vector<std::uint64_t>>;
  Result<Released<MaskedVector>> open_sum(const Sensitive<GridVector, L2>& value, SharedNoise noise,
                                          DealtMask<std::uint64_t> mask, OthersShares others);
  Result<Released<MaskedVector>> open_sum(Private<std::vector<std::uint64_t>> value, DealtMask<std::uint64_t> mask,
                                          OthersShares others) const;
  static Result<Event> shared_event(SharedNoise noise);
  // Of each contributor, for a sum of this sensitivity in whole numbers.
  static Result<double> shared_deviation(double sensitivity, SharedNoise noise);

  // ---- what happened ----

  [[nodiscard]] bool claims_valid() const;
  [[nodiscard]] std::int64_t releases() const { return releases_; }  // draws so far, however they were paid for
  [[nodiscard]] const std::vector<PlanReceipt>& receipts() const { return receipts_; }
  [[nodiscard]] const Plan& charged() const { return charged_; }  // of all reservations
  [[nodiscard]] const std::vector<PlanRequest>& requests() const { return requests_; }
  // Off until asked for: vectors of many steps are long.
  void keep_transcript() { keep_transcript_ = true; }
  [[nodiscard]] const Transcript& transcript() const;

 private:
  friend class ScoreBoard;
  friend class NoisyTotal;
  friend class SignedBoard;
  friend class ShrinkingBoard;
  friend class PaidRuns;

  using Stream = gate_mode::Stream;
  using Charging = gate_mode::Charging;
  using Granted = gate_mode::Granted;
  using Replaying = gate_mode::Replaying;
  using Rehearsing = gate_mode::Rehearsing;
  using WithoutPrivacy = gate_mode::WithoutPrivacy;

  Gate(GateMode mode, Purse purse) : mode_(std::move(mode)), purse_(std::move(purse)) {}
  // A gate for exactly this plan, which was paid for as a part of something larger.
  static Gate granted(Plan plan, Purse purse, Bits& bits);

  // Null in the modes that draw nothing.
  [[nodiscard]] Stream* stream();
  [[nodiscard]] Bits* bits() const;
  [[nodiscard]] bool replays() const { return std::holds_alternative<Replaying>(mode_); }
  [[nodiscard]] std::string run() const;

  // What a reservation comes to, mode by mode.
  struct Reserved {
    PlanReceipt receipt;
    std::optional<std::vector<std::int64_t>> left{};  // of the plan, where some of it was drawn before a restart
  };
  Result<Reserved> reserve_in(Charging& mode, const PlanRequest& request);
  Result<Reserved> reserve_in(Granted& mode, const PlanRequest& request);
  static Result<Reserved> reserve_in(Replaying& mode, const PlanRequest& request);
  static Result<Reserved> reserve_in(Rehearsing& mode, const PlanRequest& request);
  static Result<Reserved> reserve_in(WithoutPrivacy& mode, const PlanRequest& request);
  Result<void> cover(Charging& mode, const PlanRequest& request);
  Result<std::optional<PaidPlan>> paid_before(const Charging& mode, const PlanRequest& request);

  template <class T, class Norm>
  [[nodiscard]] Result<void> check(const Sensitive<T, Norm>& value) const {
    return check(value.neighbours(), value.unit());
  }
  [[nodiscard]] Result<void> check(Neighbours neighbours, Unit unit) const;
  Result<void> pay(const Event& event, const Payment& payment);
  Result<void> draw_from_plan(const Event& event);

  // The last step of every release: draw(bits), a Result<T>, unless a transcript is replayed; written down when asked
  // for. In a transcript a T takes this many `numbers`.
  template <class T, class Draw>
  Result<Released<T>> released(std::size_t numbers, const Draw& draw);
  Result<std::span<const double>> replayed(std::size_t count);

  template <class Noise>
  Result<Released<double>> noisy(const GridValue& value, const Noise& noise);
  template <class Noise>
  Result<Released<std::vector<double>>> noisy(const GridVector& value, const Noise& noise);

  // The charge and the noisy, masked words of share() and open_sum(); `others` is added to them.
  Result<Released<MaskedVector>> shared_words(const Sensitive<GridVector, L2>& value, SharedNoise noise,
                                              DealtMask<std::uint64_t> mask, OthersShares others);

  Result<const RoundedGaussianNoise*> gaussian_source(double sigma, Grain grain);
  Result<const DiscreteGaussianNoise*> discrete_gaussian_source(double sigma, Grain grain);
  Result<const DiscreteLaplaceNoise*> laplace_source(double scale, Grain grain);
  Result<const ExponentialSelection*> selection(double epsilon, double sensitivity, std::optional<Grain> grain = {});

  GateMode mode_;
  Purse purse_;
  std::optional<std::int64_t> promised_;
  std::optional<PlannedFilter> plan_;  // the last that was reserved
  std::vector<PlanRequest> requests_;
  std::vector<PlanReceipt> receipts_;
  Plan charged_;
  std::int64_t releases_ = 0;
  bool keep_transcript_ = false;
  Transcript transcript_;

  MadeOnce<RoundedGaussianNoise, double, Grain> gaussians_;
  MadeOnce<DiscreteGaussianNoise, double, Grain> discrete_gaussians_;
  MadeOnce<DiscreteLaplaceNoise, double, Grain> laplaces_;
  MadeOnce<ExponentialSelection, double, double, std::optional<Grain>> selections_;
  MadeOnce<NoisyMax, double, double, std::optional<Grain>> noisy_maxima_;
};

template <class T, class Draw>
Result<Released<T>> Gate::released(std::size_t numbers, const Draw& draw) {
  T value{};
  if (replays()) {
    PARLEY_TRY(const std::span<const double> told, replayed(numbers));
    read_back(told, value);
  } else {
    PARLEY_TRY(value, drawn([&]() -> Result<T> { return draw(*bits()); }));
    if (keep_transcript_) write_down(value, transcript_);
  }
  ++releases_;
  return Released<T>(std::move(value), claims_valid());
}

}  // namespace parley::privacy
