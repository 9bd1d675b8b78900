// A throw-away algorithm: what a new one of parties with rows takes, in one file. Least squares by gradient steps:
//
//   coordinator:   sends w
//   each party:    g_i = sum over its records of (<x, w> - y) x;   sends g_i and how many records it has
//   coordinator:   w <- w - step sum_i g_i / sum_i n_i
#pragma once
#include <vector>

#include "parley/algorithms/horizontal/row_share.h"
#include "parley/algorithms/parts/federated.h"
#include "parley/linalg/vectors.h"
#include "parley/rounds/algorithm.h"

namespace parley::test {

struct PlainGradientSettings {
  int rounds = 5;
  double step = 0.1;

  static PlainGradientSettings read(Toml& settings) {
    PlainGradientSettings read;
    settings.integer("iterations", read.rounds, at_least(1));
    settings.number("step", read.step, above(0));
    return read;
  }
};

class PlainGradient {
 public:
  using Settings = PlainGradientSettings;
  struct Iterate {
    std::int64_t round = 0;
    std::vector<double> parameters;  // w
    static void fields(auto& self, auto&& visit) { visit(self.round, self.parameters); }
  };
  struct Task {
    std::vector<double> parameters;
    static void fields(auto& self, auto&& visit) { visit(self.parameters); }
  };
  struct Reply {
    std::int64_t records = 0;
    std::vector<double> gradient;
    static void fields(auto& self, auto&& visit) { visit(self.records, self.gradient); }
  };
  struct Memory {
    static void fields(auto&, auto&& visit) { visit(); }
  };
  using Data = algorithms::RowShare;

  static Result<PlainGradient> make(const algorithms::RunTerms&, Settings settings) { return PlainGradient(settings); }
  static Result<void> check_private(const algorithms::RunTerms&, const Settings&) {
    return fail(bad_input({.field = "privacy"}, "plain-gradient has no private form"));
  }
  static std::vector<algorithms::Leaving> leaves(const algorithms::RunTerms&, const Settings& settings) {
    return {{"the gradient over this party's records, one number for each weight", algorithms::Leaving::Of::kTotal,
             "the coordinator", algorithms::each_round(settings.rounds), algorithms::kUnprotected}};
  }
  [[nodiscard]] std::int64_t most_rounds() const { return settings_.rounds; }
  Result<void> reserve(const Data&, Memory&, privacy::Gate&) const { return {}; }
  Result<Iterate> begin(std::span<const algorithms::PartyFacts> parties) const {
    return Iterate{0, std::vector<double>(parties.front().columns, 0.0)};
  }
  [[nodiscard]] std::size_t largest_reply(std::span<const algorithms::PartyFacts> parties) const {
    return sizeof(double) * (parties.front().columns + 1);
  }

  [[nodiscard]] Task ask(const Iterate& iterate) const { return {iterate.parameters}; }
  Result<privacy::Released<Reply>> answer(const Task& task, const Data& data, Memory&, privacy::Gate& gate) const {
    if (task.parameters.size() != static_cast<std::size_t>(data.features.cols()))
      return fail(bad_input({.field = "task"}, "must have one parameter per column"));
    std::vector<double> residuals(data.labels.size());
    data.features.multiply(task.parameters, residuals);
    linalg::axpy(-1.0, data.labels, residuals);
    Reply reply{static_cast<std::int64_t>(residuals.size()), std::vector<double>(task.parameters.size())};
    data.features.multiply_transposed(residuals, reply.gradient);
    return gate.unprotected(privacy::Private(std::move(reply)));
  }
  [[nodiscard]] Result<Iterate> absorb(Iterate iterate, const rounds::Answers<Reply>& answers) const {
    double records = 0;
    std::vector<double> sum(iterate.parameters.size(), 0.0);
    for (const auto& answer : answers) {
      if (answer.reply.gradient.size() != sum.size()) return fail(failed("a gradient of another size"));
      records += static_cast<double>(answer.reply.records);
      linalg::axpy(1.0, answer.reply.gradient, sum);
    }
    linalg::axpy(-settings_.step / records, sum, iterate.parameters);
    ++iterate.round;
    return iterate;
  }
  [[nodiscard]] bool done(const Iterate& iterate) const { return iterate.round >= settings_.rounds; }

 private:
  explicit PlainGradient(Settings settings) : settings_(settings) {}
  Settings settings_;
};
static_assert(algorithms::Federated<PlainGradient>);

}  // namespace parley::test
