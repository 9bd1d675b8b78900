// The smallest algorithm: parties hold vectors, the coordinator walks to their mean, each party's part counted.
#pragma once
#include <vector>

#include "parley/rounds/algorithm.h"

namespace parley::tests {

struct Mean {
  struct Iterate {
    std::int64_t round = 0;
    std::vector<double> estimate;
    static void fields(auto& self, auto&& visit) { visit(self.round, self.estimate); }
  };
  struct Task {
    std::vector<double> estimate;
    static void fields(auto& self, auto&& visit) { visit(self.estimate); }
  };
  struct Reply {
    std::int64_t answered = 0;
    std::vector<double> difference;
    static void fields(auto& self, auto&& visit) { visit(self.answered, self.difference); }
  };
  struct Memory {
    std::int64_t answered = 0;
    static void fields(auto& self, auto&& visit) { visit(self.answered); }
  };
  using Data = std::vector<double>;

  Task ask(const Iterate& iterate) const { return {iterate.estimate}; }

  Result<privacy::Released<Reply>> answer(const Task& task, const Data& data, Memory& memory,
                                          privacy::Gate& gate) const {
    if (task.estimate.size() != data.size())
      return fail(bad_input({.field = "task"}, "must have the size of the data"));
    Reply reply{++memory.answered, data};
    for (std::size_t j = 0; j < data.size(); ++j) reply.difference[j] -= task.estimate[j];
    return gate.unprotected(privacy::Private(std::move(reply)));
  }

  Result<void> check(const Iterate& iterate, int, const Reply& reply) const {
    if (reply.difference.size() != iterate.estimate.size())
      return fail(failed("it does not have the size of the estimate"));
    return {};
  }

  Result<Iterate> absorb(Iterate iterate, const rounds::Answers<Reply>& answers) const {
    ++iterate.round;
    for (const auto& answer : answers)
      for (std::size_t j = 0; j < iterate.estimate.size(); ++j)
        iterate.estimate[j] += 0.5 * answer.reply.difference[j] / static_cast<double>(answers.size());
    return iterate;
  }

  bool done(const Iterate& iterate) const { return iterate.round >= rounds; }

  std::int64_t rounds = 1;
};
static_assert(rounds::Algorithm<Mean> && rounds::ChecksReplies<Mean>);

}  // namespace parley::tests
