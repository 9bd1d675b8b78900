// labels: slow
// An attack on private Frank-Wolfe with the paper's noise. Four records, three steps: models are trained on two
// neighbours, and how often one event happens on each of them proves a lower bound of epsilon. No claim may lie below.
//
// The derivative is clipped so far that every record's is at its bound R, whatever the weights: three records are zero,
// and the fourth, x = +-1, moves every score by all of its sensitivity. The scores of +e and -e differ by 2R/4, in
// favour of x. The event is that +e is chosen in all three steps.
//
// A comparison with a claim raises a false alarm with probability 1e-9 at most (Clopper-Pearson), and there are at most
// 9. Noise is from the operating system. PARLEY_LONG=1 trains many more models, at more targets.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "parley/algorithms/frank_wolfe/frank_wolfe.h"
#include "parley/algorithms/parts/private_terms.h"
#include "parley/privacy/ledger/ledger.h"
#include "parley/privacy/randomness/generator.h"
#include "tests/privacy/mechanisms/statistics.h"
#include "tests/support/sanitized.h"
#include "tests/support/temporary_folder.h"

using namespace parley;
using namespace parley::algorithms;
using privacy::statistics::clopper_pearson_lower;
using privacy::statistics::clopper_pearson_upper;
using privacy::statistics::kAlarm;

namespace {

constexpr int kSteps = 3;
constexpr double kRadius = 0.1;

struct Target {
  double epsilon;  // of the job; what the paper's noise costs is another number
  double delta = 1e-5;
};
// A step costs 3.196, and so much was once claimed of all three.
constexpr Target kAttacked{13.28};

bool is_long() {
  return std::getenv("PARLEY_LONG") != nullptr;
}

// Thousands of charges are written down: where there is one, on a disk that is none.
std::filesystem::path quick_folder() {
  std::error_code none;
  const std::filesystem::path memory = "/dev/shm";
  return std::filesystem::is_directory(memory, none) ? memory : std::filesystem::temp_directory_path();
}

struct Trained {
  Fit fit;
  double claim = 0;
};

// The records with x as the fourth, and a ledger that holds `budget`.
class Site {
 public:
  Site(double x, const Target& target, double budget)
      : features_(*privacy::GridFeatures::make(linalg::Matrix::from_dense(4, 1, std::vector<double>{x, 0, 0, 0}),
                                               std::vector<double>{1.0}, std::nullopt)),
        target_{*privacy::Epsilon::make(target.epsilon), *privacy::Delta::make(target.delta),
                privacy::Neighbours::kReplaceOne} {
    EXPECT_TRUE(ledger_.set_budget(
        purse_, {*privacy::Epsilon::make(budget), *privacy::Delta::make(0.5), privacy::Composition::kPlans}));
  }

  Trained train() {
    const auto bits = privacy::SecureGenerator::from_system();
    privacy::Gate gate = *privacy::Gate::open(ledger_, purse_, std::to_string(++runs_), **bits);
    const PrivateTerms terms{.target = target_,
                             .calibration = privacy::Calibration::kPaper,
                             .derivative_bound = 0.1,
                             .row_bound = 1,
                             .features = &features_,
                             .gate = &gate};
    glm::Objective objective{.task = glm::Task::kLogistic};
    objective.l1_radius = kRadius;
    const std::vector<double> labels(4, 1.0);
    const auto fit = frank_wolfe({features_.matrix(), labels, objective, &terms}, {.iterations = kSteps}, {});
    EXPECT_TRUE(fit) << fit.error().message;
    if (!fit) return {};
    return {*fit, gate.receipts().front().epsilon};
  }

 private:
  privacy::GridFeatures features_;
  privacy::Target target_;
  TemporaryFolder folder_{quick_folder()};
  privacy::Ledger ledger_ = std::move(*privacy::Ledger::open(folder_.path()));
  const privacy::Purse purse_{"records", privacy::Unit::kRecord, privacy::Neighbours::kReplaceOne};
  int runs_ = 0;
};

constexpr double kEnough = 1e8;

double claim_of(const Target& target) {
  return Site(1, target, kEnough).train().claim;
}

// +e in every step: the weight is the radius itself.
double times_chosen(double x, const Target& target, int models) {
  constexpr int kOfOneLedger = 500;
  std::optional<Site> site;
  int chosen = 0;
  for (int i = 0; i < models; ++i) {
    if (i % kOfOneLedger == 0) site.emplace(x, target, kEnough);
    chosen += site->train().fit.weights[0] > 0.999 * kRadius ? 1 : 0;
  }
  return chosen;
}

struct Attack {
  Attack(const Target& attacked, int models_here, int models_there)
      : target(attacked),
        here(times_chosen(1, target, models_here)),
        there(times_chosen(-1, target, models_there)),
        of_here(models_here),
        of_there(models_there) {}

  // ln((P - delta) / Q) with P and Q at the ends of their intervals.
  [[nodiscard]] double lower_bound(double level) const {
    const double p = clopper_pearson_lower(here, of_here, level / 2) - target.delta;
    const double q = clopper_pearson_upper(there, of_there, level / 2);
    return p > q ? std::log(p / q) : 0;
  }

  Target target;
  double here, there, of_here, of_there;
};

}  // namespace

TEST(FrankWolfeAttack, NoClaimOfThePapersNoiseIsRefuted) {
  PARLEY_SKIP_WHEN_SANITIZED();
  const Attack attack = is_long() ? Attack(kAttacked, 20000, 100000) : Attack(kAttacked, 500, 2500);
  const double claim = claim_of(kAttacked);
  EXPECT_LE(attack.lower_bound(kAlarm), claim);
  // Else the attack shows nothing: by its 95 % bound it refutes what was once claimed, but for once in 100,000 times.
  EXPECT_GT(attack.lower_bound(0.05), 3.196);
  std::cout << "claimed " << claim << ", by 95 % not below " << attack.lower_bound(0.05) << "\n";
}

TEST(FrankWolfeAttack, NoClaimOfThePapersNoiseIsRefutedAtOtherTargets) {
  if (!is_long()) GTEST_SKIP() << "takes minutes; set PARLEY_LONG=1";
  for (const Target& target : std::vector<Target>{{1}, {3}, {6}, {6, 1e-2}, {10}, {20}, {13.28, 1e-2}, {30}}) {
    const double claim = claim_of(target), bound = Attack(target, 5000, 20000).lower_bound(kAlarm);
    EXPECT_LE(bound, claim) << "epsilon " << target.epsilon << ", delta " << target.delta;
    std::cout << "epsilon " << target.epsilon << ", delta " << target.delta << ": claimed " << claim << ", not below "
              << bound << "\n";
  }
}

TEST(FrankWolfeAttack, ABudgetOfFourHoldsOneStepOfIt) {
  const Trained trained = Site(1, kAttacked, 4).train();
  EXPECT_EQ(trained.fit.iterations, 1);
  EXPECT_EQ(trained.fit.stop, Stop::kBudgetEnded);
  EXPECT_NEAR(trained.claim, 3.1957, 1e-3);
}
