#include "parley/algorithms/relational/relational_sgd.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "parley/algorithms/parts/check.h"
#include "parley/algorithms/relational/key_exchange.h"
#include "parley/algorithms/relational/table_sums.h"
#include "parley/algorithms/vertical/label_release.h"
#include "parley/core/text.h"
#include "parley/data/random.h"
#include "parley/linalg/vectors.h"
#include "parley/privacy/masking/pairwise_masks.h"

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
  if (terms.label_noise) PARLEY_CHECK(LabelRelease::check(terms.objective.task, *terms.label_noise));
  if (!terms.relational)
    return fail(bad_input({.field = "job.partition"}, "relational-sgd trains over tables that [[join]] joins"));
  PARLEY_CHECK(
      require(settings.batch_rate <= 1, "algorithm.batch_rate", "is a probability, at most 1", settings.batch_rate));
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
  columns_.assign(tables_->join.tables.size(), 0);
  trained_.assign(tables_->join.tables.size(), false);
  std::vector<double> squares_of(tables_->join.tables.size(), 0.0);
  for (const PartyFacts& party : parties) {
    records_.push_back(party.records);
    const bool constant = party.labels && objective_.intercept == glm::Intercept::kPenalised;
    const std::size_t table = table_of(party.party);
    const bool null_tuple = table < tables_->null_tuple.size() && tables_->null_tuple[table];
    columns_[table] = party.columns + (constant ? 1 : 0) + (null_tuple ? 1 : 0);
    trained_[table] = columns_[table] > 0;
    const double of_party = std::max(party.row_norm * party.row_norm, null_tuple ? 1.0 : 0.0) + (constant ? 1 : 0);
    squares_of[table] = std::max(squares_of[table], of_party);
  }
  const double squares = std::accumulate(squares_of.begin(), squares_of.end(), 0.0);
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
  std::size_t most_columns = 0;
  for (const PartyFacts& party : parties)
    if (is_split(party.party)) most_columns = std::max(most_columns, party.columns + 2);
  return sizeof(double) * ((2 * most_keys + 1 + loss().classes) * most_tuples + 3 * most_columns * loss().classes + 64);
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

RelationalSgd::Own RelationalSgd::own(const TableState& table, const std::vector<Index>& slots, int party) const {
  const std::vector<int> holders = tables_->holders_with(party);
  std::int64_t first = 0;
  for (const int holder : holders) {
    if (holder == party) break;
    first += records_[static_cast<std::size_t>(holder)];
  }
  const auto place_of = [&](std::int64_t tuple) {
    return static_cast<std::size_t>(
        std::partition_point(slots.begin(), slots.end(),
                             [&](Index slot) { return table.rows.tuples[static_cast<std::size_t>(slot)] < tuple; }) -
        slots.begin());
  };
  // The last party has the tuple of rows without one.
  const std::size_t end =
      party == holders.back() ? slots.size() : place_of(first + records_[static_cast<std::size_t>(party)]);
  return {{place_of(first), end}, static_cast<Index>(first)};
}

std::optional<RelationalSgd::Task> RelationalSgd::ask(const Iterate& iterate, int party) const {
  if (!asks(iterate, party)) return std::nullopt;
  if (!iterate.joined) return Task{.asks_for_keys = true};
  const TableState& table = iterate.tables[table_of(party)];
  const bool whole = settings_.batch_rate >= 1;
  const std::size_t classes = loss().classes;
  Task task{.classes = objective_.classes, .step = settings_.step};
  if (!whole) task.step /= 1 + settings_.step * objective_.l2 * static_cast<double>(iterate.step);
  if (iterate.summed) {
    task.shared = table.shared;
    return task;
  }
  const Own batch = own(table, table.batch, party), wanted = own(table, table.wanted, party);
  const auto sums =
      std::span(table.sums).subspan(batch.slots.begin * classes, (batch.slots.end - batch.slots.begin) * classes);
  task.sums.assign(sums.begin(), sums.end());
  if (iterate.step == 0) task.mask_keys = table.mask_keys;
  if (whole && iterate.step > 0) return task;  // the same tuples
  const auto tuples = [&](const std::vector<Index>& slots, const Own& mine) {
    std::vector<Index> found;
    for (std::size_t at = mine.slots.begin; at < mine.slots.end; ++at)
      found.push_back(table.rows.tuples[static_cast<std::size_t>(slots[at])] - mine.first);
    return found;
  };
  task.tuples = tuples(table.batch, batch);
  task.wanted = tuples(table.wanted, wanted);
  return task;
}

