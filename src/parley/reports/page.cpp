#include "parley/reports/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>
#include <utility>

#include "parley/core/files.h"
#include "parley/core/text.h"
#include "parley/reports/chart.h"

namespace parley::reports {

namespace {

constexpr std::size_t kMostWeights = 25;  // of a run
constexpr std::size_t kMostParties = 20, kMostText = 1500, kMostEvents = 12;

constexpr const char* kStyle = R"(
:root{color-scheme:light dark;--ink:#1d2430;--soft:#5b6675;--page:#fff;--card:#f6f7f9;--rule:#d5dae1;
--c0:#1f6fb2;--c1:#c2571a;--c2:#2d8a4e;--c3:#8a4fb0;--c4:#b3261e;--c5:#0f8a8a;--c6:#8a6d1f;--c7:#5b6675}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ee;--soft:#a3adba;--page:#14181e;--card:#1d232b;--rule:#38414d;
--c0:#6cb4f0;--c1:#f0955c;--c2:#6fce91;--c3:#c99bea;--c4:#f28b82;--c5:#5fd0d0;--c6:#d9bd6a;--c7:#a3adba}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1360px;padding:16px;font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--page);overflow-wrap:anywhere}
h1{font-size:1.5rem;margin:.2em 0}h2{font-size:1.15rem;margin:1.6em 0 .5em;border-bottom:1px solid var(--rule)}
.charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,400px),1fr));gap:14px}
figure{margin:0;padding:10px;background:var(--card);border-radius:8px}figcaption,.note{color:var(--soft);font-size:.87rem}
svg{width:100%;height:auto;display:block;font:11px system-ui,sans-serif}
svg text{fill:var(--ink)}.title{font-size:13px;font-weight:600}.tick,.name{font-size:11px}.name{fill:var(--soft)}
.grid{stroke:var(--rule);stroke-width:.6}.axis{stroke:var(--soft);fill:none}.chance{stroke:var(--soft);stroke-dasharray:4 4;fill:none}
.line{fill:none;stroke-width:2}.line.s0{stroke:var(--c0)}.line.s1{stroke:var(--c1)}.line.s2{stroke:var(--c2)}.line.s3{stroke:var(--c3)}
.line.s4{stroke:var(--c4)}.line.s5{stroke:var(--c5)}.line.s6{stroke:var(--c6)}.line.s7{stroke:var(--c7)}
.s0{fill:var(--c0)}.s1{fill:var(--c1)}.s2{fill:var(--c2)}.s3{fill:var(--c3)}.s4{fill:var(--c4)}.s5{fill:var(--c5)}.s6{fill:var(--c6)}.s7{fill:var(--c7)}
path.line{fill:none!important}
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:.9rem}th{overflow-wrap:normal}th,td{padding:3px 12px 3px 0;text-align:left;vertical-align:top;border-bottom:1px solid var(--rule)}
td.n{text-align:right;font-variant-numeric:tabular-nums;overflow-wrap:normal}
.claim{padding:10px 12px;border-left:4px solid var(--c2);background:var(--card);margin:.6em 0}.claim.none{border-color:var(--c4)}
)";

const Json* at(const Json& json, std::initializer_list<const char*> path) {
  const Json* here = &json;
  for (const char* key : path) {
    if (!here->is_object()) return nullptr;
    const auto found = here->find(key);
    if (found == here->end() || found->is_null()) return nullptr;
    here = &*found;
  }
  return here;
}

std::optional<double> number(const Json& json, std::initializer_list<const char*> path) {
  const Json* found = at(json, path);
  return found != nullptr && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}

std::string text(const Json& json, std::initializer_list<const char*> path) {
  const Json* found = at(json, path);
  if (found == nullptr) return {};
  return found->is_string() ? found->get<std::string>() : found->dump();
}

// Of the rows that are shown: held-out ones where there are some.
const Json* rows_of(const FinishedRun& run, const char*& which) {
  const Json& metrics = run.measured("metrics");
  for (const char* name : {"test", "train"})
    if (const Json* found = at(metrics, {name}); found != nullptr && found->is_object()) {
      which = name;
      return found;
    }
  return nullptr;
}

