// Stochastic gradient descent over parties with columns: the baseline of Hu et al., "Learning privately over distributed
// features: an ADMM sharing approach", Section 5.
//
//   minimise   F(x) = 1/n sum_i phi(z_i, y_i) + l2/2 ||x||^2,    z = sum_k A_k x_k
//
//   records are cut into batches B_0, B_1, ... of b once, in an order from a public seed; every epoch visits all of them,
//   in an order of its own from the same seed
//
//   party k:       x_k <- x_k - h_t (A_k,B' v / |B| + l2 x_k)        with v of the batch before, B
//                  sends A_k,B x_k for the next batch B, one number for each of its records
//   coordinator:   z_i = sum over parties;   v_i = phi'(z_i, y_i) for the records of the batch;   sends v
//
//   h_t = h / (1 + h l2 t):  h is the job's, or 1/(curvature of phi x the sum of the parties' ||row||^2), below which a
//   step on one record alone does not overshoot
//
// A round is one batch. x_0 = 0; after T batches a last task brings the last v. A party keeps x_k, its part of the model.
// When a party sends for a batch is the coordinator's to say; which records are in it follows from the seed.
//
// Without privacy alone: the margins of a batch are functions of x_k, which is a function of every record seen before. A
// private form would release a noisy gradient of each party and noisy margins, one number for a record and an epoch, of
// a bound that does not fall with n: noise far above every margin. With labels that leave with noise (label_release.h) v
// is the derivative of the corrected loss (glm/unbiased.h).
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "parley/algorithms/parts/federated.h"
#include "parley/algorithms/vertical/column_share.h"
#include "parley/algorithms/vertical/labels_once.h"
#include "parley/core/toml.h"
#include "parley/glm/objective.h"
#include "parley/rounds/algorithm.h"

namespace parley::algorithms {

struct VerticalSgdSettings {
  int iterations = 1000;  // T, batches
  int batch = 256;        // b
  double step = 0;        // h; 0: as above

  static VerticalSgdSettings read(Toml& settings);  // its keys of [algorithm]
};

// Which records each of the batches has, the same wherever it is asked.
class BatchOrder {
 public:
  BatchOrder(std::uint64_t seed, std::size_t records, std::size_t batch);
  [[nodiscard]] std::size_t count() const { return (records_.size() + batch_ - 1) / batch_; }
  [[nodiscard]] std::span<const std::uint32_t> records(std::size_t batch) const;
  [[nodiscard]] std::size_t at(std::int64_t step);  // the batch that is visited then

 private:
  std::uint64_t seed_;
  std::size_t batch_;
  std::vector<std::uint32_t> records_;
  std::int64_t epoch_ = -1;  // of `visits_`
  std::vector<std::uint32_t> visits_{};
};

class VerticalSgd {
 public:
  struct Iterate {
    std::int64_t step = -1;  // batches that were answered for; -1: labels are still to come
    std::int64_t seed = 0;
    std::int64_t batch = 0;  // that is asked for
    double length = 0;       // h
    std::vector<double> labels;
    std::vector<double> derivative;  // v of the last batch
    bool told = false;               // every party has the last v
    static void fields(auto& self, auto&& visit) {
      visit(self.step, self.seed, self.batch, self.length, self.labels, self.derivative, self.told);
    }
  };
  struct Task {
    std::int64_t step = -1;  // of the batch that is asked for; -1: labels
    std::int64_t seed = 0;
    double length = 0;
    std::vector<double> derivative;
    static void fields(auto& self, auto&& visit) { visit(self.step, self.seed, self.length, self.derivative); }
  };
  struct Reply {
    std::vector<double> values;  // labels, or margins of a batch
    static void fields(auto& self, auto&& visit) { visit(self.values); }
  };
  struct Memory {
    std::vector<double> weights;  // x_k
    std::int64_t answered = 0;    // batches
    bool asked_for_labels = false;
    bool ended = false;
    bool released = false;
    static void fields(auto& self, auto&& visit) {
      visit(self.weights, self.answered, self.asked_for_labels, self.ended, self.released);
    }
    std::shared_ptr<BatchOrder> order{};  // made again when they are not there
    std::shared_ptr<const std::vector<ColumnShare>> batches{};
  };
  using Data = ColumnShare;
  using Settings = VerticalSgdSettings;

  static Result<VerticalSgd> make(const RunTerms& terms, const VerticalSgdSettings& settings);
  static Result<void> check_private(const RunTerms& terms, const VerticalSgdSettings& settings);
  static std::vector<Leaving> leaves(const RunTerms& terms, const VerticalSgdSettings& settings);
  Result<void> reserve(const ColumnShare& share, Memory& memory, privacy::Gate& gate) const;

  Result<Iterate> begin(std::span<const PartyFacts> parties);
  [[nodiscard]] std::size_t largest_reply(std::span<const PartyFacts> parties) const;
  [[nodiscard]] Forecast forecast(std::span<const PartyFacts> parties, std::span<const std::vector<double>>) const;
  [[nodiscard]] Result<void> check(const Iterate& iterate, int party, const Reply& reply) const;
  // Labels, every batch, and the last v.
  [[nodiscard]] std::int64_t most_rounds() const { return std::int64_t{settings_.iterations} + 2; }

  [[nodiscard]] Task ask(const Iterate& iterate) const;
  Result<privacy::Released<Reply>> answer(const Task& task, const ColumnShare& share, Memory& memory,
                                          privacy::Gate& gate) const;
  [[nodiscard]] Result<Iterate> absorb(Iterate iterate, const rounds::Answers<Reply>& answers) const;
  [[nodiscard]] bool done(const Iterate& iterate) const { return iterate.told; }

 private:
  VerticalSgd(const RunTerms& terms, const VerticalSgdSettings& settings) : terms_(terms), settings_(settings) {}
  void prepare(const Task& task, const ColumnShare& share, Memory& memory) const;
  // x_k <- x_k - h_t (A_k,B' v / |B| + l2 x_k)
  [[nodiscard]] std::vector<double> moved(const Task& task, const ColumnShare& batch,
                                          std::vector<double> weights) const;
  [[nodiscard]] std::size_t batch_size(std::size_t records) const;

  RunTerms terms_;
  VerticalSgdSettings settings_;
  LabelHolder holder_{};
  std::shared_ptr<BatchOrder> order_{};  // at the coordinator
};
static_assert(Federated<VerticalSgd>);

}  // namespace parley::algorithms
