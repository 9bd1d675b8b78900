#include "parley/algorithms/vertical/masked_descent.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "parley/algorithms/parts/check.h"
#include "parley/algorithms/parts/leaving.h"
#include "parley/privacy/mechanisms/discrete_gaussian.h"
#include "parley/privacy/randomness/drawn.h"

namespace parley::algorithms {

namespace {

constexpr Refusal kRefused[] = {
    {Part::kSoftmax, "masked-descent takes two classes: task = \"logistic\""},
    {Part::kL1Groups, "masked-descent takes one l1 ball, not one for each party"},
    {Part::kBox, kTaken},
    {Part::kFreeIntercept, "masked-descent penalises every weight; use \"penalised\" or none"}};

constexpr int kOpenSteps = 300;                           // without privacy, where the job states none
constexpr std::size_t kMostBytes = std::size_t{1} << 30;  // of a message
constexpr double kMostLabel = 1e15;
constexpr double kMessage = 256;  // bytes of a task or a reply without its vectors, at most
// Rounds of the driver: of an index; three before the first and one after the last, less (a) and (b) of the first.
constexpr std::int64_t kEach = 5, kOnce = 2;

// From the operating system, unless the job has a seed.
Result<std::unique_ptr<privacy::Bits>> dealers_bits(const RunTerms& terms, std::int64_t index) {
  if (!terms.seeded) {
    PARLEY_TRY(auto bits, privacy::SecureGenerator::from_system());
    return std::unique_ptr<privacy::Bits>(std::move(bits));
  }
  return privacy::SeededGenerator(terms.seed).fork("dealer", static_cast<std::uint64_t>(index));
}

// What a party will say of its columns.
Result<MaskedShape> shape_of(const PartyFacts& party, const MaskedSettings& settings, const RunTerms& terms) {
  const bool constant = party.labels && terms.objective.intercept == glm::Intercept::kPenalised;
  return masked_rows(settings, terms.is_private, {party.party, party.row_norm, party.bounds, constant})
      .shape(party.columns);
}

}  // namespace

// ---- what it takes ----

Result<MaskedDescent> MaskedDescent::make(const RunTerms& terms, const MaskedSettings& settings) {
  PARLEY_CHECK(algorithms::check(terms.objective, kRefused));
  PARLEY_CHECK(require(terms.objective.task != glm::Task::kSquaredHinge, "job.task",
                       "masked-descent takes \"logistic\" and \"linear\"", glm::name(terms.objective.task)));
  PARLEY_CHECK(require(terms.parties >= 2 && terms.parties <= 64, "party",
                       "masked-descent needs 2 to 64 parties: a share of one party is the whole", terms.parties));
  PARLEY_CHECK(require(settings.label_share > 0 && settings.label_share < 1, "algorithm.label_share",
                       "must be between 0 and 1", settings.label_share));
  PARLEY_CHECK(require(settings.clip <= 1, "algorithm.clip", "must be at most 1", settings.clip));
  PARLEY_CHECK(require(settings.row_squares.empty() ||
                           (settings.row_squares.size() == static_cast<std::size_t>(terms.parties) &&
                            std::all_of(settings.row_squares.begin(), settings.row_squares.end(), is_positive)),
                       "algorithm.row_squares", "must be a number above 0 for each party",
                       settings.row_squares.size()));
  PARLEY_CHECK(
      require(!terms.label_noise, "labels.noise", "labels never leave their party here; leave it out", "given"));
  return MaskedDescent(terms, settings);
}

Result<void> MaskedDescent::check_private(const RunTerms& terms, const MaskedSettings&) {
  if (terms.neighbours != privacy::Neighbours::kReplaceOne)
    return fail(bad_input({.field = "privacy.neighbours"},
                          "one masked value per record travels, so the number of records is public: replace-one only"));
  return require(!terms.keep_parts, "model.keep_parts", "every part is made of released values here; leave it out",
                 "true");
}

std::vector<Leaving> MaskedDescent::leaves(const RunTerms& terms, const MaskedSettings& settings) {
  const std::string masked = "a mask that is used once, under a seal that only the other party opens; not paid for";
  const std::string each = settings.iterations > 0 ? each_round(settings.iterations) : std::string("in each step");
  const std::string noise = "noise of every party and of the coordinator, paid for from the budget";
  std::vector<Leaving> all = {{"the key of this run, and how many columns there are and how long a row may be",
                               Leaving::Of::kPublic, "the coordinator and the other parties", "once", kUnprotected},
                              {"this party's columns, one number for each person and column", Leaving::Of::kPerson,
                               "the other parties", "once", masked},
                              {"the derivative of the loss, this party's share of one number for each person",
                               Leaving::Of::kPerson, "the other parties", each, masked},
                              {"this party's share of the gradient", Leaving::Of::kTotal, "the first party", each,
                               terms.is_private ? "a mask, under a seal, and " + noise : masked},
                              {"the gradient, of all people and parties together; by the first party",
                               Leaving::Of::kTotal, "the coordinator", each, terms.is_private ? noise : kUnprotected}};
  if (terms.objective.task != glm::Task::kLinear)
    all.insert(all.begin() + 2, {"what its columns add to the score of each person, clipped, one number for each",
                                 Leaving::Of::kPerson, "the other parties", each, masked});
  return all;
}

std::int64_t MaskedDescent::most_steps(const privacy::Target* target, double records) const {
  if (settings_.iterations > 0) return settings_.iterations;
  return target != nullptr ? default_steps(*target, records) : kOpenSteps;
}

std::int64_t MaskedDescent::most_rounds() const {
  return kOnce + kEach * (1 + (settings_.iterations > 0 ? settings_.iterations : kOpenSteps));
}

// Every party charges what the parties release together: the sensitivity of a sum counts the whole record.
Result<void> MaskedDescent::reserve(const ColumnShare& share, Memory& memory, privacy::Gate& gate) const {
  if (share.privacy == nullptr || memory.reserved) return {};
  const PrivateTerms& terms = *share.privacy;
  const std::int64_t steps = most_steps(&terms.target, terms.records());
  PARLEY_TRY(const std::vector<double> noise, masked_noise(settings_, terms.target, steps));
  PARLEY_TRY(const privacy::Event labels, privacy::Gate::shared_event({noise[0], terms_.parties + 1}));
  PARLEY_TRY(const privacy::Event gradient, privacy::Gate::shared_event({noise[1], terms_.parties + 1}));
  PARLEY_CHECK(gate.reserve({.once = {labels}, .step = {gradient}, .steps = steps}, terms.target.delta));
  memory.reserved = true;
  return {};
}

// ---- at the coordinator ----

Result<MaskedDescent::Iterate> MaskedDescent::begin(std::span<const PartyFacts> parties) {
  Iterate first;
  PARLEY_CHECK(require(static_cast<int>(parties.size()) == terms_.parties, "party",
                       "masked-descent needs all parties of the job", parties.size()));
  for (const PartyFacts& party : parties) {
    PARLEY_TRY(const MaskedShape shape, shape_of(party, settings_, terms_));
    first.shapes.push_back(shape);
  }
  steps_ = most_steps(nullptr, 0);
  if (terms_.is_private) {
    // From what the parties charge: of labels once, then of every step; the budget of any may hold fewer of those.
    std::int64_t asked = 0;
    for (const PartyFacts& party : parties) {
      std::vector<double> charged;
      std::int64_t count = -1;
      for (const privacy::Event& event : party.plan.events) {
        const auto* noise = std::get_if<privacy::Gaussian>(&event.mechanism);
        if (noise == nullptr || noise->sensitivity != 1) return fail(failed("a party charges for something else"));
        charged.push_back(noise->sigma);
        count += event.count;
      }
      if (charged.size() == 1) charged.push_back(charged.front());
      if (charged.size() != 2 || (!noise_.empty() && charged != noise_))
        return fail(failed("the parties do not charge for the same releases"));
      steps_ = asked == 0 ? count : std::min(steps_, count);
      asked = std::max(asked, count);
      noise_ = charged;
    }
    cut_short_ = steps_ < asked || (settings_.iterations > 0 && steps_ < settings_.iterations);
  }
  const auto records = static_cast<std::size_t>(parties.front().records);
  PARLEY_TRY(MaskedNumbers numbers, MaskedNumbers::make(settings_, terms_, first.shapes, records, noise_));
  numbers_ = std::make_shared<const MaskedNumbers>(std::move(numbers));
  first.indices = steps_ + 1;
  first.at.point.resize(numbers_->columns);
  first.at.asked = first.at.point;
  first.parameters = first.at.point;
  damping_ = std::max(settings_.damping, 0.0);
  if (terms_.is_private && settings_.damping < 0) {
    // 0.3 sqrt((1 + 1/M) d) B / (mu n): mu of the rounds' noise and their share of the budget.
    const double mu = std::sqrt(static_cast<double>(steps_) / (1 - settings_.label_share)) / noise_[1];
    damping_ = 0.3 * std::sqrt((1 + 1.0 / terms_.parties) * static_cast<double>(numbers_->columns)) *
               std::sqrt(numbers_->squares()) / (mu * static_cast<double>(records));
    // Of labels that are numbers |r| reaches M times as far as they do; of two classes, half as far as they are apart.
    if (is_direct()) damping_ *= 2 * terms_.parties;
  }
  // The largest message: a party's masked columns to every other, or those of all others to it.
  const double largest = static_cast<double>(records) * numbers_->ring_bits / 8 *
                         static_cast<double>(numbers_->columns) * std::max(1, terms_.parties - 1);
  if (largest > static_cast<double>(kMostBytes))
    return fail(
        bad_input({.field = "party"},
                  "holds too many values for one message: records times columns of all parties times bytes of a "
                  "word must stay below 1 GiB",
                  fmt::format("{:.0f}", largest)));
  return first;
}

MaskedRule MaskedDescent::rule() const {
  return {.objective = terms_.objective,
          .l2 = std::max(terms_.objective.l2, damping_),
          .curvature = numbers_->squares() * glm::curvature_bound(terms_.objective.task),
          .steps = steps_,
          .noisy = noisy()};
}

std::size_t MaskedDescent::largest_reply(std::span<const PartyFacts> parties) const {
  std::size_t columns = 0;
  for (const PartyFacts& party : parties) columns = std::max(columns, party.columns + 1);
  const auto records = static_cast<std::size_t>(parties.front().records);
  const std::size_t all = 8 * (records + 64) * std::max<std::size_t>(columns, 1) + 1024;
  return all * std::max<std::size_t>(1, parties.size() - 1) + (std::size_t{1} << 16);
}

// Up: E_k once, then u, f and g of each party to each other; down: what the others sent, and what is dealt.
Forecast MaskedDescent::forecast(std::span<const PartyFacts> parties, std::span<const std::vector<double>>) const {
  const auto others = static_cast<double>(parties.size() - 1), indices = static_cast<double>(steps_ + 1);
  const double q = numbers_->ring_bits / 8.0, p = numbers_->margin_width() / 8.0;
  const auto n = static_cast<double>(numbers_->records), d = static_cast<double>(numbers_->columns);
  const double harmonics = numbers_->series ? numbers_->series->harmonics() : 0;
  Forecast forecast{.rounds = kOnce + kEach * (steps_ + 1)};
  for (std::size_t k = 0; k < parties.size(); ++k) {
    const auto own = static_cast<double>(numbers_->shapes[k].columns);
    const double each = n * (is_direct() ? q : p + q) + 3 * 64;
    const bool opens = k == 0, dealt = k + 1 == parties.size();
    forecast.parties.push_back(
        {.up = others * n * own * q + indices * (others * each + d * (opens ? 8 : q) + kMessage),
         .down = n * (d - own) * q + indices * (others * (each + (opens ? d * q : 0)) + 8 * d + kMessage +
                                                (dealt ? (2 * harmonics * n + d) * q : 0)),
         .messages = forecast.rounds});
  }
  return forecast;
}

Result<void> MaskedDescent::check(const Iterate& iterate, int party, const Reply& reply) const {
  const auto parties = static_cast<std::size_t>(terms_.parties);
  if (iterate.step == kKeys) {
    if (reply.hello.size() != secure::kHelloBytes) return fail(failed("it holds no key"));
    MaskedShape introduced = iterate.shapes[static_cast<std::size_t>(party)];
    introduced.label_bound = is_direct() ? reply.shape.label_bound : 0;
    if (reply.shape != introduced || !is_not_negative(reply.shape.label_bound) || reply.shape.label_bound > kMostLabel)
      return fail(failed("its columns or their bound are not those that the party introduced"));
    return {};
  }
  if (iterate.step == kOpen)
    return reply.opened.size() == numbers_->columns ? Result<void>{}
                                                    : fail(failed("it does not hold one number for each column"));
  if (iterate.step != kEnd && reply.sealed.size() != parties)
    return fail(failed("it does not hold one message for each party"));
  return {};
}

std::shared_ptr<const MaskedNumbers> MaskedDescent::numbers_of(const Iterate& iterate) const {
  if (!is_direct() || iterate.step == kKeys) return numbers_;
  auto made = MaskedNumbers::make(settings_, terms_, iterate.shapes, numbers_->records, noise_);
  return made ? std::make_shared<const MaskedNumbers>(std::move(*made)) : numbers_;  // absorb() looked at it
}

std::optional<MaskedDescent::Task> MaskedDescent::ask(const Iterate& iterate, int party) const {
  const int last = terms_.parties - 1;
  if (iterate.step == kOpen && party != 0) return std::nullopt;
  if (iterate.step == kShare && party == 0) return std::nullopt;
  Task task{.step = iterate.step, .party = party, .index = iterate.index, .indices = iterate.indices};
  if (iterate.step == kKeys) return task;
  const std::shared_ptr<const MaskedNumbers> numbers = numbers_of(iterate);
  const MaskedDealer dealer(iterate.secret, *numbers);
  if (iterate.step == kMatrix) {
    task.hellos = iterate.hellos;
    task.shapes = iterate.shapes;
    task.seed = dealer.seed(party);
    return task;
  }
  const auto sent_to = [&](const std::vector<std::string>& all) {
    std::vector<std::string> own;
    for (int from = 0; from < terms_.parties && !all.empty(); ++from)
      own.push_back(all[static_cast<std::size_t>(from * terms_.parties + party)]);
    return own;
  };
  task.sealed = sent_to(iterate.relayed);
  if (iterate.step == kShare || iterate.step == kOpen) task.agreed = sent_to(iterate.agreed);
  if (iterate.step == kMargins) task.weights = iterate.at.asked;
  if (iterate.step == kEnd) task.weights = iterate.parameters;
  if (party == last && iterate.step == kResidual) task.dealt = dealer.cosines(iterate.index);
  if (party == last && iterate.step == kShare)
    task.dealt = dealer.share(iterate.index, iterate.products ? *iterate.products : dealer.products(iterate.indices),
                              iterate.noise);
  return task;
}

Result<void> MaskedDescent::draw_noise(Iterate& iterate) const {
  if (!noisy()) return {};
  const std::size_t of = iterate.index == 0 ? 0 : 1;
  const auto numbers = numbers_of(iterate);
  const privacy::JointSum& sum = of == 0 ? numbers->labels : numbers->gradient;
  PARLEY_TRY(const double deviation,
             privacy::Gate::shared_deviation(sum.sensitivity(), {noise_[of], terms_.parties + 1}));
  PARLEY_TRY(const auto source, privacy::DiscreteGaussianNoise::make(deviation, privacy::Grain{0}));
  PARLEY_TRY(const auto bits, dealers_bits(terms_, iterate.index + 1));
  iterate.noise.resize(numbers_->columns);
  return privacy::drawn([&]() -> Result<void> {
    source.draw(*bits, iterate.noise);
    return {};
  });
}

Result<MaskedDescent::Iterate> MaskedDescent::absorb(Iterate iterate, const rounds::Answers<Reply>& answers) const {
  const auto parties = static_cast<std::size_t>(terms_.parties);
  const std::size_t asked = iterate.step == kOpen ? 1 : iterate.step == kShare ? parties - 1 : parties;
  if (answers.size() != asked) return fail(failed("masked-descent needs the answers of all parties"));
  iterate.relayed.clear();
  if (iterate.step == kKeys) {
    iterate.shapes.clear();
    for (const auto& answer : answers) {
      iterate.hellos.push_back(answer.reply.hello);
      iterate.shapes.push_back(answer.reply.shape);
    }
    PARLEY_CHECK(MaskedNumbers::make(settings_, terms_, iterate.shapes, numbers_->records, noise_));
    PARLEY_TRY(const auto bits, dealers_bits(terms_, 0));
    PARLEY_TRY(iterate.secret, privacy::drawn([&]() -> Result<std::string> {
                 std::uint64_t words[privacy::kDealtSeedBytes / 8];
                 bits->fill(words);
                 return std::string(reinterpret_cast<const char*>(words), sizeof words);
               }));
    iterate.step = kMatrix;
    PARLEY_CHECK(draw_noise(iterate));
    return iterate;
  }
  if (!iterate.products)
    iterate.products = std::make_shared<const std::vector<std::uint64_t>>(
        MaskedDealer(iterate.secret, *numbers_of(iterate)).products(iterate.indices));
  if (iterate.step == kOpen) {
    PARLEY_CHECK(after_shares(iterate, answers[0].reply.opened));
    return iterate;
  }
  if (iterate.step == kEnd) {
    iterate.told = true;
    return iterate;
  }
  std::vector<std::string>& to = iterate.step == kAgree ? iterate.agreed : iterate.relayed;
  to.assign(parties * parties, {});
  for (const auto& answer : answers)
    for (std::size_t p = 0; p < parties; ++p)
      to[static_cast<std::size_t>(answer.party) * parties + p] = answer.reply.sealed[p];
  // Index 0 has no margins: what opens E_k also sends the labels' residual. Margins that are r are not opened either.
  const bool is_residual = iterate.step == kProducts || (iterate.step == kMargins && is_direct());
  iterate.step = is_residual ? static_cast<int>(kAgree) : iterate.step + 1;
  return iterate;
}

Result<void> MaskedDescent::after_shares(Iterate& iterate, std::span<const std::int64_t> opened) const {
  const auto numbers = numbers_of(iterate);
  std::vector<double> sum(opened.size());
  for (std::size_t c = 0; c < sum.size(); ++c)
    sum[c] = static_cast<double>(privacy::centred(static_cast<std::uint64_t>(opened[c]), numbers->ring_bits)) *
             numbers->unit();
  if (iterate.index == 0) {
    iterate.correlation = std::move(sum);
  } else {
    for (std::size_t c = 0; c < sum.size(); ++c) sum[c] -= iterate.correlation[c];
    masked_step(sum, rule(), iterate.at);
    iterate.parameters = masked_model(rule(), iterate.at);
    iterate.converged = !noisy() && iterate.at.moved <= settings_.tolerance;
  }
  ++iterate.index;
  iterate.step = iterate.index >= iterate.indices || iterate.converged ? kEnd : kMargins;
  return iterate.step == kEnd ? Result<void>{} : draw_noise(iterate);
}

}  // namespace parley::algorithms
