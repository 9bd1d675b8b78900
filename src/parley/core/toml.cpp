#include "parley/core/toml.h"

#define TOML_HEADER_ONLY 0
#include <fmt/format.h>
#include <toml++/toml.h>

#include <cmath>
#include <map>
#include <set>
#include <sstream>

#include "parley/core/files.h"
#include "parley/core/text.h"

namespace parley {

namespace {

const toml::table* as_table(const void* node) {
  return static_cast<const toml::table*>(node);
}

std::string shown(const toml::node& node) {
  std::ostringstream out;
  if (const auto* text = node.as_string())
    out << text->get();
  else
    node.visit([&](const auto& value) { out << value; });
  return out.str();
}

std::string joined(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : path + "." + std::string(key);
}

constexpr const char* kOverride = "--set";

// Where a value was written: a line of the file, or the command line.
Place place_of(const toml::node& node, const std::string& file, std::string field) {
  if (node.source().path && *node.source().path == kOverride) return {kOverride, 0, std::move(field)};
  return {file, node.source().begin.line, std::move(field)};
}

}  // namespace

bool Range::contains(double value) const {
  return std::isfinite(value) && value <= high && (open_low ? value > low : value >= low);
}

std::string Range::rule() const {
  const bool bounded_low = std::isfinite(low);
  const bool bounded_high = std::isfinite(high);
  if (bounded_low && bounded_high) return fmt::format("must lie between {} and {}", low, high);
  if (bounded_low) return fmt::format("must be {} {}", open_low ? "above" : "at least", low);
  if (bounded_high) return fmt::format("must be at most {}", high);
  return "must be a finite number";
}

struct Toml::Document {
  toml::table root;
  std::string file;
  std::optional<Error> first_mistake;
  std::map<const void*, std::set<std::string, std::less<>>> asked;  // per table, the keys asked for
  std::map<const void*, std::string> paths;                         // of the same tables
};

Toml::Toml(std::shared_ptr<Document> document, const void* node, std::string path)
    : document_(std::move(document)), node_(node), path_(std::move(path)) {
  if (node_ == nullptr) return;
  document_->asked[node_];
  document_->paths[node_] = path_;
}

Result<Toml> Toml::parse(std::string_view text, const std::string& file_name) {
  auto document = std::make_shared<Document>();
  document->file = file_name;
  try {
    document->root = toml::parse(text, file_name);
  } catch (const toml::parse_error& error) {
    return fail(
        bad_input({file_name, error.source().begin.line, ""}, "not valid TOML: " + printable(error.description())));
  }
  const void* root = &document->root;
  return Toml(std::move(document), root, "");
}

Result<Toml> Toml::read(const std::string& path) {
  PARLEY_TRY(const std::string text, read_whole(path, 16 << 20));  // settings are written by people
  return parse(text, path);
}

Result<void> Toml::set(std::string_view assignment) {
  const auto bad = [&](std::string_view rule) { return fail(bad_input({.field = "--set"}, rule, assignment)); };
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos || equals == 0) return bad("needs the form section.key=value");
  const std::string_view path = assignment.substr(0, equals);
  const std::string value(assignment.substr(equals + 1));
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t dot = std::min(path.find('.', begin), path.size());
    parts.emplace_back(path.substr(begin, dot - begin));
    if (parts.back().empty()) return bad("needs the form section.key=value");
    begin = dot + 1;
  }

  toml::table* table = &document_->root;
  for (std::size_t p = 0; p + 1 < parts.size(); ++p) {
    toml::node* next = table->get(parts[p]);
    if (next == nullptr) {  // parsed, so that it too knows where it was written
      toml::table made = toml::parse("section = {}", std::string_view(kOverride));
      next = &table->insert_or_assign(parts[p], std::move(*made.get("section"))).first->second;
    }
    if (auto* list = next->as_array()) {  // party.NAME.key
      if (p + 2 >= parts.size()) return bad("an array of tables needs a name: party.NAME.key");
      toml::table* named = nullptr;
      for (auto& element : *list) {
        auto* candidate = element.as_table();
        if (candidate != nullptr && (*candidate)["name"].value_or(std::string{}) == parts[p + 1]) named = candidate;
      }
      if (named == nullptr) return bad(fmt::format("no [[{}]] is named '{}'", parts[p], parts[p + 1]));
      table = named;
      ++p;
      continue;
    }
    if (!next->is_table()) return bad(fmt::format("'{}' is a value, not a section", parts[p]));
    table = next->as_table();
  }
  try {
    toml::table parsed = toml::parse("value = " + value, std::string_view(kOverride));
    if (parsed.size() != 1) return bad("holds more than one value");
    table->insert_or_assign(parts.back(), std::move(*parsed.get("value")));
  } catch (const toml::parse_error&) {
    // A bare word. Read as quoted text, so that it too knows where it was written.
    std::string quoted;
    for (const char c : value) {
      if (c == '\\' || c == '"') quoted += '\\';
      quoted += c;
    }
    toml::parse_result text = [&]() -> toml::table {
      try {
        return toml::parse("value = \"" + quoted + "\"", std::string_view(kOverride));
      } catch (const toml::parse_error&) {
        return {};
      }
    }();
    if (text.get("value") == nullptr) return bad("holds characters that TOML does not allow");
    table->insert_or_assign(parts.back(), std::move(*text.get("value")));
  }
  return {};
}

