// Training over a join that nobody materialises. Xu et al. 2024 (TablePuppet), equations 26-38,
// in the sharing form of Boyd et al. 2011, Section 7.3, which converges.
//
// M tables; row j of the join, of N, uses tuple p_i(j) of table i, or none; G_i[t] rows use tuple t. With c classes,
//
//   minimise   (1/N) sum_j phi(z_j; y_j) + l2/2 sum_i |theta_i|^2     subject to   z_j = sum_i x_{i,p_i(j)}' theta_i
//
//   coordinator   a_j     =  sum_i h_i[p_i(j)]                                            starting with h = 0, lambda = 0
//                 z_j     =  argmin phi(z; y_j) + rho/2 |z - a_j - lambda_j/rho|^2
//                 lambda+ =  lambda + rho (a - z),    e = lambda+ + rho (a - z)
//                 lambda  <- lambda + alpha (lambda+ - lambda)
//                 sends      Y_i[t] = sum over j with p_i(j) = t of e_j  -  w G_i[t] h_i[t];  G_i and w once
//   owner of i    theta   <- theta + alpha (-A^-1 X'Y - theta),    A = w X' diag(G) X + N l2 I, factored once
//                 sends      h_i = X theta
//
// update      w          alpha
//   relaxed   M rho      1.6       all tables at once; the default
//   paper     rho        1         the printed one: every table corrects the whole residual at once, and diverges, which
//                                  is noticed by the objective
//   majorised M L        1         no z, no lambda: e_j is the loss's derivative at margins v, w G h those of v, L the
//                                  loss's curvature: accelerated majorisation. With a = new margins,
//                                  v = new + ((t-1)/t') (new - old), t' = (1 + sqrt(1 + 4 t^2)) / 2 (Nesterov); t = 1
//                                  again where the objective rose (O'Donoghue and Candes 2015)
// order
//   gauss-seidel   one table after the other, each with e = lambda + rho (a - z) of the newest a, and w = rho
//
// Both reductions of the paper: an owner works on its n_i tuples (equation 35), and a value travels for each of them
// (equations 36 and 37). Tuples that no row uses cost nothing at all. Either is switched off for comparison.
//
// Before the epochs each party sends digests of its keys (data/key_digest.h), from which the coordinator builds p_i, and
// the owner of the labels sends them: the z-step needs them. Nothing of a table's features travels but h.
//
// An epoch has converged when  rms(a - z) / max(rms a, rms z)  and  w sqrt(sum G |dh|^2 / (N c)) / rms(lambda)  are both at
// most the tolerance (of majorisation the second alone, the loss's derivative in lambda's place).
//
// A table that Q parties hold by rows (a union), all with one theta:
//   masked      each sends X_q'Y_q, and once X_q' diag(G) X_q, under masks that cancel in the sum (table_sums.h); all get
//               the sums and solve the system. Exact. The sum of second moments is seen by the coordinator and by those
//               parties.
//   consensus   the paper's way, for tables of too many columns for that sum: consensus ADMM among them (Boyd et al. 2011,
//               Section 7.1), in rounds of their own until v stands still, u_q starting where the last epoch left it
//                 party q      theta_q = -(w X_q' diag(G) X_q + s I)^-1 (X_q'Y_q - s (v - u_q)),  sends theta_q + u_q
//                 coordinator  v = Q s / (N l2 + Q s) mean(theta_q + u_q)
//                 party q      u_q <- u_q + theta_q - v
//               and theta is v.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "parley/algorithms/parts/federated.h"
#include "parley/algorithms/parts/mask_keys.h"
#include "parley/algorithms/relational/joined_rows.h"
#include "parley/algorithms/relational/relational_settings.h"
#include "parley/algorithms/relational/row_losses.h"
#include "parley/algorithms/relational/table_share.h"

