#include "parley/algorithms/vertical/admm_sharing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "parley/algorithms/parts/check.h"
#include "parley/algorithms/vertical/label_release.h"
#include "parley/core/text.h"
#include "parley/glm/unbiased.h"
#include "parley/linalg/vectors.h"

namespace parley::algorithms {

namespace {

using Update = AdmmSettings::Update;
using Order = AdmmSettings::Order;

constexpr Refusal kRefused[] = {
    {Part::kL1Radius, "admm-sharing takes penalties (l1, l2) and a box, not an l1 ball"},
    {Part::kBox, kTaken},
    {Part::kSparsity, "admm-sharing takes penalties (l1, l2) and a box, not a number of nonzeros"},
    {Part::kFreeIntercept, "admm-sharing penalises every weight; use \"penalised\" or none"}};

constexpr Refusal kRefusedPrivately[] = {
    {Part::kSoftmax, "a private admm-sharing takes losses of one margin: linear, logistic, squared-hinge"},
    {Part::kNoL2, "a private admm-sharing needs an l2 penalty above 0"},
    {Part::kL1, "a private admm-sharing takes an l2 penalty only: no bound is proved for others"},
    {Part::kBox, "a private admm-sharing takes an l2 penalty only: no bound is proved for a box"}};

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

// ---- what it takes ----

Result<AdmmSharing> AdmmSharing::make(const RunTerms& terms, AdmmSettings settings) {
  settings.release_parts = terms.is_private && !terms.keep_parts;
  settings.public_labels = terms.public_labels;
  settings.label_noise = terms.label_noise;
  // Of a private run the noise depends on it before the parties know of each other.
  if (terms.is_private && settings.rho == 0) settings.rho = terms.parties * typical_curvature(terms.objective.task);
  PARLEY_TRY(AdmmSharing made, make(terms.objective, settings, terms.parties));
  PARLEY_CHECK(require(!made.masked() || terms.is_private, "algorithm.sums",
                       "hides values of a private run; without [privacy] nothing is claimed of them", "masked"));
  made.run_ = terms.run;
  return made;
}

Result<AdmmSharing> AdmmSharing::make(const glm::Objective& objective, const AdmmSettings& settings, int parties) {
  PARLEY_CHECK(algorithms::check(objective, kRefused));
  PARLEY_CHECK(require(parties >= 1, "party", "admm-sharing needs at least one party", parties));
  PARLEY_CHECK(require(settings.rounds >= 1, "algorithm.iterations", "must be at least 1", settings.rounds));
  PARLEY_CHECK(require(is_not_negative(settings.rho), "algorithm.rho", "must be a number >= 0", settings.rho));
  PARLEY_CHECK(require(settings.tolerance >= 0, "algorithm.tolerance", "must be a number >= 0", settings.tolerance));
  const bool balanced = settings.rho_rule == AdmmSettings::Rho::kBalanced;
  PARLEY_CHECK(require(!balanced || settings.update == Update::kAveraged, "algorithm.rho",
                       "the paper's update is stable above a bound only, which balancing does not respect",
                       "balanced"));
  PARLEY_CHECK(require(settings.update == Update::kAveraged || settings.order == Order::kParallel, "algorithm.update",
                       "is about parties in parallel; gauss-seidel has one form", "paper"));
  const bool masked = settings.sums == AdmmSettings::Sums::kMasked;
  PARLEY_CHECK(require(!masked || parts_of_residual(settings, parties) == parties, "algorithm.sums",
                       "needs the averaged update in parallel: the others tell each party the values of the rest",
                       "masked"));
  PARLEY_CHECK(require(!masked || parties >= 2, "algorithm.sums", "of one party is its own values", "masked"));
  if (settings.label_noise) PARLEY_CHECK(LabelRelease::check(objective.task, *settings.label_noise));
  return AdmmSharing(objective, settings, parties);
}

Result<void> AdmmSharing::check_private(privacy::Neighbours neighbours) const {
  if (neighbours != privacy::Neighbours::kReplaceOne)
    return fail(bad_input({.field = "privacy.neighbours"},
                          "one value per record travels, so the number of records is public: replace-one only"));
  PARLEY_CHECK(algorithms::check(objective_, kRefusedPrivately));
  PARLEY_CHECK(require(settings_.rho_rule == AdmmSettings::Rho::kFixed, "algorithm.rho",
                       "the noise of a private run depends on rho, which is then fixed", "balanced"));
  PARLEY_CHECK(require(!asks_for_lyapunov(), "algorithm.stop",
                       "V has a term of every party's exact weights: a private run stops by its residuals",
                       "lyapunov"));
  return labels_may_leave(settings_.public_labels);
}

Result<void> AdmmSharing::check_private(const RunTerms& terms, const AdmmSettings& settings) {
  PARLEY_TRY(const AdmmSharing algorithm, make(terms, settings));
  return algorithm.check_private(terms.neighbours);
}

std::int64_t AdmmSharing::most_rounds() const {
  const std::int64_t messages = in_turn() ? parties_ : 1;
  return settings_.rounds * messages + 1 + (settings_.release_parts ? 1 : 0);
}

Result<AdmmSharing::Iterate> AdmmSharing::begin(std::span<const PartyFacts> parties) {
  Expected expected{.labels = {.records = static_cast<std::size_t>(parties.front().records),
                               .classes = objective_.classes,
                               .noise = settings_.label_noise}};
  double row_norm = 0;
  for (const PartyFacts& party : parties) {
    const bool constant = party.labels && objective_.intercept == glm::Intercept::kPenalised;
    if (party.labels) expected.labels.party = party.party;
    expected.row_norms.push_back(std::hypot(party.row_norm, constant ? 1.0 : 0.0));
    expected.columns += static_cast<double>(party.columns) + (constant ? 1 : 0);
    row_norm = std::hypot(row_norm, expected.row_norms.back());
    expected.noise = expected.noise || !party.plan.events.empty();
    if (!settings_.release_parts) continue;
    // Its part, then as many values as its budget holds.
    const std::int64_t paid = party.plan.events.size() >= 2 ? party.plan.events.back().count : 0;
    if (paid < 1) return fail(failed("a party does not say what a run that releases its part would charge it"));
    settings_.rounds = static_cast<int>(std::min<std::int64_t>(settings_.rounds, paid));
  }
  expect(std::move(expected));
  Iterate iterate = start();
  if (settings_.rho == 0) iterate.rho = default_rho(objective_, settings_, parties_, row_norm);
  return iterate;
}

Forecast AdmmSharing::forecast(std::span<const PartyFacts> parties, std::span<const std::vector<double>>) const {
  const double fixed_up = 24, fixed_down = 32, key = 32, records = 8 * static_cast<double>(parties.front().records);
  const double vector = records * (objective_.task == glm::Task::kSoftmax ? objective_.classes : 1);
  const auto rounds = static_cast<double>(settings_.rounds);
  Forecast forecast{.rounds = most_rounds(), .one_value_per_record = true};
  const std::int64_t messages = settings_.rounds + 1 + (settings_.release_parts ? 1 : 0);
  for (const PartyFacts& party : parties)
    forecast.parties.push_back(
        {.up = static_cast<double>(messages) * fixed_up + rounds * vector + (party.labels ? records : 0) +
               (settings_.release_parts ? 8 : 0) + (masked() ? key : 0),
         .down = static_cast<double>(messages) * fixed_down + rounds * vector * (asks_for_lyapunov() ? 2 : 1) +
                 (masked() ? parties_ * (4 + key) : 0),
         .messages = messages});
  return forecast;
}

AdmmSharing::Iterate AdmmSharing::start(std::vector<double> labels) const {
  Iterate iterate;
  iterate.rho = settings_.rho > 0 ? settings_.rho : default_rho(objective_, settings_, parties_, 1);
  if (labels.empty()) return iterate;
  const std::size_t classes = objective_.task == glm::Task::kSoftmax ? static_cast<std::size_t>(objective_.classes) : 1;
  iterate.round = 1;
  iterate.sum.assign(classes * labels.size(), 0.0);
  iterate.consensus = iterate.dual = iterate.sum;
  if (!masked()) iterate.shared.assign(static_cast<std::size_t>(parties_), iterate.sum);
  iterate.labels = std::move(labels);
  iterate.change = 1;
  return iterate;
}

// ---- what is told ----

std::vector<double> AdmmSharing::target_of(const Iterate& iterate, int party) const {
  std::vector<double> target = iterate.shared[static_cast<std::size_t>(party)];
  linalg::axpy(-1.0, correction(iterate.sum, iterate.consensus, iterate.dual, weight(), iterate.rho), target);
  return target;
}

std::optional<AdmmSharing::Task> AdmmSharing::ask(const Iterate& iterate, int party) const {
  if (iterate.round == 0) return Task{};
  if (fitted(iterate)) return Task{.phase = kPart};
  if (in_turn() && party != iterate.turn) return std::nullopt;
  Task task{.phase = kTarget, .rho = iterate.rho};
  task.pull = iterate.pull;
  task.target = masked() ? correction(iterate.sum, iterate.consensus, iterate.dual, weight(), iterate.rho)
                         : target_of(iterate, party);
  if (masked()) task.round = iterate.round - 1;
  if (masked() && task.round == 0) task.keys = iterate.keys;
  return task;
}

// ---- what is believed ----

Result<void> AdmmSharing::check(const Iterate& iterate, int party, const Reply& reply) const {
  if (!(reply.residual >= 0)) return fail(failed("its term of V is below 0"));
  const bool has_key = masked() && iterate.round == 0;
  if (has_key ? !is_mask_key(reply.key) : !reply.key.empty())
    return fail(failed("it brings a key that is none, or at another time"));
  if (iterate.round == 0) return check_labels(expected_.labels, objective_.task, party, reply.values);
  if (!fitted(iterate) && masked())
    return reply.words.size() == iterate.sum.size() ? Result<void>{}
                                                    : fail(failed("it does not have one word per record"));
  if (fitted(iterate))
    return reply.values.size() == 1 ? Result<void>{}
                                    : fail(failed("it does not say in one number that the party released its part"));
  if (reply.values.size() != iterate.sum.size()) return fail(failed("it does not have one value per record"));
  if (expected_.noise) return {};
  // Twice: the solution of an ill-conditioned system is not exact.
  if (!(linalg::l2_norm(reply.values) <= 2 * linalg::l2_norm(target_of(iterate, party))))
    return fail(failed("its values are larger than any columns could give for this task"));
  return {};
}

// Residual and rounding are below what matters beside the labels.
bool AdmmSharing::small_absolutely(const Iterate& iterate) const {
  constexpr double kBesideLabels = 1e4;
  constexpr double kRounding = 0x1p-52;
  double longest = 0;
  for (const std::vector<double>& values : iterate.shared) longest = std::max(longest, linalg::l2_norm(values));
  if (masked()) longest = linalg::l2_norm(iterate.sum);
  // Of classes, which are numbered from 0, the labels' length is that of as many ones.
  const double labels = objective_.task == glm::Task::kSoftmax ? std::sqrt(static_cast<double>(iterate.labels.size()))
                                                               : linalg::l2_norm(iterate.labels);
  const double residual = iterate.change * linalg::l2_norm(iterate.consensus) / parties_;
  return residual + kRounding * longest <= kBesideLabels * settings_.tolerance * labels;
}

bool AdmmSharing::bounded(const Iterate& iterate) const {
  if (expected_.noise || expected_.row_norms.empty()) return true;
  constexpr double kRoom = 10;
  const double at_zero =
      glm::unbiased::mean_loss(objective_.task, std::vector<double>(iterate.sum.size(), 0.0), iterate.labels);
  double weights = std::numeric_limits<double>::infinity();
  if (objective_.l2 > 0) weights = std::sqrt(2 * at_zero / objective_.l2);
  if (objective_.l1 > 0) weights = std::min(weights, at_zero / objective_.l1);
  if (objective_.box) weights = std::min(weights, *objective_.box * std::sqrt(expected_.columns));
  for (std::size_t m = 0; m < iterate.shared.size(); ++m) {
    const double most = kRoom * expected_.row_norms[m] * weights;
    for (const double value : iterate.shared[m])
      if (!(std::abs(value) <= most)) return false;
  }
  return true;
}

bool AdmmSharing::converged(const Iterate& iterate) const {
  if (iterate.round <= 1 || iterate.turn != 0 || !bounded(iterate)) return false;
  if (asks_for_lyapunov())
    return iterate.lyapunov >= 0 && iterate.lyapunov <= settings_.tolerance && settings_.tolerance > 0;
  return iterate.change <= settings_.tolerance && small_absolutely(iterate);
}

// ---- what is made of answers ----

Result<AdmmSharing::Iterate> AdmmSharing::absorb(Iterate iterate, const rounds::Answers<Reply>& answers) const {
  const std::size_t asked = iterate.round > 0 && in_turn() && !fitted(iterate) ? 1 : static_cast<std::size_t>(parties_);
  if (iterate.round > 0 && answers.size() != asked)
    return fail(failed("a party is missing: every party holds a part of every record"));
  if (iterate.round == 0) {
    PARLEY_TRY(Iterate begun, with_labels(answers));
    begun.rho = iterate.rho;
    if (masked())
      for (const auto& answer : answers) begun.keys.push_back(answer.reply.key);
    return begun;
  }
  if (fitted(iterate)) return with_parts(std::move(iterate), answers);
  return masked() ? with_words(std::move(iterate), answers) : with_values(std::move(iterate), answers);
}

Result<AdmmSharing::Iterate> AdmmSharing::with_labels(const rounds::Answers<Reply>& answers) const {
  std::vector<const std::vector<double>*> sent;
  for (const auto& answer : answers) sent.push_back(&answer.reply.values);
  PARLEY_TRY(std::vector<double> labels, the_labels(sent));
  return start(std::move(labels));
}

Result<AdmmSharing::Iterate> AdmmSharing::with_parts(Iterate iterate, const rounds::Answers<Reply>& answers) const {
  for (const auto& answer : answers)
    if (answer.reply.values.size() != 1) return fail(bad_input({.field = "reply"}, "must have one number for a part"));
  iterate.released = true;
  return iterate;
}

Result<AdmmSharing::Iterate> AdmmSharing::with_values(Iterate iterate, const rounds::Answers<Reply>& answers) const {
  if (iterate.turn == 0) iterate.moved = iterate.theirs = 0;
  for (const auto& answer : answers) {
    if (answer.reply.values.size() != iterate.sum.size())
      return fail(failed("a reply does not have one value per record"));
    std::vector<double>& kept = iterate.shared[static_cast<std::size_t>(answer.party)];
    iterate.moved = std::max(iterate.moved, distance(answer.reply.values, kept));
    iterate.theirs += answer.reply.residual;
    kept = answer.reply.values;
  }
  const std::vector<double> sum_before = iterate.sum;
  std::fill(iterate.sum.begin(), iterate.sum.end(), 0.0);
  for (const std::vector<double>& values : iterate.shared) linalg::axpy(1.0, values, iterate.sum);
  if (in_turn() && ++iterate.turn < parties_) return iterate;
  iterate.turn = 0;
  return end_round(std::move(iterate), sum_before);
}

Result<AdmmSharing::Iterate> AdmmSharing::with_words(Iterate iterate, const rounds::Answers<Reply>& answers) const {
  std::vector<std::int64_t> words(iterate.sum.size(), 0);
  const int exponent = answers[0].reply.grain;
  for (const auto& answer : answers) {
    if (answer.reply.words.size() != words.size() || answer.reply.grain != exponent)
      return fail(failed("a reply does not have one word per record, on the grid of the others"));
    privacy::add_words(answer.reply.words, words);
  }
  const std::vector<double> sum_before = iterate.sum;
  for (std::size_t i = 0; i < words.size(); ++i) iterate.sum[i] = std::ldexp(static_cast<double>(words[i]), exponent);
  iterate.moved = distance(iterate.sum, sum_before) / parties_;
  return end_round(std::move(iterate), sum_before);
}

// z, y, and what is known of the round then.
Result<AdmmSharing::Iterate> AdmmSharing::end_round(Iterate iterate, const std::vector<double>& sum_before) const {
  if (!iterate.pull.empty()) iterate.lyapunov = iterate.own + iterate.theirs;
  const std::vector<double> consensus_before = iterate.consensus;
  ConsensusStep{objective_.task, iterate.rho / weight(), iterate.labels}.take(iterate.sum, iterate.consensus,
                                                                              iterate.dual);
  const double primal = distance(iterate.sum, iterate.consensus), moved = distance(iterate.consensus, consensus_before),
               norm = linalg::l2_norm(iterate.consensus);
  const auto parties = static_cast<double>(parties_);
  iterate.change = std::max({parties * iterate.moved, moved, primal}) / std::max(1e-300, norm);
  iterate.watch.look(primal, norm);
  ++iterate.round;
  PARLEY_CHECK(check_progress(iterate));
  if (asks_for_lyapunov()) {
    iterate.pull = pull_of(iterate.sum, iterate.consensus, iterate.dual, iterate.rho);
    iterate.own = own_residuals(objective_.task, iterate.labels, iterate.consensus, iterate.sum, iterate.pull);
  }
  if (settings_.rho_rule == AdmmSettings::Rho::kBalanced) {
    const double stepped = std::max({iterate.moved, moved, distance(iterate.sum, sum_before)});
    iterate.rho = balanced_rho(iterate.rho, iterate.round - 1, primal / std::max(1e-300, norm),
                               iterate.rho / weight() * stepped / std::max(1e-300, linalg::l2_norm(iterate.dual)));
  }
  return iterate;
}

Result<void> AdmmSharing::check_progress(const Iterate& iterate) const {
  if (settings_.update == Update::kAveraged || expected_.noise) return {};
  const bool over = iterate.round > settings_.rounds;
  if (!iterate.watch.grows() && !(over && iterate.watch.worthless())) return {};
  return fail(
      failed(fmt::format("the paper's update diverges at algorithm.rho = {:.6g}: the residual went from {:.3g} to "
                         "{:.3g} in {} rounds; take a "
                         "rho above {:.6g}, or update = \"averaged\"",
                         iterate.rho, iterate.watch.first, iterate.watch.last, iterate.round - 1,
                         surely_stable_rho(objective_.task, parties_))));
}

std::vector<Leaving> AdmmSharing::leaves(const RunTerms& terms, const AdmmSettings& settings) {
  const bool masked = settings.sums == AdmmSettings::Sums::kMasked;
  std::vector<Leaving> all{labels_of({terms.label_noise, terms.is_private})};
  if (masked) all.push_back(key_of_masks());
  all.push_back(
      {"what this party's columns add to the score of each person, one number for each", Leaving::Of::kPerson,
       masked ? "nobody by itself: the coordinator reads each person's sum over all parties" : "the coordinator",
       each_round(settings.rounds),
       !terms.is_private
           ? std::string(kUnprotected)
           : "bounded, with Gaussian noise for each person's whole row; paid for from the budget" +
                 std::string(masked ? ". It leaves under a mask that cancels in the sum over the parties" : "")});
  if (terms.is_private && !terms.keep_parts)
    all.push_back({"this party's weights of the model", Leaving::Of::kTotal,
                   "whoever gets this party's part of the model", "once, at the end",
                   "Gaussian noise for what one person can move them by; paid for from the budget"});
  return all;
}

}  // namespace parley::algorithms
