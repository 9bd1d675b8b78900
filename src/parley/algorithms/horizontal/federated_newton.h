// Newton's method for a generalised linear model whose records lie at several parties: the exact optimum of the pooled
// table from sums. With penalties of l1 it is the proximal Newton method (Lee, Sun and Saunders 2014).
//
//   minimise  F(u) = 1/n sum_p sum_{i of p} phi(<x_i, u>, y_i) + l1 ||u||_1 + l2/2 ||u||^2      (a free intercept: no penalty)
//
//   coordinator:  sends u
//   party p:      its sums of loss, gradient and curvature at u                          (newton_sums.h)
//   coordinator:  adds them: f, g, H
//                 d   <- argmin_d  g'd + 1/2 d'Hd + penalty(u + d)                        (newton_direction.h)
//                 asks at v = u + t d, t = 1, 1/2, ...  until  F(v) <= F(u) + 1e-4 D(v),
//                 D(v) = g'(v - u) + penalty(v) - penalty(u) < 0;  then u <- v
//
// Every round but those in which t is halved is a step. The optimum is reached when no coordinate of the gradient
// violates its optimality condition by more than `tolerance` times the largest violation at u = 0.
//
// Where a model has more parameters than `largest_matrix`, H is not summed: the coordinator asks for products H v, one a
// round, and d comes from conjugate gradients over the coordinates that are free (nonzero, or whose gradient exceeds
// l1), stopped as soon as it is as good as the step can use. A coordinate that would change its sign stops at zero. A
// multiple of the identity that falls with the violation is added to H (Levenberg): it bounds steps where H is singular.
//
// Masks. Parties agree on masks that cancel (parts/mask_keys.h), so that the coordinator learns f, g and H and no
// party's part of them; it hands on the parties' keys as they are. What n_p is stays public. With two parties either
// knows the other's sums, being the total less its own. `masks = false` lets the parts themselves travel. Sums are of
// whole numbers (parts/total.h), in units of what one record can add: X, the largest norm of a row, which parties say at
// the beginning, and Y, which no label of theirs exceeds and which they say with their keys; both as powers of two.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "parley/algorithms/horizontal/newton_sums.h"
#include "parley/algorithms/horizontal/row_share.h"
#include "parley/algorithms/parts/federated.h"
#include "parley/algorithms/parts/final_curvature.h"
#include "parley/algorithms/parts/mask_keys.h"
#include "parley/rounds/algorithm.h"

namespace parley::algorithms {

struct FederatedNewtonSettings {
  int iterations = 100;                                 // points at which F is looked at
  double tolerance = 1e-10;                             // of the optimality condition, relative to what it is at 0
  bool masks = true;                                    // the coordinator sees totals only
  int largest_matrix = 2000;                            // parameters; above it conjugate gradients
  int products = 100;                                   // of H in one step
  static FederatedNewtonSettings read(Toml& settings);  // its keys of [algorithm]
};

class FederatedNewton {
 public:
  enum Phase { kKeys, kLook, kProduct, kDone };

  struct Iterate {
    int phase = kKeys;
    std::int64_t round = 0;  // rounds done after the keys
    int looks = 0;
    std::vector<std::string> keys;
    int label_exponent = 0;          // log2 Y
    std::vector<double> parameters;  // u
    std::vector<double> direction;   // d
    std::vector<double> gradient;    // g at u, without penalties
    double loss = 0;                 // f at u
    double step = 0;                 // t that is being tried; 0: u itself is looked at
    double violation = 0;            // at u
    double first_violation = 0;      // at 0
    double damping = 1e-4;           // of conjugate gradients, beside the largest curvature that a row can have
    std::vector<double> residual;    // of conjugate gradients
    std::vector<double> probe;       // v
    double squares = 0;              // ||residual||^2
    double enough = 0;               // the squares at which d is good enough
    int products = 0;                // of this step
    std::vector<double> curvature;   // H at u, where inference is wanted
    double first_loss = 0;           // f at 0
    double first_slope = 0;          // of f in the intercept there
    static void fields(auto& self, auto&& visit) {
      visit(self.phase, self.round, self.looks, self.keys, self.label_exponent, self.parameters, self.direction,
            self.gradient, self.loss, self.step, self.violation, self.first_violation, self.damping, self.residual,
            self.probe, self.squares, self.enough, self.products, self.curvature, self.first_loss, self.first_slope);
    }
  };
  struct Task {
    int phase = kKeys;
    std::int64_t round = 0;
    std::vector<double> parameters;
    std::vector<double> direction;  // kProduct: v
    std::vector<std::string> keys;  // in the first round after them
    int row_exponent = 0, label_exponent = 0;
    static void fields(auto& self, auto&& visit) {
      visit(self.phase, self.round, self.parameters, self.direction, self.keys, self.row_exponent, self.label_exponent);
    }
  };
  struct Reply {
    std::string key;
    int label_exponent = 0;
    std::vector<std::int64_t> words;  // f, g and H, or H v; under masks where the run has them
    static void fields(auto& self, auto&& visit) { visit(self.key, self.label_exponent, self.words); }
  };
  struct Memory {
    MaskKeys masks;
    static void fields(auto& self, auto&& visit) { visit(self.masks); }
    std::shared_ptr<const NewtonSums> sums;  // of the last point
  };
  using Data = RowShare;
  using Settings = FederatedNewtonSettings;

