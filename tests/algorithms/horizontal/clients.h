// Clients with a ledger of their own, for the tests of sums in which a client is the unit of privacy.
#pragma once
#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "parley/algorithms/horizontal/row_share.h"
#include "parley/data/random.h"
#include "parley/glm/objective.h"
#include "parley/linalg/vectors.h"
#include "parley/privacy/gate.h"
#include "tests/support/temporary_folder.h"

namespace parley::tests {

using algorithms::RowShare;
using linalg::Index;
using linalg::Matrix;

inline privacy::Target target(double epsilon, double delta = 1e-6) {
  return {*privacy::Epsilon::make(epsilon), *privacy::Delta::make(delta), privacy::Neighbours::kReplaceOne};
}

inline const privacy::Purse kPurse{"client", privacy::Unit::kClient, privacy::Neighbours::kReplaceOne};

// A client with a ledger of its own.
class Client {
 public:
  Client(int number, Matrix features, std::vector<double> labels, double budget,
         std::optional<privacy::Transcript> transcript = {}, privacy::Purse purse = kPurse)
      : share_{number, std::move(features), std::move(labels), nullptr, {}},
        bits_(static_cast<std::uint64_t>(100 + number)) {
    (void)ledger_.set_budget(
        purse, {*privacy::Epsilon::make(budget), *privacy::Delta::make(1e-6), privacy::Composition::kPlans});
    gate_.emplace(transcript ? privacy::Gate::replay(*transcript, purse)
                             : std::move(*privacy::Gate::open(ledger_, purse, "run", bits_)));
    gate_->keep_transcript();
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  const RowShare& share() const { return share_; }
  privacy::Gate& gate() { return *gate_; }

 private:
  RowShare share_;
  privacy::SeededGenerator bits_;
  TemporaryFolder folder_;
  privacy::Ledger ledger_ = std::move(*privacy::Ledger::open(folder_.path()));
  std::optional<privacy::Gate> gate_;
};

using Clients = std::vector<std::unique_ptr<Client>>;

// Labels by a sparse model; clients differ by `seed`.
inline Clients clients(int count, double budget, std::uint64_t seed = 1,
                       const std::vector<privacy::Transcript>& transcripts = {}) {
  constexpr Index kRows = 60, kColumns = 5;
  Clients made;
  for (int p = 0; p < count; ++p) {
    data::Random random(seed, static_cast<std::uint64_t>(p), 3);
    std::vector<double> values(kRows * kColumns), labels(kRows);
    for (double& v : values) v = 2 * random.uniform() - 1;
    for (std::size_t i = 0; i < kRows; ++i)
      labels[i] = values[i] - values[kRows + i] + 0.2 * random.normal() > 0 ? 1 : -1;
    std::optional<privacy::Transcript> transcript;
    if (!transcripts.empty()) transcript = transcripts[static_cast<std::size_t>(p)];
    made.push_back(
        std::make_unique<Client>(p, Matrix::from_dense(kRows, kColumns, values), labels, budget, transcript));
  }
  return made;
}

inline glm::Objective logistic(std::optional<int> sparsity) {
  glm::Objective made{.task = glm::Task::kLogistic, .l2 = 0.01};
  made.sparsity = sparsity;
  return made;
}

// Clients without any signal: columns of zeros. What they send is noise under masks.
inline Clients silent(int count, Index columns) {
  Clients made;
  for (int p = 0; p < count; ++p)
    made.push_back(std::make_unique<Client>(
        p, Matrix::from_dense(2, columns, std::vector<double>(2 * static_cast<std::size_t>(columns), 0.0)),
        std::vector<double>{1, -1}, 1e6));
  return made;
}

// The sample deviation of 4000 draws is off by 1/sqrt(8000) = 1.1 %: 7 % is six deviations (false alarm 2e-9).
inline bool deviation_is(double wanted, const std::vector<double>& sample) {
  const double found = std::sqrt(linalg::squared_norm(sample) / static_cast<double>(sample.size()));
  return std::abs(found / wanted - 1) < 0.07;
}

}  // namespace parley::tests
