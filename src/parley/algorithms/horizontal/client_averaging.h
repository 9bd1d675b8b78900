// Federated averaging whose unit of privacy is the client: nothing that leaves a client shows what its table as a whole
// is. The clipped and noisy average of McMahan et al. 2018 (Algorithm 1), every client in every round, with sums that
// only their total tells (Bonawitz et al. 2017):
//
//   before:       each client i makes a key;  the coordinator hands all keys on
//   coordinator:  sends x_t
//   client i:     x_i <- K local steps from x_t on its own records (local_steps.h): free, they stay there
//                 u_i  = x_i - x_t
//                 q_i near u_i min(1, C / ||u_i||) on the grid g            (client_sum.h)
//                 sends  q_i + Z_i under a mask
//   coordinator:  x_{t+1} <- x_t + (g/M) sum_i (q_i + Z_i);  for some  H_tau of it
//
// The parts are those of federated_averaging.h. Weights are 1/M: how many records a client has is as private as the
// records. Answers are dense, 8 bytes a parameter, since where an update is zero is private too. The threshold at the
// coordinator reads the noisy average alone and costs nothing. A client charges its own ledger; the claim and whom it
// trusts: privacy/masking/masked_sum.md.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "parley/algorithms/horizontal/client_sum.h"
#include "parley/algorithms/horizontal/federated_averaging.h"
#include "parley/algorithms/horizontal/local_steps.h"
#include "parley/algorithms/horizontal/packed_parameters.h"
#include "parley/algorithms/horizontal/row_share.h"
#include "parley/algorithms/parts/mask_keys.h"
#include "parley/privacy/masking/pairwise_masks.h"
#include "parley/rounds/algorithm.h"

namespace parley::algorithms {

// The privacy of a run as everyone knows it.
struct ClientTerms {
  privacy::Target target;
  int clients = 0;  // M
  std::string run;  // names the run and all of its job's text: masks of clients with other ones do not cancel
};

// u_i above: it stays with the client.
inline privacy::Private<std::vector<double>> update_of(const glm::Objective& objective, const LocalSettings& settings,
                                                       const LocalWork& work, const RowShare& share) {
  return open_local_steps(objective, settings, work, share).map([&](const std::vector<double>& learnt) {
    std::vector<double> moved = learnt;
    linalg::axpy(-1.0, work.parameters, moved);
    return moved;
  });
}

// What an update follows from besides the client's data, the job and the keys: round, step and parameters.
inline std::string asked_of(const LocalWork& work) {
  std::string bytes(sizeof work.round + sizeof work.step + work.parameters.size() * sizeof(double), '\0');
  std::memcpy(bytes.data(), &work.round, sizeof work.round);
  std::memcpy(bytes.data() + sizeof work.round, &work.step, sizeof work.step);
  std::memcpy(bytes.data() + sizeof work.round + sizeof work.step, work.parameters.data(),
              work.parameters.size() * sizeof(double));
  return bytes;
}

inline Result<void> check_sum(const ClientSum& terms, const std::vector<std::int64_t>& sum) {
  for (const std::int64_t word : sum)
    if (!(std::abs(static_cast<double>(word)) <= terms.largest_sum()))
      return fail(failed(
          "the clients' sum is larger than clipped updates and their noise can be: a client sent something else, and "
          "under masks nobody can tell which"));
  return {};
}

template <AveragingParts parts>
class ClientAveraging {
 public:
  struct Iterate {
    std::int64_t round = 0;  // t: rounds of learning done
    double step = 0;
    std::vector<double> parameters;  // x_t
    std::vector<std::string> keys;   // of all clients; none before they were made
    static void fields(auto& self, auto&& visit) { visit(self.round, self.step, self.parameters, self.keys); }
  };
  struct Task {
    bool make_key = false;
    std::int64_t round = 0;
    double step = 0;
    PackedParameters<parts.threshold_average> parameters;
    std::vector<std::string> keys;  // in the first round of learning
    static void fields(auto& self, auto&& visit) {
      visit(self.make_key, self.round, self.step, self.parameters, self.keys);
    }
  };
  struct Reply {
    std::string key;
    int grain = 0;                    // exponent of g
    std::vector<std::int64_t> words;  // q_i + Z_i + mask, modulo 2^64
    static void fields(auto& self, auto&& visit) { visit(self.key, self.grain, self.words); }
  };
  struct Memory {
    MaskKeys masks;
    static void fields(auto& self, auto&& visit) { visit(self.masks); }
    std::shared_ptr<const ClientSum> paid;
  };
  using Data = RowShare;
  using Settings = LocalSettings;

