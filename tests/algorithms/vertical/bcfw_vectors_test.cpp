// Block-coordinate Frank-Wolfe against the reference values of ../shared/vectors/vertical.json, step by step.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "parley/algorithms/exact/exact.h"
#include "parley/algorithms/vertical/bcfw.h"
#include "parley/algorithms/vertical/expected_curvature.h"
#include "parley/algorithms/vertical/private_selection.h"
#include "parley/linalg/vectors.h"
#include "parley/privacy/accounting/conversion.h"
#include "tests/algorithms/federation.h"
#include "tests/support/shared.h"

using namespace parley;
using namespace parley::algorithms;
using Json = nlohmann::json;
using linalg::Index;
using linalg::Matrix;
using Numbers = std::vector<double>;

namespace {

constexpr double kNear = 1e-10;

class VerticalVectors : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto shared = test::shared();
    if (!shared) GTEST_SKIP() << "reference values are not here";
    std::ifstream file(*shared / "vectors" / "vertical.json");
    json_ = Json::parse(file);
  }
  Json json_;
};

glm::Task task_of(const std::string& loss) {
  return loss == "squared" ? glm::Task::kLinear : loss == "logistic" ? glm::Task::kLogistic : glm::Task::kSquaredHinge;
}

// Their squared hinge has a factor 1/2.
double factor_of(const std::string& loss) {
  return loss == "sqhinge" ? 0.5 : 1;
}

std::vector<ColumnShare> shares_of(const Json& rows, const Json& labels, const Json& parts) {
  std::vector<ColumnShare> shares;
  for (const Json& part : parts) {
    Numbers values;
    for (const Json& j : part)
      for (const Json& row : rows) values.push_back(row.at(j.get<std::size_t>()).get<double>());
    shares.push_back({Matrix::from_dense(static_cast<Index>(rows.size()), static_cast<Index>(part.size()), values),
                      shares.empty() ? labels.get<Numbers>() : Numbers{}});
  }
  return shares;
}

std::vector<PartyFacts> facts_of(const std::vector<ColumnShare>& shares) {
  std::vector<PartyFacts> facts;
  for (std::size_t k = 0; k < shares.size(); ++k)
    facts.push_back({.party = static_cast<int>(k),
                     .records = shares[k].features.rows(),
                     .columns = static_cast<std::size_t>(shares[k].features.cols()),
                     .labels = !shares[k].labels.empty()});
  return facts;
}

Numbers radii_of(const Json& eta, std::size_t count) {
  return eta.is_array() ? eta.get<Numbers>() : Numbers(count, eta.get<double>());
}

}  // namespace

