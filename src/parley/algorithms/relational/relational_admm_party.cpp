// What an owner of a table does.
#include <algorithm>

#include "parley/algorithms/relational/key_exchange.h"
#include "parley/algorithms/relational/relational_admm.h"
#include "parley/algorithms/relational/table_sums.h"
#include "parley/algorithms/relational/table_system.h"
#include "parley/linalg/vectors.h"

namespace parley::algorithms {

using linalg::Index;

namespace {

using Task = RelationalAdmm::Task;
using Memory = RelationalAdmm::Memory;
using Reply = RelationalAdmm::Reply;

Error wrong(std::string_view rule) {
  return bad_input({.field = "task"}, rule);
}

// What the first sums bring is what every later answer stands on.
Result<void> check_tuples(const Task& task, const linalg::Matrix& features) {
  constexpr int kMostClasses = 1 << 20;
  if (task.rows < 1 || !(task.weight > 0) || task.classes < 1 || task.classes > kMostClasses ||
      (!task.uses.empty() && task.uses.size() != task.tuples.size()))
    return fail(wrong("must bring rows, classes, a weight above 0 and one number of uses for each tuple"));
  for (std::size_t t = 0; t < task.tuples.size(); ++t) {
    const bool ascends = task.uses.empty() || t == 0 || task.tuples[t] > task.tuples[t - 1];
    if (task.tuples[t] < 0 || task.tuples[t] >= features.rows() || !ascends)
      return fail(wrong("must name tuples of this table, in their order"));
  }
  for (const Index uses : task.uses)
    if (uses < 1) return fail(wrong("must name tuples that are used"));
  return {};
}

}  // namespace

Result<privacy::Released<Reply>> RelationalAdmm::answer(const Task& task, const TableShare& share, Memory& memory,
                                                        privacy::Gate& gate) const {
  Memory after = memory;  // an answer that fails changes nothing
  PARLEY_TRY(auto reply, task.step == kKeys      ? keys(share, after, gate)
                         : is_split(share.party) ? part(task, share, after, gate)
                                                 : whole(task, share, after, gate));
  memory = std::move(after);
  return reply;
}

Result<privacy::Released<Reply>> RelationalAdmm::keys(const TableShare& share, Memory& memory,
                                                      privacy::Gate& gate) const {
  if (memory.asked_for_keys) return fail(wrong("asks for keys, which it gets once, before everything else"));
  memory.asked_for_keys = true;
  Reply reply{.keys = sent_keys(share.keys), .labels = share.labels};
  if (is_split(share.party) && settings_.sums == UnionSums::kMasked) {
    PARLEY_TRY(const auto key, make_mask_key(memory.masks, gate, {share.peers.get(), run_}));
    reply.mask_key = key.value();
  }
  return gate.unprotected(privacy::Private(std::move(reply)));
}

// The sums of a new epoch.
Result<void> RelationalAdmm::remember(const Task& task, const TableShare& share, Memory& memory) const {
  if (memory.answered == 0) {
    PARLEY_CHECK(check_tuples(task, share.features));
    memory.rows = task.rows;
    memory.weight = task.weight;
    memory.classes = task.classes;
    memory.tuples = task.tuples;
    memory.uses = task.uses;
    memory.weights.assign(static_cast<std::size_t>(share.features.cols()) * static_cast<std::size_t>(task.classes),
                          0.0);
  }
  if (memory.answered >= settings_.epochs) return fail(wrong("is one more than the job's iterations"));
  if (task.sums.size() != memory.tuples.size() * static_cast<std::size_t>(memory.classes))
    return fail(wrong("must have one sum for each tuple that rows use"));
  ++memory.answered;
  return {};
}

Reply RelationalAdmm::with_weights(std::span<const double> solved, Memory& memory) const {
  for (std::size_t j = 0; j < solved.size(); ++j)
    memory.weights[j] += settings_.relaxation * (solved[j] - memory.weights[j]);
  const TableRows& rows = memory.table ? *memory.table : memory.system->rows();
  return {.values = TravellingNumbers::of(rows.values(memory.weights, memory.classes), settings_.width),
          .squares = linalg::squared_norm(memory.weights)};
}

Result<privacy::Released<Reply>> RelationalAdmm::whole(const Task& task, const TableShare& share, Memory& memory,
                                                       privacy::Gate& gate) const {
  if (task.step != kSums) return fail(wrong("is of a table of several parties"));
  PARLEY_CHECK(remember(task, share, memory));
  if (memory.tuples.empty()) return gate.unprotected(privacy::Private(Reply{}));
  if (!memory.system) {
    PARLEY_TRY(TableSystem system,
               TableSystem::make(TableRows::make(share.features, {memory.tuples, memory.uses}, settings_.reduce_rows),
                                 {memory.weight, static_cast<double>(memory.rows) * objective_.l2}));
    memory.system = std::make_shared<const TableSystem>(std::move(system));
  }
  return gate.unprotected(
      privacy::Private(with_weights(memory.system->solve(task.sums.numbers(), memory.classes), memory)));
}

// ---- a part of a table ----

Result<privacy::Released<Reply>> RelationalAdmm::part(const Task& task, const TableShare& share, Memory& memory,
                                                      privacy::Gate& gate) const {
  const bool masked = settings_.sums == UnionSums::kMasked;
  const std::size_t size = memory.weights.size();
  if (++memory.rounds > most_rounds()) return fail(wrong("is one more than the rounds of the job"));
  if (task.step == kSums) {
    PARLEY_CHECK(remember(task, share, memory));
  } else if (memory.answered == 0 || task.shared.size() != size ||
             (masked ? task.step != kTotals : task.step != kAgree && task.step != kValues)) {
    return fail(wrong("must bring what the parties of the table have together, after its sums"));
  }
  if (!memory.table)
    memory.table = std::make_shared<const TableRows>(
        TableRows::make(share.features, {memory.tuples, memory.uses}, settings_.reduce_rows));
  if (masked && task.step == kSums) return summand(task, share, memory, gate);
  const auto columns = static_cast<std::size_t>(share.features.cols());
  if (masked) {
    if (memory.gram.empty()) memory.gram = task.gram;
    if (memory.gram.size() != columns * columns) return fail(wrong("must bring the sum of second moments, once"));
    if (!memory.shared) {
      PARLEY_TRY(
          GramSystem system,
          GramSystem::make(memory.gram, columns, {memory.weight, static_cast<double>(memory.rows) * objective_.l2}));
      memory.shared = std::make_shared<const GramSystem>(std::move(system));
    }
    return gate.unprotected(privacy::Private(with_weights(memory.shared->solve(task.shared), memory)));
  }
  if (task.step == kSums) memory.moments = memory.table->moments(task.sums.numbers(), memory.classes);
  const std::vector<double> v = task.step == kSums && task.shared.empty() ? memory.weights : task.shared;
  if (v.size() != memory.weights.size()) return fail(wrong("must have one number for each weight"));
  if (memory.own.empty()) {
    memory.own = memory.weights;
    memory.dual = memory.weights;
  } else if (task.step != kSums) {
    for (std::size_t j = 0; j < v.size(); ++j) memory.dual[j] += memory.own[j] - v[j];
  }
  if (task.step == kValues) return gate.unprotected(privacy::Private(with_weights(v, memory)));
  PARLEY_CHECK(agree_on(v, share, memory));
  Reply reply{.shared = memory.own};
  linalg::axpy(1.0, memory.dual, reply.shared);
  return gate.unprotected(privacy::Private(std::move(reply)));
}

// X_q'Y_q under this round's mask; the first time with X_q' diag(G) X_q before it.
Result<privacy::Released<Reply>> RelationalAdmm::summand(const Task& task, const TableShare& share, Memory& memory,
                                                         privacy::Gate& gate) const {
  std::vector<double> numbers = memory.answered == 1 ? memory.table->gram() : std::vector<double>{};
  const std::vector<double> moments = memory.table->moments(task.sums.numbers(), memory.classes);
  numbers.insert(numbers.end(), moments.begin(), moments.end());
  PARLEY_TRY(std::vector<std::int64_t> words, words_of(numbers));
  const std::vector<int> holders = tables_->holders_with(share.party);
  const auto own = std::find(holders.begin(), holders.end(), share.party) - holders.begin();
  const std::string terms = "relational, run " + run_;
  PARLEY_CHECK(agree_on_masks(memory.masks, {.party = static_cast<int>(own),
                                             .parties = static_cast<int>(holders.size()),
                                             .told = task.mask_keys,
                                             .terms = terms,
                                             .by = {share.peers.get(), run_}}));
  const std::int64_t epoch = memory.answered - 1;
  PARLEY_TRY(auto mask, next_mask(memory.masks, epoch, words.size(), std::to_string(epoch)));
  PARLEY_TRY(const auto masked, gate.unprotected(privacy::Private(std::move(words)), std::move(mask)));
  return privacy::derive([](const privacy::MaskedVector& sent) { return Reply{.words = sent.words}; }, masked);
}

// theta_q <- -(w X_q' diag(G) X_q + s I)^-1 (X_q'Y_q - s (v - u_q))
Result<void> RelationalAdmm::agree_on(std::span<const double> v, const TableShare& share, Memory& memory) const {
  const double penalty =
      consensus_penalty(static_cast<double>(memory.rows), memory.weight, tables_->holders_with(share.party).size());
  if (!memory.shared) {
    PARLEY_TRY(GramSystem system,
               GramSystem::make(memory.table->gram(), static_cast<std::size_t>(share.features.cols()),
                                {memory.weight, penalty}));
    memory.shared = std::make_shared<const GramSystem>(std::move(system));
  }
  std::vector<double> right = memory.moments;
  for (std::size_t j = 0; j < right.size(); ++j) right[j] -= penalty * (v[j] - memory.dual[j]);
  memory.own = memory.shared->solve(std::move(right));
  return {};
}

}  // namespace parley::algorithms