namespace parley::algorithms {

class GramSystem;
class TableRows;
class TableSystem;

class RelationalAdmm {
 public:
  struct TableState {
    JoinedTable rows;
    std::vector<double> values;  // h, of each slot and class
    std::vector<double> before;  // of majorisation: those of the epoch before,
    std::vector<double> point;   // and those of v
    std::vector<double> sums;    // what travels: Y of each slot; without reduce_bytes of each row that has a tuple
    double squares = 0;          // |theta|^2
    // Of a table of several parties.
    std::vector<std::string> mask_keys;
    std::vector<double> gram;    // X' diag(G) X, in the first epoch
    std::vector<double> shared;  // X'Y, or v
    static void fields(auto& self, auto&& visit) {
      visit(self.rows, self.values, self.before, self.point, self.sums, self.squares, self.mask_keys, self.gram,
            self.shared);
    }
  };
  struct Iterate {
    bool joined = false;
    std::int64_t epoch = 0;  // epochs done
    int turn = 0;            // of Gauss-Seidel: the table that is asked
    std::int64_t stage = 0;  // of the epoch; above 0: tables of several parties work on
    bool agreed = false;     // their consensus stands still
    std::vector<TableState> tables;
    std::vector<double> labels;     // of each slot of the label table
    std::vector<double> dual;       // lambda
    std::vector<double> consensus;  // z, where it is needed for longer than a moment
    double loss = 0;                // at the margins of the last epoch, the mean
    double first_objective = 0;
    double last_objective = 0;
    double momentum = 1;  // t, of majorisation
    double moved = 0;     // sum G |dh|^2 of this epoch
    double primal = 1;    // the residuals, relative
    double change = 1;
    static void fields(auto& self, auto&& visit) {
      visit(self.joined, self.epoch, self.turn, self.stage, self.agreed, self.tables, self.labels, self.dual,
            self.consensus, self.loss, self.first_objective, self.last_objective, self.momentum, self.moved,
            self.primal, self.change);
    }
  };
  // Steps of an epoch.
  static constexpr int kKeys = 0;    // before the first: digests and labels
  static constexpr int kSums = 1;    // Y;  back come h, or a summand of a table of several parties
  static constexpr int kTotals = 2;  // masked: the sums;  back come h
  static constexpr int kAgree = 3;   // consensus: v;  back come theta_q + u_q
  static constexpr int kValues = 4;  // consensus: the last v;  back come h
  struct Task {
    int step = kKeys;
    std::int64_t rows = 0;               // N; with the first sums, as the next four
    double weight = 0;                   // w
    int classes = 1;                     // c
    std::vector<linalg::Index> tuples;   // that travel
    std::vector<linalg::Index> uses;     // G of each; empty: they come once for each row
    std::vector<std::string> mask_keys;  // of all parties of the table
    TravellingNumbers sums;              // Y
    std::vector<double> gram;            // X' diag(G) X of the whole table, once
    std::vector<double> shared;          // X'Y of the whole table, or v
    static void fields(auto& self, auto&& visit) {
      visit(self.step, self.rows, self.weight, self.classes, self.tuples, self.uses, self.mask_keys, self.sums,
            self.gram, self.shared);
    }
  };
  struct Reply {
    std::vector<std::vector<std::int64_t>> keys;  // two numbers for each tuple
    std::vector<double> labels;
    std::string mask_key;
    std::vector<std::int64_t> words;  // of X_q'Y_q, in the first epoch after those of X_q' diag(G) X_q; masked
    std::vector<double> shared;       // theta_q + u_q
    TravellingNumbers values;         // h
    double squares = 0;               // |theta|^2, so that the coordinator knows the objective
    static void fields(auto& self, auto&& visit) {
      visit(self.keys, self.labels, self.mask_key, self.words, self.shared, self.values, self.squares);
    }
  };
  struct Memory {
    std::vector<double> weights;  // theta, class by class
    bool asked_for_keys = false;
    std::int64_t answered = 0;  // sums
    std::int64_t rounds = 0;    // likewise, and what followed them
    std::int64_t rows = 0;
    double weight = 0;
    int classes = 1;
    std::vector<linalg::Index> tuples;
    std::vector<linalg::Index> uses;
    MaskKeys masks;
    std::vector<double> gram;     // of the whole table
    std::vector<double> moments;  // X_q'Y_q of this epoch
    std::vector<double> own;      // theta_q
    std::vector<double> dual;     // u_q
    static void fields(auto& self, auto&& visit) {
      visit(self.weights, self.asked_for_keys, self.answered, self.rounds, self.rows, self.weight, self.classes,
            self.tuples, self.uses, self.masks, self.gram, self.moments, self.own, self.dual);
    }
    // Made again when they are not there.
    std::shared_ptr<const TableRows> table;
    std::shared_ptr<const TableSystem> system;  // of a table of one party
    std::shared_ptr<const GramSystem> shared;   // of one of several
  };
  using Data = TableShare;
  using Settings = RelationalSettings;

  static Result<RelationalAdmm> make(const RunTerms& terms, const RelationalSettings& settings);
  static Result<void> check_private(const RunTerms& terms, const RelationalSettings& settings);
  static std::vector<Leaving> leaves(const RunTerms& terms, const RelationalSettings& settings);
  [[nodiscard]] std::int64_t most_rounds() const;
  [[nodiscard]] Result<void> reserve(const TableShare&, Memory&, privacy::Gate&) const { return {}; }

  Result<Iterate> begin(std::span<const PartyFacts> parties);
  [[nodiscard]] std::size_t largest_reply(std::span<const PartyFacts> parties) const;
  [[nodiscard]] Result<void> check(const Iterate& iterate, int party, const Reply& reply) const;

