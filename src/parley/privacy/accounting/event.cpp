#include "parley/privacy/accounting/event.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>
#include <type_traits>
#include <utility>

#include "parley/core/text.h"

namespace parley::privacy {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kLeastCost = 1e-15, kLargestCost = 1e9;
constexpr int kDeepest = 16;  // nesting of JSON

enum class Rule { kPositive, kRate, kProbability };

template <class M>
struct Field {
  const char* key;
  double M::*value;
  Rule rule;
};

// One line per mechanism: its name and its fields. Reading, writing and checking all follow this table.
template <class M>
struct Describe;

template <>
struct Describe<Gaussian> {
  static constexpr const char* kName = "gaussian";
  static constexpr std::array<Field<Gaussian>, 2> kFields{
      {{"sigma", &Gaussian::sigma, Rule::kPositive}, {"sensitivity", &Gaussian::sensitivity, Rule::kPositive}}};
};
template <>
struct Describe<Laplace> {
  static constexpr const char* kName = "laplace";
  static constexpr std::array<Field<Laplace>, 2> kFields{
      {{"scale", &Laplace::scale, Rule::kPositive}, {"sensitivity", &Laplace::sensitivity, Rule::kPositive}}};
};
template <>
struct Describe<DiscreteGaussian> {
  static constexpr const char* kName = "discrete-gaussian";
  static constexpr std::array<Field<DiscreteGaussian>, 2> kFields{
      {{"sigma", &DiscreteGaussian::sigma, Rule::kPositive},
       {"sensitivity", &DiscreteGaussian::sensitivity, Rule::kPositive}}};
};
template <>
struct Describe<DiscreteLaplace> {
  static constexpr const char* kName = "discrete-laplace";
  static constexpr std::array<Field<DiscreteLaplace>, 2> kFields{
      {{"scale", &DiscreteLaplace::scale, Rule::kPositive},
       {"sensitivity", &DiscreteLaplace::sensitivity, Rule::kPositive}}};
};
template <>
struct Describe<Exponential> {
  static constexpr const char* kName = "exponential";
  static constexpr std::array<Field<Exponential>, 1> kFields{{{"epsilon", &Exponential::epsilon, Rule::kPositive}}};
};
template <>
struct Describe<Pure> {
  static constexpr const char* kName = "pure";
  static constexpr std::array<Field<Pure>, 1> kFields{{{"epsilon", &Pure::epsilon, Rule::kPositive}}};
};
template <>
struct Describe<ApproxDp> {
  static constexpr const char* kName = "approximate";
  static constexpr std::array<Field<ApproxDp>, 2> kFields{
      {{"epsilon", &ApproxDp::epsilon, Rule::kPositive}, {"delta", &ApproxDp::delta, Rule::kProbability}}};
};
template <>
struct Describe<Zcdp> {
  static constexpr const char* kName = "zcdp";
  static constexpr std::array<Field<Zcdp>, 1> kFields{{{"rho", &Zcdp::rho, Rule::kPositive}}};
};
template <>
struct Describe<SubsampledGaussian> {
  static constexpr const char* kName = "subsampled-gaussian";
  static constexpr std::array<Field<SubsampledGaussian>, 2> kFields{
      {{"noise_multiplier", &SubsampledGaussian::noise_multiplier, Rule::kPositive},
       {"sampling_rate", &SubsampledGaussian::sampling_rate, Rule::kRate}}};
};
template <>
struct Describe<Unprotected> {
  static constexpr const char* kName = "unprotected";
  static constexpr std::array<Field<Unprotected>, 0> kFields{};
};

template <class M>
concept HasDimensions = requires(M m) {
  m.dimensions;
};

Result<void> check(double value, Rule rule, const std::string& field) {
  const auto refuse = [&](const char* text) {
    return fail(bad_input({.field = field}, text, fmt::format("{}", value)));
  };
  switch (rule) {
    case Rule::kPositive:
      if (!(value > 0) || !std::isfinite(value)) return refuse("must be a finite number above 0");
      break;
    case Rule::kRate:
      if (!(value > 0) || !(value <= 1)) return refuse("must lie above 0 and at most 1");
      if (value < 1e-12) return refuse("must be at least 1e-12");
      break;
    case Rule::kProbability:
      if (!(value > 0) || !(value < 1)) return refuse("must lie strictly between 0 and 1");
      break;
  }
  return {};
}

// What one step costs, on the scale of its loss: sensitivity over noise, epsilon, or sqrt(rho).
template <class M>
double cost_of(const M& m) {
  if constexpr (requires { m.sensitivity / m.sigma; }) return m.sensitivity / m.sigma;
  if constexpr (requires { m.sensitivity / m.scale; }) return m.sensitivity / m.scale;
  if constexpr (requires { m.epsilon; }) return m.epsilon;
  if constexpr (requires { m.rho; }) return std::sqrt(m.rho);
  if constexpr (requires { m.noise_multiplier; }) return 1 / m.noise_multiplier;
  return 1;
}

// Where the accountants were checked: beyond, squares leave the range of a double and an answer could come out too low.
Result<void> check_cost(double cost, const std::string& field) {
  if (cost >= kLeastCost && cost <= kLargestCost) return {};
  return fail(
      bad_input({.field = field},
                fmt::format("sensitivity / noise, epsilon or sqrt(rho) of a step must lie between {:g} and {:g}",
                            kLeastCost, kLargestCost),
                fmt::format("{:g}", cost)));
}

Result<void> check_count(std::int64_t count, const std::string& field) {
  if (count < 1 || count > kMaxCount)
    return fail(bad_input({.field = field}, fmt::format("must be a whole number from 1 to {}", kMaxCount),
                          fmt::format("{}", count)));
  return {};
}

template <class Visit, std::size_t... I>
void each_alternative(const Visit& visit, std::index_sequence<I...>) {
  (visit(std::variant_alternative_t<I, Mechanism>{}), ...);
}

template <class Visit>
void each_alternative(const Visit& visit) {
  each_alternative(visit, std::make_index_sequence<std::variant_size_v<Mechanism>>{});
}

std::string shown(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<double> number(const Json& object, const char* key, const Place& place) {
  const auto found = object.find(key);
  if (found == object.end()) return fail(bad_input(place, "is required"));
  if (!found->is_number()) return fail(bad_input(place, "must be a number", shown(*found)));
  return found->get<double>();
}

// Whole numbers may be written 3 or 3.0; anything that does not fit is refused, never wrapped.
Result<std::int64_t> whole(const Json& object, const char* key, const Place& place) {
  const auto found = object.find(key);
  if (found == object.end()) return std::int64_t{1};
  const std::string rule = fmt::format("must be a whole number from 1 to {}", kMaxCount);
  if (!found->is_number()) return fail(bad_input(place, rule, shown(*found)));
  const double value = found->get<double>();
  if (!(value >= 1) || !(value <= static_cast<double>(kMaxCount)) || value != std::floor(value))
    return fail(bad_input(place, rule, shown(*found)));
  return static_cast<std::int64_t>(value);
}

Result<void> only_keys(const Json& object, std::span<const std::string> legal, const Place& place) {
  for (const auto& [key, value] : object.items()) {
    bool known = false;
    for (const std::string& word : legal) known = known || word == key;
    if (!known) {
      const std::string field = place.field.empty() ? printable(key, 60) : place.field + "." + printable(key, 60);
      return fail(bad_input({.file = place.file, .field = field}, "unknown key" + suggestion(key, legal)));
    }
  }
  return {};
}

Result<Event> read_event(const Json& object, const Place& place) {
  if (!object.is_object()) return fail(bad_input(place, "must be an object", shown(object)));
  const auto at = [&](std::string_view key) {
    return Place{.file = place.file, .field = fmt::format("{}.{}", place.field, key)};
  };
  const auto kind = object.find("mechanism");
  if (kind == object.end()) return fail(bad_input(at("mechanism"), "is required"));
  if (!kind->is_string()) return fail(bad_input(at("mechanism"), "must be a text", shown(*kind)));
  const auto word = kind->get<std::string>();

  std::vector<std::string> names;
  Result<Event> answer = fail(Error{});
  bool found = false;
  each_alternative([&]<class M>(M mechanism) {
    names.emplace_back(Describe<M>::kName);
    if (word != Describe<M>::kName) return;
    found = true;
    answer = [&]() -> Result<Event> {
      std::vector<std::string> legal{"mechanism", "count"};
      for (const auto& field : Describe<M>::kFields) legal.emplace_back(field.key);
      if constexpr (HasDimensions<M>) legal.emplace_back("dimensions");
      PARLEY_CHECK(only_keys(object, legal, place));
      for (const auto& field : Describe<M>::kFields) {
        PARLEY_TRY(mechanism.*(field.value), number(object, field.key, at(field.key)));
      }
      if constexpr (HasDimensions<M>) {
        PARLEY_TRY(mechanism.dimensions, whole(object, "dimensions", at("dimensions")));
      }
      Event event{.mechanism = mechanism};
      PARLEY_TRY(event.count, whole(object, "count", at("count")));
      if (auto status = validate(event, place.field); !status) {
        Error error = std::move(status).error();
        if (!place.file.empty()) error.message = place.file + ": " + error.message;
        return fail(std::move(error));
      }
      return event;
    }();
  });
  if (!found) return fail(bad_input(at("mechanism"), "unknown mechanism" + suggestion(word, names), word));
  return answer;
}

Result<Json> read_json(std::string_view text, std::string_view file) {
  struct TooDeep {};
  try {
    return Json::parse(text, [](int depth, Json::parse_event_t, Json&) {
      if (depth > kDeepest) throw TooDeep{};
      return true;
    });
  } catch (const TooDeep&) {
    return fail(bad_input({.file = std::string(file)}, fmt::format("is nested more than {} deep", kDeepest)));
  } catch (const Json::out_of_range&) {
    return fail(bad_input({.file = std::string(file)}, "holds a number beyond the range of a double"));
  } catch (const Json::parse_error& error) {
    const std::size_t end = std::min(text.size(), error.byte);
    std::size_t line = 1;
    for (std::size_t i = 0; i + 1 < end; ++i) line += text[i] == '\n';
    return fail(bad_input({.file = std::string(file), .line = line}, "is not valid JSON"));
  }
}

Json write_event(const Event& event) {
  Json object;
  std::visit(
      [&]<class M>(const M& mechanism) {
        object["mechanism"] = Describe<M>::kName;
        for (const auto& field : Describe<M>::kFields) object[field.key] = mechanism.*(field.value);
        if constexpr (HasDimensions<M>) {
          if (mechanism.dimensions != 1) object["dimensions"] = mechanism.dimensions;
        }
      },
      event.mechanism);
  object["count"] = event.count;
  return object;
}

}  // namespace

std::string_view name(const Mechanism& mechanism) {
  return std::visit([]<class M>(const M&) -> std::string_view { return Describe<M>::kName; }, mechanism);
}

Result<void> validate(const Mechanism& mechanism, std::string_view field) {
  return std::visit(
      [&]<class M>(const M& m) -> Result<void> {
        for (const auto& entry : Describe<M>::kFields)
          PARLEY_CHECK(check(m.*(entry.value), entry.rule, fmt::format("{}.{}", field, entry.key)));
        PARLEY_CHECK(check_cost(cost_of(m), std::string(field)));
        if constexpr (HasDimensions<M>) PARLEY_CHECK(check_count(m.dimensions, fmt::format("{}.dimensions", field)));
        return {};
      },
      mechanism);
}

Result<void> validate(const Event& event, std::string_view field) {
  PARLEY_CHECK(validate(event.mechanism, field));
  return check_count(event.count, fmt::format("{}.count", field));
}

Result<void> validate(const Plan& plan) {
  std::int64_t total = 0;
  for (std::size_t i = 0; i < plan.events.size(); ++i) {
    PARLEY_CHECK(validate(plan.events[i], fmt::format("events[{}]", i)));
    total += plan.events[i].count;
    if (total > kMaxCount)
      return fail(bad_input({.field = fmt::format("events[{}].count", i)},
                            fmt::format("all counts together must not exceed {}", kMaxCount),
                            fmt::format("{}", plan.events[i].count)));
  }
  return {};
}

Result<Plan> parse_plan(std::string_view json, std::string_view file) {
  PARLEY_TRY(const Json root, read_json(json, file));
  const auto at = [&](std::string field) { return Place{.file = std::string(file), .field = std::move(field)}; };
  if (!root.is_object()) return fail(bad_input(at(""), "must hold one JSON object", shown(root)));
  const std::vector<std::string> legal{"neighbours", "events"};
  PARLEY_CHECK(only_keys(root, legal, at("")));

  Plan plan;
  const auto relation = root.find("neighbours");
  if (relation == root.end()) return fail(bad_input(at("neighbours"), "is required: replace-one or add-remove"));
  if (*relation == "replace-one") {
    plan.neighbours = Neighbours::kReplaceOne;
  } else if (*relation == "add-remove") {
    plan.neighbours = Neighbours::kAddRemove;
  } else {
    return fail(bad_input(at("neighbours"), "must be replace-one or add-remove", shown(*relation)));
  }
  const auto events = root.find("events");
  if (events == root.end()) return fail(bad_input(at("events"), "is required"));
  if (!events->is_array()) return fail(bad_input(at("events"), "must be a list", shown(*events)));
  for (std::size_t i = 0; i < events->size(); ++i) {
    PARLEY_TRY(Event event, read_event((*events)[i], at(fmt::format("events[{}]", i))));
    plan.events.push_back(event);
  }
  if (auto status = validate(plan); !status) {
    Error error = std::move(status).error();
    error.message = fmt::format("{}: {}", file, error.message);
    return fail(std::move(error));
  }
  return plan;
}

Result<Event> parse_event(std::string_view json) {
  PARLEY_TRY(const Json root, read_json(json, ""));
  return read_event(root, {.field = "event"});
}

std::string to_json(const Plan& plan) {
  Json root;
  root["neighbours"] = name(plan.neighbours);
  root["events"] = Json::array();
  for (const Event& event : plan.events) root["events"].push_back(write_event(event));
  return root.dump();
}

std::string to_json(const Event& event) {
  return write_event(event).dump();
}

}  // namespace parley::privacy
