// A masked index of masked-descent, all parties and the dealer in one process on one thread, beside the plain integer
// passes (Xw, X'r) over the same columns; and its offline pass beside the rate of a bare multiply-add loop.
//
//   masked_bench [ROWS [COLUMNS [GROUPS [STEPS]]]]      one-hot columns: 32561 123 14 10, the shape of a9a, by default
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "parley/algorithms/vertical/masked_descent.h"
#include "parley/core/threads.h"
#include "parley/data/random.h"

using namespace parley;
using namespace parley::algorithms;
using linalg::Index;

namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Of each group of columns one is 1.
linalg::Matrix one_hot(Index rows, int columns, int groups, data::Random& random) {
  std::vector<std::size_t> offsets{0};
  std::vector<Index> places;
  for (Index i = 0; i < rows; ++i) {
    for (int g = 0; g < groups; ++g) {
      const int begin = columns * g / groups, end = columns * (g + 1) / groups;
      if (end > begin) places.push_back(begin + static_cast<Index>(random.uniform() * (end - begin)));
    }
    offsets.push_back(places.size());
  }
  return linalg::Matrix::from_rows(columns, offsets, places, std::vector<double>(places.size(), 1.0));
}

}  // namespace

int main(int count, char** arguments) {
  const auto argument = [&](int at, int otherwise) { return at < count ? std::atoi(arguments[at]) : otherwise; };
  const int rows = argument(1, 32561), columns = argument(2, 123), groups = argument(3, 14), steps = argument(4, 10);
  set_thread_count(1);
  data::Random random(1, 1, 1);
  std::vector<ColumnShare> shares;
  std::vector<PartyFacts> facts;
  for (int p = 0; p < 2; ++p) {
    const int own = p == 0 ? (columns + 1) / 2 : columns / 2;
    shares.push_back({one_hot(rows, own, std::max(1, groups / 2), random), {}});
    facts.push_back({.party = p,
                     .records = rows,
                     .columns = static_cast<std::size_t>(own),
                     .bounds = {},
                     .row_norm = std::sqrt(static_cast<double>(std::max(1, groups / 2))),
                     .labels = p == 0,
                     .plan = {}});
  }
  for (int i = 0; i < rows; ++i) shares[0].labels.push_back(random.uniform() < 0.3 ? 1 : -1);
  const RunTerms terms{.objective = {.task = glm::Task::kLogistic, .l2 = 0.01}, .seed = 1, .parties = 2, .run = {}};
  // The rings and tables of a private run, in 32 bits by one digit less; noise is d numbers of each contributor and is not timed.
  auto algorithm = MaskedDescent::make(terms, {.iterations = steps,
                                               .period = 40,
                                               .harmonics = 5,
                                               .margin_bits = 16,
                                               .feature_bits = 0,
                                               .bits = 15,
                                               .tolerance = 0});
  auto at = algorithm ? algorithm->begin(facts) : Result<MaskedDescent::Iterate>(fail(algorithm.error()));
  if (!at) return fmt::print("error {}\n", at.error().message), 1;
  std::vector<MaskedDescent::Memory> memories(2);
  double once = 0, offline = 0, rounds = 0, bytes = 0;
  while (!algorithm->done(*at)) {
    const bool is_once = at->step < MaskedDescent::kMargins || at->index == 0;
    const double begin = now();
    std::vector<rounds::Answer<MaskedDescent::Reply>> answers;
    const bool products = at->step == MaskedDescent::kProducts;
    for (int p = 0; p < 2; ++p) {
      const auto task = algorithm->ask(*at, p);
      if (!task) continue;
      auto gate = privacy::Gate::without_privacy(privacy::Unprotected{});
      const auto own = static_cast<std::size_t>(p);
      const auto reply = algorithm->answer(*task, shares[own], memories[own], gate);
      if (!reply) return fmt::print("error {}\n", reply.error().message), 1;
      if (!is_once)
        for (const std::string& sealed : reply->value().sealed) bytes += static_cast<double>(sealed.size());
      answers.push_back({p, reply->value()});
    }
    if (products) offline += now() - begin;
    at = algorithm->absorb(std::move(*at), rounds::Answers<MaskedDescent::Reply>(answers));
    if (!at) return fmt::print("error {}\n", at.error().message), 1;
    (is_once ? once : rounds) += now() - begin;
  }
  // Plain: margins of both parties and X'r, in the same whole numbers.
  double plain = 1e9;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const double begin = now();
    for (int round = 0; round < steps; ++round)
      for (const auto& memory : memories) {
        const std::vector<double> weights(memory.columns->columns(), 0.1);
        const auto words = memory.columns->margin_words(weights, memory.numbers->margins);
        std::vector<std::uint32_t> sums(memory.columns->columns());
        memory.columns->multiply_transposed<std::uint32_t>(words, sums);
      }
    plain = std::min(plain, now() - begin);
  }
  const double products = static_cast<double>(rows) * columns * (steps + 1);
  fmt::print("rows {} columns {} ring {} steps {}\n", rows, columns, memories[0].numbers->ring_bits, steps);
  fmt::print("masked_ms {:.3f} plain_ms {:.3f} ratio {:.2f}\n", 1e3 * rounds / steps, 1e3 * plain / steps,
             rounds / plain);
  fmt::print("once_s {:.3f} offline_s {:.3f} offline_G_per_s {:.2f} kilobytes_of_a_party_and_step {:.1f}\n", once,
             offline, products / offline / 1e9, bytes / 2 / steps / 1e3);
  return 0;
}