std::string figure(const std::string& picture, const std::string& caption = {}) {
  if (picture.empty()) return {};
  return "<figure>" + picture + (caption.empty() ? "" : "<figcaption>" + caption + "</figcaption>") + "</figure>\n";
}

std::string section(const std::string& name, const std::string& content) {
  return content.empty() ? "" : "<h2>" + name + "</h2>\n" + content;
}
std::string charts(const std::string& figures) {
  return figures.empty() ? "" : "<div class=\"charts\">\n" + figures + "</div>\n";
}

// ---- tables ----

struct Line {
  std::string name;
  std::vector<std::string> cells;  // of each run; escaped
};

std::string table(std::span<const FinishedRun> runs, const std::vector<Line>& lines) {
  std::string html = "<div class=\"wide\"><table><tr><th></th>";
  for (const FinishedRun& run : runs) html += "<th>" + escaped(run.name) + "</th>";
  html += "</tr>\n";
  for (const Line& line : lines) {
    if (std::all_of(line.cells.begin(), line.cells.end(), [](const std::string& cell) { return cell.empty(); })) continue;
    html += "<tr><th>" + line.name + "</th>";
    for (const std::string& cell : line.cells) html += "<td class=\"n\">" + (cell.empty() ? "-" : cell) + "</td>";
    html += "</tr>\n";
  }
  return html + "</table></div>\n";
}

template <class Cell>
Line line(std::span<const FinishedRun> runs, std::string name, const Cell& cell) {
  Line line{std::move(name), {}};
  for (const FinishedRun& run : runs) line.cells.push_back(cell(run));
  return line;
}

std::string in_figures(std::optional<double> value) {
  return value ? shown(*value) : "";
}

std::string summary(std::span<const FinishedRun> runs) {
  std::vector<Line> lines;
  const auto said = [&](const char* name, std::initializer_list<const char*> path) {
    lines.push_back(line(runs, name, [&](const FinishedRun& run) { return escaped(text(run.result, path)); }));
  };
  const auto counted = [&](const char* name, std::initializer_list<const char*> path) {
    lines.push_back(line(runs, name, [&](const FinishedRun& run) { return in_figures(number(run.result, path)); }));
  };
  said("status", {"status"});
  said("algorithm", {"algorithm"});
  said("stopped by", {"stop_reason"});
  counted("rounds", {"rounds"});
  lines.push_back(line(runs, "objective", [](const FinishedRun& run) { return in_figures(number(run.measured("objective"), {"final"})); }));
  lines.push_back(line(runs, "gap", [](const FinishedRun& run) { return in_figures(number(run.measured("objective"), {"gap"})); }));
  for (const auto& [key, name] : std::initializer_list<std::pair<const char*, const char*>>{
           {"accuracy", "accuracy"}, {"balanced_accuracy", "balanced accuracy"}, {"auc", "AUC"}, {"pr_auc", "PR-AUC"},
           {"log_loss", "log loss"}, {"brier", "Brier score"}, {"rmse", "RMSE"}, {"r2", "R2"}})
    for (const char* rows : {"train", "test"})
      lines.push_back(line(runs, std::string(name) + ", " + rows,
                           [&](const FinishedRun& run) { return in_figures(number(run.measured("metrics"), {rows, key})); }));
  counted("columns", {"model", "columns"});
  counted("nonzero weights", {"model", "nonzeros"});
  counted("l1 norm", {"model", "l1_norm"});
  counted("epsilon", {"privacy", "epsilon"});
  counted("delta", {"privacy", "delta"});
  counted("releases", {"privacy", "releases"});
  const auto bytes = [&](const char* name, const char* key) {
    lines.push_back(line(runs, name, [&](const FinishedRun& run) {
      const auto value = number(run.result, {"communication", key});
      return value && *value > 0 ? escaped(human_bytes(*value)) : std::string();
    }));
  };
  bytes("bytes up", "uplink_bytes");
  bytes("bytes down", "downlink_bytes");
  lines.push_back(line(runs, "seconds", [](const FinishedRun& run) { return in_figures(number(run.measured("time"), {"total_seconds"})); }));
  lines.push_back(line(runs, "seed", [](const FinishedRun& run) { return escaped(text(run.result, {"seed"})); }));
  return table(runs, lines);
}

