#include "parley/runs/cross_validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "parley/algorithms/exact/warm_newton.h"
#include "parley/catalog/federation.h"
#include "parley/catalog/method.h"
#include "parley/catalog/party_table.h"
#include "parley/core/text.h"
#include "parley/data/random.h"
#include "parley/glm/metrics.h"

namespace parley::runs {

namespace {

using linalg::Index;

// Of the optimality condition: scores do not see more digits.
constexpr double kTolerance = 1e-5;

struct Fold {
  std::vector<Index> train, validation;  // ascending
};

// Records in an order that the seed decides, class after class, dealt like cards.
std::vector<Fold> deal(std::span<const double> labels, bool by_class, int folds, std::uint64_t seed) {
  std::vector<Index> order(labels.size());
  std::iota(order.begin(), order.end(), Index{0});
  data::Random random(seed, 0x63766664);
  for (std::size_t k = order.size(); k > 1; --k) std::swap(order[k - 1], order[random.below(k)]);
  if (by_class)
    std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) {
      return labels[static_cast<std::size_t>(a)] < labels[static_cast<std::size_t>(b)];
    });
  std::vector<Fold> dealt(static_cast<std::size_t>(folds));
  for (std::size_t k = 0; k < order.size(); ++k)
    for (std::size_t f = 0; f < dealt.size(); ++f)
      (k % dealt.size() == f ? dealt[f].validation : dealt[f].train).push_back(order[k]);
  for (Fold& fold : dealt) {
    std::sort(fold.train.begin(), fold.train.end());
    std::sort(fold.validation.begin(), fold.validation.end());
  }
  return dealt;
}

std::vector<double> chosen(std::span<const double> all, const std::vector<Index>& rows) {
  std::vector<double> some;
  if (all.empty()) return some;
  for (const Index i : rows) some.push_back(all[static_cast<std::size_t>(i)]);
  return some;
}

// A table's rows, and what they are trained for.
struct Rows {
  linalg::Matrix features;
  std::vector<double> labels, truth, weights;

  static Rows of(const catalog::PartyTable& table, std::span<const double> weights, const std::vector<Index>& rows) {
    return {table.features.select_rows(rows), chosen(table.train.labels.values, rows),
            chosen(table.train.labels.truth(), rows), chosen(weights, rows)};
  }
};

const char* score_name(glm::Task task) {
  switch (task) {
    case glm::Task::kLinear:
      return "mean squared error";
    case glm::Task::kPoisson:
      return "deviance per row";
    case glm::Task::kSquaredHinge:
      return "share of wrong classes";
    default:
      return "log loss";
  }
}

struct Scores {
  double score = std::numeric_limits<double>::quiet_NaN();
  std::optional<double> auc;
  double nonzeros = 0;
};

Scores score_of(const glm::Objective& objective, const algorithms::Fit& fit, const Rows& rows) {
  std::vector<double> margins(rows.labels.size() * static_cast<std::size_t>(objective.classes));
  glm::compute_margins(rows.features, fit.weights, fit.intercepts, margins);
  const glm::Metrics metrics = glm::measure(objective.task, margins, rows.truth);
  Scores scores{.auc = metrics.auc, .nonzeros = static_cast<double>(glm::nonzeros(fit.weights))};
  const auto n = static_cast<double>(rows.labels.size());
  if (objective.task == glm::Task::kSquaredHinge && metrics.accuracy)
    scores.score = 1 - *metrics.accuracy;
  else if (objective.task == glm::Task::kLinear || objective.task == glm::Task::kPoisson)
    scores.score = metrics.deviance ? *metrics.deviance / n : scores.score;
  else if (metrics.log_loss)
    scores.score = *metrics.log_loss;
  return scores;
}

glm::Penalty with(const jobs::PathSection& path, glm::Objective& objective, double value) {
  (path.l1 ? objective.l1 : objective.l2) = value;
  return glm::penalty_of(objective);
}

