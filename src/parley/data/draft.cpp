#include "parley/data/draft.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "parley/core/text.h"
#include "parley/data/conventions.h"
#include "parley/data/database_address.h"
#include "parley/data/job_draft.h"
#include "parley/data/labels.h"
#include "parley/data/number.h"
#include "parley/data/write.h"

namespace parley::data {

namespace {

// Whole-numbered labels of more values than this are quantities.
constexpr std::size_t kMostClasses = 20;
// Of fewer rows whole numbers without a gap may be chance; those that begin elsewhere than at 0 or 1 (years) are none.
constexpr std::size_t kLeastToNumber = 20;
// Fewer rows are all trained on.
constexpr std::size_t kLeastToHoldOut = 50;

bool is_number(ColumnType type) {
  return type == ColumnType::kNumber || type == ColumnType::kInteger || type == ColumnType::kDate;
}

// patient_id, PatientID, uuid: what somebody calls a number that names a record.
bool sounds_like_id(const std::string& name) {
  std::string lower = name;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  for (const char* word : {"id", "uuid", "guid", "index", "rownum", "row_number", "rownames"})
    if (lower == word) return true;
  for (const char* ending : {"_id", "-id", " id", ".id", "_uuid"})
    if (lower.ends_with(ending)) return true;
  return name.size() > 2 && (name.ends_with("Id") || name.ends_with("ID")) && name[name.size() - 3] >= 'a' &&
         name[name.size() - 3] <= 'z';
}

std::string named(const std::string& name) {
  return "'" + printable(name, 40) + "'";
}

// What names a record says nothing about others: the first such column is the table's id, others are left out.
void set_ids_apart(const Description& table, const std::string& label, Draft& draft) {
  bool has_id = std::any_of(draft.schema.columns.begin(), draft.schema.columns.end(),
                            [](const ColumnSchema& column) { return column.type == ColumnType::kId; });
  for (const ColumnSummary& summary : table.columns) {
    auto column = std::find_if(draft.schema.columns.begin(), draft.schema.columns.end(),
                               [&](const ColumnSchema& one) { return one.name == summary.name; });
    if (column == draft.schema.columns.end() || column->name == label || column->type == ColumnType::kId) continue;
    const bool named_so = sounds_like_id(column->name) && (summary.many_words || column->type == ColumnType::kInteger);
    const bool counts_rows = summary.numbers_rows && summary.smallest <= 1 && table.rows >= kLeastToNumber;
    if (!named_so && !counts_rows) continue;
    *column = {.name = column->name, .type = has_id || summary.missing > 0 ? ColumnType::kIgnore : ColumnType::kId};
    draft.notes.push_back(fmt::format("column {} {}: {}", named(column->name),
                                      counts_rows ? "numbers the rows" : "names records by its name",
                                      column->type == ColumnType::kId ? "taken for the id" : "left out"));
    has_id = true;
  }
}

void set_missing_rules(const Description& table, Draft& draft) {
  for (const ColumnSummary& summary : table.columns)
    for (ColumnSchema& column : draft.schema.columns)
      if (column.name == summary.name && is_number(column.type) && summary.missing > 0)
        column.missing = Missing::kIndicator;
}

void say_what_was_found(const Description& table, Draft& draft) {
  std::vector<std::string> dates, left_out;
  for (const ColumnSchema& column : draft.schema.columns) {
    if (column.type == ColumnType::kDate) dates.push_back(named(column.name));
    if (column.type == ColumnType::kIgnore) left_out.push_back(named(column.name));
    if (column.date_format == DateFormat::kMonthDayYear)
      draft.notes.push_back(
          fmt::format("column {}: days and months were told apart by guess; date_format says which "
                      "comes first",
                      named(column.name)));
  }
  if (!dates.empty()) draft.notes.push_back(fmt::format("dates become days since 1970: {}", fmt::join(dates, ", ")));
  if (!left_out.empty()) draft.notes.push_back(fmt::format("left out: {}", fmt::join(left_out, ", ")));
  for (const ColumnSummary& summary : table.columns)
    if (summary.constant)
      draft.notes.push_back(fmt::format("column {} has the same value in every row", named(summary.name)));
}

Error no_label(const Description& table) {
  std::vector<std::string> names;
  for (const ColumnSummary& column : table.columns) names.push_back(named(column.name));
  constexpr std::size_t kShown = 8;
  const bool more = names.size() > kShown;
  if (more) names.resize(kShown);
  return bad_input({table.file, 0, "--label"},
                   fmt::format("is missing: no column is named y, label, target or class; name the label, or give its "
                               "number from 1 or last; columns: {}{}",
                               fmt::join(names, ", "), more ? ", ..." : ""));
}

bool is_quantity(const std::string& task) {
  return task == "linear" || task == "poisson";
}

struct Guess {
  std::string task;
  std::string why;
};

// Words are classes; so are whole numbers of which there are few.
Guess guess_task(const ColumnSummary& label) {
  if (!label.levels.empty())
    return label.levels.size() == 2
               ? Guess{"logistic", fmt::format("the label is {} or {}", named(label.levels[0]), named(label.levels[1]))}
               : Guess{"softmax", fmt::format("the label has {} classes", label.levels.size())};
  const bool whole = std::all_of(label.values.begin(), label.values.end(),
                                 [](double value) { return value == std::nearbyint(value); });
  if (label.values.size() == 2)
    return {"logistic", fmt::format("the label is {} or {}", label.values[0], label.values[1])};
  if (!label.values.empty() && label.values.size() <= kMostClasses && whole)
    return {"softmax", fmt::format("the label has {} values, all whole numbers; --task linear if they are a quantity",
                                   label.values.size())};
  return {"linear", fmt::format("the label is a number from {:.6g} to {:.6g}", label.smallest, label.largest)};
}

Result<void> check_task(const Description& table, const ColumnSummary& label, const std::string& task) {
  const auto refuse = [&](const std::string& rule) { return fail(bad_input({table.file, 0, label.name}, rule, task)); };
  if (label.many_words) return refuse("is the label and has too many different words to be classes");
  if (label.constant) return refuse("is the label and has the same value in every row: there is nothing to learn");
  const std::size_t classes = std::max(label.levels.size(), label.values.size());
  if (is_quantity(task) && !label.levels.empty())
    return refuse("is the label and holds words: classes, not a quantity");
  if ((task == "logistic" || task == "squared-hinge") && classes != 2)
    return refuse(
        fmt::format("is the label, and a task with two classes has {} of them here; softmax has several, and "
                    "labels.positive of a job makes one against the rest",
                    classes == 0 ? "too many" : std::to_string(classes)));
  if (task == "softmax" && classes == 0) return refuse("is the label and has too many different values to be classes");
  return {};
}

void set_label(const ColumnSummary& label, const std::string& task, Schema& schema) {
  for (ColumnSchema& column : schema.columns) {
    if (column.type != ColumnType::kLabel) continue;
    if (is_quantity(task)) {
      column.levels.clear();
      return;
    }
    column.lower = column.upper = std::nullopt;
    if (column.levels.empty())
      for (const double value : label.values) column.levels.push_back(class_name(value));
    column.confirmed = false;
  }
}

std::string real(double value) {
  std::string text;
  append_number(text, value);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

std::string party_name(const std::string& file) {
  std::string name;
  for (const char c : without_packing(std::filesystem::path(file).filename().string())) {
    if (c == '.') break;
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_') name += c;
    if (c >= 'A' && c <= 'Z') name += static_cast<char>(c - 'A' + 'a');
  }
  const bool taken = name.empty() || name == "coordinator" || name == "ca";
  return taken ? "site" : name.substr(0, 64);
}

std::string job_text(const Description& table, const Draft& draft, const DraftRequest& request) {
  const bool is_private = request.epsilon.has_value();
  std::string out =
      "# Drafted from the table. The task was guessed; docs/job.md lists every key, schema.toml says what is known of\n"
      "# the columns.\n";
  out += fmt::format("[job]\ntask = {}\n", toml_string(draft.task));
  out += fmt::format("\n[model]\nintercept = {}\nl2 = 0.0001\n", is_private ? "\"penalised\"" : "true");
  out += fmt::format("\n[algorithm]\nname = {}\n", is_private ? "\"sgd\"" : "\"exact\"");
  out += "\n[data]\nscale = \"bounds\"\n";
  if (table.rows >= kLeastToHoldOut) out += "test_fraction = 0.2\n";
  if (is_private) out += fmt::format("\n[privacy]\nepsilon = {}\n", real(*request.epsilon));
  if (!draft.label.empty()) out += fmt::format("\n[labels]\ncolumn = {}\n", toml_string(draft.label));
  out += fmt::format("\n[[party]]\nname = {}\ndata = {}\nschema = \"schema.toml\"\n",
                     toml_string(party_name(file_of(table.file))), toml_string(request.data));
  return out;
}

std::optional<double> bound_in(const std::string& text, ColumnType type) {
  if (type == ColumnType::kDate) return parse_date(text, DateFormat::kYearMonthDay);
  const ParsedNumber parsed = parse_number(text.data(), text.data() + text.size());
  if (text.empty() || parsed.error != NumberError::kNone || parsed.end != text.data() + text.size())
    return std::nullopt;
  return parsed.value;
}

struct Bounds {
  double lower = 0, upper = 0;
};

Result<Bounds> bounds_in(std::string_view range, ColumnType type, const std::string& wish) {
  const std::size_t colon = range.find(':');
  const auto lower = bound_in(std::string(range.substr(0, colon)), type);
  const auto upper = colon == range.npos ? std::nullopt : bound_in(std::string(range.substr(colon + 1)), type);
  if (!lower || !upper || !(*lower <= *upper))
    return fail(bad_input({.field = "--confirm"},
                          type == ColumnType::kDate
                              ? "must look like NAME=FIRST:LAST with two dates, as in day=2015-01-01:2020-12-31"
                              : "must look like NAME=LO:HI with two numbers, the smaller first, as in age=0:120",
                          wish));
  return Bounds{*lower, *upper};
}

}  // namespace

Result<Draft> draft(const Description& table, const DraftRequest& request) {
  Draft made{.schema = table.draft, .notes = table.notes};
  std::erase_if(made.notes, [](const std::string& note) { return note.find("drafted as ignore") != note.npos; });
  const ColumnSummary* label = nullptr;
  for (const ColumnSummary& column : table.columns)
    if (column.type == ColumnType::kLabel) label = &column;
  if (label == nullptr) return fail(no_label(table));
  if (table.format != Format::kLibsvm) made.label = label->name;
  const Guess guess = guess_task(*label);
  made.task = request.task.empty() ? guess.task : request.task;
  made.why = request.task.empty() ? guess.why : "as asked for";
  PARLEY_CHECK(check_task(table, *label, made.task));
  if (table.format != Format::kLibsvm) {
    set_label(*label, made.task, made.schema);
    set_ids_apart(table, made.label, made);
    set_missing_rules(table, made);
  } else if (is_quantity(made.task) && !made.schema.label_bound) {
    made.schema.label_bound = round_bound(std::max({std::abs(label->smallest), std::abs(label->largest), 1e-300}));
  } else if (!is_quantity(made.task)) {
    made.schema.label_bound = std::nullopt;
  }
  const auto is_feature = [](const ColumnSchema& column) {
    return is_number(column.type) || column.type == ColumnType::kCategory || column.type == ColumnType::kBoolean;
  };
  if (table.format != Format::kLibsvm &&
      std::none_of(made.schema.columns.begin(), made.schema.columns.end(), is_feature))
    return fail(bad_input({table.file, 0, ""}, "has no column beside the label that could be learnt from"));
  say_what_was_found(table, made);
  made.job = job_text(table, made, request);
  return made;
}

Result<void> confirm(Schema& schema, std::string_view wish, const std::string& file_name) {
  if (wish == "all") {
    schema.confirmed = true;
    for (ColumnSchema& column : schema.columns) column.confirmed = true;
    return {};
  }
  const std::string given(wish);
  std::vector<std::string> names;
  for (const ColumnSchema& column : schema.columns) names.push_back(column.name);
  // A name may hold an equals sign itself.
  const std::size_t equals =
      std::find(names.begin(), names.end(), given) == names.end() ? given.rfind('=') : given.npos;
  const std::string name = given.substr(0, equals);
  if (schema.columns.empty()) {
    if (name != "bound")
      return fail(
          bad_input({file_name, 0, "--confirm"}, "a LIBSVM table has one bound for all columns: bound=LO:HI", given));
    if (equals != given.npos) {
      PARLEY_TRY(const Bounds range, bounds_in(given.substr(equals + 1), ColumnType::kNumber, given));
      if (!(std::max(std::abs(range.lower), std::abs(range.upper)) > 0))
        return fail(bad_input({file_name, 0, "--confirm"}, "a bound must be above 0", given));
      schema.bound = std::max(std::abs(range.lower), std::abs(range.upper));
    }
    schema.confirmed = true;
    return {};
  }
  const auto column = std::find_if(schema.columns.begin(), schema.columns.end(),
                                   [&](const ColumnSchema& one) { return one.name == name; });
  if (column == schema.columns.end())
    return fail(
        bad_input({file_name, 0, "--confirm"}, "names a column that is not there" + suggestion(name, names), name));
  if (equals != given.npos) {
    const bool bounded = is_number(column->type) || (column->type == ColumnType::kLabel && column->levels.empty());
    if (!bounded)
      return fail(bad_input({file_name, 0, "--confirm"},
                            fmt::format("'{}' has no bounds: it is {}; NAME alone confirms it as it is",
                                        printable(name, 40), data::name(column->type)),
                            given));
    PARLEY_TRY(const Bounds range, bounds_in(given.substr(equals + 1), column->type, given));
    column->lower = range.lower;
    column->upper = range.upper;
  }
  column->confirmed = true;
  return {};
}

std::string to_confirm(const Schema& schema) {
  constexpr std::size_t kShown = 40;
  std::vector<std::pair<std::string, std::string>> rows;
  if (!schema.confirmed) {
    rows.emplace_back("bound", fmt::format("-{0} .. {0}", schema.bound.value_or(0)));
    if (schema.label_bound) rows.emplace_back("(label)", fmt::format("-{0} .. {0}", *schema.label_bound));
  }
  for (const ColumnSchema& column : schema.columns) {
    if (column.confirmed || column.type == ColumnType::kIgnore) continue;
    std::string known;
    if (column.lower && column.type == ColumnType::kDate)
      known = fmt::format("{} .. {}", date_text(*column.lower), date_text(*column.upper));
    else if (column.lower)
      known = fmt::format("{} .. {}", *column.lower, *column.upper);
    for (std::size_t k = 0; k < column.levels.size() && known.size() <= 60; ++k)
      known += (k == 0 ? "" : ", ") + printable(column.levels[k], 20);
    if (known.size() > 60) known += ", ...";
    rows.emplace_back(printable(column.name, 32), known);
  }
  std::size_t width = 6;
  for (const auto& [name, known] : rows) width = std::max(width, name.size());
  std::string out;
  for (std::size_t k = 0; k < std::min(rows.size(), kShown); ++k)
    out += fmt::format("  {:<{}}  {}\n", rows[k].first, width, rows[k].second);
  if (rows.size() > kShown)
    out += fmt::format("  ... and {}\n", counted(static_cast<long long>(rows.size() - kShown), "more column"));
  return out;
}

}  // namespace parley::data
