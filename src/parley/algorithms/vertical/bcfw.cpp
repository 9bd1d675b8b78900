#include "parley/algorithms/vertical/bcfw.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "parley/algorithms/parts/check.h"
#include "parley/algorithms/vertical/line_search.h"
#include "parley/algorithms/vertical/private_selection.h"
#include "parley/core/text.h"
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

double sum_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// Labels that leave by randomised response are one more event of the kind that the paper's selections are.
bool responds(const privacy::LabelNoise& noise) {
  return noise.mechanism == privacy::LabelNoise::Mechanism::kRandomisedResponse;
}

// As large as the largest column that a block may have: norms themselves are not public.
Result<std::vector<double>> probabilities_by_bounds(std::span<const PartyFacts> parties, const BlockLayout& layout) {
  std::vector<double> bounds;
  for (std::size_t k = 0; k < parties.size(); ++k) {
    const PartyFacts& party = parties[k];
    for (std::size_t j = 0; j < party.columns; ++j) {
      bounds.push_back(j < party.bounds.size() ? party.bounds[j] : 0);
      PARLEY_CHECK(require(bounds.back() > 0, "algorithm.probabilities",
                           "are missing, and follow from public bounds only where every column has one; this has none",
                           j + 1));
    }
    bounds.resize(layout.end(k), 1.0);  // the column of ones
  }
  const std::vector<std::size_t> sizes = layout.blocks();
  std::vector<double> probabilities(std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}));
  double sum = 0;
  for (std::size_t block = 0; block < probabilities.size(); ++block) {
    for (std::size_t j = layout.block_begin(block); j < layout.block_end(block); ++j)
      probabilities[block] = std::max(probabilities[block], bounds[j]);
    sum += probabilities[block];
  }
  linalg::scale(1 / sum, probabilities);
  return probabilities;
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
  if (terms.is_private && global && !made.settings_.share)
    made.settings_.share = 1;  // known to all, so none is asked for
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
  PARLEY_CHECK(require(settings.ball == Ball::kPerParty || terms.calibration == privacy::Calibration::kProved,
                       "algorithm.ball", "the paper's noise is for a ball of each party", "global"));
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
  std::vector<std::size_t> columns;
  for (const PartyFacts& party : parties) {
    const bool constant = party.labels && terms_.objective.intercept == glm::Intercept::kPenalised;
    columns.push_back(party.columns + (constant ? 1 : 0));
    if (party.labels) holder_.party = party.party;
    if (!terms_.is_private) continue;
    // A party charges as many selections as it can pay for.
    const bool paper = terms_.calibration == privacy::Calibration::kPaper;
    std::int64_t paid = paper && party.labels && terms_.label_noise && responds(*terms_.label_noise) ? -1 : 0;
    for (const privacy::Event& event : party.plan.events)
      if (paper ? std::holds_alternative<privacy::Pure>(event.mechanism)
                : std::holds_alternative<privacy::Exponential>(event.mechanism))
        paid += event.count;
    if (paid < 1) return fail(failed("a party does not say how many indices it will pay for"));
    steps_ = &party == parties.data() && !settings_.iterations ? paid : std::min(steps_, paid);
  }
  if (!settings_.iterations) asked_ = steps_;
  holder_.records = static_cast<std::size_t>(parties.front().records);
  holder_.noise = terms_.label_noise;
  PARLEY_CHECK(check_sketch(holder_.records));
  space_ = space_of(holder_.records);
  PARLEY_TRY(layout_, BlockLayout::make(terms_.objective, settings_, columns));
  SamplingSettings sampling = settings_.sampling;
  if (sampling.kind == Sampling::kImportance && sampling.probabilities.empty()) {
    PARLEY_TRY(sampling.probabilities, probabilities_by_bounds(parties, layout_));
  }
  PARLEY_TRY(sampling_, BlockSampling::make(sampling, layout_.blocks(), terms_.seed));
  PARLEY_CHECK(
      require(settings_.p <= sampling_->p_min() * (1 + 1e-12), "algorithm.p_min",
              fmt::format("must be at most the smallest probability of a block, {}: a larger one is covered by "
                          "no bound",
                          sampling_->p_min()),
              settings_.p));
  Iterate iterate;
  iterate.parameters.assign(layout_.columns(), 0.0);
  return iterate;
}

