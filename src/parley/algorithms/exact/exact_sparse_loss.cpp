#include "parley/algorithms/exact/exact_sparse_loss.h"

#include <algorithm>
#include <cmath>

#include "parley/algorithms/exact/exact_sparse_gram.h"
#include "parley/algorithms/exact/margin_losses.h"
#include "parley/core/threads.h"
#include "parley/glm/loss.h"

namespace parley::algorithms {

namespace {

using linalg::Index;

constexpr std::size_t kRowsPerChunk = 4096;
// Slots that one thread takes at a time: all of them when the Hessian is too small to share.
std::size_t slots_per_chunk(const WorkingColumns& columns) {
  constexpr std::size_t kSlots = 8;
  constexpr std::size_t kWorthSharing = 20000;  // entries
  return columns.entries() < kWorthSharing ? std::max<std::size_t>(1, columns.size()) : kSlots;
}

double entropy_term(double p) {
  return p > 0 ? p * std::log(p) : 0.0;
}

// f + f* + theta m for one row; target is -n theta, the derivative that theta stands for.
//   squared        1/2 (m - y - target)^2
//   logistic       with t = -y target in [0, 1]: log(1 + e^{-ym}) + t log t + (1-t) log(1-t) + t y m
//   squared hinge  with s = -y target >= 0, slack = 1 - ym: (slack - s/2)^2, or s^2/4 - s slack when slack < 0
double row_fenchel_young(glm::Squared, double m, double y, double target) {
  const double miss = m - y - target;
  return 0.5 * miss * miss;
}

double row_fenchel_young(glm::Logistic, double m, double y, double target) {
  const double t = std::clamp(-y * target, 0.0, 1.0);
  return std::max(0.0, glm::Logistic::value(m, y) + entropy_term(t) + entropy_term(1 - t) + t * y * m);
}

double row_fenchel_young(glm::SquaredHinge, double m, double y, double target) {
  const double s = -y * target;
  const double slack = 1 - y * m;
  return slack > 0 ? (slack - 0.5 * s) * (slack - 0.5 * s) : 0.25 * s * s - s * slack;
}

// Counts have a method of their own (warm_newton.h); this is what they would have here.
double row_fenchel_young(glm::Poisson, double m, double y, double target) {
  const double u = glm::Poisson::nearest_in_conjugate_domain(target, y);
  return std::max(0.0, glm::Poisson::value(m, y) + glm::Poisson::conjugate(u, y) - u * m);
}

template <class Loss>
class ScalarMeanLoss final : public MeanLoss {
 public:
  ScalarMeanLoss(glm::Task task, std::span<const double> labels)
      : task_(task), labels_(labels), share_(1.0 / static_cast<double>(labels.size())) {}

  void differentiate(std::span<const double> margins, std::span<const double> line, double length,
                     Slopes& slopes) const override {
    slopes.slope.resize(labels_.size());
    slopes.curvature.resize(labels_.size());
    slopes.value = look_along(task_, {labels_, margins, line}, length, slopes.slope, slopes.curvature).loss;
    for (double& slope : slopes.slope) slope *= share_;
    for (double& curvature : slopes.curvature) curvature *= share_;
  }

  void hessian(const WorkingColumns& columns, const Slopes& slopes, std::span<double> hessian) const override {
    gram_.run(columns, slopes.curvature, hessian);
  }

  void balance(std::span<double> theta) const override {
    if constexpr (std::is_same_v<Loss, glm::Squared>) {
      double mean = 0;
      for (const double t : theta) mean += t;
      mean *= share_;
      for (double& t : theta) t -= mean;
    } else {
      // theta_i y_i >= 0: the classes pull in opposite directions, and shrinking the stronger one
      // keeps every entry inside the conjugate's domain.
      double up = 0;
      double down = 0;
      for (const double t : theta) (t > 0 ? up : down) += std::abs(t);
      const double less = std::min(up, down);
      for (double& t : theta) {
        const double side = t > 0 ? up : down;
        t = side > 0 ? t * (less / side) : 0.0;
      }
    }
  }

