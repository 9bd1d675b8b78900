#include "parley/algorithms/vertical/admm_sharing.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "parley/algorithms/parts/check.h"
#include "parley/algorithms/vertical/private_sharing.h"
#include "parley/algorithms/vertical/ridge_factor.h"
#include "parley/glm/unbiased.h"
#include "parley/linalg/vectors.h"

namespace parley::algorithms {

namespace {

constexpr Refusal kRefused[] = {
    {Part::kSoftmax, "admm-sharing takes losses of one margin: linear, logistic, squared-hinge"},
    {Part::kNoL2, "admm-sharing needs an l2 penalty above 0"},
    {Part::kL1, "admm-sharing takes an l2 penalty only"},
    {Part::kL1Radius, "admm-sharing takes an l2 penalty and no constraint"},
    {Part::kSparsity, "admm-sharing takes an l2 penalty and no constraint"},
    {Part::kFreeIntercept, "admm-sharing penalises every weight; use \"penalised\" or none"}};

// Margins of a fitted classifier lie where the loss is flat: a tenth of the largest curvature.
double typical_curvature(glm::Task task) {
  return task == glm::Task::kLinear ? glm::curvature_bound(task) : 0.1 * glm::curvature_bound(task);
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> difference(a);
  linalg::axpy(-1.0, b, difference);
  return linalg::l2_norm(difference);
}

}  // namespace

AdmmSettings AdmmSettings::read(Toml& settings) {
  AdmmSettings admm;
  settings.integer("iterations", admm.rounds, at_least(1));
  settings.number("rho", admm.rho, above(0));
  settings.number("tolerance", admm.tolerance, at_least(0));
  settings.number("value_bound", admm.value_bound, above(0));
  return admm;
}

Result<AdmmSharing> AdmmSharing::make(const RunTerms& terms, AdmmSettings settings) {
  settings.release_parts = terms.is_private && !terms.keep_parts;
  settings.public_labels = terms.public_labels;
  settings.label_noise = terms.label_noise;
  return make(terms.objective, settings, terms.parties);
}

Result<AdmmSharing> AdmmSharing::make(const glm::Objective& objective, const AdmmSettings& settings, int parties) {
  PARLEY_CHECK(algorithms::check(objective, kRefused));
  PARLEY_CHECK(require(parties >= 1, "party", "admm-sharing needs at least one party", parties));
  PARLEY_CHECK(require(settings.rounds >= 1, "algorithm.iterations", "must be at least 1", settings.rounds));
  PARLEY_CHECK(require(is_not_negative(settings.rho), "algorithm.rho", "must be a number >= 0", settings.rho));
  PARLEY_CHECK(require(settings.tolerance >= 0, "algorithm.tolerance", "must be a number >= 0", settings.tolerance));
  if (settings.label_noise) PARLEY_CHECK(LabelRelease::check(objective.task, *settings.label_noise));
  AdmmSettings chosen = settings;
  if (chosen.rho == 0) chosen.rho = parties * typical_curvature(objective.task);
  return AdmmSharing(objective, chosen, parties);
}

Result<AdmmSharing::Iterate> AdmmSharing::begin(std::span<const PartyFacts> parties) {
  Expected expected{
      .labels = {.records = static_cast<std::size_t>(parties.front().records), .noise = settings_.label_noise}};
  for (const PartyFacts& party : parties) {
    const bool constant = party.labels && objective_.intercept == glm::Intercept::kPenalised;
    if (party.labels) expected.labels.party = party.party;
    expected.row_norms.push_back(std::hypot(party.row_norm, constant ? 1.0 : 0.0));
    expected.noise = expected.noise || !party.plan.events.empty();
    if (!settings_.release_parts) continue;
    // Its part, then as many values as its budget holds.
    const std::int64_t paid = party.plan.events.size() >= 2 ? party.plan.events.back().count : 0;
    if (paid < 1) return fail(failed("a party does not say what a run that releases its part would charge it"));
    settings_.rounds = static_cast<int>(std::min<std::int64_t>(settings_.rounds, paid));
  }
  expect(std::move(expected));
  return start();
}

Forecast AdmmSharing::forecast(std::span<const PartyFacts> parties, std::span<const std::vector<double>>) const {
  const double counts = 4, vector = 8 * static_cast<double>(parties.front().records);
  Forecast forecast{.rounds = most_rounds(), .one_value_per_record = true};
  const auto all = static_cast<double>(forecast.rounds), rounds = static_cast<double>(settings_.rounds);
  for (const PartyFacts& party : parties)
    forecast.parties.push_back(
        {.up = all * counts + rounds * vector + (party.labels ? vector : 0) + (settings_.release_parts ? 8 : 0),
         .down = all * counts + rounds * vector,
         .messages = forecast.rounds});
  return forecast;
}

AdmmSharing::Iterate AdmmSharing::start(std::vector<double> labels) const {
  Iterate iterate;
  if (labels.empty()) return iterate;
  iterate.round = 1;
  iterate.mean.assign(labels.size(), 0.0);
  iterate.consensus = iterate.dual = iterate.mean;
  iterate.shared.assign(static_cast<std::size_t>(parties_), iterate.mean);
  iterate.labels = std::move(labels);
  iterate.change = 1;
  return iterate;
}

// Residual and rounding are below what matters beside the labels.
bool AdmmSharing::small_absolutely(const Iterate& iterate) const {
  constexpr double kBesideLabels = 1e4;
  constexpr double kRounding = 0x1p-52;
  double longest = 0;
  for (const std::vector<double>& values : iterate.shared) longest = std::max(longest, linalg::l2_norm(values));
  const double residual = iterate.change * linalg::l2_norm(iterate.consensus);
  return residual + kRounding * longest <= kBesideLabels * settings_.tolerance * linalg::l2_norm(iterate.labels);
}

bool AdmmSharing::bounded(const Iterate& iterate) const {
  if (expected_.noise || expected_.row_norms.empty()) return true;
  constexpr double kRoom = 10;
  const double at_zero =
      glm::unbiased::mean_loss(objective_.task, std::vector<double>(iterate.labels.size(), 0.0), iterate.labels);
  const double weights = std::sqrt(2 * at_zero / objective_.l2);
  for (std::size_t m = 0; m < iterate.shared.size(); ++m) {
    const double most = kRoom * expected_.row_norms[m] * weights;
    for (const double value : iterate.shared[m])
      if (!(std::abs(value) <= most)) return false;
  }
  return true;
}

Result<void> AdmmSharing::check(const Iterate& iterate, int party, const Reply& reply) const {
  if (iterate.round == 0) return check_labels(expected_.labels, objective_.task, party, reply.values);
  if (fitted(iterate))
    return reply.values.size() == 1 ? Result<void>{}
                                    : fail(failed("it does not say in one number that the party released its part"));
  if (reply.values.size() != iterate.labels.size()) return fail(failed("it does not have one value per record"));
  if (expected_.noise) return {};
  // Twice: the solution of an ill-conditioned system is not exact.
  if (!(linalg::l2_norm(reply.values) <= 2 * linalg::l2_norm(ask(iterate, party).target)))
    return fail(failed("its values are larger than any columns could give for this task"));
  return {};
}

// c_m = s_m - s + z - u
AdmmSharing::Task AdmmSharing::ask(const Iterate& iterate, int party) const {
  if (iterate.round == 0 || fitted(iterate)) return {};
  Task task{iterate.shared[static_cast<std::size_t>(party)]};
  for (std::size_t i = 0; i < task.target.size(); ++i)
    task.target[i] += iterate.consensus[i] - iterate.mean[i] - iterate.dual[i];
  return task;
}

double AdmmSharing::ridge(const ColumnShare& share) const {
  return objective_.l2 * static_cast<double>(share.features.rows()) / settings_.rho;
}

Result<void> AdmmSharing::check_private(privacy::Neighbours neighbours) const {
  if (neighbours != privacy::Neighbours::kReplaceOne)
    return fail(bad_input({.field = "privacy.neighbours"},
                          "one value per record travels, so the number of records is public: replace-one only"));
  return labels_may_leave(settings_.public_labels);
}

Result<void> AdmmSharing::check_private(const RunTerms& terms, const AdmmSettings& settings) {
  PARLEY_TRY(const AdmmSharing algorithm, make(terms, settings));
  return algorithm.check_private(terms.neighbours);
}

Result<void> AdmmSharing::reserve(const ColumnShare& share, Memory& memory, privacy::Gate& gate) const {
  if (share.privacy == nullptr) return reserve_labels(share, memory.asked_for_labels, gate);
  if (memory.paid) return {};
  if (share.holds_labels()) PARLEY_CHECK(labels_may_leave(settings_.public_labels));
  PARLEY_TRY(memory.paid, PrivateSharing::reserve(share, {settings_, objective_.task, ridge(share), parties_}, gate));
  return {};
}

Result<privacy::Released<AdmmSharing::Reply>> AdmmSharing::answer(const Task& task, const ColumnShare& share,
                                                                  Memory& memory, privacy::Gate& gate) const {
  if (task.target.empty()) return memory.weights.empty() ? labels(share, memory, gate) : part(share, memory, gate);
  if (memory.released) return fail(bad_input({.field = "task"}, "comes after the part was released"));
  const auto records = static_cast<std::size_t>(share.features.rows());
  if (task.target.size() != records) return fail(bad_input({.field = "task"}, "must have one value per record"));
  if (!memory.factor) {
    PARLEY_TRY(RidgeFactor factor, RidgeFactor::make(share, ridge(share)));
    memory.factor = std::make_shared<const RidgeFactor>(std::move(factor));
  }
  if (share.privacy == nullptr) {
    // Every answer is n equations in the party's columns.
    if (memory.targets >= settings_.rounds)
      return fail(bad_input({.field = "task"}, "is one more than the job's iterations"));
    ++memory.targets;
    memory.weights = memory.factor->solve(share, task.target);
    return gate.unprotected(privacy::Private(Reply{margins_of(share, memory.weights)}));
  }
  PARLEY_CHECK(reserve(share, memory, gate));
  std::vector<double> weights = memory.factor->solve(share, memory.paid->clipped_target(task.target));
  PARLEY_TRY(const auto values, memory.paid->release(privacy::Private(margins_of(share, weights)), gate));
  memory.weights = std::move(weights);  // an answer that fails leaves them as they were
  return privacy::derive([](const std::vector<double>& noisy) { return Reply{noisy}; }, values);
}

namespace {

// FNV-1a of the numbers' bytes. A site notices by it when one round would release twice (ledger/resuming.md).
double digest(const std::vector<double>& numbers) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const double number : numbers)
    for (std::uint64_t bits = std::bit_cast<std::uint64_t>(number), byte = 0; byte < 8; ++byte, bits >>= 8)
      hash = (hash ^ (bits & 0xff)) * 0x100000001b3;
  return static_cast<double>(hash >> 12);
}

}  // namespace

