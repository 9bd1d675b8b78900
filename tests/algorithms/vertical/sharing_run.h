// ADMM sharing over parties in memory, with their memories kept: the model is in them.
#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "parley/algorithms/vertical/admm_sharing.h"
#include "tests/algorithms/federation.h"

namespace parley::tests {

struct SharingRun {
  algorithms::AdmmSharing::Iterate iterate;
  std::vector<algorithms::AdmmSharing::Memory> memories;
  std::optional<Error> error;

  // Of one class: every party's weights, one after another, without the constant of the first.
  [[nodiscard]] std::vector<double> weights(const std::vector<algorithms::ColumnShare>& shares) const {
    std::vector<double> all;
    for (std::size_t m = 0; m < shares.size(); ++m)
      all.insert(all.end(), memories[m].weights.begin(), memories[m].weights.end() - (shares[m].constant ? 1 : 0));
    return all;
  }
};

// `seen` gets the run after every round of messages.
inline SharingRun run_sharing(const algorithms::AdmmSharing& algorithm, algorithms::AdmmSharing::Iterate first,
                              const std::vector<algorithms::ColumnShare>& shares,
                              const std::function<void(const SharingRun&)>& seen = {}) {
  using algorithms::AdmmSharing;
  SharingRun run{std::move(first), std::vector<AdmmSharing::Memory>(shares.size()), {}};
  while (!algorithm.done(run.iterate)) {
    std::vector<rounds::Answer<AdmmSharing::Reply>> answers;
    for (std::size_t m = 0; m < shares.size(); ++m) {
      const auto task = algorithm.ask(run.iterate, static_cast<int>(m));
      if (!task) continue;
      auto gate = privacy::Gate::without_privacy(privacy::Unprotected{});
      const auto reply = algorithm.answer(*task, shares[m], run.memories[m], gate);
      if (!reply) return run.error = reply.error(), run;
      const auto believed = algorithm.check(run.iterate, static_cast<int>(m), reply->value());
      EXPECT_TRUE(believed) << believed.error().message;
      answers.push_back({static_cast<int>(m), reply->value()});
    }
    auto next = absorbed(algorithm, run.iterate, answers);
    if (!next) return run.error = next.error(), run;
    run.iterate = std::move(*next);
    if (seen) seen(run);
  }
  return run;
}

}  // namespace parley::tests
