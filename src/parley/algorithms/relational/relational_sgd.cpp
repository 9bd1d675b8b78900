#include "parley/algorithms/relational/relational_sgd.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "parley/algorithms/parts/check.h"
#include "parley/algorithms/relational/key_exchange.h"
#include "parley/core/text.h"
#include "parley/data/random.h"
#include "parley/linalg/vectors.h"

namespace parley::algorithms {

using linalg::Index;

namespace {

constexpr Refusal kRefused[] = {
    {Part::kL1, "relational-sgd takes an l2 penalty only"},
    {Part::kL1Radius, "relational-sgd takes an l2 penalty and no constraint"},
    {Part::kSparsity, "relational-sgd takes an l2 penalty and no constraint"},
    {Part::kFreeIntercept, "relational-sgd penalises every weight; use \"penalised\" or none"}};

Error wrong(std::string_view rule) {
  return bad_input({.field = "task"}, rule);
}

// Slots of these rows, each once, ascending.
std::vector<Index> slots_of(const JoinedTable& table, const std::vector<Index>& rows) {
  std::vector<Index> slots;
  for (const Index row : rows)
    if (const Index slot = table.slots[static_cast<std::size_t>(row)]; slot >= 0) slots.push_back(slot);
  std::sort(slots.begin(), slots.end());
  slots.erase(std::unique(slots.begin(), slots.end()), slots.end());
  return slots;
}

std::vector<Index> all_slots(const JoinedTable& table) {
  std::vector<Index> slots(table.tuples.size());
  std::iota(slots.begin(), slots.end(), 0);
  return slots;
}

std::vector<Index> tuples_of(const JoinedTable& table, const std::vector<Index>& slots) {
  std::vector<Index> tuples;
  for (const Index slot : slots) tuples.push_back(table.tuples[static_cast<std::size_t>(slot)]);
  return tuples;
}

}  // namespace

RelationalSgdSettings RelationalSgdSettings::read(Toml& settings) {
  RelationalSgdSettings sgd;
  settings.integer("iterations", sgd.steps, at_least(1));
  settings.number("batch_rate", sgd.batch_rate, above(0));
  settings.number("step", sgd.step, above(0));
  return sgd;
}

Result<RelationalSgd> RelationalSgd::make(const RunTerms& terms, const RelationalSgdSettings& settings) {
  PARLEY_CHECK(algorithms::check(terms.objective, kRefused));
  if (!terms.relational)
    return fail(bad_input({.field = "job.partition"}, "relational-sgd trains over tables that [[join]] joins"));
  PARLEY_CHECK(
      require(settings.batch_rate <= 1, "algorithm.batch_rate", "is a probability, at most 1", settings.batch_rate));
  PARLEY_CHECK(require(terms.relational->table_of_party.size() == terms.relational->join.tables.size(), "union",
                       "relational-sgd trains over tables of one party each; use relational-admm",
                       terms.relational->join.tables.size()));
  return RelationalSgd(terms, settings);
}

Result<void> RelationalSgd::check_private(const RunTerms&, const RelationalSgdSettings&) {
  return fail(bad_input({.field = "privacy"},
                        "relational-sgd has no private form: what travels for each tuple depends on all of them"));
}

Result<RelationalSgd::Iterate> RelationalSgd::begin(std::span<const PartyFacts> parties) {
  if (parties.size() != tables_->table_of_party.size())
    return fail(failed("a party is missing: every party holds a table"));
  records_.clear();
  trained_.assign(tables_->join.tables.size(), false);
  double squares = 0;
  for (const PartyFacts& party : parties) {
    records_.push_back(party.records);
    const bool constant = party.labels && objective_.intercept == glm::Intercept::kPenalised;
    const std::size_t table = table_of(party.party);
    const bool null_tuple = table < tables_->null_tuple.size() && tables_->null_tuple[table];
    trained_[table] = party.columns > 0 || constant || null_tuple;
    squares += std::max(party.row_norm * party.row_norm, null_tuple ? 1.0 : 0.0) + (constant ? 1 : 0);
  }
  const double largest = 1 / (glm::curvature_bound(objective_.task) * squares + objective_.l2);
  if (!std::isfinite(largest) || std::none_of(trained_.begin(), trained_.end(), [](bool has) { return has; }))
    return fail(failed("no table has a feature column that is not zero"));
  if (settings_.step == 0) settings_.step = largest;
  Iterate first;
  first.seed = static_cast<std::int64_t>(seed_);
  return first;
}

std::size_t RelationalSgd::largest_reply(std::span<const PartyFacts> parties) const {
  std::size_t most_keys = 1, most_tuples = 1;
  for (const std::size_t keys : key_counts(tables_->join)) most_keys = std::max(most_keys, keys);
  for (const PartyFacts& party : parties)
    most_tuples = std::max(most_tuples, static_cast<std::size_t>(party.records) + 1);
  return sizeof(double) * ((2 * most_keys + 1 + loss().classes) * most_tuples + 64);
}

bool RelationalSgd::is_full_before(std::int64_t step) const {
  const auto pass = static_cast<std::int64_t>(std::ceil(1 / settings_.batch_rate));
  return step == 0 || step >= settings_.steps || step % pass == 0;
}

std::vector<Index> RelationalSgd::rows_of(const Iterate& iterate, std::int64_t step) const {
  const std::size_t rows = iterate.tables.front().rows.slots.size();
  std::vector<Index> batch;
  data::Random random(static_cast<std::uint64_t>(iterate.seed), 16, static_cast<std::uint64_t>(step));
  for (std::size_t j = 0; j < rows; ++j)
    if (settings_.batch_rate >= 1 || random.uniform() < settings_.batch_rate) batch.push_back(static_cast<Index>(j));
  return batch;
}

std::optional<RelationalSgd::Task> RelationalSgd::ask(const Iterate& iterate, int party) const {
  if (!iterate.joined) return Task{.asks_for_keys = true};
  if (!takes_part(party)) return std::nullopt;
  const TableState& table = iterate.tables[table_of(party)];
  const bool whole = settings_.batch_rate >= 1;
  Task task{.classes = objective_.classes, .step = settings_.step, .sums = table.sums};
  if (!whole) task.step /= 1 + settings_.step * objective_.l2 * static_cast<double>(iterate.step);
  if (whole && iterate.step > 0) return task;  // the same tuples
  task.tuples = tuples_of(table.rows, table.batch);
  task.wanted = tuples_of(table.rows, table.wanted);
  return task;
}

Result<privacy::Released<RelationalSgd::Reply>> RelationalSgd::answer(const Task& task, const TableShare& share,
                                                                      Memory& memory, privacy::Gate& gate) const {
  Memory after = memory;  // an answer that fails changes nothing
  if (task.asks_for_keys) {
    if (after.asked_for_keys) return fail(wrong("asks for keys, which it gets once, before everything else"));
    after.asked_for_keys = true;
    memory = std::move(after);
    return gate.unprotected(privacy::Private(Reply{.keys = sent_keys(share.keys), .labels = share.labels}));
  }
  constexpr int kMostClasses = 1 << 20;
  const auto columns = static_cast<std::size_t>(share.features.cols());
  if (after.answered >= settings_.steps) return fail(wrong("is one more than the job's iterations"));
  if (task.classes < 1 || task.classes > kMostClasses || !(task.step > 0))
    return fail(wrong("must bring classes and a step above 0"));
  const auto classes = static_cast<std::size_t>(task.classes);
  if (after.weights.empty()) after.weights.assign(columns * classes, 0.0);
  if (settings_.batch_rate < 1 || !task.tuples.empty()) after.tuples = task.tuples;
  if (settings_.batch_rate < 1 || !task.wanted.empty()) after.wanted = task.wanted;
  const auto is_tuple = [&](Index tuple) { return tuple >= 0 && tuple < share.features.rows(); };
  if (!std::all_of(after.tuples.begin(), after.tuples.end(), is_tuple) ||
      !std::all_of(after.wanted.begin(), after.wanted.end(), is_tuple) ||
      task.sums.size() != after.tuples.size() * classes || after.weights.size() != columns * classes)
    return fail(wrong("must have one sum for each tuple of this table that it names"));
  // A tuple at a time: a batch is small beside the table.
  std::vector<double> gradient(after.weights);
  for (double& entry : gradient) entry *= objective_.l2;
  for (std::size_t k = 0; k < classes; ++k)
    for (std::size_t t = 0; t < after.tuples.size(); ++t)
      share.features.row_axpy(after.tuples[t], task.sums[t * classes + k],
                              std::span(gradient).subspan(k * columns, columns));
  linalg::axpy(-task.step, gradient, after.weights);
  Reply reply{.squares = linalg::squared_norm(after.weights)};
  for (const Index tuple : after.wanted)
    for (std::size_t k = 0; k < classes; ++k)
      reply.values.push_back(
          share.features.row_dot(tuple, std::span<const double>(after.weights).subspan(k * columns, columns)));
  ++after.answered;
  memory = std::move(after);
  return gate.unprotected(privacy::Private(std::move(reply)));
}

Result<void> RelationalSgd::check(const Iterate& iterate, int party, const Reply& reply) const {
  if (!iterate.joined)
    return check_sent(*tables_, objective_, records_[static_cast<std::size_t>(party)],
                      {party, &reply.keys, &reply.labels});
  if (reply.values.size() != iterate.tables[table_of(party)].wanted.size() * loss().classes)
    return fail(failed("it does not have one value for each tuple that was asked for"));
  return reply.squares >= 0 ? Result<void>{} : fail(failed("its weights have no norm"));
}

Result<RelationalSgd::Iterate> RelationalSgd::join(Iterate iterate, const rounds::Answers<Reply>& answers) const {
  std::vector<SentTuples> sent;
  for (const auto& answer : answers) sent.push_back({answer.party, &answer.reply.keys, &answer.reply.labels});
  if (sent.size() != records_.size()) return fail(failed("a party is missing: every party holds a table"));
  PARLEY_TRY(const Joined made, joined(*tables_, sent));
  for (JoinedTable& rows : joined_tables(made.map)) {
    TableState& table = iterate.tables.emplace_back();
    table.rows = std::move(rows);
    table.values.assign(table.rows.tuples.size() * loss().classes, 0.0);
  }
  iterate.labels = labels_by_slot(made, iterate.tables[static_cast<std::size_t>(tables_->label_table)].rows);
  iterate.joined = true;
  begin_step(iterate);
  return iterate;
}

Result<RelationalSgd::Iterate> RelationalSgd::absorb(Iterate iterate, const rounds::Answers<Reply>& answers) const {
  if (!iterate.joined) return join(std::move(iterate), answers);
  if (answers.size() != static_cast<std::size_t>(std::count(trained_.begin(), trained_.end(), true)))
    return fail(failed("a party is missing: every party holds a part of the model"));
  const std::size_t classes = loss().classes;
  for (const auto& answer : answers) {
    PARLEY_CHECK(check(iterate, answer.party, answer.reply));
    TableState& table = iterate.tables[table_of(answer.party)];
    for (std::size_t w = 0; w < table.wanted.size(); ++w)
      std::copy_n(&answer.reply.values[w * classes], classes,
                  &table.values[static_cast<std::size_t>(table.wanted[w]) * classes]);
    table.squares = answer.reply.squares;
  }
  ++iterate.step;
  begin_step(iterate);
  if (!std::isfinite(iterate.objective))
    return fail(failed("the objective is no number any more; algorithm.step is too large"));
  return iterate;
}

// The margins of the batch, their derivatives and Y; the objective where all values are known.
void RelationalSgd::begin_step(Iterate& iterate) const {
  const RowLoss loss = this->loss();
  const std::vector<Index>& label_slots = iterate.tables[static_cast<std::size_t>(tables_->label_table)].rows.slots;
  const std::vector<Index> batch = rows_of(iterate, iterate.step);
  const auto derivatives = [&](const std::vector<Index>& rows, double& losses) {
    std::vector<double> margins(rows.size() * loss.classes, 0.0), labels;
    for (std::size_t b = 0; b < rows.size(); ++b) {
      for (const TableState& table : iterate.tables)
        add_values(table.rows, table.values, loss.classes,
                   {static_cast<std::size_t>(rows[b]), static_cast<std::size_t>(rows[b]) + 1},
                   std::span(margins).subspan(b * loss.classes, loss.classes));
      labels.push_back(iterate.labels[static_cast<std::size_t>(label_slots[static_cast<std::size_t>(rows[b])])]);
    }
    losses = losses_and_derivatives(loss, margins, labels);
    return margins;
  };
  const auto rows = static_cast<double>(label_slots.size());
  double losses = 0;
  const std::vector<double> e = derivatives(batch, losses);
  if (is_full_before(iterate.step)) {
    if (settings_.batch_rate < 1) {
      std::vector<Index> all(label_slots.size());
      std::iota(all.begin(), all.end(), 0);
      derivatives(all, losses);
    }
    double squares = 0;
    for (const TableState& table : iterate.tables) squares += table.squares;
    iterate.objective = losses / rows + objective_.l2 / 2 * squares;
  }
  const std::vector<Index> next = rows_of(iterate, iterate.step + 1);
  for (TableState& table : iterate.tables) {
    table.batch = slots_of(table.rows, batch);
    table.wanted = is_full_before(iterate.step + 1) ? all_slots(table.rows) : slots_of(table.rows, next);
    table.sums.assign(table.batch.size() * loss.classes, 0.0);
    for (std::size_t b = 0; b < batch.size(); ++b) {
      const Index slot = table.rows.slots[static_cast<std::size_t>(batch[b])];
      if (slot < 0) continue;
      const auto at = static_cast<std::size_t>(std::lower_bound(table.batch.begin(), table.batch.end(), slot) -
                                               table.batch.begin());
      for (std::size_t k = 0; k < loss.classes; ++k)
        table.sums[at * loss.classes + k] += e[b * loss.classes + k] / (settings_.batch_rate * rows);
    }
  }
}

std::vector<Leaving> RelationalSgd::leaves(const RunTerms& terms, const RelationalSgdSettings& settings) {
  return {{"a digest of the keys of each row, which says which rows of different parties belong together",
           Leaving::Of::kPerson, "the coordinator", "once",
           "hashed under a secret that the sites share and the coordinator lacks"},
          labels_of({terms.label_noise, terms.is_private}),
          {"what this party's columns add to the score of each row that is drawn, one number for each",
           Leaving::Of::kPerson, "the coordinator",
           fmt::format("in each of at most {}", counted(settings.steps, "step")), kUnprotected}};
}

}  // namespace parley::algorithms
