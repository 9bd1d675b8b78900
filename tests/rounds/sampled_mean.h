// The smallest algorithm that does not ask everybody in every round, and its parties.
#pragma once
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "parley/rounds/simulate.h"
#include "tests/rounds/mean.h"

namespace parley::tests {

struct SampledMean {
  struct Iterate {
    std::int64_t round = 0;
    std::vector<double> estimate;
    std::vector<std::int64_t> heard;  // 100 * party + how many answers it has given, in the order of absorb
    static void fields(auto& self, auto&& visit) { visit(self.round, self.estimate, self.heard); }
  };
  using Task = Mean::Task;
  using Reply = Mean::Reply;
  using Memory = Mean::Memory;
  using Data = Mean::Data;

  [[nodiscard]] bool asks(std::int64_t round, int party) const {
    const std::vector<int>& now = plan[static_cast<std::size_t>(round)];
    return std::find(now.begin(), now.end(), party) != now.end();
  }
  std::optional<Task> ask(const Iterate& iterate, int party) const {
    if (!asks(iterate.round, party)) return std::nullopt;
    return Task{iterate.estimate};
  }
  Result<privacy::Released<Reply>> answer(const Task& task, const Data& data, Memory& memory,
                                          privacy::Gate& gate) const {
    return Mean{}.answer(task, data, memory, gate);
  }
  Result<Iterate> absorb(Iterate iterate, const rounds::Answers<Reply>& answers) const {
    for (const auto& answer : answers) {
      iterate.heard.push_back(100 * answer.party + answer.reply.answered);
      for (std::size_t j = 0; j < iterate.estimate.size(); ++j)
        iterate.estimate[j] += 0.5 * answer.reply.difference[j] / static_cast<double>(answers.size());
    }
    ++iterate.round;
    return iterate;
  }
  bool done(const Iterate& iterate) const { return iterate.round >= static_cast<std::int64_t>(plan.size()); }

  // Whom the rounds ask. Party 1 answers round 1, and then no other before round 7.
  std::vector<std::vector<int>> plan = {{0, 1, 2}, {0}, {2}, {0, 2}, {0}, {2}, {1, 2}, {0, 1}};
};
static_assert(rounds::Algorithm<SampledMean> && rounds::AsksSome<SampledMean>);

inline const SampledMean::Iterate kUnsampled{0, {0, 0}, {}};

inline std::unique_ptr<rounds::AlgorithmParty<SampledMean>> sampled_party(const SampledMean& algorithm, double value) {
  return std::make_unique<rounds::AlgorithmParty<SampledMean>>(algorithm, std::vector<double>{value, 10 * value},
                                                               rounds::without_privacy(privacy::Unprotected{}));
}
inline rounds::Admit admits_sampled(const SampledMean& algorithm, double value) {
  return [=](const rounds::Opening&) -> Result<rounds::Admission> {
    return rounds::Admission{sampled_party(algorithm, value), ""};
  };
}
inline const std::vector<double> kSampledValues = {1, 2, 6};

inline rounds::Simulated<SampledMean::Iterate> simulated(const SampledMean& algorithm) {
  std::vector<std::unique_ptr<rounds::AlgorithmParty<SampledMean>>> parties;
  for (const double value : kSampledValues) parties.push_back(sampled_party(algorithm, value));
  return *rounds::simulate<SampledMean>(algorithm, kUnsampled, std::move(parties));
}

}  // namespace parley::tests
