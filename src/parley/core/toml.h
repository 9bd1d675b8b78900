// Reading TOML settings so that mistakes are found: every key is asked for by name and kind; a key
// that nobody asked for, a wrong type or a value outside its range is one error line with file,
// line, key, rule and value.
//
//   PARLEY_TRY(Toml toml, Toml::read(path));
//   Toml model = toml.table("model");
//   model.number("l1", job.l1, at_least(0));
//   model.choice("intercept", job.intercept, kIntercepts);
//   PARLEY_CHECK(toml.finish());          // the first mistake, unknown keys included
#pragma once
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parley/core/result.h"

namespace parley {

struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool open_low = false;  // low itself is not allowed

  [[nodiscard]] bool contains(double value) const;
  [[nodiscard]] std::string rule() const;  // "must be at least 0", ...
};
inline Range any_number() {
  return {};
}
inline Range at_least(double low) {
  return {.low = low};
}
inline Range above(double low) {
  return {.low = low, .open_low = true};
}
inline Range between(double low, double high) {
  return {.low = low, .high = high};
}

class Toml {
 public:
  static Result<Toml> read(const std::string& path);
  static Result<Toml> parse(std::string_view text, const std::string& file_name);

  // "section.key=value": the value is TOML; a bare word counts as a string. `party.NAME.key`
  // reaches into an array of tables by its name.
  Result<void> set(std::string_view assignment);

  // Tables and arrays of tables; absent ones read as empty.
  [[nodiscard]] Toml table(std::string_view key);
  [[nodiscard]] std::vector<Toml> tables(std::string_view key);
  [[nodiscard]] bool has(std::string_view key) const;
  [[nodiscard]] std::vector<std::string> keys() const;

  // Each leaves the target alone when the key is absent and returns whether it was there.
  bool number(std::string_view key, double& target, Range range = any_number());
  bool number(std::string_view key, std::optional<double>& target, Range range = any_number());
  bool integer(std::string_view key, std::int64_t& target, Range range = any_number());
  bool integer(std::string_view key, std::optional<std::int64_t>& target, Range range = any_number());
  bool integer(std::string_view key, int& target, Range range = any_number());
  bool boolean(std::string_view key, bool& target);
  bool text(std::string_view key, std::string& target);
  bool text(std::string_view key, std::optional<std::string>& target);
  bool texts(std::string_view key, std::vector<std::string>& target);
  bool numbers(std::string_view key, std::vector<double>& target);                    // [0.5, 0.5]
  bool number_lists(std::string_view key, std::vector<std::vector<double>>& target);  // [[1, 2], [3]]

  template <class Value>
  using Choices = std::vector<std::pair<std::string, Value>>;
  template <class Value>
  bool choice(std::string_view key, Value& target, const Choices<Value>& choices) {
    std::vector<std::string> names;
    for (const auto& [name, value] : choices) names.push_back(name);
    const int chosen = choose(key, names);
    if (chosen < 0) return false;
    target = choices[static_cast<std::size_t>(chosen)].second;
    return true;
  }

  // What kind of value a key holds, for keys that may hold several.
  enum class Kind { kAbsent, kBoolean, kInteger, kNumber, kText, kArray, kTable };
  [[nodiscard]] Kind kind(std::string_view key) const;

  // Records a mistake about a key of this table (the first one recorded wins).
  void reject(std::string_view key, std::string_view rule, std::string_view value = {});
  void require(std::string_view key);  // a mistake if the key is absent

  // The first mistake; else an error for the first key that nobody asked for.
  Result<void> finish();

 private:
  struct Document;
  Toml(std::shared_ptr<Document> document, const void* node, std::string path);
  int choose(std::string_view key, const std::vector<std::string>& names);
  [[nodiscard]] Place place(std::string_view key) const;

  std::shared_ptr<Document> document_;
  const void* node_ = nullptr;  // toml::table; null for an absent table
  std::string path_;            // "model", "party.2"
};

}  // namespace parley
