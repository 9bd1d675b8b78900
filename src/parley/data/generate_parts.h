// What the generators share: rows and their text, the true model, the folder that holds it all.
// Internal to generate*.cpp.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "parley/data/job_draft.h"
#include "parley/data/random.h"
#include "parley/data/recipes.h"

namespace parley::data::synthetic {

// Every random number belongs to a stream (seed, purpose, number); these are the purposes.
enum Purpose : std::uint64_t { kModel = 1, kFeatures = 2, kNoise = 3, kKeys = 4, kClient = 5 };

struct Row {
  std::vector<std::uint32_t> columns;  // of a sparse row, from 0
  std::vector<double> values;
  double label = 0;
  std::vector<std::uint64_t> keys;  // of a fact or dimension row
};

struct TableShape {
  std::string stem;  // file name without ending
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  double density = 1;  // below 1: rows list their columns
  std::string prefix = "x";
  bool has_label = true;
  std::vector<std::string> keys;  // names of the key columns (CSV only), before the label
};

struct Named {
  std::string name;
  std::variant<double, std::int64_t, std::string> value;
};

struct TrueModel {
  std::string party;  // empty: the one model of all
  std::vector<Named> facts;
  double intercept = 0;
  std::vector<std::pair<std::string, double>> coefficients;  // nonzeros by column name
};

struct Truth {
  std::string source;
  std::string task;
  std::vector<Named> settings;
  std::vector<TrueModel> models;
  std::vector<std::pair<std::string, std::vector<Named>>> tables;  // name, facts
};

// Rules every recipe shares; `field` is the name of the option.
Result<void> check_count(const char* field, std::int64_t value, std::int64_t most = 2147483647);
Result<void> check_density(const char* field, double value);  // (0, 1]
Result<void> check_spread(const char* field, double value);   // finite, at least 0

std::string column_name(const std::string& prefix, std::int64_t column);  // from 0; names count from 1
std::vector<std::pair<std::string, double>> named_nonzeros(const std::string& prefix,
                                                           const std::vector<double>& weights);

// The output folder under construction.
class Workshop {
 public:
  Workshop(std::string kind, std::uint64_t seed, const Destination& destination, TableFormat usual_format);

  // Refuses what neither disk nor memory can hold, before anything is written.
  Result<void> check_room(const std::vector<TableShape>& tables, std::int64_t resident_numbers) const;

  // fill(row_number, row) depends on nothing but the row number. Returns the file name.
  template <class Fill>
  Result<std::string> add_table(const TableShape& shape, const Fill& fill);

  Result<Generated> finish(const Truth& truth, JobDraft job);

  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  [[nodiscard]] TableFormat format() const { return format_; }
  [[nodiscard]] double rounded(double value) const;  // to the decimals asked for

 private:
  Result<OutputFile*> open_table(const TableShape& shape);
  void append(const TableShape& shape, const Row& row, std::string& text) const;

  std::string kind_;
  std::uint64_t seed_;
  const Destination& destination_;
  TableFormat format_;
  double decimal_scale_ = 0;  // 10^decimals, 0: no rounding
  Outputs outputs_;
  std::vector<std::pair<WrittenTable, OutputFile*>> tables_;
};

template <class Fill>
Result<std::string> Workshop::add_table(const TableShape& shape, const Fill& fill) {
  PARLEY_TRY(OutputFile * file, open_table(shape));
  const auto entries = static_cast<std::size_t>(1 + shape.density * static_cast<double>(shape.columns));
  PARLEY_CHECK(
      write_rows(*file, static_cast<std::size_t>(shape.rows), 24 * entries, [&](std::size_t number, std::string& text) {
        thread_local Row row;
        row.columns.clear();
        row.values.clear();
        row.keys.clear();
        fill(static_cast<std::int64_t>(number), row);
        append(shape, row, text);
      }));
  return file->path().filename().string();
}

Result<Generated> make(const SparseRegression& recipe, std::uint64_t seed, const Destination& destination);
Result<Generated> make(const LogNormal& recipe, std::uint64_t seed, const Destination& destination);
Result<Generated> make(const Square& recipe, std::uint64_t seed, const Destination& destination);
Result<Generated> make(const NonIid& recipe, std::uint64_t seed, const Destination& destination);
Result<Generated> make(const Star& recipe, std::uint64_t seed, const Destination& destination);

}  // namespace parley::data::synthetic
