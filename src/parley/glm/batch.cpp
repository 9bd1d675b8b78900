#include "parley/glm/batch.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <vector>

#include "parley/core/threads.h"
#include "parley/glm/vector_math.h"

namespace parley::glm {

namespace {

// Loops below are compiled for plain x86-64, AVX2 and AVX-512 and chosen at run time. They hold no
// reductions whose order a compiler could change, so the three give the same bits.
constexpr std::size_t kGrain = 8192;  // rows per unit of threaded work
constexpr std::size_t kBlock = 256;   // rows whose values stay in the first cache
constexpr std::size_t kLanes = 8;

struct SquaredRow {
  static PARLEY_ALWAYS_INLINE double value(double m, double y) { return 0.5 * (m - y) * (m - y); }
  static PARLEY_ALWAYS_INLINE double derivative(double m, double y) { return m - y; }
  static PARLEY_ALWAYS_INLINE double second(double, double) { return 1.0; }
};

struct LogisticRow {
  static PARLEY_ALWAYS_INLINE double size(double t) { return t < 0 ? -t : t; }
  static PARLEY_ALWAYS_INLINE double value(double m, double y) {
    const double t = y * m;
    return (t < 0 ? -t : 0.0) + log1p_of_unit(exp_of_nonpositive(-size(t)));
  }
  static PARLEY_ALWAYS_INLINE double derivative(double m, double y) {
    const double t = y * m;
    const double e = exp_of_nonpositive(-size(t));
    return -y * (t < 0 ? 1.0 : e) / (1.0 + e);
  }
  static PARLEY_ALWAYS_INLINE double second(double m, double y) {
    const double e = exp_of_nonpositive(-size(y * m));
    return e / ((1.0 + e) * (1.0 + e));
  }
};

struct SquaredHingeRow {
  static PARLEY_ALWAYS_INLINE double slack(double m, double y) {
    const double s = 1.0 - y * m;
    return s > 0 ? s : 0.0;
  }
  static PARLEY_ALWAYS_INLINE double value(double m, double y) { return slack(m, y) * slack(m, y); }
  static PARLEY_ALWAYS_INLINE double derivative(double m, double y) { return -2.0 * y * slack(m, y); }
  static PARLEY_ALWAYS_INLINE double second(double m, double y) { return y * m < 1.0 ? 2.0 : 0.0; }
};

struct PoissonRow {
  static PARLEY_ALWAYS_INLINE double rate(double m) {
    const double below = m - Poisson::kLargestLogRate;
    return Poisson::kLargestRate * exp_of_nonpositive(below < 0 ? below : 0.0);
  }
  static PARLEY_ALWAYS_INLINE double value(double m, double y) {
    const double above = m - Poisson::kLargestLogRate;
    return rate(m) * (1.0 + (above > 0 ? above : 0.0)) - y * m + x_log_x(y) - y;
  }
  static PARLEY_ALWAYS_INLINE double derivative(double m, double y) { return rate(m) - y; }
  static PARLEY_ALWAYS_INLINE double second(double m, double) { return m <= Poisson::kLargestLogRate ? rate(m) : 0.0; }
};

template <class F>
decltype(auto) with_row_loss(Task task, F&& f) {
  switch (task) {
    case Task::kLogistic:
      return f(LogisticRow{});
    case Task::kSquaredHinge:
      return f(SquaredHingeRow{});
    case Task::kPoisson:
      return f(PoissonRow{});
    default:
      return f(SquaredRow{});
  }
}

// Sum of a block in eight lanes, added in one fixed order.
PARLEY_ALWAYS_INLINE double sum_in_lanes(const double* values, std::size_t count) {
  std::array<double, kLanes> lanes{};
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (std::size_t l = 0; l < kLanes; ++l) lanes[l] += values[i + l];
  for (std::size_t l = 0; i < count; ++i, ++l) lanes[l] += values[i];
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

struct ValueSum {
  using Returns = double;
  template <class Loss>
  static PARLEY_ALWAYS_INLINE double run(Loss, const double* m, const double* y, double*, std::size_t count) {
    double sum = 0;
    double values[kBlock];
    for (std::size_t at = 0; at < count; at += kBlock) {
      const std::size_t length = count - at < kBlock ? count - at : kBlock;
      for (std::size_t i = 0; i < length; ++i) values[i] = Loss::value(m[at + i], y[at + i]);
      sum += sum_in_lanes(values, length);
    }
    return sum;
  }
};

struct Derivatives {
  using Returns = double;
  template <class Loss>
  static PARLEY_ALWAYS_INLINE double run(Loss, const double* m, const double* y, double* out, std::size_t count) {
#pragma GCC ivdep  // `out` is either `m` itself or apart from it
    for (std::size_t i = 0; i < count; ++i) out[i] = Loss::derivative(m[i], y[i]);
    return 0;
  }
};

struct ValueSumAndDerivatives {
  using Returns = double;
  template <class Loss>
  static PARLEY_ALWAYS_INLINE double run(Loss, const double* m, const double* y, double* out, std::size_t count) {
    double sum = 0;
    double values[kBlock];
    for (std::size_t at = 0; at < count; at += kBlock) {
      const std::size_t length = count - at < kBlock ? count - at : kBlock;
#pragma GCC ivdep
      for (std::size_t i = 0; i < length; ++i) {
        const double margin = m[at + i];
        values[i] = Loss::value(margin, y[at + i]);
        out[at + i] = Loss::derivative(margin, y[at + i]);
      }
      sum += sum_in_lanes(values, length);
    }
    return sum;
  }
};

struct Curvatures {
  using Returns = double;
  template <class Loss>
  static PARLEY_ALWAYS_INLINE double run(Loss, const double* m, const double* y, double* out, std::size_t count) {
#pragma GCC ivdep
    for (std::size_t i = 0; i < count; ++i) out[i] = Loss::second(m[i], y[i]);
    return 0;
  }
};

// Probabilities of one block of rows: the classes' planes are `stride` apart.
//   tops[i] the row's largest margin; sums[i] the sum of e^(m - top).
struct SoftmaxBlock {
  using Returns = void;
  static PARLEY_ALWAYS_INLINE void run(const double* m, std::size_t stride, std::size_t classes, std::size_t length,
                                       double* out, double* tops, double* sums) {
    for (std::size_t i = 0; i < length; ++i) tops[i] = m[i];
    for (std::size_t k = 1; k < classes; ++k)
      for (std::size_t i = 0; i < length; ++i) tops[i] = m[k * stride + i] > tops[i] ? m[k * stride + i] : tops[i];
    for (std::size_t i = 0; i < length; ++i) sums[i] = 0;
    for (std::size_t k = 0; k < classes; ++k)
#pragma GCC ivdep
      for (std::size_t i = 0; i < length; ++i) {
        const double e = exp_of_nonpositive(m[k * stride + i] - tops[i]);
        out[k * stride + i] = e;
        sums[i] += e;
      }
    for (std::size_t k = 0; k < classes; ++k)
#pragma GCC ivdep
      for (std::size_t i = 0; i < length; ++i) out[k * stride + i] /= sums[i];
  }
};

// From probabilities to gradients p - e_y, in place. p_y - 1 is minus the others' mass: no cancellation when
// p_y is close to 1.
struct SoftmaxGradientBlock {
  using Returns = void;
  static PARLEY_ALWAYS_INLINE void run(const double* labels, std::size_t stride, std::size_t classes,
                                       std::size_t length, double* p, double* others) {
    for (std::size_t i = 0; i < length; ++i) others[i] = 0;
    for (std::size_t k = 0; k < classes; ++k) {
      const auto label = static_cast<double>(k);
#pragma GCC ivdep
      for (std::size_t i = 0; i < length; ++i) others[i] += select(labels[i] == label, 0.0, p[k * stride + i]);
    }
    for (std::size_t k = 0; k < classes; ++k) {
      const auto label = static_cast<double>(k);
#pragma GCC ivdep
      for (std::size_t i = 0; i < length; ++i)
        p[k * stride + i] = select(labels[i] == label, -others[i], p[k * stride + i]);
    }
  }
};

struct SoftmaxValueSum {
  using Returns = double;
  static PARLEY_ALWAYS_INLINE double run(const double* tops, const double* label_margins, std::size_t length,
                                         double* sums) {
    for (std::size_t i = 0; i < length; ++i) sums[i] = (tops[i] - label_margins[i]) + log_of_at_least_one(sums[i]);
    return sum_in_lanes(sums, length);
  }
};

#if defined(__x86_64__)
#define PARLEY_FOR_AVX512 __attribute__((target("avx512f,avx512dq,avx512vl,prefer-vector-width=512")))
#define PARLEY_FOR_AVX2 __attribute__((target("avx2")))
enum class Cpu { kPlain, kAvx2, kAvx512 };
Cpu cpu() {
  static const Cpu found =
      __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")
          ? Cpu::kAvx512
      : __builtin_cpu_supports("avx2") ? Cpu::kAvx2
                                       : Cpu::kPlain;
  return found;
}
template <class Kernel, class... Arguments>
PARLEY_FOR_AVX512 typename Kernel::Returns run_avx512(Arguments... arguments) {
  return Kernel::run(arguments...);
}
template <class Kernel, class... Arguments>
PARLEY_FOR_AVX2 typename Kernel::Returns run_avx2(Arguments... arguments) {
  return Kernel::run(arguments...);
}
template <class Kernel, class... Arguments>
typename Kernel::Returns run(Arguments... arguments) {
  switch (cpu()) {
    case Cpu::kAvx512:
      return run_avx512<Kernel>(arguments...);
    case Cpu::kAvx2:
      return run_avx2<Kernel>(arguments...);
    default:
      return Kernel::run(arguments...);
  }
}
#else
template <class Kernel, class... Arguments>
typename Kernel::Returns run(Arguments... arguments) {
  return Kernel::run(arguments...);
}
#endif

// Runs a kernel over the rows; the sum of what it returns, added in chunk order.
template <class Kernel>
double over_rows(Task task, std::span<const double> margins, std::span<const double> labels, double* out) {
  return with_row_loss(task, [&](auto loss) {
    return parallel_sum(labels.size(), kGrain, [&](std::size_t begin, std::size_t end) {
      return run<Kernel>(loss, margins.data() + begin, labels.data() + begin, out == nullptr ? nullptr : out + begin,
                         end - begin);
    });
  });
}

enum class Want { kValue, kDerivatives, kProbabilities };

// Softmax over blocks of rows. `out` is null when only the value is wanted.
double over_softmax_rows(Want want, std::span<const double> margins, std::span<const double> labels, std::size_t rows,
                         double* out) {
  const std::size_t classes = margins.size() / rows;
  return parallel_sum(rows, kGrain, [&](std::size_t begin, std::size_t end) {
    std::vector<double> scratch(out == nullptr ? classes * kBlock : 0);
    double tops[kBlock];
    double sums[kBlock];
    double label_margins[kBlock];
    double loss = 0;
    for (std::size_t at = begin; at < end; at += kBlock) {
      const std::size_t length = std::min(kBlock, end - at);
      if (want != Want::kProbabilities)
        for (std::size_t i = 0; i < length; ++i)
          label_margins[i] = margins[static_cast<std::size_t>(labels[at + i]) * rows + at + i];
      if (out == nullptr) {
        for (std::size_t k = 0; k < classes; ++k)
          std::copy_n(margins.data() + k * rows + at, length, scratch.data() + k * kBlock);
        run<SoftmaxBlock>(static_cast<const double*>(scratch.data()), kBlock, classes, length, scratch.data(), tops,
                          sums);
      } else {
        run<SoftmaxBlock>(margins.data() + at, rows, classes, length, out + at, tops, sums);
      }
      if (want == Want::kProbabilities) continue;
      loss += run<SoftmaxValueSum>(static_cast<const double*>(tops), static_cast<const double*>(label_margins), length,
                                   static_cast<double*>(sums));
      if (want == Want::kDerivatives)
        run<SoftmaxGradientBlock>(labels.data() + at, rows, classes, length, out + at, static_cast<double*>(tops));
    }
    return loss;
  });
}

}  // namespace

double mean_loss(Task task, std::span<const double> margins, std::span<const double> labels) {
  const auto rows = static_cast<double>(labels.size());
  if (task == Task::kSoftmax) return over_softmax_rows(Want::kValue, margins, labels, labels.size(), nullptr) / rows;
  assert(margins.size() == labels.size());
  return over_rows<ValueSum>(task, margins, labels, nullptr) / rows;
}

void loss_derivatives(Task task, std::span<const double> margins, std::span<const double> labels,
                      std::span<double> out) {
  assert(out.size() == margins.size());
  if (task == Task::kSoftmax)
    over_softmax_rows(Want::kDerivatives, margins, labels, labels.size(), out.data());
  else
    over_rows<Derivatives>(task, margins, labels, out.data());
}

double mean_loss_and_derivatives(Task task, std::span<const double> margins, std::span<const double> labels,
                                 std::span<double> out) {
  assert(out.size() == margins.size());
  const auto rows = static_cast<double>(labels.size());
  if (task == Task::kSoftmax)
    return over_softmax_rows(Want::kDerivatives, margins, labels, labels.size(), out.data()) / rows;
  return over_rows<ValueSumAndDerivatives>(task, margins, labels, out.data()) / rows;
}

void loss_curvatures(Task task, std::span<const double> margins, std::span<const double> labels,
                     std::span<double> out) {
  assert(out.size() == margins.size());
  if (task == Task::kSoftmax)
    over_softmax_rows(Want::kProbabilities, margins, {}, labels.size(), out.data());
  else
    over_rows<Curvatures>(task, margins, labels, out.data());
}

void class_probabilities(std::span<const double> margins, std::size_t rows, std::span<double> out) {
  assert(out.size() == margins.size() && rows > 0);
  if (margins.size() > rows) {
    over_softmax_rows(Want::kProbabilities, margins, {}, rows, out.data());
    return;
  }
  for (std::size_t i = 0; i < rows; ++i) out[i] = Logistic::derivative(margins[i], -1.0);  // = 1 / (1 + e^-m)
}

}  // namespace parley::glm
