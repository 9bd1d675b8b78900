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
  std::optional<glm::SupportRecovery> support;  // against a known truth
};

// A part of a model that only its party has.
struct PartElsewhere {
  std::string party;
  std::size_t columns = 0;
  std::string path;  // at that party
};

struct Outcome {
  Trained trained;             // of a federation whose parties keep their parts: the first of them
  std::vector<Trained> parts;  // of a federation
  std::vector<PartElsewhere> elsewhere;
  std::optional<rounds::Communication> communication;
  algorithms::Fit fit;
  Scored train;
  std::optional<Scored> test;
  std::optional<PrivacyReport> privacy;  // absent: the run was not private
  std::vector<std::string> notes;        // what the readers want a person to know
  double read_seconds = 0;
  double train_seconds = 0;
  double wait_seconds = 0;  // for parties on other machines; not in train_seconds
};

struct Watch {
  algorithms::Observer observer;                  // each iteration; false asks for a stop
  std::function<void(const std::string&)> phase;  // "reading data", "training"
  std::function<bool()> stop;                     // whether a stop was asked for, before there is an iteration to report
};

// A stop that came before there was anything to keep; nothing has been charged for either.
Error stopped_early();

Result<Outcome> run(const Job& job, const Watch& watch);

// The metrics of a model on a table that has labels.
Result<Scored> score(const Trained& trained, const data::Dataset& table);

}  // namespace parley::catalog
