#include "parley/linalg/matrix.h"

#include <gtest/gtest.h>

using namespace parley::linalg;

TEST(Matrix, MultipliesLikeTheDefinition) {
  // 1 0 2
  // 0 3 1.5
  const Matrix a = Matrix::from_dense(2, 3, std::vector<double>{1, 0, 0, 3, 2, 1.5});
  const std::vector<double> w = {1, 2, 3};
  std::vector<double> out(2);
  a.multiply(w, out);
  EXPECT_EQ(out, (std::vector<double>{7, 10.5}));
  std::vector<double> g(3);
  a.multiply_transposed(std::vector<double>{1, 2}, g);
  EXPECT_EQ(g, (std::vector<double>{1, 6, 5}));
}
