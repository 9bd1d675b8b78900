// A round over MPI beside a hand-written loop, in one program: mpirun -n RANKS mpi_rounds_bench NUMBERS ROUNDS
//
//   ours   the mean of the parties' vectors by rounds::drive over MpiChannel: tasks, replies, frames, checksums and
//          handlers
//   hand   MPI_Allgatherv of the same vectors and a sum
//
// Five pairs, alternating; the median of the ratios.
#define OMPI_SKIP_MPICXX
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "parley/rounds/drive.h"
#include "parley/rounds/handler.h"
#include "parley/transport/mpi/mpi_channel.h"
#include "tests/rounds/mean.h"

using namespace parley;
using tests::Mean;

namespace {

double ours(const transport::MpiWorld& world, std::size_t numbers, int rounds) {
  const Mean mean{.rounds = rounds};
  const std::vector<double> own(numbers, world.rank());
  const auto admit = [&](const rounds::Opening&) -> Result<rounds::Admission> {
    return rounds::Admission{
        std::make_unique<rounds::AlgorithmParty<Mean>>(mean, own, rounds::without_privacy(privacy::Unprotected{})), {}};
  };
  rounds::Handler handler(admit, "");
  const transport::Respond respond = [&](std::string_view frame) { return handler.respond(frame); };
  MPI_Barrier(MPI_COMM_WORLD);
  const double begun = MPI_Wtime();
  if (world.rank() != 0) {
    transport::serve(world, respond);
  } else {
    transport::MpiChannel channel(world, respond);
    rounds::Terms terms{.job = "mean"};
    for (int p = 0; p < world.size(); ++p) terms.parties.push_back(fmt::format("{}", p));
    auto exchange = rounds::Exchange::make(channel, std::move(terms));
    if (!exchange || !exchange->open() || !rounds::drive(mean, {0, std::vector<double>(numbers, 0.0)}, *exchange))
      transport::MpiWorld::abort(1);
    exchange->close();
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return MPI_Wtime() - begun;
}

double by_hand(const transport::MpiWorld& world, std::size_t numbers, int rounds) {
  std::vector<double> own(numbers, world.rank()), all(numbers * static_cast<std::size_t>(world.size())),
      estimate(numbers, 0.0);
  std::vector<int> counts(static_cast<std::size_t>(world.size()), static_cast<int>(numbers)), offsets(counts.size());
  for (std::size_t p = 0; p < offsets.size(); ++p) offsets[p] = static_cast<int>(p * numbers);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begun = MPI_Wtime();
  std::vector<double> difference(numbers);
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t j = 0; j < numbers; ++j) difference[j] = own[j] - estimate[j];
    MPI_Allgatherv(difference.data(), static_cast<int>(numbers), MPI_DOUBLE, all.data(), counts.data(), offsets.data(),
                   MPI_DOUBLE, MPI_COMM_WORLD);
    for (std::size_t p = 0; p < counts.size(); ++p)
      for (std::size_t j = 0; j < numbers; ++j)
        estimate[j] += 0.5 * all[p * numbers + j] / static_cast<double>(counts.size());
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return MPI_Wtime() - begun;
}

}  // namespace

int main(int argc, char** argv) {
  const transport::MpiWorld world(&argc, &argv);
  const auto numbers = static_cast<std::size_t>(argc > 1 ? std::atol(argv[1]) : 100000);
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 100;
  std::vector<double> mine, hand, ratio;
  for (int pair = 0; pair < 5; ++pair) {
    mine.push_back(ours(world, numbers, rounds) / rounds);
    hand.push_back(by_hand(world, numbers, rounds) / rounds);
    ratio.push_back(mine.back() / hand.back());
  }
  if (world.rank() != 0) return 0;
  const auto median = [](std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
  };
  fmt::print("| {} | {} | {:.3f} | {:.3f} | {:.2f} |\n", world.size(), numbers, 1e3 * median(mine), 1e3 * median(hand),
             median(ratio));
  return 0;
}