  [[nodiscard]] std::optional<Task> ask(const Iterate& iterate, int party) const;
  Result<privacy::Released<Reply>> answer(const Task& task, const TableShare& share, Memory& memory,
                                          privacy::Gate& gate) const;
  [[nodiscard]] Result<Iterate> absorb(Iterate iterate, const rounds::Answers<Reply>& answers) const;
  [[nodiscard]] bool done(const Iterate& iterate) const {
    return iterate.joined && (iterate.epoch >= settings_.epochs || converged(iterate));
  }
  [[nodiscard]] bool converged(const Iterate& iterate) const {
    return iterate.epoch > 0 && iterate.primal <= settings_.tolerance && iterate.change <= settings_.tolerance;
  }
  [[nodiscard]] std::optional<double> objective(const Iterate& iterate) const;
  [[nodiscard]] double rho() const { return settings_.rho; }

 private:
  RelationalAdmm(const glm::Objective& objective, const RelationalSettings& settings,
                 std::shared_ptr<const RelationalTerms> tables)
      : objective_(objective), settings_(settings), tables_(std::move(tables)) {}

  [[nodiscard]] RowLoss loss() const { return {objective_.task, static_cast<std::size_t>(objective_.classes)}; }
  [[nodiscard]] int table_of(int party) const { return tables_->table_of_party[static_cast<std::size_t>(party)]; }
  [[nodiscard]] bool takes_part(int party) const { return trained_[static_cast<std::size_t>(table_of(party))]; }
  [[nodiscard]] int trained_after(int table) const;
  [[nodiscard]] double owner_weight() const;  // w
  [[nodiscard]] bool is_split(int party) const { return tables_->holders_with(party).size() > 1; }
  [[nodiscard]] bool asks(const Iterate& iterate, int party) const;
  // Slots of the party's tuples.
  [[nodiscard]] RowRange slots_of(const Iterate& iterate, int party) const;
  [[nodiscard]] double consensus_penalty(double rows, double weight, std::size_t holders) const;  // s

  // At a party.
  Result<privacy::Released<Reply>> keys(const TableShare& share, Memory& memory, privacy::Gate& gate) const;
  Result<privacy::Released<Reply>> whole(const Task& task, const TableShare& share, Memory& memory,
                                         privacy::Gate& gate) const;
  Result<privacy::Released<Reply>> part(const Task& task, const TableShare& share, Memory& memory,
                                        privacy::Gate& gate) const;
  Result<void> remember(const Task& task, const TableShare& share, Memory& memory) const;
  Result<privacy::Released<Reply>> summand(const Task& task, const TableShare& share, Memory& memory,
                                           privacy::Gate& gate) const;
  Result<void> agree_on(std::span<const double> v, const TableShare& share, Memory& memory) const;
  [[nodiscard]] Reply with_weights(std::span<const double> solved, Memory& memory) const;

  // At the coordinator.
  [[nodiscard]] Result<Iterate> join(Iterate iterate, const rounds::Answers<Reply>& answers) const;
  void add_up(Iterate& iterate, const rounds::Answers<Reply>& answers) const;
  [[nodiscard]] bool sends_summand(const Iterate& iterate, int party) const;
  [[nodiscard]] bool works_on(const Iterate& iterate) const;
  [[nodiscard]] double take(Iterate& iterate, int party, const Reply& reply) const;
  Result<void> begin_epoch(Iterate& iterate) const;
  [[nodiscard]] double agree(Iterate& iterate) const;
  [[nodiscard]] double majorise(Iterate& iterate) const;
  void next_turn(Iterate& iterate) const;
  void correct(TableState& table, std::span<const double> values, std::span<const double> by_row) const;
  [[nodiscard]] double objective_at(const Iterate& iterate) const;
  [[nodiscard]] Result<void> check_progress(Iterate& iterate) const;
  [[nodiscard]] std::size_t label_table() const { return static_cast<std::size_t>(tables_->label_table); }
  [[nodiscard]] static double row_count(const Iterate& iterate) {
    return static_cast<double>(iterate.tables.front().rows.slots.size());
  }

  glm::Objective objective_;
  RelationalSettings settings_;
  std::shared_ptr<const RelationalTerms> tables_;
  std::string run_;                    // at a party: names the run, for masks
  std::vector<std::int64_t> records_;  // of each party
  std::vector<std::size_t> columns_;   // of each table, with those that the job adds
  std::vector<bool> trained_;          // tables that have a column; the others are joined by, and asked nothing else
  double table_count_ = 1;             // M, of those
};
static_assert(Federated<RelationalAdmm>);

}  // namespace parley::algorithms
