// parley ledger: what was spent, by whom, on what, across runs.
#include "parley/privacy/ledger/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "apps/parley/verbs.h"
#include "parley/core/text.h"
#include "parley/privacy/accounting/statement.h"
#include "parley/privacy/ledger/budget_ended.h"
#include "parley/privacy/ledger/seen_head.h"

namespace parley::app {

namespace {

using privacy::Ledger;
using privacy::Spent;
using Json = nlohmann::ordered_json;

struct LedgerOptions {
  std::string directory;
  std::optional<std::string> expected_head;
  std::string state;
  std::string data_set;
  std::string unit = "record";
  std::string neighbours = "replace-one";
  std::string composition = "plans";
  double epsilon = 0;
  double delta = 0;
  bool entries = false;
  bool json = false;
};

std::string utc(std::int64_t seconds) {
  const std::time_t time = seconds;
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return text;
}

Json to_json(const Spent& spent) {
  Json json{{"data_set", spent.purse.data_set},
            {"unit", privacy::name(spent.purse.unit)},
            {"neighbours", privacy::name(spent.purse.neighbours)},
            {"charges", spent.charges},
            {"releases", spent.releases},
            {"void_charges", spent.void_charges},
            {"claimed", spent.void_charges == 0},
            {"budget_used", spent.used},
            {"overspent", spent.overspent},
            {"epsilon_spent", std::isfinite(spent.epsilon) ? Json(spent.epsilon) : Json("infinity")},
            {"delta_spent", spent.delta}};
  if (spent.budget)
    json["budget"] = {{"epsilon", spent.budget->epsilon.value()},
                      {"delta", spent.budget->delta.value()},
                      {"composition", privacy::name(spent.budget->composition)}};
  json["events"] = Json::array();
  for (const privacy::Event& event : spent.events) json["events"].push_back(Json::parse(privacy::to_json(event)));
  return json;
}

// The unit as a person would say it.
std::string_view somebody(privacy::Unit unit) {
  switch (unit) {
    case privacy::Unit::kRecord:
      return "any single person's record";
    case privacy::Unit::kTuple:
      return "any single row of a table";
    case privacy::Unit::kEntity:
      return "everything of any single key";
    case privacy::Unit::kLabel:
      return "any single label";
    case privacy::Unit::kClient:
      return "all data of any single party";
  }
  return "?";
}

// Every number that is a bound is rounded up. Sums of what was spent bound a run of runs that nobody chose by looking
// at earlier results; whatever was chosen and why, the budget holds (privacy/ledger/composition.md).
std::string sentence(const Spent& spent, bool others) {
  if (!spent.budget) return "no budget was set: nothing can be released";
  using privacy::rounded_up;
  const auto factor = [](double epsilon) {
    return epsilon < 700 ? fmt::format("a factor {} (e^{})", rounded_up(std::exp(epsilon), 3), rounded_up(epsilon, 4))
                         : fmt::format("e^{}", rounded_up(epsilon, 4));
  };
  const auto except = [](double delta) {
    return delta > 0 ? fmt::format(", except with probability {}", rounded_up(delta, 3)) : std::string();
  };
  const privacy::Budget& budget = *spent.budget;
  std::string text;
  if (spent.charges == 0) {
    text = "Nothing was charged to this budget so far.\n";
  } else {
    if (spent.void_charges > 0)
      text = fmt::format(
          "No privacy is claimed: {} of {} drew noise from a seed, which can be repeated (a\n"
          "    simulation). With noise from the operating system this would hold:\n    ",
          with_commas(spent.void_charges), counted(spent.charges, "charge"));
    text += fmt::format(
        "All that was charged here so far, over all runs in this ledger and counted for this unit and\n"
        "    relation: {} could change the probability of any outcome by at most\n"
        "    {}{}, if no run was chosen by looking at the results of earlier ones.\n",
        somebody(spent.purse.unit), factor(spent.epsilon), except(spent.delta));
    if (others)
      text +=
          "    What this data set was charged for other units or under the other relation comes on top, and is not "
          "counted here.\n";
  }
  const std::string terms = fmt::format("(epsilon {}, delta {})", budget.epsilon.value(), budget.delta.value());
  if (spent.overspent)
    return text +
           fmt::format(
               "    The budget {} does not bound it: it was set when more than that had been charged, or an earlier\n"
               "    version priced a plan too low (parley ledger verify says which).\n    {}.",
               terms, privacy::use_of_budget(spent));
  return text + fmt::format("    However runs are chosen, the budget holds: at most {}{}\n    {}.\n    {}.",
                            factor(budget.epsilon.value()), except(budget.delta.value()), terms,
                            privacy::use_of_budget(spent));
}

// Whether the data set was charged in another purse too.
bool charged_elsewhere(const Spent& spent, const std::vector<Spent>& all) {
  return std::any_of(all.begin(), all.end(), [&](const Spent& other) {
    return other.charges > 0 && other.purse.data_set == spent.purse.data_set && !(other.purse == spent.purse);
  });
}

// Names in a ledger may be any bytes.
std::string dumped(const Json& json) {
  return json.dump(1, ' ', false, Json::error_handler_t::replace);
}

Result<int> show(const LedgerOptions& options) {
  PARLEY_TRY(Ledger ledger, Ledger::open_read_only(options.directory));
  PARLEY_TRY(const std::vector<Spent> purses, ledger.purses());
  PARLEY_TRY(const std::vector<privacy::Entry> entries, ledger.entries());
  if (options.json) {
    Json json;
    json["purses"] = Json::array();
    for (const Spent& spent : purses) {
      json["purses"].push_back(to_json(spent));
      json["purses"].back()["charged_elsewhere"] = charged_elsewhere(spent, purses);
    }
    json["entries"] = Json::array();
    for (const privacy::Entry& entry : entries)
      json["entries"].push_back({{"number", entry.number},
                                 {"time", utc(entry.time)},
                                 {"kind", entry.kind},
                                 {"data_set", entry.purse.data_set},
                                 {"unit", privacy::name(entry.purse.unit)},
                                 {"neighbours", privacy::name(entry.purse.neighbours)},
                                 {"run", entry.run},
                                 {"release", entry.key},
                                 {"content", Json::parse(entry.content, nullptr, false)},
                                 {"hash", entry.hash}});
    fmt::print("{}\n", dumped(json));
    return 0;
  }
  if (purses.empty()) fmt::print("The ledger is empty: no budget was set and nothing was released.\n");
  for (const Spent& spent : purses)
    fmt::print("{} ({} unit, {} neighbours)\n  {}, for {}\n    {}\n", printable(spent.purse.data_set),
               privacy::name(spent.purse.unit), privacy::name(spent.purse.neighbours), counted(spent.charges, "charge"),
               counted(spent.releases, "release"), sentence(spent, charged_elsewhere(spent, purses)));
  if (!options.entries) return 0;
  fmt::print("\n  {:>6}  {:<19}  {:<11}  {:<16}  {:<16}  {}\n", "entry", "time (UTC)", "kind", "run", "release",
             "what");
  for (const privacy::Entry& entry : entries)
    fmt::print("  {:>6}  {:<19}  {:<11}  {:<16}  {:<16}  {}\n", entry.number, utc(entry.time), entry.kind,
               printable(entry.run, 16), printable(entry.key, 16), printable(entry.content));
  return 0;
}

Result<std::string> a_head(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (text.size() != 64 || text.find_first_not_of("0123456789abcdef") != std::string::npos)
    return fail(bad_input({.field = "--head"}, "must be the 64 hexadecimal digits that verify printed", text));
  return text;
}

// Where the head of the ledger was seen beside its own folder: in the state folder of a site, which by default holds
// it.
std::string seen_from(const LedgerOptions& options) {
  if (!options.state.empty()) return privacy::head_file_in(options.state);
  namespace fs = std::filesystem;
  std::error_code unknown;
  const fs::path folder = fs::weakly_canonical(options.directory, unknown);
  const std::string file = privacy::head_file_in(folder.parent_path().string());
  return !unknown && folder.filename() == "ledger" && fs::exists(file, unknown) ? file : "";
}

// An earlier version may have priced a plan too low: which, and what that means for the budgets now.
void tell_of_prices(const privacy::Audit& audit, const std::vector<Spent>& purses) {
  for (const privacy::PricedTooLow& low : audit.too_low)
    fmt::print("entry {} (data set '{}', run '{}') was charged epsilon {} and costs {} at delta {}\n", low.entry,
               printable(low.purse.data_set), printable(low.run), privacy::rounded_up(low.recorded, 6),
               std::isfinite(low.cost) ? fmt::format("{}", privacy::rounded_up(low.cost, 6)) : "more than any epsilon",
               low.delta);
  for (const Spent& spent : purses) {
    const bool concerned = std::any_of(audit.too_low.begin(), audit.too_low.end(),
                                       [&](const auto& low) { return low.purse == spent.purse; });
    if (concerned && spent.budget)
      fmt::print(
          "'{}' ({} unit, {} neighbours), counted by what plans cost: {}\n", printable(spent.purse.data_set),
          privacy::name(spent.purse.unit), privacy::name(spent.purse.neighbours),
          spent.overspent ? privacy::use_of_budget(spent) : privacy::use_of_budget(spent) + "; the budget holds");
  }
}

Json prices_in_json(const privacy::Audit& audit, const std::vector<Spent>& purses) {
  Json all = Json::array();
  for (const privacy::PricedTooLow& low : audit.too_low) {
    const auto spent =
        std::find_if(purses.begin(), purses.end(), [&](const Spent& one) { return one.purse == low.purse; });
    all.push_back({{"entry", low.entry},
                   {"data_set", low.purse.data_set},
                   {"run", low.run},
                   {"recorded_epsilon", low.recorded},
                   {"epsilon", std::isfinite(low.cost) ? Json(low.cost) : Json("infinity")},
                   {"delta", low.delta},
                   {"overspent", spent != purses.end() && spent->overspent}});
  }
  return all;
}

Result<int> verify(const LedgerOptions& options) {
  const std::string seen = seen_from(options);
  PARLEY_TRY(Ledger ledger, Ledger::open_read_only(options.directory, seen));
  PARLEY_TRY(const privacy::Audit audit, ledger.audit());
  if (options.expected_head) {
    PARLEY_TRY(const std::string expected, a_head(*options.expected_head));
    PARLEY_TRY(const std::vector<privacy::Entry> entries, ledger.entries());
    bool there = expected == std::string(expected.size(), '0');  // the head before the first entry
    for (const privacy::Entry& entry : entries) there = there || entry.hash == expected;
    if (!there) return fail(failed("the chain is whole, but it does not contain the given head: it was rewritten"));
  }
  PARLEY_TRY(const std::vector<Spent> purses, ledger.purses());
  if (options.json) {
    fmt::print("{}\n", dumped(Json{{"whole", true},
                                   {"entries", audit.entries},
                                   {"head", audit.head},
                                   {"compared_with", seen.empty() ? Json(nullptr) : Json(seen)},
                                   {"priced_too_low", prices_in_json(audit, purses)}}));
  } else {
    fmt::print("{}, every link holds.\nhead {}\n", counted(audit.entries, "entry", "entries"), audit.head);
    if (!seen.empty()) fmt::print("Nothing that {} has seen is missing.\n", seen);
    fmt::print("(Keep the head elsewhere: a later `verify --head` then also notices a rewritten chain.)\n");
    tell_of_prices(audit, purses);
  }
  if (audit.too_low.empty()) return 0;
  return fail(
      failed(fmt::format("ledger {}: {} priced too low by an earlier version, or forged; what it costs is what counts",
                         options.directory, audit.too_low.size() == 1 ? "a plan was" : "plans were")));
}

Result<int> set_budget(const LedgerOptions& options) {
  privacy::Purse purse{options.data_set};
  if (options.unit == "tuple") purse.unit = privacy::Unit::kTuple;
  if (options.unit == "entity") purse.unit = privacy::Unit::kEntity;
  if (options.unit == "label") purse.unit = privacy::Unit::kLabel;
  if (options.unit == "client") purse.unit = privacy::Unit::kClient;
  if (options.neighbours == "add-remove") purse.neighbours = privacy::Neighbours::kAddRemove;
  PARLEY_TRY(const privacy::Epsilon epsilon, privacy::Epsilon::make(options.epsilon));
  PARLEY_TRY(const privacy::Delta delta, privacy::Delta::make(options.delta));
  PARLEY_TRY(Ledger ledger, Ledger::open(options.directory));
  const auto composition = options.composition == "steps" ? privacy::Composition::kSteps : privacy::Composition::kPlans;
  PARLEY_CHECK(ledger.set_budget(purse, {epsilon, delta, composition}));
  PARLEY_TRY(const Spent spent, ledger.spent(purse));
  PARLEY_TRY(const std::vector<Spent> purses, ledger.purses());
  if (options.json)
    fmt::print("{}\n", dumped(to_json(spent)));
  else
    fmt::print("{} ({} unit, {} neighbours)\n    {}\n", printable(purse.data_set), privacy::name(purse.unit),
               privacy::name(purse.neighbours), sentence(spent, charged_elsewhere(spent, purses)));
  return 0;
}

}  // namespace

void add_ledger(CLI::App& app, Exit& exit) {
  auto options = std::make_shared<LedgerOptions>();
  CLI::App* verb = app.add_subcommand("ledger", "Show, check and set a site's privacy budgets");
  verb->require_subcommand(1);
  verb->footer(
      "Examples:\n"
      "  parley ledger budget site/ledger --data-set patients --epsilon 2 --delta 1e-6\n"
      "  parley ledger show site/ledger --entries");

  CLI::App* show_verb = verb->add_subcommand("show", "Show the budgets and what was spent of them, over all runs");
  show_verb->add_option("directory", options->directory, "Folder of the ledger")->required();
  show_verb->add_flag("--entries", options->entries, "List every entry");
  show_verb->add_flag("--json", options->json, "Print JSON on stdout and nothing else");
  show_verb->footer("Example:\n  parley ledger show site/ledger --entries");
  show_verb->callback([options, &exit] { exit.finish(show(*options)); });

  CLI::App* verify_verb = verb->add_subcommand(
      "verify", "Check every link of the chain, that no newer copy was seen, and what every plan costs");
  verify_verb->add_option("directory", options->directory, "Folder of the ledger")->required();
  verify_verb->add_option("--head", options->expected_head, "A head that was printed earlier and must be in the chain");
  verify_verb->add_option(
      "--state", options->state,
      "State folder of the site whose ledger this is; its ledger.head must be in the chain (default: the folder that "
      "the ledger lies in, if it has one)");
  verify_verb->add_flag("--json", options->json, "Print JSON on stdout and nothing else");
  verify_verb->footer(
      "Example:\n  parley ledger verify site/ledger\n\n"
      "The exit code is 1 when a link does not hold, when this is an older copy, or when an earlier version charged a "
      "plan less than it costs.");
  verify_verb->callback([options, &exit] { exit.finish(verify(*options)); });

  CLI::App* budget_verb = verb->add_subcommand("budget", "Set the budget of a data set");
  budget_verb->add_option("directory", options->directory, "Folder of the ledger; made if it is not there")->required();
  budget_verb->add_option("--data-set", options->data_set, "Name of the data set")->required();
  budget_verb->add_option("--epsilon", options->epsilon, "What all runs together may spend, above 0")->required();
  budget_verb->add_option("--delta", options->delta, "What all runs together may spend, between 0 and 1")->required();
  budget_verb->add_option("--unit", options->unit, "The unit: what is protected")
      ->check(CLI::IsMember({"record", "tuple", "entity", "label", "client"}));
  budget_verb->add_option("--neighbours", options->neighbours, "The relation: what counts as neighbours")
      ->check(CLI::IsMember({"replace-one", "add-remove"}));
  budget_verb
      ->add_option("--composition", options->composition,
                   "How charges add up: whole plans (what train charges), or single steps")
      ->check(CLI::IsMember({"plans", "steps"}));
  budget_verb->add_flag("--json", options->json, "Print JSON on stdout and nothing else");
  budget_verb->footer("Example:\n  parley ledger budget site/ledger --data-set patients --epsilon 2 --delta 1e-6");
  budget_verb->callback([options, &exit] { exit.finish(set_budget(*options)); });
}

}  // namespace parley::app
