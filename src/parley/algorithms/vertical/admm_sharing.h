// ADMM sharing over distributed features. Hu et al., "Learning privately over distributed features: an ADMM sharing
// approach", Algorithm 1; the averaged form is that of Boyd et al. 2011, Section 7.3.
//
//   minimise   l(z) + sum_m R(x_m)     subject to   z = sum_m D_m x_m,  x_m in X      l(z) = sum_i phi(z_i, y_i)
//              R(x) = n (l1 ||x||_1 + l2/2 ||x||^2),  X: |x_j| <= box or everything
//
// With s_m = D_m x_m, S = sum_m s_m, and everything zero at the start:
//
//   party m:       x_m <- argmin over X of  R(x) + rho/2 ||D_m x - c_m||^2          block_solver.h
//                  sends s_m, one value per record (softmax: one per record and class)
//   coordinator:   z   <- argmin l(z) + rho/(2w) ||z - S - w y/rho||^2              record by record      (7)
//                  y   <- y + (rho/w) (S - z)                                                             (8)
//                  c_m <- s_m - (S - z)/w - y/rho, sent to party m                                        (6)
//
//   update = "averaged"       w = M: each party corrects an M-th part of the residual S - z. This is ADMM with two blocks
//                             and converges for every rho > 0.
//   update = "paper"          w = 1, (6) as printed: every party corrects all of it. Stable iff rho > L (3 mu - 4)/2, mu the
//                             largest eigenvalue of the sum of projectors on the ranges of the D_m, up to M (vertical
//                             check: tests); their Theorem 1 asks for less. A run that diverges ends with an error.
//   order = "gauss-seidel"    w = 1, one party per message round, each with the newest s_k of the others; then z and y.
//
//   sums = "masked"           of private runs, averaged and in parallel: the coordinator needs S alone, and every task is the
//                             same correction (S - z)/w + y/rho, if a party keeps its own s_m and makes c_m of it. Parties
//                             send s_m under masks that cancel in the sum (privacy/masking).
//
// rho without a choice: default_rho() in admm_step.h, from what the parties say of their rows. rho = "balanced" changes it
// on the way. Every task names it, so parties factor again when it changed.
//
// Where R and X give x_m, they give it alone: a party that was restarted goes on from the task and its last x_m, where the
// search for the next one begins.
//
// V^t of (13) is known where it is asked for (stop = "lyapunov"). With p = y + rho (S - z), the prox of R over X,
//   V^t = sum_m ||x_m - prox(x_m - D_m'p)||^2 + ||grad l(z) - p||^2 + ||S - z||^2
// p goes down beside c_m in the next round, and each party's term comes up with its s_m. V^t does not fall from round to
// round, so it says when to stop, and nothing about descent.
//
// With privacy (privacy/sensitivity/theorems.md; l2 alone): a party clips the target it receives to +-T and its values to
// +-V, and adds N(0, sigma^2 I) before they leave. Every value depends on every record, so sigma stands on the theorem's
// l2 bound of the whole vector and not on one coordinate. The noise is isotropic: noise inside the column space of D, as
// in the paper's (16), leaves two neighbours with disjoint supports. M parties hold parts of one record, so a run of R
// rounds is M R releases of that record: each party's noise is calibrated for all of them, and it charges its own R
// before the first is drawn. When to stop follows from released values. After the last round every party is asked for
// its part: it releases the weights of its last answer, once, with noise for the sensitivity of the minimiser, and what
// it ends with is what it released. A run may leave the exact weights with the party instead (`release_parts` false):
// then they are not covered, and never leave it. rho is then a function of the job alone.
//
// A round has converged when its residuals ||S - z||, ||z - z'||, ||s_m - s_m'|| are small (Boyd et al. 2011,
// Section 3.3),
//   relatively:  at most tolerance ||z|| (the s_m: of ||z||/M);
//   absolutely:  at most 1e4 tolerance ||y||, and so is what rounding hides of them, 2^-52 max ||s_m||: values of 1e90
//                have residuals of 0 and say nothing;
// and when no data contradict its values: at the optimum the penalty is at most the loss at 0, which bounds ||x||, and
// |s_mi| is at most the norm of a row of party m times that. Ten times is allowed.
//
// What an honest party sends without noise is never longer than c_m, since 0 minimises R and lies in X: <D x, c - D x> >=
// 0 at the minimiser. The coordinator knows c_m, and names a party that sends more.
//
// Labels: the update of z needs them. Before the first round the party that holds them sends them to the coordinator;
// the values c_m that the others receive depend on them. Without privacy nothing is claimed about them; a private run
// needs labels that are declared public to the parties (`labels.public = true`), and claims nothing about them either.
// Or they leave with noise of their own (label_release.h), as targets, and phi is the loss that is corrected for it
// (glm/unbiased.h): then what the others receive is made of released values.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "parley/algorithms/parts/federated.h"
#include "parley/algorithms/parts/mask_keys.h"
#include "parley/algorithms/vertical/admm_settings.h"
#include "parley/algorithms/vertical/admm_step.h"
#include "parley/algorithms/vertical/block_solver.h"
#include "parley/algorithms/vertical/column_share.h"
#include "parley/algorithms/vertical/labels_once.h"
#include "parley/glm/objective.h"
#include "parley/rounds/algorithm.h"

