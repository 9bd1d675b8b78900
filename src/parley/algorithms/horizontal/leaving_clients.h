// Federated averaging whose unit of privacy is the client (client_averaging.h), where clients may drop out of a run: the
// coordinator reads the sum over those who stayed in a round, and nothing of those who left.
//
//   before:       each client says hello;  deals the secrets of round 0                    (parts/recoverable_masks.h)
//   round t:      coordinator:  sends x_t and the keys of all who dealt (P)
//                 client i:     q_i + Z_i under a mask, as in client_averaging.h
//                 coordinator:  U = those whose words arrived, at least q of them
//                 client in U:  signs U
//                 client in U:  with q signatures reveals its shares;  deals the secrets of round t+1
//                 coordinator:  x_{t+1} <- x_t + (g/|U|) sum over U of (q_i + Z_i);  for some  H_tau of it
//
// Z_i has the deviation that q clients need together, so a sum over more of them is noisier than what is charged. A
// client that misses a message takes no part in the rounds after it. The claim and whom it trusts:
// privacy/masking/dropouts.md.
#pragma once
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "parley/algorithms/horizontal/client_averaging.h"
#include "parley/algorithms/parts/recoverable_masks.h"

namespace parley::algorithms {

template <AveragingParts parts>
class LeavingClients {
 public:
  enum Phase { kGreet, kDeal, kLearn, kAgree, kReveal };
  struct Iterate {
    int phase = kGreet;
    std::int64_t round = 0;  // t
    double step = 0;
    std::vector<double> parameters;  // x_t
    ByParty hellos, keys, signatures;
    std::vector<std::string> sealed;  // from i to j at i M + j
    std::string terms;
    std::vector<int> survivors;     // U
    std::vector<std::int64_t> sum;  // of their words
    static void fields(auto& self, auto&& visit) {
      visit(self.phase, self.round, self.step, self.parameters, self.hellos, self.keys, self.signatures, self.sealed,
            self.terms, self.survivors, self.sum);
    }
  };
  struct Task {
    int phase = kGreet;
    std::int64_t round = 0;
    double step = 0;
    PackedParameters<parts.threshold_average> parameters;
    ByParty hellos, keys, signatures, sealed;
    std::vector<int> survivors;
    bool last = false;  // no secrets of a next round are needed
    static void fields(auto& self, auto&& visit) {
      visit(self.phase, self.round, self.step, self.parameters, self.hellos, self.keys, self.signatures, self.sealed,
            self.survivors, self.last);
    }
  };
  struct Reply {
    std::string key;  // the hello, or that of the next round
    ByParty sealed, revealed;
    std::string signature, terms;
    int grain = 0;
    std::vector<std::int64_t> words;
    static void fields(auto& self, auto&& visit) {
      visit(self.key, self.sealed, self.revealed, self.signature, self.terms, self.grain, self.words);
    }
  };
  struct Memory {
    RecoverableKeys keys;
    static void fields(auto& self, auto&& visit) { visit(self.keys); }
    std::shared_ptr<const ClientSum> paid;
  };
  using Data = RowShare;
  using Settings = LocalSettings;

  static Result<LeavingClients> make(const RunTerms& terms, LocalSettings settings) {
    if (!terms.client) return fail(failed("the unit of this run is not the client"));
    settings.seed = terms.seed;
    if (parts.one_step) settings.local_steps = 1;
    PARLEY_CHECK(check_averaging(terms.objective, settings, parts));
    if (terms.quorum < fewest_left(terms.parties) || terms.quorum > terms.parties || terms.parties > 255)
      return fail(bad_input({.field = "rounds.quorum"},
                            "must be at least half of the clients and one more where they may drop out of masked sums, "
                            "of at most 255: fewer could be shown two lists of who is left",
                            std::to_string(terms.quorum)));
    return LeavingClients(terms, settings);
  }
  static std::vector<Leaving> leaves(const RunTerms& terms, const LocalSettings& settings) {
    auto all = leaves_of_averaging(terms, settings, parts);
    all.push_back(
        {"shares of the secrets behind its masks, sealed for each other party, and a signed list of who is left",
         Leaving::Of::kPublic, "the coordinator, who hands the sealed shares on and cannot read them",
         each_round(settings.rounds),
         "of each party the coordinator gets shares of one of two secrets, so that it can take masks off the "
         "sum over those who are left and off nothing else"});
    return all;
  }
  static Result<void> check_private(const RunTerms& terms, const LocalSettings& settings) {
    if (!terms.client) return fail(failed("the unit of this run is not the client"));
    PARLEY_CHECK(ClientSum::make(*terms.client, {settings.clip, terms.parties, settings.rounds, 1, terms.quorum}));
    return {};
  }
  [[nodiscard]] std::int64_t most_rounds() const { return 2 + 3 * std::int64_t{settings_.rounds}; }
  [[nodiscard]] std::size_t largest_reply(std::span<const PartyFacts> facts) const {
    return largest_averaging_reply(terms_.objective, facts) + 1024 +
           static_cast<std::size_t>(terms_.parties) * (4 + 64 + 4 + 64 + secure::kSealBytes);
  }