// The grid of a path: what the job lists, or numbers that fall by one factor from the weakest penalty that leaves
// nothing (of l2: from ten times that, where little is left).
Result<std::vector<double>> grid(const jobs::PathSection& path, const algorithms::Problem& problem) {
  if (!path.values.empty()) {
    std::vector<double> values = path.values;
    std::sort(values.begin(), values.end(), std::greater<>());
    return values;
  }
  PARLEY_TRY(algorithms::WarmNewton newton, algorithms::WarmNewton::make(problem));
  // With a penalty that nothing outweighs the free intercept alone moves.
  PARLEY_CHECK(newton.solve({.l1 = 1e100}, {.tolerance = kTolerance}, {}));
  const double largest = newton.largest_penalised_slope() * (path.l1 ? 1.0 : 10.0);
  if (!(largest > 0))
    return fail(bad_input({.field = "path.values"}, "are not stated, and no column has anything to do with the label"));
  std::vector<double> values;
  for (int k = 0; k < path.points; ++k)
    values.push_back(largest *
                     (path.points == 1 ? 1.0 : std::pow(path.smallest, static_cast<double>(k) / (path.points - 1))));
  return values;
}

// One fold: what each point of the path scores on it.
Result<std::vector<Scores>> score_fold(const jobs::Job& job, const glm::Objective& objective,
                                       std::span<const double> values, const Rows& train, const Rows& validation) {
  std::vector<Scores> scores;
  glm::Objective at = objective;
  algorithms::Problem problem{train.features, train.labels, at, nullptr, train.weights};
  if (values.empty()) {
    PARLEY_TRY(const algorithms::Fit fit, catalog::method_of(job).train(problem, {}));
    scores.push_back(score_of(objective, fit, validation));
    return scores;
  }
  with(*job.path, at, values.front());
  problem.objective = at;
  PARLEY_TRY(algorithms::WarmNewton newton, algorithms::WarmNewton::make(problem));
  for (const double value : values) {
    PARLEY_TRY(const algorithms::Fit fit, newton.solve(with(*job.path, at, value), {.tolerance = kTolerance}, {}));
    scores.push_back(score_of(objective, fit, validation));
  }
  return scores;
}

Result<void> check(const jobs::Job& job) {
  if (job.privacy)
    return fail(bad_input({job.file, 0, "privacy"},
                          "cross-validation scores every record with models of all others, and none of that is paid "
                          "for; [tune] chooses settings within the budget"));
  if (job.partition != jobs::Partition::kSingle || !job.tables.empty())
    return fail(bad_input({job.file, 0, "job.partition"}, "cross-validation is for one table on one site"));
  const glm::Objective& objective = job.objective;
  if (job.path && (objective.l1_radius || objective.box || objective.sparsity))
    return fail(bad_input({job.file, 0, "path.penalty"}, "a path is over penalties, and this job has a constraint"));
  return {};
}

// The mean over the folds and its standard error.
CrossValidated::Point summed_up(const std::vector<std::vector<Scores>>& folds, std::size_t at) {
  CrossValidated::Point point;
  const auto k = static_cast<double>(folds.size());
  double auc = 0;
  bool has_auc = true;
  for (const auto& fold : folds) {
    point.score += fold[at].score / k;
    point.nonzeros += fold[at].nonzeros / k;
    has_auc = has_auc && fold[at].auc.has_value();
    auc += fold[at].auc.value_or(0) / k;
  }
  if (has_auc) point.auc = auc;
  double squares = 0;
  for (const auto& fold : folds) squares += (fold[at].score - point.score) * (fold[at].score - point.score);
  point.standard_error = std::sqrt(squares / (k - 1) / k);
  return point;
}

void choose(CrossValidated& found) {
  for (std::size_t p = 0; p < found.points.size(); ++p)
    if (found.points[p].score < found.points[found.best].score) found.best = p;
  const CrossValidated::Point& best = found.points[found.best];
  while (!(found.points[found.within_one_error].score <= best.score + best.standard_error)) {
    if (found.within_one_error == found.best) break;
    ++found.within_one_error;
  }
}

}  // namespace

