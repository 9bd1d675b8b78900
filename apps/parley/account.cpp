// parley account EVENTS.json (--delta D | --epsilon E): what a list of releases costs.
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>

#include "apps/parley/verbs.h"
#include "parley/core/text.h"
#include "parley/privacy/accounting/accountant.h"
#include "parley/privacy/accounting/statement.h"

namespace parley::app {
namespace {

using Json = nlohmann::ordered_json;
using namespace parley::privacy;

struct Options {
  std::string events;
  std::optional<double> delta;
  std::optional<double> epsilon;
  bool json = false;
};

Result<std::string> read_text(const std::string& path) {
  std::error_code unknown;
  if (std::filesystem::is_directory(path, unknown))
    return fail(bad_input({.file = path}, "is a folder, not a file of events"));
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(bad_input({.file = path}, "cannot be read"));
  std::ostringstream text;
  text << file.rdbuf();
  if (file.bad()) return fail(bad_input({.file = path}, "cannot be read"));
  return std::move(text).str();
}

// JSON has no infinity: null means that nothing finite can be proved.
Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json as_json(const Plan& plan, const Account& account) {
  Json all;
  for (std::size_t i = 0; i < kAccountants.size(); ++i)
    all[std::string(name(kAccountants[i]))] = number(account.all[i]);
  Json root;
  root["epsilon"] = number(account.epsilon);
  root["delta"] = number(account.delta);
  root["accountant"] = name(account.chosen);
  root["all"] = all;
  root["neighbours"] = name(plan.neighbours);
  root["statement"] = in_words(account.epsilon, account.delta, plan.neighbours);
  return root;
}

void print(const Plan& plan, const Account& account, bool asked_for_delta) {
  std::int64_t releases = 0;
  for (const Event& event : plan.events) releases += event.count;
  fmt::print("epsilon {} at delta {}, {}, {} (accountant: {})\n\n{}\n\n", rounded_up(account.epsilon, 6),
             rounded_up(account.delta, 6), name(plan.neighbours), counted(releases, "release"), name(account.chosen),
             in_words(account.epsilon, account.delta, plan.neighbours));
  fmt::print("{} that each accountant proves\n", asked_for_delta ? "delta" : "epsilon");
  for (std::size_t i = 0; i < kAccountants.size(); ++i) {
    const double value = account.all[i];
    const bool none = asked_for_delta ? value >= 1 : !std::isfinite(value);
    fmt::print("  {:<6} {}\n", name(kAccountants[i]), none ? "nothing for this plan" : rounded_up(value, 6));
  }
}

Result<int> run(const Options& options) {
  if (options.delta.has_value() == options.epsilon.has_value())
    return fail(bad_input({.field = "account"}, "needs one of --delta and --epsilon"));
  PARLEY_TRY(const std::string text, read_text(options.events));
  PARLEY_TRY(const Plan plan, parse_plan(text, options.events));
  Account account;
  if (options.delta) {
    PARLEY_TRY(const Delta delta, Delta::make(*options.delta));
    PARLEY_TRY(account, account_at_delta(plan, delta));
  } else {
    PARLEY_TRY(account, account_at_epsilon(plan, *options.epsilon));
  }
  if (options.json) {
    fmt::print("{}\n", as_json(plan, account).dump(2));
  } else {
    print(plan, account, options.epsilon.has_value());
  }
  return 0;
}

}  // namespace

void add_account(CLI::App& app, Exit& exit) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("account", "Compute what a list of releases costs in (epsilon, delta)");
  verb->add_option("EVENTS.json", options->events, "The releases: neighbours and events")->required();
  verb->add_option("--delta", options->delta, "Report the smallest epsilon at this delta");
  verb->add_option("--epsilon", options->epsilon, "Report the smallest delta at this epsilon");
  verb->add_flag("--json", options->json, "Print JSON on stdout and nothing else");
  verb->footer(R"(EVENTS.json for 1,000 steps of DP-SGD and one histogram:
  {"neighbours": "add-remove", "events": [
    {"mechanism": "subsampled-gaussian", "noise_multiplier": 1.1, "sampling_rate": 0.01,
     "count": 1000},
    {"mechanism": "laplace", "scale": 10, "sensitivity": 1}]}

Mechanisms: gaussian (sigma, sensitivity), laplace (scale, sensitivity), exponential (epsilon),
pure (epsilon), subsampled-gaussian (noise_multiplier, sampling_rate), discrete-gaussian,
discrete-laplace, approximate (epsilon, delta), zcdp (rho), unprotected.

Examples:
  parley account events.json --delta 1e-6
  parley account events.json --epsilon 1 --json)");
  verb->callback([options, &exit] { exit.finish(run(*options)); });
}

}  // namespace parley::app
