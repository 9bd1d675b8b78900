// Masked descent: parties with columns of the same records train one model, and nothing is opened but noisy gradients.
// Proof note: privacy/masking/masked_descent.md.
//
//   minimise   F(w) = 1/n sum_i log(1 + exp(-y_i <x_i, w>)) + penalties,     x_i in parts with parties 1 .. M
//   gradient   1/n (X' s(Xw) - X'(y - 1/2)),     s(m) = 1/(1 + e^-m) - 1/2 as a series of sines (odd_series.h),
//              y here 0 or 1; whole numbers in Z/2^q, margins in Z/2^p with a period of L
//
//   The dealer, who is the coordinator, gives party k a seed of: A_k, of the shape of X_k; b_k^t and delta_k^t of every
//   index t; and shares of what is dealt. What parties send each other is sealed (secure/seal.h) and goes through it.
//
//   Of labels that are numbers there is no series: r_k = m_k, held to +-max |y|, and y in the place of y - 1/2; (a) and
//   the opening of u fall away.
//
//   once   E_k = X_k + A_k goes to the other parties. Party j keeps -E_k' b_j^t for all t, and no E_k
//          index 0: r_k = y - 1/2 at the party with the labels, 0 elsewhere; then (c) and (d) open v = X'(y - 1/2)
//   each   (a) u_k = m_k + delta_k^t,  m_k = X_k w_k held to +-L/(4M);  opened among the parties: u = m + delta
//          (b) r_k: party k's share of the series, from u and its shares of cos(h w delta), sin(h w delta)
//              f_k = r_k + b_k^t;  opened among the parties: f = r + b
//          (c) the parties show each other a digest of all that they computed with, and go on if they agree
//              party k's share of X_j'r:  X_k'(f - b_k) for its own columns, -E_j'b_k for others';  of both plus its
//              share of c_j = A_j' sum over i != j of b_i, plus its part of the noise (the dealer's is in c)
//          (d) party 1 adds up the shares: X'r + noise goes to the coordinator, who takes the next step
//
// Why the sum is X'r:  X_j'r = X_j'(f - b_j) - (E_j - A_j)' sum over i != j of b_i.
//
// A round of the driver is one arrow: 5 of them an index. Without [privacy] the same messages give the exact gradient,
// and nothing is claimed. Sources: Beaver 1991; Mohassel and Zhang 2017; Zheng et al. 2023; Dwork et al. 2006.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "parley/algorithms/parts/federated.h"
#include "parley/algorithms/parts/peer_seals.h"
#include "parley/algorithms/vertical/column_share.h"
#include "parley/algorithms/vertical/masked_dealer.h"
#include "parley/algorithms/vertical/masked_numbers.h"
#include "parley/algorithms/vertical/masked_steps.h"
#include "parley/rounds/algorithm.h"

namespace parley::algorithms {

class MaskedDescent {
 public:
  // What a task asks for, in this order; all but the first three and the last come again for every index.
  enum Step : int { kKeys, kMatrix, kProducts, kMargins, kResidual, kAgree, kShare, kOpen, kEnd };

