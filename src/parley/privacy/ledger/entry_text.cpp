#include "parley/privacy/ledger/entry_text.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "parley/core/text.h"
#include "parley/privacy/accounting/accountant.h"
#include "parley/privacy/ledger/digest.h"

namespace parley::privacy {

// Every field with its length in front, so that no two entries have the same bytes.
std::string linked(const std::string& previous, const Entry& entry) {
  std::string bytes;
  for (const std::string& part : {previous, std::to_string(entry.number), std::to_string(entry.time), entry.kind,
                                  entry.purse.data_set, std::string(name(entry.purse.unit)),
                                  std::string(name(entry.purse.neighbours)), entry.run, entry.key, entry.content})
    bytes += fmt::format("{}:{}", part.size(), part);
  return digest_of(bytes);
}

std::optional<Unit> unit_named(std::string_view text) {
  for (const Unit unit : {Unit::kRecord, Unit::kTuple, Unit::kEntity, Unit::kLabel, Unit::kClient})
    if (name(unit) == text) return unit;
  return std::nullopt;
}

std::optional<Neighbours> neighbours_named(std::string_view text) {
  for (const Neighbours neighbours : {Neighbours::kReplaceOne, Neighbours::kAddRemove})
    if (name(neighbours) == text) return neighbours;
  return std::nullopt;
}

std::string to_json(const Budget& budget) {
  return nlohmann::json{
      {"epsilon", budget.epsilon.value()}, {"delta", budget.delta.value()}, {"composition", name(budget.composition)}}
      .dump();
}

Result<Budget> parse_budget(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("epsilon") || !json.contains("delta") || !json["epsilon"].is_number() ||
      !json["delta"].is_number())
    return fail(failed("not a budget: " + printable(text)));
  PARLEY_TRY(const Epsilon epsilon, Epsilon::make(json["epsilon"].get<double>()));
  PARLEY_TRY(const Delta delta, Delta::make(json["delta"].get<double>()));
  Budget budget{epsilon, delta};
  if (!json.contains("composition") || json["composition"] == name(Composition::kSteps)) return budget;
  if (json["composition"] != name(Composition::kPlans)) return fail(failed("not a budget: " + printable(text)));
  budget.composition = Composition::kPlans;
  return budget;
}

std::string to_json(const ChargedPlan& charged, std::int64_t steps, std::int64_t wanted) {
  auto json = nlohmann::json::parse(privacy::to_json(charged.plan));
  json.update({{"epsilon", charged.price.epsilon}, {"delta", charged.price.delta}, {"steps", steps}, {"of", wanted}});
  if (charged.pricing > 1) json["pricing"] = charged.pricing;
  return json.dump();
}

Result<ChargedPlan> parse_charged_plan(const std::string& text) {
  auto json = nlohmann::json::parse(text, nullptr, false);
  const auto not_negative = [&](const char* key) {
    return json.contains(key) && json[key].is_number() && json[key].get<double>() >= 0;
  };
  if (!json.is_object() || !not_negative("epsilon") || !not_negative("delta") || !not_negative("steps") ||
      !not_negative("of"))
    return fail(failed("not a charged plan: " + printable(text)));
  ChargedPlan charged;
  charged.price = {json["epsilon"].get<double>(), json["delta"].get<double>()};
  charged.steps = json["steps"].get<std::int64_t>();
  charged.pricing = 1;
  if (json.contains("pricing")) {
    if (!json["pricing"].is_number_integer()) return fail(failed("not a charged plan: " + printable(text)));
    charged.pricing = json["pricing"].get<std::int64_t>();
  }
  for (const char* key : {"epsilon", "delta", "steps", "of", "pricing"}) json.erase(key);
  PARLEY_TRY(charged.plan, parse_plan(json.dump(), "plan"));
  return charged;
}

Price price_in(const ChargedPlan& charged) {
  if (charged.price.epsilon > 0 || charged.price.delta > 0 || charged.plan.events.empty()) return charged.price;
  return {pure_epsilon(charged.plan).value_or(std::numeric_limits<double>::infinity()), 0};
}

}  // namespace parley::privacy
