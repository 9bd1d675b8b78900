#include "parley/algorithms/relational/row_losses.h"

#include <algorithm>

#include "parley/algorithms/parts/lanes.h"
#include "parley/glm/batch.h"
#include "parley/glm/softmax.h"
#include "parley/glm/vector_math.h"

namespace parley::algorithms {

namespace {

// f(margins of the row, its class, number of the row's first margin) for every row of a softmax.
template <class F>
void for_each_row(const RowLoss& loss, std::span<const double> labels, F&& f) {
  for (std::size_t j = 0; j < labels.size(); ++j) f(j * loss.classes, static_cast<int>(labels[j]));
}

// The iteration of glm::Logistic::prox on a block of rows at once: z - t = step / (1 + e^z), t = y v. Newton's method squares
// the error, times step / 20 at most: after a move of 1e-8 nothing is left to move. Returns how many rows have not arrived.
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
  const double last_move = 1e-8 / (rows.step > 1 ? rows.step : 1.0);
  double left = 0;
  for (int k = 0; k < kIterations; ++k) {
    for (std::size_t i = 0; i < rows.count; ++i) {
      const double size = z[i] < 0 ? -z[i] : z[i];
      const double e = glm::exp_of_nonpositive(-size);
      const double share = glm::select(z[i] < 0, 1.0, e) / (1.0 + e);
      const double slope = 1.0 + rows.step * (e / ((1.0 + e) * (1.0 + e)));
      const double move = ((z[i] - t[i]) - rows.step * share) / slope;
      z[i] -= move;
      const double target = t[i] < 0 ? -t[i] : t[i];
      const double scale = size > target ? size : target;
      moving[i] = (move < 0 ? -move : move) > last_move * scale ? 1.0 : 0.0;
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
    double block[kBlock];
    if (logistic_prox({step, &v[at], &labels[at], block, count}) != 0)
      for (std::size_t i = 0; i < count; ++i) block[i] = glm::Logistic::prox(step, v[at + i], labels[at + i]);
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
  return glm::mean_loss(loss.task, margins, labels) * static_cast<double>(labels.size());
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
  return glm::mean_loss_and_derivatives(loss.task, margins, labels, margins) * static_cast<double>(labels.size());
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