TEST_F(VerticalVectors, IteratesUnderGivenSets) {
  for (const Json& each : json_.at("bcfw"))
    for (const bool universal : {true, false}) {
      const auto domain = each.at("domain").get<std::string>(), loss = each.at("loss").get<std::string>();
      const auto shares = shares_of(each.at("A"), each.at("y"), each.at("parts"));
      RunTerms terms{.objective = {.task = task_of(loss)}, .parties = static_cast<int>(shares.size())};
      BcfwSettings settings{.iterations = 5};
      settings.step = universal ? BcfwSettings::Step::kUniversal : BcfwSettings::Step::kLineSearch;
      if (domain == "box") terms.objective.box = 1;
      if (domain != "box") terms.objective.l1_radius = 1;
      if (domain == "global") settings.ball = BcfwSettings::Ball::kGlobal;
      if (domain != "party") settings.blocks = BcfwSettings::Blocks::kCoordinates;
      settings.radii = radii_of(each.at("eta"), 1);
      auto algorithm = Bcfw::make(terms, settings);
      ASSERT_TRUE(algorithm) << algorithm.error().message;
      auto begun = algorithm->begin(facts_of(shares));
      ASSERT_TRUE(begun) << begun.error().message;
      algorithm->replace(BlockSampling::in_turn(each.at("sets").get<std::vector<std::vector<std::size_t>>>(),
                                                each.at("p_min").get<double>()));
      const Json& rounds = each.at(universal ? "universal" : "linesearch");
      std::int64_t done = 0;
      const auto last = tests::federate(*algorithm, *begun, shares, [&](const Bcfw::Iterate& iterate) {
        if (iterate.step == done) return;
        const Json& round = rounds.at(static_cast<std::size_t>(done++));
        const auto x = round.at("x").get<Numbers>();
        const std::string where =
            each.at("id").get<std::string>() + (universal ? "" : ", line search") + ", round " + std::to_string(done);
        for (std::size_t j = 0; j < x.size(); ++j) EXPECT_NEAR(iterate.parameters[j], x[j], kNear) << where;
        // Where nothing moves every length is as good.
        const bool moves = done < 2 || rounds.at(static_cast<std::size_t>(done - 2)).at("x") != round.at("x");
        EXPECT_TRUE(!moves || std::abs(iterate.gamma - round.at("gamma").get<double>()) <= kNear) << where;
        EXPECT_NEAR(factor_of(loss) * iterate.objective, round.at("F").get<double>(), kNear) << where;
      });
      ASSERT_TRUE(last) << last.error().message;
      EXPECT_EQ(done, 5);
    }
}

// `exact` has one size for all parts of a set: columns are measured in units of their own sizes.
TEST_F(VerticalVectors, OptimaOfTheSets) {
  for (const Json& each : json_.at("bcfw")) {
    const auto domain = each.at("domain").get<std::string>(), loss = each.at("loss").get<std::string>();
    const Numbers eta = radii_of(each.at("eta"), 1), labels = each.at("y").get<Numbers>();
    const auto optimum = each.at("xopt").get<Numbers>();
    glm::Objective objective{.task = task_of(loss)};
    Numbers unit(optimum.size());
    if (domain == "box") {
      objective.box = 1;
      unit = eta;
    } else {
      const Json parts = domain == "party" ? each.at("parts") : Json::array({Json::array()});
      for (const Json& part : parts)
        objective.l1_groups.push_back(static_cast<int>(domain == "party" ? part.size() : optimum.size()));
      objective.l1_radius = static_cast<double>(objective.l1_groups.size());
      std::size_t j = 0;
      for (std::size_t k = 0; k < objective.l1_groups.size(); ++k)
        for (int c = 0; c < objective.l1_groups[k]; ++c) unit[j++] = eta[k];
    }
    Numbers values;
    for (std::size_t j = 0; j < unit.size(); ++j)
      for (const Json& row : each.at("A")) values.push_back(row.at(j).get<double>() * unit[j]);
    const Matrix features =
        Matrix::from_dense(static_cast<Index>(labels.size()), static_cast<Index>(unit.size()), values);
    const auto fit = exact({features, labels, objective}, {.tolerance = 1e-14}, {});
    ASSERT_TRUE(fit) << fit.error().message;
    EXPECT_NEAR(factor_of(loss) * fit->objective, each.at("optimum").get<double>(), kNear) << each.at("id");
    for (std::size_t j = 0; j < unit.size(); ++j)
      EXPECT_NEAR(fit->weights[j] * unit[j], optimum[j], 1e-6) << "values are flat where weights are not";
  }
}

