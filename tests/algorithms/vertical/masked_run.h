// A masked descent over parties in memory, with everything that anybody sees of it.
#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "parley/algorithms/vertical/masked_descent.h"
#include "parley/data/random.h"
#include "parley/wire/decode.h"
#include "parley/wire/encode.h"
#include "tests/algorithms/federation.h"
#include "tests/algorithms/test_site.h"

namespace parley::tests {

using algorithms::ColumnShare;
using algorithms::MaskedDescent;

struct MaskedRun {
  MaskedDescent::Iterate iterate;
  std::vector<MaskedDescent::Memory> memories;
  std::optional<Error> error;
};

// A party as it comes back after a restart: from what was kept.
inline MaskedDescent::Memory restarted(const MaskedDescent::Memory& memory) {
  auto read = wire::decode<MaskedDescent::Memory>(wire::encode(memory), wire::Numbers::kAny);
  EXPECT_TRUE(read);
  return *read;
}

// What happens between the parties and the coordinator may be looked at and changed.
struct MaskedTaps {
  std::function<void(MaskedDescent::Task&, int party)> task{};
  // After an answer: the coordinator's state that it was asked for, who answered, what was said, and what is
  // remembered.
  std::function<void(const MaskedDescent::Iterate&, int party, const MaskedDescent::Reply&,
                     const MaskedDescent::Memory&)>
      answered{};
  std::function<void(const MaskedDescent::Iterate&)> absorbed{};
};

inline MaskedRun run_masked(const MaskedDescent& algorithm, MaskedDescent::Iterate first,
                            const std::vector<ColumnShare>& shares, const MaskedTaps& taps = {}) {
  MaskedRun run{std::move(first), std::vector<MaskedDescent::Memory>(shares.size()), {}};
  while (!algorithm.done(run.iterate)) {
    std::vector<rounds::Answer<MaskedDescent::Reply>> answers;
    for (std::size_t p = 0; p < shares.size(); ++p) {
      auto task = algorithm.ask(run.iterate, static_cast<int>(p));
      if (!task) continue;
      if (taps.task) taps.task(*task, static_cast<int>(p));
      auto open = privacy::Gate::without_privacy(privacy::Unprotected{});
      privacy::Gate& gate = shares[p].privacy != nullptr ? *shares[p].privacy->gate : open;
      const auto reply = algorithm.answer(*task, shares[p], run.memories[p], gate);
      if (!reply) return run.error = reply.error(), std::move(run);
      const auto believed = algorithm.check(run.iterate, static_cast<int>(p), reply->value());
      EXPECT_TRUE(believed) << believed.error().message;
      if (taps.answered) taps.answered(run.iterate, static_cast<int>(p), reply->value(), run.memories[p]);
      answers.push_back({static_cast<int>(p), reply->value()});
    }
    auto next = absorbed(algorithm, run.iterate, answers);
    if (!next) return run.error = next.error(), std::move(run);
    run.iterate = std::move(*next);
    if (taps.absorbed) taps.absorbed(run.iterate);
  }
  return run;
}

// Columns of parties, one-hot and dense, and labels that follow from them.
struct MaskedData {
  std::vector<linalg::Matrix> features;
  std::vector<double> labels;
  MaskedData(linalg::Index records, const std::vector<int>& columns, std::uint64_t seed) {
    data::Random random(seed, 1, 1);
    labels.assign(static_cast<std::size_t>(records), 0);
    for (const int d : columns) {
      std::vector<double> values(static_cast<std::size_t>(records) * static_cast<std::size_t>(d));
      for (std::size_t v = 0; v < values.size(); ++v) {
        const std::size_t column = v / static_cast<std::size_t>(records), row = v % static_cast<std::size_t>(records);
        const double value = column % 2 == 0 ? (random.uniform() < 0.3 ? 1.0 : 0.0)
                                             : std::ldexp(std::round(std::ldexp(2 * random.uniform() - 1, 8)), -8);
        values[v] = value;
        labels[row] += (column % 3 == 0 ? 1.5 : -1) * value;
      }
      features.push_back(linalg::Matrix::from_dense(records, d, values));
    }
    for (double& label : labels) label = label + 1.5 * (random.uniform() - 0.5) > 0 ? 1 : -1;
  }
  [[nodiscard]] std::vector<ColumnShare> shares(bool constant = false) const {
    std::vector<ColumnShare> made;
    for (std::size_t p = 0; p < features.size(); ++p) {
      made.push_back({features[p], {}, false});
      if (p == 0) {
        made[0].labels = labels;
        made[0].constant = constant;
      }
    }
    return made;
  }
};

inline algorithms::RunTerms masked_terms(int parties, double l2, bool is_private = false) {
  return {.objective = {.task = glm::Task::kLogistic, .l2 = l2},
          .seed = 3,
          .seeded = true,
          .parties = parties,
          .is_private = is_private,
          .run = {}};
}

inline std::vector<algorithms::PartyFacts> masked_facts(const std::vector<ColumnShare>& shares) {
  std::vector<algorithms::PartyFacts> facts;
  for (std::size_t p = 0; p < shares.size(); ++p) {
    algorithms::PartyFacts& fact = facts.emplace_back();
    fact.party = static_cast<int>(p);
    fact.records = shares[p].features.rows();
    fact.columns = static_cast<std::size_t>(shares[p].features.cols());
    fact.labels = !shares[p].labels.empty();
    for (const double squares : shares[p].features.row_squared_norms())
      fact.row_norm = std::max(fact.row_norm, std::sqrt(squares));
    if (shares[p].privacy == nullptr) continue;
    fact.row_norm = shares[p].privacy->row_bound;
    fact.bounds.assign(fact.columns, 1.0);
  }
  return facts;
}

}  // namespace parley::tests
