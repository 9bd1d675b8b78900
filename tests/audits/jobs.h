// A private job for every row of the catalog that can be private, on tables that an audit makes.
#pragma once
#include <fmt/format.h>

#include <string>

#include "parley/audits/audit.h"
#include "parley/audits/worlds.h"
#include "parley/catalog/catalog.h"
#include "parley/catalog/read_job.h"

namespace parley::test {

struct AuditedJob {
  std::string privacy = "epsilon = 4.0\ndelta = 1e-5\n";
  std::string task = "squared-hinge";  // its derivative is as large as its bound says, at a model of zeros
  std::string settings = {};           // of the algorithm
  std::string data = "bound = 1.0\nfeatures = 4\nlabel_bound = 1.0\n";
  std::string labels = {};
};

inline Result<jobs::Job> audited_job(const catalog::Row& row, const AuditedJob& wanted) {
  const bool columns = row.partition == jobs::Partition::kVertical;
  const int parties = row.partition == jobs::Partition::kSingle ? 1 : 2;
  Error last = failed("no [model] fits");
  for (const char* model : {"l2 = 0.2\n", "l1_radius = 3.0\n", "l2 = 0.2\nsparsity = 2\n"}) {
    std::string text = fmt::format(
        "[job]\nname = \"audited\"\npartition = \"{}\"\ntask = \"{}\"\n[model]\n{}[algorithm]\nname = \"{}\"\n{}",
        jobs::name(row.partition), wanted.task, model, row.name, wanted.settings);
    text += "[data]\n" + wanted.data + "[labels]\n" +
            (wanted.labels.empty() ? (wanted.task == "linear" ? "" : "classes = [\"-1\", \"1\"]\n") : wanted.labels) +
            (columns && wanted.labels.empty() ? "public = true\n" : "") + "[privacy]\n" + wanted.privacy;
    for (int p = 0; p < parties; ++p)
      text += fmt::format("[[party]]\nname = \"p{}\"\ndata = \"nothing-{}.libsvm\"\n", p, p);
    PARLEY_TRY(Toml toml, Toml::parse(text, "audited"));
    auto job = catalog::parse_job(std::move(toml), "audited");
    if (!job) {
      last = job.error();
      continue;
    }
    // Some constraints are missed only by a run.
    PARLEY_TRY(const auto stage, audits::stage_of(*job));
    PARLEY_TRY(const auto pairs, audits::pairs_of(*job, 32));
    if (const auto played = stage->play(pairs.front().in, 1))
      return job;
    else
      last = played.error();
  }
  return fail(last);
}

}  // namespace parley::test
