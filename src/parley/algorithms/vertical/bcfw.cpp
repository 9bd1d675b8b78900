#include "parley/algorithms/vertical/bcfw.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "parley/algorithms/parts/check.h"
#include "parley/algorithms/vertical/private_selection.h"
#include "parley/glm/unbiased.h"
#include "parley/linalg/matrix.h"
#include "parley/linalg/vectors.h"

namespace parley::algorithms {

namespace {

using Ball = BcfwSettings::Ball;
using Blocks = BcfwSettings::Blocks;
using linalg::Index;

constexpr int kDefaultSteps = 200;

constexpr Refusal kRefused[] = {
    {Part::kSoftmax, "bcfw takes losses of one margin: linear, logistic, squared-hinge"},
    {Part::kL1, "bcfw takes a constraint (model.l1_radius), not penalties"},
    {Part::kSparsity, "bcfw takes an l1 radius or a box"},
    {Part::kBox, kTaken},
    {Part::kFreeIntercept, "bcfw counts every weight in its set; use \"penalised\" or none"}};

bool before(const SharedFeature& feature, std::size_t column) {
  return static_cast<std::size_t>(feature.column) < column;
}

const SharedFeature* find(const std::vector<SharedFeature>& features, std::size_t column) {
  const auto at = std::lower_bound(features.begin(), features.end(), column, before);
  return at != features.end() && static_cast<std::size_t>(at->column) == column ? &*at : nullptr;
}

void insert(std::vector<SharedFeature>& features, SharedFeature feature) {
  const auto at = std::lower_bound(features.begin(), features.end(), static_cast<std::size_t>(feature.column), before);
  features.insert(at, std::move(feature));
}

bool holds(const std::vector<Index>& ascending, Index j) {
  return std::binary_search(ascending.begin(), ascending.end(), j);
}

double sum_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

}  // namespace

// ---- what it takes ----

Result<Bcfw> Bcfw::make(const RunTerms& terms, const BcfwSettings& settings) {
  PARLEY_CHECK(algorithms::check(terms.objective, kRefused));
  PARLEY_CHECK(require(terms.objective.l2 == 0, "model.l2", "bcfw takes a constraint (model.l1_radius), not penalties",
                       terms.objective.l2));
  PARLEY_CHECK(require(terms.parties >= 1, "party", "bcfw needs at least one party", terms.parties));
  const bool box = terms.objective.box.has_value(), global = settings.ball == Ball::kGlobal;
  if (!box && !terms.objective.l1_radius)
    return fail(bad_input({.field = "model.l1_radius"}, "is needed: bcfw minimises over l1 balls (or model.box)"));
  PARLEY_CHECK(require(!(box && global), "algorithm.ball", "contradicts model.box: choose one of the two", "global"));
  PARLEY_CHECK(require(settings.radius == BcfwSettings::Radius::kShare || (!box && !global), "algorithm.radius",
                       "belongs to balls of parties", "paper"));
  PARLEY_CHECK(require(settings.blocks != Blocks::kGroups || !global, "algorithm.blocks",
                       "groups have a ball each, so they contradict ball = \"global\"", "groups"));
  if (terms.label_noise) PARLEY_CHECK(LabelRelease::check(terms.objective.task, *terms.label_noise));
  for (const double radius : settings.radii)
    PARLEY_CHECK(require(is_positive(radius), "algorithm.radii", "must be positive numbers", radius));
  Bcfw made(terms, settings);
  made.steps_ = made.asked_ = settings.iterations.value_or(kDefaultSteps);
  const bool paper = terms.calibration == privacy::Calibration::kPaper;
  if (!made.settings_.own) made.settings_.own = paper ? BcfwSettings::Own::kShared : BcfwSettings::Own::kExact;
  // Columns that nobody sends move no margin that others see.
  const bool must_send = !made.own_exact() || settings.sharing == BcfwSettings::Sharing::kAtStart;
  if (terms.is_private && must_send && !settings.share) made.settings_.share = 0.5;
  return made;
}

Result<void> Bcfw::check_private(const RunTerms& terms, const BcfwSettings& settings) {
  if (terms.neighbours != privacy::Neighbours::kReplaceOne)
    return fail(bad_input({.field = "privacy.neighbours"},
                          "the number of records is public where parties hold columns: replace-one only"));
  PARLEY_CHECK(labels_may_leave(terms.public_labels));
  PARLEY_CHECK(require(!terms.keep_parts, "model.keep_parts",
                       "keeps exact parts, and there are none: every part is made of released indices", "true"));
  PARLEY_CHECK(require(settings.sampling.kind == Sampling::kAll, "algorithm.sampling",
                       "a private run asks every party in every round", "not all"));
  PARLEY_CHECK(require(settings.blocks == Blocks::kParties, "algorithm.blocks",
                       "a private run has one ball and one index for each party", "not parties"));
  PARLEY_CHECK(require(settings.ball == Ball::kPerParty, "algorithm.ball",
                       "a private run has one ball for each party; without [privacy] it may be global", "global"));
  PARLEY_CHECK(require(!terms.objective.box, "model.box", "a private run takes model.l1_radius", "given"));
  PARLEY_CHECK(require(settings.step == BcfwSettings::Step::kUniversal, "algorithm.step",
                       "a line search looks at the data: a private run takes the universal step", "line-search"));
  return require(!settings.share || *settings.share < 1 ||
                     (settings.own.value_or(BcfwSettings::Own::kExact) == BcfwSettings::Own::kExact &&
                      settings.sharing == BcfwSettings::Sharing::kAtNeed),
                 "algorithm.share", "leaves nothing for the columns that this run sends; must be below 1",
                 settings.share.value_or(1));
}

Result<Bcfw::Iterate> Bcfw::begin(std::span<const PartyFacts> parties) {
  first_ = {0};
  for (const PartyFacts& party : parties) {
    const bool constant = party.labels && terms_.objective.intercept == glm::Intercept::kPenalised;
    first_.push_back(first_.back() + party.columns + (constant ? 1 : 0));
    if (party.labels) holder_.party = party.party;
    if (!terms_.is_private) continue;
    // A party charges as many selections as it can pay for.
    std::int64_t paid = 0;
    for (const privacy::Event& event : party.plan.events)
      if (std::holds_alternative<privacy::Exponential>(event.mechanism) ||
          std::holds_alternative<privacy::Pure>(event.mechanism))
        paid = std::max(paid, event.count);
    if (paid < 1) return fail(failed("a party does not say how many indices it will pay for"));
    steps_ = &party == parties.data() && !settings_.iterations ? paid : std::min(steps_, paid);
  }
  if (!settings_.iterations) asked_ = steps_;
  holder_.records = static_cast<std::size_t>(parties.front().records);
  holder_.noise = terms_.label_noise;
  space_ = space_of(holder_.records);
  PARLEY_CHECK(lay_out_balls());
  std::vector<std::size_t> blocks;
  for (std::size_t k = 0; k < parties.size(); ++k)
    blocks.push_back(settings_.blocks == Blocks::kParties       ? 1
                     : settings_.blocks == Blocks::kCoordinates ? first_[k + 1] - first_[k]
                                                                : borders_of(k).size() + 1);
  PARLEY_TRY(sampling_, BlockSampling::make(settings_.sampling, blocks, terms_.seed));
  PARLEY_CHECK(
      require(settings_.p <= sampling_->p_min() * (1 + 1e-12), "algorithm.p_min",
              fmt::format("must be at most the smallest probability of a block, {}: a larger one is covered by "
                          "no bound",
                          sampling_->p_min()),
              settings_.p));
  Iterate iterate;
  iterate.parameters.assign(first_.back(), 0.0);
  return iterate;
}

Result<void> Bcfw::lay_out_balls() {
  balls_.clear();
  if (!box()) {
    balls_ = {0};
    if (settings_.blocks == Blocks::kGroups) {
      for (const int size : settings_.groups) balls_.push_back(balls_.back() + static_cast<std::size_t>(size));
      PARLEY_CHECK(require(balls_.back() == first_.back(), "algorithm.blocks",
                           fmt::format("must have as many columns as the parties together, {}", first_.back()),
                           balls_.back()));
      for (const std::size_t begin : first_)
        PARLEY_CHECK(require(std::binary_search(balls_.begin(), balls_.end(), begin), "algorithm.blocks",
                             "must not put columns of two parties into one group; a party begins with column",
                             begin + 1));
    } else if (settings_.ball == Ball::kPerParty) {
      balls_ = first_;
    } else {
      balls_.push_back(first_.back());
    }
  }
  const std::size_t sets = box() ? first_.back() : balls_.size() - 1;
  return require(settings_.radii.empty() || settings_.radii.size() == sets, "algorithm.radii",
                 fmt::format("needs {} numbers, one for each {}", sets, box() ? "column" : "ball"),
                 settings_.radii.size());
}

// ---- where things lie ----

std::size_t Bcfw::party_of(std::size_t column) const {
  return static_cast<std::size_t>(std::upper_bound(first_.begin(), first_.end(), column) - first_.begin() - 1);
}

std::size_t Bcfw::ball_of(std::size_t column) const {
  return static_cast<std::size_t>(std::upper_bound(balls_.begin(), balls_.end(), column) - balls_.begin() - 1);
}

double Bcfw::radius_of(std::size_t column) const {
  if (!settings_.radii.empty()) return settings_.radii[box() ? column : ball_of(column)];
  if (box()) return *terms_.objective.box;
  const bool shared = settings_.radius == BcfwSettings::Radius::kShare;
  return *terms_.objective.l1_radius / (shared ? static_cast<double>(balls_.size() - 1) : 1);
}

double Bcfw::offset_of(const Iterate& iterate) const {
  return iterate.parameters.size() > first_.back() ? iterate.parameters.back() : 0;
}

std::vector<Index> Bcfw::borders_of(std::size_t party) const {
  std::vector<Index> borders;
  for (const std::size_t begin : balls_)
    if (begin > first_[party] && begin < first_[party + 1])
      borders.push_back(static_cast<Index>(begin - first_[party]));
  return borders;
}

FeatureSpace Bcfw::space_of(std::size_t records) const {
  return {records, settings_.sketch, settings_.kind, terms_.seed};
}

const FeatureSpace& Bcfw::space_at(const ColumnShare& share, Memory& memory) const {
  if (!memory.space)
    memory.space = std::make_shared<const FeatureSpace>(space_of(static_cast<std::size_t>(share.features.rows())));
  return *memory.space;
}

double Bcfw::p_min() const {
  if (settings_.p > 0) return settings_.p;
  return settings_.p_min == BcfwSettings::Smallest::kPaper ? sampling_->printed_p_min() : sampling_->p_min();
}

bool Bcfw::takes_whole_balls() const {
  return box() || (settings_.ball == Ball::kPerParty && settings_.blocks != Blocks::kCoordinates) ||
         sampling_->takes_all();
}

std::int64_t Bcfw::most_rounds() const {
  const bool ruled = terms_.is_private && !settings_.iterations;
  const std::int64_t steps = ruled ? kMostSuggestedSteps : settings_.iterations.value_or(kDefaultSteps);
  return 2 + steps * (settings_.ball == Ball::kGlobal ? 2 : 1) +
         (settings_.sharing == BcfwSettings::Sharing::kAtStart ? 1 : 0);
}

std::size_t Bcfw::largest_reply(std::span<const PartyFacts> parties) const {
  std::size_t largest = 0;
  for (const PartyFacts& party : parties) {
    const std::size_t records = static_cast<std::size_t>(party.records), columns = party.columns + 1;
    const bool many =
        box() || settings_.blocks == Blocks::kGroups || settings_.sharing == BcfwSettings::Sharing::kAtStart;
    const std::size_t length = settings_.sketch > 0 ? static_cast<std::size_t>(settings_.sketch) : records;
    largest = std::max(
        largest, 128 + sizeof(double) * (records + columns) + (many ? columns : 1) * SharedFeature::largest(length));
  }
  return largest;
}

Bcfw::Sampled Bcfw::sampled(std::int64_t step, std::size_t party) const {
  if (sampling_->takes_all()) return {.none = false, .all = true};
  const std::vector<std::size_t> blocks = sampling_->draw(step);
  const std::size_t begin = first_[party], end = first_[party + 1];
  if (settings_.blocks == Blocks::kParties) {
    const bool taken = std::binary_search(blocks.begin(), blocks.end(), party);
    return {.none = !taken, .all = taken};
  }
  Sampled some;
  for (const std::size_t block : blocks) {
    const bool groups = settings_.blocks == Blocks::kGroups;
    const std::size_t from = groups ? balls_[block] : block, to = groups ? balls_[block + 1] : block + 1;
    for (std::size_t column = std::max(from, begin); column < std::min(to, end); ++column)
      some.columns.push_back(static_cast<Index>(column - begin));
  }
  some.none = some.columns.empty();
  some.all = some.columns.size() == end - begin;
  if (some.all) some.columns.clear();
  return some;
}

// ---- what is asked (what a party answers is in bcfw_party.cpp) ----

bool Bcfw::asks(const Iterate& iterate, std::size_t party) const {
  if (iterate.phase == kPick) return !sampled(iterate.step, party).none;
  return iterate.phase != kFetch || party_of(static_cast<std::size_t>(iterate.fetched.front().column)) == party;
}

std::optional<Bcfw::Task> Bcfw::ask(const Iterate& iterate, int party) const {
  const std::size_t k = static_cast<std::size_t>(party), begin = first_[k], end = first_[k + 1];
  Task task{.phase = iterate.phase};
  const auto part = [&] { return linalg::sparse(std::span(iterate.parameters).subspan(begin, end - begin)); };
  if (iterate.parameters.size() > first_.back()) task.offset = {iterate.parameters.back()};
  switch (iterate.phase) {
    case kPick: {
      Sampled some = sampled(iterate.step, k);
      if (some.none) return std::nullopt;
      if (!own_exact()) {
        task.columns = std::move(some.columns);
        task.borders = borders_of(k);
        task.derivative = iterate.derivative;
        task.offset.clear();
        return task;
      }
      task.weights = part();
      if (iterate.step == 0 && party != holder_.party) task.labels = iterate.labels;
      for (const SharedFeature& feature : iterate.features) {
        const auto column = static_cast<std::size_t>(feature.column);
        const double weight = iterate.parameters[column];
        if (weight == 0 || (column >= begin && column < end)) continue;
        task.others.resize(space_.length());
        axpy(weight, feature, task.others);
      }
      return task;
    }
    case kFetch: {
      const auto column = static_cast<std::size_t>(iterate.fetched.front().column);
      if (column < begin || column >= end) return std::nullopt;
      task.offset.clear();
      task.columns = {static_cast<Index>(column - begin)};
      return task;
    }
    case kFinish:
      task.weights = part();
      return task;
    default:
      task.offset.clear();
      return task;
  }
}

// ---- what is made of the answers ----

Result<void> Bcfw::check_features(int party, const Reply& reply, std::span<const std::int64_t> needed,
                                  bool may_lack) const {
  const auto k = static_cast<std::size_t>(party);
  if (reply.features.size() != needed.size() && !(may_lack && reply.features.empty()))
    return fail(failed("it does not hold the columns that it must"));
  for (std::size_t f = 0; f < reply.features.size(); ++f) {
    if (reply.features[f].column != needed[f] || static_cast<std::size_t>(needed[f]) >= first_[k + 1] - first_[k])
      return fail(failed("it holds another column than it must"));
    PARLEY_CHECK(space_.check(reply.features[f]));
  }
  return {};
}

Result<void> Bcfw::check(const Iterate& iterate, int party, const Reply& reply) const {
  const auto k = static_cast<std::size_t>(party);
  const std::size_t base = first_[k], columns = first_[k + 1] - base;
  if (iterate.phase == kLabels) {
    const std::size_t rates = releases_base_rate() && party == holder_.party ? 1 : 0;
    if (reply.numbers.size() != rates) return fail(failed("it does not hold the base rate where it must"));
    if (!reply.picks.empty() || !reply.features.empty()) return fail(failed("it holds what was not asked for"));
    return check_labels(holder_, terms_.objective.task, party, reply.labels);
  }
  if (!reply.labels.empty()) return fail(failed("it holds labels, which were not asked for"));
  const bool picks = iterate.phase == kPick;
  if (!picks && !reply.picks.empty()) return fail(failed("it holds columns, which were not asked for"));
  if (reply.numbers.size() != (picks && global() ? reply.picks.size() : 0))
    return fail(failed("it does not have one gradient per column"));
  const Sampled allowed = picks ? sampled(iterate.step, k) : Sampled{};
  std::vector<std::int64_t> needed;  // the columns that must come, in their order
  std::size_t last = balls_.size();  // the ball of the pick before
  for (std::size_t c = 0; c < reply.picks.size(); ++c) {
    const Index each = reply.picks[c];
    // The smallest number has no opposite.
    const Index j = each == std::numeric_limits<Index>::min() ? -1 : std::abs(each) - 1;
    if (j < 0 || static_cast<std::size_t>(j) >= columns || !(allowed.all || holds(allowed.columns, j)) ||
        (c > 0 && j <= std::abs(reply.picks[c - 1]) - 1))
      return fail(failed("it names a column that was not sampled"));
    const std::size_t ball = box() ? c : ball_of(base + static_cast<std::size_t>(j));
    if (!box() && ball == last) return fail(failed("it names more columns than were asked for"));
    last = ball;
    if (global() && !((each > 0) == (reply.numbers[c] < 0) && reply.numbers[c] != 0))
      return fail(failed("the sign of its column is not that of its gradient"));
    if (!global() && find(iterate.features, base + static_cast<std::size_t>(j)) == nullptr) needed.push_back(j);
  }
  if (picks && terms_.is_private && reply.picks.size() != 1)
    return fail(failed("it does not name one column of its own"));
  if (iterate.phase == kFetch) needed = {iterate.fetched.front().column - static_cast<std::int64_t>(base)};
  if (iterate.phase == kColumns) {
    needed.resize(columns);
    std::iota(needed.begin(), needed.end(), std::int64_t{0});
  }
  return check_features(party, reply, needed, picks && terms_.is_private);
}

Result<Bcfw::Iterate> Bcfw::absorb(Iterate iterate, const rounds::Answers<Reply>& answers) const {
  std::size_t asked = 0;
  for (int k = 0; k < terms_.parties; ++k) asked += asks(iterate, static_cast<std::size_t>(k)) ? 1 : 0;
  if (answers.size() != asked) return fail(failed("a party is missing: every party holds a part of every record"));
  for (const auto& answer : answers) PARLEY_CHECK(check(iterate, answer.party, answer.reply));
  switch (iterate.phase) {
    case kLabels:
      return with_labels(std::move(iterate), answers);
    case kFinish:
      iterate.phase = kDone;
      return iterate;
    default:
      return with_picks(std::move(iterate), answers);
  }
}

Result<Bcfw::Iterate> Bcfw::with_labels(Iterate iterate, const rounds::Answers<Reply>& answers) const {
  std::vector<const std::vector<double>*> sent;
  std::optional<double> mean;
  for (const auto& answer : answers) {
    sent.push_back(&answer.reply.labels);
    if (!answer.reply.numbers.empty()) mean = answer.reply.numbers.front();
  }
  PARLEY_TRY(iterate.labels, the_labels(sent));
  if (offers_offset()) {
    const auto n = static_cast<double>(iterate.labels.size());
    if (!mean) mean = sum_of(iterate.labels) / n;
    iterate.parameters.push_back(base_rate_offset(terms_.objective.task, *mean, n));
  }
  if (!own_exact()) {
    iterate.state.assign(space_.length(), 0.0);
    if (balls_.size() > 2) iterate.parts.assign(balls_.size() - 1, iterate.state);
    look(iterate);
  }
  iterate.phase = settings_.sharing == BcfwSettings::Sharing::kAtStart ? kColumns : kPick;
  return iterate;
}

Result<Bcfw::Iterate> Bcfw::with_picks(Iterate iterate, const rounds::Answers<Reply>& answers) const {
  std::vector<Atom> atoms;
  double largest = 0;
  for (const auto& answer : answers) {
    const auto base = static_cast<std::int64_t>(first_[static_cast<std::size_t>(answer.party)]);
    for (SharedFeature feature : answer.reply.features) {
      feature.column += base;
      insert(iterate.features, std::move(feature));
    }
    for (std::size_t c = 0; c < answer.reply.picks.size(); ++c) {
      const Index each = answer.reply.picks[c];
      const Atom atom{base + std::abs(each) - 1, each > 0 ? 1 : -1};
      if (!global()) {
        atoms.push_back(atom);
      } else if (std::abs(answer.reply.numbers[c]) > largest) {
        largest = std::abs(answer.reply.numbers[c]);
        atoms = {atom};
      }
    }
  }
  if (iterate.phase == kColumns) {
    iterate.phase = kPick;
    return iterate;
  }
  if (iterate.phase == kFetch) {
    atoms = std::move(iterate.fetched);
    iterate.fetched.clear();
    iterate.phase = kPick;
  } else if (global() && !atoms.empty() &&
             find(iterate.features, static_cast<std::size_t>(atoms.front().column)) == nullptr) {
    iterate.fetched = std::move(atoms);
    iterate.phase = kFetch;
    return iterate;
  }
  return moved(std::move(iterate), atoms);
}

// x_B += gamma (s_B - x_B), and q by the same.
Bcfw::Iterate Bcfw::moved(Iterate iterate, const std::vector<Atom>& atoms) const {
  const double universal = 2 / (p_min() * static_cast<double>(iterate.step) + 2);
  std::vector<Atom> taken;
  double gap = 0;
  if (own_exact()) {
    iterate.gamma = universal;
    taken = atoms;
  } else {
    const std::vector<double> image = space_.image(iterate.derivative);
    std::vector<double> direction(iterate.state.size(), 0.0);  // of q
    for (const Atom& atom : atoms) {
      const auto column = static_cast<std::size_t>(atom.column);
      const SharedFeature* feature = find(iterate.features, column);
      if (feature == nullptr) {  // of a private run: its column was not sent
        taken.push_back(atom);
        continue;
      }
      const double slope = dot(*feature, image), r = radius_of(column);  // g_j
      const std::vector<double>* own = box()                   ? nullptr
                                       : iterate.parts.empty() ? &iterate.state
                                                               : &iterate.parts[ball_of(column)];
      const double weight = iterate.parameters[column];
      const double here = own != nullptr ? linalg::dot(*own, image) : weight * slope;  // <x_B, g_B>
      const double descent = here - atom.sign * r * slope;                             // <x_B - s_B, g_B>
      if (!takes_whole_balls() && descent <= 0) continue;
      gap += std::max(0.0, descent);
      if (own != nullptr) linalg::axpy(-1.0, *own, direction);
      axpy(atom.sign * r - (own != nullptr ? 0 : weight), *feature, direction);
      taken.push_back(atom);
    }
    iterate.gap = sampling_->takes_all() && !terms_.is_private && !space_.sketched() ? gap : -1;
    iterate.gamma = settings_.step == BcfwSettings::Step::kUniversal ? universal : line_search(iterate, direction);
    if (!converged(iterate)) linalg::axpy(iterate.gamma, direction, iterate.state);
  }
  ++iterate.step;
  const bool ended = converged(iterate);
  if (!ended) {
    for (const Atom& atom : taken) move(iterate, atom);
    if (!own_exact()) look(iterate);
  }
  if (iterate.step == steps_ || ended) iterate.phase = kFinish;
  return iterate;
}

void Bcfw::move(Iterate& iterate, const Atom& atom) const {
  const auto column = static_cast<std::size_t>(atom.column);
  const double gamma = iterate.gamma, vertex = atom.sign * radius_of(column);
  std::vector<double>& x = iterate.parameters;
  if (box()) {
    x[column] += gamma * (vertex - x[column]);
    return;
  }
  const std::size_t ball = ball_of(column), begin = balls_[ball], end = balls_[ball + 1];
  if (!iterate.parts.empty()) {
    linalg::scale(1 - gamma, iterate.parts[ball]);
    if (const SharedFeature* feature = find(iterate.features, column))
      axpy(gamma * vertex, *feature, iterate.parts[ball]);
  }
  if (terms_.is_private) {  // columns may carry weight that were never sent
    for (std::size_t j = begin; j < end; ++j) x[j] *= 1 - gamma;
  } else {
    for (auto feature = std::lower_bound(iterate.features.begin(), iterate.features.end(), begin, before);
         feature != iterate.features.end() && static_cast<std::size_t>(feature->column) < end; ++feature)
      x[static_cast<std::size_t>(feature->column)] *= 1 - gamma;
  }
  x[column] += gamma * vertex;
}

void Bcfw::look(Iterate& iterate) const {
  const std::size_t n = iterate.labels.size();
  iterate.derivative.resize(n);
  std::vector<double> margins(n);
  space_.margins(iterate.state, margins);
  const double offset = offset_of(iterate);
  if (offset != 0)
    for (double& margin : margins) margin += offset;
  iterate.objective =
      glm::unbiased::mean_loss_and_derivatives(terms_.objective.task, margins, iterate.labels, iterate.derivative);
  linalg::scale(1 / static_cast<double>(n), iterate.derivative);
}

// The zero of d/dgamma F(z + gamma d), which grows: halved until it cannot be told apart, by Newton's step where that
// stays inside.
double Bcfw::line_search(const Iterate& iterate, std::span<const double> of_state) const {
  const std::size_t n = iterate.labels.size();
  std::vector<double> start(n), direction(n), at(n), work(n);
  space_.margins(iterate.state, start);
  space_.margins(of_state, direction);
  for (double& margin : start) margin += offset_of(iterate);
  const auto slope = [&](double gamma, double& curvature) {
    std::copy(start.begin(), start.end(), at.begin());
    linalg::axpy(gamma, direction, at);
    glm::unbiased::loss_curvatures(terms_.objective.task, at, iterate.labels, work);
    curvature = 0;
    for (std::size_t i = 0; i < n; ++i) curvature += work[i] * direction[i] * direction[i];
    glm::unbiased::loss_derivatives(terms_.objective.task, at, iterate.labels, work);
    return linalg::dot(work, direction);
  };
  double low = 0, high = 1, curvature = 0;
  if (slope(0, curvature) >= 0) return 0;
  if (slope(1, curvature) <= 0) return 1;
  double gamma = 0.5;
  for (int i = 0; i < 100 && high - low > 1e-15; ++i) {
    const double there = slope(gamma, curvature);
    if (there == 0) break;
    (there > 0 ? high : low) = gamma;
    const double newton = curvature > 0 ? gamma - there / curvature : low;
    const double next = newton > low && newton < high ? newton : (low + high) / 2;
    if (std::abs(next - gamma) < 1e-16) break;
    gamma = next;
  }
  return gamma;
}

// ---- under other names ----

Result<Dfw> Dfw::make(const RunTerms& terms, const DfwSettings& settings) {
  PARLEY_TRY(Bcfw method, Bcfw::make(terms, settings));
  return Dfw(std::move(method));
}

Result<void> Dfw::check_private(const RunTerms& terms, const DfwSettings& settings) {
  return Bcfw::check_private(terms, settings);
}

Result<Pride> Pride::make(const RunTerms& terms, const PrideSettings& settings) {
  PARLEY_TRY(Bcfw method, Bcfw::make(terms, settings));
  return Pride(std::move(method));
}

Result<void> Pride::check_private(const RunTerms& terms, const PrideSettings& settings) {
  return Bcfw::check_private(terms, settings);
}

}  // namespace parley::algorithms
