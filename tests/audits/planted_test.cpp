// labels: slow
//
// Mistakes that private programs are known to make, each planted into a program of these tests beside its
// correct twin. Both are rows of the catalog and run as every job does: the job is read, the site charges a ledger for
// what the program says that it will draw, and the claim follows from that. What the program then really draws is its
// own affair - and what an audit must find, within the runs that are stated with each.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <random>

#include "parley/algorithms/parts/private_terms.h"
#include "parley/core/threads.h"
#include "parley/privacy/accounting/calibration.h"
#include "tests/audits/jobs.h"
#include "tests/support/sanitized.h"

using namespace parley;
using namespace parley::audits;

namespace {

using algorithms::Fit;
using algorithms::Observer;
using algorithms::Problem;

enum class Bug {
  kNone,
  kQuietNoise,   // noise x 0.8
  kOneSide,      // factor 2 of replace-one dropped
  kOneSeed,      // every run draws the same noise
  kUnrounded,    // noise on a grid, and a value that is not
  kUnclipped,    // derivatives as they are
  kRowSpace,     // noise in the space of the rows, with the right variance there
  kExactBeside,  // one weight without noise
  kLoudPick,     // noisy selection without its factor 2
  kFixedBatch,   // the same batch in every run, sold as a Poisson sample
};

std::mt19937_64& bits() {
  static std::mt19937_64 engine{std::random_device{}()};
  return engine;
}

// A program that releases its model in one go.
class Program {
 public:
  Program(const Problem& problem, Bug bug)
      : problem_(problem), terms_(*problem.privacy), bug_(bug), d_(static_cast<std::size_t>(problem.features.cols())) {}

  // sum_i clip(y_i) x_i + noise: one Gaussian release of l2-sensitivity 2 R B.
  Result<Fit> noisy_sum() {
    const double sensitivity = 2 * terms_.derivative_bound * terms_.row_bound + 1e-3;  // of rounding
    PARLEY_TRY(const double multiplier, privacy::gaussian_noise(terms_.target, 1));
    PARLEY_CHECK(pay(privacy::Gaussian{multiplier * sensitivity, sensitivity}));
    const double sigma = multiplier * sensitivity * (bug_ == Bug::kQuietNoise ? 0.8 : bug_ == Bug::kOneSide ? 0.5 : 1);
    std::vector<double> sum = sums(problem_.labels.size(), terms_.derivative_bound);
    std::mt19937_64 fixed(7);
    std::mt19937_64& engine = bug_ == Bug::kOneSeed ? fixed : bits();
    std::normal_distribution<double> normal;
    if (bug_ == Bug::kRowSpace) return fit(in_row_space(sum, sigma, engine));
    for (std::size_t j = 0; j < d_; ++j) {
      if (bug_ == Bug::kExactBeside && j + 1 == d_) break;
      sum[j] = (bug_ == Bug::kUnrounded ? sum[j] : on_grid(sum[j])) + on_grid(sigma * normal(engine));
    }
    return fit(sum);
  }

  // A column, by weights exp(epsilon u_j / (2 Delta)).
  Result<Fit> pick() {
    const double epsilon = terms_.target.epsilon.value(), sensitivity = 2 * terms_.derivative_bound;
    PARLEY_CHECK(pay(privacy::Exponential{epsilon}));
    const std::vector<double> scores = sums(problem_.labels.size(), terms_.derivative_bound);
    std::vector<double> weights;
    for (const double score : scores)
      weights.push_back(std::exp(epsilon * score / sensitivity / (bug_ == Bug::kLoudPick ? 1 : 2)));
    std::discrete_distribution<std::size_t> draw(weights.begin(), weights.end());
    std::vector<double> picked(d_, 0.0);
    picked[draw(bits())] = 1;
    return fit(picked);
  }

