// A program of your own that links the library and trains from arrays, without touching a file:
//
//   cmake --build build --target train_arrays && build/train_arrays
//
// The job is text as in a file; what it would name as data is handed in.
#include <fmt/format.h>

#include <cstdlib>
#include <vector>

#include "parley/catalog/read_job.h"
#include "parley/runs/run.h"

namespace {

constexpr const char* kJob = R"(
[job]
name = "arrays"
task = "linear"
[model]
l2 = 0.001
[algorithm]
name = "exact"
[[party]]
name = "here"
)";

// y = 2 age - dose, for six people.
const std::vector<double> kPeople = {0.1, 0.9, 0.4, 0.2, 0.8, 0.5, 0.3, 0.3, 0.9, 0.1, 0.6, 0.7};
const std::vector<double> kLabels = {-0.7, 0.6, 1.1, 0.3, 1.7, 0.5};

parley::Result<void> train() {
  using namespace parley;
  PARLEY_TRY(Toml toml, Toml::parse(kJob, "arrays"));
  PARLEY_TRY(const jobs::Job job, catalog::parse_job(std::move(toml), "arrays", jobs::Paths::kAtSites));
  const data::Source people =
      data::Source::arrays("people", {.columns = 2, .values = kPeople, .labels = kLabels, .names = {"age", "dose"}});
  PARLEY_TRY(const runs::Outcome outcome, runs::run(job, {{people}}, {}));
  const glm::Model& model = outcome.trained.model;
  for (std::size_t j = 0; j < model.columns.size(); ++j)
    fmt::print("{:<5} {:6.3f}\n", model.columns[j], model.weights[j]);
  return {};
}

}  // namespace

int main() {
  if (const auto done = train(); !done) {
    fmt::print(stderr, "train_arrays: {}\n", done.error().message);
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
