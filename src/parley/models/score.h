// What a model is worth on a table that has labels.
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "parley/core/result.h"
#include "parley/data/dataset.h"
#include "parley/glm/judgement.h"
#include "parley/glm/metrics.h"
#include "parley/models/trained.h"

namespace parley::models {

struct Scored {
  std::size_t rows = 0;
  glm::Metrics metrics;
  std::optional<glm::Judgement> judgement{};      // of classifiers
  std::vector<std::string> classes{};             // their names
  std::optional<glm::SupportRecovery> support{};  // against a known truth
};

Result<Scored> score(const Trained& trained, const data::Dataset& table);
// The same where margins are known.
Scored scored(const glm::Model& model, std::span<const double> margins, std::span<const double> labels);

// What somebody should know before the model is used: that it says the same of every row, or less than no model would.
// One sentence each.
std::vector<std::string> doubts(const Scored& scored);

}  // namespace parley::models
