#include "parley/linalg/sketch.h"

#include <gtest/gtest.h>

#include <array>

#include "parley/core/threads.h"
#include "parley/linalg/vectors.h"
#include "random_matrix.h"

using namespace parley::linalg;

namespace {

constexpr std::array kKinds = {SketchKind::kGaussian, SketchKind::kHadamard, SketchKind::kCountSketch,
                               SketchKind::kOsnap};

Sketch make(SketchKind kind, Index m, Index n, std::uint64_t seed) {
  return Sketch({.kind = kind, .rows = m, .columns = n, .seed = seed, .blocks = 3});
}

}  // namespace

TEST(PublicRandom, IsPhiloxAsPublished) {
  // The known answers of the authors' Random123 library for philox4x32-10.
  const auto zeros = PublicRandom(0).block(0, 0);
  EXPECT_EQ(zeros[0], 0xe169c58d6627e8d5U);
  EXPECT_EQ(zeros[1], 0x9b00dbd8bc57ac4cU);
  const auto digits = PublicRandom(0x299f31d0a4093822U).block(0x0370734413198a2eU, 0x85a308d3243f6a88U);
  EXPECT_EQ(digits[0], 0x94fdccebd16cfe09U);
  EXPECT_EQ(digits[1], 0x24126ea15001e420U);
}

TEST(PublicRandom, QuantileInvertsTheNormalDistribution) {
  for (const double p : {1e-300, 1e-20, 1e-10, 1e-5, 0.01, 0.07, 0.075, 0.0751, 0.3, 0.5, 0.6, 0.925, 0.95, 0.999}) {
    const double x = PublicRandom::normal_quantile(p);
    const double back = 0.5 * std::erfc(-x / std::sqrt(2.0));
    // The slope of log p in x is about |x| in the tail.
    EXPECT_NEAR(back / p, 1.0, 1e-13 * (1 + x * x)) << p;
  }
  EXPECT_EQ(PublicRandom::normal_quantile(0.25), -PublicRandom::normal_quantile(0.75));
}

TEST(Sketch, EveryWayToApplyItUsesTheSameEntries) {
  for (const SketchKind kind : kKinds)
    for (const Index n : {1, 37, 200}) {
      const Index m = kind == SketchKind::kHadamard ? std::min<Index>(n, 21) : 21;
      const Sketch sketch = make(kind, m, n, 9);
      const Plain plain = mixed(n, 9, 51);
      const Matrix a = plain.matrix().with_column_scale(normal_vector(9, 52));
      const auto rows = static_cast<std::size_t>(m), columns = static_cast<std::size_t>(n);
      std::vector<double> all(rows * 9), one(rows), vector(rows);
      sketch.apply(a, all);
      for (Index j = 0; j < 9; ++j) {
        sketch.apply_column(a, j, one);
        std::vector<double> x(columns);
        a.for_each_in_column(j, [&](Index i, double v) { x[static_cast<std::size_t>(i)] = v; });
        sketch.apply(x, vector);
        for (Index p = 0; p < m; ++p) {
          double exact = 0, magnitude = 0;
          for (Index r = 0; r < n; ++r) {
            exact += sketch.entry(p, r) * x[static_cast<std::size_t>(r)];
            magnitude += std::abs(sketch.entry(p, r) * x[static_cast<std::size_t>(r)]);
          }
          // The fast Hadamard transform passes through sums of everything.
          const double tolerance = 1e-12 * (magnitude + l1_norm(x));
          EXPECT_NEAR(one[static_cast<std::size_t>(p)], exact, tolerance);
          EXPECT_NEAR(vector[static_cast<std::size_t>(p)], exact, tolerance);
          EXPECT_NEAR(all[static_cast<std::size_t>(j) * rows + static_cast<std::size_t>(p)], exact, tolerance);
        }
      }
    }
}

TEST(Sketch, TransposeIsTheAdjoint) {
  for (const SketchKind kind : kKinds) {
    const Sketch sketch = make(kind, 50, 300, 4);
    const std::vector<double> x = normal_vector(300, 53), q = normal_vector(50, 54);
    std::vector<double> jx(50), jq(300);
    sketch.apply(x, jx);
    sketch.apply_transposed(q, jq);
    EXPECT_NEAR(dot(q, jx), dot(jq, x), 1e-11);
  }
}

TEST(Sketch, KeepsSquaredLengthsOnAverage) {
  // The squared length of a sketched unit vector has mean 1 and variance at most about 2/m for every kind
  // (exactly 2/m for Gaussian). The mean over 2000 seeds leaves 1 by more than 5 of its standard deviations
  // about once in two million runs; the seeds are fixed, so this either holds or does not.
  const Index m = 32, n = 64;
  std::vector<double> x = normal_vector(static_cast<std::size_t>(n), 55);
  scale(1 / l2_norm(x), x);
  for (const SketchKind kind : kKinds) {
    double sum = 0;
    std::vector<double> out(static_cast<std::size_t>(m));
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
      make(kind, m, n, seed).apply(x, out);
      sum += squared_norm(out);
    }
    EXPECT_NEAR(sum / 2000, 1.0, 5 * std::sqrt(2.0 / 32 / 2000)) << static_cast<int>(kind);
  }
}

TEST(Sketch, MaxColumnNormIsTheLargestColumn) {
  for (const SketchKind kind : kKinds) {
    const Sketch sketch = make(kind, 16, 40, 6);
    double largest = 0;
    for (Index r = 0; r < 40; ++r) {
      double sum = 0;
      for (Index p = 0; p < 16; ++p) sum += sketch.entry(p, r) * sketch.entry(p, r);
      largest = std::max(largest, std::sqrt(sum));
    }
    EXPECT_GE(sketch.max_column_norm(), largest);
    EXPECT_NEAR(sketch.max_column_norm(), largest, 1e-13);
  }
}

TEST(Sketch, DoesNotDependOnThreadsAndChangesWithTheSeed) {
  for (const SketchKind kind : kKinds) {
    const Plain plain = mixed(500, 30, 56);
    std::array<std::vector<double>, 2> results;
    for (int threads = 1; threads <= 2; ++threads) {
      parley::set_thread_count(threads);
      auto& out = results[static_cast<std::size_t>(threads - 1)];
      out.resize(100 * 30);
      make(kind, 100, 500, 7).apply(plain.matrix(), out);
    }
    parley::set_thread_count(0);
    EXPECT_EQ(results[0], results[1]);
    make(kind, 100, 500, 8).apply(plain.matrix(), results[1]);
    EXPECT_NE(results[0], results[1]);
  }
}

TEST(Sketch, EntriesAreThoseOfEveryOtherMachine) {
  // From a second program written from the text of public_random.h alone: one normal of the middle, two of the tail.
  const Sketch gaussian = make(SketchKind::kGaussian, 4, 40, 1);
  EXPECT_EQ(gaussian.entry(3, 2), 0x1.4e015afef1f78p-2);
  EXPECT_EQ(gaussian.entry(0, 6), -0x1.cb4db2736a347p-1);
  EXPECT_EQ(gaussian.entry(0, 39), -0x1.0197d8e41a8ffp+0);
}
