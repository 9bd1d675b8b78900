#include "parley/data/labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <numeric>
#include <optional>
#include <span>

#include "parley/core/text.h"
#include "parley/data/number.h"

namespace parley::data {

namespace {

// More classes than this are a sign of real labels.
constexpr std::size_t kMostClasses = 10000;

std::optional<double> as_number(std::string_view text) {
  const ParsedNumber parsed = parse_number(text.data(), text.data() + text.size());
  if (parsed.error != NumberError::kNone || parsed.end != text.data() + text.size()) return std::nullopt;
  return parsed.value;
}

std::string shown(std::span<const std::string> names) {
  constexpr std::size_t kShown = 5;
  std::string text;
  for (std::size_t k = 0; k < std::min(names.size(), kShown); ++k)
    text += (k == 0 ? "" : ", ") + printable(names[k], 40);
  return names.size() > kShown ? text + ", ..." : text;
}

// Numbers become positions in a list of their distinct values.
Result<RawLabels> named(std::vector<double> values, const Place& place) {
  std::vector<double> distinct;
  for (const double v : values) {
    const auto at = std::lower_bound(distinct.begin(), distinct.end(), v);
    if (at != distinct.end() && *at == v) continue;
    distinct.insert(at, v);
    if (distinct.size() > kMostClasses)
      return fail(bad_input(
          place,
          fmt::format("more than {} different labels; to predict numbers, use task = \"linear\"", kMostClasses)));
  }
  RawLabels raw;
  for (const double v : distinct) raw.names.push_back(class_name(v));
  for (double& v : values)
    v = static_cast<double>(std::lower_bound(distinct.begin(), distinct.end(), v) - distinct.begin());
  raw.values = std::move(values);
  return raw;
}

struct Assigned {
  std::vector<double> of_name;
  std::vector<std::string> classes;
  std::vector<std::string> notes;
};

bool contains(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

// What is not 1 has two spellings by convention.
bool is_negative(const std::string& name) {
  return name == "-1" || name == "0";
}

// Which number each class gets; `names` are in class order.
Result<Assigned> assign_fixed(const std::vector<std::string>& names, const LabelRules& rules) {
  Assigned result{{}, rules.classes, {}};
  std::vector<std::string> positive;
  for (const auto& name : rules.positive) positive.push_back(class_name(name));
  const bool one_against_rest = rules.kind == LabelKind::kBinary && !positive.empty();
  for (const auto& name : names) {
    const std::size_t at = find_class(rules.classes, name);
    const bool known = at < rules.classes.size();
    if (known && name != rules.classes[at])
      result.notes.push_back(
          fmt::format("labels: {} is called {} here; labels.classes can name the classes", name, rules.classes[at]));
    if (!known && !one_against_rest)
      return fail(bad_input(
          rules.place, fmt::format("a class that the training data do not have{}", suggestion(name, rules.classes)),
          name));
    if (rules.kind == LabelKind::kClasses)
      result.of_name.push_back(static_cast<double>(at));
    else if (one_against_rest)
      result.of_name.push_back(contains(positive, known ? rules.classes[at] : name) ? 1.0 : -1.0);
    else
      result.of_name.push_back(at == 1 ? 1.0 : -1.0);
  }
  return result;
}

Result<Assigned> assign_binary(const std::vector<std::string>& names, const LabelRules& rules) {
  Assigned result;
  if (rules.positive.empty()) {
    if (names.size() != 2)
      return fail(
          bad_input(rules.place, fmt::format("a binary task has two classes, these labels have {} ({}); name the "
                                             "positive class, or use task = \"softmax\"",
                                             names.size(), shown(names))));
    result.of_name = {-1.0, 1.0};
    result.classes = names;
    return result;
  }
  std::vector<std::string> positive;
  for (const auto& name : rules.positive) {
    positive.push_back(class_name(name));
    if (!contains(names, positive.back()))
      return fail(bad_input(rules.place,
                            fmt::format("no row has the positive class{}", suggestion(positive.back(), names)), name));
  }
  std::vector<std::string> rest;
  for (const auto& name : names) {
    const bool is_positive = contains(positive, name);
    result.of_name.push_back(is_positive ? 1.0 : -1.0);
    if (!is_positive) rest.push_back(name);
  }
  if (rest.empty()) return fail(bad_input(rules.place, "every class is named positive", shown(positive)));
  result.classes = {rest.size() == 1 ? rest[0] : fmt::format("not {}", fmt::join(positive, ", ")),
                    fmt::format("{}", fmt::join(positive, ", "))};
  if (rest.size() > 1)
    result.notes.push_back(
        fmt::format("labels: {} is +1, the other {} classes are -1", result.classes[1], rest.size()));
  return result;
}

}  // namespace

std::vector<std::size_t> level_order(const std::vector<std::string>& names) {
  std::vector<std::optional<double>> numbers;
  numbers.reserve(names.size());
  for (const auto& name : names) numbers.push_back(as_number(name));
  const bool numeric = std::all_of(numbers.begin(), numbers.end(), [](const auto& n) { return n.has_value(); });
  std::vector<std::size_t> order(names.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return numeric ? *numbers[a] < *numbers[b] : names[a] < names[b]; });
  return order;
}

std::string class_name(double label) {
  return label == 0 ? "0" : fmt::format("{}", label);
}

std::string class_name(std::string_view label) {
  const auto number = as_number(label);
  return number ? class_name(*number) : std::string(label);
}

std::size_t find_class(const std::vector<std::string>& classes, const std::string& name) {
  const auto at = std::find(classes.begin(), classes.end(), name);
  if (at != classes.end() || classes.size() != 2 || !is_negative(name) || !contains(classes, "1"))
    return static_cast<std::size_t>(at - classes.begin());
  return static_cast<std::size_t>(std::find_if(classes.begin(), classes.end(), is_negative) - classes.begin());
}

std::size_t move_to_bounds(std::vector<double>& values, double lower, double upper, Labels& labels) {
  const auto is_beyond = [&](double y) { return y < lower || y > upper; };
  const auto beyond = static_cast<std::size_t>(std::count_if(values.begin(), values.end(), is_beyond));
  if (beyond == 0) return 0;
  labels.as_read = values;
  for (double& y : values) y = std::clamp(y, lower, upper);
  return beyond;
}

namespace {

// The classes of a binary label without a list: 1 and what is not, by convention. Nothing of the data decides what they
// are called; empty where a label or the positive class is none of them.
std::vector<std::string> conventional_pair(const std::vector<std::string>& names, const LabelRules& rules) {
  const auto is_conventional = [](const std::string& name) { return name == "1" || is_negative(name); };
  if (!std::all_of(names.begin(), names.end(), is_conventional) || rules.positive.size() > 1) return {};
  if (rules.positive.empty() || class_name(rules.positive[0]) == "1") return {rules.negative, "1"};
  return is_negative(class_name(rules.positive[0])) ? std::vector<std::string>{"1", rules.negative}
                                                    : std::vector<std::string>{};
}

}  // namespace

Result<LabelsAndNotes> make_labels(RawLabels raw, const LabelRules& asked) {
  LabelRules rules = asked;
  LabelsAndNotes result;
  if (rules.kind == LabelKind::kReal) {
    assert(raw.names.empty());
    result.labels.values = std::move(raw.values);
    return result;
  }
  if (raw.names.empty()) {
    PARLEY_TRY(raw, named(std::move(raw.values), rules.place));
  }
  const std::vector<std::size_t> order = level_order(raw.names);
  std::vector<std::string> names;
  names.reserve(order.size());
  for (const std::size_t at : order) names.push_back(raw.names[at]);
  if (rules.absent_classes && rules.classes.empty() && rules.kind == LabelKind::kBinary) {
    rules.classes = conventional_pair(names, rules);
    if (!rules.classes.empty()) rules.positive.clear();  // it is the second of the pair
  }
  Assigned assigned;
  if (!rules.classes.empty()) {
    PARLEY_TRY(assigned, assign_fixed(names, rules));
  } else if (names.size() == 1 && rules.kind == LabelKind::kBinary) {
    return fail(bad_input(rules.place, "one class only: there is nothing to tell apart", names[0]));
  } else if (rules.kind == LabelKind::kBinary) {
    PARLEY_TRY(assigned, assign_binary(names, rules));
  } else {
    assigned.classes = names;
    for (std::size_t k = 0; k < names.size(); ++k) assigned.of_name.push_back(static_cast<double>(k));
  }
  std::vector<double> value_of(raw.names.size());
  for (std::size_t k = 0; k < order.size(); ++k) value_of[order[k]] = assigned.of_name[k];
  for (double& v : raw.values) v = value_of[static_cast<std::size_t>(v)];
  result.labels = {std::move(raw.values), std::move(assigned.classes)};
  result.notes = std::move(assigned.notes);
  return result;
}

}  // namespace parley::data
