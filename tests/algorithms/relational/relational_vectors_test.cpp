// Every epoch of relational ADMM against the shared reference values.
#include <gtest/gtest.h>

#include <cmath>

#include "parley/algorithms/relational/key_exchange.h"
#include "parley/algorithms/relational/relational_admm.h"
#include "tests/algorithms/federation.h"
#include "tests/algorithms/relational/reference_joins.h"

using namespace parley;
using namespace parley::algorithms;
using parley::tests::ReferenceJoin;

namespace {

constexpr double kEpochTolerance = 1e-10;  // the reference was computed with other linear algebra
constexpr double kOptimumTolerance = 1e-9;

void expect_near(const std::vector<double>& got, const std::vector<double>& expected, double tolerance,
                 const std::string& what) {
  ASSERT_EQ(got.size(), expected.size()) << what;
  for (std::size_t k = 0; k < got.size(); ++k) ASSERT_NEAR(got[k], expected[k], tolerance) << what << " at " << k;
}

// One party's weights, message by message, with what the test looks at in between.
struct Training {
  const ReferenceJoin& join;
  RelationalAdmm algorithm;
  RelationalAdmm::Iterate iterate;
  std::vector<RelationalAdmm::Memory> memories;

  static Training of(const ReferenceJoin& join, const RelationalSettings& settings) {
    auto algorithm = RelationalAdmm::make(tests::terms_of(join.objective, join.tables), settings);
    EXPECT_TRUE(algorithm) << algorithm.error().message;
    auto first = algorithm->begin(tests::facts_of(join.shares, join.tables));
    Training run{join, std::move(*algorithm), std::move(*first),
                 std::vector<RelationalAdmm::Memory>(join.shares.size())};
    run.round();  // the keys
    return run;
  }

  void round() {
    std::vector<rounds::Answer<RelationalAdmm::Reply>> answers;
    for (std::size_t p = 0; p < memories.size(); ++p) {
      const auto task = algorithm.ask(iterate, static_cast<int>(p));
      if (!task) continue;
      auto gate = privacy::Gate::without_privacy(privacy::Unprotected{});
      const auto reply = algorithm.answer(*task, join.shares[p], memories[p], gate);
      ASSERT_TRUE(reply) << reply.error().message;
      answers.push_back({static_cast<int>(p), reply->value()});
    }
    auto next = tests::absorbed(algorithm, iterate, answers);
    ASSERT_TRUE(next) << next.error().message;
    iterate = std::move(*next);
  }

