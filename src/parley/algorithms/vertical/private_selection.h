// What one party of a private block-coordinate Frank-Wolfe run reserved, and the only way its indices and columns leave
// (bcfw.h).
//
//   a selection    the exponential mechanism of epsilon e0 over the 2 d_k signed columns of the party; a record moves a
//                  score <a_j, v> by at most 2 B R / n, its label included, whatever public state is in v
//                  (exact_sums.md)
//   a column       J a_j + N(0, sigma^2 I), once                          sensitivity 2 B c_J (theorems.md)
//   the base rate  the sum of the labels + N(0, s^2), once, the party with the labels
//   a comparison   g_j + N(0, tau^2) of the column j that was just drawn, where one ball is all parties': the
//                  coordinator takes the party whose noisy descent is the largest, which is post-processing. j is
//                  released, so g_j is one fixed coordinate of the mean gradient: sensitivity 2 B_j R / n (exact_sums.md)
//
// All K parties hold parts of one record, so everything that they release adds up. With rho the zCDP budget of the run,
// T selections and F columns of each party, and `share` of the budget for indices:
//
//   e0      = sqrt(8 share rho / (K T))
//   sigma   = 2 B c_J sqrt(K F / (2 (1 - share) rho)),      F = min(T - 1, d_k): the last step sends no column
//
// One hundredth of rho is the base rate's. Comparisons get a quarter of what indices get:
// tau = (2 B R / n) sqrt(K T / (2 rho share / 4)), and e0 is made of the other three.
//
// Where `iterations` is set and no columns are sent all parties have one plan, and its noise is brought down to what
// the best accountant proves for all of them. Otherwise a party knows its own number of steps and not that of others:
// then zCDP alone is relied on, whose costs add up to rho whatever the others chose. (Noise brought down for K plans like
// one's own would cost up to 7 % more than epsilon where parties of different widths choose different T.)
//
// Steps. Of m candidates the winner's noise is about (2 B R / n) sqrt(K T / (2 share rho)) ln m above its score: the
// floor of a signal. The most steps of {1, 2, 5, 10, 20, 50} whose floor is at most a tenth of B R are taken, and a run
// that cannot afford one is refused: it would pick columns at random. Columns are sent only where sigma is at most
// B c_J / 2: louder ones drown the margins that they are for (bench/vertical.py has what they do at any share).
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "parley/algorithms/parts/private_terms.h"
#include "parley/algorithms/vertical/bcfw_settings.h"
#include "parley/algorithms/vertical/column_share.h"
#include "parley/algorithms/vertical/shared_feature.h"
#include "parley/core/result.h"
#include "parley/glm/loss.h"
#include "parley/privacy/gate.h"
#include "parley/privacy/sensitivity/clipped_sum.h"
#include "parley/privacy/sensitivity/exact_sums.h"

namespace parley::algorithms {

// Public numbers of one party's part.
struct SelectionShape {
  double records = 0;           // n
  double columns = 0;           // d_k
  int parties = 1;              // K
  double bound = 1;             // B
  double derivative_bound = 1;  // R
  double column_norm = 1;       // c_J
};

inline constexpr int kMostSuggestedSteps = 50;

// b, the constant that has the mean derivative 0 where labels have this mean (of 2 records more, one of each class).
double base_rate_offset(glm::Task task, double mean, double records);

double selection_epsilon(double rho, double share, int parties, double steps);                   // e0
double column_deviation(double rho, double share, const SelectionShape& shape, double columns);  // sigma, of so many
double noise_floor(double rho, double share, const SelectionShape& shape, double steps);
// The steps and the share that public numbers suggest; an error says what would be needed.
struct SuggestedSelection {
  int steps = 1;
  double share = 1;
};
Result<SuggestedSelection> suggested_selection(double rho, const SelectionShape& shape, const BcfwSettings& settings);

class PrivateSelection {
 public:
  struct Run {
    const BcfwSettings& settings;
    glm::Task task = glm::Task::kLogistic;
    int parties = 1;
    double radius = 1;  // of a ball: the paper's noise depends on it
    const FeatureSpace& space;
    bool base_rate = true;  // the mean of the labels is released
  };
  // Charges the party's releases of the whole run, or of as many steps as its budget holds.
  static Result<std::shared_ptr<PrivateSelection>> reserve(const ColumnShare& share, const Run& run,
                                                           privacy::Gate& gate);

  [[nodiscard]] bool sends_columns() const { return packing_.has_value(); }
  [[nodiscard]] std::int64_t steps() const { return steps_; }
  // The mean of the labels.
  Result<privacy::Released<double>> base_rate(std::span<const double> labels, privacy::Gate& gate) const;
  // Margins of the party's own columns, each a function of its own record and of these public weights.
  [[nodiscard]] std::vector<double> own_margins(const ColumnShare& share, std::span<const double> weights) const;
  // A signed column, +-(j + 1): that of the largest descent. `derivatives`: of the records, not divided by n.
  Result<privacy::Released<linalg::Index>> select(std::span<const double> derivatives, privacy::Gate& gate);
  // About g_j, of the derivatives of the last select().
  Result<privacy::Released<double>> gradient(linalg::Index j, privacy::Gate& gate) const;
  Result<privacy::Released<SharedFeature>> column(std::span<const double> numbers, linalg::Index j,
                                                  privacy::Gate& gate) const;

 private:
  // How a column lies on its grid.
  struct Packing {
    privacy::ProvedDistance moves;
    privacy::ClipRule rule;
    privacy::Deviation noise;
    double scale = 1;  // of a number that travels
    linalg::Storage storage = linalg::Storage::kFloat32;
  };
  // What the releases of a run cost: multipliers are deviations over sensitivities.
  struct Noise {
    int steps = 1;
    double selection = 0;   // e0
    double comparison = 0;  // multiplier; 0: parties are not compared
    double column = 0;      // multiplier
    std::int64_t columns = 0;
  };
  explicit PrivateSelection(privacy::ExactSums sums) : sums_(std::move(sums)) {}
  static Noise paper_noise(const PrivateTerms& terms, const SelectionShape& shape, const Run& run);
  static Result<Noise> proved_noise(double rho, const SelectionShape& shape, const BcfwSettings& settings);
  static Result<Packing> packing(const ColumnShare& share, const Run& run, double bound, double multiplier);
  [[nodiscard]] Result<std::vector<privacy::Event>> step_events(const Noise& noise) const;
  Result<std::vector<privacy::Event>> base_rate_events(double rho, glm::Task task);
  Result<void> raise(Noise& noise, std::span<const privacy::Event> base_rate, int parties) const;
  Result<void> charge(const Noise& noise, privacy::Reservation reservation, privacy::Gate& gate);

  privacy::ExactSums sums_;
  const PrivateTerms* terms_ = nullptr;
  linalg::Matrix plain_{};  // without the columns' scales
  bool noisy_max_ = false;  // the paper's selection
  privacy::Epsilon epsilon_ = *privacy::Epsilon::make(1);
  privacy::Deviation comparison_{0};
  std::int64_t steps_ = 0;
  std::size_t length_ = 0;  // of a column that travels
  double label_bound_ = 1;
  double base_rate_sigma_ = 0;  // 0: not released
  privacy::Grain label_grain_{};
  std::optional<Packing> packing_;
};

}  // namespace parley::algorithms