TEST_F(VerticalVectors, SmallestProbabilitiesByDefinitionAndAsPrinted) {
  const Json& pmin = json_.at("pmin");
  for (const Json& each : pmin.at("balanced")) {
    const auto d = each.at("d").get<std::size_t>(), parties = each.at("K").get<std::size_t>();
    const auto tau = each.at("tau").get<double>();
    const std::vector<std::size_t> blocks(parties, d / parties);
    const auto at = [&](Sampling kind, Numbers of) {
      return *BlockSampling::make({.kind = kind, .tau = std::move(of)}, blocks, 1);
    };
    EXPECT_NEAR(at(Sampling::kAll, {}).p_min(), each.at("elementary").get<double>(), kNear);
    EXPECT_NEAR(at(Sampling::kUniformSerial, {}).p_min(), each.at("uniform_serial").get<double>(), kNear);
    EXPECT_NEAR(at(Sampling::kTauNice, {tau}).p_min(), each.at("tau_nice").get<double>(), kNear);
    EXPECT_NEAR(at(Sampling::kDistributed, {tau}).p_min(), each.at("K_tau_distributed").get<double>(), kNear);
    EXPECT_NEAR(at(Sampling::kDistributed, {tau}).printed_p_min(), each.at("table_III_printed").get<double>(), kNear);
  }
  for (const Json& each : pmin.at("stratified")) {
    const auto made = BlockSampling::make({.kind = Sampling::kStratified, .tau = each.at("tau").get<Numbers>()},
                                          each.at("sizes").get<std::vector<std::size_t>>(), 1);
    ASSERT_TRUE(made);
    EXPECT_NEAR(made->p_min(), each.at("pmin").get<double>(), kNear);
  }
  const auto importance = BlockSampling::make(
      {.kind = Sampling::kImportance, .probabilities = pmin.at("importance_serial").at("p").get<Numbers>()},
      std::vector<std::size_t>{4}, 1);
  ASSERT_TRUE(importance);
  EXPECT_NEAR(importance->p_min(), pmin.at("importance_serial").at("pmin").get<double>(), kNear);
  const auto sets_of = [](const Json& custom, Numbers& probabilities) {
    std::vector<Numbers> sets;
    for (const Json& set : custom.at("sets")) {
      sets.push_back(set.at(0).get<Numbers>());
      for (double& block : sets.back()) block += 1;
      probabilities.push_back(set.at(1).get<double>());
    }
    return sets;
  };
  // Blocks that are taken independently of each other: every set with its probability.
  const auto taken = pmin.at("importance_bernoulli").at("p").get<Numbers>();
  ASSERT_EQ(taken.back(), 1.0) << "no round is empty";
  SamplingSettings independent{.kind = Sampling::kCustom};
  for (unsigned members = 4; members < 8; ++members) {
    double probability = 1;
    std::vector<double> set;
    for (std::size_t i = 0; i < 3; ++i) {
      const bool in = (members >> i & 1U) != 0;
      probability *= in ? taken[i] : 1 - taken[i];
      if (in) set.push_back(static_cast<double>(i + 1));
    }
    independent.probabilities.push_back(probability);
    independent.sets.push_back(set);
  }
  const auto bernoulli = BlockSampling::make(independent, std::vector<std::size_t>{3}, 1);
  ASSERT_TRUE(bernoulli);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(bernoulli->inclusion()[i], taken[i], kNear);
  EXPECT_NEAR(bernoulli->p_min(), pmin.at("importance_bernoulli").at("pmin").get<double>(), kNear);
  Numbers probabilities;
  auto sets = sets_of(pmin.at("custom"), probabilities);
  const auto custom = BlockSampling::make({.kind = Sampling::kCustom, .probabilities = probabilities, .sets = sets},
                                          std::vector<std::size_t>{5}, 1);
  ASSERT_TRUE(custom);
  const auto p = pmin.at("custom").at("p").get<Numbers>();
  for (std::size_t i = 0; i < p.size(); ++i) EXPECT_NEAR(custom->inclusion()[i], p[i], kNear);
  EXPECT_NEAR(custom->p_min(), pmin.at("custom").at("pmin").get<double>(), kNear);
  probabilities.clear();
  sets = sets_of(pmin.at("improper"), probabilities);
  EXPECT_FALSE(BlockSampling::make({.kind = Sampling::kCustom, .probabilities = probabilities, .sets = sets},
                                   std::vector<std::size_t>{3}, 1));
}