  [[nodiscard]] Result<Iterate> begin(std::span<const PartyFacts> facts) const {
    double row_norm = 0;
    for (const PartyFacts& party : facts) row_norm = std::max(row_norm, party.row_norm);
    const std::size_t parameters = parameter_count(terms_.objective, facts.front().columns);
    const auto all = static_cast<std::size_t>(terms_.parties);
    return Iterate{.step = step_size(terms_.objective, settings_, row_norm),
                   .parameters = std::vector<double>(parameters, 0.0),
                   .hellos = ByParty(all),
                   .keys = ByParty(all),
                   .signatures = ByParty(all),
                   .sealed = std::vector<std::string>(all * all)};
  }

  std::optional<Task> ask(const Iterate& iterate, int party) const {
    const auto own = static_cast<std::size_t>(party);
    const auto all = static_cast<std::size_t>(terms_.parties);
    const bool survives = place_in(iterate.survivors, party);
    Task task{.phase = iterate.phase, .round = iterate.round};
    switch (iterate.phase) {
      case kGreet:
        return task;
      case kDeal:
        if (iterate.hellos[own].empty()) return std::nullopt;
        task.hellos = iterate.hellos;
        return task;
      case kLearn:
        if (iterate.keys[own].empty()) return std::nullopt;
        task.step = iterate.step;
        task.parameters = packed<parts.threshold_average>(iterate.parameters);
        task.keys = iterate.keys;
        return task;
      case kAgree:
        if (!survives) return std::nullopt;
        task.survivors = iterate.survivors;
        return task;
      default:
        if (!survives) return std::nullopt;
        task.survivors = iterate.survivors;
        task.signatures = iterate.signatures;
        task.sealed = ByParty(all);
        for (std::size_t from = 0; from < all; ++from) task.sealed[from] = iterate.sealed[from * all + own];
        task.last = iterate.round + 1 >= settings_.rounds;
        return task;
    }
  }

  // Charges the client for the whole run. answer() does it where nobody has.
  Result<void> reserve(const RowShare& share, Memory& memory, privacy::Gate& gate) const {
    if (memory.paid != nullptr) return {};
    PARLEY_TRY(ClientSum sum,
               sum_of(parameter_count(terms_.objective, static_cast<std::size_t>(share.features.cols()))));
    PARLEY_CHECK(sum.reserve(gate));
    memory.paid = std::make_shared<const ClientSum>(sum);
    return {};
  }

  Result<privacy::Released<Reply>> answer(const Task& task, const RowShare& share, Memory& memory,
                                          privacy::Gate& gate) const {
    PARLEY_CHECK(reserve(share, memory, gate));
    Memory after = memory;  // an answer that fails changes nothing else
    PARLEY_TRY(auto reply, task.phase == kLearn ? learn(task, share, after, gate) : agreed(task, share, after, gate));
    memory = std::move(after);
    return reply;
  }

