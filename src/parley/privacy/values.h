// The three kinds of value, so that forgetting privacy is a compile error.
//
//   Private<T>           read by party-side functions handed to it; never travels
//   Sensitive<T, Norm>   read by the gate; made by privacy/sensitivity only, which enforces the bound it states
//   Released<T>          read by everyone; made by the gate only, after the ledger was charged
//
// There is one door between the second and the third: the Gate (gate.h). What types cannot stop is a
// party-side function that copies its argument out through a captured reference; such functions are a site's
// own code, read in review.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "parley/core/result.h"
#include "parley/privacy/mechanisms/grain.h"
#include "parley/privacy/units.h"

namespace parley::privacy {

class GridFeatures;
class ProvedDistance;
struct BinRule;
struct ClassLabels;
struct ClipRule;
struct Contributions;
struct Hamming;
struct LabelRule;
struct UnitContributions;

template <class>
inline constexpr bool kNever = false;  // makes a static_assert speak when a forbidden function is used

template <class T>
class Private {
 public:
  explicit Private(T value) : value_(std::move(value)) {}

  // Party-side work on the value; what comes out is private too.
  template <class Function>
  [[nodiscard]] auto map(Function&& function) const -> Private<std::decay_t<std::invoke_result_t<Function, const T&>>> {
    using Mapped = std::decay_t<std::invoke_result_t<Function, const T&>>;
    return Private<Mapped>(std::forward<Function>(function)(value_));
  }

 private:
  friend struct PrivateReader;
  T value_;
};

// The one way into a Private for the privacy layer itself (sensitivity and gate); not for algorithms.
struct PrivateReader {
 private:
  friend class Gate;
  friend struct SensitivityBound;
  template <class T>
  static const T& read(const Private<T>& value) {
    return value.value_;
  }
  template <class T>
  static T&& take(Private<T>&& value) {
    return std::move(value.value_);
  }
};

// Names of the norm in which neighbouring values may differ by at most the sensitivity.
struct L1 {};
struct L2 {};
struct Linf {};  // scores: each may move by at most the sensitivity

// A value on a public grid: integers times the grain.
struct GridVector {
  std::vector<std::int64_t> counts;
  Grain grain;
};

struct GridValue {
  std::int64_t count = 0;
  Grain grain;
};

// Scores as they were when their bound was stated: whoever holds a list keeps it alive and as it is.
class ScoreList {
 public:
  [[nodiscard]] std::span<const double> values() const {
    return held_ ? std::span<const double>(*held_) : std::span<const double>();
  }

 private:
  friend class ScoreRoom;
  explicit ScoreList(std::shared_ptr<const std::vector<double>> held) : held_(std::move(held)) {}
  std::shared_ptr<const std::vector<double>> held_;
};

// Where lists are made, one after another, without asking for memory each time: a list that somebody still holds is
// left to them, and the next is made elsewhere. For one thread.
class ScoreRoom {
 public:
  // To be written; nobody else sees it before list().
  std::span<double> write(std::size_t count) {
    if (!room_ || room_.use_count() > 1) room_ = std::make_shared<std::vector<double>>();
    room_->resize(count);
    return *room_;
  }
  [[nodiscard]] ScoreList list() const { return ScoreList(room_); }

 private:
  std::shared_ptr<std::vector<double>> room_;
};

template <class T, class Norm>
class Sensitive {
 public:
  [[nodiscard]] double sensitivity() const { return sensitivity_; }  // public: depends on bounds only
  [[nodiscard]] Neighbours neighbours() const { return neighbours_; }
  [[nodiscard]] Unit unit() const { return unit_; }

