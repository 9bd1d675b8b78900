// An epoch of relational ADMM on the shape of MovieLens-1M (tables of 850,177, 6,408 and 6,040 tuples, 1,786,513 joined rows)
// beside a program that only gathers and scatters through the same index arrays, in one process and on one thread.
//
//   relational_bench [EPOCHS [ROWS]]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

#include "parley/algorithms/relational/relational_admm.h"
#include "parley/core/threads.h"
#include "parley/data/random.h"
#include "parley/wire/encode.h"

using namespace parley;
using namespace parley::algorithms;
using linalg::Index;

namespace {

double cpu_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

// "VmRSS:", or "VmHWM:" for the most there has been.
double resident_megabytes(const std::string& which) {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line))
    if (line.starts_with(which)) return std::stod(line.substr(which.size())) / 1024;
  return 0;
}

data::KeyColumns keys_of(const std::vector<Index>& numbers) {
  data::KeyColumns key;
  key.form = data::KeyForm::kIntegers;
  for (const Index number : numbers) key.digests.push_back({static_cast<std::uint64_t>(number) + 1, 1});
  return key;
}

std::vector<Index> ascending(Index count) {
  std::vector<Index> all(static_cast<std::size_t>(count));
  for (Index i = 0; i < count; ++i) all[static_cast<std::size_t>(i)] = i;
  return all;
}

linalg::Matrix random_features(Index rows, Index columns, data::Random& random) {
  std::vector<double> values(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns));
  for (double& value : values) value = static_cast<double>(static_cast<float>(2 * random.uniform() - 1));
  return linalg::Matrix::from_dense(rows, columns, values);
}

// A list of rows without columns, each naming a tuple of the three tables: it is asked for keys alone.
struct Shape {
  RelationalTerms tables;
  std::vector<TableShare> shares;

  Shape(std::size_t rows, glm::Task task) {
    data::Random random(1, 1, 1);
    const std::vector<Index> tuples = {850177, 6408, 6040};
    const std::vector<Index> columns = {2, 20, 30};
    tables.join.tables = {"rows", "ratings", "movies", "users"};
    tables.table_of_party = {0, 1, 2, 3};
    TableShare list{linalg::Matrix::from_dense(static_cast<Index>(rows), 0, {}), {}, {}, nullptr, 0};
    for (std::size_t i = 0; i < 3; ++i) {
      std::vector<Index> used(rows);
      for (std::size_t j = 0; j < rows; ++j)  // every tuple is used; ratings in their order, as a join leaves them
        used[j] = i == 0 ? static_cast<Index>(j * static_cast<std::size_t>(tuples[0]) / rows)
                  : j < static_cast<std::size_t>(tuples[i])
                      ? static_cast<Index>(j)
                      : static_cast<Index>(random.below(static_cast<std::uint64_t>(tuples[i])));
      list.keys.push_back(keys_of(used));
      tables.join.edges.push_back({.left = 0, .right = static_cast<int>(i) + 1, .left_key = static_cast<int>(i)});
    }
    for (std::size_t j = 0; j < rows; ++j)
      list.labels.push_back(task == glm::Task::kLinear ? 5 * random.uniform() : random.uniform() < 0.5 ? -1 : 1);
    shares.push_back(std::move(list));
    for (std::size_t i = 0; i < 3; ++i)
      shares.push_back({random_features(tuples[i], columns[i], random),
                        {},
                        {keys_of(ascending(tuples[i]))},
                        nullptr,
                        static_cast<int>(i) + 1});
  }
};

double floor_seconds(const RelationalAdmm::Iterate& iterate, int epochs) {
  const std::size_t rows = iterate.tables.front().rows.slots.size();
  std::vector<double> margins(rows);
  std::vector<std::vector<double>> values, sums;
  for (std::size_t i = 1; i < iterate.tables.size(); ++i) {
    values.emplace_back(iterate.tables[i].rows.tuples.size(), 0.5);
    sums.push_back(values.back());
  }
  double best = 1e9;
  for (int k = 0; k < epochs; ++k) {
    const double begin = cpu_seconds();
    std::fill(margins.begin(), margins.end(), 0.0);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Index* slots = iterate.tables[i + 1].rows.slots.data();
      for (std::size_t j = 0; j < rows; ++j) margins[j] += values[i][static_cast<std::size_t>(slots[j])];
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Index* slots = iterate.tables[i + 1].rows.slots.data();
      std::fill(sums[i].begin(), sums[i].end(), 0.0);
      for (std::size_t j = 0; j < rows; ++j) sums[i][static_cast<std::size_t>(slots[j])] += margins[j];
    }
    best = std::min(best, cpu_seconds() - begin);
    values.front().front() += sums.front().front();
  }
  return best;
}

