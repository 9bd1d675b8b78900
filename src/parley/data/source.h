// Where a table comes from: a file, text that is streamed from elsewhere, or arrays in memory. Whatever it is, it is
// read to one shape: a Dataset as the options ask for it.
//
//   Source::file("clinic.csv")
//   Source::stream("ratings", open)                   CSV or LIBSVM text as it comes: a pipe, a database's COPY
//   Source::arrays("patients", {.columns = 3, .values = x, .labels = y})
#pragma once
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "parley/core/result.h"
#include "parley/data/database_address.h"
#include "parley/data/dataset.h"
#include "parley/data/decompress.h"
#include "parley/data/load.h"

namespace parley::data {

// A table in memory. What it points to is read while a run reads its tables, and not later.
struct Arrays {
  enum class Order { kByRows, kByColumns };
  std::size_t columns = 0;
  std::span<const double> values;        // rows x columns, dense; or the entries of `offsets` and `indices`
  Order order = Order::kByRows;          // of dense values
  std::span<const std::size_t> offsets;  // sparse: entries of row i are [offsets[i], offsets[i + 1]), columns ascending
  std::span<const linalg::Index> indices;  // of their columns, from 0
  std::span<const double> labels;          // numbers, or names of classes that are numbers; empty: the table has none
  std::vector<std::string> names = {};     // of the columns; empty: x1, x2, ...
  std::vector<double> bounds = {};    // public bound of each |x_ij|, stated by the caller: values beyond are clipped
  std::vector<std::string> ids = {};  // of the records

  [[nodiscard]] bool sparse() const { return !offsets.empty(); }
  [[nodiscard]] std::size_t rows() const;
};

class Source {
 public:
  // A file's path, or the address of a database's table.
  static Source file(std::string path) { return {std::move(path), File{}}; }
  static Source stream(std::string name, OpenBytes open) { return {std::move(name), std::move(open)}; }
  static Source arrays(std::string name, Arrays arrays) { return {std::move(name), std::move(arrays)}; }

  [[nodiscard]] Result<Dataset> load(const LoadOptions& options) const;
  [[nodiscard]] const std::string& name() const { return name_; }  // of a file its path
  [[nodiscard]] bool is_file() const { return std::holds_alternative<File>(from_) && !is_database(name_); }

 private:
  struct File {};
  using From = std::variant<File, OpenBytes, Arrays>;
  Source(std::string name, From from) : name_(std::move(name)), from_(std::move(from)) {}

  std::string name_;
  From from_;
};

}  // namespace parley::data