// ---- at a party ----

Result<privacy::Released<RelationalSgd::Reply>> RelationalSgd::keys(const TableShare& share, Memory& memory,
                                                                    privacy::Gate& gate) const {
  if (memory.asked_for_keys) return fail(wrong("asks for keys, which it gets once, before everything else"));
  memory.asked_for_keys = true;
  PARLEY_TRY(const auto labels, sent_labels(share, gate));
  Reply reply{.keys = sent_keys(share.keys)};
  if (is_split(share.party)) {
    PARLEY_TRY(const auto key, make_mask_key(memory.masks, gate));
    reply.mask_key = key.value();
  }
  PARLEY_TRY(const auto others, gate.unprotected(privacy::Private(std::move(reply))));
  return privacy::derive(
      [](const Reply& rest, const std::vector<double>& targets) {
        Reply made = rest;
        made.labels = targets;
        return made;
      },
      others, labels);
}

// Which tuples a step is about.
Result<void> RelationalSgd::remember(const Task& task, const TableShare& share, Memory& memory) const {
  constexpr int kMostClasses = 1 << 20;
  const auto columns = static_cast<std::size_t>(share.features.cols());
  if (memory.answered >= settings_.steps) return fail(wrong("is one more than the job's iterations"));
  if (task.classes < 1 || task.classes > kMostClasses || !(task.step > 0))
    return fail(wrong("must bring classes and a step above 0"));
  const std::size_t size = columns * static_cast<std::size_t>(task.classes);
  if (memory.weights.empty()) memory.weights.assign(size, 0.0);
  if (memory.weights.size() != size) return fail(wrong("must have the classes of the first step"));
  if (!task.shared.empty()) {
    if (memory.waits && task.shared.size() == size) return {};
    return fail(wrong("must bring one number for each weight, after the sums of the table's parties"));
  }
  if (memory.waits) return fail(wrong("must bring what the parties of the table have together"));
  if (settings_.batch_rate < 1 || !task.tuples.empty()) memory.tuples = task.tuples;
  if (settings_.batch_rate < 1 || !task.wanted.empty()) memory.wanted = task.wanted;
  const auto is_tuple = [&](Index tuple) { return tuple >= 0 && tuple < share.features.rows(); };
  if (std::all_of(memory.tuples.begin(), memory.tuples.end(), is_tuple) &&
      std::all_of(memory.wanted.begin(), memory.wanted.end(), is_tuple) &&
      task.sums.size() == memory.tuples.size() * static_cast<std::size_t>(task.classes))
    return {};
  return fail(wrong("must have one sum for each tuple of this table that it names"));
}

// X_q'Y_q under this step's mask.
Result<privacy::Released<RelationalSgd::Reply>> RelationalSgd::summand(const Task& task, const TableShare& share,
                                                                       std::span<const double> moments, Memory& memory,
                                                                       privacy::Gate& gate) const {
  PARLEY_TRY(std::vector<std::int64_t> words, words_of(moments));
  const std::vector<int> holders = tables_->holders_with(share.party);
  const auto place = std::find(holders.begin(), holders.end(), share.party) - holders.begin();
  const std::string terms = "relational-sgd, run " + run_;
  PARLEY_CHECK(agree_on_masks(memory.masks, {.party = static_cast<int>(place),
                                             .parties = static_cast<int>(holders.size()),
                                             .told = task.mask_keys,
                                             .terms = terms}));
  PARLEY_TRY(auto mask, next_mask(memory.masks, memory.answered, words.size(), std::to_string(memory.answered)));
  memory.waits = true;
  PARLEY_TRY(const auto masked, gate.unprotected(privacy::Private(std::move(words)), std::move(mask)));
  return privacy::derive([](const privacy::MaskedVector& sent) { return Reply{.words = sent.words}; }, masked);
}