  struct Iterate {
    int step = kKeys;
    std::int64_t index = 0;
    std::int64_t indices = 0;  // 1 + T
    std::string secret;        // the dealer's
    std::vector<std::string> hellos;
    std::vector<MaskedShape> shapes;
    std::vector<std::string> relayed, agreed;  // from party i to party j, at i M + j; digests of this index
    std::vector<std::int64_t> noise;           // the dealer's, of this index
    std::vector<double> correlation;           // v
    MaskedPoint at;
    std::vector<double> parameters;  // the model, party by party
    bool told = false, converged = false;
    static void fields(auto& self, auto&& visit) {
      visit(self.step, self.index, self.indices, self.secret, self.hellos, self.shapes, self.relayed, self.agreed,
            self.noise, self.correlation, self.at, self.parameters, self.told, self.converged);
    }
    std::shared_ptr<const std::vector<std::uint64_t>> products{};  // c of all indices; made again
  };
  struct Task {
    int step = kKeys, party = 0;
    std::int64_t index = 0, indices = 0;
    std::vector<std::string> hellos;
    std::vector<MaskedShape> shapes;
    std::string seed, dealt;
    std::vector<std::string> sealed, agreed;  // by sender
    std::vector<double> weights;
    static void fields(auto& self, auto&& visit) {
      visit(self.step, self.party, self.index, self.indices, self.hellos, self.shapes, self.seed, self.dealt,
            self.sealed, self.agreed, self.weights);
    }
  };
  struct Reply {
    std::string hello;
    MaskedShape shape;
    std::vector<std::string> sealed;  // by receiver
    std::vector<std::int64_t> opened;
    static void fields(auto& self, auto&& visit) { visit(self.hello, self.shape, self.sealed, self.opened); }
  };
  struct Memory {
    PeerSeals peers;
    int party = -1, step = -1;  // of the last task
    std::int64_t index = 0, indices = 0;
    std::string seed;
    std::vector<std::int64_t> marks;  // indices whose masks were used
    std::vector<MaskedShape> shapes;
    std::string matrices;                                                // digest of all E_k
    std::string products;                                                // -E_j' b_k^t, words of q bits
    std::vector<double> asked;                                           // w of this index, all parties'
    std::string own_margins, own_residuals, margins, residuals, digest;  // of this index, packed; the sums once opened
    std::vector<double> weights;
    bool released = false;
    static void fields(auto& self, auto&& visit) {
      visit(self.peers, self.party, self.step, self.index, self.indices, self.seed, self.marks, self.shapes,
            self.matrices, self.products, self.asked, self.own_margins, self.own_residuals, self.margins,
            self.residuals, self.digest, self.weights, self.released);
    }
    bool reserved = false;  // by this process: a gate that is taken up asks its ledger for what was charged
    std::shared_ptr<const privacy::WholeColumns> columns{};  // made again when they are not there
    std::shared_ptr<const MaskedNumbers> numbers{};
  };
  using Data = ColumnShare;
  using Settings = MaskedSettings;

  static Result<MaskedDescent> make(const RunTerms& terms, const MaskedSettings& settings);
  static Result<void> check_private(const RunTerms& terms, const MaskedSettings& settings);
  static std::vector<Leaving> leaves(const RunTerms& terms, const MaskedSettings& settings);
  Result<void> reserve(const ColumnShare& share, Memory& memory, privacy::Gate& gate) const;

  Result<Iterate> begin(std::span<const PartyFacts> parties);
  [[nodiscard]] std::size_t largest_reply(std::span<const PartyFacts> parties) const;
  [[nodiscard]] Forecast forecast(std::span<const PartyFacts> parties, std::span<const std::vector<double>>) const;
  [[nodiscard]] Result<void> check(const Iterate& iterate, int party, const Reply& reply) const;
  [[nodiscard]] std::int64_t most_rounds() const;
  [[nodiscard]] bool cut_short() const { return cut_short_; }
  [[nodiscard]] bool converged(const Iterate& iterate) const { return iterate.converged; }

  [[nodiscard]] std::optional<Task> ask(const Iterate& iterate, int party) const;
  Result<privacy::Released<Reply>> answer(const Task& task, const ColumnShare& share, Memory& memory,
                                          privacy::Gate& gate) const;
  [[nodiscard]] Result<Iterate> absorb(Iterate iterate, const rounds::Answers<Reply>& answers) const;
  [[nodiscard]] bool done(const Iterate& iterate) const { return iterate.told; }

 private:
  friend class MaskedParty;
  MaskedDescent(const RunTerms& terms, const MaskedSettings& settings) : terms_(terms), settings_(settings) {}
  [[nodiscard]] std::int64_t most_steps(const privacy::Target* target, double records) const;
  Result<void> after_shares(Iterate& iterate, std::span<const std::int64_t> opened) const;
  Result<void> draw_noise(Iterate& iterate) const;
  // What follows from the shapes: of labels that are numbers their bound is known with the parties' first answers.
  [[nodiscard]] std::shared_ptr<const MaskedNumbers> numbers_of(const Iterate& iterate) const;
  [[nodiscard]] bool is_direct() const { return terms_.objective.task == glm::Task::kLinear; }
  [[nodiscard]] MaskedRule rule() const;
  [[nodiscard]] bool noisy() const { return terms_.is_private; }

  RunTerms terms_;
  MaskedSettings settings_;
  // At the coordinator, from what the parties said.
  std::shared_ptr<const MaskedNumbers> numbers_{};
  std::vector<double> noise_{};  // over the sensitivity
  std::int64_t steps_ = 0;
  double damping_ = 0;
  bool cut_short_ = false;
};
static_assert(Federated<MaskedDescent>);

}  // namespace parley::algorithms