// The weights of the last answer. Their target was clipped by a public bound, so the theorem holds for them.
Result<privacy::Released<AdmmSharing::Reply>> AdmmSharing::part(const ColumnShare& share, Memory& memory,
                                                                privacy::Gate& gate) const {
  if (share.privacy == nullptr || !settings_.release_parts || memory.released)
    return fail(bad_input({.field = "task"}, "asks for a part that this run does not release"));
  PARLEY_CHECK(reserve(share, memory, gate));
  PARLEY_TRY(const auto released, memory.paid->release_part(privacy::Private(memory.weights), gate));
  memory.weights = released.value();
  memory.released = true;
  return privacy::derive([](const std::vector<double>& weights) { return Reply{{digest(weights)}}; }, released);
}

Result<privacy::Released<AdmmSharing::Reply>> AdmmSharing::labels(const ColumnShare& share, Memory& memory,
                                                                  privacy::Gate& gate) const {
  if (memory.targets > 0 || !memory.weights.empty())
    return fail(bad_input({.field = "task"}, "must have one value per record"));
  if (share.noisy_labels) PARLEY_CHECK(reserve(share, memory, gate));
  PARLEY_TRY(const auto labels, send_labels(share, settings_.public_labels, memory.asked_for_labels, gate));
  return privacy::derive([](const std::vector<double>& known) { return Reply{known}; }, labels);
}

