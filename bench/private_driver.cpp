// Answers questions about private trainers, so that a script can time them beside its peers and tabulate their utility.
//
//   load FILE BOUND       rows, columns, then offsets (int64), columns (int32), values and labels (double); features
//                         are clipped to +-BOUND for private runs, and kept as they are for evaluation
//   dense ROWS COLUMNS    the same for normal numbers clipped to +-3, and labels by a coin
//     -> bytes that a pass over the columns reads
//   read BYTES            -> CPU seconds of a read-only sum over as many bytes
//   objective TASK L1 L2 RADIUS
//                         RADIUS < 0: none
//   optimum               -> objective, nonzeros and l1 norm of the reference optimum, which is kept
//   threads N
//   run ALGORITHM T STEP R SHARE CLIP EPSILON DELTA SEED CALIBRATION MODE [RADIUS [SMOOTHNESS ROW_BOUND LABEL_BOUND]]
//                         0 for T, STEP, SHARE, CLIP: the algorithm's own choice
//                         MODE: auto | plain | rows
//                         RADIUS: trains over that l1 ball without the l1 penalty; evaluated as the objective says
//                         ROW_BOUND 0: that of the columns' bounds together
//                         sgd-1 is sgd on batches of one expected record, without momentum, last iterate
//     -> seconds per step (first step apart), seconds in all, objective on the features as they are, steps,
//        coordinates right and wrong about being nonzero, epsilon that the ledger charged
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "bench/driver.h"
#include "parley/algorithms/coordinate/coordinate_descent.h"
#include "parley/algorithms/coordinate/greedy_cd.h"
#include "parley/algorithms/exact/exact.h"
#include "parley/algorithms/frank_wolfe/frank_wolfe.h"
#include "parley/algorithms/parts/private_terms.h"
#include "parley/algorithms/sgd/sgd.h"
#include "parley/core/threads.h"
#include "parley/linalg/vectors.h"

namespace {

using namespace parley;
using namespace parley::algorithms;
using namespace parley::bench;

struct GridData : Data {
  std::optional<privacy::GridFeatures> grid;
};

GridData on_grid(Data plain, double bound) {
  GridData data{std::move(plain), {}};
  data.grid = *privacy::GridFeatures::make(data.features,
                                           std::vector<double>(static_cast<std::size_t>(data.features.cols()), bound));
  return data;
}

GridData dense(linalg::Index rows, linalg::Index columns) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  std::vector<double> values(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns));
  for (double& value : values) value = std::clamp(normal(random), -3.0, 3.0);
  Data data;
  for (linalg::Index i = 0; i < rows; ++i) data.labels.push_back(random() % 2 == 0 ? 1.0 : -1.0);
  data.features = linalg::Matrix::from_dense(rows, columns, values);
  return on_grid(std::move(data), 3);
}

std::size_t column_bytes(const linalg::Matrix& matrix) {
  std::size_t bytes = 0;
  for (const linalg::StoredColumn& column : matrix.stored_columns())
    bytes += (column.dense ? static_cast<std::size_t>(matrix.rows()) : column.count) * linalg::width(column.storage) +
             (column.dense ? 0 : column.count * sizeof(linalg::Index));
  return bytes;
}

// A pass on average, in four streams of the widest registers that every machine of this table has: what memory gives
// to one thread.
__attribute__((target("avx2"))) double read_seconds(std::size_t bytes) {
  using Register = long long __attribute__((vector_size(32)));
  const std::size_t quarter = bytes / sizeof(Register) / 4;
  const std::vector<std::uint64_t> words(4 * quarter * sizeof(Register) / sizeof(std::uint64_t), 3);
  constexpr int kPasses = 20;
  long long kept = 0;
  const double begin = cpu_seconds();
  for (int pass = 0; pass < kPasses; ++pass) {
    Register sums[4]{};
    for (std::size_t at = 0; at < quarter; ++at)
      for (std::size_t stream = 0; stream < 4; ++stream) {
        Register read;
        std::memcpy(&read, words.data() + 4 * (stream * quarter + at), sizeof read);
        sums[stream] += read;
      }
    for (const Register& sum : sums) kept += sum[0] + sum[3];
  }
  return kept == 0 ? 0 : (cpu_seconds() - begin) / kPasses;
}