Result<CrossValidated> cross_validate(const jobs::Job& job, int folds, const Watch& watch) {
  PARLEY_CHECK(check(job));
  PARLEY_TRY(const catalog::PartyTable table, catalog::read_alone(job, catalog::files_of(job.parties.front())));
  const std::size_t rows = table.train.rows();
  if (rows < static_cast<std::size_t>(folds))
    return fail(
        bad_input({job.parties.front().data, 0, "--folds"},
                  fmt::format("are more than the {} to train on", counted(static_cast<long long>(rows), "record")),
                  fmt::format("{}", folds)));
  const glm::Objective objective = catalog::objective_of(job, table.train.labels.classes);
  const std::vector<double> weights = catalog::weights_of(job, table.train);
  CrossValidated found{
      .rows = rows, .folds = folds, .scored_by = score_name(objective.task), .notes = table.train.notes};
  std::vector<double> values;
  if (job.path) {
    found.penalty = job.path->l1 ? "model.l1" : "model.l2";
    PARLEY_TRY(values, grid(*job.path, {table.features, table.train.labels.values, objective, nullptr, weights}));
  }
  const bool by_class = objective.task != glm::Task::kLinear && objective.task != glm::Task::kPoisson;
  const auto seed = static_cast<std::uint64_t>(job.seed.value_or(0));
  std::vector<std::vector<Scores>> scores;
  for (const Fold& fold : deal(table.train.labels.values, by_class, folds, seed)) {
    if (watch.stop && watch.stop()) return fail(failed("stopped: nothing was found yet"));
    const Rows train = Rows::of(table, weights, fold.train), validation = Rows::of(table, weights, fold.validation);
    if (by_class &&
        std::adjacent_find(train.labels.begin(), train.labels.end(), std::not_equal_to<>()) == train.labels.end())
      return fail(bad_input({job.parties.front().data, 0, "--folds"},
                            "leave a class without a record to train on: it occurs once", fmt::format("{}", folds)));
    PARLEY_TRY(auto of_fold, score_fold(job, objective, values, train, validation));
    scores.push_back(std::move(of_fold));
  }
  for (std::size_t p = 0; p < scores.front().size(); ++p) {
    found.points.push_back(summed_up(scores, p));
    if (!values.empty()) found.points.back().penalty = values[p];
  }
  choose(found);
  return found;
}

std::string to_json(const CrossValidated& found) {
  using Json = nlohmann::ordered_json;
  const auto point = [](const CrossValidated::Point& at) {
    Json json;
    if (at.penalty) json["value"] = *at.penalty;
    json["score"] = std::isfinite(at.score) ? Json(at.score) : Json(nullptr);
    json["standard_error"] = std::isfinite(at.standard_error) ? Json(at.standard_error) : Json(nullptr);
    if (at.auc) json["auc"] = *at.auc;
    json["nonzeros"] = at.nonzeros;
    return json;
  };
  Json json{{"rows", found.rows}, {"folds", found.folds}, {"scored_by", found.scored_by}};
  json["penalty"] = found.penalty.empty() ? Json(nullptr) : Json(found.penalty);
  json["points"] = Json::array();
  for (const CrossValidated::Point& at : found.points) json["points"].push_back(point(at));
  json["best"] = point(found.points[found.best]);
  json["within_one_standard_error"] = point(found.points[found.within_one_error]);
  json["notes"] = found.notes;
  return json.dump(1);
}

std::string table(const CrossValidated& found) {
  constexpr std::size_t kShown = 12;
  const bool path = !found.penalty.empty();
  std::string out = fmt::format("{} in {} folds, scored by {} (smaller is better)\n\n",
                                counted(static_cast<long long>(found.rows), "record"), found.folds, found.scored_by);
  out += fmt::format("{:<12}{:>12}{:>12}{:>10}{:>10}\n", path ? found.penalty : "", "score", "+-", "AUC", "nonzeros");
  const std::size_t every = std::max<std::size_t>(1, (found.points.size() + kShown - 1) / kShown);
  for (std::size_t p = 0; p < found.points.size(); ++p) {
    const bool marked = p == found.best || p == found.within_one_error;
    if (p % every != 0 && p + 1 != found.points.size() && !marked) continue;
    const CrossValidated::Point& at = found.points[p];
    out +=
        fmt::format("{:<12}{:>12.6g}{:>12.3g}{:>10}{:>10.4g}{}{}\n",
                    at.penalty ? fmt::format("{:.4g}", *at.penalty) : "", at.score, at.standard_error,
                    at.auc ? fmt::format("{:.4f}", *at.auc) : "-", at.nonzeros, path && p == found.best ? "  best" : "",
                    path && p == found.within_one_error ? "  within one standard error of the best" : "");
  }
  return out;
}

}  // namespace parley::runs
