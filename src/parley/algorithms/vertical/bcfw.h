// Block-coordinate Frank-Wolfe under arbitrary sampling over features that are distributed. Lou & Cheung, "Uplink
// Communication Efficient Differentially Private Sparse Optimization with Feature-Wise Distributed Data", Algorithm 1
// over the parties of Algorithm 2.
//
//   minimise   F(x) = 1/n sum_i phi(b + z_i, y_i),   z = sum_k A_k x_k     over x in X
//
//   X                                                                       an atom s of what was sampled
//   per-party    ||x_k||_1 <= r/K for every party k (radius = "paper": r)   -+(r/K) e_j, one for each party
//   groups       the same with groups of columns in the place of parties    likewise
//   global       ||x||_1 <= r                                               -+r e_j, one in all
//   box          |x_j| <= M (model.box)                                     -+M for every column
//
//   coordinator:   v = phi'(b + z, y) / n                    sent to parties of whom a block is sampled, to no other
//   party k:       g_j = <a_j, v> for its sampled columns
//                  a ball:     sends j = argmax |g_j| and the sign of -g_j
//                  global:     sends j and g_j; the coordinator takes the largest of all (dFW, Bellet et al. 2015)
//                  box:        sends the sign of -g_j for each of them
//                  a column that was never sent goes with it, once ("share at need"), whole or as J a_j
//   coordinator:   x_B <- x_B + gamma (s_B - x_B)            for the balls B that an atom was found in; z likewise
//                  gamma_t = 2 / (p_min t + 2), or the minimiser of F over [0, 1] (line search)
//
// Every part of X moves by one gamma, from the same x^t: the updates of a round are independent of their order.
//
// The stay rule. Where columns of a ball are sampled, and not the ball, the atom found may be worse than x itself:
// if <x_B - s_B, g_B> <= 0 the ball stays. Without it the method does not converge (docs/algorithms/bcfw.md).
//
// What the sampling takes is in block_sampling.h, what a column is when it travels in shared_feature.h. `gap` is the
// Frank-Wolfe gap max_s <x - s, g> where all blocks are sampled, which bounds F(x) - min F; else it is not known.
//
// The coordinator holds x, q = sum_j x_j f_j and the columns f_j that were sent; a party holds nothing but which of its
// columns those are. At the end each party is told its part of x.
//
// With privacy (Algorithm 2; private_selection.h): a party draws its signed column by the exponential mechanism, and
// sends a column with noise, if at all. It sees its own margins as they are, and those of the others from what they
// sent:
//   party k:       v = phi'(b + A_k x_k + J' sum over j of others x_j f_j, y), clipped to [-R, R]
// x and f are released, so v_i depends on record i and on released values alone: the bound on a score is that of the
// paper's form, in which the party sees its own columns through the noise too (own_columns = "shared"). b is the base
// rate, released once. x is a function of the indices: nothing else is released at the end, and nothing else is needed.
// Labels are handed to every party: they must be declared public to the parties, and nothing is claimed about them; or
// they leave with noise of their own (label_release.h), every party takes the targets in their place, the one that holds
// labels too, and the loss is corrected for the noise (glm/unbiased.h).
// Over one ball of all parties' a party sends g_j with noise beside the column that it drew, and the coordinator takes
// the party with the largest: dFW by a private comparison.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "parley/algorithms/parts/federated.h"
#include "parley/algorithms/vertical/bcfw_settings.h"
#include "parley/algorithms/vertical/block_layout.h"
#include "parley/algorithms/vertical/block_sampling.h"
#include "parley/algorithms/vertical/column_share.h"
#include "parley/algorithms/vertical/labels_once.h"
#include "parley/algorithms/vertical/shared_feature.h"
#include "parley/glm/objective.h"
#include "parley/linalg/sparse_vector.h"
#include "parley/rounds/algorithm.h"

namespace parley::algorithms {

class ConvergenceJudge;
class PrivateSelection;

class Bcfw {
 public:
  enum Phase { kLabels, kColumns, kPick, kFetch, kFinish, kDone };