Result<AdmmSharing::Iterate> AdmmSharing::with_labels(const rounds::Answers<Reply>& answers) const {
  std::vector<const std::vector<double>*> sent;
  for (const auto& answer : answers) sent.push_back(&answer.reply.values);
  PARLEY_TRY(std::vector<double> labels, the_labels(sent));
  return start(std::move(labels));
}

Result<AdmmSharing::Iterate> AdmmSharing::with_parts(Iterate iterate, const rounds::Answers<Reply>& answers) const {
  if (answers.size() != static_cast<std::size_t>(parties_))
    return fail(failed("a party is missing: every party holds a part of the model"));
  for (const auto& answer : answers)
    if (answer.reply.values.size() != 1) return fail(bad_input({.field = "reply"}, "must have one number for a part"));
  iterate.released = true;
  return iterate;
}

Result<AdmmSharing::Iterate> AdmmSharing::absorb(Iterate iterate, const rounds::Answers<Reply>& answers) const {
  if (iterate.round == 0) return with_labels(answers);
  if (fitted(iterate)) return with_parts(std::move(iterate), answers);
  const std::size_t records = iterate.labels.size();
  const auto parties = static_cast<double>(parties_);
  if (answers.size() != static_cast<std::size_t>(parties_))
    return fail(failed("a party is missing: every party holds a part of every record"));
  double change = 0;
  std::fill(iterate.mean.begin(), iterate.mean.end(), 0.0);
  for (const auto& answer : answers) {
    if (answer.reply.values.size() != records) return fail(failed("a reply does not have one value per record"));
    std::vector<double>& kept = iterate.shared[static_cast<std::size_t>(answer.party)];
    change = std::max(change, distance(answer.reply.values, kept));
    kept = answer.reply.values;
    linalg::axpy(1 / parties, kept, iterate.mean);
  }
  const std::vector<double> before = iterate.consensus;
  glm::with_loss(objective_.task, [&](auto loss) {
    for (std::size_t i = 0; i < records; ++i) {
      const double center = parties * (iterate.mean[i] + iterate.dual[i]);
      iterate.consensus[i] = glm::unbiased::prox(loss, parties / settings_.rho, center, iterate.labels[i]) / parties;
    }
  });
  for (std::size_t i = 0; i < records; ++i) iterate.dual[i] += iterate.mean[i] - iterate.consensus[i];
  change = std::max({change, distance(iterate.consensus, before), distance(iterate.mean, iterate.consensus)});
  iterate.change = change / std::max(1e-300, linalg::l2_norm(iterate.consensus));
  ++iterate.round;
  return iterate;
}

}  // namespace parley::algorithms