  static Result<FederatedNewton> make(const RunTerms& terms, const FederatedNewtonSettings& settings);
  static Result<void> check_private(const RunTerms& terms, const FederatedNewtonSettings& settings);
  static std::vector<Leaving> leaves(const RunTerms& terms, const FederatedNewtonSettings& settings);
  Result<void> reserve(const RowShare& share, Memory& memory, privacy::Gate& gate) const;

  Result<Iterate> begin(std::span<const PartyFacts> parties);
  [[nodiscard]] std::int64_t most_rounds() const;
  [[nodiscard]] std::size_t largest_reply(std::span<const PartyFacts> parties) const;
  [[nodiscard]] Result<void> check(const Iterate& iterate, int party, const Reply& reply) const;

  [[nodiscard]] Task ask(const Iterate& iterate) const;
  Result<privacy::Released<Reply>> answer(const Task& task, const RowShare& share, Memory& memory,
                                          privacy::Gate& gate) const;
  [[nodiscard]] Result<Iterate> absorb(Iterate iterate, const rounds::Answers<Reply>& answers) const;
  [[nodiscard]] bool done(const Iterate& iterate) const { return iterate.phase == kDone; }
  [[nodiscard]] bool converged(const Iterate& iterate) const;
  [[nodiscard]] FinalCurvature curvature(const Iterate& iterate) const {
    return {iterate.curvature, iterate.loss, iterate.first_loss, iterate.first_slope};
  }
  [[nodiscard]] std::optional<double> objective(const Iterate& iterate) const;

 private:
  // Means over all records, from the words of all parties.
  struct Total {
    double loss = 0;
    std::vector<double> gradient, curvature, product;
  };
  FederatedNewton(const RunTerms& terms, const FederatedNewtonSettings& settings)
      : terms_(terms), settings_(settings) {}

  [[nodiscard]] bool masked() const { return settings_.masks && terms_.parties > 1; }
  [[nodiscard]] bool with_matrix(std::size_t parameters) const {
    return parameters <= static_cast<std::size_t>(settings_.largest_matrix);
  }
  [[nodiscard]] std::size_t words_of(int phase, std::size_t parameters) const;
  Result<privacy::Released<Reply>> tell_first(const RowShare& share, Memory& memory, privacy::Gate& gate) const;
  [[nodiscard]] Result<std::vector<std::int64_t>> words(const Task& task, const NewtonSums& sums) const;
  [[nodiscard]] Result<Total> total(const Iterate& iterate, const rounds::Answers<Reply>& answers) const;

  // F was looked at: the point is taken and a direction is aimed at, or t is halved.
  void look(Iterate& iterate, Total total) const;
  void aim(Iterate& iterate, std::vector<double> curvature) const;
  void absorb_product(Iterate& iterate, std::vector<double> product) const;
  void try_direction(Iterate& iterate) const;

  // Of the objective at the iterate's point.
  [[nodiscard]] bool penalised(std::size_t coordinate, std::size_t parameters) const;
  [[nodiscard]] double penalty(std::span<const double> parameters) const;
  [[nodiscard]] double violation(const Iterate& iterate) const;
  // The derivative of F along each coordinate's better side; 0 where 0 is the best.
  [[nodiscard]] std::vector<double> slopes(const Iterate& iterate) const;
  [[nodiscard]] std::vector<double> moved(const Iterate& iterate) const;
  [[nodiscard]] double promised(const Iterate& iterate) const;

  RunTerms terms_;
  FederatedNewtonSettings settings_;
  double records_ = 0;    // n
  int row_exponent_ = 0;  // log2 X
};
static_assert(Federated<FederatedNewton>);

}  // namespace parley::algorithms