Result<void> measure(glm::Task task, int epochs, std::size_t rows) {
  const Shape shape(rows, task);
  const double before = resident_megabytes("VmRSS:");
  RunTerms terms{.objective = {.task = task, .l2 = 1e-3}};
  terms.relational = std::make_shared<const RelationalTerms>(shape.tables);
  PARLEY_TRY(RelationalAdmm algorithm, RelationalAdmm::make(terms, {.epochs = epochs + 1, .tolerance = 0}));
  std::vector<PartyFacts> facts;
  for (std::size_t p = 0; p < shape.shares.size(); ++p)
    facts.push_back({.party = static_cast<int>(p),
                     .records = static_cast<std::int64_t>(shape.shares[p].keys.front().size()),
                     .columns = static_cast<std::size_t>(shape.shares[p].features.cols())});
  PARLEY_TRY(auto iterate, algorithm.begin(facts));
  std::vector<RelationalAdmm::Memory> memories(shape.shares.size());
  double coordinator = 1e9, owners = 1e9;
  std::size_t bytes = 0;
  for (int round = 0; round < epochs + 2; ++round) {
    double own = 0, theirs = 0;
    std::size_t sent = 0;
    std::vector<rounds::Answer<RelationalAdmm::Reply>> answers;
    for (std::size_t p = 0; p < shape.shares.size(); ++p) {
      double begin = cpu_seconds();
      const auto task_of_party = algorithm.ask(iterate, static_cast<int>(p));
      own += cpu_seconds() - begin;
      if (!task_of_party) continue;
      auto gate = privacy::Gate::without_privacy(privacy::Unprotected{});
      begin = cpu_seconds();
      PARLEY_TRY(const auto reply, algorithm.answer(*task_of_party, shape.shares[p], memories[p], gate));
      theirs += cpu_seconds() - begin;
      sent += wire::encode(*task_of_party).size() + wire::encode(reply.value()).size();
      answers.push_back({static_cast<int>(p), reply.value()});
    }
    const double begin = cpu_seconds();
    PARLEY_TRY(iterate, algorithm.absorb(std::move(iterate), rounds::Answers<RelationalAdmm::Reply>(answers)));
    own += cpu_seconds() - begin;
    if (round < 2) continue;  // keys, then counts and factors
    coordinator = std::min(coordinator, own);
    owners = std::min(owners, theirs);
    bytes = sent;
  }
  const auto bytes_a_row = [&](const std::string& which) {
    return (resident_megabytes(which) - before) * 1048576 / static_cast<double>(rows);
  };
  const double in_epochs = bytes_a_row("VmRSS:"), at_most = bytes_a_row("VmHWM:");
  const double least = floor_seconds(iterate, epochs);
  fmt::print(
      "{{\"task\": \"{}\", \"rows\": {}, \"bytes_an_epoch\": {}, \"coordinator_ms\": {:.1f}, \"owners_ms\": {:.1f}, "
      "\"floor_ms\": {:.1f}, \"coordinator_over_floor\": {:.2f}, \"epoch_over_floor\": {:.2f}, "
      "\"bytes_a_row\": {:.0f}, \"peak_bytes_a_row\": {:.0f}}}\n",
      glm::name(task), rows, bytes, 1e3 * coordinator, 1e3 * owners, 1e3 * least, coordinator / least,
      (coordinator + owners) / least, in_epochs, at_most);
  return {};
}

}  // namespace

int main(int count, char** arguments) {
  set_thread_count(1);
  const int epochs = count > 1 ? std::atoi(arguments[1]) : 5;
  const auto rows = static_cast<std::size_t>(count > 2 ? std::atoll(arguments[2]) : 1786513);
  for (const glm::Task task : {glm::Task::kLinear, glm::Task::kLogistic})
    if (const auto measured = measure(task, epochs, rows); !measured) {
      fmt::print(stderr, "{}\n", measured.error().message);
      return 1;
    }
}
