// Every reference optimum of ../shared/vectors/optima.json whose loss this project has must be reached,
// to 1e-8 of its value, and the reported gap must cover the difference.
//
// The quick tests take the records whose data are small; PARLEY_LONG=1 takes all of them.
// labels: slow
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "optima_data.h"
#include "parley/algorithms/exact/exact.h"
#include "parley/core/threads.h"
#include "tests/support/sanitized.h"
#include "tests/support/shared.h"

using namespace parley;
using algorithms::exact;
using glm::Task;
using nlohmann::json;

namespace {

// "logistic+L2" -> the objective; none for losses that this project does not have.
std::optional<glm::Objective> objective_of(const json& record) {
  const auto kind = record.at("objective").get<std::string>();
  glm::Objective objective;
  const auto begins = [&](const char* word) { return kind.rfind(word, 0) == 0; };
  const auto has = [&](const char* word) { return kind.find(word) != std::string::npos; };
  if (begins("logistic"))
    objective.task = Task::kLogistic;
  else if (begins("least squares"))
    objective.task = Task::kLinear;
  else if (begins("squared_hinge"))
    objective.task = Task::kSquaredHinge;
  else if (begins("softmax"))
    objective.task = Task::kSoftmax;
  else
    return std::nullopt;
  if (has("+L1")) objective.l1 = record.at("lambda").get<double>();
  if (has("+L2")) objective.l2 = record.at("lambda").get<double>();
  if (has("L1 ball")) objective.l1_radius = record.at("eta").get<double>();
  const auto preprocessing = record.at("preprocessing").get<std::string>();
  if (preprocessing.find("npenalised intercept") != std::string::npos ||
      preprocessing.find("NPENALISED intercept") != std::string::npos)
    objective.intercept = glm::Intercept::kFree;
  return objective;
}

// The name under which optima_data prepares the record's data.
std::string set_of(const json& record) {
  auto id = record.at("id").get<std::string>();
  if (id.rfind("baseline/", 0) == 0) {
    const auto features = record.at("features").get<std::string>();
    return features == "all 123" ? "a9a" : features.find("66") != std::string::npos ? "a9a/first66" : "a9a/first67";
  }
  const std::size_t guest = id.find(']');
  const auto dataset = record.at("dataset").get<std::string>();
  if (dataset == "ml-latest-small" && id.find("logistic") != std::string::npos) return "ml-latest-small/classes";
  return guest == std::string::npos ? dataset : id.substr(0, guest + 1);
}

const std::set<std::string> kSlow{"mnist",
                                  "mnist-4v9",
                                  "news20",
                                  "news20-b",
                                  "covtype",
                                  "gisette-standin",
                                  "gisette-standin[first2000]",
                                  "arcene",
                                  "dorothea",
                                  "w8a",
                                  "ijcnn1",
                                  "tpch-sf0.01",
                                  "fate/default_credit_hetero",
                                  "fate/default_credit_hetero[guest-only]",
                                  "reuters",
                                  "rcv1_small",
                                  "reuters-acq",
                                  "madelon",
                                  "BASEHOCK",
                                  "PCMAC",
                                  "RELATHE",
                                  "ml-latest-small",
                                  "ml-latest-small/classes",
                                  "duke-west",
                                  "leukemia"};

json records() {
  std::ifstream file(*test::shared() / "vectors/optima.json");
  return json::parse(file).at("records");
}

constexpr int kSmallSmooth = 106;  // records

struct Outcome {
  int reached = 0;
  int without_loss = 0;
};

void reach(const json& record, const optima::Prepared& data, Outcome& outcome) {
  SCOPED_TRACE(record.at("id").get<std::string>());
  auto objective = *objective_of(record);
  objective.classes = objective.task == Task::kSoftmax ? data.classes : 1;
  ASSERT_EQ(data.features.rows(), record.value("n", data.features.rows()));
  ASSERT_EQ(data.features.cols(), record.value("d", data.features.cols()));
  const auto fit = exact({data.features, data.labels, objective}, {}, {});
  ASSERT_TRUE(fit) << fit.error().message;
  const double optimum = std::stod(record.at("optimum").get<std::string>());
  EXPECT_EQ(fit->stop, algorithms::Stop::kConverged) << "gap " << fit->gap;
  EXPECT_NEAR(fit->objective, optimum, 1e-8 * optimum);
  EXPECT_LE(fit->objective - optimum, fit->gap + 1e-13 * optimum);
  if (std::abs(fit->objective - optimum) <= 1e-8 * optimum) ++outcome.reached;
}

bool is_smooth(const json& record) {
  const auto objective = objective_of(record);
  return objective && objective->l1 == 0 && !objective->l1_radius;
}

bool is_small(const json& record) {
  return kSlow.count(set_of(record)) == 0;
}

// Set by set, so that each file is read once and the memory of one set is held at a time. One thread: most
// sets are too small for two, and a machine busy with other tests makes them wait for each other.
Outcome reach_all(const std::function<bool(const json& record)>& wanted) {
  set_thread_count(1);
  Outcome outcome;
  std::map<std::string, std::vector<json>> by_set;
  for (const json& record : records()) {
    if (!objective_of(record))
      ++outcome.without_loss;
    else if (wanted(record))
      by_set[set_of(record)].push_back(record);
  }
  for (const auto& [set, of_set] : by_set) {
    const optima::Prepared data = optima::prepare(*test::shared() / "data", set);
    for (const json& record : of_set) reach(record, data, outcome);
  }
  set_thread_count(0);
  return outcome;
}

// PARLEY_SETS: part of a set's name.
bool is_asked_for(const json& record) {
  const char* only = std::getenv("PARLEY_SETS");
  return only == nullptr || set_of(record).find(only) != std::string::npos;
}

}  // namespace

TEST(Optima, OfSmoothProblemsOnSmallSetsAreReached) {
  PARLEY_SKIP_WHEN_SANITIZED();
  if (!test::shared()) GTEST_SKIP() << "needs ../shared/vectors/optima.json and ../shared/data";
  const Outcome outcome = reach_all([](const json& record) { return is_small(record) && is_smooth(record); });
  EXPECT_EQ(outcome.reached, kSmallSmooth);
}

TEST(Optima, OfAllSmoothProblemsAreReached) {
  if (!test::shared()) GTEST_SKIP() << "needs ../shared/vectors/optima.json and ../shared/data";
  if (std::getenv("PARLEY_LONG") == nullptr) GTEST_SKIP() << "takes minutes; set PARLEY_LONG=1";
  const Outcome outcome = reach_all([](const json& record) { return is_smooth(record) && is_asked_for(record); });
  std::printf(
      "%d reference optima of smooth problems reached; %d are of the smoothed hinge, which Parley does not "
      "have\n",
      outcome.reached, outcome.without_loss);
  EXPECT_EQ(outcome.without_loss, 13);
  if (std::getenv("PARLEY_SETS") != nullptr) return;
  EXPECT_EQ(outcome.reached, 172);
}

TEST(Optima, OfAllSparseProblemsAreReached) {
  if (!test::shared()) GTEST_SKIP() << "needs ../shared/vectors/optima.json and ../shared/data";
  if (std::getenv("PARLEY_LONG") == nullptr) GTEST_SKIP() << "takes minutes; set PARLEY_LONG=1";
  const Outcome outcome = reach_all([](const json& record) { return !is_smooth(record) && is_asked_for(record); });
  std::printf("%d reference optima of sparse problems reached\n", outcome.reached);
  if (std::getenv("PARLEY_SETS") != nullptr) return;
  EXPECT_EQ(outcome.reached, 144);
}
