// ADMM sharing against the reference values of ../shared/vectors/vertical.json, round by round.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "parley/algorithms/vertical/admm_sharing.h"
#include "parley/glm/batch.h"
#include "parley/linalg/vectors.h"
#include "tests/algorithms/vertical/sharing_run.h"
#include "tests/support/shared.h"

using namespace parley;
using namespace parley::algorithms;
using Json = nlohmann::json;
using linalg::Index;
using linalg::Matrix;
using Numbers = std::vector<double>;

namespace {

constexpr double kNear = 1e-10;

struct Case {
  glm::Objective objective;
  std::vector<ColumnShare> shares;
  double rho = 0;
  double factor = 1;  // their loss is this times ours, and so are rho and the penalties
};

Case case_of(const Json& each) {
  Case made;
  const auto loss = each.at("loss").get<std::string>();
  made.factor = loss == "sqhinge" ? 0.5 : 1;
  made.objective.task = loss == "squared"    ? glm::Task::kLinear
                        : loss == "logistic" ? glm::Task::kLogistic
                        : loss == "softmax"  ? glm::Task::kSoftmax
                                             : glm::Task::kSquaredHinge;
  if (loss == "softmax") made.objective.classes = each.at("C").get<int>();
  const Json& rows = each.at("A");
  const auto records = static_cast<double>(rows.size());
  const Json& reg = each.at("reg");
  made.objective.l1 = reg.value("l1", 0.0) / records / made.factor;
  made.objective.l2 = reg.value("l2", 0.0) / records / made.factor;
  if (reg.contains("hi")) made.objective.box = reg.at("hi").get<double>();
  made.rho = each.at("rho").get<double>() / made.factor;
  for (const Json& part : each.at("parts")) {
    Numbers values;
    for (const Json& j : part)
      for (const Json& row : rows) values.push_back(row.at(j.get<std::size_t>()).get<double>());
    made.shares.push_back({Matrix::from_dense(static_cast<Index>(rows.size()), static_cast<Index>(part.size()), values),
                           made.shares.empty() ? each.at("y").get<Numbers>() : Numbers{}});
  }
  return made;
}

// Of several classes they have a row for every record or column, we have class by class.
Numbers by_class(const Json& told) {
  if (!told.at(0).is_array()) return told.get<Numbers>();
  Numbers values;
  for (std::size_t k = 0; k < told.at(0).size(); ++k)
    for (const Json& row : told) values.push_back(row.at(k).get<double>());
  return values;
}

// V of (13) where a run stands, with the factor of their loss.
double lyapunov_of(const Case& of, const AdmmSharing::Iterate& at, const std::vector<AdmmSharing::Memory>& memories) {
  const auto records = static_cast<double>(at.labels.size());
  Numbers pull = pull_of(at.sum, at.consensus, at.dual, at.rho), gradient(at.sum.size());
  glm::loss_derivatives(of.objective.task, at.consensus, at.labels, gradient);
  double v = 0;
  for (std::size_t i = 0; i < pull.size(); ++i) {
    v += std::pow(of.factor * (gradient[i] - pull[i]), 2) + std::pow(at.sum[i] - at.consensus[i], 2);
    pull[i] *= of.factor;
  }
  BlockPenalty penalty{of.objective.l1 * records * of.factor, of.objective.l2 * records * of.factor};
  if (of.objective.box) penalty.box = *of.objective.box;
  const std::size_t n = at.labels.size();
  for (std::size_t m = 0; m < memories.size(); ++m)
    for (std::size_t k = 0, width = columns_of(of.shares[m]); k * n < pull.size(); ++k)
      v += block_residual(of.shares[m], penalty, std::span(pull).subspan(k * n, n),
                          std::span(memories[m].weights).subspan(k * width, width));
  return v;
}

}  // namespace

TEST(AdmmVectors, EveryRoundOfEveryForm) {
  const auto shared = test::shared();
  if (!shared) GTEST_SKIP() << "reference values are not here";
  std::ifstream file(*shared / "vectors" / "vertical.json");
  const Json json = Json::parse(file);
  for (const Json& each : json.at("admm"))
    for (const std::string form : {"averaged", "gs", "jacobi"}) {
      const Case of = case_of(each);
      const Json& rounds = each.at(form);
      // One more: a run of the paper's update that ends no better than it began is an error, and some of these are.
      AdmmSettings settings{.rounds = static_cast<int>(rounds.size()) + 1, .rho = of.rho, .tolerance = 0};
      if (form == "gs") settings.order = AdmmSettings::Order::kGaussSeidel;
      if (form == "jacobi") settings.update = AdmmSettings::Update::kPaper;
      settings.stop = AdmmSettings::StopBy::kLyapunov;
      const auto algorithm = AdmmSharing::make(of.objective, settings, static_cast<int>(of.shares.size()));
      ASSERT_TRUE(algorithm) << algorithm.error().message;
      std::int64_t done = 0;
      double v_before = 0;
      tests::run_sharing(*algorithm, algorithm->start(), of.shares, [&](const tests::SharingRun& run) {
        const auto& at = run.iterate;
        if (at.round <= done + 1 || at.round > static_cast<std::int64_t>(rounds.size()) + 1) return;
        const Json& round = rounds.at(static_cast<std::size_t>(done++));
        const std::string where = each.at("id").get<std::string>() + ", " + form + ", round " + std::to_string(done);
        const auto z = by_class(round.at("z")), y = by_class(round.at("y"));
        for (std::size_t i = 0; i < z.size(); ++i) {
          EXPECT_NEAR(at.consensus[i], z[i], kNear) << where;
          EXPECT_NEAR(of.factor * at.dual[i], y[i], kNear) << where;
        }
        double penalty = 0;
        for (std::size_t m = 0; m < of.shares.size(); ++m) {
          const auto x = by_class(round.at("x").at(m));
          for (std::size_t j = 0; j < x.size(); ++j) EXPECT_NEAR(run.memories[m].weights[j], x[j], kNear) << where;
          penalty += glm::penalty_of(of.objective).value(run.memories[m].weights);
        }
        const double f = glm::mean_loss(of.objective.task, at.sum, at.labels) + penalty;
        const auto records = static_cast<double>(at.labels.size());
        EXPECT_NEAR(of.factor * records * f, round.at("f").get<double>(), kNear) << where;
        const double v = lyapunov_of(of, at, run.memories), told = round.at("V").get<double>();
        EXPECT_NEAR(v, told, kNear * std::max(1.0, told)) << where;
        // What the run itself says of it, a round later.
        if (done > 1 && of.factor == 1) {
          EXPECT_NEAR(at.lyapunov, v_before, kNear * std::max(1.0, v_before)) << where;
        }
        v_before = v;
      });
      EXPECT_EQ(done, static_cast<std::int64_t>(rounds.size()));
    }
}