TEST_F(VerticalVectors, ExpectedCurvatureAndItsBounds) {
  for (const Json& each : json_.at("curvature")) {
    const Json& rows = each.at("A");
    Numbers values;
    for (std::size_t j = 0; j < rows.at(0).size(); ++j)
      for (const Json& row : rows) values.push_back(row.at(j).get<double>());
    const Matrix features =
        Matrix::from_dense(static_cast<Index>(rows.size()), static_cast<Index>(rows.at(0).size()), values);
    const auto eta = each.at("eta").get<Numbers>();
    std::vector<std::size_t> parties;
    for (const Json& part : each.at("parts")) parties.push_back(part.size());
    const CurvatureProblem problem{features, eta, parties};
    for (const Json& one : each.at("cases")) {
      const auto name = one.at("sampling").get<std::string>();
      SamplingSettings settings;
      if (name == "uniform_serial") settings.kind = Sampling::kUniformSerial;
      if (name.starts_with("nice")) settings = {.kind = Sampling::kTauNice, .tau = {std::stod(name.substr(4))}};
      if (name.starts_with("dist")) settings = {.kind = Sampling::kDistributed, .tau = {std::stod(name.substr(4))}};
      const auto sampling = BlockSampling::make(settings, parties, 1);
      ASSERT_TRUE(sampling) << name;
      EXPECT_NEAR(sampling->p_min(), one.at("pmin").get<double>(), kNear) << name;
      const auto exact = expected_curvature(problem, *sampling);
      const auto bounds = curvature_bounds(problem, *sampling);
      ASSERT_TRUE(exact && bounds);
      EXPECT_NEAR(*exact, one.at("C_exact").get<double>(), kNear) << name;
      if (name == "elementary") {
        EXPECT_NEAR(*exact, each.at("C_f").get<double>(), kNear);
      }
      EXPECT_NEAR(bounds->proposition_1, one.at("prop1").get<double>(), kNear) << name;
      EXPECT_NEAR(bounds->sigma_pairs, one.at("sigma_P").get<double>(), kNear) << name;
      EXPECT_NEAR(bounds->sigma_gram, one.at("sigma_AtA").get<double>(), kNear) << name;
      EXPECT_NEAR(bounds->mu_1, each.at("mu1").get<double>(), kNear);
      EXPECT_NEAR(bounds->mu_2, each.at("mu2_all").get<double>(), kNear);
      EXPECT_NEAR(bounds->mu_2_within, each.at("mu2_within").get<double>(), kNear);
      EXPECT_NEAR(bounds->mu_3, each.at("mu3").get<double>(), kNear);
      EXPECT_NEAR(bounds->product, each.at("C_prod").get<double>(), kNear);
      EXPECT_LE(*exact, bounds->proposition_1 * (1 + 1e-12));
      if (const Json& told = one.at("prop3_or_4"); !told.is_null()) {
        const double bound = bounds->proposition_3 ? *bounds->proposition_3 : bounds->proposition_4.value_or(0);
        EXPECT_NEAR(bound, told.get<double>(), kNear) << name;
        EXPECT_LE(*exact, bound * (1 + 1e-12));
      }
    }
  }
}

