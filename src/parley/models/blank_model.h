// A model before its weights are known, from what a party said about its columns.
#pragma once
#include "parley/core/result.h"
#include "parley/glm/objective.h"
#include "parley/jobs/introduction.h"
#include "parley/jobs/job.h"
#include "parley/models/trained.h"

namespace parley::models {

Result<Trained> blank_model(const jobs::Job& job, const glm::Objective& objective,
                            const jobs::Introduction& introduction);

}  // namespace parley::models