  // The sum over a Poisson sample, each record with chance 1/16.
  Result<Fit> sampled() {
    constexpr double kRate = 1.0 / 16;
    const double norm = terms_.derivative_bound * terms_.row_bound;
    PARLEY_TRY(const double multiplier, privacy::sampled_gaussian_noise(terms_.target, kRate, 1));
    PARLEY_CHECK(pay(privacy::SubsampledGaussian{multiplier, kRate}));
    std::bernoulli_distribution joins(kRate);
    std::vector<bool> batch;
    for (std::size_t i = 0; i < problem_.labels.size(); ++i)
      batch.push_back(bug_ == Bug::kFixedBatch ? i < problem_.labels.size() / 16 : joins(bits()));
    std::vector<double> sum = sums(problem_.labels.size(), terms_.derivative_bound, batch);
    std::normal_distribution<double> normal;
    for (double& value : sum) value = on_grid(value) + on_grid(multiplier * norm * normal(bits()));
    return fit(sum);
  }

 private:
  Result<void> pay(const privacy::Mechanism& mechanism) {
    PARLEY_TRY(const std::int64_t steps, terms_.gate->reserve({.once = {{mechanism, 1}}}, terms_.target.delta));
    (void)steps;
    return {};
  }

  [[nodiscard]] std::vector<double> sums(std::size_t records, double bound, const std::vector<bool>& batch = {}) const {
    std::vector<double> all(d_, 0.0);
    for (std::size_t j = 0; j < d_; ++j)
      problem_.features.for_each_in_column(static_cast<linalg::Index>(j), [&](linalg::Index i, double value) {
        const auto row = static_cast<std::size_t>(i);
        if (row >= records || (!batch.empty() && !batch[row])) return;
        const double y = problem_.labels[row];
        all[j] += (bug_ == Bug::kUnclipped ? y : std::clamp(y, -bound, bound)) * value;
      });
    return all;
  }

  // X^T z with z ~ N(0, I): looks as noisy as the rows are long, and has no part outside their space.
  [[nodiscard]] std::vector<double> in_row_space(std::vector<double> sum, double sigma, std::mt19937_64& engine) const {
    std::normal_distribution<double> normal;
    std::vector<double> z(problem_.labels.size());
    for (double& value : z) value = sigma * normal(engine);
    for (std::size_t j = 0; j < d_; ++j)
      problem_.features.for_each_in_column(static_cast<linalg::Index>(j), [&](linalg::Index i, double value) {
        sum[j] += value * z[static_cast<std::size_t>(i)];
      });
    return sum;
  }

  static double on_grid(double value) {
    constexpr double kGrain = 1.0 / 1024;
    return std::round(value / kGrain) * kGrain;
  }

  static Fit fit(std::vector<double> weights) {
    Fit fit;
    fit.weights = std::move(weights);
    fit.stop = algorithms::Stop::kIterations;
    fit.iterations = 1;
    fit.releases = 1;
    return fit;
  }