  static Result<ClientAveraging> make(const RunTerms& terms, LocalSettings settings) {
    if (!terms.client) return fail(failed("the unit of this run is not the client"));
    settings.seed = terms.seed;
    return make(terms.objective, settings, {*terms.client, terms.parties, terms.run});
  }
  static Result<ClientAveraging> make(const glm::Objective& objective, LocalSettings settings,
                                      const ClientTerms& terms) {
    if (parts.one_step) settings.local_steps = 1;
    PARLEY_CHECK(check_averaging(objective, settings, parts));
    return ClientAveraging(objective, settings, terms);
  }

  static std::vector<Leaving> leaves(const RunTerms& terms, const LocalSettings& settings) {
    return leaves_of_averaging(terms, settings, parts);
  }
  static Result<void> check_private(const RunTerms& terms, const LocalSettings& settings) {
    if (!terms.client) return fail(failed("the unit of this run is not the client"));
    PARLEY_CHECK(ClientSum::make(*terms.client, {settings.clip, terms.parties, settings.rounds, 1}));
    return {};
  }
  [[nodiscard]] std::int64_t most_rounds() const { return std::int64_t{settings_.rounds} + 1; }  // keys first
  [[nodiscard]] std::size_t largest_reply(std::span<const PartyFacts> parties) const {
    return largest_averaging_reply(objective_, parties);
  }

  [[nodiscard]] Result<Iterate> begin(std::span<const PartyFacts> parties) const {
    double row_norm = 0;
    for (const PartyFacts& party : parties) row_norm = std::max(row_norm, party.row_norm);
    return start(parties.front().columns, row_norm);
  }
  [[nodiscard]] Iterate start(std::size_t columns, double row_norm = 1) const {
    return {0,
            step_size(objective_, settings_, row_norm),
            std::vector<double>(parameter_count(objective_, columns), 0.0),
            {}};
  }

  Task ask(const Iterate& iterate) const {
    if (iterate.keys.empty()) return {.make_key = true};
    return {false, iterate.round, iterate.step, packed<parts.threshold_average>(iterate.parameters),
            iterate.round == 0 ? iterate.keys : std::vector<std::string>{}};
  }

  // Charges the client for the whole run. answer() does it where nobody has.
  Result<void> reserve(const RowShare& share, Memory& memory, privacy::Gate& gate) const {
    if (memory.paid != nullptr) return {};
    const auto columns = static_cast<std::size_t>(share.features.cols());
    PARLEY_TRY(ClientSum sum, sum_of(parameter_count(objective_, columns)));
    PARLEY_CHECK(sum.reserve(gate));
    memory.paid = std::make_shared<const ClientSum>(sum);
    return {};
  }

  Result<privacy::Released<Reply>> answer(const Task& task, const RowShare& share, Memory& memory,
                                          privacy::Gate& gate) const {
    PARLEY_CHECK(reserve(share, memory, gate));
    Memory after = memory;  // an answer that fails changes nothing else
    PARLEY_TRY(auto reply, task.make_key ? make_key(share, after, gate) : learn(task, share, after, gate));
    memory = std::move(after);
    return reply;
  }

  // Keys that no client could agree with, and parts that are on another grid or of another size than the sum, are seen
  // here. What is under a mask is not: a client can move the sum as it likes, and nobody can tell who did.
  [[nodiscard]] Result<void> check(const Iterate& iterate, int, const Reply& reply) const {
    if (iterate.keys.empty()) {
      if (!is_mask_key(reply.key) || !reply.words.empty()) return fail(failed("it is not a key"));
      return {};
    }
    if (reply.words.size() != iterate.parameters.size() || !reply.key.empty())
      return fail(failed("it does not have as many parameters as the task"));
    PARLEY_TRY(const ClientSum sum, sum_of(1));  // the grid is the same for any number of parameters
    if (reply.grain != sum.grain().exponent) return fail(failed("it is not on the grid of the job"));
    return {};
  }

