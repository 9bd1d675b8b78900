// One round that averages a vector of floats over clients: Parley's runtime over gRPC with mutual TLS, and in process.
//
//   rounds_bench keys FOLDER CLIENTS                     certificates for all programs of this table
//   rounds_bench server FLOATS ROUNDS CLIENTS FOLDER     prints "port N", then the median milliseconds of a round
//   rounds_bench client PORT NAME FLOATS FOLDER
//   rounds_bench local FLOATS ROUNDS CLIENTS             in process, beside the same arithmetic and copies without a
//                                                        runtime
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <string>

#include "parley/core/files.h"
#include "parley/core/threads.h"
#include "parley/rounds/drive.h"
#include "parley/rounds/simulate.h"
#include "parley/secure/certificates.h"
#include "parley/transport/grpc/client.h"
#include "parley/transport/grpc/server.h"

namespace {

using namespace parley;
using Floats = std::vector<float>;
using Clock = std::chrono::steady_clock;

// What a client does with the mean: a little arithmetic on every float.
float local_work(float mean, float own) {
  return 0.5F * mean + own;
}
void local_work(const Floats& mean, const Floats& own, Floats& reply) {
  reply.resize(mean.size());
  for (std::size_t j = 0; j < mean.size(); ++j) reply[j] = local_work(mean[j], own[j]);
}
// Likewise as a range, which a new vector can be made of: resize() would write zeros first.
struct LocalWork {
  using iterator_category = std::random_access_iterator_tag;
  using value_type = float;
  using difference_type = std::ptrdiff_t;
  using pointer = const float*;
  using reference = float;
  const float* mean;
  const float* own;
  float operator*() const { return local_work(*mean, *own); }
  LocalWork& operator++() { return ++mean, ++own, *this; }
  difference_type operator-(const LocalWork& other) const { return mean - other.mean; }
  bool operator==(const LocalWork& other) const { return mean == other.mean; }
};
void add(const Floats& reply, float share, Floats& sum) {
  for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += share * reply[j];
}

struct Averaging {
  struct Iterate {
    std::int64_t round = 0;
    Floats mean;
    static void fields(auto& self, auto&& visit) { visit(self.round, self.mean); }
  };
  struct Task {
    Floats mean;
    static void fields(auto& self, auto&& visit) { visit(self.mean); }
  };
  struct Reply {
    Floats values;
    static void fields(auto& self, auto&& visit) { visit(self.values); }
  };
  struct Memory {
    static void fields(auto&, auto&& visit) { visit(); }
  };
  using Data = Floats;

  Task ask(const Iterate& iterate) const { return {iterate.mean}; }
  Result<privacy::Released<Reply>> answer(const Task& task, const Data& own, Memory&, privacy::Gate& gate) const {
    const LocalWork begin{task.mean.data(), own.data()};
    Reply reply{Floats(begin, {begin.mean + task.mean.size(), begin.own + task.mean.size()})};
    return gate.unprotected(privacy::Private(std::move(reply)));
  }
  Result<Iterate> absorb(Iterate iterate, const rounds::Answers<Reply>& answers) const {
    ++iterate.round;
    std::fill(iterate.mean.begin(), iterate.mean.end(), 0.0F);
    for (const auto& answer : answers)
      add(answer.reply.values, 1.0F / static_cast<float>(answers.size()), iterate.mean);
    return iterate;
  }
  bool done(const Iterate& iterate) const { return iterate.round >= rounds; }
  std::int64_t rounds = 1;
};

std::vector<std::string> names(int clients) {
  std::vector<std::string> made;
  for (int c = 0; c < clients; ++c) made.push_back(fmt::format("client{}", c));
  return made;
}

Result<transport::Credentials> credentials(const std::string& folder, const std::string& name) {
  transport::Credentials made;
  PARLEY_TRY(made.authority, read_whole(folder + "/ca.pem"));
  PARLEY_TRY(made.certificate, read_whole(folder + "/" + name + ".pem"));
  PARLEY_TRY(made.key, read_whole(folder + "/" + name + ".key"));
  return made;
}

Result<void> make_keys(const std::string& folder, int clients) {
  PARLEY_TRY(const secure::KeyPair authority, secure::make_authority("bench", {}));
  PARLEY_CHECK(write_atomically(folder + "/ca.pem", authority.certificate));
  std::vector<std::string> all = names(clients);
  all.emplace_back("coordinator");
  for (const std::string& name : all) {
    PARLEY_TRY(const secure::KeyPair pair, secure::issue(authority, name, {}));
    PARLEY_CHECK(write_atomically(folder + "/" + name + ".pem", pair.certificate));
    PARLEY_CHECK(write_atomically(folder + "/" + name + ".key", pair.key));
  }
  return {};
}

// Milliseconds between rounds; the first tenth warms up.
class Laps {
 public:
  void lap() { times_.push_back(Clock::now()); }
  [[nodiscard]] double median() const {
    std::vector<double> laps;
    for (std::size_t i = times_.size() / 10 + 1; i < times_.size(); ++i)
      laps.push_back(std::chrono::duration<double, std::milli>(times_[i] - times_[i - 1]).count());
    std::nth_element(laps.begin(), laps.begin() + static_cast<std::ptrdiff_t>(laps.size() / 2), laps.end());
    return laps[laps.size() / 2];
  }