// ---- the claim and the job, in words ----

std::string objective_in_words(const Json& model) {
  const std::string task = text(model, {"task"});
  std::string words = "minimises the mean " + (task.empty() ? "loss" : escaped(task) + " loss");
  for (const auto& [key, name] : std::initializer_list<std::pair<const char*, const char*>>{
           {"l1", "an l1 penalty of"}, {"l2", "an l2 penalty of"}, {"l1_radius", "weights within an l1 ball of radius"},
           {"box", "weights no larger in size than"}, {"sparsity", "at most so many nonzero weights:"}})
    if (const auto value = number(model, {"objective", key}); value && *value != 0)
      words += std::string(", with ") + name + " " + shown(*value);
  return words;
}

std::string who_saw_what(const FinishedRun& run) {
  const Json* parties = at(run.result, {"communication", "per_party"});
  const bool federated = parties != nullptr && parties->is_array() && !parties->empty();
  const bool claims = at(run.result, {"privacy", "claimed"}) != nullptr && run.result.at("privacy").at("claimed") == true;
  const std::string against = text(run.result, {"privacy", "against"});
  const auto row = [&](const std::string& who, const std::string& what, bool covered) {
    return "<tr><td>" + who + "</td><td>" + what + "</td><td>" +
           (covered ? "covered by the claim" : claims ? "not covered" : "nothing is claimed") + "</td></tr>\n";
  };
  std::string html = "<div class=\"wide\"><table><tr><th>who</th><th>saw</th><th></th></tr>\n";
  bool model_covered = claims;
  for (const Json& model : run.models) {
    const Json* covered = at(model, {"privacy", "covered"});
    model_covered = model_covered && covered != nullptr && *covered == true;
  }
  html += row("whoever gets the model", "its weights", model_covered);
  if (federated) {
    html += row("the coordinator", "every message of the run", claims && against != "outsiders");
    html += row("each party", "its own table, and what the coordinator sent it", claims && against != "outsiders");
  }
  html += row("the holder of the data", "objective, metrics, notes and times", false);
  return html + "</table></div>\n";
}

std::string words_about(const FinishedRun& run, bool named) {
  std::string html;
  if (named) html += "<h3>" + escaped(run.name) + "</h3>\n";
  if (!run.models.empty())
    html += "<p>" + escaped(text(run.result, {"algorithm"})) + " " + objective_in_words(run.models.front()) + ".</p>\n";
  const bool claims = at(run.result, {"privacy", "claimed"}) != nullptr && run.result.at("privacy").at("claimed") == true;
  html += std::string("<p class=\"claim") + (claims ? "" : " none") + "\">" +
          escaped(text(run.result, {"privacy", "statement"}).substr(0, kMostText)) + "</p>\n";
  html += who_saw_what(run);
  const Json& notes = run.measured("notes");
  if (notes.is_array())
    for (const Json& note : notes)
      if (note.is_string()) html += "<p class=\"note\">Note: " + escaped(note.get<std::string>()) + "</p>\n";
  return html;
}

// ---- pictures of several runs ----

std::string objective_charts(std::span<const FinishedRun> runs) {
  LineChart objective{.title = "Objective", .x = {.name = "iteration or round"}, .y = {.name = "objective"}};
  LineChart gap{.title = "Distance from the best objective of these runs", .x = {.name = "iteration or round"},
                .y = {.name = "objective - best", .scale = Scale::kLogarithmic}};
  double best = std::numeric_limits<double>::infinity();
  for (const FinishedRun& run : runs) {
    const Json* history = at(run.measured("objective"), {"history"});
    if (history == nullptr || !history->is_array() || history->empty()) continue;
    const double every = number(run.measured("objective"), {"history_every"}).value_or(1);
    Series series{.name = run.name};
    for (std::size_t k = 0; k < history->size(); ++k) {
      const double value = (*history)[k].is_number() ? (*history)[k].get<double>() : std::nan("");
      series.x.push_back(every * static_cast<double>(k));
      series.y.push_back(value);
      if (value < best) best = value;
    }
    objective.series.push_back(series);
    gap.series.push_back(std::move(series));
  }
  for (Series& series : gap.series)
    for (double& value : series.y) value = value > best ? value - best : std::nan("");
  return figure(svg(objective)) + figure(svg(gap), "Logarithmic; the best point itself is not on it.");
}

