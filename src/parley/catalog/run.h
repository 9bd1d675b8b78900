// Runs a job: read, scale, train, measure. On one site, or with all parties in this process.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "parley/algorithms/fit.h"
#include "parley/catalog/federation.h"
#include "parley/catalog/job.h"
#include "parley/catalog/private_site.h"
#include "parley/catalog/trained.h"
#include "parley/data/dataset.h"
#include "parley/glm/metrics.h"

namespace parley::catalog {

struct Tables {
  data::Dataset train;
  std::optional<data::Dataset> test;
};

// A single site's data as its trainer gets it.
struct SiteData {
  Tables tables;
  glm::Model scaling;       // how raw columns become features
  linalg::Matrix features;  // of the training rows
  glm::Objective objective;
};
Result<SiteData> read_site(const Job& job);

struct Scored {
  std::size_t rows = 0;
  glm::Metrics metrics;
};

struct Outcome {
  Trained trained;               // of a federation whose parties keep their parts: the first of them
  std::vector<ModelPart> parts;  // of a federation
  std::optional<rounds::Communication> communication;
  algorithms::Fit fit;
  Scored train;
  std::optional<Scored> test;
  std::optional<PrivacyReport> privacy;  // absent: the run was not private
  std::vector<std::string> notes;        // what the readers want a person to know
  double read_seconds = 0;
  double train_seconds = 0;
  double wait_seconds = 0;  // of which for the parties
};

struct Watch {
  algorithms::Observer observer;                  // each iteration; false asks for a stop
  std::function<void(const std::string&)> phase;  // "reading data", "training"
};

Result<Outcome> run(const Job& job, const Watch& watch);

// The metrics of a model on a table that has labels.
Result<Scored> score(const Trained& trained, const data::Dataset& table);

}  // namespace parley::catalog