namespace parley::algorithms {

class PrivateSharing;

class AdmmSharing {
 public:
  enum Phase { kLabels, kTarget, kPart };

  struct Iterate {
    std::int64_t round = 0;  // 1 + rounds done; 0: labels are still to come
    int turn = 0;            // gauss-seidel: whose it is
    double rho = 0;
    std::vector<double> labels;               // n
    std::vector<std::vector<double>> shared;  // s_m
    std::vector<double> sum;                  // S
    std::vector<double> consensus;            // z
    std::vector<double> dual;                 // y
    std::vector<double> pull;                 // p of the last whole round; none where V is not asked for
    double moved = 0;                         // largest ||s_m - s_m'|| of this round so far
    double change = 0;                        // largest residual of the last round, relative
    double own = 0, theirs = 0;               // terms of V: the coordinator's of the last round, parties' so far
    double lyapunov = -1;                     // V of the round before the last; below 0: not known
    ResidualWatch watch;
    std::vector<std::string> keys;  // of masked sums, by party
    bool released = false;          // every party ended with a part that it released
    static void fields(auto& self, auto&& visit) {
      visit(self.round, self.turn, self.rho, self.labels, self.shared, self.sum, self.consensus, self.dual, self.pull,
            self.moved, self.change, self.own, self.theirs, self.lyapunov, self.watch, self.keys, self.released);
    }
  };
  struct Task {
    int phase = kLabels;
    double rho = 0;
    std::vector<double> target;     // c_m; of masked sums what a party takes off its own s_m
    std::vector<double> pull;       // p; none where V is not asked for
    std::int64_t round = 0;         // of masked sums
    std::vector<std::string> keys;  // likewise, in the first round
    static void fields(auto& self, auto&& visit) {
      visit(self.phase, self.rho, self.target, self.pull, self.round, self.keys);
    }
  };
  struct Reply {
    std::vector<double> values;  // s_m; or the labels; or one number that tells two releases of a part apart
    double residual = 0;         // the party's term of V
    std::string key;             // of masked sums, with the labels
    int grain = 0;               // of masked sums, its exponent, and s_m in grains under a mask
    std::vector<std::int64_t> words;
    static void fields(auto& self, auto&& visit) {
      visit(self.values, self.residual, self.key, self.grain, self.words);
    }
  };
  struct Memory {
    std::vector<double> weights;  // x_m, then the intercept where the party has the column of ones; class by class
    std::int64_t targets = 0;     // answered; of a run without privacy, where no budget counts them
    bool asked_for_labels = false;
    bool released = false;       // the weights are what left through the gate
    std::vector<double> shared;  // s_m as it was released; of masked sums
    std::string key;             // of masked sums, as others know it
    MaskKeys masks;
    static void fields(auto& self, auto&& visit) {
      visit(self.weights, self.targets, self.asked_for_labels, self.released, self.shared, self.key, self.masks);
    }
    std::shared_ptr<BlockSolver> solver{};         // made again when it is not there
    double rho = 0;                                // of the solver
    std::shared_ptr<const PrivateSharing> paid{};  // of a private run
  };
  using Data = ColumnShare;
  using Settings = AdmmSettings;

  static Result<AdmmSharing> make(const RunTerms& terms, AdmmSettings settings);
  static Result<AdmmSharing> make(const glm::Objective& objective, const AdmmSettings& settings, int parties);

  // Whether a private run of these settings is possible, whatever the data.
  [[nodiscard]] Result<void> check_private(privacy::Neighbours neighbours) const;
  static Result<void> check_private(const RunTerms& terms, const AdmmSettings& settings);
  static std::vector<Leaving> leaves(const RunTerms& terms, const AdmmSettings& settings);

  // What a coordinator knows of the parties before the first round, and holds their replies to.
  struct Expected {
    LabelHolder labels;
    std::vector<double> row_norms;  // of each party, its column of ones included; empty: not known
    double columns = 0;             // of all, likewise
    bool noise = false;             // the run is private
  };
  void expect(Expected expected) { expected_ = std::move(expected); }
  [[nodiscard]] Result<void> check(const Iterate& iterate, int party, const Reply& reply) const;