  Result<Iterate> absorb(Iterate iterate, const rounds::Answers<Reply>& answers) const {
    if (answers.size() != static_cast<std::size_t>(terms_.clients))
      return fail(failed("a client is missing: its mask does not cancel, so nothing can be learnt about the others"));
    if (iterate.keys.empty()) {
      for (const auto& answer : answers) iterate.keys.push_back(answer.reply.key);
      return iterate;
    }
    PARLEY_TRY(const ClientSum terms, sum_of(iterate.parameters.size()));
    std::vector<std::int64_t> sum(iterate.parameters.size(), 0);
    const privacy::Grain grain = terms.grain();
    for (const auto& answer : answers) {
      PARLEY_CHECK(check(iterate, answer.party, answer.reply));
      privacy::add_words(answer.reply.words, sum);
    }
    PARLEY_CHECK(check_sum(terms, sum));
    const double share = grain.value() / terms_.clients;
    for (std::size_t c = 0; c < sum.size(); ++c) iterate.parameters[c] += share * static_cast<double>(sum[c]);
    if (parts.threshold_average) keep_largest(objective_, iterate.parameters);
    ++iterate.round;
    return iterate;
  }

  bool done(const Iterate& iterate) const { return iterate.round >= settings_.rounds; }

 private:
  ClientAveraging(const glm::Objective& objective, const LocalSettings& settings, const ClientTerms& terms)
      : objective_(objective), settings_(settings), terms_(terms) {}

  [[nodiscard]] Result<ClientSum> sum_of(std::size_t parameters) const {
    return ClientSum::make(terms_.target, {settings_.clip, terms_.clients, settings_.rounds, parameters});
  }

  Result<privacy::Released<Reply>> make_key(const RowShare& share, Memory& memory, privacy::Gate& gate) const {
    PARLEY_TRY(const auto key, make_mask_key(memory.masks, gate, {share.peers.get(), terms_.run}));
    return privacy::derive([](const std::string& made) { return Reply{.key = made}; }, key);
  }

  Result<privacy::Released<Reply>> learn(const Task& task, const RowShare& share, Memory& memory,
                                         privacy::Gate& gate) const {
    constexpr auto kAfter = parts.threshold_steps ? AfterStep::kThreshold : AfterStep::kNothing;
    const auto columns = static_cast<std::size_t>(share.features.cols());
    if (unpacked_size(task.parameters) != parameter_count(objective_, columns) || !(task.step > 0) || task.round < 0 ||
        task.round >= settings_.rounds)
      return fail(bad_input({.field = "task"},
                            "must have one parameter per column and class, a step above 0 and a round of the job"));
    // The noise of a client follows from the job and the number of parameters (client_sum.h).
    const std::string told = std::to_string(parameter_count(objective_, columns)) + " parameters, run " + terms_.run;
    PARLEY_CHECK(
        agree_on_masks(memory.masks, {share.party, terms_.clients, task.keys, told, {share.peers.get(), terms_.run}}));
    const LocalWork work{task.round, task.step, kAfter, unpacked(task.parameters)};
    PARLEY_TRY(const auto bounded, memory.paid->bounded(update_of(objective_, settings_, work, share)));
    PARLEY_TRY(auto mask, next_mask(memory.masks, task.round, work.parameters.size(), asked_of(work)));
    PARLEY_TRY(const auto sent, gate.release(bounded, privacy::Masked{memory.paid->noise(), std::move(mask)}));
    return privacy::derive(
        [](const privacy::MaskedVector& words, const int& grain) {
          return Reply{{}, grain, words.words};
        },
        sent, privacy::Public{memory.paid->grain().exponent});
  }

  glm::Objective objective_;
  LocalSettings settings_;
  ClientTerms terms_;
};

static_assert(Federated<ClientAveraging<AveragingParts{}>>);

}  // namespace parley::algorithms