  const Problem& problem_;
  const algorithms::PrivateTerms& terms_;
  Bug bug_;
  std::size_t d_;
};

using Release = Result<Fit> (Program::*)();

void list(const std::string& name, Release release, Bug bug) {
  catalog::list({.name = name,
                 .summary = "a planted program",
                 .source = "of these tests",
                 .train = [=](Toml&) -> catalog::Trainer {
                   return [=](const Problem& problem, const Observer&) {
                     Program program(problem, bug);
                     return (program.*release)();
                   };
                 },
                 .can_be_private = true});
}

struct Planted {
  friend void PrintTo(const Planted& one, std::ostream* out) { *out << one.name; }
  const char* name;
  Release release;
  Bug bug;
  const char* privacy;
  std::int64_t runs;  // within which it is found
  std::size_t records = 32;
};

constexpr const char* kWide = "epsilon = 16.0\ndelta = 1e-5\nderivative_bound = 0.25\n";
constexpr const char* kNarrow = "epsilon = 2.0\ndelta = 1e-5\nderivative_bound = 0.25\n";

const Planted kPlanted[] = {
    {"planted-quiet", &Program::noisy_sum, Bug::kQuietNoise, kWide, 10'000},
    {"planted-one-side", &Program::noisy_sum, Bug::kOneSide, kWide, 3000},
    {"planted-seed", &Program::noisy_sum, Bug::kOneSeed, kNarrow, 800},
    {"planted-unrounded", &Program::noisy_sum, Bug::kUnrounded, kNarrow, 800},
    {"planted-unclipped", &Program::noisy_sum, Bug::kUnclipped, kNarrow, 2500},
    {"planted-row-space", &Program::noisy_sum, Bug::kRowSpace, kNarrow, 4000, 4},
    {"planted-exact", &Program::noisy_sum, Bug::kExactBeside, kNarrow, 800},
    {"planted-pick", &Program::pick, Bug::kLoudPick, kNarrow, 6000},
    {"planted-fixed-batch", &Program::sampled, Bug::kFixedBatch, kNarrow, 4000},
};
// In as many runs as are enough to find something grossly wrong.
const Planted kCorrect[] = {
    {"planted-correct-sum", &Program::noisy_sum, Bug::kNone, kWide, 1500},
    {"planted-correct-narrow-sum", &Program::noisy_sum, Bug::kNone, kNarrow, 800},
    {"planted-correct-pick", &Program::pick, Bug::kNone, kNarrow, 1200},
    {"planted-correct-sample", &Program::sampled, Bug::kNone, kNarrow, 1200},
};

// PARLEY_LONG=1: in as many runs as the largest of the mistakes needs.
std::int64_t runs_of(const Planted& one) {
  const char* asked = std::getenv("PARLEY_LONG");
  const bool is_long = one.bug == Bug::kNone && asked != nullptr && std::string(asked) == "1";
  return is_long ? 10'000 : one.runs;
}

const bool kListed = [] {
  for (const Planted& one : kPlanted) list(one.name, one.release, one.bug);
  for (const Planted& one : kCorrect) list(one.name, one.release, one.bug);
  return true;
}();

Audited audited(const Planted& one) {
  EXPECT_TRUE(kListed);
  set_thread_count(1);
  const auto job = test::audited_job(
      *catalog::find(one.name),
      {.privacy = one.privacy, .task = "linear", .data = "bound = 1.0\nfeatures = 8\nlabel_bound = 1.0\n"});
  EXPECT_TRUE(job) << job.error().message;
  // A correct program is called violated with chance 1e-6 at most, of all correct ones together.
  const auto done =
      audit(*job, one.records, {.runs = runs_of(one), .seconds = 600, .confidence = 1 - 1e-6 / std::size(kCorrect)});
  EXPECT_TRUE(done) << done.error().message;
  return *done;
}

std::string told(const Audited& done) {
  const Finding& finding = done.findings.empty() ? Finding{} : done.findings.front();
  return fmt::format("claim {:.4g}, bounds {:.4g} and {:.4g} by {} after {} runs, worlds: {}; {}", done.claim.epsilon,
                     finding.epsilon, finding.epsilon_gaussian, finding.attack, done.runs, done.pair, done.why);
}

class PlantedBugs : public ::testing::TestWithParam<Planted> {};
class CorrectTwins : public ::testing::TestWithParam<Planted> {};

}  // namespace

// An audit draws the worlds that it compares, and may draw poor ones: of the pick without its factor about every third
// one does. Its draws are fresh each time, so it is repeated; what is asked of the correct twins is asked of one audit.
constexpr int kAudits = 8;

TEST_P(PlantedBugs, AreFoundWithinTheirRuns) {
  PARLEY_SKIP_WHEN_SANITIZED();
  std::string missed;
  for (int i = 0; i < kAudits; ++i) {
    const Audited done = audited(GetParam());
    EXPECT_LE(done.runs, GetParam().runs);
    if (done.verdict == Verdict::kViolated) {
      RecordProperty("audits", i + 1);
      RecordProperty("found", told(done));
      return;
    }
    missed += told(done) + "\n";
  }
  ADD_FAILURE() << "not found in " << kAudits << " audits:\n" << missed;
}

TEST_P(CorrectTwins, AreConsistent) {
  PARLEY_SKIP_WHEN_SANITIZED();
  const Audited done = audited(GetParam());
  EXPECT_EQ(done.verdict, Verdict::kConsistent) << told(done);
}

namespace {
std::string name_of(const ::testing::TestParamInfo<Planted>& one) {
  std::string name = one.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}
}  // namespace

INSTANTIATE_TEST_SUITE_P(All, PlantedBugs, ::testing::ValuesIn(kPlanted), name_of);
INSTANTIATE_TEST_SUITE_P(All, CorrectTwins, ::testing::ValuesIn(kCorrect), name_of);