Result<privacy::Released<RelationalSgd::Reply>> RelationalSgd::answer(const Task& task, const TableShare& share,
                                                                      Memory& memory, privacy::Gate& gate) const {
  Memory after = memory;  // an answer that fails changes nothing
  if (task.asks_for_keys) {
    PARLEY_TRY(auto sent, keys(share, after, gate));
    memory = std::move(after);
    return sent;
  }
  PARLEY_CHECK(remember(task, share, after));
  const auto columns = static_cast<std::size_t>(share.features.cols());
  const auto classes = static_cast<std::size_t>(task.classes);
  // A tuple at a time: a batch is small beside the table.
  std::vector<double> moments(task.shared);
  if (moments.empty()) {
    moments.assign(columns * classes, 0.0);
    for (std::size_t k = 0; k < classes; ++k)
      for (std::size_t t = 0; t < after.tuples.size(); ++t)
        share.features.row_axpy(after.tuples[t], task.sums[t * classes + k],
                                std::span(moments).subspan(k * columns, columns));
    if (is_split(share.party)) {
      PARLEY_TRY(auto sent, summand(task, share, moments, after, gate));
      memory = std::move(after);
      return sent;
    }
  }
  for (std::size_t j = 0; j < moments.size(); ++j)
    after.weights[j] -= task.step * (moments[j] + objective_.l2 * after.weights[j]);
  Reply reply{.squares = linalg::squared_norm(after.weights)};
  for (const Index tuple : after.wanted)
    for (std::size_t k = 0; k < classes; ++k)
      reply.values.push_back(
          share.features.row_dot(tuple, std::span<const double>(after.weights).subspan(k * columns, columns)));
  ++after.answered;
  after.waits = false;
  memory = std::move(after);
  return gate.unprotected(privacy::Private(std::move(reply)));
}

// ---- at the coordinator ----

Result<void> RelationalSgd::check(const Iterate& iterate, int party, const Reply& reply) const {
  if (!iterate.joined) {
    if (reply.mask_key.size() != (is_split(party) ? privacy::kMaskKeyBytes : 0))
      return fail(failed("it is not a key of masks"));
    return check_sent(*tables_, objective_, records_[static_cast<std::size_t>(party)],
                      {party, &reply.keys, &reply.labels});
  }
  const TableState& table = iterate.tables[table_of(party)];
  if (is_split(party) && !iterate.summed)
    return reply.words.size() == 3 * columns_[table_of(party)] * loss().classes
               ? Result<void>{}
               : fail(failed("it does not have the words of its sums"));
  if (!reply.words.empty()) return fail(failed("it holds words of sums, which were not asked for"));
  const RowRange wanted = own(table, table.wanted, party).slots;
  if (reply.values.size() != (wanted.end - wanted.begin) * loss().classes)
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
  for (const auto& answer : answers)
    if (is_split(answer.party)) iterate.tables[table_of(answer.party)].mask_keys.push_back(answer.reply.mask_key);
  iterate.labels = labels_by_slot(made, iterate.tables[static_cast<std::size_t>(tables_->label_table)].rows);
  iterate.joined = true;
  begin_step(iterate);
  return iterate;
}

Result<RelationalSgd::Iterate> RelationalSgd::absorb(Iterate iterate, const rounds::Answers<Reply>& answers) const {
  if (!iterate.joined) return join(std::move(iterate), answers);
  std::size_t asked = 0;
  for (std::size_t p = 0; p < records_.size(); ++p) asked += asks(iterate, static_cast<int>(p)) ? 1 : 0;
  if (answers.size() != asked) return fail(failed("a party is missing: every party holds a part of the model"));
  const std::size_t classes = loss().classes;
  std::vector<std::vector<std::int64_t>> words(iterate.tables.size());
  for (const auto& answer : answers) {
    PARLEY_CHECK(check(iterate, answer.party, answer.reply));
    TableState& table = iterate.tables[table_of(answer.party)];
    if (!answer.reply.words.empty()) {
      std::vector<std::int64_t>& sum = words[table_of(answer.party)];
      sum.resize(answer.reply.words.size(), 0);
      privacy::add_words(answer.reply.words, sum);
      continue;
    }
    const RowRange wanted = own(table, table.wanted, answer.party).slots;
    for (std::size_t w = wanted.begin; w < wanted.end; ++w)
      std::copy_n(&answer.reply.values[(w - wanted.begin) * classes], classes,
                  &table.values[static_cast<std::size_t>(table.wanted[w]) * classes]);
    table.squares = answer.reply.squares;
  }
  for (std::size_t i = 0; i < words.size(); ++i)
    if (!words[i].empty()) {
      iterate.tables[i].shared = numbers_of(words[i]);
      iterate.summed = true;
    }
  if (std::any_of(words.begin(), words.end(), [](const auto& sum) { return !sum.empty(); })) return iterate;
  iterate.summed = false;
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
