#include "parley/runs/baselines.h"

#include <numeric>

#include "parley/algorithms/exact/exact.h"
#include "parley/catalog/federation.h"
#include "parley/catalog/method.h"
#include "parley/glm/objective.h"
#include "parley/models/scaling.h"

namespace parley::runs {

namespace {

using linalg::Index;
using linalg::Matrix;

// Rows of several tables, as a trainer sees them.
struct Rows {
  Matrix features;
  std::vector<double> labels;
};

enum class Joined { kRows, kColumns };

// The tables below each other, or beside each other.
Matrix joined(const std::vector<const Matrix*>& tables, Joined how) {
  std::vector<std::size_t> offsets{0};
  std::vector<Index> columns;
  std::vector<double> values;
  const auto add = [&](const Matrix& table, Index row, Index first) {
    table.for_each_in_row(row, [&](Index column, double value) {
      columns.push_back(first + column);
      values.push_back(value);
    });
  };
  if (how == Joined::kRows) {
    for (const Matrix* table : tables)
      for (Index i = 0; i < table->rows(); ++i) {
        add(*table, i, 0);
        offsets.push_back(columns.size());
      }
    return Matrix::from_rows(tables.front()->cols(), offsets, columns, values);
  }
  Index width = 0;
  for (const Matrix* table : tables) width += table->cols();
  for (Index i = 0; i < tables.front()->rows(); ++i) {
    Index first = 0;
    for (const Matrix* table : tables) {
      add(*table, i, first);
      first += table->cols();
    }
    offsets.push_back(columns.size());
  }
  return Matrix::from_rows(width, offsets, columns, values);
}

Result<Rows> joined(const std::vector<const Rows*>& parts, Joined how) {
  Rows all;
  std::vector<const Matrix*> tables;
  for (const Rows* part : parts) {
    tables.push_back(&part->features);
    if (how == Joined::kRows || all.labels.empty())
      all.labels.insert(all.labels.end(), part->labels.begin(), part->labels.end());
  }
  if (all.labels.empty()) return fail(failed("no party holds labels"));
  all.features = joined(tables, how);
  return all;
}

std::vector<const Rows*> every(const std::vector<Rows>& parts) {
  std::vector<const Rows*> all;
  all.reserve(parts.size());
  for (const Rows& part : parts) all.push_back(&part);
  return all;
}

// Training and test rows of the parties.
struct Federated {
  std::vector<Rows> train{}, test{};  // no test rows: none
  glm::Objective objective{};
  Joined how = Joined::kRows;
};

Result<Federated> read(const jobs::Job& job) {
  const catalog::Federation& federation = *catalog::federation_of(job);
  std::vector<int> everyone(job.parties.size());
  std::iota(everyone.begin(), everyone.end(), 0);
  PARLEY_TRY(const std::vector<catalog::PartyTable> tables, federation.read(job, everyone, catalog::files_of(job)));
  Federated all{.objective = catalog::objective_of(job, tables.front().train.labels.classes)};
  all.how = federation.holding() != privacy::Holding::kDisjointRecords ? Joined::kColumns : Joined::kRows;
  for (const catalog::PartyTable& table : tables) {
    if (!catalog::weights_of(job, table.train).empty())
      return fail(
          bad_input({job.file, 0, "--baselines"}, "do not weigh records or classes; compare without the weights"));
    all.train.push_back({table.features, table.train.labels.values});
    if (!table.test) continue;
    PARLEY_TRY(Matrix features, models::scaled_features(table.scaling, table.test->features));
    all.test.push_back({std::move(features), table.test->labels.truth()});
  }
  if (all.test.size() != all.train.size()) all.test.clear();
  return all;
}

models::Scored scored(const algorithms::Fit& fit, const glm::Objective& objective, const Rows& rows) {
  std::vector<double> margins(rows.labels.size() * static_cast<std::size_t>(objective.classes));
  glm::compute_margins(rows.features, fit.weights, fit.intercepts, margins);
  return {rows.labels.size(), glm::measure(objective.task, margins, rows.labels), {}};
}

struct Measured {
  const Rows& train;
  const std::optional<Rows>& test;
};

Result<Baseline> baseline(const std::string& name, const glm::Objective& objective, const Rows& learnt,
                          const Measured& on) {
  PARLEY_TRY(const algorithms::Fit fit, algorithms::exact({learnt.features, learnt.labels, objective}, {}, {}));
  Baseline made{.name = name, .objective = fit.objective, .gap = fit.gap, .train = scored(fit, objective, on.train)};
  if (on.test) made.test = scored(fit, objective, *on.test);
  return made;
}

}  // namespace

Result<void> check_baselines(const jobs::Job& job) {
  if (catalog::federation_of(job) == nullptr)
    return fail(bad_input({job.file, 0, "job.partition"}, "baselines are for jobs of several parties",
                          std::string(name(job.partition))));
  if (job.privacy)
    return fail(
        bad_input({job.file, 0, "privacy"},
                  "baselines are trained on the data as they are, and no claim covers them; leave [privacy] out "
                  "to compare"));
  if (job.labels.noise)
    return fail(bad_input({job.file, 0, "labels.privacy"}, "baselines are trained on labels as they are"));
  if (job.objective.sparsity)
    return fail(bad_input({job.file, 0, "model.sparsity"},
                          "baselines are optima of exact, which solves convex problems only; compare without it"));
  return {};
}

Result<std::vector<Baseline>> baselines_of(const jobs::Job& job) {
  PARLEY_CHECK(check_baselines(job));
  PARLEY_TRY(const Federated all, read(job));
  PARLEY_TRY(const Rows train, joined(every(all.train), all.how));
  std::optional<Rows> test;
  if (!all.test.empty()) {
    PARLEY_TRY(test, joined(every(all.test), all.how));
  }
  std::vector<Baseline> made;
  for (std::size_t p = 0; p < all.train.size(); ++p) {
    const std::string& party = job.parties[p].name;
    if (all.how == Joined::kRows) {
      PARLEY_TRY(made.emplace_back(), baseline(party, all.objective, all.train[p], {train, test}));
      continue;
    }
    const Rows own{all.train[p].features, train.labels};
    std::optional<Rows> own_test;
    if (test) own_test = Rows{all.test[p].features, test->labels};
    PARLEY_TRY(made.emplace_back(), baseline(party, all.objective, own, {own, own_test}));
  }
  PARLEY_TRY(made.emplace_back(), baseline(kPooled, all.objective, train, {train, test}));
  return made;
}

}  // namespace parley::runs