struct Run {
  std::string algorithm;
  int steps = 0;
  double step = 1;
  double bound = 1;
  double share = 0;
  double clip = 0;
  double epsilon = 1;
  double delta = 1e-6;
  std::uint64_t seed = 1;
  std::string calibration;
  std::string mode;
  double radius = 0;
  std::string smoothness = "bounds";
  double row_bound = 0;
  double label_bound = 1;
};

// A budget that holds whatever the run costs: the ledger is asked what that was. Runs of the same plan share
// a purse and their name, so that the ledger holds the plan already and it is priced once; noise and iterates
// of each are its own.
class Purses {
 public:
  Purses() {
    std::string pattern = (std::filesystem::temp_directory_path() / "parley-bench-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    ledger_.emplace(std::move(*privacy::Ledger::open(folder_)));
  }
  ~Purses() {
    ledger_.reset();
    std::filesystem::remove_all(folder_);
  }
  Purses(const Purses&) = delete;
  Purses& operator=(const Purses&) = delete;

  privacy::Gate gate(const std::string& plan, const Run& run, privacy::Bits& bits) {
    const privacy::Purse purse = of(plan);
    if (paid_.contains(plan))
      return std::move(*privacy::Gate::resume(*ledger_, purse, "run", bits, {}, privacy::AnswersAreMarked{}));
    (void)ledger_->set_budget(purse, {*privacy::Epsilon::make(100 * run.epsilon), *privacy::Delta::make(run.delta),
                                      privacy::Composition::kPlans});
    return std::move(*privacy::Gate::open(*ledger_, purse, "run", bits));
  }
  void paid(const std::string& plan) { paid_.insert(plan); }

 private:
  static privacy::Purse of(const std::string& plan) {
    return {plan, privacy::Unit::kRecord, privacy::Neighbours::kReplaceOne};
  }
  std::filesystem::path folder_;
  std::optional<privacy::Ledger> ledger_;
  std::set<std::string> paid_;
};

const std::map<std::string, GreedyRule> kRules = {{"gs", GreedyRule::kSmooth},
                                                  {"gs-s", GreedyRule::kSubgradient},
                                                  {"gs-r", GreedyRule::kStep},
                                                  {"gs-q", GreedyRule::kDecrease}};

Result<Fit> train(const Run& run, const Problem& problem, const Observer& observer) {
  const auto steps = run.steps > 0 ? std::optional<int>(run.steps) : std::nullopt;
  if (run.algorithm == "frank-wolfe")
    return frank_wolfe(
        problem,
        {.iterations = steps, .mode = run.mode == "plain" ? FrankWolfeMode::kPlain : FrankWolfeMode::kAutomatic},
        observer);
  if (run.algorithm == "coordinate-descent") {
    CoordinateSettings settings{.passes = steps, .order = CoordinateOrder::kUniform, .seed = run.seed};
    if (run.step > 0) settings.step = run.step;
    return coordinate_descent(problem, settings, observer);
  }
  if (run.algorithm == "sgd" || run.algorithm == "sgd-1") {
    SgdSettings settings{.steps = steps, .seed = run.seed};
    if (run.algorithm == "sgd-1") {
      settings.batch_rate = 1 / static_cast<double>(problem.labels.size());
      settings.momentum = 0;
      settings.result = SgdResult::kLast;
    }
    if (run.step > 0) settings.step = run.step;
    if (run.clip > 0) settings.clip = run.clip;
    return sgd(problem, settings, observer);
  }
  GreedySettings settings{.iterations = steps, .rule = kRules.at(run.algorithm)};
  if (run.step > 0) settings.step = run.step;
  if (run.share > 0) settings.share = run.share;
  if (run.mode != "auto") settings.upkeep = run.mode == "plain" ? Upkeep::kPass : Upkeep::kRows;
  return greedy_cd(problem, settings, observer);
}

// What the plan of a run is made from where steps and clip are given; where they are not, also what those are
// made from.
std::string plan_of(const Run& run, const GridData& data, bool all) {
  std::ostringstream name;
  name.precision(17);
  name << run.algorithm << ' ' << run.steps << ' ' << run.share << ' ' << run.epsilon << ' ' << run.delta << ' '
       << run.calibration << ' ' << data.features.cols() << ' ' << data.features.rows() << ' ' << run.clip << ' '
       << run.smoothness;
  if (all) name << ' ' << run.bound << ' ' << run.row_bound << ' ' << run.label_bound << ' ' << data.grid->bound(0);
  return name.str();
}

std::string answer(const Run& run, const GridData& data, const glm::Objective& objective,
                   const std::vector<double>& optimum, Purses& purses, bool all) {
  const std::string plan = plan_of(run, data, all) + (objective.task == glm::Task::kLinear ? " linear" : "");
  privacy::SeededGenerator bits(run.seed);
  privacy::Gate gate = purses.gate(plan, run, bits);
  const PrivateTerms terms{
      .target = {*privacy::Epsilon::make(run.epsilon), *privacy::Delta::make(run.delta)},
      .calibration = run.calibration == "paper" ? privacy::Calibration::kPaper : privacy::Calibration::kProved,
      .smoothness = run.smoothness == "private" ? privacy::Smoothness::kPrivate : privacy::Smoothness::kBounds,
      .derivative_bound = run.bound,
      .row_bound = run.row_bound > 0 ? run.row_bound
                                     : data.grid->bound(0) * std::sqrt(static_cast<double>(data.features.cols())),
      .label_bound = run.label_bound,
      .features = &*data.grid,
      .gate = &gate};
  const double begin = cpu_seconds();
  double first = begin, last = begin;
  glm::Objective trained = objective;
  if (run.radius > 0) {
    trained.l1 = 0;
    trained.l1_radius = run.radius;
  }
  const auto fit = train(run, {data.grid->matrix(), data.labels, trained, &terms}, [&](const Progress& at) {
    last = cpu_seconds();
    if (at.iteration == 1) first = last;
    return true;
  });
  if (!fit && !all)
    return answer(run, data, objective, optimum, purses, true);  // its plan may be another one after all
  if (!fit) return "error " + fit.error().message;
  purses.paid(plan);
  const double value = glm::evaluate(objective, data.features, data.labels, fit->weights, fit->intercepts);
  int right = 0, wrong = 0;
  for (std::size_t c = 0; c < std::min(optimum.size(), fit->weights.size()); ++c)
    if (fit->weights[c] != 0) ++(optimum[c] != 0 ? right : wrong);
  std::ostringstream text;
  text.precision(12);
  text << (fit->iterations > 1 ? (last - first) / (fit->iterations - 1) : last - begin) << ' ' << cpu_seconds() - begin
       << ' ' << value << ' ' << fit->iterations << ' ' << right << ' ' << wrong << ' '
       << gate.receipts().front().epsilon;
  return text.str();
}

}  // namespace

