// Answers questions about private trainers, so that a script can time them beside its peers and tabulate their utility.
//
//   load FILE BOUND       rows, columns, then offsets (int64), columns (int32), values and labels (double); features are
//                         clipped to +-BOUND for private runs, and kept as they are for evaluation
//   dense ROWS COLUMNS    the same for normal numbers clipped to +-3, and labels by a coin
//     -> bytes that a pass over the columns reads, CPU seconds of a read-only sum over as many bytes
//   objective TASK L1 L2 RADIUS     RADIUS < 0: none
//   optimum               -> objective, nonzeros and l1 norm of the reference optimum, which is kept
//   threads N
//   run ALGORITHM T STEP R SHARE CLIP EPSILON DELTA SEED CALIBRATION MODE [RADIUS]
//                         0 for T, STEP, SHARE, CLIP: the algorithm's own choice. MODE: auto | plain |
//                         rows. RADIUS: trains over that l1 ball without the l1 penalty; evaluated as the objective says.
//                         sgd-1 is sgd on batches of one expected record, without momentum, last iterate
//     -> seconds per step (first step apart), seconds in all, objective on the features as they are, steps,
//        coordinates right and wrong about being nonzero, epsilon that the ledger charged
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "parley/algorithms/coordinate_descent.h"
#include "parley/algorithms/exact.h"
#include "parley/algorithms/frank_wolfe.h"
#include "parley/algorithms/greedy_cd.h"
#include "parley/algorithms/private_terms.h"
#include "parley/algorithms/sgd.h"
#include "parley/core/threads.h"
#include "parley/linalg/vectors.h"

namespace {

using namespace parley;
using namespace parley::algorithms;

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <class T>
std::vector<T> read(std::ifstream& file, std::size_t count) {
  std::vector<T> values(count);
  file.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(count * sizeof(T)));
  return values;
}

struct Data {
  linalg::Matrix features;
  std::vector<double> labels;
  std::optional<privacy::GridFeatures> grid;
};

Data load(const std::string& path, double bound) {
  std::ifstream file(path, std::ios::binary);
  const auto shape = read<std::int64_t>(file, 2);
  const auto rows = static_cast<std::size_t>(shape[0]);
  const auto offsets = read<std::int64_t>(file, rows + 1);
  const auto count = static_cast<std::size_t>(offsets.back());
  const auto columns = read<std::int32_t>(file, count);
  const auto values = read<double>(file, count);
  Data data;
  data.labels = read<double>(file, rows);
  data.features =
      linalg::Matrix::from_rows(static_cast<linalg::Index>(shape[1]),
                                std::vector<std::size_t>(offsets.begin(), offsets.end()), columns, values);
  data.grid = *privacy::GridFeatures::make(data.features, std::vector<double>(static_cast<std::size_t>(shape[1]), bound));
  return data;
}

Data dense(linalg::Index rows, linalg::Index columns) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  std::vector<double> values(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns));
  for (double& value : values) value = std::clamp(normal(random), -3.0, 3.0);
  Data data;
  for (linalg::Index i = 0; i < rows; ++i) data.labels.push_back(random() % 2 == 0 ? 1.0 : -1.0);
  data.features = linalg::Matrix::from_dense(rows, columns, values);
  data.grid = *privacy::GridFeatures::make(data.features,
                                           std::vector<double>(static_cast<std::size_t>(columns), 3.0));
  return data;
}

std::size_t column_bytes(const linalg::Matrix& matrix) {
  std::size_t bytes = 0;
  for (const linalg::StoredColumn& column : matrix.stored_columns())
    bytes += (column.dense ? static_cast<std::size_t>(matrix.rows()) : column.count) * linalg::width(column.storage) +
             (column.dense ? 0 : column.count * sizeof(linalg::Index));
  return bytes;
}

// The best of some passes: whole numbers, so that the compiler may add them up side by side.
double read_seconds(std::size_t bytes) {
  const std::vector<std::uint64_t> words(bytes / sizeof(std::uint64_t), 3);
  double best = std::numeric_limits<double>::infinity();
  std::uint64_t kept = 0;
  for (int pass = 0; pass < 10; ++pass) {
    const double begin = cpu_seconds();
    kept += std::accumulate(words.begin(), words.end(), static_cast<std::uint64_t>(pass));
    best = std::min(best, cpu_seconds() - begin);
  }
  return kept == 0 ? 0 : best;
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
};

struct Price {
  privacy::Plan plan;
  double epsilon = 0;
};

