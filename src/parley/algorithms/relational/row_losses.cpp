#include "parley/algorithms/relational/row_losses.h"

#include <algorithm>

#include "parley/algorithms/parts/lanes.h"
#include "parley/glm/softmax.h"
#include "parley/glm/unbiased.h"
#include "parley/glm/vector_math.h"

namespace parley::algorithms {

namespace {

// f(margins of the row, its class, number of the row's first margin) for every row of a softmax.
template <class F>
void for_each_row(const RowLoss& loss, std::span<const double> labels, F&& f) {
  for (std::size_t j = 0; j < labels.size(); ++j) f(j * loss.classes, static_cast<int>(labels[j]));
}

// glm::Logistic::prox of a block of rows at once: f(z) = z - t - step p = 0, p = 1 / (1 + e^z), t = y v. Halley's method,
//   z <- z - m / (1 - m f''/(2 f')),  m = f/f',   f' = 1 + step p (1 - p),   f'' = -step p (1 - p) (1 - 2 p),
// takes the exponential of Newton's and a third fewer steps. It cubes the error, times (f''/(2 f'))^2 - f'''/(6 f') <= 1/2:
// after a move of 1e-5 nothing is left to move. Returns how many rows have not arrived.
constexpr std::size_t kBlock = 256;

struct LogisticRows {
  double step;
  const double* v;
  const double* labels;
  double* out;
  std::size_t count;
};

PARLEY_INLINE double logistic_prox_body(const LogisticRows& rows) {
  constexpr int kIterations = 40;
  double t[kBlock], z[kBlock], moving[kBlock];
  for (std::size_t i = 0; i < rows.count; ++i) {
    t[i] = rows.labels[i] * rows.v[i];
    const double least = t[i] > 0 ? t[i] : 0.0, most = t[i] + rows.step;
    z[i] = least < most ? least : most;
  }
  constexpr double kLastMove = 1e-5;
  double left = 0;
  for (int k = 0; k < kIterations; ++k) {
    for (std::size_t i = 0; i < rows.count; ++i) {
      const double size = z[i] < 0 ? -z[i] : z[i];
      const double e = glm::exp_of_nonpositive(-size);
      const double inverse = 1.0 / (1.0 + e);
      const double share = glm::select(z[i] < 0, 1.0, e) * inverse;
      const double bend = rows.step * (e * (inverse * inverse));
      const double of_slope = 1.0 / (1.0 + bend);
      const double newton = ((z[i] - t[i]) - rows.step * share) * of_slope;
      const double shorter = 1.0 + 0.5 * newton * (bend * (1.0 - 2.0 * share)) * of_slope;
      const double move = newton / (shorter > 0.5 ? shorter : 0.5);
      z[i] -= move;
      const double target = t[i] < 0 ? -t[i] : t[i];
      const double larger = size > target ? size : target, scale = larger < 1 ? larger : 1.0;
      moving[i] = (move < 0 ? -move : move) > kLastMove * scale ? 1.0 : 0.0;
    }
    left = 0;
    for (std::size_t i = 0; i < rows.count; ++i) left += moving[i];
    if (left == 0) break;
  }
  for (std::size_t i = 0; i < rows.count; ++i) rows.out[i] = rows.labels[i] * z[i];
  return left;
}

PARLEY_KERNEL(double, logistic_prox, (const LogisticRows& rows), (rows))

void logistic_points(double step, std::span<const double> v, std::span<const double> labels, std::span<double> out) {
  for (std::size_t at = 0; at < labels.size(); at += kBlock) {
    const std::size_t count = std::min(kBlock, labels.size() - at);
    // The prox of a target t is that of its sign, of a point that the target moves (glm/unbiased.h).
    double block[kBlock], moved[kBlock], signs[kBlock];
    for (std::size_t i = 0; i < count; ++i) {
      signs[i] = labels[at + i] < 0 ? -1.0 : 1.0;
      moved[i] = v[at + i] - step * 0.5 * (signs[i] - labels[at + i]);
    }
    if (logistic_prox({step, moved, signs, block, count}) != 0)
      for (std::size_t i = 0; i < count; ++i) block[i] = glm::Logistic::prox(step, moved[i], signs[i]);
    std::copy_n(block, count, &out[at]);
  }
}

}  // namespace

double loss_sum(const RowLoss& loss, std::span<const double> margins, std::span<const double> labels) {
  if (labels.empty()) return 0;
  if (loss.task == glm::Task::kSoftmax) {
    double sum = 0;
    for_each_row(loss, labels,
                 [&](std::size_t at, int y) { sum += glm::Softmax::value(margins.subspan(at, loss.classes), y); });
    return sum;
  }
  return glm::unbiased::mean_loss(loss.task, margins, labels) * static_cast<double>(labels.size());
}

double losses_and_derivatives(const RowLoss& loss, std::span<double> margins, std::span<const double> labels) {
  if (loss.task == glm::Task::kSoftmax) {
    const double sum = loss_sum(loss, margins, labels);
    for_each_row(loss, labels, [&](std::size_t at, int y) {
      const auto row = margins.subspan(at, loss.classes);
      glm::Softmax::gradient(row, y, row);
    });
    return sum;
  }
  if (labels.empty()) return 0;
  return glm::unbiased::mean_loss_and_derivatives(loss.task, margins, labels, margins) *
         static_cast<double>(labels.size());
}

void proximal_points(const RowLoss& loss, double rho, std::span<const double> v, std::span<const double> labels,
                     std::span<double> out) {
  if (loss.task == glm::Task::kSoftmax)
    return for_each_row(loss, labels, [&](std::size_t at, int y) {
      glm::Softmax::prox(1 / rho, v.subspan(at, loss.classes), y, out.subspan(at, loss.classes));
    });
  if (loss.task == glm::Task::kLogistic) return logistic_points(1 / rho, v, labels, out);
  glm::with_loss(loss.task, [&](auto scalar) {
    for (std::size_t j = 0; j < labels.size(); ++j) out[j] = scalar.prox(1 / rho, v[j], labels[j]);
  });
}

}  // namespace parley::algorithms
