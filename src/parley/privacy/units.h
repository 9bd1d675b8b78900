// The nouns of a privacy statement, as types: (epsilon, delta), for which unit, under which
// neighbouring relation, against whom.
#pragma once
#include <string_view>

#include "parley/core/result.h"

namespace parley::privacy {

// epsilon > 0 and finite; made by make() only, so a value of this type is always legal.
class Epsilon {
 public:
  static Result<Epsilon> make(double value);
  [[nodiscard]] double value() const { return value_; }
  bool operator==(const Epsilon&) const = default;

 private:
  explicit Epsilon(double value) : value_(value) {}
  double value_;
};

// 0 < delta < 1.
class Delta {
 public:
  static Result<Delta> make(double value);
  [[nodiscard]] double value() const { return value_; }
  bool operator==(const Delta&) const = default;

 private:
  explicit Delta(double value) : value_(value) {}
  double value_;
};

enum class Unit { kRecord, kTuple, kEntity, kLabel, kClient };
enum class Neighbours { kReplaceOne, kAddRemove };
enum class Against { kEveryone, kOutsiders };

// Whose noise a run draws.
enum class Calibration {
  kProved,  // noise for which the target is proved
  kPaper,   // the paper's formulas; the ledger states what is proved of them
};
// Where the smoothness constants of a private run come from.
enum class Smoothness {
  kBounds,   // the public bounds
  kPrivate,  // estimates that are paid for
};

std::string_view name(Unit unit);              // "record", ...
std::string_view name(Neighbours neighbours);  // "replace-one", "add-remove"
std::string_view name(Against against);        // "everyone", "outsiders"

}  // namespace parley::privacy
