#include "parley/linalg/gram.h"

#include <gtest/gtest.h>

#include "parley/linalg/cpu.h"
#include "random_matrix.h"

using namespace parley::linalg;

namespace {

double exact_gram(const Plain& plain, const std::vector<double>& weights, Index a, Index b, double& magnitude) {
  double sum = 0;
  magnitude = 0;
  for (Index i = 0; i < plain.rows; ++i) {
    const double term = weights[static_cast<std::size_t>(i)] * plain.at(i, a) * plain.at(i, b);
    sum += term;
    magnitude += std::abs(term);
  }
  return sum;
}

}  // namespace

TEST(Gram, EqualsTheDefinitionAtEveryCpuLevel) {
  const CpuLevel before = cpu_level();
  for (const CpuLevel level : {CpuLevel::kBaseline, CpuLevel::kAvx2, CpuLevel::kAvx512})
    for (const Index rows : {1, 50, 700}) {
      set_cpu_level(level);
      const Plain plain = mixed(rows, 45, 31);
      const std::vector<double> scale = normal_vector(45, 32);
      const Matrix a = plain.matrix().with_column_scale(scale);
      const std::vector<double> weights = normal_vector(static_cast<std::size_t>(rows), 33);
      std::vector<double> g(45 * 45);
      weighted_gram(a, weights, g);
      for (std::size_t p = 0; p < 45; ++p)
        for (std::size_t q = 0; q < 45; ++q) {
          double magnitude = 0;
          const double exact = exact_gram(plain, weights, static_cast<Index>(p), static_cast<Index>(q), magnitude);
          EXPECT_NEAR(g[p * 45 + q], exact * scale[p] * scale[q],
                      1e-13 * magnitude * std::abs(scale[p] * scale[q]) + 1e-300);
          EXPECT_EQ(g[p * 45 + q], g[q * 45 + p]);
        }
    }
  set_cpu_level(before);
}

TEST(Gram, OfChosenColumnsIsThatPartOfTheWhole) {
  const Plain plain = mixed(400, 60, 34);
  const Matrix a = plain.matrix().with_column_scale(normal_vector(60, 35));
  std::vector<double> all(60 * 60);
  weighted_gram(a, {}, all);
  const std::vector<Index> chosen = {59, 2, 31, 8, 15};
  std::vector<double> part(25);
  weighted_gram(a, {}, chosen, part);
  for (std::size_t p = 0; p < 5; ++p)
    for (std::size_t q = 0; q < 5; ++q) {
      const double whole = all[static_cast<std::size_t>(chosen[p]) * 60 + static_cast<std::size_t>(chosen[q])];
      EXPECT_NEAR(part[p * 5 + q], whole, 1e-12 * (1 + std::abs(whole)));
    }
  weighted_gram(a, {}, std::span<const Index>{}, {});
}

TEST(Gram, ColumnsAreColumnsOfTheWhole) {
  const Plain plain = mixed(400, 60, 36);
  const Matrix a = plain.matrix().with_column_scale(normal_vector(60, 37));
  std::vector<double> all(60 * 60), column(60);
  weighted_gram(a, {}, all);
  for (Index j = 0; j < 60; ++j) {
    gram_column(a, j, column);
    for (std::size_t l = 0; l < 60; ++l) {
      const double whole = all[l * 60 + static_cast<std::size_t>(j)];
      EXPECT_NEAR(column[l], whole, 1e-12 * (1 + std::abs(whole)));
    }
  }
}

TEST(Gram, SeveralColumnsInOnePassEqualThatColumnAlone) {
  const Plain plain = mixed(400, 60, 38);
  const Matrix a = plain.matrix().with_column_scale(normal_vector(60, 39));
  const std::vector<Index> chosen = {3, 59, 0, 17, 31};
  std::vector<double> together(chosen.size() * 60), alone(60);
  gram_columns(a, chosen, together);
  for (std::size_t k = 0; k < chosen.size(); ++k) {
    gram_column(a, chosen[k], alone);
    for (std::size_t l = 0; l < 60; ++l) EXPECT_NEAR(together[k * 60 + l], alone[l], 1e-12 * (1 + std::abs(alone[l])));
  }
}
