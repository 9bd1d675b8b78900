// ADMM sharing over distributed features, all parties in parallel. Hu et al., "Learning privately over distributed
// features: an ADMM sharing approach", Algorithm 1, in the convergent form of Boyd et al. 2011, Section 7.3.
//
//   minimise   sum_i phi(z_i, y_i) + lambda/2 sum_m ||x_m||^2     subject to   z = sum_m D_m x_m,   lambda = n l2
//
//   party m:       x_m <- argmin lambda/2 ||x||^2 + rho/2 ||D_m x - c_m||^2
//                  sends s_m = D_m x_m, one value per record
//   coordinator:   s   <- mean of the s_m
//                  z   <- argmin phi(M z_i, y_i) + M rho/2 (z_i - u_i - s_i)^2    record by record (a scalar prox)
//                  u   <- u + s - z
//                  c_m <- s_m - s + z - u
//                  sends c_m to party m, one value per record
//
// Their update (6) is not used. It lets every party correct the whole residual sum_k s_k - z at once: with several
// parties it overshoots by up to a factor M, and diverges unless the penalty is large (their Assumption 1.2). Here each
// party takes its M-th part, and the iteration is ADMM with two blocks: it converges for every rho > 0.
//
// Party m factors  D'D + lambda/rho I  once (or, with more columns than records, D D' + lambda/rho I and
// x = D'(...)^-1 c, Woodbury) and solves in every round. It keeps x_m, its part of the model; nothing else is
// remembered, so a party that was restarted goes on from the task alone.
//
// With privacy (privacy/sensitivity/theorems.md): a party clips the target it receives to +-T and its values to +-V,
// and adds N(0, sigma^2 I) before they leave. Every value depends on every record, so sigma stands on the theorem's l2
// bound of the whole vector and not on one coordinate. The noise is isotropic: noise inside the column space of D, as
// in the paper's (16), leaves two neighbours with disjoint supports. M parties hold parts of one record, so a run of R
// rounds is M R releases of that record: each party's noise is calibrated for all of them, and it charges its own R
// before the first is drawn. When to stop follows from released values. After the last round a task without a target
// asks every party for its part: it releases the weights of its last answer, once, with noise for the sensitivity of
// the minimiser, and what it ends with is what it released. A run may leave the exact weights with the party instead
// (`release_parts` false): then they are not covered, and never leave it.
//
// A round has converged when its residuals ||s - z||, ||z - z'||, ||s_m - s_m'|| are small (Boyd et al. 2011,
// Section 3.3),
//   relatively:  at most tolerance ||z||;
//   absolutely:  at most 1e4 tolerance ||y||, and so is what rounding hides of them, 2^-52 max ||s_m||: values of 1e90
//                have residuals of 0 and say nothing;
// and when no data contradict its values: at the optimum l2/2 ||x||^2 is at most the mean loss at 0, so |s_mi| is at
// most the norm of a row of party m times sqrt(2 phi(0) / l2). Ten times that is allowed.
//
// What an honest party sends without noise is H c_m with 0 <= H <= I (the ridge smoother of its columns): never longer
// than c_m. The coordinator knows c_m, and names a party that sends more.
//
// Labels: the update of z needs them. Before the first round the party that holds them sends them to the coordinator;
// the values c_m that the others receive depend on them. Without privacy nothing is claimed about them; a private run
// needs labels that are declared public to the parties (`labels.public = true`), and claims nothing about them either.
// Or they leave with noise of their own (label_release.h), as targets, and phi is the loss that is corrected for it
// (glm/unbiased.h): then what the others receive is made of released values.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "parley/algorithms/parts/federated.h"
#include "parley/algorithms/vertical/admm_settings.h"
#include "parley/algorithms/vertical/column_share.h"
#include "parley/algorithms/vertical/labels_once.h"
#include "parley/glm/objective.h"
#include "parley/rounds/algorithm.h"

namespace parley::algorithms {

class PrivateSharing;
class RidgeFactor;  // of D'D + lambda/rho I or of D D' + lambda/rho I

class AdmmSharing {
 public:
  struct Iterate {
    std::int64_t round = 0;                   // rounds done; 0: labels are still to come
    std::vector<double> labels;               // n
    std::vector<std::vector<double>> shared;  // s_m
    std::vector<double> mean;                 // s
    std::vector<double> consensus;            // z
    std::vector<double> dual;                 // u
    double change = 0;                        // largest residual of the last round, relative
    bool released = false;                    // every party ended with a part that it released
    static void fields(auto& self, auto&& visit) {
      visit(self.round, self.labels, self.shared, self.mean, self.consensus, self.dual, self.change, self.released);
    }
  };
  struct Task {
    std::vector<double> target;  // c_m; empty: send labels, if you hold them; after a target: release your part
    static void fields(auto& self, auto&& visit) { visit(self.target); }
  };
  struct Reply {
    std::vector<double> values;  // s_m; or the labels; or one number that tells two releases of a part apart
    static void fields(auto& self, auto&& visit) { visit(self.values); }
  };
  struct Memory {
    std::vector<double> weights;  // x_m, then the intercept where the party has the column of ones
    std::int64_t targets = 0;     // answered; of a run without privacy, where no budget counts them
    bool asked_for_labels = false;
    bool released = false;  // the weights are what left through the gate
    static void fields(auto& self, auto&& visit) {
      visit(self.weights, self.targets, self.asked_for_labels, self.released);
    }
    std::shared_ptr<const RidgeFactor> factor;   // made again when it is not there
    std::shared_ptr<const PrivateSharing> paid;  // of a private run
  };
  using Data = ColumnShare;
  using Settings = AdmmSettings;