// ROC and PR follow from the gain curve and the share of positives: of the highest tenths of the scores it says how many
// are positive.
std::string curves(std::span<const FinishedRun> runs) {
  const Axis unit{.low = 0, .high = 1};
  const auto axis = [&](const char* name) {
    Axis one = unit;
    one.name = name;
    return one;
  };
  LineChart roc{.title = "ROC", .x = axis("false positive rate"), .y = axis("true positive rate"), .series = {}, .diagonal = true};
  LineChart pr{.title = "Precision and recall", .x = axis("recall"), .y = axis("precision"), .series = {}};
  LineChart calibration{.title = "Calibration", .x = axis("mean predicted probability"), .y = axis("share of positives"), .series = {}, .diagonal = true};
  for (const FinishedRun& run : runs) {
    const char* which = "";
    const Json* rows = rows_of(run, which);
    if (rows == nullptr) continue;
    const std::string name = run.name + ", " + which;
    const Json *gain = at(*rows, {"gain"}), *classes = at(*rows, {"per_class"});
    if (gain != nullptr && classes != nullptr && gain->is_array() && classes->is_array() && classes->size() == 2) {
      const double negative = number((*classes)[0], {"rows"}).value_or(0), positive = number((*classes)[1], {"rows"}).value_or(0);
      const double share = positive / (positive + negative);
      Series up{.name = name, .x = {0}, .y = {0}, .dots = true}, precise{.name = name, .x = {}, .y = {}, .dots = true};
      for (const Json& step : *gain) {
        const auto taken = number(step, {"rows"}), found = number(step, {"positives"});
        if (!taken || !found || !(share > 0) || !(share < 1)) continue;
        up.x.push_back(std::clamp((*taken - share * *found) / (1 - share), 0.0, 1.0));
        up.y.push_back(*found);
        precise.x.push_back(*found);
        precise.y.push_back(std::clamp(share * *found / *taken, 0.0, 1.0));
      }
      roc.series.push_back(std::move(up));
      pr.series.push_back(std::move(precise));
    }
    if (const Json* bins = at(*rows, {"calibration"}); bins != nullptr && bins->is_array()) {
      Series series{.name = name, .x = {}, .y = {}, .dots = true};
      for (const Json& bin : *bins)
        if (const auto p = number(bin, {"probability"}), q = number(bin, {"positives"}); p && q)
          series.x.push_back(*p), series.y.push_back(*q);
      calibration.series.push_back(std::move(series));
    }
  }
  return figure(svg(roc), "At the highest 10 %, 20 %, ... of the scores.") +
         figure(svg(pr), "At the highest 10 %, 20 %, ... of the scores.") + figure(svg(calibration));
}

// ---- pictures of one run ----

std::string weights_chart(const FinishedRun& run) {
  std::vector<Bar> bars;
  std::size_t all = 0;
  for (std::size_t m = 0; m < run.models.size(); ++m) {
    const Json* columns = at(run.models[m], {"columns"});
    const Json* classes = at(run.models[m], {"classes"});
    if (columns == nullptr || !columns->is_array()) continue;
    for (const Json& column : *columns) {
      const std::string name = text(column, {"name"});
      const auto add = [&](double weight, const std::string& of) {
        if (weight == 0 || !std::isfinite(weight)) return;
        ++all;
        bars.push_back({name + of, weight, shown(weight), m});
      };
      if (const auto weight = number(column, {"weight"})) add(*weight, "");
      if (const Json* several = at(column, {"weights"}); several != nullptr && several->is_array())
        for (std::size_t k = 0; k < several->size(); ++k)
          if ((*several)[k].is_number())
            add((*several)[k].get<double>(),
                " (" + (classes != nullptr && classes->is_array() && k < classes->size() && (*classes)[k].is_string()
                            ? (*classes)[k].get<std::string>()
                            : std::to_string(k)) + ")");
    }
  }
  const std::size_t kept = std::min(kMostWeights, bars.size());
  std::partial_sort(bars.begin(), bars.begin() + static_cast<std::ptrdiff_t>(kept), bars.end(),
                    [](const Bar& a, const Bar& b) { return std::abs(a.value) > std::abs(b.value); });
  bars.resize(kept);
  std::string caption = "Weights of columns as they were scaled.";
  if (all > kept) caption += fmt::format(" The {} largest of {}.", kept, with_commas(static_cast<long long>(all)));
  if (run.models.size() > 1) caption += " Each party's in a colour of its own.";
  return figure(svg(BarChart{"Weights by size: " + run.name, "weight", std::move(bars)}), caption);
}