  double fenchel_young(std::span<const double> margins, std::span<const double> theta, double scale) const override {
    const double to_derivative = -scale / share_;
    return share_ * parallel_sum(labels_.size(), kRowsPerChunk, [&](std::size_t begin, std::size_t end) {
             double sum = 0;
             for (std::size_t i = begin; i < end; ++i)
               sum += row_fenchel_young(Loss{}, margins[i], labels_[i], to_derivative * theta[i]);
             return sum;
           });
  }

  bool quadratic() const override { return std::is_same_v<Loss, glm::Squared>; }

 private:
  glm::Task task_;
  std::span<const double> labels_;
  double share_;              // 1/n
  mutable WorkingGram gram_;  // its memory only
};

class SoftmaxMeanLoss final : public MeanLoss {
 public:
  SoftmaxMeanLoss(std::span<const double> labels, int classes)
      : labels_(labels),
        classes_(static_cast<std::size_t>(classes)),
        share_(1.0 / static_cast<double>(labels.size())) {}

  void differentiate(std::span<const double> start, std::span<const double> line, double length,
                     Slopes& slopes) const override {
    std::vector<double> margins(start.begin(), start.end());
    for (std::size_t c = 0; c < margins.size(); ++c) margins[c] += length * line[c];
    slopes.slope.resize(margins.size());
    // Probabilities first, then their complements, added up from the other classes: 1 - p would lose
    // what matters when p is nearly 1.
    slopes.curvature.resize(2 * margins.size());
    const std::span<double> p = std::span(slopes.curvature).first(margins.size());
    const std::span<double> rest = std::span(slopes.curvature).last(margins.size());
    slopes.value = share_ * parallel_sum(labels_.size(), kRowsPerChunk, [&](std::size_t begin, std::size_t end) {
                     double sum = 0;
                     for (std::size_t i = begin; i < end; ++i) {
                       const double total = log_sum(margins, i);
                       sum += total - margins[at(label(i), i)];
                       for (std::size_t k = 0; k < classes_; ++k) p[at(k, i)] = std::exp(margins[at(k, i)] - total);
                       for (std::size_t k = 0; k < classes_; ++k) {
                         double others = 0;
                         for (std::size_t l = 0; l < classes_; ++l) others += l == k ? 0.0 : p[at(l, i)];
                         rest[at(k, i)] = others;
                         slopes.slope[at(k, i)] = share_ * (k == label(i) ? -others : p[at(k, i)]);
                       }
                     }
                     return sum;
                   });
  }

  // Second derivative by the margins of classes k and l: p_k (1[k = l] - p_l) / n.
  void hessian(const WorkingColumns& columns, const Slopes& slopes, std::span<double> hessian) const override {
    const std::size_t size = columns.size();
    const auto coordinates = columns.coordinates();
    const std::span<const double> p = std::span(slopes.curvature).first(slopes.slope.size());
    const std::span<const double> rest = std::span(slopes.curvature).last(slopes.slope.size());
    std::fill(hessian.begin(), hessian.end(), 0.0);
    parallel_chunks(size, slots_per_chunk(columns), [&](std::size_t begin, std::size_t end) {
      for (std::size_t a = begin; a < end; ++a) {
        double* const into = hessian.data() + a * size;
        const auto k = static_cast<std::size_t>(coordinates[a].class_number);
        columns.for_each_in_slot(a, [&](Index row, double value) {
          const auto i = static_cast<std::size_t>(row);
          const double weighted = share_ * value * p[at(k, i)];
          for (std::size_t e = columns.row_start(i); e < columns.row_start(i + 1); ++e) {
            const std::size_t b = columns.slots()[e];
            if (b > a) break;
            const auto l = static_cast<std::size_t>(coordinates[b].class_number);
            const double other = columns.row_values() != nullptr ? columns.row_values()[e] : 1.0;
            into[b] += weighted * other * (k == l ? rest[at(k, i)] : -p[at(l, i)]);
          }
        });
      }
    });
    mirror(size, hessian);
  }