  [[nodiscard]] Result<void> check(const Iterate& iterate, int, const Reply& reply) const {
    const auto all = static_cast<std::size_t>(terms_.parties);
    const bool deals = iterate.phase == kDeal || (iterate.phase == kReveal && iterate.round + 1 < settings_.rounds);
    const bool key = iterate.phase == kGreet ? reply.key.size() == secure::kHelloBytes
                     : deals                 ? is_round_key(reply.key)
                                             : reply.key.empty();
    if (!key || reply.sealed.size() != (deals ? all : 0)) return fail(failed("it is not a key with sealed shares"));
    if (reply.revealed.size() != (iterate.phase == kReveal ? all : 0)) return fail(failed("it does not reveal shares"));
    if (reply.signature.size() != (iterate.phase == kAgree ? 64 : 0)) return fail(failed("it is not a signature"));
    if (reply.words.size() != (iterate.phase == kLearn ? iterate.parameters.size() : 0))
      return fail(failed("it does not have as many parameters as the task"));
    if (iterate.phase != kLearn) return {};
    PARLEY_TRY(const ClientSum sum, sum_of(1));  // the grid is the same for any number of parameters
    if (reply.grain != sum.grain().exponent) return fail(failed("it is not on the grid of the job"));
    return {};
  }

  Result<Iterate> absorb(Iterate iterate, const rounds::Answers<Reply>& answers) const {
    if (static_cast<int>(answers.size()) < terms_.quorum)
      return fail(failed("fewer clients are left than the quorum: what they sent stays masked"));
    for (const auto& answer : answers) PARLEY_CHECK(check(iterate, answer.party, answer.reply));
    switch (iterate.phase) {
      case kGreet:
        for (const auto& answer : answers) iterate.hellos[static_cast<std::size_t>(answer.party)] = answer.reply.key;
        iterate.phase = kDeal;
        return iterate;
      case kDeal:
        take_secrets(iterate, answers);
        return iterate;
      case kLearn:
        return add_words(std::move(iterate), answers);
      case kAgree:
        for (const auto& answer : answers)
          iterate.signatures[static_cast<std::size_t>(answer.party)] = answer.reply.signature;
        iterate.phase = kReveal;
        return iterate;
      default:
        return open(std::move(iterate), answers);
    }
  }

  bool done(const Iterate& iterate) const { return iterate.round >= settings_.rounds; }

 private:
  LeavingClients(const RunTerms& terms, const LocalSettings& settings) : terms_(terms), settings_(settings) {}

  static bool place_in(const std::vector<int>& parties, int party) {
    return std::find(parties.begin(), parties.end(), party) != parties.end();
  }
  [[nodiscard]] Result<ClientSum> sum_of(std::size_t parameters) const {
    return ClientSum::make(*terms_.client,
                           {settings_.clip, terms_.parties, settings_.rounds, parameters, terms_.quorum});
  }
  [[nodiscard]] OwnPlace place_of(const RowShare& share) const {
    return {share.party, terms_.parties, terms_.quorum, {share.peers.get(), terms_.run}};
  }

  // Of everything but learning: nothing in it is made of data.
  Result<privacy::Released<Reply>> agreed(const Task& task, const RowShare& share, Memory& memory,
                                          privacy::Gate& gate) const {
    const OwnPlace place = place_of(share);
    Reply reply;
    const bool deals = task.phase == kDeal || (task.phase == kReveal && !task.last);
    if (task.phase == kGreet) {
      PARLEY_TRY(reply.key, greet(memory.keys, place, gate));
    } else if (task.phase == kAgree) {
      PARLEY_TRY(reply.signature, agree_on_survivors(memory.keys, place, task.survivors));
    } else if (task.phase == kReveal) {
      PARLEY_TRY(reply.revealed, reveal(memory.keys, place, {task.survivors, task.signatures, task.sealed}));
    } else if (task.phase != kDeal) {
      return fail(bad_input({.field = "task"}, "is of an unknown kind"));
    }
    if (deals) {
      PARLEY_TRY(Dealt dealt, deal(memory.keys, place, task.hellos, gate));
      reply.key = std::move(dealt.key);
      reply.sealed = std::move(dealt.sealed);
    }
    return privacy::derive([](const Reply& made) { return made; }, privacy::Public{std::move(reply)});
  }