std::string traffic_chart(const FinishedRun& run) {
  const Json* parties = at(run.result, {"communication", "per_party"});
  std::vector<Bar> bars;
  if (parties != nullptr && parties->is_array())
    for (const Json& party : *parties) {
      if (bars.size() >= 2 * kMostParties) break;
      for (const auto& [key, name, series] : {std::tuple{"uplink_bytes", " up", 0}, std::tuple{"downlink_bytes", " down", 1}})
        if (const auto bytes = number(party, {key}))
          bars.push_back({text(party, {"party"}) + name, *bytes, human_bytes(*bytes), static_cast<std::size_t>(series)});
    }
  const bool more = parties != nullptr && parties->size() > kMostParties;
  return figure(svg(BarChart{"Bytes of each party: " + run.name, "bytes of rounds", std::move(bars)}),
                more ? fmt::format("The first {} of {} parties.", kMostParties, parties->size()) : "");
}

std::string budget_chart(const FinishedRun& run) {
  std::vector<Bar> bars;
  const auto add = [&](const char* name, std::optional<double> value, std::size_t series) {
    if (value) bars.push_back({name, *value, shown(*value), series});
  };
  add("epsilon of this run", number(run.result, {"privacy", "epsilon"}), 0);
  add("spent over all runs", number(run.result, {"privacy", "ledger", "spent_epsilon"}), 1);
  add("budget", number(run.result, {"privacy", "ledger", "budget_epsilon"}), 7);
  return figure(svg(BarChart{"Epsilon against the budget: " + run.name, "epsilon", std::move(bars)}),
                "Spent and budget are those of the ledger that the run charged last.");
}

std::string noise_chart(const FinishedRun& run) {
  const auto loudest = number(run.result, {"privacy", "noise_to_signal"});
  if (!loudest || !(*loudest > 0)) return {};
  return figure(svg(BarChart{"Noise against signal: " + run.name, "of the largest signal that any data could have",
                             {{"largest signal", 1, "1", 7}, {"noise of the loudest release", *loudest, shown(*loudest), 1}}}),
                *loudest > 0.5 ? "The noise is loud: expect a model that says little." : "");
}

std::string time_chart(const FinishedRun& run) {
  std::vector<Bar> bars;
  for (const auto& [key, name] : std::initializer_list<std::pair<const char*, const char*>>{
           {"read_seconds", "reading"}, {"compute_seconds", "computing"}, {"wait_seconds", "waiting"}, {"total_seconds", "in all"}})
    if (const auto seconds = number(run.measured("time"), {key})) bars.push_back({name, *seconds, shown(*seconds) + " s", 0});
  return figure(svg(BarChart{"Time: " + run.name, "seconds", std::move(bars)}));
}

std::string events_table(const FinishedRun& run) {
  const Json* events = at(run.result, {"privacy", "events"});
  if (events == nullptr || !events->is_array() || events->empty()) return {};
  std::string html = "<div class=\"wide\"><table><tr><th>what was drawn: " + escaped(run.name) + "</th><th>numbers</th><th>times</th></tr>\n";
  for (std::size_t e = 0; e < std::min(kMostEvents, events->size()); ++e) {
    const Json& event = (*events)[e];
    std::string numbers;
    for (const auto& [key, value] : event.items())
      if (key != "mechanism" && key != "count" && value.is_number())
        numbers += (numbers.empty() ? "" : ", ") + escaped(key) + " " + shown(value.get<double>());
    html += "<tr><td>" + escaped(text(event, {"mechanism"})) + "</td><td>" + numbers + "</td><td class=\"n\">" +
            in_figures(number(event, {"count"})) + "</td></tr>\n";
  }
  html += "</table></div>\n";
  if (events->size() > kMostEvents) html += fmt::format("<p class=\"note\">and {} more.</p>\n", events->size() - kMostEvents);
  return html;
}

