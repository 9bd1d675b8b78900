// What a model is worth on a table that has labels.
#pragma once
#include <cstddef>
#include <optional>

#include "parley/core/result.h"
#include "parley/data/dataset.h"
#include "parley/glm/metrics.h"
#include "parley/models/trained.h"

namespace parley::models {

struct Scored {
  std::size_t rows = 0;
  glm::Metrics metrics;
  std::optional<glm::SupportRecovery> support;  // against a known truth
};

Result<Scored> score(const Trained& trained, const data::Dataset& table);

}  // namespace parley::models