int main() {
  GridData data;
  glm::Objective objective;
  std::vector<double> optimum;
  Purses purses;
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string verb, word;
    words >> verb;
    if (verb == "load") {
      double bound = 1;
      words >> word >> bound;
      data = on_grid(load(word), bound);
      std::printf("%d %d\n", data.features.rows(), data.features.cols());
    } else if (verb == "dense") {
      linalg::Index rows = 1, columns = 1;
      words >> rows >> columns;
      data = dense(rows, columns);
      std::printf("%zu\n", column_bytes(data.grid->matrix()));
    } else if (verb == "read") {
      std::size_t bytes = 0;
      words >> bytes;
      std::printf("%.9f\n", read_seconds(bytes));
    } else if (verb == "objective") {
      double radius = -1;
      objective = {};
      words >> word >> objective.l1 >> objective.l2 >> radius;
      if (radius >= 0) objective.l1_radius = radius;
      for (const glm::Task known : {glm::Task::kLinear, glm::Task::kLogistic, glm::Task::kSquaredHinge})
        if (word == glm::name(known)) objective.task = known;
      std::printf("ok\n");
    } else if (verb == "optimum") {
      const auto fit = exact({data.features, data.labels, objective}, {}, {});
      if (fit) optimum = fit->weights;
      std::size_t nonzeros = 0;
      for (const double w : optimum) nonzeros += w != 0 ? 1 : 0;
      std::printf("%.15g %zu %.15g\n", fit ? fit->objective : -1.0, nonzeros, linalg::l1_norm(optimum));
    } else if (verb == "threads") {
      int threads = 1;
      words >> threads;
      set_thread_count(threads);
      std::printf("ok\n");
    } else if (verb == "run") {
      Run run;
      words >> run.algorithm >> run.steps >> run.step >> run.bound >> run.share >> run.clip >> run.epsilon >>
          run.delta >> run.seed >> run.calibration >> run.mode;
      words >> run.radius;
      words >> run.smoothness >> run.row_bound >> run.label_bound;
      std::printf("%s\n", answer(run, data, objective, optimum, purses, run.steps == 0).c_str());
    }
    std::fflush(stdout);
  }
}