Toml Toml::table(std::string_view key) {
  if (node_ == nullptr) return Toml(document_, nullptr, joined(path_, key));
  document_->asked[node_].emplace(key);
  const toml::node* node = as_table(node_)->get(key);
  if (node != nullptr && !node->is_table()) {
    reject(key, "must be a section: [" + joined(path_, key) + "]");
    node = nullptr;
  }
  return Toml(document_, node != nullptr ? node->as_table() : nullptr, joined(path_, key));
}

std::vector<Toml> Toml::tables(std::string_view key) {
  std::vector<Toml> found;
  if (node_ == nullptr) return found;
  document_->asked[node_].emplace(key);
  const toml::node* node = as_table(node_)->get(key);
  if (node == nullptr) return found;
  const toml::array* list = node->as_array();
  if (list == nullptr) {
    reject(key, "must be a list of sections: [[" + joined(path_, key) + "]]");
    return found;
  }
  std::size_t number = 0;
  for (const auto& element : *list) {
    ++number;
    if (!element.is_table()) {
      reject(key, "must be a list of sections: [[" + joined(path_, key) + "]]");
      return found;
    }
    found.push_back(Toml(document_, element.as_table(), fmt::format("{}.{}", joined(path_, key), number)));
  }
  return found;
}

bool Toml::has(std::string_view key) const {
  if (node_ == nullptr) return false;
  document_->asked[node_].emplace(key);
  return as_table(node_)->contains(key);
}

std::vector<std::string> Toml::keys() const {
  std::vector<std::string> names;
  if (node_ != nullptr)
    for (const auto& [key, value] : *as_table(node_)) names.emplace_back(key.str());
  return names;
}

Toml::Kind Toml::kind(std::string_view key) const {
  const toml::node* node = node_ == nullptr ? nullptr : as_table(node_)->get(key);
  if (node == nullptr) return Kind::kAbsent;
  if (node->is_boolean()) return Kind::kBoolean;
  if (node->is_integer()) return Kind::kInteger;
  if (node->is_floating_point()) return Kind::kNumber;
  if (node->is_array()) return Kind::kArray;
  if (node->is_table()) return Kind::kTable;
  return Kind::kText;
}

namespace {

const toml::node* find(const void* table, std::string_view key) {
  return table == nullptr ? nullptr : as_table(table)->get(key);
}

}  // namespace

#define PARLEY_FIND_KEY(key)                                  \
  if (node_ != nullptr) document_->asked[node_].emplace(key); \
  const toml::node* node = find(node_, key);                  \
  if (node == nullptr) return false

bool Toml::number(std::string_view key, double& target, Range range) {
  PARLEY_FIND_KEY(key);
  const auto value = node->is_number() ? node->value<double>() : std::nullopt;
  if (!value) return reject(key, "must be a number", shown(*node)), false;
  if (!range.contains(*value)) return reject(key, range.rule(), shown(*node)), false;
  target = *value;
  return true;
}

bool Toml::number(std::string_view key, std::optional<double>& target, Range range) {
  double value = 0;
  if (!number(key, value, range)) return false;
  target = value;
  return true;
}

bool Toml::integer(std::string_view key, std::int64_t& target, Range range) {
  PARLEY_FIND_KEY(key);
  if (!node->is_integer()) return reject(key, "must be a whole number", shown(*node)), false;
  const std::int64_t value = node->as_integer()->get();
  if (!range.contains(static_cast<double>(value))) return reject(key, range.rule(), shown(*node)), false;
  target = value;
  return true;
}

bool Toml::integer(std::string_view key, std::optional<std::int64_t>& target, Range range) {
  std::int64_t value = 0;
  if (!integer(key, value, range)) return false;
  target = value;
  return true;
}

bool Toml::integer(std::string_view key, int& target, Range range) {
  std::int64_t value = 0;
  range.high = std::min<double>(range.high, std::numeric_limits<int>::max());
  range.low = std::max<double>(range.low, std::numeric_limits<int>::min());
  if (!integer(key, value, range)) return false;
  target = static_cast<int>(value);
  return true;
}

