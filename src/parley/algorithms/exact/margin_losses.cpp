#include "parley/algorithms/exact/margin_losses.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "parley/algorithms/parts/lanes.h"
#include "parley/core/threads.h"
#include "parley/glm/vector_math.h"

namespace parley::algorithms {

namespace {

constexpr std::size_t kGrain = 4096;

// What a loss gives at one margin.
struct Values {
  double loss, derivative, curvature;
};

struct LogisticValues {
  PARLEY_INLINE static Values at(double m, double y) {
    const double t = y * m;
    const double e = glm::exp_of_nonpositive(-std::abs(t));
    const double inverse = 1.0 / (1.0 + e);
    return {glm::log1p_of_unit(e) + std::max(-t, 0.0), -y * ((t >= 0 ? e : 1.0) * inverse), e * inverse * inverse};
  }
};

struct SquaredHingeValues {
  PARLEY_INLINE static Values at(double m, double y) {
    const double slack = std::max(1.0 - y * m, 0.0);
    return {slack * slack, -2.0 * y * slack, slack > 0 ? 2.0 : 0.0};
  }
};

struct SquaredValues {
  PARLEY_INLINE static Values at(double m, double y) { return {0.5 * (m - y) * (m - y), m - y, 1.0}; }
};

struct Chunk {
  const double* labels;
  const double* margins;
  const double* line;
  double* derivatives;
  double* curvatures;
  std::size_t size;
  double t;
};

// Blocks small enough for the first-level cache: one loop without sums, which vectorises, then the sums
// in lanes.
template <class Loss>
PARLEY_INLINE LinePoint look_body(const Chunk& chunk) {
  constexpr std::size_t kBlock = 64;
  static_assert(kBlock % kLanes == 0);
  alignas(64) double losses[kBlock];
  alignas(64) double slopes[kBlock];
  Lanes loss = {};
  Lanes slope = {};
  for (std::size_t i = 0; i < chunk.size; i += kBlock) {
    const std::size_t count = std::min(kBlock, chunk.size - i);
    const double* __restrict m = chunk.margins + i;
    const double* __restrict q = chunk.line + i;
    const double* __restrict y = chunk.labels + i;
    double* __restrict derivative = chunk.derivatives + i;
    double* __restrict curvature = chunk.curvatures + i;
    if (count < kBlock) {
      std::fill(losses, losses + kBlock, 0.0);
      std::fill(slopes, slopes + kBlock, 0.0);
    }
    for (std::size_t l = 0; l < count; ++l) {
      const Values values = Loss::at(m[l] + chunk.t * q[l], y[l]);
      losses[l] = values.loss;
      slopes[l] = values.derivative * q[l];
      derivative[l] = values.derivative;
      curvature[l] = values.curvature;
    }
    Lanes part;
    for (std::size_t l = 0; l < kBlock; l += kLanes) {
      load(part, losses + l);
      loss += part;
      load(part, slopes + l);
      slope += part;
    }
  }
  return {sum(loss), sum(slope)};
}

PARLEY_INLINE LinePoint look_logistic_body(const Chunk& chunk) {
  return look_body<LogisticValues>(chunk);
}
PARLEY_INLINE LinePoint look_squared_hinge_body(const Chunk& chunk) {
  return look_body<SquaredHingeValues>(chunk);
}
PARLEY_INLINE LinePoint look_squared_body(const Chunk& chunk) {
  return look_body<SquaredValues>(chunk);
}
PARLEY_KERNEL(LinePoint, look_logistic, (const Chunk& chunk), (chunk))
PARLEY_KERNEL(LinePoint, look_squared_hinge, (const Chunk& chunk), (chunk))
PARLEY_KERNEL(LinePoint, look_squared, (const Chunk& chunk), (chunk))

}  // namespace

LinePoint look_along(glm::Task task, const MarginLine& at, double t, std::span<double> derivatives,
                     std::span<double> curvatures) {
  const std::size_t n = at.margins.size();
  std::vector<LinePoint> parts(chunk_count(n, kGrain));
  parallel_chunks(n, kGrain, [&](std::size_t begin, std::size_t end) {
    const Chunk chunk{at.labels.data() + begin,
                      at.margins.data() + begin,
                      at.line.data() + begin,
                      derivatives.data() + begin,
                      curvatures.data() + begin,
                      end - begin,
                      t};
    LinePoint& part = parts[begin / kGrain];
    switch (task) {
      case glm::Task::kLogistic:
        part = look_logistic(chunk);
        break;
      case glm::Task::kSquaredHinge:
        part = look_squared_hinge(chunk);
        break;
      default:
        part = look_squared(chunk);
        break;
    }
  });
  LinePoint total;
  for (const LinePoint& part : parts) {
    total.loss += part.loss;
    total.slope += part.slope;
  }
  total.loss /= static_cast<double>(n);
  total.slope /= static_cast<double>(n);
  return total;
}

}  // namespace parley::algorithms