 private:
  std::vector<Clock::time_point> times_;
};

Result<void> serve(std::size_t floats, int rounds, int clients, const std::string& folder) {
  PARLEY_TRY(auto own, credentials(folder, "coordinator"));
  PARLEY_TRY(const auto server, transport::GrpcServer::listen({"127.0.0.1:0", std::move(own), names(clients)}));
  fmt::print("port {}\n", server->port());
  std::fflush(stdout);
  PARLEY_TRY(auto exchange, rounds::Exchange::make(*server, {.parties = names(clients), .job = "bench"}));
  PARLEY_CHECK(exchange.open());
  Laps laps;
  const auto end =
      rounds::drive<Averaging>({rounds}, {0, Floats(floats, 1.0F)}, exchange, [&](std::int64_t, const auto&) {
        laps.lap();
        return true;
      });
  if (!end) return fail(end.error());
  fmt::print("{:.4f}\n", laps.median());
  return exchange.close();
}

Result<void> join(int port, const std::string& name, std::size_t floats, const std::string& folder) {
  PARLEY_TRY(auto own, credentials(folder, name));
  const auto admit = [&](const rounds::Opening&) -> Result<rounds::Admission> {
    return rounds::Admission{std::make_unique<rounds::AlgorithmParty<Averaging>>(
                                 Averaging{}, Floats(floats, 0.25F), rounds::without_privacy(privacy::Unprotected{})),
                             {},
                             {}};
  };
  rounds::Handler handler(admit, "");
  transport::GrpcClient client(
      {fmt::format("127.0.0.1:{}", port), std::move(own), wire::kDefaultLimit, [&] { return handler.over(); }, {}});
  return client.serve([&](std::string_view frame) { return handler.respond(frame); });
}

double without_runtime(std::size_t floats, int rounds, int clients) {
  const auto count = static_cast<std::size_t>(clients);
  Floats mean(floats, 1.0F);
  const std::vector<Floats> own(count, Floats(floats, 0.25F));
  std::vector<Floats> received(count, mean);
  std::vector<Floats> arrived(count, mean);
  Laps laps;
  for (int round = 0; round < rounds; ++round) {
    parallel_chunks(count, 1, [&](std::size_t c, std::size_t) {
      received[c] = mean;  // each client has its own copy, and so has the coordinator of each reply
      Floats reply;
      local_work(received[c], own[c], reply);
      arrived[c] = reply;
    });
    std::fill(mean.begin(), mean.end(), 0.0F);
    for (const Floats& reply : arrived) add(reply, 1.0F / static_cast<float>(clients), mean);
    laps.lap();
  }
  return laps.median();
}

Result<void> local(std::size_t floats, int rounds, int clients) {
  const double bare = without_runtime(floats, rounds, clients);
  std::vector<std::unique_ptr<rounds::AlgorithmParty<Averaging>>> parties;
  for (int c = 0; c < clients; ++c)
    parties.push_back(std::make_unique<rounds::AlgorithmParty<Averaging>>(
        Averaging{}, Floats(floats, 0.25F), rounds::without_privacy(privacy::Unprotected{})));
  Laps laps;
  const auto end = rounds::simulate<Averaging>({rounds}, {0, Floats(floats, 1.0F)}, std::move(parties),
                                               [&](std::int64_t, const auto&) {
                                                 laps.lap();
                                                 return true;
                                               });
  if (!end) return fail(end.error());
  fmt::print("{:.4f} {:.4f}\n", laps.median(), bare);
  return {};
}

Result<void> run(const std::vector<std::string>& words) {
  const auto number = [&](std::size_t i) { return std::atoi(words.at(i).c_str()); };
  const auto size = [&](std::size_t i) { return static_cast<std::size_t>(number(i)); };
  if (words.at(0) == "keys") return make_keys(words.at(1), number(2));
  if (words.at(0) == "server") return serve(size(1), number(2), number(3), words.at(4));
  if (words.at(0) == "client") return join(number(1), words.at(2), size(3), words.at(4));
  return local(size(1), number(2), number(3));
}

}  // namespace

int main(int argc, char** argv) {
  const auto done = run({argv + 1, argv + argc});
  if (!done) fmt::print(stderr, "rounds_bench: {}\n", done.error().message);
  return done ? 0 : 1;
}
