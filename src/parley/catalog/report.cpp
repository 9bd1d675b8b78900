#include "parley/catalog/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "parley/catalog/privacy_across.h"
#include "parley/core/text.h"
#include "parley/core/version.h"
#include "parley/privacy/accounting/statement.h"

namespace parley::catalog {

using Json = nlohmann::ordered_json;

namespace {

struct NamedMetric {
  const char* key;
  const char* shown;
  std::optional<double> glm::Metrics::*value;
};
constexpr NamedMetric kMetrics[] = {{"accuracy", "accuracy", &glm::Metrics::accuracy},
                                    {"balanced_accuracy", "balanced accuracy", &glm::Metrics::balanced_accuracy},
                                    {"auc", "AUC", &glm::Metrics::auc},
                                    {"ks", "KS", &glm::Metrics::ks},
                                    {"log_loss", "log loss", &glm::Metrics::log_loss},
                                    {"rmse", "RMSE", &glm::Metrics::rmse},
                                    {"r2", "R2", &glm::Metrics::r_squared},
                                    {"deviance", "deviance", &glm::Metrics::deviance}};

Json to_json(const Scored& scored) {
  Json json;
  json["rows"] = scored.rows;
  for (const NamedMetric& metric : kMetrics)
    if (const auto value = scored.metrics.*metric.value) json[metric.key] = *value;
  const auto defined = [](const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); };
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
  return {{"claimed", privacy.claimed},
          {"epsilon", finite(privacy.epsilon)},
          {"delta", privacy.delta},
          {"unit", privacy::name(privacy.unit)},
          {"neighbours", privacy::name(privacy.neighbours)},
          {"against", against_whom(privacy)},
          {"accountant", privacy.accountant},
          {"calibration", privacy.calibration == algorithms::Calibration::kProved ? "proved" : "paper"},
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
  for (const Trained& part : outcome.parts) size.add(part.model);
  if (outcome.parts.empty()) size.add(outcome.trained.model);
  return size;
}

// Where its parts are elsewhere, nobody here knows its weights.
Json model_json(const Outcome& outcome, const ReportContext& context) {
  if (outcome.elsewhere.empty()) {
    const ModelSize size = model_size(outcome);
    return {{"path", context.model_path}, {"columns", size.columns}, {"nonzeros", size.nonzeros}, {"l1_norm", size.l1_norm}};
  }
  std::size_t columns = 0;
  Json parts = Json::array();
  for (const PartElsewhere& part : outcome.elsewhere) {
    columns += part.columns;
    parts.push_back({{"party", part.party}, {"columns", part.columns}, {"path", part.path}});
  }
  return {{"path", nullptr}, {"columns", columns}, {"nonzeros", nullptr}, {"l1_norm", nullptr}, {"parts", std::move(parts)}};
}

Json to_json(const Job& job, const std::optional<rounds::Communication>& communication) {
  const rounds::Communication sent = communication.value_or(rounds::Communication{});
  const rounds::Traffic total = sent.total();
  Json json = {{"uplink_bytes", total.up}, {"downlink_bytes", total.down}, {"rounds", sent.rounds}, {"per_party", Json::array()}};
  for (std::size_t p = 0; p < sent.per_party.size(); ++p)
    json["per_party"].push_back({{"party", job.parties[p].name},
                                 {"uplink_bytes", sent.per_party[p].up},
                                 {"downlink_bytes", sent.per_party[p].down},
                                 {"rounds_answered", sent.answered[p]}});
  json["around_bytes"] = {{"uplink", sent.around.up}, {"downlink", sent.around.down}};
  if (job.network) json["network_seconds"] = rounds::network_seconds(sent, *job.network);
  return json;
}

}  // namespace

std::string result_json(const Job& job, const Outcome& outcome, const ReportContext& context) {
  Json json;
  json["status"] = status(outcome.fit.stop);
  json["job"] = job.name;
  json["algorithm"] = job.algorithm;
  json["rounds"] = outcome.fit.iterations;
  json["stop_reason"] = reason(outcome.fit.stop);
  json["objective"] = {{"final", finite(outcome.fit.objective)},
                       {"certificate", shown(outcome.fit.certificate)},
                       {"gap", finite(outcome.fit.gap)},
                       {"history", Json::array()}};
  const std::vector<double>& history = outcome.fit.history;
  const std::size_t every = std::max<std::size_t>(1, (history.size() + kMostPoints - 1) / kMostPoints);
  json["objective"]["history_every"] = every;
  for (std::size_t i = 0; i < history.size(); i += every) json["objective"]["history"].push_back(finite(history[i]));
  if (!history.empty() && (history.size() - 1) % every != 0) json["objective"]["history"].push_back(finite(history.back()));
  json["metrics"]["train"] = to_json(outcome.train);
  json["metrics"]["test"] = outcome.test ? to_json(*outcome.test) : Json(nullptr);
  json["model"] = model_json(outcome, context);
  json["privacy"] =
      outcome.privacy ? to_json(*outcome.privacy) : Json{{"claimed", false}, {"statement", outcome.trained.provenance.privacy}};
  json["communication"] = to_json(job, outcome.communication);
  json["time"] = {{"total_seconds", context.total_seconds},
                  {"read_seconds", outcome.read_seconds},
                  {"compute_seconds", outcome.train_seconds},
                  {"wait_seconds", outcome.wait_seconds}};
  json["notes"] = outcome.notes;
  json["seed"] = job.seed ? Json(*job.seed) : Json(nullptr);
  json["version"] = kVersion;
  // Paths need not be UTF-8.
  return json.dump(1, ' ', false, Json::error_handler_t::replace);
}

std::string metrics_json(const Scored& scored) {
  return Json{{"metrics", to_json(scored)}}.dump(1);
}

std::string metrics_table(const Scored& scored) {
  std::string table = fmt::format("  {:<18} {:>12}\n", "rows", with_commas(static_cast<long long>(scored.rows)));
  for (const NamedMetric& metric : kMetrics)
    if (const auto value = scored.metrics.*metric.value) table += fmt::format("  {:<18} {:>12.6g}\n", metric.shown, *value);
  if (const auto& support = scored.support) {
    table += fmt::format("\n  {:<18} {:>12}\n  {:<18} {:>12}\n  {:<18} {:>12}\n", "true nonzeros found", support->correct, "missing",
                         support->missed, "spurious", support->incorrect);
    table += fmt::format("  {:<18} {:>12}\n  {:<18} {:>12}\n  {:<18} {:>12}\n", "precision", shown(support->precision()), "recall",
                         shown(support->recall()), "F1", shown(support->f1()));
  }
  return table;
}

std::string result_table(const Job& job, const Outcome& outcome, const ReportContext& context) {
  const auto& fit = outcome.fit;
  std::string table = fmt::format("{}: {} by {}, {} after {}\n\n", job.name, glm::name(job.objective.task), job.algorithm,
                                  fit.stop == algorithms::Stop::kIterations ? "stopped at its limit" : reason(fit.stop),
                                  counted(fit.iterations, "iteration"));
  if (std::isfinite(fit.objective)) table += fmt::format("  {:<18} {:>12.10g}\n", "objective", fit.objective);
  if (fit.certificate != algorithms::Certificate::kNone) table += fmt::format("  {:<18} {:>12.2e}\n", shown(fit.certificate), fit.gap);
  if (outcome.elsewhere.empty())
    table += fmt::format("  {:<18} {:>12}\n", "nonzero weights",
                         fmt::format("{} of {}", with_commas(static_cast<long long>(model_size(outcome).nonzeros)),
                                     with_commas(static_cast<long long>(model_size(outcome).weights))));
  for (const PartElsewhere& part : outcome.elsewhere)
    table += fmt::format("  {:<18} {:>12}\n", "part of " + part.party,
                         fmt::format("{}, there in {}", counted(part.columns, "column"), part.path));
  if (outcome.communication)
    table += fmt::format("  {:<18} {:>12}\n", "traffic",
                         fmt::format("{} up, {} down, {}", human_bytes(static_cast<double>(outcome.communication->total().up)),
                                     human_bytes(static_cast<double>(outcome.communication->total().down)),
                                     counted(job.parties.size(), "party", "parties")));
  table += fmt::format("\n  {:<18} {:>12}", "", "train");
  if (outcome.test) table += fmt::format(" {:>12}", "test");
  table += fmt::format("\n  {:<18} {:>12}", "rows", with_commas(static_cast<long long>(outcome.train.rows)));
  if (outcome.test) table += fmt::format(" {:>12}", with_commas(static_cast<long long>(outcome.test->rows)));
  table += "\n";
  for (const NamedMetric& metric : kMetrics) {
    const auto train = outcome.train.metrics.*metric.value;
    const auto test = outcome.test ? outcome.test->metrics.*metric.value : std::nullopt;
    if (!train && !test) continue;
    table += fmt::format("  {:<18} {:>12}", metric.shown, shown(train));
    if (outcome.test) table += fmt::format(" {:>12}", shown(test));
    table += "\n";
  }
  table +=
      fmt::format("\n  {}; {}\n",
                  outcome.wait_seconds > 0
                      ? fmt::format("{:.2f} s computing, {:.2f} s waiting for the parties", outcome.train_seconds, outcome.wait_seconds)
                      : fmt::format("{:.2f} s reading, {:.2f} s training", outcome.read_seconds, outcome.train_seconds),
                  outcome.elsewhere.empty() ? "model in " + context.model_path : "each party keeps its part of the model");
  table += "  " + outcome.trained.provenance.privacy + "\n";
  if (outcome.privacy && outcome.privacy->ledger.empty()) table += "  each party keeps its own ledger and budget\n";
  if (outcome.privacy && !outcome.privacy->ledger.empty())
    table +=
        fmt::format("  budget of the data over all runs: epsilon {} of {} and delta {} of {} spent; ledger in {}\n",
                    privacy::rounded_up(outcome.privacy->spent_epsilon, 4), outcome.privacy->budget.epsilon.value(),
                    privacy::rounded_up(outcome.privacy->spent_delta, 3), outcome.privacy->budget.delta.value(), outcome.privacy->ledger);
  for (const std::string& note : outcome.notes) table += "  note: " + note + "\n";
  return table;
}

}  // namespace parley::catalog