  // An atom: a column of all parties' and the sign of its vertex.
  struct Atom {
    std::int64_t column = 0;
    int sign = 1;
    static void fields(auto& self, auto&& visit) { visit(self.column, self.sign); }
  };
  struct Iterate {
    int phase = kLabels;
    std::int64_t step = 0;                   // t, steps done
    std::vector<double> labels;              // y
    std::vector<double> parameters;          // x, the parties' parts one after another; then b where there is one
    std::vector<double> state;               // q
    std::vector<double> derivative;          // v
    std::vector<std::vector<double>> parts;  // of every ball its sum of x_j f_j, where there are several
    std::vector<SharedFeature> features;     // that were sent, by their number among all columns, ascending
    std::vector<Atom> fetched;               // kFetch: the atom whose column is on its way
    double objective = 0;                    // F(x), of a sketch: F as it is seen through it
    double gap = -1;                         // below 0: not known
    double gamma = 0;                        // of the last step
    static void fields(auto& self, auto&& visit) {
      visit(self.phase, self.step, self.labels, self.parameters, self.state, self.derivative, self.parts, self.features,
            self.fetched, self.objective, self.gap, self.gamma);
    }
  };
  struct Task {
    int phase = kLabels;
    std::vector<double> derivative;      // kPick: v
    std::vector<linalg::Index> columns;  // kPick: the sampled ones, ascending; none: all.  kFetch: those to send
    std::vector<linalg::Index> borders;  // kPick: columns that begin another ball than the one before
    linalg::SparseVector weights;        // the party's part of x: kFinish, and kPick where its own columns are exact
    std::vector<double> others;          // then: sum of x_j f_j over the other parties; none: nothing was sent
    std::vector<double> labels;          // then, at first: y
    std::vector<double> offset;          // b, where there is one
    static void fields(auto& self, auto&& visit) {
      visit(self.phase, self.derivative, self.columns, self.borders, self.weights, self.others, self.labels,
            self.offset);
    }
  };
  struct Reply {
    std::vector<double> labels;           // kLabels
    std::vector<linalg::Index> picks;     // kPick: +-(j + 1), the sign of the atom
    std::vector<double> numbers;          // kPick, global ball: g_j, private: about;  kLabels, private: the base rate
    std::vector<SharedFeature> features;  // that were never sent
    static void fields(auto& self, auto&& visit) { visit(self.labels, self.picks, self.numbers, self.features); }
  };
  struct Memory {
    std::vector<double> weights;      // the party's part, once it was told
    std::vector<linalg::Index> sent;  // columns that were sent, ascending
    std::vector<double> labels;       // of a private run
    std::int64_t answered = 0;        // picks
    bool asked_for_labels = false;
    bool released = false;  // the weights follow from what left through the gate
    static void fields(auto& self, auto&& visit) {
      visit(self.weights, self.sent, self.labels, self.answered, self.asked_for_labels, self.released);
    }
    std::shared_ptr<PrivateSelection> paid{};  // of a private run
    std::shared_ptr<const FeatureSpace> space{};
  };
  using Data = ColumnShare;
  using Settings = BcfwSettings;
  using Judge = ConvergenceJudge;  // asked for by settings().bounds

  static Result<Bcfw> make(const RunTerms& terms, const BcfwSettings& settings);
  static Result<void> check_private(const RunTerms& terms, const BcfwSettings& settings);
  static std::vector<Leaving> leaves(const RunTerms& terms, const BcfwSettings& settings);
  // Charges the party's releases of the whole run. answer() does it where nobody has.
  Result<void> reserve(const ColumnShare& share, Memory& memory, privacy::Gate& gate) const;

  Result<Iterate> begin(std::span<const PartyFacts> parties);
  [[nodiscard]] bool cut_short() const { return steps_ < asked_; }
  [[nodiscard]] Result<void> check(const Iterate& iterate, int party, const Reply& reply) const;
  [[nodiscard]] std::size_t largest_reply(std::span<const PartyFacts> parties) const;

  [[nodiscard]] Forecast forecast(std::span<const PartyFacts> parties,
                                  std::span<const std::vector<double>> column_bytes) const;

  [[nodiscard]] std::optional<Task> ask(const Iterate& iterate, int party) const;
  Result<privacy::Released<Reply>> answer(const Task& task, const ColumnShare& share, Memory& memory,
                                          privacy::Gate& gate) const;
  [[nodiscard]] Result<Iterate> absorb(Iterate iterate, const rounds::Answers<Reply>& answers) const;
  [[nodiscard]] bool done(const Iterate& iterate) const { return iterate.phase == kDone; }
  [[nodiscard]] std::optional<double> objective(const Iterate& iterate) const {
    return terms_.is_private || space_.sketched() || iterate.phase == kLabels ? std::nullopt
                                                                              : std::optional(iterate.objective);
  }
  [[nodiscard]] bool converged(const Iterate& iterate) const {
    return settings_.tolerance > 0 && iterate.gap >= 0 && iterate.gap <= settings_.tolerance;
  }
  [[nodiscard]] std::int64_t most_rounds() const;
  // Of the last begin().
  [[nodiscard]] double p_min() const;
  [[nodiscard]] const BlockSampling& sampling() const { return *sampling_; }
  [[nodiscard]] const BlockLayout& layout() const { return layout_; }
  [[nodiscard]] const FeatureSpace& space() const { return space_; }
  [[nodiscard]] const RunTerms& terms() const { return terms_; }
  [[nodiscard]] const BcfwSettings& settings() const { return settings_; }
  // Whether a private party sees the margins of its own columns as they are.
  [[nodiscard]] bool own_exact() const { return terms_.is_private && settings_.own == BcfwSettings::Own::kExact; }
  // After begin(): sets, or a map J, that are given, to repeat a run that is written down.
  void replace(BlockSampling sampling) { sampling_ = std::move(sampling); }
  void replace(FeatureSpace space) { space_ = std::move(space); }