  void expect_weights(const nlohmann::json& theta, double tolerance, const std::string& what) const {
    for (std::size_t i = 0; i < memories.size(); ++i)
      expect_near(
          memories[i].weights,
          tests::by_class(tests::numbers(theta.at(join.table(i))), static_cast<std::size_t>(join.objective.classes)),
          tolerance, what + " of " + join.table(i));
  }
};

// Of used tuples alone: rows of the reference's n x c values that a slot has.
std::vector<double> of_slots(const std::vector<double>& by_tuple, const JoinedTable& rows, std::size_t classes) {
  std::vector<double> out;
  for (const linalg::Index tuple : rows.tuples)
    for (std::size_t k = 0; k < classes; ++k) out.push_back(by_tuple[static_cast<std::size_t>(tuple) * classes + k]);
  return out;
}

class ReferenceJoins : public testing::Test {
 protected:
  void SetUp() override {
    joins_ = tests::reference_joins();
    if (joins_.empty()) GTEST_SKIP() << "the shared reference values are not here";
  }
  std::vector<ReferenceJoin> joins_;
};

TEST_F(ReferenceJoins, HaveTheExpectedRowsAndCounts) {
  for (const ReferenceJoin& join : joins_) {
    const Training run = Training::of(join, {.rho = join.values.at("rho")});
    for (std::size_t i = 0; i < join.shares.size(); ++i) {
      const JoinedTable& rows = run.iterate.tables[i].rows;
      const std::vector<double> p = tests::numbers(join.values.at("p").at(join.table(i)));
      ASSERT_EQ(rows.slots.size(), p.size());
      for (std::size_t j = 0; j < p.size(); ++j) {
        const double tuple =
            rows.slots[j] < 0 ? -1 : static_cast<double>(rows.tuples[static_cast<std::size_t>(rows.slots[j])]);
        EXPECT_EQ(tuple, p[j]) << join.name() << " " << join.table(i) << " row " << j;
      }
      std::vector<double> uses(tests::numbers(join.values.at("G").at(join.table(i))));
      for (std::size_t t = 0; t < rows.tuples.size(); ++t) {
        EXPECT_EQ(rows.uses[t], uses[static_cast<std::size_t>(rows.tuples[t])]);
        uses[static_cast<std::size_t>(rows.tuples[t])] = 0;
      }
      EXPECT_EQ(std::count(uses.begin(), uses.end(), 0.0), static_cast<std::ptrdiff_t>(uses.size()));
    }
  }
}

TEST_F(ReferenceJoins, GiveTheExpectedEpochs) {
  for (const ReferenceJoin& join : joins_) {
    const auto classes = static_cast<std::size_t>(join.objective.classes);
    Training run = Training::of(join, {.tolerance = 0, .rho = join.values.at("rho"), .relaxation = 1});
    for (const auto& epoch : join.values.at("admm")) {
      const std::string at = join.name() + " epoch " + epoch.at("epoch").dump();
      expect_near(run.iterate.dual, tests::numbers(epoch.at("lam")), kEpochTolerance, at + " lambda");
      for (std::size_t i = 0; i < join.shares.size(); ++i)
        expect_near(run.iterate.tables[i].sums,
                    of_slots(tests::numbers(epoch.at("Y").at(join.table(i))), run.iterate.tables[i].rows, classes),
                    kEpochTolerance, at + " Y of " + join.table(i));
      run.round();
      run.expect_weights(epoch.at("theta"), kEpochTolerance, at + " theta");
      for (std::size_t i = 0; i < join.shares.size(); ++i)
        expect_near(run.iterate.tables[i].values,
                    of_slots(tests::numbers(epoch.at("h").at(join.table(i))), run.iterate.tables[i].rows, classes),
                    kEpochTolerance, at + " h of " + join.table(i));
      EXPECT_NEAR(*run.algorithm.objective(run.iterate), epoch.at("objective").get<double>(), kEpochTolerance) << at;
    }
  }
}

TEST_F(ReferenceJoins, GiveTheExpectedRelaxedAndMajorisedEpochs) {
  for (const ReferenceJoin& join : joins_)
    for (const auto& [update, values] :
         {std::pair{TableUpdate::kRelaxed, "relaxed_1_6"}, std::pair{TableUpdate::kMajorised, "mm_accelerated"}}) {
      Training run = Training::of(join, {.tolerance = 0, .rho = join.values.at("rho"), .update = update});
      const std::string at = join.name() + " " + values;
      for (const double objective : tests::numbers(join.values.at(values).at("objectives"))) {
        run.round();
        EXPECT_NEAR(*run.algorithm.objective(run.iterate), objective, kEpochTolerance) << at;
      }
      run.expect_weights(join.values.at(values).at("theta_after_3"), kEpochTolerance, at);
    }
}

TEST_F(ReferenceJoins, ReachARelativeErrorInTheExpectedEpoch) {
  for (const ReferenceJoin& join : joins_)
    for (const auto& [settings, values] :
         {std::pair{RelationalSettings{.tolerance = 0, .relaxation = 1}, join.values.at("epochs_to_relative_error")},
          std::pair{RelationalSettings{.tolerance = 0}, join.values.at("relaxed_1_6").at("epochs_to_relative_error")},
          std::pair{RelationalSettings{.tolerance = 0, .update = TableUpdate::kMajorised},
                    join.values.at("mm_accelerated").at("epochs_to_relative_error")}}) {
      RelationalSettings own = settings;
      own.rho = join.values.at("rho");
      Training run = Training::of(join, own);
      const double optimum = join.values.at("optimum").at("objective");
      for (const auto& [error, expected] : values.items()) {
        if (!expected.is_number()) continue;
        while ((*run.algorithm.objective(run.iterate) - optimum) / optimum > std::stod(error)) {
          run.round();
          ASSERT_LE(run.iterate.epoch, expected.get<int>()) << join.name() << " " << error;
        }
        EXPECT_EQ(run.iterate.epoch, expected.get<int>()) << join.name() << " " << error;
      }
    }
}

TEST_F(ReferenceJoins, ConvergeToTheOptimumInEveryOrder) {
  for (const ReferenceJoin& join : joins_)
    for (const RelationalSettings& settings :
         {RelationalSettings{.epochs = 20000, .tolerance = 1e-12},
          RelationalSettings{.epochs = 20000, .tolerance = 1e-12, .order = TableOrder::kGaussSeidel},
          RelationalSettings{.epochs = 20000, .tolerance = 1e-12, .update = TableUpdate::kMajorised}}) {
      Training run = Training::of(join, settings);
      while (!run.algorithm.done(run.iterate)) run.round();
      EXPECT_TRUE(run.algorithm.converged(run.iterate)) << join.name();
      EXPECT_NEAR(*run.algorithm.objective(run.iterate), join.values.at("optimum").at("objective").get<double>(),
                  1e-12);
      run.expect_weights(join.values.at("optimum").at("theta"), kOptimumTolerance, join.name() + " optimum");
    }
}

TEST_F(ReferenceJoins, DoNotDependOnTheReductions) {
  for (const ReferenceJoin& join : joins_) {
    Training reduced = Training::of(join, {.tolerance = 0});
    for (int epoch = 0; epoch < 5; ++epoch) reduced.round();
    for (const auto& [rows, bytes] : {std::pair{false, true}, std::pair{true, false}, std::pair{false, false}}) {
      Training run = Training::of(join, {.tolerance = 0, .reduce_rows = rows, .reduce_bytes = bytes});
      for (int epoch = 0; epoch < 5; ++epoch) run.round();
      for (std::size_t i = 0; i < join.shares.size(); ++i) {
        expect_near(run.memories[i].weights, reduced.memories[i].weights, kEpochTolerance, join.name());
        expect_near(run.iterate.tables[i].values, reduced.iterate.tables[i].values, kEpochTolerance, join.name());
      }
    }
  }
}

}  // namespace