std::string baselines_table(const FinishedRun& run) {
  const Json& baselines = run.measured("baselines").is_array() ? run.measured("baselines") : run.result;
  if (!baselines.is_array() || baselines.empty()) return {};
  std::string html = "<div class=\"wide\"><table><tr><th>trained on</th><th>objective</th><th>AUC</th><th>accuracy</th><th>RMSE</th></tr>\n";
  for (const Json& one : baselines) {
    const char* rows = at(one, {"metrics", "test"}) != nullptr ? "test" : "train";
    html += "<tr><td>" + escaped(text(one, {"name"})) + "</td>";
    html += "<td class=\"n\">" + in_figures(number(one, {"objective", "final"})) + "</td>";
    for (const char* key : {"auc", "accuracy", "rmse"})
      html += "<td class=\"n\">" + in_figures(number(one, {"metrics", rows, key})) + "</td>";
    html += "</tr>\n";
  }
  return html + "</table></div>\n";
}

template <class Picture>
std::string of_each(std::span<const FinishedRun> runs, const Picture& picture) {
  std::string all;
  for (const FinishedRun& run : runs) all += picture(run);
  return all;
}

}  // namespace

std::string page(std::span<const FinishedRun> runs) {
  std::string names;
  for (const FinishedRun& run : runs) names += (names.empty() ? "" : ", ") + run.name;
  std::string html = "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                     "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
                     "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">"
                     "<link rel=\"icon\" href=\"data:,\"><title>" + escaped(names) + "</title><style>" + kStyle + "</style></head><body>\n";
  html += "<h1>" + escaped(names) + "</h1>\n<p class=\"note\">Parley " + escaped(text(runs.front().result, {"version"})) + "</p>\n";
  html += section("Summary", summary(runs));
  html += section("The job and the claim in words",
                  of_each(runs, [&](const FinishedRun& run) { return words_about(run, runs.size() > 1); }));
  const bool some_are_private =
      std::any_of(runs.begin(), runs.end(), [](const FinishedRun& run) { return run.is_private(); });
  const std::string measured = some_are_private ? "<p class=\"note\">Of a private run this was computed from the data "
                                                  "itself: no claim covers it, and it is for the holder of the data only.</p>\n"
                                                : "";
  const auto from_data = [&](const std::string& figures) { return figures.empty() ? "" : measured + charts(figures); };
  html += section("How it went", from_data(objective_charts(runs)));
  html += section("How good it is", from_data(curves(runs)));
  html += section("Beside training alone and on all data in one place", of_each(runs, baselines_table));
  html += section("What was learnt", charts(of_each(runs, weights_chart)));
  html += section("What it cost in privacy",
                  charts(of_each(runs, budget_chart) + of_each(runs, noise_chart)) + of_each(runs, events_table));
  html += section("What travelled and how long it took", charts(of_each(runs, traffic_chart) + of_each(runs, time_chart)));
  return html + "</body></html>\n";
}

Result<std::string> write_report(const std::vector<std::string>& folders) {
  if (folders.size() > kMostRuns)
    return fail(bad_input({.field = "DIR"}, fmt::format("at most {} runs stand side by side", kMostRuns),
                          std::to_string(folders.size())));
  std::vector<FinishedRun> runs;
  for (const std::string& folder : folders) {
    PARLEY_TRY(runs.emplace_back(), read_run(folder));
  }
  // Runs of one job are told apart by their folders.
  for (FinishedRun& run : runs) {
    const std::string job = text(run.result, {"job"});
    if (std::count_if(runs.begin(), runs.end(), [&](const FinishedRun& one) { return text(one.result, {"job"}) == job; }) > 1)
      run.name = job + " (" + run.folder + ")";
  }
  const std::string path = (std::filesystem::path(folders.front()) / "report.html").string();
  PARLEY_CHECK(write_atomically(path, page(runs)));
  return path;
}

}  // namespace parley::reports
