#include "parley/reports/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "parley/core/files.h"
#include "parley/core/text.h"
#include "parley/reports/chart.h"
#include "parley/reports/fields.h"
#include "parley/reports/pictures.h"
#include "parley/reports/style.h"

namespace parley::reports {

namespace {

constexpr std::size_t kMostText = 1500, kMostEvents = 12;

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
    if (std::all_of(line.cells.begin(), line.cells.end(), [](const std::string& cell) { return cell.empty(); }))
      continue;
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
  lines.push_back(line(runs, "objective", [](const FinishedRun& run) {
    return in_figures(number(run.measured("objective"), {"final"}));
  }));
  lines.push_back(
      line(runs, "gap", [](const FinishedRun& run) { return in_figures(number(run.measured("objective"), {"gap"})); }));
  for (const auto& [key, name] :
       std::initializer_list<std::pair<const char*, const char*>>{{"accuracy", "accuracy"},
                                                                  {"balanced_accuracy", "balanced accuracy"},
                                                                  {"auc", "AUC"},
                                                                  {"pr_auc", "PR-AUC"},
                                                                  {"log_loss", "log loss"},
                                                                  {"brier", "Brier score"},
                                                                  {"rmse", "RMSE"},
                                                                  {"r2", "R2"}})
    for (const char* rows : {"train", "test"})
      lines.push_back(line(runs, std::string(name) + ", " + rows, [rows, key = key](const FinishedRun& run) {
        return in_figures(number(run.measured("metrics"), {rows, key}));
      }));
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
  lines.push_back(line(runs, "seconds", [](const FinishedRun& run) {
    return in_figures(number(run.measured("time"), {"total_seconds"}));
  }));
  lines.push_back(line(runs, "seed", [](const FinishedRun& run) { return escaped(text(run.result, {"seed"})); }));
  return table(runs, lines);
}

// ---- the claim and the job, in words ----

std::string objective_in_words(const Json& model) {
  const std::string task = text(model, {"task"});
  std::string words = "minimises the mean " + (task.empty() ? "loss" : escaped(task) + " loss");
  for (const auto& [key, name] :
       std::initializer_list<std::pair<const char*, const char*>>{{"l1", "an l1 penalty of"},
                                                                  {"l2", "an l2 penalty of"},
                                                                  {"l1_radius", "weights within an l1 ball of radius"},
                                                                  {"box", "weights no larger in size than"},
                                                                  {"sparsity", "at most so many nonzero weights:"}})
    if (const auto value = number(model, {"objective", key}); value && *value != 0)
      words += std::string(", with ") + name + " " + shown(*value);
  return words;
}

std::string who_saw_what(const FinishedRun& run) {
  const Json* parties = at(run.result, {"communication", "per_party"});
  const bool federated = parties != nullptr && parties->is_array() && !parties->empty();
  const bool claims =
      at(run.result, {"privacy", "claimed"}) != nullptr && run.result.at("privacy").at("claimed") == true;
  const std::string against = text(run.result, {"privacy", "against"});
  const auto row = [&](const std::string& who, const std::string& what, bool covered) {
    return "<tr><td>" + who + "</td><td>" + what + "</td><td>" +
           (covered  ? "covered by the claim"
            : claims ? "not covered"
                     : "nothing is claimed") +
           "</td></tr>\n";
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
  const bool claims =
      at(run.result, {"privacy", "claimed"}) != nullptr && run.result.at("privacy").at("claimed") == true;
  html += std::string("<p class=\"claim") + (claims ? "" : " none") + "\">" +
          escaped(text(run.result, {"privacy", "statement"}).substr(0, kMostText)) + "</p>\n";
  html += who_saw_what(run);
  const Json& notes = run.measured("notes");
  if (notes.is_array())
    for (const Json& note : notes)
      if (note.is_string()) html += "<p class=\"note\">Note: " + escaped(note.get<std::string>()) + "</p>\n";
  return html;
}

std::string events_table(const FinishedRun& run) {
  const Json* events = at(run.result, {"privacy", "events"});
  if (events == nullptr || !events->is_array() || events->empty()) return {};
  std::string html = "<div class=\"wide\"><table><tr><th>what was drawn: " + escaped(run.name) +
                     "</th><th>numbers</th><th>times</th></tr>\n";
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
  if (events->size() > kMostEvents)
    html += fmt::format("<p class=\"note\">and {} more.</p>\n", events->size() - kMostEvents);
  return html;
}

std::string baselines_table(const FinishedRun& run) {
  const Json& baselines = run.measured("baselines").is_array() ? run.measured("baselines") : run.result;
  if (!baselines.is_array() || baselines.empty()) return {};
  std::string html =
      "<div class=\"wide\"><table><tr><th>trained "
      "on</th><th>objective</th><th>AUC</th><th>accuracy</th><th>RMSE</th></tr>\n";
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
  std::string html =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src "
      "data:\">"
      "<link rel=\"icon\" href=\"data:,\"><title>" +
      escaped(names) + "</title><style>" + kStyle + "</style></head><body>\n";
  html += "<h1>" + escaped(names) + "</h1>\n<p class=\"note\">Parley " +
          escaped(text(runs.front().result, {"version"})) + "</p>\n";
  html += section("Summary", summary(runs));
  html += section("The job and the claim in words",
                  of_each(runs, [&](const FinishedRun& run) { return words_about(run, runs.size() > 1); }));
  const bool some_are_private =
      std::any_of(runs.begin(), runs.end(), [](const FinishedRun& run) { return run.is_private(); });
  const std::string measured = some_are_private
                                   ? "<p class=\"note\">Of a private run this was computed from the data "
                                     "itself: no claim covers it, and it is for the holder of the data only.</p>\n"
                                   : "";
  const auto from_data = [&](const std::string& figures) { return figures.empty() ? "" : measured + charts(figures); };
  html += section("How it went", from_data(objective_charts(runs)));
  html += section("How good it is", from_data(curves(runs)));
  html += section("Beside training alone and on all data in one place", of_each(runs, baselines_table));
  html += section("What was learnt", charts(of_each(runs, weights_chart)));
  html += section("What it cost in privacy",
                  charts(of_each(runs, budget_chart) + of_each(runs, noise_chart)) + of_each(runs, events_table));
  html +=
      section("What travelled and how long it took", charts(of_each(runs, traffic_chart) + of_each(runs, time_chart)));
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
    if (std::count_if(runs.begin(), runs.end(),
                      [&](const FinishedRun& one) { return text(one.result, {"job"}) == job; }) > 1)
      run.name = job + " (" + run.folder + ")";
  }
  const std::string path = (std::filesystem::path(folders.front()) / "report.html").string();
  PARLEY_CHECK(write_atomically(path, page(runs)));
  return path;
}

}  // namespace parley::reports
