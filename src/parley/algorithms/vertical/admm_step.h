// The coordinator's arithmetic of a round of ADMM sharing (admm_sharing.h): numbers in, numbers out. Values of K classes
// stand class by class, s[k n + i].
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "parley/algorithms/vertical/admm_settings.h"
#include "parley/glm/objective.h"

namespace parley::algorithms {

// w: how many parties correct the residual S - z together. M of the averaged update in parallel; 1 of the paper's (6),
// where each corrects all of it, and of Gauss-Seidel, where each sees what the ones before it did.
double parts_of_residual(const AdmmSettings& settings, int parties);

// What is told to parties: (S - z)/w + y/rho.
std::vector<double> correction(std::span<const double> sum, std::span<const double> consensus,
                               std::span<const double> dual, double weight, double rho);

// z <- argmin sum_i phi(z_i, y_i) + rho/(2w) ||z - S - w y/rho||^2, record by record;   y <- y + (rho/w)(S - z)
struct ConsensusStep {
  glm::Task task;
  double rho;  // over w
  std::span<const double> labels;
  void take(std::span<const double> sum, std::span<double> consensus, std::span<double> dual) const;
};

// y + rho (S - z), whose product with D_m is the gradient of the augmented Lagrangian at x_m but for the penalty; and
// the coordinator's own terms of V^t, ||phi'(z) - y - rho (S - z)||^2 + ||S - z||^2.
std::vector<double> pull_of(std::span<const double> sum, std::span<const double> consensus,
                            std::span<const double> dual, double rho);
double own_residuals(glm::Task task, std::span<const double> labels, std::span<const double> consensus,
                     std::span<const double> sum, std::span<const double> pull);

// By public numbers. `row_norm`: of a whole record, the largest.
//   5 sqrt(l2 L M / row_norm^2)           L the largest curvature of the loss; without l2 a share of the loss in its place
//   at least 1.1 L (3 M - 4)/2            for the paper's (6) in parallel: it is stable above L (3 mu - 4)/2, mu <= M
double default_rho(const glm::Objective& objective, const AdmmSettings& settings, int parties, double row_norm);
// A value of rho at which (6) is stable whatever the columns are.
double surely_stable_rho(glm::Task task, int parties);

// Whether the residual ||S - z|| goes where it must, from round to round.
struct ResidualWatch {
  std::int64_t seen = 0;
  double first = 0, last = 0;
  double least = 0;     // before the current window
  double recent = 0;    // in it
  double relative = 0;  // the last one, beside ||z||
  static void fields(auto& self, auto&& visit) {
    visit(self.seen, self.first, self.last, self.least, self.recent, self.relative);
  }
  void look(double residual, double consensus);
  // It is no number, a thousand times what it was, or did not come down in a window of rounds.
  [[nodiscard]] bool grows() const;
  // What a run that ends here leaves behind is no better than its first round.
  [[nodiscard]] bool worthless() const { return seen > 1 && !(last < first) && relative > kSmall; }

 private:
  static constexpr std::int64_t kWindow = 50;
  static constexpr double kSmall = 1e-3;
};

// Balanced: rho grows with the primal residual and shrinks with the dual one, both relative (Wohlberg 2017), after
// rounds 10, 20, 40, ...: so rarely in the end that convergence for a fixed rho carries over.
double balanced_rho(double rho, std::int64_t round, double primal, double dual);

}  // namespace parley::algorithms
