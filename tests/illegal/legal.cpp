// must compile: what the programs beside this one should have written.
#include <iostream>
#include <vector>

#include "parley/privacy/gate.h"
#include "parley/privacy/sensitivity/clipped_sum.h"

using namespace parley;
using namespace parley::privacy;

Result<Outgoing<std::vector<double>>> mean_income(Gate& gate, const Private<std::vector<double>>& incomes) {
  PARLEY_TRY(const auto sum, clipped_sum_l2(incomes, ClipRule{.bound = 1.0, .grain = Grain{-20}}));
  PARLEY_TRY(auto released, gate.release(sum, Deviation{3.0}, Keyed{"mean income"}));
  std::cout << released.value().front();
  return Outgoing<std::vector<double>>(std::move(released));
}
