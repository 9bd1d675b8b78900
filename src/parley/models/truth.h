// The support of a model against a known truth, such as the truth.json of `parley data generate`:
//
//   {"coefficients": {"x3": 0.6, ...}}                     by the names of the columns; what is not listed is 0
//   {"parties": [{"coefficients": {...}}, ...]}            true for some party
#pragma once
#include <string>
#include <vector>

#include "parley/core/result.h"
#include "parley/glm/metrics.h"
#include "parley/models/model_parts.h"

namespace parley::models {

// A column counts as found when the weight of any class is not zero; a true one that the model does not have is
// missing.
Result<glm::SupportRecovery> support_against(const std::string& truth_file, const std::vector<Trained>& parts);

}  // namespace parley::models