  static Result<AdmmSharing> make(const RunTerms& terms, AdmmSettings settings);
  static Result<AdmmSharing> make(const glm::Objective& objective, const AdmmSettings& settings, int parties);

  // Whether a private run of these settings is possible, whatever the data.
  [[nodiscard]] Result<void> check_private(privacy::Neighbours neighbours) const;
  static Result<void> check_private(const RunTerms& terms, const AdmmSettings& settings);

  // What a coordinator knows of the parties before the first round, and holds their replies to.
  struct Expected {
    LabelHolder labels;
    std::vector<double> row_norms;  // of each party, its column of ones included; empty: not known
    bool noise = false;             // the run is private
  };
  void expect(Expected expected) { expected_ = std::move(expected); }
  [[nodiscard]] Result<void> check(const Iterate& iterate, int party, const Reply& reply) const;

  // A budget that ends in the middle would leave no round in which parts are released: a run that releases them is as
  // long as every party can pay for.
  Result<Iterate> begin(std::span<const PartyFacts> parties);
  [[nodiscard]] bool cut_short() const { return settings_.rounds < asked_rounds_; }
  // One value per record.
  [[nodiscard]] std::size_t largest_reply(std::span<const PartyFacts> parties) const {
    return sizeof(double) * static_cast<std::size_t>(parties.front().records);
  }
  [[nodiscard]] Forecast forecast(std::span<const PartyFacts> parties, std::span<const std::vector<double>>) const;
  // `labels`: those of the coordinator; empty when a party holds them.
  [[nodiscard]] Iterate start(std::vector<double> labels = {}) const;
  [[nodiscard]] Task ask(const Iterate& iterate, int party) const;
  // Charges the party's releases of the whole run. answer() does it where nobody has.
  Result<void> reserve(const ColumnShare& share, Memory& memory, privacy::Gate& gate) const;
  Result<privacy::Released<Reply>> answer(const Task& task, const ColumnShare& share, Memory& memory,
                                          privacy::Gate& gate) const;
  [[nodiscard]] Result<Iterate> absorb(Iterate iterate, const rounds::Answers<Reply>& answers) const;
  [[nodiscard]] bool done(const Iterate& iterate) const {
    return settings_.release_parts ? iterate.released : fitted(iterate);
  }
  [[nodiscard]] bool converged(const Iterate& iterate) const {
    return iterate.round > 1 && iterate.change <= settings_.tolerance && small_absolutely(iterate) && bounded(iterate);
  }
  // One for the labels, the rest, and one in which parts are released.
  [[nodiscard]] std::int64_t most_rounds() const {
    return std::int64_t{settings_.rounds} + 1 + (settings_.release_parts ? 1 : 0);
  }

 private:
  [[nodiscard]] bool fitted(const Iterate& iterate) const {
    return iterate.round > settings_.rounds || converged(iterate);
  }
  Result<privacy::Released<Reply>> part(const ColumnShare& share, Memory& memory, privacy::Gate& gate) const;
  [[nodiscard]] Result<Iterate> with_parts(Iterate iterate, const rounds::Answers<Reply>& answers) const;
  AdmmSharing(const glm::Objective& objective, const AdmmSettings& settings, int parties)
      : objective_(objective), settings_(settings), parties_(parties), asked_rounds_(settings.rounds) {}
  [[nodiscard]] double ridge(const ColumnShare& share) const;  // lambda / rho
  [[nodiscard]] bool small_absolutely(const Iterate& iterate) const;
  [[nodiscard]] bool bounded(const Iterate& iterate) const;
  Result<privacy::Released<Reply>> labels(const ColumnShare& share, Memory& memory, privacy::Gate& gate) const;
  [[nodiscard]] Result<Iterate> with_labels(const rounds::Answers<Reply>& answers) const;

  glm::Objective objective_;
  AdmmSettings settings_;
  int parties_;
  std::int64_t asked_rounds_;
  Expected expected_;
};
static_assert(Federated<AdmmSharing>);

}  // namespace parley::algorithms