// ---- what follows from the settings ----

double Bcfw::offset_of(const Iterate& iterate) const {
  return iterate.parameters.size() > layout_.columns() ? iterate.parameters.back() : 0;
}

// The rows of a transform are some of so many as the next power of two has.
Result<void> Bcfw::check_sketch(std::size_t records) const {
  const bool transform = settings_.kind == linalg::SketchKind::kHadamard;
  return require(
      !transform || static_cast<std::size_t>(settings_.sketch) <= std::bit_ceil(records), "algorithm.sketch",
      fmt::format("must be at most the number of records, brought up to a power of two, {}", std::bit_ceil(records)),
      settings_.sketch);
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

// ---- what is asked (what a party answers is in bcfw_party.cpp) ----

bool Bcfw::asks(const Iterate& iterate, std::size_t party) const {
  if (iterate.phase == kPick) return !layout_.sampled(*sampling_, iterate.step, party).none;
  return iterate.phase != kFetch || layout_.party_of(static_cast<std::size_t>(iterate.fetched.front().column)) == party;
}

std::optional<Bcfw::Task> Bcfw::ask(const Iterate& iterate, int party) const {
  const std::size_t k = static_cast<std::size_t>(party), begin = layout_.begin(k), end = layout_.end(k);
  Task task{.phase = iterate.phase};
  const auto part = [&] { return linalg::sparse(std::span(iterate.parameters).subspan(begin, end - begin)); };
  if (iterate.parameters.size() > layout_.columns()) task.offset = {iterate.parameters.back()};
  switch (iterate.phase) {
    case kPick: {
      BlockLayout::Sampled some = layout_.sampled(*sampling_, iterate.step, k);
      if (some.none) return std::nullopt;
      if (!own_exact()) {
        task.columns = std::move(some.columns);
        task.borders = layout_.borders_of(k);
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
    if (layout_.balls() > 1) iterate.parts.assign(layout_.balls(), iterate.state);
    look(iterate);
  }
  iterate.phase = settings_.sharing == BcfwSettings::Sharing::kAtStart ? kColumns : kPick;
  return iterate;
}

Result<Bcfw::Iterate> Bcfw::with_picks(Iterate iterate, const rounds::Answers<Reply>& answers) const {
  std::vector<Atom> atoms;
  double largest = -std::numeric_limits<double>::infinity();
  for (const auto& answer : answers) {
    const auto base = static_cast<std::int64_t>(layout_.begin(static_cast<std::size_t>(answer.party)));
    for (SharedFeature feature : answer.reply.features) {
      feature.column += base;
      keep_column(iterate.features, std::move(feature));
    }
    for (std::size_t c = 0; c < answer.reply.picks.size(); ++c) {
      const Index each = answer.reply.picks[c];
      const Atom atom{base + std::abs(each) - 1, each > 0 ? 1 : -1};
      if (!global()) {
        atoms.push_back(atom);
      } else if (const double descent = -atom.sign * answer.reply.numbers[c]; descent > largest) {
        largest = descent;
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
  } else if (fetches(iterate, atoms)) {
    iterate.fetched = std::move(atoms);
    iterate.phase = kFetch;
    return iterate;
  }
  return moved(std::move(iterate), atoms);
}

// Of the one ball of all parties: the column that it moves towards. A private run sends none in its last step, or none
// at all.
bool Bcfw::fetches(const Iterate& iterate, const std::vector<Atom>& atoms) const {
  if (!global() || atoms.empty()) return false;
  if (terms_.is_private && (settings_.share.value_or(1) == 1 || iterate.step + 1 == steps_)) return false;
  return shared_column(iterate.features, static_cast<std::size_t>(atoms.front().column)) == nullptr;
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
    const bool whole = layout_.whole_balls(*sampling_);
    for (const Atom& atom : atoms) {
      const auto column = static_cast<std::size_t>(atom.column);
      const SharedFeature* feature = shared_column(iterate.features, column);
      if (feature == nullptr) {  // of a private run: its column was not sent
        taken.push_back(atom);
        continue;
      }
      const double slope = dot(*feature, image), r = layout_.radius_of(column);  // g_j
      const std::vector<double>* own = box()                   ? nullptr
                                       : iterate.parts.empty() ? &iterate.state
                                                               : &iterate.parts[layout_.ball_of(column)];
      const double weight = iterate.parameters[column];
      const double here = own != nullptr ? linalg::dot(*own, image) : weight * slope;  // <x_B, g_B>
      const double descent = here - atom.sign * r * slope;                             // <x_B - s_B, g_B>
      if (!whole && descent <= 0) continue;
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
  const double gamma = iterate.gamma, vertex = atom.sign * layout_.radius_of(column);
  std::vector<double>& x = iterate.parameters;
  if (box()) {
    x[column] += gamma * (vertex - x[column]);
    return;
  }
  const std::size_t ball = layout_.ball_of(column), begin = layout_.ball_begin(ball), end = layout_.ball_end(ball);
  if (!iterate.parts.empty()) {
    linalg::scale(1 - gamma, iterate.parts[ball]);
    if (const SharedFeature* feature = shared_column(iterate.features, column))
      axpy(gamma * vertex, *feature, iterate.parts[ball]);
  }
  if (terms_.is_private) {  // columns may carry weight that were never sent
    for (std::size_t j = begin; j < end; ++j) x[j] *= 1 - gamma;
  } else {
    for (const SharedFeature& feature : shared_columns(iterate.features, begin, end))
      x[static_cast<std::size_t>(feature.column)] *= 1 - gamma;
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

double Bcfw::line_search(const Iterate& iterate, std::span<const double> of_state) const {
  const std::size_t n = iterate.labels.size();
  std::vector<double> start(n), direction(n);
  space_.margins(iterate.state, start);
  space_.margins(of_state, direction);
  for (double& margin : start) margin += offset_of(iterate);
  return best_on_line(terms_.objective.task, {start, direction, iterate.labels});
}

std::vector<Leaving> Bcfw::leaves(const RunTerms& terms, const BcfwSettings& settings) {
  const char* const paid = "; paid for from the budget";
  const std::string how = settings.sketch > 0
                              ? fmt::format(", as {} numbers that are random sums over all people", settings.sketch)
                              : ", one number for each person";
  const std::string when = settings.iterations ? each_round(*settings.iterations) : "in each round";
  const bool sends = !terms.is_private || settings.share < 1;
  std::vector<Leaving> all{labels_of({terms.label_noise, terms.is_private})};
  all.push_back(
      {"the number of the column that promises most, and how much", Leaving::Of::kTotal, "the coordinator", when,
       terms.is_private ? std::string("drawn with noise (report noisy max or the exponential mechanism)") + paid
                        : std::string(kUnprotected)});
  if (sends)
    all.push_back(
        {std::string(settings.sharing == BcfwSettings::Sharing::kAtStart ? "every column of this party"
                                                                         : "a column, when it is first used") +
             how,
         settings.sketch > 0 ? Leaving::Of::kTotal : Leaving::Of::kPerson, "the coordinator",
         settings.sharing == BcfwSettings::Sharing::kAtStart ? "once, before the first round"
                                                             : "once for each column that is used",
         terms.is_private ? std::string("Gaussian noise on every number") + paid : std::string(kUnprotected)});
  return all;
}

}  // namespace parley::algorithms
