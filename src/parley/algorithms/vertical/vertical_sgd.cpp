#include "parley/algorithms/vertical/vertical_sgd.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "parley/algorithms/parts/check.h"
#include "parley/algorithms/vertical/ridge_factor.h"
#include "parley/algorithms/vertical/shared_feature.h"
#include "parley/core/text.h"
#include "parley/data/random.h"
#include "parley/glm/unbiased.h"
#include "parley/linalg/vectors.h"

namespace parley::algorithms {

namespace {

constexpr Refusal kRefused[] = {
    {Part::kSoftmax, "vertical-sgd takes losses of one margin: linear, logistic, squared-hinge"},
    {Part::kL1, "vertical-sgd takes an l2 penalty only"},
    {Part::kL1Radius, "vertical-sgd takes an l2 penalty and no constraint"},
    {Part::kSparsity, "vertical-sgd takes an l2 penalty and no constraint"},
    {Part::kFreeIntercept, "vertical-sgd penalises every weight; use \"penalised\" or none"}};

constexpr double kReply = 4, kTask = 28;  // bytes without their vectors' numbers

// Streams of the public seed.
constexpr std::uint64_t kBatches = 0x76736764, kVisits = 0x76736765;

}  // namespace

VerticalSgdSettings VerticalSgdSettings::read(Toml& settings) {
  VerticalSgdSettings sgd;
  settings.integer("iterations", sgd.iterations, at_least(1));
  settings.integer("batch", sgd.batch, at_least(1));
  settings.number("step", sgd.step, above(0));
  return sgd;
}

// ---- which records when ----

BatchOrder::BatchOrder(std::uint64_t seed, std::size_t records, std::size_t batch)
    : seed_(seed), batch_(batch), records_(records) {
  std::iota(records_.begin(), records_.end(), std::uint32_t{0});
  data::Random random(seed, kBatches);
  data::shuffle(random, records_);
}

std::span<const std::uint32_t> BatchOrder::records(std::size_t batch) const {
  const std::size_t begin = batch * batch_;
  return std::span(records_).subspan(begin, std::min(batch_, records_.size() - begin));
}

std::size_t BatchOrder::at(std::int64_t step) {
  const auto batches = static_cast<std::int64_t>(count());
  if (step / batches != epoch_) {
    epoch_ = step / batches;
    visits_.resize(count());
    std::iota(visits_.begin(), visits_.end(), std::uint32_t{0});
    data::Random random(seed_, kVisits, static_cast<std::uint64_t>(epoch_));
    data::shuffle(random, visits_);
  }
  return visits_[static_cast<std::size_t>(step % batches)];
}

// ---- what it takes ----

Result<VerticalSgd> VerticalSgd::make(const RunTerms& terms, const VerticalSgdSettings& settings) {
  PARLEY_CHECK(algorithms::check(terms.objective, kRefused));
  PARLEY_CHECK(require(terms.parties >= 1, "party", "vertical-sgd needs at least one party", terms.parties));
  if (terms.label_noise) PARLEY_CHECK(LabelRelease::check(terms.objective.task, *terms.label_noise));
  return VerticalSgd(terms, settings);
}

Result<void> VerticalSgd::check_private(const RunTerms&, const VerticalSgdSettings&) {
  return fail(bad_input({.field = "privacy"}, "vertical-sgd has no private form"));
}

Result<void> VerticalSgd::reserve(const ColumnShare& share, Memory& memory, privacy::Gate& gate) const {
  return reserve_labels(share, memory.asked_for_labels, gate);
}

std::size_t VerticalSgd::batch_size(std::size_t records) const {
  return std::min(static_cast<std::size_t>(settings_.batch), records);
}

Result<VerticalSgd::Iterate> VerticalSgd::begin(std::span<const PartyFacts> parties) {
  double squares = 0;
  for (const PartyFacts& party : parties) {
    const bool constant = party.labels && terms_.objective.intercept == glm::Intercept::kPenalised;
    if (party.labels) holder_.party = party.party;
    squares += party.row_norm * party.row_norm + (constant ? 1.0 : 0.0);
  }
  holder_.records = static_cast<std::size_t>(parties.front().records);
  holder_.noise = terms_.label_noise;
  order_ = std::make_shared<BatchOrder>(terms_.seed, holder_.records, batch_size(holder_.records));
  const double steepest = glm::curvature_bound(terms_.objective.task) * squares + terms_.objective.l2;
  return Iterate{.seed = static_cast<std::int64_t>(terms_.seed),
                 .batch = static_cast<std::int64_t>(order_->at(0)),
                 .length = settings_.step > 0 ? settings_.step : 1 / std::max(steepest, 1e-300),
                 .labels = {},
                 .derivative = {}};
}

std::size_t VerticalSgd::largest_reply(std::span<const PartyFacts> parties) const {
  return sizeof(double) * static_cast<std::size_t>(parties.front().records);
}

Forecast VerticalSgd::forecast(std::span<const PartyFacts> parties, std::span<const std::vector<double>>) const {
  Forecast forecast{.rounds = most_rounds()};
  const auto rounds = static_cast<double>(forecast.rounds), records = static_cast<double>(holder_.records);
  const double of_batches = 8.0 * settings_.iterations * records / static_cast<double>(order_->count());
  for (const PartyFacts& party : parties)
    forecast.parties.push_back({.up = rounds * kReply + of_batches + (party.labels ? 8 * records : 0),
                                .down = rounds * kTask + of_batches,
                                .messages = forecast.rounds});
  return forecast;
}

// ---- what is asked and answered ----

VerticalSgd::Task VerticalSgd::ask(const Iterate& iterate) const {
  return {.step = iterate.step, .seed = iterate.seed, .length = iterate.length, .derivative = iterate.derivative};
}

void VerticalSgd::prepare(const Task& task, const ColumnShare& share, Memory& memory) const {
  if (memory.batches) return;
  const auto records = static_cast<std::size_t>(share.features.rows());
  memory.order = std::make_shared<BatchOrder>(static_cast<std::uint64_t>(task.seed), records, batch_size(records));
  std::vector<ColumnShare> batches;
  for (std::size_t b = 0; b < memory.order->count(); ++b) {
    const std::span<const std::uint32_t> chosen = memory.order->records(b);
    const std::vector<linalg::Index> rows(chosen.begin(), chosen.end());
    batches.push_back({share.features.select_rows(rows), {}, share.constant});
  }
  memory.batches = std::make_shared<const std::vector<ColumnShare>>(std::move(batches));
}

std::vector<double> VerticalSgd::moved(const Task& task, const ColumnShare& batch, std::vector<double> weights) const {
  const double l2 = terms_.objective.l2, records = static_cast<double>(batch.features.rows());
  const double length = task.length / (1 + task.length * l2 * static_cast<double>(task.step - 1));
  std::vector<double> gradient(static_cast<std::size_t>(batch.features.cols()));
  batch.features.multiply_transposed(task.derivative, gradient);
  if (batch.constant) gradient.push_back(std::accumulate(task.derivative.begin(), task.derivative.end(), 0.0));
  linalg::scale(1 - length * l2, weights);
  linalg::axpy(-length / records, gradient, weights);
  return weights;
}

Result<privacy::Released<VerticalSgd::Reply>> VerticalSgd::answer(const Task& task, const ColumnShare& share,
                                                                  Memory& memory, privacy::Gate& gate) const {
  if (memory.ended) return fail(bad_input({.field = "task"}, "comes after the last batch"));
  if (task.step < 0) {
    if (memory.answered > 0) return fail(bad_input({.field = "task"}, "asks for labels after the first batch"));
    PARLEY_CHECK(reserve(share, memory, gate));
    PARLEY_TRY(const auto labels, send_labels(share, terms_.public_labels, memory.asked_for_labels, gate));
    return privacy::derive([](const std::vector<double>& known) { return Reply{known}; }, labels);
  }
  if (task.step != memory.answered || task.step > settings_.iterations)
    return fail(bad_input({.field = "task"}, "asks for another batch than the next one"));
  if (!(task.length > 0)) return fail(bad_input({.field = "task"}, "must have a step length above 0"));
  prepare(task, share, memory);
  std::vector<double> weights = memory.weights;
  weights.resize(columns_of(share));
  if (task.step > 0) {
    const ColumnShare& before = (*memory.batches)[memory.order->at(task.step - 1)];
    if (task.derivative.size() != static_cast<std::size_t>(before.features.rows()))
      return fail(bad_input({.field = "task"}, "must have one derivative per record of the batch before"));
    weights = moved(task, before, std::move(weights));
  }
  const bool last = task.step == settings_.iterations;
  auto reply = gate.unprotected(
      privacy::Private(last ? Reply{} : Reply{margins_of((*memory.batches)[memory.order->at(task.step)], weights)}));
  if (!reply) return reply;
  memory.weights = std::move(weights);
  memory.ended = last;
  memory.answered += last ? 0 : 1;
  return reply;
}

Result<void> VerticalSgd::check(const Iterate& iterate, int party, const Reply& reply) const {
  if (iterate.step < 0) return check_labels(holder_, terms_.objective.task, party, reply.values);
  const bool last = iterate.step == settings_.iterations;
  if (reply.values.size() != (last ? 0 : order_->records(static_cast<std::size_t>(iterate.batch)).size()))
    return fail(failed("it does not have one value per record of the batch"));
  return {};
}

Result<VerticalSgd::Iterate> VerticalSgd::absorb(Iterate iterate, const rounds::Answers<Reply>& answers) const {
  if (answers.size() != static_cast<std::size_t>(terms_.parties))
    return fail(failed("a party is missing: every party holds a part of every record"));
  for (const auto& answer : answers) PARLEY_CHECK(check(iterate, answer.party, answer.reply));
  if (iterate.step < 0) {
    std::vector<const std::vector<double>*> sent;
    for (const auto& answer : answers) sent.push_back(&answer.reply.values);
    PARLEY_TRY(iterate.labels, the_labels(sent));
    iterate.step = 0;
    return iterate;
  }
  if (iterate.step == settings_.iterations) {
    iterate.told = true;
    return iterate;
  }
  const std::span<const std::uint32_t> records = order_->records(static_cast<std::size_t>(iterate.batch));
  std::vector<double> margins(records.size(), 0.0), labels;
  labels.reserve(records.size());
  for (const std::uint32_t record : records) labels.push_back(iterate.labels[record]);
  for (const auto& answer : answers) linalg::axpy(1.0, answer.reply.values, margins);
  iterate.derivative.resize(records.size());
  glm::unbiased::loss_derivatives(terms_.objective.task, margins, labels, iterate.derivative);
  ++iterate.step;
  iterate.batch = static_cast<std::int64_t>(order_->at(iterate.step));
  return iterate;
}

std::vector<Leaving> VerticalSgd::leaves(const RunTerms& terms, const VerticalSgdSettings& settings) {
  return {labels_of({terms.label_noise, terms.is_private}),
          {"what this party's columns add to the score of each person of a batch, one number for each",
           Leaving::Of::kPerson, "the coordinator", each_round(settings.iterations), kUnprotected}};
}

}  // namespace parley::algorithms
