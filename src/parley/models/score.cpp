#include "parley/models/score.h"

namespace parley::models {

Result<Scored> score(const Trained& trained, const data::Dataset& table) {
  PARLEY_TRY(const std::vector<double> margins, trained.model.margins(table.features));
  return Scored{table.rows(), glm::measure(trained.model.task, margins, table.labels.values)};
}

}  // namespace parley::models