// (7) holds in the mean over runs, with the exact curvature and p_min by its definition; with a p_min above it, it does
// not (vertical.md: 0.031 where the bound says 0.0005).
TEST(ConvergenceBound, HoldsForEverySamplingWithItsSmallestProbability) {
  const Index n = 12, d = 6;
  Numbers values, labels(static_cast<std::size_t>(n));
  for (Index at = 0; at < n * d; ++at) values.push_back(std::sin(1.3 * at) + 0.3 * std::cos(7.1 * at));
  const Matrix features = Matrix::from_dense(n, d, values);
  for (Index i = 0; i < n; ++i) labels[static_cast<std::size_t>(i)] = 2 * std::sin(2.9 * i);
  const std::vector<ColumnShare> shares = {{features, labels}};
  const Numbers eta(static_cast<std::size_t>(d), 0.7);
  const std::vector<std::size_t> parties = {static_cast<std::size_t>(d)};
  RunTerms terms{.objective = {.task = glm::Task::kLinear, .box = 0.7}, .parties = 1};
  const auto reached = [&](BcfwSettings settings, std::uint64_t seed) {
    terms.seed = seed;
    settings.blocks = BcfwSettings::Blocks::kCoordinates;
    auto algorithm = Bcfw::make(terms, settings);
    auto last = tests::federate(*algorithm, *algorithm->begin(facts_of(shares)), shares);
    EXPECT_TRUE(last);
    return last->objective;
  };
  const double best = reached({.iterations = 4000, .step = BcfwSettings::Step::kLineSearch}, 1);
  const double first = 0.5 * linalg::squared_norm(labels) / n - best;
  const std::vector<SamplingSettings> samplings = {
      {.kind = Sampling::kAll},
      {.kind = Sampling::kUniformSerial},
      {.kind = Sampling::kTauNice, .tau = {2}},
      {.kind = Sampling::kImportance, .probabilities = {.05, .1, .15, .2, .25, .25}},
      {.kind = Sampling::kCustom, .probabilities = {.4, .6}, .sets = {{1, 2, 3}, {3, 4, 5, 6}}}};
  for (const SamplingSettings& settings : samplings) {
    const auto sampling = BlockSampling::make(settings, parties, 1);
    const double curvature = *expected_curvature({features, eta, parties}, *sampling);
    for (const int steps : {5, 50, 200}) {
      double mean = 0;
      for (std::uint64_t seed = 0; seed < 20; ++seed)
        mean += reached({.iterations = steps, .sampling = settings}, seed) / 20;
      EXPECT_LE(mean - best, convergence_bound(first, curvature, sampling->p_min(), steps));
    }
  }
}