  // A budget that ends in the middle would leave no round in which parts are released: a run that releases them is as
  // long as every party can pay for.
  Result<Iterate> begin(std::span<const PartyFacts> parties);
  [[nodiscard]] bool cut_short() const { return settings_.rounds < asked_rounds_; }
  // One value per record and class, and little else.
  [[nodiscard]] std::size_t largest_reply(std::span<const PartyFacts> parties) const {
    return 128 + sizeof(double) * static_cast<std::size_t>(parties.front().records) *
                     static_cast<std::size_t>(std::max(1, objective_.classes));
  }
  [[nodiscard]] Forecast forecast(std::span<const PartyFacts> parties, std::span<const std::vector<double>>) const;
  // `labels`: those of the coordinator; empty when a party holds them.
  [[nodiscard]] Iterate start(std::vector<double> labels = {}) const;
  [[nodiscard]] std::optional<Task> ask(const Iterate& iterate, int party) const;
  // Charges the party's releases of the whole run. answer() does it where nobody has.
  Result<void> reserve(const ColumnShare& share, Memory& memory, privacy::Gate& gate) const;
  Result<privacy::Released<Reply>> answer(const Task& task, const ColumnShare& share, Memory& memory,
                                          privacy::Gate& gate) const;
  [[nodiscard]] Result<Iterate> absorb(Iterate iterate, const rounds::Answers<Reply>& answers) const;
  [[nodiscard]] bool done(const Iterate& iterate) const {
    return settings_.release_parts ? iterate.released : fitted(iterate);
  }
  [[nodiscard]] bool converged(const Iterate& iterate) const;
  // V^t, a round late.
  [[nodiscard]] std::optional<double> residual(const Iterate& iterate) const {
    return iterate.lyapunov < 0 || iterate.turn != 0 ? std::nullopt : std::optional(iterate.lyapunov);
  }
  // One for the labels, the rest, and one in which parts are released.
  [[nodiscard]] std::int64_t most_rounds() const;

 private:
  AdmmSharing(const glm::Objective& objective, const AdmmSettings& settings, int parties)
      : objective_(objective), settings_(settings), parties_(parties), asked_rounds_(settings.rounds) {}
  [[nodiscard]] bool in_turn() const { return settings_.order == AdmmSettings::Order::kGaussSeidel; }
  [[nodiscard]] bool asks_for_lyapunov() const { return settings_.stop == AdmmSettings::StopBy::kLyapunov; }
  [[nodiscard]] bool masked() const { return settings_.sums == AdmmSettings::Sums::kMasked; }
  [[nodiscard]] double weight() const { return parts_of_residual(settings_, parties_); }
  [[nodiscard]] bool fitted(const Iterate& iterate) const {
    return iterate.turn == 0 && (iterate.round > settings_.rounds || converged(iterate));
  }
  [[nodiscard]] std::vector<double> target_of(const Iterate& iterate, int party) const;
  [[nodiscard]] bool small_absolutely(const Iterate& iterate) const;
  [[nodiscard]] bool bounded(const Iterate& iterate) const;

  // At the coordinator.
  [[nodiscard]] Result<Iterate> with_labels(const rounds::Answers<Reply>& answers) const;
  [[nodiscard]] Result<Iterate> with_values(Iterate iterate, const rounds::Answers<Reply>& answers) const;
  [[nodiscard]] Result<Iterate> with_words(Iterate iterate, const rounds::Answers<Reply>& answers) const;
  [[nodiscard]] Result<Iterate> with_parts(Iterate iterate, const rounds::Answers<Reply>& answers) const;
  [[nodiscard]] Result<Iterate> end_round(Iterate iterate, const std::vector<double>& sum_before) const;
  [[nodiscard]] Result<void> check_progress(const Iterate& iterate) const;

  // At a party (admm_party.cpp).
  [[nodiscard]] BlockPenalty penalty(const ColumnShare& share) const;
  Result<privacy::Released<Reply>> tell_labels(const ColumnShare& share, Memory& memory, privacy::Gate& gate) const;
  Result<privacy::Released<Reply>> values(const Task& task, const ColumnShare& share, Memory& memory,
                                          privacy::Gate& gate) const;
  Result<privacy::Released<Reply>> noisy_values(const Task& task, const ColumnShare& share, Memory& memory,
                                                privacy::Gate& gate) const;
  Result<privacy::OneTimeMask> mask_of(const Task& task, const ColumnShare& share, const Memory& memory,
                                       MaskKeys& keys) const;
  Result<privacy::Released<Reply>> part(const ColumnShare& share, Memory& memory, privacy::Gate& gate) const;
  Result<std::vector<double>> solved(const Task& task, const ColumnShare& share, Memory& memory) const;

  glm::Objective objective_;
  AdmmSettings settings_;
  int parties_;
  std::int64_t asked_rounds_;
  Expected expected_;
  std::string run_;  // at a party: names the run and its job, for masks
};
static_assert(Federated<AdmmSharing>);

}  // namespace parley::algorithms