 private:
  friend struct SensitivityBound;  // the functions of clipped_sum.h, bin_counts.h and class_labels.h
  friend class ExactSums;          // exact_sums.h
  friend class BatchSum;           // batch_sum.h
  friend class ResidualSums;       // residual_sums.h
  friend class WholeColumns;       // whole_columns.h
  friend class Gate;
  friend class ScoreBoard;  // the gate's selection over slowly changing scores (score_board.h)
  friend class SignedBoard;
  friend class ShrinkingBoard;
  Sensitive(T value, double sensitivity, Neighbours neighbours, Unit unit)
      : value_(std::move(value)), sensitivity_(sensitivity), neighbours_(neighbours), unit_(unit) {}
  T value_;
  double sensitivity_;
  Neighbours neighbours_;
  Unit unit_;
};

// What the functions of clipped_sum.h and class_labels.h read and state bounds by. It is complete here, so that whoever
// has these types cannot define another one that everybody would take for it.
struct SensitivityBound {
 private:
  using Numbers = std::vector<double>;
  friend Result<Sensitive<GridVector, L1>> clipped_sum(const Private<Numbers>&, const ClipRule&);
  friend Result<Sensitive<GridVector, L2>> clipped_sum_l2(const Private<Numbers>&, const ClipRule&);
  friend Result<Sensitive<GridVector, L2>> clipped_vector_sum(const Private<Contributions>&, const ClipRule&);
  friend Result<Sensitive<GridVector, L2>> clipped_vector_sum(const Private<UnitContributions>&, const ClipRule&);
  friend Result<Sensitive<GridVector, Linf>> clipped_scores(const Private<Contributions>&, const ClipRule&);
  friend Result<Sensitive<GridVector, L2>> bin_counts(const Private<Contributions>&, const BinRule&);
  friend Result<Sensitive<GridVector, L2>> clipped_column_squares(const GridFeatures&, const ClipRule&);
  friend Result<Sensitive<GridVector, L2>> clipped_values(const Private<Numbers>&, const ClipRule&);
  friend Result<Sensitive<GridVector, L1>> clipped_values_l1(const Private<Numbers>&, const ClipRule&);
  friend Result<Sensitive<GridVector, L2>> values_by_theorem(const Private<Numbers>&, const ClipRule&, ProvedDistance);
  friend Result<Sensitive<ClassLabels, Hamming>> class_labels(const Private<std::vector<std::size_t>>&,
                                                              const LabelRule&);
  template <class T>
  static const T& read(const Private<T>& value) {
    return PrivateReader::read(value);
  }
  template <class Norm, class T, class Rule>
  static Sensitive<T, Norm> state(T value, double sensitivity, const Rule& rule) {
    return {std::move(value), sensitivity, rule.neighbours, rule.unit};
  }
};

template <class T>
class Released final {
 public:
  [[nodiscard]] const T& value() const { return value_; }
  [[nodiscard]] bool claimed() const { return claimed_; }  // false: in the clear, or noise from a seed

 private:
  friend class Gate;
  friend struct PostProcessing;
  Released(T value, bool claimed) : value_(std::move(value)), claimed_(claimed) {}
  T value_;
  bool claimed_;
};

// Public by declaration: the job, a task, the number of records, a bound of the schema. Whoever writes Public{x} says
// so in the open; nothing that is computed from records belongs in it.
template <class T>
struct Public final {
  T known;
  [[nodiscard]] const T& value() const { return known; }
  [[nodiscard]] static bool claimed() { return true; }
};
template <class T>
Public(T) -> Public<T>;

struct PostProcessing {
  template <class Function, class... From>
  static auto apply(Function function, const From&... from) {
    static_assert(std::is_empty_v<Function>,
                  "a function of released values may capture nothing; whatever else it used would leave unpaid");
    static_assert((leaves_freely(static_cast<const From*>(nullptr)) && ...),
                  "what is derived may use released and public values only");
    using Made = std::decay_t<std::invoke_result_t<Function, decltype(from.value())...>>;
    return Released<Made>(function(from.value()...), (from.claimed() && ...));
  }

 private:
  // Functions rather than a template, to which everyone could add a type of their own.
  static constexpr bool leaves_freely(const void*) { return false; }
  template <class T>
  static constexpr bool leaves_freely(const Released<T>*) {
    return true;
  }
  template <class T>
  static constexpr bool leaves_freely(const Public<T>*) {
    return true;
  }
};

// What is computed from released and public values alone is released too, at no further cost:
//   derive([](const std::vector<double>& sum, const std::size_t& chosen) { return Reply{sum, chosen}; }, sum, chosen)
template <class Function, class... From>
[[nodiscard]] auto derive(Function function, const From&... from) {
  return PostProcessing::apply(function, from...);
}

// Why a party gives no answer: a code without text, so that nothing in it is computed from data.
enum class FaultCode : std::uint8_t {
  kBadTask = 1,
  kBudgetEnded = 2,
  kNotAllowed = 3,
  kInternal = 4,
  kPastLost = 5,
  kUnavailable = 6
};

template <class Stream, class T>
Stream& operator<<(Stream& stream, const Private<T>&) {
  static_assert(kNever<T>, "a private value cannot be printed");
  return stream;
}
template <class Stream, class T, class Norm>
Stream& operator<<(Stream& stream, const Sensitive<T, Norm>&) {
  static_assert(kNever<T>, "a sensitive value cannot be printed");
  return stream;
}

// What may go up to a coordinator: a released value or a fault code, and nothing else.
template <class T>
class Outgoing {
 public:
  Outgoing(Released<T> released) : released_(std::move(released)) {}  // NOLINT: the one intended conversion
  Outgoing(FaultCode fault) : fault_(fault), failed_(true) {}         // NOLINT
  template <class Anything>
  Outgoing(const Anything&) {  // NOLINT
    static_assert(kNever<Anything>,
                  "only a Released value or a fault code may travel; pass the value through the gate");
  }
  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] FaultCode fault() const { return fault_; }
  [[nodiscard]] const T& value() const { return released_->value(); }

 private:
  std::optional<Released<T>> released_;
  FaultCode fault_ = FaultCode::kInternal;
  bool failed_ = false;
};

}  // namespace parley::privacy