// A budget that holds whatever the run costs: the ledger is asked what that was. A run with a plan that was priced before is
// granted that plan, which spares pricing it again; noise and iterates are the same.
class Site {
 public:
  Site(const Run& run, const Price* known) : bits_(run.seed), known_(known) {
    const privacy::Purse purse{"records", privacy::Unit::kRecord, privacy::Neighbours::kReplaceOne};
    if (known != nullptr) {
      gate_.emplace(privacy::Gate::granted(known->plan, purse, bits_));
      return;
    }
    std::string pattern = (std::filesystem::temp_directory_path() / "parley-bench-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    ledger_.emplace(std::move(*privacy::Ledger::open(folder_)));
    (void)ledger_->set_budget(purse, {*privacy::Epsilon::make(100 * run.epsilon), *privacy::Delta::make(run.delta),
                                      privacy::Composition::kPlans});
    gate_.emplace(std::move(*privacy::Gate::open(*ledger_, purse, "run", bits_)));
  }
  ~Site() {
    gate_.reset();
    ledger_.reset();
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }
  privacy::Gate& gate() { return *gate_; }
  [[nodiscard]] Price price() const {
    return known_ != nullptr ? *known_ : Price{gate_->charged(), gate_->receipts().front().epsilon};
  }

 private:
  privacy::SeededGenerator bits_;
  const Price* known_;
  std::filesystem::path folder_;
  std::optional<privacy::Ledger> ledger_;
  std::optional<privacy::Gate> gate_;
};

const std::map<std::string, GreedyRule> kRules = {{"gs", GreedyRule::kSmooth},
                                                  {"gs-s", GreedyRule::kSubgradient},
                                                  {"gs-r", GreedyRule::kStep},
                                                  {"gs-q", GreedyRule::kDecrease}};

Result<Fit> train(const Run& run, const Problem& problem, const Observer& observer) {
  const auto steps = run.steps > 0 ? std::optional<int>(run.steps) : std::nullopt;
  if (run.algorithm == "frank-wolfe")
    return frank_wolfe(problem, {.iterations = steps, .mode = run.mode == "plain" ? FrankWolfeMode::kPlain : FrankWolfeMode::kAutomatic},
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

std::string answer(const Run& run, const Data& data, const glm::Objective& objective, const std::vector<double>& optimum,
                   std::map<std::string, Price>& prices) {
  std::ostringstream naming;
  naming.precision(17);
  naming << run.algorithm << ' ' << run.steps << ' ' << run.share << ' ' << run.epsilon << ' ' << run.delta << ' '
         << run.calibration << ' ' << data.features.cols() << ' ' << data.features.rows() << ' ' << run.clip;
  const auto known = run.steps > 0 ? prices.find(naming.str()) : prices.end();
  Site site(run, known == prices.end() ? nullptr : &known->second);
  const PrivateTerms terms{.target = {*privacy::Epsilon::make(run.epsilon), *privacy::Delta::make(run.delta)},
                           .calibration = run.calibration == "paper" ? Calibration::kPaper : Calibration::kProved,
                           .derivative_bound = run.bound,
                           .features = &*data.grid,
                           .gate = &site.gate()};
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
  if (!fit && known != prices.end()) {  // its plan is another one after all
    prices.erase(known);
    return answer(run, data, objective, optimum, prices);
  }
  if (!fit) return "error " + fit.error().message;
  const Price price = site.price();
  if (run.steps > 0) prices.emplace(naming.str(), price);
  const double value = glm::evaluate(objective, data.features, data.labels, fit->weights, fit->intercepts);
  int right = 0, wrong = 0;
  for (std::size_t c = 0; c < std::min(optimum.size(), fit->weights.size()); ++c)
    if (fit->weights[c] != 0) ++(optimum[c] != 0 ? right : wrong);
  std::ostringstream text;
  text.precision(12);
  text << (fit->iterations > 1 ? (last - first) / (fit->iterations - 1) : last - begin) << ' ' << cpu_seconds() - begin << ' ' << value
       << ' ' << fit->iterations << ' ' << right << ' ' << wrong << ' ' << price.epsilon;
  return text.str();
}

}  // namespace

int main() {
  Data data;
  glm::Objective objective;
  std::vector<double> optimum;
  std::map<std::string, Price> prices;
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string verb, word;
    words >> verb;
    if (verb == "load") {
      double bound = 1;
      words >> word >> bound;
      data = load(word, bound);
      std::printf("%d %d\n", data.features.rows(), data.features.cols());
    } else if (verb == "dense") {
      linalg::Index rows = 1, columns = 1;
      words >> rows >> columns;
      data = dense(rows, columns);
      const std::size_t bytes = column_bytes(data.grid->matrix());
      std::printf("%zu %.9f\n", bytes, read_seconds(bytes));
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
      words >> run.algorithm >> run.steps >> run.step >> run.bound >> run.share >> run.clip >> run.epsilon >> run.delta >> run.seed >>
          run.calibration >> run.mode;
      words >> run.radius;
      std::printf("%s\n", answer(run, data, objective, optimum, prices).c_str());
    }
    std::fflush(stdout);
  }
}