 private:
  Bcfw(const RunTerms& terms, const BcfwSettings& settings) : terms_(terms), settings_(settings) {}
  [[nodiscard]] bool box() const { return terms_.objective.box.has_value(); }
  [[nodiscard]] bool global() const { return !box() && settings_.ball == BcfwSettings::Ball::kGlobal; }
  [[nodiscard]] bool offers_offset() const { return settings_.offset.value_or(terms_.is_private); }
  // Labels that left with noise give the base rate at no further cost.
  [[nodiscard]] bool releases_base_rate() const { return terms_.is_private && offers_offset() && !terms_.label_noise; }
  [[nodiscard]] Result<void> check_sketch(std::size_t records) const;
  [[nodiscard]] double offset_of(const Iterate& iterate) const;
  [[nodiscard]] bool asks(const Iterate& iterate, std::size_t party) const;
  [[nodiscard]] FeatureSpace space_of(std::size_t records) const;
  const FeatureSpace& space_at(const ColumnShare& share, Memory& memory) const;

  Result<privacy::Released<Reply>> tell_labels(const ColumnShare& share, Memory& memory, privacy::Gate& gate) const;
  Result<privacy::Released<Reply>> pick(const Task& task, const ColumnShare& share, Memory& memory,
                                        privacy::Gate& gate) const;
  Result<privacy::Released<Reply>> pick_privately(const Task& task, const ColumnShare& share, Memory& memory,
                                                  privacy::Gate& gate) const;
  Result<privacy::Released<Reply>> send(const Task& task, const ColumnShare& share, Memory& memory,
                                        privacy::Gate& gate) const;
  Result<privacy::Released<Reply>> end(const Task& task, const ColumnShare& share, Memory& memory,
                                       privacy::Gate& gate) const;

  [[nodiscard]] Result<void> check_features(int party, const Reply& reply, std::span<const std::int64_t> needed,
                                            bool may_lack) const;
  [[nodiscard]] Result<Iterate> with_labels(Iterate iterate, const rounds::Answers<Reply>& answers) const;
  [[nodiscard]] Result<Iterate> with_picks(Iterate iterate, const rounds::Answers<Reply>& answers) const;
  [[nodiscard]] bool fetches(const Iterate& iterate, const std::vector<Atom>& atoms) const;
  // Moves every ball that has an atom, then looks at the objective.
  [[nodiscard]] Iterate moved(Iterate iterate, const std::vector<Atom>& atoms) const;
  void move(Iterate& iterate, const Atom& atom) const;
  [[nodiscard]] double line_search(const Iterate& iterate, std::span<const double> direction) const;
  void look(Iterate& iterate) const;

  RunTerms terms_;
  BcfwSettings settings_;
  std::int64_t steps_ = 0, asked_ = 0;
  BlockLayout layout_{};
  LabelHolder holder_{};
  FeatureSpace space_{};
  std::optional<BlockSampling> sampling_{};
};
static_assert(Federated<Bcfw>);

// The same method under the names of two others (bcfw_settings.h).
class Dfw : public Bcfw {
 public:
  using Settings = DfwSettings;
  explicit Dfw(Bcfw method) : Bcfw(std::move(method)) {}
  static Result<Dfw> make(const RunTerms& terms, const DfwSettings& settings);
  static Result<void> check_private(const RunTerms& terms, const DfwSettings& settings);
};
class Pride : public Bcfw {
 public:
  using Settings = PrideSettings;
  explicit Pride(Bcfw method) : Bcfw(std::move(method)) {}
  static Result<Pride> make(const RunTerms& terms, const PrideSettings& settings);
  static Result<void> check_private(const RunTerms& terms, const PrideSettings& settings);
};

}  // namespace parley::algorithms
