#include "parley/runs/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "parley/core/text.h"
#include "parley/core/version.h"
#include "parley/privacy/accounting/statement.h"

namespace parley::runs {

using Json = nlohmann::ordered_json;

namespace {

struct NamedMetric {
  const char* key;
  const char* shown;
  std::optional<double> glm::Metrics::*value;
};
constexpr NamedMetric kMetrics[] = {{"accuracy", "accuracy", &glm::Metrics::accuracy},
                                    {"balanced_accuracy", "balanced accuracy", &glm::Metrics::balanced_accuracy},
                                    {"precision", "precision", &glm::Metrics::precision},
                                    {"recall", "recall", &glm::Metrics::recall},
                                    {"f1", "F1", &glm::Metrics::f1},
                                    {"auc", "AUC", &glm::Metrics::auc},
                                    {"pr_auc", "PR-AUC", &glm::Metrics::pr_auc},
                                    {"ks", "KS", &glm::Metrics::ks},
                                    {"log_loss", "log loss", &glm::Metrics::log_loss},
                                    {"brier", "Brier score", &glm::Metrics::brier},
                                    {"rmse", "RMSE", &glm::Metrics::rmse},
                                    {"r2", "R2", &glm::Metrics::r_squared},
                                    {"deviance", "deviance", &glm::Metrics::deviance}};

// Whether the number of rows may be told. Where it is hidden, so is what is summed over the rows instead of averaged.
enum class RowCount { kTold, kHidden };

RowCount row_count(const jobs::Job& job) {
  return hides_count(job) ? RowCount::kHidden : RowCount::kTold;
}

bool is_told(const NamedMetric& metric, RowCount count) {
  return count == RowCount::kTold || metric.value != &glm::Metrics::deviance;
}

std::string class_name(const models::Scored& scored, std::size_t k) {
  if (k < scored.classes.size()) return scored.classes[k];
  return scored.judgement->confusion.classes > 2 ? std::to_string(k) : (k == 0 ? "-1" : "+1");
}

Json defined(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

// Counts of rows, so only where their number may be told.
void add_judgement(const models::Scored& scored, Json& json) {
  const glm::Judgement& judgement = *scored.judgement;
  const glm::Confusion& confusion = judgement.confusion;
  Json classes = Json::array(), matrix = Json::array(), calibration = Json::array();
  for (std::size_t k = 0; k < confusion.classes; ++k) {
    classes.push_back({{"class", class_name(scored, k)},
                       {"rows", confusion.labelled(k)},
                       {"predicted", confusion.predicted(k)},
                       {"precision", defined(confusion.precision(k))},
                       {"recall", defined(confusion.recall(k))},
                       {"f1", defined(confusion.f1(k))}});
    Json row = Json::array();
    for (std::size_t predicted = 0; predicted < confusion.classes; ++predicted)
      row.push_back(confusion.of(k, predicted));
    matrix.push_back(std::move(row));
  }
  json["per_class"] = std::move(classes);
  json["confusion"] = std::move(matrix);
  for (const glm::CalibrationBin& bin : judgement.calibration)
    if (bin.rows > 0)
      calibration.push_back({{"rows", bin.rows}, {"probability", bin.probability}, {"positives", bin.positives}});
  if (!calibration.empty()) json["calibration"] = std::move(calibration);
  for (const glm::GainStep& step : judgement.gain)
    json["gain"].push_back({{"rows", step.rows}, {"positives", step.positives}, {"lift", step.lift()}});
}

Json to_json(const models::Scored& scored, RowCount count = RowCount::kTold) {
  Json json;
  json["rows"] = count == RowCount::kTold ? Json(scored.rows) : Json(nullptr);
  for (const NamedMetric& metric : kMetrics)
    if (const auto value = scored.metrics.*metric.value; value && is_told(metric, count)) json[metric.key] = *value;
  if (scored.judgement && count == RowCount::kTold) add_judgement(scored, json);
  if (const auto& support = scored.support)
    json["support"] = {{"true_positives", support->correct},   {"missing", support->missed},
                       {"spurious", support->incorrect},       {"precision", defined(support->precision())},
                       {"recall", defined(support->recall())}, {"f1", defined(support->f1())}};
  return json;
}

const char* reason(algorithms::Stop stop) {
  switch (stop) {
    case algorithms::Stop::kConverged:
      return "converged";
    case algorithms::Stop::kIterations:
      return "iterations";
    case algorithms::Stop::kInterrupted:
      return "interrupted";
    case algorithms::Stop::kStalled:
      return "stalled";
    case algorithms::Stop::kBudgetEnded:
      return "budget-ended";
  }
  return "?";
}

// A run that could not reach what it promises is not done, though its best model is kept.
const char* status(algorithms::Stop stop) {
  if (stop == algorithms::Stop::kInterrupted) return "interrupted";
  if (stop == algorithms::Stop::kBudgetEnded) return "budget-ended";
  return stop == algorithms::Stop::kStalled ? "stalled" : "done";
}

const char* shown(algorithms::Certificate certificate) {
  switch (certificate) {
    case algorithms::Certificate::kNone:
      return "none";
    case algorithms::Certificate::kDualityGap:
      return "duality gap";
    case algorithms::Certificate::kFrankWolfeGap:
      return "Frank-Wolfe gap";
    case algorithms::Certificate::kGradientNorm:
      return "gradient norm";
  }
  return "?";
}

// Of a long history every so-many-th point is written, and the last.
constexpr std::size_t kMostPoints = 10000;

Json finite(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json to_json(const PrivacyReport& privacy) {
  Json events = Json::array();
  for (const privacy::Event& event : privacy.plan.events) events.push_back(Json::parse(privacy::to_json(event)));
  Json json{{"claimed", privacy.claimed},
            {"epsilon", finite(privacy.epsilon)},
            {"delta", privacy.delta},
            {"unit", privacy::name(privacy.unit)},
            {"neighbours", privacy::name(privacy.neighbours)},
            {"against", against_whom(privacy)},
            {"accountant", privacy.accountant},
            {"calibration", privacy.calibration == privacy::Calibration::kProved ? "proved" : "paper"},
            {"releases", privacy.releases},
            {privacy.unit == privacy::Unit::kClient ? "clients" : "records", privacy.records},
            {"derivative_bound", privacy.derivative_bound},
            {"noise_to_signal", privacy.noise_to_signal},
            {"events", std::move(events)},
            {"ledger", privacy.ledger.empty() ? Json(nullptr)  // each party's own
                                              : Json{{"folder", privacy.ledger},
                                                     {"budget_epsilon", privacy.budget.epsilon.value()},
                                                     {"budget_delta", privacy.budget.delta.value()},
                                                     {"spent_epsilon", finite(privacy.spent_epsilon)},
                                                     {"spent_delta", privacy.spent_delta}}},
            {"statement", privacy.statement}};
  if (!privacy.unit_in_full.empty()) {
    json["unit_in_full"] = privacy.unit_in_full;
    json["most_rows"] = privacy.most_rows ? Json(*privacy.most_rows) : Json(nullptr);
  }
  if (const auto assumed = assumptions_of(privacy); !assumed.empty()) json["assumes"] = assumed;
  if (!privacy.chosen.empty())
    json["tuned"] = {{"settings", privacy.chosen}, {"epsilon_of_a_run", privacy.run_epsilon}};
  return json;
}

std::string shown(const std::optional<double>& value) {
  return value ? fmt::format("{:.6g}", *value) : "-";
}

// Of the model as a whole, wherever its parts are.
struct ModelSize {
  std::size_t columns = 0;
  std::size_t weights = 0;
  std::size_t nonzeros = 0;
  double l1_norm = 0;

  void add(const glm::Model& model) {
    columns += model.columns.size();
    weights += model.weights.size();
    nonzeros += glm::nonzeros(model.weights);
    for (const double w : model.weights) l1_norm += std::abs(w);
  }
};
ModelSize model_size(const Outcome& outcome) {
  ModelSize size;
  for (const models::Trained& part : outcome.parts) size.add(part.model);
  if (outcome.parts.empty()) size.add(outcome.trained.model);
  return size;
}

// Of a private model whose parts are not covered, the file is all that tells of its weights.
bool weights_are_told(const Outcome& outcome) {
  return !outcome.privacy || outcome.privacy->covered == Covered::kModel;
}

// Where its parts are elsewhere, nobody here knows its weights.
Json model_json(const Outcome& outcome, const ReportContext& context) {
  if (outcome.elsewhere.empty()) {
    const ModelSize size = model_size(outcome);
    const bool told = weights_are_told(outcome);
    Json model = {{"path", context.model_path},
                  {"columns", size.columns},
                  {"nonzeros", told ? Json(size.nonzeros) : Json(nullptr)},
                  {"l1_norm", told ? Json(size.l1_norm) : Json(nullptr)}};
    if (outcome.fit.l2_used) model["l2_used"] = *outcome.fit.l2_used;
    return model;
  }
  std::size_t columns = 0;
  Json parts = Json::array();
  for (const PartElsewhere& part : outcome.elsewhere) {
    columns += part.columns;
    parts.push_back({{"party", part.party}, {"columns", part.columns}, {"path", part.path}});
  }
  return {{"path", nullptr},
          {"columns", columns},
          {"nonzeros", nullptr},
          {"l1_norm", nullptr},
          {"parts", std::move(parts)}};
}

Json to_json(const jobs::Job& job, const std::optional<rounds::Communication>& communication) {
  const rounds::Communication sent = communication.value_or(rounds::Communication{});
  const rounds::Traffic total = sent.total();
  Json json = {{"uplink_bytes", total.up},
               {"downlink_bytes", total.down},
               {"rounds", sent.rounds},
               {"per_party", Json::array()}};
  for (std::size_t p = 0; p < sent.per_party.size(); ++p)
    json["per_party"].push_back({{"party", job.parties[p].name},
                                 {"uplink_bytes", sent.per_party[p].up},
                                 {"downlink_bytes", sent.per_party[p].down},
                                 {"rounds_answered", sent.answered[p]}});
  json["around_bytes"] = {{"uplink", sent.around.up}, {"downlink", sent.around.down}};
  if (job.network) json["network_seconds"] = rounds::network_seconds(sent, *job.network);
  return json;
}

std::size_t spacing(const std::vector<double>& history) {
  return std::max<std::size_t>(1, (history.size() + kMostPoints - 1) / kMostPoints);
}

Json points(const std::vector<double>& history, std::size_t every) {
  Json json = Json::array();
  for (std::size_t i = 0; i < history.size(); i += every) json.push_back(finite(history[i]));
  if (!history.empty() && (history.size() - 1) % every != 0) json.push_back(finite(history.back()));
  return json;
}

Json to_json(const algorithms::Convergence& convergence) {
  const auto known = [](const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); };
  Json curvatures = Json::object();
  for (const auto& [name, bound] : convergence.curvatures) curvatures[name] = bound;
  return {{"p_min", convergence.p_min},
          {"curvature_bounds", std::move(curvatures)},
          {"curvature", convergence.curvatures.empty() ? Json(nullptr) : Json(convergence.curvature)},
          {"rho_g", known(convergence.rho_g)},
          {"rho_l", known(convergence.rho_l)},
          {"rho", known(convergence.rho)},
          {"gap", points(convergence.gap, spacing(convergence.gap))},
          {"bound", convergence.bound.empty() ? Json(nullptr) : points(convergence.bound, spacing(convergence.bound))}};
}

Json objective_json(const Outcome& outcome) {
  Json json = {{"final", finite(outcome.fit.objective)},
               {"certificate", shown(outcome.fit.certificate)},
               {"gap", finite(outcome.fit.gap)},
               {"history", nullptr}};
  const std::vector<double>& history = outcome.fit.history;
  const std::size_t every = spacing(history);
  json["history_every"] = every;
  json["history"] = points(history, every);
  if (const std::vector<double>& residuals = outcome.fit.residuals; !residuals.empty())
    json["residuals"] = points(residuals, spacing(residuals));
  if (outcome.convergence) json["convergence"] = to_json(*outcome.convergence);
  return json;
}

Json metrics_json(const jobs::Job& job, const Outcome& outcome) {
  const RowCount count = row_count(job);
  return {{"train", to_json(outcome.train, count)},
          {"test", outcome.test ? to_json(*outcome.test, count) : Json(nullptr)}};
}

Json baselines_json(const jobs::Job& job, const Outcome& outcome) {
  Json json = Json::array();
  for (const Baseline& baseline : outcome.baselines)
    json.push_back({{"name", baseline.name},
                    {"objective", {{"final", finite(baseline.objective)}, {"gap", finite(baseline.gap)}}},
                    {"metrics",
                     {{"train", to_json(baseline.train, row_count(job))},
                      {"test", baseline.test ? to_json(*baseline.test, row_count(job)) : Json(nullptr)}}}});
  return json;
}

Json time_json(const Outcome& outcome, const ReportContext& context) {
  return {{"total_seconds", context.total_seconds},
          {"read_seconds", outcome.read_seconds},
          {"compute_seconds", outcome.train_seconds},
          {"wait_seconds", outcome.wait_seconds}};
}

// What a private run tells the holder of its data, and no claim covers. How long a search took tells how many runs it
// had, of which the best alone is released: of a tuned run no time is told to anybody.
Json simulation_json(const jobs::Job& job, const Outcome& outcome, const ReportContext& context) {
  Json json = {{"covered", false}, {"objective", objective_json(outcome)}, {"metrics", metrics_json(job, outcome)}};
  if (!job.tune) json["time"] = time_json(outcome, context);
  json["notes"] = outcome.notes;
  return json;
}

}  // namespace

std::string result_json(const jobs::Job& job, const Outcome& outcome, const ReportContext& context) {
  Json json;
  json["status"] = status(outcome.fit.stop);
  json["job"] = job.name;
  json["algorithm"] = job.algorithm;
  json["rounds"] = outcome.fit.iterations;
  json["stop_reason"] = reason(outcome.fit.stop);
  if (!outcome.privacy) {
    json["objective"] = objective_json(outcome);
    json["metrics"] = metrics_json(job, outcome);
  }
  if (outcome.inference) json["inference"] = Json::parse(to_json(*outcome.inference));
  if (!outcome.baselines.empty()) json["baselines"] = baselines_json(job, outcome);
  json["model"] = model_json(outcome, context);
  json["privacy"] = outcome.privacy ? to_json(*outcome.privacy)
                                    : Json{{"claimed", false}, {"statement", outcome.trained.provenance.privacy}};
  json["communication"] = to_json(job, outcome.communication);
  if (!outcome.privacy) {
    json["time"] = time_json(outcome, context);
    json["notes"] = outcome.notes;
  }
  json["seed"] = job.seed ? Json(*job.seed) : Json(nullptr);
  json["version"] = kVersion;
  if (outcome.privacy) json["simulation"] = simulation_json(job, outcome, context);
  // Paths need not be UTF-8.
  return json.dump(1, ' ', false, Json::error_handler_t::replace);
}

std::string metrics_json(const models::Scored& scored) {
  return Json{{"metrics", to_json(scored)}}.dump(1);
}

namespace {

// Which classes are taken for which; of the most that fit a page.
void add_confusion(const models::Scored& scored, std::string& table) {
  constexpr std::size_t kMostShown = 8;
  const glm::Confusion& confusion = scored.judgement->confusion;
  if (confusion.classes > kMostShown) return;
  table += fmt::format("\n  {:<18}", "rows, called");
  for (std::size_t k = 0; k < confusion.classes; ++k) table += fmt::format(" {:>12.12}", class_name(scored, k));
  table += fmt::format(" {:>10} {:>10}\n", "precision", "recall");
  for (std::size_t k = 0; k < confusion.classes; ++k) {
    table += fmt::format("  {:<18.18}", class_name(scored, k));
    for (std::size_t called = 0; called < confusion.classes; ++called)
      table += fmt::format(" {:>12}", with_commas(static_cast<long long>(confusion.of(k, called))));
    for (const std::optional<double>& share : {confusion.precision(k), confusion.recall(k)})
      table += share ? fmt::format(" {:>10.4f}", *share) : fmt::format(" {:>10}", "-");
    table += "\n";
  }
}

void add_curves(const glm::Judgement& judgement, std::string& table) {
  if (!judgement.calibration.empty()) {
    table += fmt::format("\n  {:<18} {:>12} {:>12}\n", "calibration, rows", "mean p", "share of +1");
    for (const glm::CalibrationBin& bin : judgement.calibration)
      if (bin.rows > 0)
        table += fmt::format("  {:<18} {:>12.4f} {:>12.4f}\n", with_commas(static_cast<long long>(bin.rows)),
                             bin.probability, bin.positives);
  }
  if (judgement.gain.empty()) return;
  table += fmt::format("\n  {:<18} {:>12} {:>12}\n", "best rows first", "gain", "lift");
  for (const glm::GainStep& step : judgement.gain)
    table += fmt::format("  {:<18} {:>12.4f} {:>12.3f}\n", fmt::format("{:.0f} %", 100 * step.rows), step.positives,
                         step.lift());
}

}  // namespace

std::string metrics_table(const models::Scored& scored) {
  std::string table = fmt::format("  {:<18} {:>12}\n", "rows", with_commas(static_cast<long long>(scored.rows)));
  for (const NamedMetric& metric : kMetrics)
    if (const auto value = scored.metrics.*metric.value)
      table += fmt::format("  {:<18} {:>12.6g}\n", metric.shown, *value);
  if (scored.judgement) {
    add_confusion(scored, table);
    add_curves(*scored.judgement, table);
  }
  if (const auto& support = scored.support) {
    table += fmt::format("\n  {:<18} {:>12}\n  {:<18} {:>12}\n  {:<18} {:>12}\n", "true nonzeros found",
                         support->correct, "missing", support->missed, "spurious", support->incorrect);
    table += fmt::format("  {:<18} {:>12}\n  {:<18} {:>12}\n  {:<18} {:>12}\n", "precision",
                         shown(support->precision()), "recall", shown(support->recall()), "F1", shown(support->f1()));
  }
  return table;
}

namespace {

void add_sizes(const jobs::Job& job, const Outcome& outcome, std::string& table) {
  if (outcome.elsewhere.empty() && weights_are_told(outcome))
    table += fmt::format("  {:<18} {:>12}\n", "nonzero weights",
                         fmt::format("{} of {}", with_commas(static_cast<long long>(model_size(outcome).nonzeros)),
                                     with_commas(static_cast<long long>(model_size(outcome).weights))));
  for (const PartElsewhere& part : outcome.elsewhere)
    table += fmt::format("  {:<18} {:>12}\n", "part of " + part.party,
                         fmt::format("{}, there in {}", counted(part.columns, "column"), part.path));
  if (outcome.communication)
    table += fmt::format(
        "  {:<18} {:>12}\n", "traffic",
        fmt::format("{} up, {} down, {}", human_bytes(static_cast<double>(outcome.communication->total().up)),
                    human_bytes(static_cast<double>(outcome.communication->total().down)),
                    counted(job.parties.size(), "party", "parties")));
}

void add_objective(const Outcome& outcome, std::string& table) {
  const auto& fit = outcome.fit;
  if (std::isfinite(fit.objective)) table += fmt::format("  {:<18} {:>12.10g}\n", "objective", fit.objective);
  if (fit.certificate != algorithms::Certificate::kNone)
    table += fmt::format("  {:<18} {:>12.2e}\n", shown(fit.certificate), fit.gap);
}

void add_metrics(const jobs::Job& job, const Outcome& outcome, std::string& table) {
  const RowCount count = row_count(job);
  table += fmt::format("\n  {:<18} {:>12}", "", "train");
  if (outcome.test) table += fmt::format(" {:>12}", "test");
  table += "\n";
  if (count == RowCount::kTold) {
    table += fmt::format("  {:<18} {:>12}", "rows", with_commas(static_cast<long long>(outcome.train.rows)));
    if (outcome.test) table += fmt::format(" {:>12}", with_commas(static_cast<long long>(outcome.test->rows)));
    table += "\n";
  }
  for (const NamedMetric& metric : kMetrics) {
    const auto train = outcome.train.metrics.*metric.value;
    const auto test = outcome.test ? outcome.test->metrics.*metric.value : std::nullopt;
    if ((!train && !test) || !is_told(metric, count)) continue;
    table += fmt::format("  {:<18} {:>12}", metric.shown, shown(train));
    if (outcome.test) table += fmt::format(" {:>12}", shown(test));
    table += "\n";
  }
}

// The federation beside each party by itself and beside all data in one place, in the metrics that say most.
void add_baselines(const jobs::Job& job, const Outcome& outcome, std::string& table) {
  if (outcome.baselines.empty()) return;
  const bool real = glm::has_real_labels(job.objective.task);
  const auto loss = real ? &glm::Metrics::rmse : &glm::Metrics::log_loss;
  const auto hits = real ? &glm::Metrics::r_squared : &glm::Metrics::accuracy;
  table += fmt::format("\n  {:<24} {:>12} {:>14} {:>14} {:>14}\n", "compared", "objective",
                       real ? "train RMSE" : "train log loss", real ? "test RMSE" : "test log loss",
                       real ? "test R2" : "test accuracy");
  const auto row = [&](const std::string& who, double objective, const models::Scored& train,
                       const std::optional<models::Scored>& test) {
    table +=
        fmt::format("  {:<24} {:>12.6g} {:>14} {:>14} {:>14}\n", who, objective, shown(train.metrics.*loss),
                    shown(test ? test->metrics.*loss : std::nullopt), shown(test ? test->metrics.*hits : std::nullopt));
  };
  row("this run", outcome.fit.objective, outcome.train, outcome.test);
  for (const Baseline& baseline : outcome.baselines)
    row(baseline.name == kPooled ? baseline.name : baseline.name + " alone", baseline.objective, baseline.train,
        baseline.test);
}

std::string seconds(const Outcome& outcome) {
  return outcome.wait_seconds > 0
             ? fmt::format("{:.2f} s computing, {:.2f} s waiting for the parties", outcome.train_seconds,
                           outcome.wait_seconds)
             : fmt::format("{:.2f} s reading, {:.2f} s training", outcome.read_seconds, outcome.train_seconds);
}

std::string whereabouts(const Outcome& outcome, const ReportContext& context) {
  return outcome.elsewhere.empty() ? "model in " + context.model_path : "each party keeps its part of the model";
}

void add_notes(const Outcome& outcome, std::string& table) {
  for (const std::string& note : outcome.notes) table += "  note: " + note + "\n";
}

// First what may be told with the model, then what is for the holder of the data.
void add_private(const jobs::Job& job, const Outcome& outcome, const ReportContext& context, std::string& table) {
  const PrivacyReport& privacy = *outcome.privacy;
  add_sizes(job, outcome, table);
  table += fmt::format("\n  {}\n  {}\n", whereabouts(outcome, context), privacy.statement);
  if (privacy.ledger.empty())
    table += "  each party keeps its own ledger and budget\n";
  else
    table +=
        fmt::format("  budget of the data over all runs: epsilon {} of {} and delta {} of {} spent; ledger in {}\n",
                    privacy::rounded_up(privacy.spent_epsilon, 4), privacy.budget.epsilon.value(),
                    privacy::rounded_up(privacy.spent_delta, 3), privacy.budget.delta.value(), privacy.ledger);
  table += fmt::format("\n  {}\n", kNotCovered);
  add_objective(outcome, table);
  add_metrics(job, outcome, table);
  table += "\n";
  if (!job.tune) table += fmt::format("  {}\n", seconds(outcome));
  add_notes(outcome, table);
}

}  // namespace

std::string result_table(const jobs::Job& job, const Outcome& outcome, const ReportContext& context) {
  const auto& fit = outcome.fit;
  std::string table =
      fmt::format("{}: {} by {}, {} after {}\n\n", job.name, glm::name(job.objective.task), job.algorithm,
                  fit.stop == algorithms::Stop::kIterations ? "stopped at its limit" : reason(fit.stop),
                  counted(fit.iterations, "iteration"));
  if (outcome.privacy) {
    add_private(job, outcome, context, table);
    return table;
  }
  add_objective(outcome, table);
  add_sizes(job, outcome, table);
  add_metrics(job, outcome, table);
  add_baselines(job, outcome, table);
  if (outcome.inference) table += runs::table(*outcome.inference);
  table += fmt::format("\n  {}; {}\n", seconds(outcome), whereabouts(outcome, context));
  table += "  " + outcome.trained.provenance.privacy + "\n";
  add_notes(outcome, table);
  return table;
}

}  // namespace parley::runs
