// Block-coordinate Frank-Wolfe under the names of two other methods (bcfw_settings.h).
#include "parley/algorithms/vertical/bcfw.h"

namespace parley::algorithms {

Result<Dfw> Dfw::make(const RunTerms& terms, const DfwSettings& settings) {
  PARLEY_TRY(Bcfw method, Bcfw::make(terms, settings));
  return Dfw(std::move(method));
}

Result<void> Dfw::check_private(const RunTerms& terms, const DfwSettings& settings) {
  return Bcfw::check_private(terms, settings);
}

Result<Pride> Pride::make(const RunTerms& terms, const PrideSettings& settings) {
  PARLEY_TRY(Bcfw method, Bcfw::make(terms, settings));
  return Pride(std::move(method));
}

Result<void> Pride::check_private(const RunTerms& terms, const PrideSettings& settings) {
  return Bcfw::check_private(terms, settings);
}

}  // namespace parley::algorithms
