// How raw columns become features: decided once from the training table, kept in the model, applied to every table
// alike (glm/model.h: f_j = (x_j - center_j) * scale_j).
//
//   bounds        x_j / B_j           B_j public; columns without a bound stay as they are
//                 (x_j - m_j) / h_j   numbers whose bounds m_j +- h_j do not contain 0 (data::ColumnSchema::middle);
//                                     not together with unit rows
//   standardize   (x_j - mean_j) / deviation_j   computed from the training rows, so never with privacy
//   unit rows     then each row is divided by its Euclidean norm (zero rows stay)
#pragma once
#include "parley/core/result.h"
#include "parley/data/dataset.h"
#include "parley/glm/model.h"
#include "parley/jobs/job.h"

namespace parley::models {

// Fills in scales, centers and unit_rows.
Result<void> choose_scaling(const jobs::DataSection& section, const data::Dataset& training, glm::Model& model);

// The features as a trainer sees them.
Result<linalg::Matrix> scaled_features(const glm::Model& model, const linalg::Matrix& raw);

}  // namespace parley::models