  Result<privacy::Released<Reply>> learn(const Task& task, const RowShare& share, Memory& memory,
                                         privacy::Gate& gate) const {
    const auto columns = static_cast<std::size_t>(share.features.cols());
    const std::size_t parameters = parameter_count(terms_.objective, columns);
    if (unpacked_size(task.parameters) != parameters || !(task.step > 0) || task.round < 0 ||
        task.round >= settings_.rounds)
      return fail(bad_input({.field = "task"},
                            "must have one parameter per column and class, a step above 0 and a round of the job"));
    constexpr auto kAfter = parts.threshold_steps ? AfterStep::kThreshold : AfterStep::kNothing;
    const LocalWork work{task.round, task.step, kAfter, unpacked(task.parameters)};
    const std::string told = fmt::format("{} parameters, quorum {}, run {}", parameters, terms_.quorum, terms_.run);
    PARLEY_TRY(const auto bounded, memory.paid->bounded(update_of(terms_.objective, settings_, work, share)));
    PARLEY_TRY(auto mask, recoverable_mask(memory.keys, place_of(share),
                                           {task.round, task.keys, told, asked_of(work), parameters}));
    PARLEY_TRY(const auto sent, gate.release(bounded, privacy::Masked{memory.paid->noise(), std::move(mask)}));
    return privacy::derive(
        [](const privacy::MaskedVector& words, const int& grain, const std::string& terms) {
          return Reply{.terms = terms, .grain = grain, .words = words.words};
        },
        sent, privacy::Public{memory.paid->grain().exponent}, privacy::Public{told});
  }

  void take_secrets(Iterate& iterate, const rounds::Answers<Reply>& answers) const {
    const auto all = static_cast<std::size_t>(terms_.parties);
    iterate.keys.assign(all, {});
    iterate.signatures.assign(all, {});
    iterate.sealed.assign(all * all, {});
    iterate.survivors.clear();
    iterate.sum.clear();
    for (const auto& answer : answers) {
      const auto from = static_cast<std::size_t>(answer.party);
      iterate.keys[from] = answer.reply.key;
      for (std::size_t to = 0; to < all; ++to) iterate.sealed[from * all + to] = answer.reply.sealed[to];
    }
    iterate.phase = kLearn;
  }

  Result<Iterate> add_words(Iterate iterate, const rounds::Answers<Reply>& answers) const {
    iterate.sum.assign(iterate.parameters.size(), 0);
    iterate.terms = answers[0].reply.terms;
    for (const auto& answer : answers) {
      if (answer.reply.terms != iterate.terms)
        return fail(failed("clients were told different jobs: masks do not cancel"));
      iterate.survivors.push_back(answer.party);
      privacy::add_words(answer.reply.words, iterate.sum);
    }
    iterate.phase = kAgree;
    return iterate;
  }

  Result<Iterate> open(Iterate iterate, const rounds::Answers<Reply>& answers) const {
    std::vector<ByParty> revealed(static_cast<std::size_t>(terms_.parties));
    for (const auto& answer : answers) revealed[static_cast<std::size_t>(answer.party)] = answer.reply.revealed;
    constexpr auto kAfter = parts.threshold_steps ? AfterStep::kThreshold : AfterStep::kNothing;
    const LocalWork work{iterate.round, iterate.step, kAfter,
                         unpacked(packed<parts.threshold_average>(iterate.parameters))};
    const std::string asked = asked_of(work);
    PARLEY_CHECK(unmask({terms_.quorum, iterate.keys, iterate.survivors, revealed, iterate.round, iterate.terms, asked},
                        iterate.sum));
    PARLEY_TRY(const ClientSum terms, sum_of(iterate.parameters.size()));
    PARLEY_CHECK(check_sum(terms, iterate.sum));
    const double share = terms.grain().value() / static_cast<double>(iterate.survivors.size());
    for (std::size_t c = 0; c < iterate.sum.size(); ++c)
      iterate.parameters[c] += share * static_cast<double>(iterate.sum[c]);
    if (parts.threshold_average) keep_largest(terms_.objective, iterate.parameters);
    ++iterate.round;
    if (iterate.round < settings_.rounds) take_secrets(iterate, answers);
    return iterate;
  }

  RunTerms terms_;
  LocalSettings settings_;
};

static_assert(Federated<LeavingClients<AveragingParts{}>>);

}  // namespace parley::algorithms
