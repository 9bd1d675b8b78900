#include "parley/models/blank_model.h"

#include "parley/core/version.h"

namespace parley::models {

Result<Trained> blank_model(const jobs::Job& job, const glm::Objective& objective,
                            const jobs::Introduction& introduction) {
  Trained trained;
  trained.objective = objective;
  trained.columns = introduction.column_names();
  trained.label = job.labels.column;
  PARLEY_TRY(trained.schema, data::parse_schema(introduction.schema, introduction.party + " (schema)"));
  trained.provenance = {job.name,   job.algorithm, kVersion, job.seed, static_cast<std::size_t>(introduction.rows),
                        kNotPrivate};
  glm::Model& model = trained.model;
  model.task = objective.task;
  model.columns = trained.columns.list();
  model.weights.assign(static_cast<std::size_t>(objective.classes) * model.columns.size(), 0.0);
  model.scales = introduction.scales;
  model.centers = introduction.centers;
  model.threshold = job.threshold;
  model.unit_rows = job.data.unit_rows;
  for (const double bound : introduction.bounds) model.bounds.push_back(bound > 0 ? bound : data::kUnbounded);
  model.classes = introduction.classes;
  return trained;
}

}  // namespace parley::models
