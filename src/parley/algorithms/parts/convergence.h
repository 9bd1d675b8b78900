// What convergence theorems say of a run beside what it did. For simulations, where somebody holds all data: nothing of
// this is covered by a claim.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace parley::algorithms {

struct Convergence {
  double p_min = 1;
  // Upper bounds of the expected curvature by the name of what proves them, and the least of them.
  std::vector<std::pair<std::string, double>> curvatures{};
  double curvature = 0;
  // How inexact gradients and atoms were; absent where no theorem covers the run.
  std::optional<double> rho_g{}, rho_l{}, rho{};
  std::vector<double> gap{};    // F(x^t) less a lower bound of min F, from t = 0
  std::vector<double> bound{};  // of the expectation of that; empty where no theorem covers the run
};

}  // namespace parley::algorithms
