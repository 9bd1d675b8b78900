#include "parley/algorithms/horizontal/federated_newton.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "parley/algorithms/horizontal/local_steps.h"
#include "parley/algorithms/horizontal/newton_direction.h"
#include "parley/algorithms/parts/check.h"
#include "parley/algorithms/parts/total.h"
#include "parley/core/text.h"
#include "parley/linalg/vectors.h"

namespace parley::algorithms {

namespace {

constexpr Refusal kRefused[] = {{Part::kL1Radius, "newton takes penalties (l1, l2), not constraints"},
                                {Part::kSparsity, "newton takes penalties (l1, l2), not constraints"}};

constexpr double kSufficient = 1e-4;  // share of the promised decrease
constexpr double kSmallestStep = 0x1p-40;
constexpr int kMostExponent = 1000;

int exponent_above(double size) {
  return size > 0 ? std::clamp(static_cast<int>(std::ceil(std::log2(size))), -kMostExponent, kMostExponent) : 0;
}

// How large what one record adds can be.
struct Unit {
  int row = 0, label = 0;
  [[nodiscard]] double loss() const { return std::ldexp(1.0, 2 * label); }
  [[nodiscard]] double gradient() const { return std::ldexp(1.0, label + row); }
  [[nodiscard]] double curvature() const { return std::ldexp(1.0, 2 * row); }
};

// What an answer follows from besides the party's data, the job and the keys.
std::string bytes_of(const FederatedNewton::Task& task) {
  const std::int64_t head[] = {task.phase, task.round, task.row_exponent, task.label_exponent,
                               static_cast<std::int64_t>(task.parameters.size())};
  std::string bytes(reinterpret_cast<const char*>(head), sizeof head);
  for (const std::vector<double>* numbers : {&task.parameters, &task.direction})
    bytes.append(reinterpret_cast<const char*>(numbers->data()), numbers->size() * sizeof(double));
  return bytes;
}

}  // namespace

FederatedNewtonSettings FederatedNewtonSettings::read(Toml& settings) {
  FederatedNewtonSettings newton;
  settings.integer("iterations", newton.iterations, at_least(1));
  settings.number("tolerance", newton.tolerance, at_least(0));
  settings.boolean("masks", newton.masks);
  settings.integer("largest_matrix", newton.largest_matrix, {.low = 0, .high = 20000});
  settings.integer("products", newton.products, at_least(1));
  return newton;
}

Result<FederatedNewton> FederatedNewton::make(const RunTerms& terms, const FederatedNewtonSettings& settings) {
  PARLEY_CHECK(algorithms::check(terms.objective, kRefused));
  PARLEY_CHECK(require(terms.parties <= kMostInTotal, "party", "are too many for one total", terms.parties));
  return FederatedNewton(terms, settings);
}

Result<void> FederatedNewton::check_private(const RunTerms&, const FederatedNewtonSettings&) {
  return fail(bad_input({.field = "privacy"}, "newton has no private form"));
}

Result<void> FederatedNewton::reserve(const RowShare&, Memory&, privacy::Gate&) const {
  return {};
}

std::int64_t FederatedNewton::most_rounds() const {
  return 1 + std::int64_t{settings_.iterations} * (1 + settings_.products);
}

std::size_t FederatedNewton::words_of(int phase, std::size_t parameters) const {
  const std::size_t fine = static_cast<std::size_t>(Words::kFine);
  if (phase == kProduct) return fine * parameters;
  return fine * (1 + parameters) + (with_matrix(parameters) ? parameters * (parameters + 1) / 2 : 0);
}

std::size_t FederatedNewton::largest_reply(std::span<const PartyFacts> parties) const {
  const std::size_t parameters = parameter_count(terms_.objective, parties.front().columns);
  return 128 + sizeof(std::int64_t) * words_of(kLook, parameters);
}

Result<FederatedNewton::Iterate> FederatedNewton::begin(std::span<const PartyFacts> parties) {
  if (parties.size() != static_cast<std::size_t>(terms_.parties))
    return fail(failed("newton needs all parties of the job: a total without some of them is of another table"));
  double row = 0;
  records_ = 0;
  for (const PartyFacts& party : parties) {
    row = std::max(row, party.row_norm);
    records_ += static_cast<double>(party.records);
  }
  row_exponent_ = exponent_above(std::hypot(row, terms_.objective.intercept == glm::Intercept::kNone ? 0.0 : 1.0));
  Iterate iterate;
  iterate.parameters.assign(parameter_count(terms_.objective, parties.front().columns), 0.0);
  PARLEY_CHECK(require(!terms_.inference || with_matrix(iterate.parameters.size()), "model.inference",
                       "needs the whole matrix of curvatures: raise algorithm.largest_matrix to the parameters",
                       iterate.parameters.size()));
  return iterate;
}

// ---- at a party ----

Result<privacy::Released<FederatedNewton::Reply>> FederatedNewton::tell_first(const RowShare& share, Memory& memory,
                                                                              privacy::Gate& gate) const {
  const bool numbers = glm::has_real_labels(terms_.objective.task);
  PARLEY_TRY(const auto exponent,
             gate.unprotected(privacy::Private(numbers ? exponent_above(linalg::linf_norm(share.labels)) : 0)));
  if (!masked()) return privacy::derive([](const int& label) { return Reply{.label_exponent = label}; }, exponent);
  PARLEY_TRY(const auto key, make_mask_key(memory.masks, gate, {share.peers.get(), terms_.run}));
  return privacy::derive(
      [](const std::string& made, const int& label) {
        return Reply{made, label, {}};
      },
      key, exponent);
}

Result<std::vector<std::int64_t>> FederatedNewton::words(const Task& task, const NewtonSums& sums) const {
  const Unit unit{task.row_exponent, task.label_exponent};
  std::vector<std::int64_t> all;
  if (task.phase == kProduct) {
    // A product is as large as the curvature times the vector, which everyone knows.
    const double size = unit.curvature() * std::ldexp(1.0, exponent_above(linalg::l2_norm(task.direction)));
    PARLEY_CHECK(append_words(sums.curvature_product(task.direction), size, Words::kFine, terms_.parties, all));
    return all;
  }
  const double loss[] = {sums.loss()};
  PARLEY_CHECK(append_words(loss, unit.loss(), Words::kFine, terms_.parties, all));
  PARLEY_CHECK(append_words(sums.gradient(), unit.gradient(), Words::kFine, terms_.parties, all));
  if (with_matrix(task.parameters.size()))
    PARLEY_CHECK(append_words(sums.curvature(), unit.curvature(), Words::kCoarse, terms_.parties, all));
  return all;
}

Result<privacy::Released<FederatedNewton::Reply>> FederatedNewton::answer(const Task& task, const RowShare& share,
                                                                          Memory& memory, privacy::Gate& gate) const {
  if (task.phase == kKeys) return tell_first(share, memory, gate);
  const std::size_t parameters = parameter_count(terms_.objective, static_cast<std::size_t>(share.features.cols()));
  if (task.parameters.size() != parameters || task.direction.size() != (task.phase == kProduct ? parameters : 0) ||
      (task.phase != kLook && task.phase != kProduct) || std::abs(task.row_exponent) > kMostExponent ||
      std::abs(task.label_exponent) > kMostExponent)
    return fail(bad_input({.field = "task"}, "must have one number per parameter, and a direction for a product"));
  if (!memory.sums || !std::ranges::equal(memory.sums->parameters(), task.parameters))
    memory.sums = std::make_shared<const NewtonSums>(terms_.objective, share, task.parameters);
  PARLEY_TRY(auto counts, words(task, *memory.sums));
  privacy::Private sums(std::move(counts));
  if (!masked()) {
    PARLEY_TRY(const auto sent, gate.unprotected(std::move(sums)));
    return privacy::derive([](const std::vector<std::int64_t>& own) { return Reply{{}, 0, own}; }, sent);
  }
  const std::string told = std::to_string(parameters) + " parameters, run " + terms_.run;
  PARLEY_CHECK(
      agree_on_masks(memory.masks, {share.party, terms_.parties, task.keys, told, {share.peers.get(), terms_.run}}));
  PARLEY_TRY(auto mask, next_mask(memory.masks, task.round, words_of(task.phase, parameters), bytes_of(task)));
  PARLEY_TRY(const auto sent, gate.unprotected(std::move(sums), std::move(mask)));
  return privacy::derive([](const privacy::MaskedVector& own) { return Reply{{}, 0, own.words}; }, sent);
}

// ---- at the coordinator ----

FederatedNewton::Task FederatedNewton::ask(const Iterate& iterate) const {
  Task task{.phase = iterate.phase};
  if (iterate.phase == kKeys) return task;
  task.round = iterate.round;
  task.parameters = iterate.phase == kLook ? moved(iterate) : iterate.parameters;
  if (iterate.phase == kProduct) task.direction = iterate.probe;
  if (iterate.round == 0) task.keys = iterate.keys;
  task.row_exponent = row_exponent_;
  task.label_exponent = iterate.label_exponent;
  return task;
}

Result<void> FederatedNewton::check(const Iterate& iterate, int, const Reply& reply) const {
  if (iterate.phase == kKeys) {
    if (masked() != is_mask_key(reply.key) || (!masked() && !reply.key.empty()) || !reply.words.empty() ||
        std::abs(reply.label_exponent) > kMostExponent ||
        (!glm::has_real_labels(terms_.objective.task) && reply.label_exponent != 0))
      return fail(failed("it is not a key and the size of labels"));
    return {};
  }
  if (reply.words.size() != words_of(iterate.phase, iterate.parameters.size()) || !reply.key.empty())
    return fail(failed("it does not have as many sums as the task asks for"));
  return {};
}

Result<FederatedNewton::Total> FederatedNewton::total(const Iterate& iterate,
                                                      const rounds::Answers<Reply>& answers) const {
  const std::size_t parameters = iterate.parameters.size();
  std::vector<std::int64_t> sum(words_of(iterate.phase, parameters), 0);
  for (const auto& answer : answers) privacy::add_words(answer.reply.words, sum);
  const auto mean = [&](std::size_t from, std::size_t count, double unit, Words precision) {
    return numbers_of(std::span(sum).subspan(from, count), unit / records_, precision);
  };
  const Unit unit{row_exponent_, iterate.label_exponent};
  Total means;
  if (iterate.phase == kProduct) {
    means.product =
        mean(0, sum.size(), unit.curvature() * std::ldexp(1.0, exponent_above(linalg::l2_norm(iterate.probe))),
             Words::kFine);
    return means;
  }
  means.loss = mean(0, 2, unit.loss(), Words::kFine).front();
  means.gradient = mean(2, 2 * parameters, unit.gradient(), Words::kFine);
  const std::size_t rest = 2 + 2 * parameters;
  means.curvature = mean(rest, sum.size() - rest, unit.curvature(), Words::kCoarse);
  // A loss is not negative. What a party adds under a mask cannot be told from the others'.
  if (!(means.loss >= -1e-9 * unit.loss()))
    return fail(failed("the parties' total of the loss is negative: a party sent something else than its sums"));
  return means;
}

Result<FederatedNewton::Iterate> FederatedNewton::absorb(Iterate iterate, const rounds::Answers<Reply>& answers) const {
  if (answers.size() != static_cast<std::size_t>(terms_.parties))
    return fail(failed("a party is missing: a total without it is of another table"));
  for (const auto& answer : answers) PARLEY_CHECK(check(iterate, answer.party, answer.reply));
  if (iterate.phase == kKeys) {
    iterate.label_exponent = -kMostExponent;
    for (const auto& answer : answers) {
      if (masked()) iterate.keys.push_back(answer.reply.key);
      iterate.label_exponent = std::max(iterate.label_exponent, answer.reply.label_exponent);
    }
    iterate.phase = kLook;
    return iterate;
  }
  PARLEY_TRY(Total means, total(iterate, answers));
  ++iterate.round;
  if (iterate.phase == kProduct) {
    absorb_product(iterate, std::move(means.product));
  } else {
    look(iterate, std::move(means));
  }
  return iterate;
}

// u + t d; without H a coordinate stops at zero instead of changing its sign.
std::vector<double> FederatedNewton::moved(const Iterate& iterate) const {
  std::vector<double> to = iterate.parameters;
  if (iterate.step == 0) return to;
  linalg::axpy(iterate.step, iterate.direction, to);
  if (with_matrix(to.size()) || terms_.objective.l1 == 0) return to;
  const std::vector<double> slope = slopes(iterate);
  for (std::size_t j = 0; j < to.size(); ++j) {
    const double side = iterate.parameters[j] != 0 ? iterate.parameters[j] : -slope[j];
    if (penalised(j, to.size()) && to[j] * side <= 0) to[j] = 0;
  }
  return to;
}

void FederatedNewton::look(Iterate& iterate, Total total) const {
  ++iterate.looks;
  if (iterate.step > 0) {
    std::vector<double> tried = moved(iterate);
    const double before = iterate.loss + penalty(iterate.parameters), after = total.loss + penalty(tried);
    const double rounding = 1e-14 * (std::abs(before) + 1e-300);
    if (!(after <= before + kSufficient * promised(iterate) + rounding)) {
      iterate.step /= 2;
      if (iterate.step < kSmallestStep || iterate.looks >= settings_.iterations) iterate.phase = kDone;
      return;
    }
    iterate.parameters = std::move(tried);
    if (iterate.step < 0.25) iterate.damping = std::min(1.0, 8 * iterate.damping);
    if (iterate.step == 1) iterate.damping /= 4;
  }
  iterate.loss = total.loss;
  iterate.gradient = std::move(total.gradient);
  iterate.violation = violation(iterate);
  if (iterate.looks == 1) {
    iterate.first_violation = iterate.violation;
    iterate.first_loss = iterate.loss;
    if (terms_.objective.intercept != glm::Intercept::kNone) iterate.first_slope = iterate.gradient.back();
  }
  if (terms_.inference) iterate.curvature = total.curvature;
  if (converged(iterate) || iterate.looks >= settings_.iterations) {
    iterate.phase = kDone;
    return;
  }
  aim(iterate, std::move(total.curvature));
}

void FederatedNewton::aim(Iterate& iterate, std::vector<double> curvature) const {
  const std::size_t size = iterate.parameters.size();
  if (with_matrix(size)) {
    NewtonModel model{curvature,
                      iterate.gradient,
                      iterate.parameters,
                      glm::penalty_of(terms_.objective),
                      std::vector<char>(size),
                      1e-3 * settings_.tolerance * iterate.first_violation};
    for (std::size_t j = 0; j < size; ++j) model.penalised[j] = penalised(j, size) ? 1 : 0;
    iterate.direction = newton_direction(model);
    try_direction(iterate);
    return;
  }
  iterate.residual = slopes(iterate);
  linalg::scale(-1, iterate.residual);
  iterate.probe = iterate.residual;
  iterate.squares = linalg::squared_norm(iterate.residual);
  const double forcing = std::min(0.1, std::sqrt(iterate.violation / iterate.first_violation));
  iterate.enough = forcing * forcing * iterate.squares;
  iterate.direction.assign(size, 0.0);
  iterate.products = 0;
  iterate.phase = kProduct;
}

// A step of conjugate gradients for H_FF d_F = -slopes, F the coordinates that are free.
void FederatedNewton::absorb_product(Iterate& iterate, std::vector<double> product) const {
  const std::vector<double> slope = slopes(iterate);
  // Along directions that are flat but for the penalty a step is long, and not endless. What is added falls with the
  // violation, so that it costs nothing near the optimum.
  const double damping =
      iterate.damping * Unit{row_exponent_}.curvature() * std::min(1.0, iterate.violation / iterate.first_violation);
  for (std::size_t j = 0; j < product.size(); ++j) {
    product[j] += (damping + (penalised(j, product.size()) ? terms_.objective.l2 : 0)) * iterate.probe[j];
    if (iterate.parameters[j] == 0 && slope[j] == 0) product[j] = 0;
  }
  ++iterate.products;
  const double curvature = linalg::dot(iterate.probe, product);
  if (curvature > 0) {
    const double length = iterate.squares / curvature, before = iterate.squares;
    linalg::axpy(length, iterate.probe, iterate.direction);
    linalg::axpy(-length, product, iterate.residual);
    iterate.squares = linalg::squared_norm(iterate.residual);
    linalg::scale(iterate.squares / before, iterate.probe);
    linalg::axpy(1, iterate.residual, iterate.probe);
  } else if (iterate.products == 1) {
    iterate.direction = iterate.residual;  // no curvature at all: downhill
  }
  if (curvature > 0 && iterate.squares > iterate.enough && iterate.products < settings_.products) return;
  iterate.residual.clear();
  iterate.probe.clear();
  try_direction(iterate);
}

// F's linear part and the penalty promise a decrease, at once or with a shorter step. Without H a sum of products that
// stops at zero may promise none: then coordinates that would go uphill stay.
void FederatedNewton::try_direction(Iterate& iterate) const {
  iterate.phase = kLook;
  const std::vector<double> slope = slopes(iterate);
  for (int attempt = 0; attempt < 2; ++attempt) {
    for (iterate.step = 1; iterate.step >= kSmallestStep; iterate.step /= 2)
      if (promised(iterate) < 0) return;
    for (std::size_t j = 0; j < slope.size(); ++j)
      if (iterate.direction[j] * slope[j] > 0) iterate.direction[j] = 0;
  }
  iterate.phase = kDone;
}

// ---- the objective ----

bool FederatedNewton::penalised(std::size_t coordinate, std::size_t parameters) const {
  const std::size_t width = parameters / static_cast<std::size_t>(terms_.objective.classes);
  return terms_.objective.intercept != glm::Intercept::kFree || coordinate % width != width - 1;
}

double FederatedNewton::penalty(std::span<const double> parameters) const {
  const glm::Penalty each = glm::penalty_of(terms_.objective);
  double sum = 0;
  for (std::size_t j = 0; j < parameters.size(); ++j)
    if (penalised(j, parameters.size())) sum += each.value(parameters[j]);
  return sum;
}

// g'(v - u) + penalty(v) - penalty(u) at v, the point that is tried; differences of squares without cancellation.
double FederatedNewton::promised(const Iterate& iterate) const {
  const std::vector<double> to = moved(iterate);
  double sum = 0;
  for (std::size_t j = 0; j < to.size(); ++j) {
    const double from = iterate.parameters[j], by = to[j] - from;
    sum += iterate.gradient[j] * by;
    if (penalised(j, to.size()))
      sum += terms_.objective.l2 * by * (from + by / 2) + terms_.objective.l1 * (std::abs(to[j]) - std::abs(from));
  }
  return sum;
}

std::vector<double> FederatedNewton::slopes(const Iterate& iterate) const {
  const glm::Penalty each = glm::penalty_of(terms_.objective);
  std::vector<double> slope = iterate.gradient;
  for (std::size_t j = 0; j < slope.size(); ++j) {
    if (!penalised(j, slope.size())) continue;
    const double at = iterate.parameters[j];
    slope[j] =
        at == 0 ? linalg::soft_threshold(slope[j], each.l1) : slope[j] + each.l2 * at + std::copysign(each.l1, at);
  }
  return slope;
}

double FederatedNewton::violation(const Iterate& iterate) const {
  return linalg::linf_norm(slopes(iterate));
}

bool FederatedNewton::converged(const Iterate& iterate) const {
  return iterate.looks > 0 && iterate.violation <= settings_.tolerance * iterate.first_violation;
}

std::optional<double> FederatedNewton::objective(const Iterate& iterate) const {
  if (iterate.looks == 0) return std::nullopt;
  return iterate.loss + penalty(iterate.parameters);
}

std::vector<Leaving> FederatedNewton::leaves(const RunTerms& terms, const FederatedNewtonSettings& settings) {
  const bool masked = settings.masks && terms.parties > 1;
  const std::string to =
      masked ? "nobody by itself: the coordinator reads the total over all parties" : "the coordinator";
  const std::string protection =
      masked
          ? "a mask that cancels in the sum over all parties; no noise, so totals of few people, and with two parties "
            "the other's part, say much about them"
          : kUnprotected;
  std::vector<Leaving> all;
  if (masked) all.push_back(key_of_masks());
  if (terms.objective.task == glm::Task::kLinear)
    all.push_back({"a power of two above the largest label", Leaving::Of::kTotal,
                   "the coordinator and the other parties", "once", kUnprotected});
  all.push_back(
      {"the sums over this party's records of loss and gradient, one number for each weight, and of curvature, "
       "one for each pair of weights (or its products)",
       Leaving::Of::kTotal, to,
       fmt::format("for each of at most {} that are tried", counted(settings.iterations, "model")), protection});
  return all;
}

}  // namespace parley::algorithms
