// Gradient steps over a join that nobody materialises: the other published way of Xu et al. 2024 (TablePuppet). Rows, tuples
// and sums as in relational_admm.h.
//
//   coordinator   B       each row of the join with probability q, anew in every step
//                 e_j     =  phi'(a_j; y_j) / (q N) for the rows of B,    a_j = sum_i h_i[p_i(j)]
//                 sends      Y_i[t] = sum over the rows of B with p_i(j) = t of e_j, of the tuples that B uses
//   owner of i    theta   <- theta - s_k (X'Y + l2 theta),    s_k = s / (1 + s l2 k) in step k; s in every step where q = 1
//                 sends      h_i = X theta for the tuples that the next B uses
//
// s is at most 1/L, L = curvature of the loss * sum_i max |x_i|^2 + l2. A row's gradient is aggregated by tuple before it
// travels, so a step costs each owner at most as many numbers each way as it has tuples in B. After every pass (1/q steps)
// the owners send h of all used tuples, and the coordinator knows the objective.
//
// Which rows B has follows from the job's seed: it hides nothing.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "parley/algorithms/parts/federated.h"
#include "parley/algorithms/relational/joined_rows.h"
#include "parley/algorithms/relational/row_losses.h"
#include "parley/algorithms/relational/table_share.h"
#include "parley/core/toml.h"

namespace parley::algorithms {

struct RelationalSgdSettings {
  std::int64_t steps = 200;
  double batch_rate = 1;  // q
  double step = 0;        // s; 0: 1/L
  static RelationalSgdSettings read(Toml& settings);
};

class RelationalSgd {
 public:
  struct TableState {
    JoinedTable rows;
    std::vector<double> values;         // h as it was last sent, of each slot and class
    std::vector<linalg::Index> batch;   // slots that B uses, ascending
    std::vector<linalg::Index> wanted;  // slots whose h comes back
    std::vector<double> sums;           // Y of `batch`
    double squares = 0;                 // |theta|^2
    static void fields(auto& self, auto&& visit) {
      visit(self.rows, self.values, self.batch, self.wanted, self.sums, self.squares);
    }
  };
  struct Iterate {
    bool joined = false;
    std::int64_t seed = 0;  // that the samples follow from
    std::int64_t step = 0;  // done
    std::vector<TableState> tables;
    std::vector<double> labels;  // of each slot of the label table
    double objective = 0;        // of the last full pass
    static void fields(auto& self, auto&& visit) {
      visit(self.joined, self.seed, self.step, self.tables, self.labels, self.objective);
    }
  };
  struct Task {
    bool asks_for_keys = false;
    int classes = 1;
    double step = 0;                    // s_k
    std::vector<linalg::Index> tuples;  // of the sums; empty: as before
    std::vector<linalg::Index> wanted;  // empty: as before
    std::vector<double> sums;
    static void fields(auto& self, auto&& visit) {
      visit(self.asks_for_keys, self.classes, self.step, self.tuples, self.wanted, self.sums);
    }
  };
  struct Reply {
    std::vector<std::vector<std::int64_t>> keys;
    std::vector<double> labels;
    std::vector<double> values;  // h of what was wanted
    double squares = 0;
    static void fields(auto& self, auto&& visit) { visit(self.keys, self.labels, self.values, self.squares); }
  };
  struct Memory {
    std::vector<double> weights;  // theta, class by class
    bool asked_for_keys = false;
    std::int64_t answered = 0;  // steps
    std::vector<linalg::Index> tuples;
    std::vector<linalg::Index> wanted;
    static void fields(auto& self, auto&& visit) {
      visit(self.weights, self.asked_for_keys, self.answered, self.tuples, self.wanted);
    }
  };
  using Data = TableShare;
  using Settings = RelationalSgdSettings;

  static Result<RelationalSgd> make(const RunTerms& terms, const RelationalSgdSettings& settings);
  static Result<void> check_private(const RunTerms& terms, const RelationalSgdSettings& settings);
  static std::vector<Leaving> leaves(const RunTerms& terms, const RelationalSgdSettings& settings);
  [[nodiscard]] std::int64_t most_rounds() const { return settings_.steps + 1; }
  [[nodiscard]] Result<void> reserve(const TableShare&, Memory&, privacy::Gate&) const { return {}; }

  Result<Iterate> begin(std::span<const PartyFacts> parties);
  [[nodiscard]] std::size_t largest_reply(std::span<const PartyFacts> parties) const;
  [[nodiscard]] Result<void> check(const Iterate& iterate, int party, const Reply& reply) const;

  [[nodiscard]] std::optional<Task> ask(const Iterate& iterate, int party) const;
  Result<privacy::Released<Reply>> answer(const Task& task, const TableShare& share, Memory& memory,
                                          privacy::Gate& gate) const;
  [[nodiscard]] Result<Iterate> absorb(Iterate iterate, const rounds::Answers<Reply>& answers) const;
  [[nodiscard]] bool done(const Iterate& iterate) const { return iterate.joined && iterate.step >= settings_.steps; }
  [[nodiscard]] std::optional<double> objective(const Iterate& iterate) const {
    return iterate.joined ? std::optional(iterate.objective) : std::nullopt;
  }

 private:
  RelationalSgd(const RunTerms& terms, const RelationalSgdSettings& settings)
      : objective_(terms.objective), settings_(settings), seed_(terms.seed), tables_(terms.relational) {}

  [[nodiscard]] RowLoss loss() const { return {objective_.task, static_cast<std::size_t>(objective_.classes)}; }
  [[nodiscard]] std::size_t table_of(int party) const {
    return static_cast<std::size_t>(tables_->table_of_party[static_cast<std::size_t>(party)]);
  }
  [[nodiscard]] bool takes_part(int party) const { return trained_[table_of(party)]; }
  // Whether h of all used tuples is there before the step, or comes back from it.
  [[nodiscard]] bool is_full_before(std::int64_t step) const;
  [[nodiscard]] std::vector<linalg::Index> rows_of(const Iterate& iterate, std::int64_t step) const;  // B
  [[nodiscard]] Result<Iterate> join(Iterate iterate, const rounds::Answers<Reply>& answers) const;
  void begin_step(Iterate& iterate) const;

  glm::Objective objective_;
  RelationalSgdSettings settings_;
  std::uint64_t seed_;
  std::shared_ptr<const RelationalTerms> tables_;
  std::vector<std::int64_t> records_;  // of each party
  std::vector<bool> trained_;          // tables that have a column
};
static_assert(Federated<RelationalSgd>);

}  // namespace parley::algorithms
