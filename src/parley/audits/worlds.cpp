#include "parley/audits/worlds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "parley/data/random.h"
#include "parley/data/schema.h"
#include "parley/data/source.h"

namespace parley::audits {

namespace {

using data::ColumnSchema;
using data::ColumnType;

constexpr std::size_t kMostCells = 200'000;  // of one world: it is read in every run
constexpr double kFarBeyond = 1000;
constexpr double kJustWithin = 1 - 0.000381966011250105;  // with more digits than any grid has

enum class Fill {
  kQuiet,      // 0, or the middle where 0 is out of bounds
  kBeyond,     // above every bound
  kOpposite,   // just within the lower bounds
  kUpper,      // just within the upper bounds
  kOneBeyond,  // the first column of each table alone
  kOneOpposite,
  kFirstUp,  // it against the others: what moves a selection most
  kFirstDown,
  kRandom,
};

struct Person {
  Fill fill = Fill::kQuiet;
  bool positive = true;
  std::uint64_t number = 0;  // of the draw, where it is random
};

// What a table is made of.
struct Shape {
  bool libsvm = false;
  bool labels = false;
  std::string delimiter = ",";
  bool header = true;
  bool clips = true;
  std::vector<ColumnSchema> columns;  // of features, in order; of LIBSVM tables numbered ones
  std::vector<ColumnSchema> others;   // ids and columns that are left out
  int first_index = 1;
  std::string label_column;
  std::string positive = "1", negative = "-1";
};

Result<Shape> shape_of(const jobs::Job& job, std::size_t party) {
  const jobs::PartySection& section = job.parties[party];
  Shape shape;
  shape.labels = job.partition != jobs::Partition::kVertical || jobs::holds_labels(job, static_cast<int>(party));
  std::optional<data::Schema> schema;
  if (!section.schema.empty()) {
    PARLEY_TRY(schema, data::read_schema(section.schema));
  }
  shape.libsvm = !schema || schema->format == data::Format::kLibsvm || (schema->features && schema->columns.empty());
  std::optional<double> label_bound = schema && schema->label_bound ? schema->label_bound : job.data.label_bound;
  std::vector<std::string> classes = job.labels.classes;
  const std::optional<double> otherwise = schema && schema->bound ? schema->bound : job.data.bound;
  if (schema) shape.clips = schema->out_of_bounds == data::OutOfBounds::kClip;
  if (shape.libsvm) {
    const std::optional<std::int64_t> features =
        schema && schema->features ? std::optional<std::int64_t>(*schema->features) : job.data.features;
    if (!features)
      return fail(bad_input({job.file, 0, "data.features"},
                            "is missing: an audit makes tables of its own, and must know how many columns they have"));
    if (schema && schema->first_index) shape.first_index = *schema->first_index;
    for (std::int64_t j = 0; j < *features; ++j) {
      ColumnSchema column{.name = fmt::format("{}", j + shape.first_index)};
      if (otherwise) column.lower = -*otherwise, column.upper = *otherwise;
      shape.columns.push_back(std::move(column));
    }
  } else {
    if (!schema->delimiter.empty() && schema->delimiter != " ") shape.delimiter = schema->delimiter;
    shape.header = schema->header.value_or(true);
    if (!shape.header)
      return fail(
          bad_input({section.schema, 0, "header"}, "must be true for an audit, which writes tables of its own"));
    shape.label_column = job.labels.column;
    for (ColumnSchema column : schema->columns) {
      if (column.type == ColumnType::kKey)
        return fail(bad_input({section.schema, 0, column.name}, "is a key: tables that join have no claim to audit"));
      const bool is_label = column.type == ColumnType::kLabel || column.name == job.labels.column;
      if (is_label) {
        if (shape.label_column.empty()) shape.label_column = column.name;
        if (classes.empty()) classes = column.levels;
        if (column.bound()) label_bound = column.bound();
      } else if (column.type == ColumnType::kId || column.type == ColumnType::kIgnore) {
        shape.others.push_back(std::move(column));
      } else {
        if (!column.bound() && otherwise) column.lower = -*otherwise, column.upper = *otherwise;
        shape.columns.push_back(std::move(column));
      }
    }
    if (shape.label_column.empty()) shape.label_column = "y";
  }
  if (job.objective.task == glm::Task::kLinear) {
    shape.positive = fmt::format("{}", label_bound.value_or(1));
    shape.negative = fmt::format("{}", -label_bound.value_or(1));
  } else if (classes.size() >= 2) {
    shape.negative = classes.front();
    shape.positive = classes.back();
  }
  return shape;
}

double number_of(const ColumnSchema& column, Fill fill, bool first, bool clips, data::Random& draw) {
  const double lower = column.lower.value_or(-1), upper = column.upper.value_or(1);
  const double quiet = lower <= 0 && upper >= 0 ? 0 : 0.5 * (lower + upper);
  const auto towards = [&](double end) { return quiet + kJustWithin * (end - quiet); };
  switch (fill) {
    case Fill::kQuiet:
      return quiet;
    case Fill::kOneBeyond:
      return first ? (clips ? upper + kFarBeyond * (upper - lower) : upper) : quiet;
    case Fill::kBeyond:
      return clips ? upper + kFarBeyond * (upper - lower) : upper;
    case Fill::kOneOpposite:
      return first ? towards(lower) : quiet;
    case Fill::kFirstUp:
      return towards(first ? upper : lower);
    case Fill::kFirstDown:
      return towards(first ? lower : upper);
    case Fill::kOpposite:
      return towards(lower);
    case Fill::kUpper:
      return towards(upper);
    case Fill::kRandom:
      return lower + (upper - lower) * draw.uniform();
  }
  return quiet;
}

std::string level_of(const ColumnSchema& column, Fill fill, bool first, data::Random& draw) {
  const std::vector<std::string> usual = {"0", "1"};
  const std::vector<std::string>& levels = column.levels.empty() ? usual : column.levels;
  switch (fill) {
    case Fill::kBeyond:
    case Fill::kUpper:
      return levels.back();
    case Fill::kOneBeyond:
    case Fill::kFirstUp:
      return first ? levels.back() : levels.front();
    case Fill::kFirstDown:
      return first ? levels.front() : levels.back();
    case Fill::kRandom:
      return levels[draw.below(levels.size())];
    default:
      return levels.front();
  }
}

std::string cell(const ColumnSchema& column, const Person& person, std::size_t j, bool clips, data::Random& draw) {
  const bool first = j == 0;
  if (column.type == ColumnType::kCategory || column.type == ColumnType::kBoolean)
    return level_of(column, person.fill, first, draw);
  const double value = number_of(column, person.fill, first, clips, draw);
  return column.type == ColumnType::kInteger ? fmt::format("{:.0f}", std::trunc(value)) : fmt::format("{:.17g}", value);
}

// In quotes: names and levels may hold what separates cells.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

void add_line(const Shape& shape, const Person& person, std::size_t row, std::string& text) {
  data::Random draw(20, person.number);
  const std::string& label = person.positive ? shape.positive : shape.negative;
  std::vector<std::string> cells;
  for (std::size_t j = 0; j < shape.columns.size(); ++j)
    cells.push_back(cell(shape.columns[j], person, j, shape.clips, draw));
  if (shape.libsvm) {
    text += label;
    for (std::size_t j = 0; j < cells.size(); ++j) text += " " + shape.columns[j].name + ":" + cells[j];
    text += "\n";
    return;
  }
  for (const ColumnSchema& column : shape.others)
    cells.push_back(column.type == ColumnType::kId ? fmt::format("r{:06}", row) : "0");
  if (shape.labels) cells.push_back(label);
  for (std::size_t c = 0; c < cells.size(); ++c) text += (c == 0 ? "" : shape.delimiter) + quoted(cells[c]);
  text += "\n";
}

std::string header_of(const Shape& shape) {
  if (shape.libsvm) return {};
  std::string line;
  const auto add = [&](const std::string& name) { line += (line.empty() ? "" : shape.delimiter) + quoted(name); };
  for (const ColumnSchema& column : shape.columns) add(column.name);
  for (const ColumnSchema& column : shape.others) add(column.name);
  if (shape.labels) add(shape.label_column);
  return line + "\n";
}

std::string table_of(const Shape& shape, const std::vector<Person>& people) {
  std::string text = header_of(shape);
  for (std::size_t row = 0; row < people.size(); ++row) add_line(shape, people[row], row, text);
  return text;
}

struct Difference {
  const char* name;
  Person in, out;
  Fill crowd = Fill::kQuiet;
};

std::vector<Difference> differences_of(const jobs::Job& job) {
  const bool labels_alone = !jobs::protects_records(job);
  if (labels_alone)
    return {{"the other label", {Fill::kUpper, true}, {Fill::kUpper, false}},
            {"the other label in a random crowd", {Fill::kUpper, true}, {Fill::kUpper, false}, Fill::kRandom}};
  std::vector<Difference> all;
  const bool public_labels = job.partition == jobs::Partition::kVertical && !job.labels.noise;
  all.push_back(
      {"all values beyond their bounds against the opposite ones", {Fill::kBeyond, true}, {Fill::kOpposite, true}});
  if (!public_labels) all.push_back({"the other label", {Fill::kBeyond, true}, {Fill::kUpper, false}});
  all.push_back(
      {"one value beyond its bound against the opposite one", {Fill::kOneBeyond, true}, {Fill::kOneOpposite, true}});
  all.push_back(
      {"one value up and the others down against the reverse", {Fill::kFirstUp, true}, {Fill::kFirstDown, true}});
  all.push_back({"all values against none", {Fill::kBeyond, true}, {Fill::kQuiet, true}});
  all.push_back({"all values in a random crowd", {Fill::kBeyond, true}, {Fill::kOpposite, true}, Fill::kRandom});
  all.push_back({"random values", {Fill::kRandom, true, 1}, {Fill::kRandom, public_labels, 2}, Fill::kRandom});
  return all;
}

std::vector<Person> crowd_of(std::size_t records, Fill fill, std::size_t party) {
  std::vector<Person> people;
  for (std::size_t i = 0; i < records; ++i) people.push_back({fill, i % 2 == 0, 1000 + 100'000 * party + i});
  return people;
}

}  // namespace

Result<std::vector<Pair>> pairs_of(const jobs::Job& job, std::size_t records) {
  std::vector<Shape> shapes;
  for (std::size_t p = 0; p < job.parties.size(); ++p) {
    PARLEY_TRY(shapes.emplace_back(), shape_of(job, p));
  }
  std::size_t cells = 0;
  for (const Shape& shape : shapes) cells += records * (shape.columns.size() + 1);
  if (cells > kMostCells)
    return fail(
        bad_input({job.file, 0, job.privacy->records ? "privacy.records" : "--records"},
                  fmt::format("is too much for an audit, which makes such tables for every run: {} cells, and at "
                              "most {} are made; audit the job with fewer records or columns (--set)",
                              cells, kMostCells),
                  fmt::format("{}", records)));
  const bool parts = job.partition == jobs::Partition::kVertical;  // every party has a part of the record
  const bool client = job.privacy->unit == privacy::Unit::kClient;
  const bool may_lack = job.privacy->neighbours == privacy::Neighbours::kAddRemove && !client;
  std::vector<Pair> pairs;
  for (const Difference& difference : differences_of(job)) {
    Pair pair{.name = difference.name};
    if (may_lack) pair.name += ", or no record";
    for (std::size_t p = 0; p < shapes.size(); ++p) {
      std::vector<Person> in = crowd_of(records, difference.crowd, p), out = in;
      if (client && p == 0) {
        in.assign(in.size(), difference.in);
        out.assign((out.size() + 1) / 2, difference.out);
      } else if (parts || p == 0) {
        in.front() = difference.in;
        if (may_lack)
          out.erase(out.begin());
        else
          out.front() = difference.out;
      }
      pair.in.tables.push_back(table_of(shapes[p], in));
      pair.out.tables.push_back(table_of(shapes[p], out));
    }
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

Result<World> world_of_labels(const jobs::Job& job, const std::vector<bool>& positive) {
  World world;
  for (std::size_t p = 0; p < job.parties.size(); ++p) {
    PARLEY_TRY(const Shape shape, shape_of(job, p));
    std::vector<Person> people = crowd_of(positive.size(), Fill::kRandom, p);
    for (std::size_t i = 0; i < people.size(); ++i) people[i].positive = positive[i];
    world.tables.push_back(table_of(shape, people));
  }
  return world;
}

catalog::Sources sources_of(const World& world, const jobs::Job& job) {
  catalog::Sources sources;
  for (std::size_t p = 0; p < world.tables.size(); ++p) {
    const std::string& table = world.tables[p];
    const std::string name = "the audit's table of " + job.parties[p].name;
    sources.push_back({data::Source::stream(name, [&table, name] { return data::open_bytes(table, name); })});
  }
  return sources;
}

}  // namespace parley::audits