  // In probabilities p_i = e_{y_i} - n theta_i the constraint reads: the p's of a class add up to its
  // number of rows. Classes that have too much give a share of every row's mass to those with too
  // little, so each p_i stays in the simplex.
  void balance(std::span<double> theta) const override {
    const std::size_t n = labels_.size();
    const double rows = static_cast<double>(n);
    std::vector<double> give(classes_);
    std::vector<double> take(classes_);
    double missing = 0;
    for (std::size_t k = 0; k < classes_; ++k) {
      double mass = 0;
      double surplus = 0;
      for (std::size_t i = 0; i < n; ++i) {
        mass += (k == label(i) ? 1.0 : 0.0) - rows * theta[at(k, i)];
        surplus -= rows * theta[at(k, i)];
      }
      if (surplus > 0 && mass > 0) give[k] = std::min(1.0, surplus / mass);
      if (surplus < 0) take[k] = -surplus;
      missing += take[k];
    }
    if (missing == 0) return;
    for (std::size_t i = 0; i < n; ++i) {
      double moved = 0;
      for (std::size_t k = 0; k < classes_; ++k) {
        const double p = (k == label(i) ? 1.0 : 0.0) - rows * theta[at(k, i)];
        moved += give[k] * p;
        theta[at(k, i)] += share_ * give[k] * p;
      }
      for (std::size_t k = 0; k < classes_; ++k) theta[at(k, i)] -= share_ * moved * take[k] / missing;
    }
  }

  // lse(m) - <p, m> + sum_k p_k log p_k with p = e_y - n * scale * theta.
  double fenchel_young(std::span<const double> margins, std::span<const double> theta, double scale) const override {
    const double rows = static_cast<double>(labels_.size());
    return share_ * parallel_sum(labels_.size(), kRowsPerChunk, [&](std::size_t begin, std::size_t end) {
             double sum = 0;
             for (std::size_t i = begin; i < end; ++i) {
               double term = log_sum(margins, i);
               for (std::size_t k = 0; k < classes_; ++k) {
                 const double p = std::max(0.0, (k == label(i) ? 1.0 : 0.0) - rows * scale * theta[at(k, i)]);
                 term += entropy_term(p) - p * margins[at(k, i)];
               }
               sum += std::max(0.0, term);
             }
             return sum;
           });
  }

 private:
  [[nodiscard]] std::size_t at(std::size_t k, std::size_t i) const { return k * labels_.size() + i; }
  [[nodiscard]] std::size_t label(std::size_t i) const { return static_cast<std::size_t>(labels_[i]); }

  [[nodiscard]] double log_sum(std::span<const double> margins, std::size_t i) const {
    double top = margins[at(0, i)];
    for (std::size_t k = 1; k < classes_; ++k) top = std::max(top, margins[at(k, i)]);
    double sum = 0;
    for (std::size_t k = 0; k < classes_; ++k) sum += std::exp(margins[at(k, i)] - top);
    return top + std::log(sum);
  }

  std::span<const double> labels_;
  std::size_t classes_;
  double share_;
};

}  // namespace

std::unique_ptr<MeanLoss> mean_loss(const Problem& problem) {
  if (problem.objective.task == glm::Task::kSoftmax)
    return std::make_unique<SoftmaxMeanLoss>(problem.labels, problem.objective.classes);
  return glm::with_loss(problem.objective.task, [&](auto loss) -> std::unique_ptr<MeanLoss> {
    return std::make_unique<ScalarMeanLoss<decltype(loss)>>(problem.objective.task, problem.labels);
  });
}

}  // namespace parley::algorithms
