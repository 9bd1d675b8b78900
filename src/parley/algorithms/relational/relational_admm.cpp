#include "parley/algorithms/relational/relational_admm.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "parley/algorithms/parts/check.h"
#include "parley/algorithms/relational/key_exchange.h"
#include "parley/algorithms/relational/table_sums.h"
#include "parley/core/text.h"
#include "parley/linalg/vectors.h"
#include "parley/privacy/masking/pairwise_masks.h"

namespace parley::algorithms {

using linalg::Index;

namespace {

constexpr Refusal kRefused[] = {
    {Part::kNoL2, "relational-admm needs an l2 penalty above 0"},
    {Part::kL1, "relational-admm takes an l2 penalty only"},
    {Part::kL1Radius, "relational-admm takes an l2 penalty and no constraint"},
    {Part::kSparsity, "relational-admm takes an l2 penalty and no constraint"},
    {Part::kFreeIntercept, "relational-admm penalises every weight; use \"penalised\" or none"}};

constexpr std::int64_t kMostAgreements = 1000;  // rounds of a consensus in an epoch

// Measured on real joins: shared reference, relational.md.
double default_rho(glm::Task task, double tables) {
  const bool squared = task == glm::Task::kLinear || task == glm::Task::kSquaredHinge;
  return (squared ? 0.5 : 0.125) / tables;
}

}  // namespace

RelationalSettings RelationalSettings::read(Toml& settings) {
  RelationalSettings admm;
  settings.integer("iterations", admm.epochs, at_least(1));
  settings.number("tolerance", admm.tolerance, at_least(0));
  settings.number("rho", admm.rho, above(0));
  settings.number("relaxation", admm.relaxation, above(0));
  settings.choice("order", admm.order,
                  {{"parallel", TableOrder::kParallel}, {"gauss-seidel", TableOrder::kGaussSeidel}});
  settings.choice(
      "update", admm.update,
      {{"relaxed", TableUpdate::kRelaxed}, {"majorised", TableUpdate::kMajorised}, {"paper", TableUpdate::kPaper}});
  settings.boolean("reduce_rows", admm.reduce_rows);
  settings.boolean("reduce_bytes", admm.reduce_bytes);
  settings.choice("numbers", admm.width, {{"float64", NumberWidth::kFloat64}, {"float32", NumberWidth::kFloat32}});
  settings.choice("union", admm.sums, {{"masked", UnionSums::kMasked}, {"consensus", UnionSums::kConsensus}});
  settings.number("union_rho", admm.union_rho, above(0));
  return admm;
}

Result<RelationalAdmm> RelationalAdmm::make(const RunTerms& terms, const RelationalSettings& settings) {
  PARLEY_CHECK(algorithms::check(terms.objective, kRefused));
  if (!terms.relational)
    return fail(bad_input({.field = "job.partition"}, "relational-admm trains over tables that [[join]] joins"));
  const bool one_by_one = settings.order == TableOrder::kGaussSeidel;
  PARLEY_CHECK(require(!one_by_one || settings.update == TableUpdate::kRelaxed, "algorithm.order",
                       "\"gauss-seidel\" is of the relaxed update alone", "gauss-seidel"));
  PARLEY_CHECK(require(settings.relaxation < 2, "algorithm.relaxation", "must be below 2", settings.relaxation));
  RelationalSettings chosen = settings;
  const bool relaxed = settings.update == TableUpdate::kRelaxed && !one_by_one;
  if (!relaxed)
    chosen.relaxation = 1;
  else if (chosen.relaxation == 0)
    chosen.relaxation = 1.6;
  RelationalAdmm made(terms.objective, chosen, terms.relational);
  made.run_ = terms.run;
  const bool split = terms.relational->table_of_party.size() > terms.relational->join.tables.size();
  PARLEY_CHECK(require(settings.reduce_bytes || !split, "algorithm.reduce_bytes",
                       "is for comparisons over tables of one party each", false));
  return made;
}

Result<void> RelationalAdmm::check_private(const RunTerms&, const RelationalSettings&) {
  return fail(bad_input({.field = "privacy"}, "relational-admm has no private form: use relational-sgd"));
}

std::int64_t RelationalAdmm::most_rounds() const {
  const bool one_by_one = settings_.order == TableOrder::kGaussSeidel;
  const bool split = tables_->table_of_party.size() > tables_->join.tables.size();
  const auto turns = one_by_one ? static_cast<std::int64_t>(tables_->join.tables.size()) : std::int64_t{1};
  const auto rounds = !split ? std::int64_t{1} : settings_.sums == UnionSums::kMasked ? 2 : kMostAgreements + 2;
  return settings_.epochs * turns * rounds + 1;
}

Result<RelationalAdmm::Iterate> RelationalAdmm::begin(std::span<const PartyFacts> parties) {
  if (parties.size() != tables_->table_of_party.size())
    return fail(failed("a party is missing: every party holds a table or a part of one"));
  records_.clear();
  trained_.assign(tables_->join.tables.size(), false);
  columns_.assign(tables_->join.tables.size(), 0);
  for (const PartyFacts& party : parties) {
    records_.push_back(party.records);
    const bool constant = party.labels && objective_.intercept == glm::Intercept::kPenalised;
    const auto table = static_cast<std::size_t>(table_of(party.party));
    const bool null_tuple = table < tables_->null_tuple.size() && tables_->null_tuple[table];
    columns_[table] = party.columns + (constant ? 1 : 0) + (null_tuple ? 1 : 0);
    trained_[table] = columns_[table] > 0;
  }
  table_count_ = static_cast<double>(std::count(trained_.begin(), trained_.end(), true));
  if (table_count_ == 0) return fail(failed("no table has a feature column"));
  if (settings_.rho == 0) settings_.rho = default_rho(objective_.task, table_count_);
  return Iterate{};
}

// The next table that has a column; as many as there are tables: none.
int RelationalAdmm::trained_after(int table) const {
  do ++table;
  while (table < static_cast<int>(trained_.size()) && !trained_[static_cast<std::size_t>(table)]);
  return table;
}

std::size_t RelationalAdmm::largest_reply(std::span<const PartyFacts> parties) const {
  const auto classes = static_cast<std::size_t>(objective_.classes);
  std::size_t most_keys = 1, most_tuples = 0, most_columns = 0;
  for (const std::size_t keys : key_counts(tables_->join)) most_keys = std::max(most_keys, keys);
  for (const PartyFacts& party : parties) {
    most_tuples = std::max(most_tuples, static_cast<std::size_t>(party.records) + 1);
    const bool split = tables_->holders_with(party.party).size() > 1;
    if (split) most_columns = std::max(most_columns, party.columns + 2);
  }
  const std::size_t of_sums = 3 * most_columns * (most_columns + classes);
  const std::size_t of_rows = settings_.reduce_bytes ? most_tuples : static_cast<std::size_t>(tables_->most_rows);
  return sizeof(double) * (2 * most_keys * most_tuples + most_tuples + classes * of_rows + of_sums + 64);
}

double RelationalAdmm::owner_weight() const {
  if (settings_.update == TableUpdate::kMajorised) return table_count_ * glm::curvature_bound(objective_.task);
  const bool shared = settings_.order == TableOrder::kParallel && settings_.update == TableUpdate::kRelaxed;
  return shared ? table_count_ * settings_.rho : settings_.rho;
}

std::optional<double> RelationalAdmm::objective(const Iterate& iterate) const {
  if (!iterate.joined) return std::nullopt;
  return iterate.last_objective;
}

// ---- at the coordinator: what is asked ----

bool RelationalAdmm::asks(const Iterate& iterate, int party) const {
  if (!iterate.joined) return true;
  if (!takes_part(party) || (iterate.stage > 0 && !is_split(party))) return false;
  return settings_.order == TableOrder::kParallel || table_of(party) == iterate.turn;
}

RowRange RelationalAdmm::slots_of(const Iterate& iterate, int party) const {
  const std::vector<Index>& tuples = iterate.tables[static_cast<std::size_t>(table_of(party))].rows.tuples;
  const std::vector<int> holders = tables_->holders_with(party);
  std::int64_t first = 0;
  for (const int holder : holders) {
    if (holder == party) break;
    first += records_[static_cast<std::size_t>(holder)];
  }
  const auto slot_of = [&](std::int64_t tuple) {
    return static_cast<std::size_t>(std::lower_bound(tuples.begin(), tuples.end(), tuple) - tuples.begin());
  };
  // The last party has the tuple of rows without one.
  const std::size_t end =
      party == holders.back() ? tuples.size() : slot_of(first + records_[static_cast<std::size_t>(party)]);
  return {slot_of(first), end};
}

std::optional<RelationalAdmm::Task> RelationalAdmm::ask(const Iterate& iterate, int party) const {
  if (!asks(iterate, party)) return std::nullopt;
  if (!iterate.joined) return Task{};
  const TableState& state = iterate.tables[static_cast<std::size_t>(table_of(party))];
  const bool masked = settings_.sums == UnionSums::kMasked;
  if (iterate.stage > 0) {
    Task task{.step = masked ? kTotals : iterate.agreed ? kValues : kAgree, .shared = state.shared};
    if (masked && iterate.epoch == 0) task.gram = state.gram;
    return task;
  }
  Task task{.step = kSums};
  const RowRange slots = slots_of(iterate, party);
  const std::size_t classes = loss().classes;
  const auto all = std::span(state.sums);
  const auto own =
      settings_.reduce_bytes ? all.subspan(slots.begin * classes, (slots.end - slots.begin) * classes) : all;
  task.sums = TravellingNumbers::of({own.begin(), own.end()}, settings_.width);
  if (is_split(party) && !masked) task.shared = state.shared;
  if (iterate.epoch > 0) return task;
  task.rows = static_cast<std::int64_t>(state.rows.slots.size());
  task.weight = owner_weight();
  task.classes = objective_.classes;
  task.mask_keys = state.mask_keys;
  if (!settings_.reduce_bytes) {
    for (const Index slot : state.rows.slots)
      if (slot >= 0) task.tuples.push_back(state.rows.tuples[static_cast<std::size_t>(slot)]);
    return task;
  }
  const auto uses = std::span(state.rows.uses).subspan(slots.begin, slots.end - slots.begin);
  task.uses.assign(uses.begin(), uses.end());
  std::int64_t first = 0;
  for (const int holder : tables_->holders_with(party))
    if (holder < party) first += records_[static_cast<std::size_t>(holder)];
  for (std::size_t slot = slots.begin; slot < slots.end; ++slot)
    task.tuples.push_back(state.rows.tuples[slot] - static_cast<Index>(first));
  return task;
}

// ---- at the coordinator: what is made of the answers ----

// Whether what comes from the party now is to be added up with that of its table's others.
bool RelationalAdmm::sends_summand(const Iterate& iterate, int party) const {
  return is_split(party) && !(iterate.stage > 0 && (settings_.sums == UnionSums::kMasked || iterate.agreed));
}

Result<void> RelationalAdmm::check(const Iterate& iterate, int party, const Reply& reply) const {
  if (!iterate.joined) {
    const bool key = is_split(party) && settings_.sums == UnionSums::kMasked;
    if (key ? !is_mask_key(reply.mask_key) : !reply.mask_key.empty()) return fail(failed("it is not a key of masks"));
    return check_sent(*tables_, objective_, records_[static_cast<std::size_t>(party)],
                      {party, &reply.keys, &reply.labels});
  }
  const TableState& table = iterate.tables[static_cast<std::size_t>(table_of(party))];
  if (!(reply.squares >= 0)) return fail(failed("its weights have no norm"));
  const bool masked = settings_.sums == UnionSums::kMasked;
  const std::size_t columns = columns_[static_cast<std::size_t>(table_of(party))];
  const std::size_t numbers = columns * (loss().classes + (masked && iterate.epoch == 0 ? columns : 0));
  const bool of_part = sends_summand(iterate, party);
  if (of_part && masked && reply.words.size() != 3 * numbers)
    return fail(failed("it does not have the words of its sums"));
  if (of_part && !masked && reply.shared.size() != numbers)
    return fail(failed("it does not have one number for each weight"));
  if (of_part) return {};
  const RowRange slots = slots_of(iterate, party);
  const std::size_t values = settings_.reduce_bytes ? (slots.end - slots.begin) * loss().classes : table.sums.size();
  if (reply.values.size() != values) return fail(failed("it does not have one value for each tuple that rows use"));
  return {};
}

Result<RelationalAdmm::Iterate> RelationalAdmm::join(Iterate iterate, const rounds::Answers<Reply>& answers) const {
  if (answers.size() != tables_->table_of_party.size())
    return fail(failed("a party is missing: every party holds a table or a part of one"));
  std::vector<SentTuples> sent;
  for (const auto& answer : answers) sent.push_back({answer.party, &answer.reply.keys, &answer.reply.labels});
  PARLEY_TRY(const Joined made, joined(*tables_, sent));
  for (JoinedTable& rows : joined_tables(made.map)) {
    TableState& table = iterate.tables.emplace_back();
    table.rows = std::move(rows);
    if (trained_[iterate.tables.size() - 1]) table.values.assign(table.rows.tuples.size() * loss().classes, 0.0);
    if (settings_.update == TableUpdate::kMajorised) table.before = table.point = table.values;
  }
  for (const auto& answer : answers)
    if (is_split(answer.party) && settings_.sums == UnionSums::kMasked)
      iterate.tables[static_cast<std::size_t>(table_of(answer.party))].mask_keys.push_back(answer.reply.mask_key);
  iterate.labels = labels_by_slot(made, iterate.tables[label_table()].rows);
  if (settings_.update != TableUpdate::kMajorised) iterate.dual.assign(made.map.rows() * loss().classes, 0.0);
  iterate.joined = true;
  iterate.turn = trained_after(-1);
  PARLEY_CHECK(begin_epoch(iterate));
  return iterate;
}

Result<RelationalAdmm::Iterate> RelationalAdmm::absorb(Iterate iterate, const rounds::Answers<Reply>& answers) const {
  if (!iterate.joined) return join(std::move(iterate), answers);
  std::size_t asked = 0;
  for (std::size_t p = 0; p < records_.size(); ++p) asked += asks(iterate, static_cast<int>(p)) ? 1 : 0;
  if (answers.size() != asked) return fail(failed("a party is missing: every party holds a part of the model"));
  for (const auto& answer : answers) {
    PARLEY_CHECK(check(iterate, answer.party, answer.reply));
    if (!sends_summand(iterate, answer.party)) iterate.moved += take(iterate, answer.party, answer.reply);
  }
  if (works_on(iterate)) {
    add_up(iterate, answers);
    return iterate;
  }
  iterate.stage = 0;
  iterate.agreed = false;
  if (settings_.order == TableOrder::kGaussSeidel) {
    iterate.turn = trained_after(iterate.turn);
    if (iterate.turn < static_cast<int>(iterate.tables.size())) {
      next_turn(iterate);
      return iterate;
    }
    iterate.turn = trained_after(-1);
  }
  ++iterate.epoch;
  PARLEY_CHECK(begin_epoch(iterate));
  return iterate;
}

// Whether a table of several parties needs another round for what was asked now.
bool RelationalAdmm::works_on(const Iterate& iterate) const {
  for (std::size_t p = 0; p < records_.size(); ++p)
    if (asks(iterate, static_cast<int>(p)) && sends_summand(iterate, static_cast<int>(p))) return true;
  return false;
}

// The masked sums of each such table, or v.
void RelationalAdmm::add_up(Iterate& iterate, const rounds::Answers<Reply>& answers) const {
  double moved = 0, size = 0;
  for (std::size_t i = 0; i < iterate.tables.size(); ++i) {
    std::vector<std::int64_t> words;
    std::vector<double> sum;
    std::size_t holders = 0;
    for (const auto& answer : answers) {
      if (table_of(answer.party) != static_cast<int>(i) || !is_split(answer.party)) continue;
      ++holders;
      words.resize(answer.reply.words.size(), 0);
      privacy::add_words(answer.reply.words, words);
      sum.resize(answer.reply.shared.size(), 0.0);
      linalg::axpy(1.0, answer.reply.shared, sum);
    }
    if (holders == 0) continue;
    TableState& table = iterate.tables[i];
    if (settings_.sums == UnionSums::kMasked) {
      const std::vector<double> numbers = numbers_of(words);
      const std::size_t moments = columns_[i] * loss().classes;
      table.shared.assign(numbers.end() - static_cast<std::ptrdiff_t>(moments), numbers.end());
      if (numbers.size() > moments)
        table.gram.assign(numbers.begin(), numbers.end() - static_cast<std::ptrdiff_t>(moments));
      continue;
    }
    const double rows = row_count(iterate);
    const double penalty = static_cast<double>(holders) * consensus_penalty(rows, owner_weight(), holders);
    const double pull = penalty / (rows * objective_.l2 + penalty) / static_cast<double>(holders);
    table.shared.resize(sum.size(), 0.0);
    for (std::size_t j = 0; j < sum.size(); ++j) {
      const double next = pull * sum[j];
      moved += (next - table.shared[j]) * (next - table.shared[j]);
      size += next * next;
      table.shared[j] = next;
    }
  }
  ++iterate.stage;
  constexpr double kOfTolerance = 1e-2;  // an epoch is as exact as the run needs
  const double still = kOfTolerance * std::max(settings_.tolerance, 1e-12);
  iterate.agreed = settings_.sums == UnionSums::kConsensus &&
                   (std::sqrt(moved) <= still * std::sqrt(size) || iterate.stage >= kMostAgreements);
}

double RelationalAdmm::consensus_penalty(double rows, double weight, std::size_t holders) const {
  constexpr double kShare = 0.1;  // of what columns of ones would have
  return settings_.union_rho > 0 ? settings_.union_rho : kShare * weight * rows / static_cast<double>(holders);
}

// h <- what came; returns sum G |dh|^2.
double RelationalAdmm::take(Iterate& iterate, int party, const Reply& reply) const {
  TableState& table = iterate.tables[static_cast<std::size_t>(table_of(party))];
  const std::size_t classes = loss().classes;
  const RowRange slots = slots_of(iterate, party);
  std::vector<double> values = reply.values.numbers();
  if (!settings_.reduce_bytes) {
    const std::vector<double> by_row = std::exchange(values, std::vector<double>(table.values.size()));
    std::size_t at = 0;
    for (const Index slot : table.rows.slots) {
      if (slot < 0) continue;
      std::copy_n(&by_row[at], classes, &values[static_cast<std::size_t>(slot) * classes]);
      at += classes;
    }
  }
  const std::vector<double>& from = settings_.update == TableUpdate::kMajorised ? table.point : table.values;
  double moved = 0;
  const std::size_t first = slots.begin * classes;
  for (std::size_t slot = slots.begin; slot < slots.end; ++slot) {
    double squares = 0;
    for (std::size_t k = slot * classes; k < (slot + 1) * classes; ++k)
      squares += (values[k - first] - from[k]) * (values[k - first] - from[k]);
    moved += table.rows.uses[slot] * squares;
  }
  const auto at = table.values.begin() + static_cast<std::ptrdiff_t>(first);
  if (settings_.update == TableUpdate::kMajorised)
    std::copy_n(at, values.size(), table.before.begin() + static_cast<std::ptrdiff_t>(first));
  std::copy(values.begin(), values.end(), at);
  table.squares = reply.squares;
  return moved;
}

std::vector<Leaving> RelationalAdmm::leaves(const RunTerms& terms, const RelationalSettings& settings) {
  std::vector<Leaving> all{
      {"a digest of the keys of each row, which says which rows of different parties belong together",
       Leaving::Of::kPerson, "the coordinator", "once",
       "hashed under a secret that the sites share and the coordinator lacks"},
      labels_of({terms.label_noise, terms.is_private}),
      {"what this party's columns add to the score of each row that is used, one number for each", Leaving::Of::kPerson,
       "the coordinator", fmt::format("in each of at most {}", counted(settings.epochs, "epoch")), kUnprotected}};
  if (settings.sums == UnionSums::kMasked) {
    all.push_back(key_of_masks());
    all.push_back(
        {"where several parties have rows of one table: sums over this party's rows, one number for each weight",
         Leaving::Of::kTotal, "nobody by itself: the coordinator reads the total over the parties of the table",
         "in each of these epochs", "a mask that cancels in that total"});
  }
  return all;
}

}  // namespace parley::algorithms
