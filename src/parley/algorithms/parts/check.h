// What a trainer takes. It states in data what it refuses, each with its reason; which field an error names and which
// value it shows is the same for all trainers.
//
//   constexpr Refusal kRefused[] = {{Part::kL1Radius, "greedy-cd takes penalties (l1, l2), not constraints"}};
//
// Sets that few trainers know are refused unless a trainer says that it takes them: {Part::kBox, kTaken}.
#pragma once
#include <fmt/format.h>

#include <span>
#include <string>
#include <string_view>

#include "parley/algorithms/parts/fit.h"
#include "parley/core/result.h"

namespace parley::algorithms {

enum class Part {
  kSoftmax,
  kNoL2,
  kL1,
  kL1Radius,
  kNoL1Radius,
  kL1Groups,
  kBox,
  kSparsity,
  kNoSparsity,
  kFreeIntercept,
  kPaperCalibration,   // of a private run
  kPrivateSmoothness,  // likewise
};

struct Refusal {
  Part part;
  std::string_view reason;
};

inline constexpr std::string_view kTaken;

inline constexpr Refusal kNoFreeIntercept = {Part::kFreeIntercept,
                                             "a private run takes a penalised intercept (a column of ones) or none"};

// In the order of the list.
Result<void> check(const glm::Objective& objective, std::span<const Refusal> refused);

// What every single-site trainer relies on: penalties and constraints that are finite numbers in range, one label per
// row, labels of the kind that the task needs. Features are checked where they are first read. Then what this trainer
// refuses, and what it refuses when the run is private.
Result<void> check(const Problem& problem, std::span<const Refusal> refused,
                   std::span<const Refusal> refused_privately = {});

// A free intercept follows a class that has every row, or none, to infinity, unless the loss is flat there.
Result<void> check_free_intercept(const Problem& problem);

// A setting.
template <class Value>
Result<void> require(bool holds, std::string_view field, std::string_view rule, const Value& value) {
  if (holds) return {};
  return fail(bad_input({.field = std::string(field)}, rule, fmt::format("{}", value)));
}

bool is_positive(double value);      // and finite
bool is_not_negative(double value);  // and finite

}  // namespace parley::algorithms