TEST_F(VerticalVectors, SketchedStatesAndScores) {
  const Json& sketch = json_.at("sketch");
  const auto parts = sketch.at("parts").get<std::vector<std::vector<std::size_t>>>();
  const std::size_t n = sketch.at("A").size();
  Numbers map;
  for (const Json& row : sketch.at("J"))
    for (const Json& entry : row) map.push_back(entry.get<double>());
  const FeatureSpace space = FeatureSpace::of(n, map);
  EXPECT_NEAR(space.column_norm(), sketch.at("c_J").get<double>(), 1e-12);
  const auto shares = shares_of(sketch.at("A"), sketch.at("y"), sketch.at("parts"));
  for (const Json& run : sketch.at("runs")) {
    const auto loss = run.at("loss").get<std::string>();
    RunTerms terms{.objective = {.task = task_of(loss), .l1_radius = 1}, .parties = 2};
    auto algorithm = Bcfw::make(terms, {.iterations = static_cast<int>(run.at("rounds").size()),
                                        .radii = Numbers(2, sketch.at("eta_per_party").get<double>()),
                                        .sketch = 3});
    ASSERT_TRUE(algorithm);
    Bcfw::Iterate iterate = *algorithm->begin(facts_of(shares));
    algorithm->replace(FeatureSpace::of(n, map));
    auto told = tests::absorbed(*algorithm, iterate, {{0, {.labels = shares[0].labels}}, {1, {}}});
    ASSERT_TRUE(told) << told.error().message;
    iterate = *told;
    std::vector<std::vector<Index>> sent(2);
    for (const Json& round : run.at("rounds")) {
      // Their states are a mean over n, ours are sums. What a private party clips is clipped here.
      const double most = run.at("R").get<double>() / static_cast<double>(n) / factor_of(loss);
      for (double& each : iterate.derivative) each = std::clamp(each, -most, most);
      const auto v = round.at("v").get<Numbers>();
      for (std::size_t i = 0; i < n; ++i) EXPECT_NEAR(factor_of(loss) * iterate.derivative[i], v[i], kNear) << loss;
      const auto scores = round.at("scores").get<Numbers>();
      for (std::size_t k = 0; k < 2; ++k)
        for (std::size_t c = 0; c < parts[k].size(); ++c)
          EXPECT_NEAR(factor_of(loss) * shares[k].features.column_dot(static_cast<Index>(c), iterate.derivative),
                      scores[parts[k][c]], kNear)
              << loss;
      EXPECT_NEAR(factor_of(loss) * linalg::linf_norm(iterate.derivative), round.at("max_abs_v").get<double>(), kNear);
      std::vector<rounds::Answer<Bcfw::Reply>> answers;
      for (std::size_t k = 0; k < 2; ++k) {
        const auto chosen = round.at("chosen_index_sign").at(k).get<std::vector<int>>();
        const auto j = static_cast<std::size_t>(chosen[0]);
        const auto local = static_cast<Index>(std::find(parts[k].begin(), parts[k].end(), j) - parts[k].begin());
        Bcfw::Reply reply;
        reply.picks = {(local + 1) * chosen[1]};
        if (std::find(sent[k].begin(), sent[k].end(), local) == sent[k].end()) {
          Numbers column = space.numbers_of(shares[k], static_cast<std::size_t>(local));
          const auto noise = sketch.at("xi_per_feature").at(j).get<Numbers>();
          for (std::size_t p = 0; p < column.size(); ++p) column[p] += noise[p];
          reply.features = {packed(local, column, 1, linalg::Storage::kFloat64)};
          sent[k].push_back(local);
        }
        answers.push_back({static_cast<int>(k), reply});
        Bcfw::Memory memory;
        auto gate = privacy::Gate::without_privacy(privacy::Unprotected{});
        const auto own = algorithm->answer(*algorithm->ask(iterate, static_cast<int>(k)), shares[k], memory, gate);
        ASSERT_TRUE(own);
        EXPECT_EQ(own->value().picks, reply.picks) << loss << ": the party finds the same column";
      }
      auto next = tests::absorbed(*algorithm, iterate, answers);
      ASSERT_TRUE(next) << next.error().message;
      iterate = *next;
      const auto x = round.at("x").get<Numbers>(), q = round.at("qhat").get<Numbers>();
      for (std::size_t j = 0; j < x.size(); ++j) EXPECT_NEAR(iterate.parameters[j], x[j], kNear) << loss;
      for (std::size_t p = 0; p < q.size(); ++p)
        EXPECT_NEAR(iterate.state[p] / static_cast<double>(n), q[p], kNear) << loss;
    }
  }
}

TEST_F(VerticalVectors, NoiseOfThePrivateRun) {
  for (const Json& each : json_.at("dp_calibration")) {
    const auto get = [&](const char* key) { return each.at(key).get<double>(); };
    const double rho = privacy::accounting::zcdp_within(get("eps"), get("delta"));
    EXPECT_NEAR(rho, get("rho"), 1e-9 * get("rho"));  // ours is rounded down
    const SelectionShape shape{
        .records = get("n"), .columns = get("d") / get("K"), .parties = static_cast<int>(get("K"))};
    const double steps = get("T"), share = get("share");
    const double e0 = selection_epsilon(get("rho"), share, shape.parties, steps);
    EXPECT_NEAR(e0, get("e0"), kNear * get("e0"));
    EXPECT_NEAR(2 * (2 / shape.records) / e0, get("gumbel_scale"), kNear);
    EXPECT_NEAR(column_deviation(get("rho"), share, shape, steps - 1), get("sigma_feature"),
                kNear * get("sigma_feature"));
    EXPECT_NEAR(noise_floor(get("rho"), share, shape, steps), get("noise_floor"), kNear);
  }
}
