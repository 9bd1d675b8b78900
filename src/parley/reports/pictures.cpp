#include "parley/reports/pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "parley/core/text.h"
#include "parley/reports/chart.h"
#include "parley/reports/fields.h"

namespace parley::reports {

namespace {

constexpr std::size_t kMostWeights = 25;  // of a run
constexpr std::size_t kMostParties = 20;

std::string figure(const std::string& picture, const std::string& caption = {}) {
  if (picture.empty()) return {};
  return "<figure>" + picture + (caption.empty() ? "" : "<figcaption>" + caption + "</figcaption>") + "</figure>\n";
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

}  // namespace

std::string objective_charts(std::span<const FinishedRun> runs) {
  LineChart objective{.title = "Objective", .x = {.name = "iteration or round"}, .y = {.name = "objective"}};
  LineChart gap{.title = "Distance from the best objective of these runs",
                .x = {.name = "iteration or round"},
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

// ROC and PR follow from the gain curve and the share of positives: of the highest tenths of the scores it says how
// many are positive.
std::string curves(std::span<const FinishedRun> runs) {
  const Axis unit{.low = 0, .high = 1};
  const auto axis = [&](const char* name) {
    Axis one = unit;
    one.name = name;
    return one;
  };
  LineChart roc{.title = "ROC",
                .x = axis("false positive rate"),
                .y = axis("true positive rate"),
                .series = {},
                .diagonal = true};
  LineChart pr{.title = "Precision and recall", .x = axis("recall"), .y = axis("precision"), .series = {}};
  LineChart calibration{.title = "Calibration",
                        .x = axis("mean predicted probability"),
                        .y = axis("share of positives"),
                        .series = {},
                        .diagonal = true};
  for (const FinishedRun& run : runs) {
    const char* which = "";
    const Json* rows = rows_of(run, which);
    if (rows == nullptr) continue;
    const std::string name = run.name + ", " + which;
    const Json *gain = at(*rows, {"gain"}), *classes = at(*rows, {"per_class"});
    if (gain != nullptr && classes != nullptr && gain->is_array() && classes->is_array() && classes->size() == 2) {
      const double negative = number((*classes)[0], {"rows"}).value_or(0),
                   positive = number((*classes)[1], {"rows"}).value_or(0);
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
                " (" +
                    (classes != nullptr && classes->is_array() && k < classes->size() && (*classes)[k].is_string()
                         ? (*classes)[k].get<std::string>()
                         : std::to_string(k)) +
                    ")");
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
      for (const auto& [key, name, series] :
           {std::tuple{"uplink_bytes", " up", 0}, std::tuple{"downlink_bytes", " down", 1}})
        if (const auto bytes = number(party, {key}))
          bars.push_back(
              {text(party, {"party"}) + name, *bytes, human_bytes(*bytes), static_cast<std::size_t>(series)});
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
  return figure(
      svg(BarChart{"Noise against signal: " + run.name,
                   "of the largest signal that any data could have",
                   {{"largest signal", 1, "1", 7}, {"noise of the loudest release", *loudest, shown(*loudest), 1}}}),
      *loudest > 0.5 ? "The noise is loud: expect a model that says little." : "");
}

std::string time_chart(const FinishedRun& run) {
  std::vector<Bar> bars;
  for (const auto& [key, name] :
       std::initializer_list<std::pair<const char*, const char*>>{{"read_seconds", "reading"},
                                                                  {"compute_seconds", "computing"},
                                                                  {"wait_seconds", "waiting"},
                                                                  {"total_seconds", "in all"}})
    if (const auto seconds = number(run.measured("time"), {key}))
      bars.push_back({name, *seconds, shown(*seconds) + " s", 0});
  return figure(svg(BarChart{"Time: " + run.name, "seconds", std::move(bars)}));
}

}  // namespace parley::reports