bool Toml::boolean(std::string_view key, bool& target) {
  PARLEY_FIND_KEY(key);
  if (!node->is_boolean()) return reject(key, "must be true or false", shown(*node)), false;
  target = node->as_boolean()->get();
  return true;
}

bool Toml::text(std::string_view key, std::string& target) {
  PARLEY_FIND_KEY(key);
  if (!node->is_string()) return reject(key, "must be text in quotes", shown(*node)), false;
  target = node->as_string()->get();
  return true;
}

bool Toml::text(std::string_view key, std::optional<std::string>& target) {
  std::string value;
  if (!text(key, value)) return false;
  target = std::move(value);
  return true;
}

bool Toml::texts(std::string_view key, std::vector<std::string>& target) {
  PARLEY_FIND_KEY(key);
  const toml::array* list = node->as_array();
  std::vector<std::string> values;
  if (list != nullptr)
    for (const auto& element : *list) {
      if (!element.is_string()) {
        list = nullptr;
        break;
      }
      values.push_back(element.as_string()->get());
    }
  if (list == nullptr) return reject(key, "must be a list of texts: [\"a\", \"b\"]", shown(*node)), false;
  target = std::move(values);
  return true;
}

namespace {

std::optional<std::vector<double>> numbers_in(const toml::array* list) {
  if (list == nullptr) return std::nullopt;
  std::vector<double> values;
  for (const auto& element : *list) {
    if (!element.is_number()) return std::nullopt;
    values.push_back(*element.value<double>());
  }
  return values;
}

}  // namespace

bool Toml::numbers(std::string_view key, std::vector<double>& target) {
  PARLEY_FIND_KEY(key);
  const auto values = numbers_in(node->as_array());
  if (!values) return reject(key, "must be a list of numbers: [0.5, 0.5]", shown(*node)), false;
  target = *values;
  return true;
}

bool Toml::number_lists(std::string_view key, std::vector<std::vector<double>>& target) {
  PARLEY_FIND_KEY(key);
  std::vector<std::vector<double>> lists;
  const toml::array* outer = node->as_array();
  if (outer != nullptr)
    for (const auto& element : *outer) {
      const auto values = numbers_in(element.as_array());
      if (!values) {
        outer = nullptr;
        break;
      }
      lists.push_back(*values);
    }
  if (outer == nullptr) return reject(key, "must be a list of lists of numbers: [[1, 2], [3]]", shown(*node)), false;
  target = std::move(lists);
  return true;
}

int Toml::choose(std::string_view key, const std::vector<std::string>& names) {
  if (node_ != nullptr) document_->asked[node_].emplace(key);
  const toml::node* node = find(node_, key);
  if (node == nullptr) return -1;
  const std::string value = node->is_string() ? node->as_string()->get() : std::string{};
  for (std::size_t i = 0; i < names.size(); ++i)
    if (node->is_string() && names[i] == value) return static_cast<int>(i);
  const std::string near = closest(value, names);
  reject(
      key,
      fmt::format("must be one of {}{}", fmt::join(names, ", "), near.empty() ? "" : "; did you mean '" + near + "'?"),
      shown(*node));
  return -1;
}

Place Toml::place(std::string_view key) const {
  if (const toml::node* node = find(node_, key); node != nullptr)
    return place_of(*node, document_->file, joined(path_, key));
  if (node_ != nullptr && as_table(node_) != &document_->root)
    return place_of(*as_table(node_), document_->file, joined(path_, key));
  return {document_->file, 0, joined(path_, key)};
}

void Toml::reject(std::string_view key, std::string_view rule, std::string_view value) {
  if (!document_->first_mistake) document_->first_mistake = bad_input(place(key), rule, value);
}

void Toml::require(std::string_view key) {
  if (!has(key)) reject(key, "is missing");
}

Result<void> Toml::finish() {
  // An unknown key is reported before other mistakes: a mistyped key is often why another is missing.
  std::optional<Place> unknown;
  std::string rule;
  for (const auto& [table, asked] : document_->asked) {
    const std::vector<std::string> known(asked.begin(), asked.end());
    for (const auto& [key, value] : *as_table(table)) {
      if (asked.contains(key.str())) continue;
      Place place = place_of(value, document_->file, joined(document_->paths[table], key.str()));
      if (unknown && place.line >= unknown->line) continue;
      unknown = std::move(place);
      rule = "unknown key" + suggestion(key.str(), known);
    }
  }
  if (unknown) return fail(bad_input(*unknown, rule));
  if (document_->first_mistake) return fail(*document_->first_mistake);
  return {};
}

}  // namespace parley
