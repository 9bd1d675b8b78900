// A table ready for training: features, labels and the names and public bounds of its columns.
#pragma once
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parley/data/key_text.h"
#include "parley/data/schema.h"
#include "parley/linalg/matrix.h"

namespace parley::data {

// Names of feature columns: a list, or "x" followed by a number where a file has numbers only. The
// second form costs nothing for consecutive numbers and four bytes a column otherwise.
class ColumnNames {
 public:
  ColumnNames() = default;
  ColumnNames(std::vector<std::string> names) : names_(std::move(names)) {}  // NOLINT: a list of names is one
  static ColumnNames numbered(linalg::Index first, linalg::Index count);     // x<first>, x<first+1>, ...
  static ColumnNames numbered(std::vector<linalg::Index> numbers);           // ascending

  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] std::string operator[](std::size_t j) const;
  [[nodiscard]] std::vector<std::string> list() const;
  [[nodiscard]] std::optional<linalg::Index> find(std::string_view name) const;
  // Column of the feature with this number in the file; none for named columns.
  [[nodiscard]] std::optional<linalg::Index> find_number(linalg::Index number) const;
  [[nodiscard]] bool is_numbered() const { return names_.empty() && count_ > 0; }

  bool operator==(const ColumnNames& other) const;

 private:
  std::vector<std::string> names_;
  std::vector<linalg::Index> numbers_;
  linalg::Index first_ = 0;
  linalg::Index count_ = 0;  // of the numbered forms
};

struct Labels {
  std::vector<double> values;        // real; or -1/+1; or class number 0..K-1
  std::vector<std::string> classes;  // empty for real labels; {negative, positive}; or the K names
  std::vector<double> as_read;       // real ones before they were moved to their bounds; empty where none was

  // What a model is measured against: a bound serves training, and changes no truth.
  [[nodiscard]] const std::vector<double>& truth() const { return as_read.empty() ? values : as_read; }
};

// The bound of a column for which none was declared.
inline constexpr double kUnbounded = std::numeric_limits<double>::infinity();

struct Dataset {
  linalg::Matrix features;
  ColumnNames columns;             // one name per feature; "column=level" for one-hot columns
  std::vector<double> bounds;      // public bound B_j of |x_ij|, kUnbounded where none was declared;
                                   // empty when nothing was declared at all
  Labels labels;                   // empty when the table has none
  std::vector<double> weights;     // of the records, at least 0; empty where no column has them
  std::vector<std::string> ids;    // record ids, or empty
  std::vector<KeyText> keys;       // columns that tables join by, in schema order: text, never features
  std::vector<std::string> notes;  // what the reader wants a person to know (one line each)

  Schema schema;  // as read, with what was left open filled in (types, levels): loads the next file alike
  bool columns_are_stated = false;  // by the caller who handed in arrays: nothing of the schema was found in the data
  std::size_t clipped = 0;          // cells moved to their bound
  std::size_t dropped = 0;          // rows left out by a "drop-row" rule

  [[nodiscard]] std::size_t rows() const { return static_cast<std::size_t>(features.rows()); }
  [[nodiscard]] const KeyText* key(std::string_view column) const;                  // null where there is none
  [[nodiscard]] Dataset select_rows(const std::vector<linalg::Index>& rows) const;  // in the given order
};

}  // namespace parley::data
