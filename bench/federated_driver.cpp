// Hard thresholding over clients, as tables: rounds against objective for the methods of Tong et al.
//
//   federated_driver rounds I|II     Figure 3: rounds of FedIter-HT to reach what Distributed-IHT reaches, same step
//   federated_driver steps I|II      the same with the best step of a grid for each method
//   federated_driver local I|II      Figure 1: K local steps
//   federated_driver spread I|II     Figure 2: alpha = beta
//   federated_driver data FILE TASK TAU ASSIGNMENT ROUNDS...
//                                    Figure 6: a LIBSVM file, ASSIGNMENT: client of every row, one per line;
//                                    the objective after each of ROUNDS, each at its best K and step
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "parley/algorithms/horizontal/distributed_iht.h"
#include "parley/algorithms/horizontal/fed_ht.h"
#include "parley/algorithms/horizontal/fed_iter_ht.h"
#include "parley/core/threads.h"
#include "parley/data/load.h"
#include "parley/glm/batch.h"
#include "tests/algorithms/simulated_clients.h"

using namespace parley;
using namespace parley::algorithms;
using tests::Simulation;

namespace {

struct Study {
  glm::Objective objective;
  std::vector<RowShare> shares;
  double smallest_step = 0;
  std::vector<double> grid;
};

double objective(const Study& study, const std::vector<double>& parameters) {
  double sum = 0, records = 0;
  for (const RowShare& share : study.shares) {
    sum += static_cast<double>(share.labels.size()) *
           glm::evaluate(study.objective, share.features, share.labels, parameters);
    records += static_cast<double>(share.labels.size());
  }
  return sum / records;
}

// Objective after each round, index 0 at the start. Clients work in parallel.
template <class A>
std::vector<double> run(const Study& study, const LocalSettings& settings) {
  const auto algorithm = A::make(study.objective, settings);
  auto iterate = algorithm->start(static_cast<std::size_t>(study.shares[0].features.cols()));
  std::vector<double> history = {objective(study, iterate.parameters)};
  while (!algorithm->done(iterate)) {
    const auto task = algorithm->ask(iterate);
    std::vector<rounds::Answer<typename A::Reply>> answers(study.shares.size());
    parallel_chunks(study.shares.size(), 1, [&](std::size_t p, std::size_t) {
      typename A::Memory memory;
      auto gate = privacy::Gate::without_privacy(privacy::Unprotected{});
      answers[p] = {static_cast<int>(p), algorithm->answer(task, study.shares[p], memory, gate)->value()};
    });
    iterate = *algorithm->absorb(std::move(iterate), rounds::Answers<typename A::Reply>(answers));
    history.push_back(objective(study, iterate.parameters));
    if (!std::isfinite(history.back()) || history.back() > 1e3 * history.front()) break;
  }
  return history;
}

Study simulation(bool second, double spread) {
  Simulation wanted{
      .clients = 100, .rows = second ? 1000u : 100u, .positives = second ? 100u : 0u, .alpha = spread, .beta = spread};
  Study study;
  study.objective.task = second ? glm::Task::kLogistic : glm::Task::kLinear;
  study.objective.sparsity = 200;
  study.shares = tests::draw(wanted, 1);
  study.smallest_step = second ? 3e-4 : 1e-4;
  study.grid =
      second ? std::vector<double>{3e-4, 1e-3, 3e-3, 1e-2, 3e-2} : std::vector<double>{1e-4, 3e-4, 1e-3, 3e-3, 1e-2};
  return study;
}

std::string shown(const std::vector<double>& history, std::size_t round) {
  return round < history.size() ? fmt::format("{:.5g}", history[round]) : "diverges";
}

int first_below(const std::vector<double>& history, double level) {
  for (std::size_t t = 0; t < history.size(); ++t)
    if (history[t] <= level) return static_cast<int>(t);
  return -1;
}

void rounds_table(bool second) {
  const int rounds = second ? 200 : 100;
  fmt::print(
      "| alpha = beta | Distributed-IHT after {} rounds | FedIter-HT, K = 10: rounds to reach it |\n|---|---|---|\n",
      rounds);
  for (const double spread : {0.1, 0.5, 1.0}) {
    const Study study = simulation(second, spread);
    const auto baseline = run<DistributedIht>(study, {.rounds = rounds, .step = study.smallest_step});
    const auto faster =
        run<FedIterHt>(study, {.rounds = second ? 50 : 20, .local_steps = 10, .step = study.smallest_step});
    const int reached = first_below(faster, baseline.back());
    fmt::print("| {} | {:.6g} | {} |\n", spread, baseline.back(),
               reached < 0 ? fmt::format("not in {}", faster.size() - 1) : fmt::format("{}", reached));
    std::fflush(stdout);
  }
}

template <class A>
void best_step(const char* name, const Study& study, LocalSettings settings) {
  double best = INFINITY, chosen = 0;
  for (const double step : study.grid) {
    settings.step = step;
    const auto history = run<A>(study, settings);
    const bool whole = static_cast<int>(history.size()) == settings.rounds + 1;
    if (whole && history.back() < best) best = history.back(), chosen = step;
  }
  fmt::print("| {} | {} | {} | {:.5g} |\n", name, settings.rounds, chosen, best);
  std::fflush(stdout);
}

void steps_table(bool second) {
  const Study study = simulation(second, 0.5);
  const int rounds = second ? 50 : 20;
  fmt::print("| method | rounds | best step | objective |\n|---|---|---|---|\n");
  best_step<DistributedIht>("Distributed-IHT", study, {.rounds = rounds});
  best_step<FedHt>("Fed-HT, K = 10", study, {.rounds = rounds, .local_steps = 10});
  best_step<FedIterHt>("FedIter-HT, K = 10", study, {.rounds = rounds, .local_steps = 10});
}

void local_table(bool second) {
  const Study study = simulation(second, 0.5);
  fmt::print("| K | Fed-HT, 10 rounds | 20 | 50 | FedIter-HT, 10 rounds | 20 | 50 |\n|---|---|---|---|---|---|---|\n");
  for (const int k : {3, 5, 8, 10}) {
    const LocalSettings settings{.rounds = 50, .local_steps = k, .step = study.smallest_step};
    const auto one = run<FedHt>(study, settings);
    const auto other = run<FedIterHt>(study, settings);
    fmt::print("| {} | {} | {} | {} | {} | {} | {} |\n", k, shown(one, 10), shown(one, 20), shown(one, 50),
               shown(other, 10), shown(other, 20), shown(other, 50));
    std::fflush(stdout);
  }
}

void spread_table(bool second) {
  fmt::print("| alpha = beta | Fed-HT: objective after 50 rounds over that at 0 | FedIter-HT |\n|---|---|---|\n");
  for (const double spread : {0.1, 0.5, 1.0}) {
    const Study study = simulation(second, spread);
    const LocalSettings settings{.rounds = 50, .local_steps = 5, .step = study.smallest_step};
    const auto one = run<FedHt>(study, settings);
    const auto other = run<FedIterHt>(study, settings);
    fmt::print("| {} | {:.4f} | {:.4f} |\n", spread, one.back() / one.front(), other.back() / other.front());
    std::fflush(stdout);
  }
}

// The best that a method reaches after each of `rounds`, over all its settings: K and the step may differ from one
// number of rounds to the next.
template <class A>
void best_settings(const char* name, const Study& study, const std::vector<int>& local_steps,
                   const std::vector<int>& rounds) {
  struct Best {
    double objective = INFINITY;
    int local_steps = 0;
    double step = 0;
  };
  std::vector<Best> best(rounds.size());
  for (const int k : local_steps)
    for (const double step : study.grid) {
      const auto history = run<A>(study, {.rounds = rounds.back(), .local_steps = k, .step = step});
      for (std::size_t i = 0; i < rounds.size(); ++i) {
        const auto round = static_cast<std::size_t>(rounds[i]);
        if (round < history.size() && history[round] < best[i].objective) best[i] = {history[round], k, step};
      }
    }
  fmt::print("| {} |", name);
  for (const Best& found : best)
    if (local_steps.size() == 1)
      fmt::print(" {:.5g} (step {}) |", found.objective, found.step);
    else
      fmt::print(" {:.5g} (K = {}, step {}) |", found.objective, found.local_steps, found.step);
  fmt::print("\n");
  std::fflush(stdout);
}

int data_table(const std::string& file, const std::string& task, int tau, const std::string& assignment,
               const std::vector<int>& rounds) {
  Study study;
  study.objective.task = task == "softmax"    ? glm::Task::kSoftmax
                         : task == "logistic" ? glm::Task::kLogistic
                                              : glm::Task::kLinear;
  study.objective.sparsity = tau;
  study.objective.l2 = task == "linear" ? 0 : 1e-4;
  data::LoadOptions options;
  options.labels = task == "softmax"    ? data::LabelKind::kClasses
                   : task == "logistic" ? data::LabelKind::kBinary
                                        : data::LabelKind::kReal;
  const auto table = data::load(file, options);
  if (!table) return fmt::print(stderr, "{}\n", table.error().message), 1;
  if (task == "softmax") study.objective.classes = static_cast<int>(table->labels.classes.size());
  std::vector<std::vector<linalg::Index>> rows;
  std::ifstream clients(assignment);
  linalg::Index row = 0;
  for (std::size_t client = 0; clients >> client; ++row) {
    if (client >= rows.size()) rows.resize(client + 1);
    rows[client].push_back(row);
  }
  for (std::size_t p = 0; p < rows.size(); ++p) {
    const data::Dataset part = table->select_rows(rows[p]);
    study.shares.push_back({static_cast<int>(p), part.features, part.labels.values});
  }
  fmt::print("| method |");
  for (const int count : rounds) fmt::print(" {} rounds |", count);
  fmt::print("\n|---|");
  for (std::size_t i = 0; i < rounds.size(); ++i) fmt::print("---|");
  fmt::print("\n");
  study.grid = {10, 1, 0.6, 0.3, 0.1, 0.06, 0.03, 0.01, 0.001};  // theirs, as is K
  best_settings<DistributedIht>("Distributed-IHT", study, {1}, rounds);
  best_settings<FedHt>("Fed-HT", study, {3, 5, 8, 10}, rounds);
  best_settings<FedIterHt>("FedIter-HT", study, {3, 5, 8, 10}, rounds);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() > 5 && words[0] == "data") {
    std::vector<int> rounds;
    for (std::size_t i = 5; i < words.size(); ++i) rounds.push_back(std::atoi(words[i].c_str()));
    return data_table(words[1], words[2], std::atoi(words[3].c_str()), words[4], rounds);
  }
  if (words.size() != 2) return fmt::print(stderr, "see the head of bench/federated_driver.cpp\n"), 2;
  const bool second = words[1] == "II";
  if (words[0] == "rounds") rounds_table(second);
  if (words[0] == "steps") steps_table(second);
  if (words[0] == "local") local_table(second);
  if (words[0] == "spread") spread_table(second);
  return 0;
}
