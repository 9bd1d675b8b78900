#include "parley/algorithms/vertical/admm_settings.h"

namespace parley::algorithms {

AdmmSettings AdmmSettings::read(Toml& settings) {
  AdmmSettings admm;
  settings.integer("iterations", admm.rounds, at_least(1));
  settings.choice<Update>("update", admm.update, {{"averaged", Update::kAveraged}, {"paper", Update::kPaper}});
  settings.choice<Order>("order", admm.order, {{"parallel", Order::kParallel}, {"gauss-seidel", Order::kGaussSeidel}});
  if (settings.kind("rho") == Toml::Kind::kText)
    settings.choice<Rho>("rho", admm.rho_rule, {{"balanced", Rho::kBalanced}});
  else
    settings.number("rho", admm.rho, above(0));
  settings.number("tolerance", admm.tolerance, at_least(0));
  settings.choice<StopBy>("stop", admm.stop, {{"residuals", StopBy::kResiduals}, {"lyapunov", StopBy::kLyapunov}});
  settings.number("value_bound", admm.value_bound, above(0));
  settings.choice<Sums>("sums", admm.sums, {{"open", Sums::kOpen}, {"masked", Sums::kMasked}});
  return admm;
}

}  // namespace parley::algorithms
