// The membership game: runs of two neighbouring worlds, an attack that is learnt on some of them, and what it then gets
// right on others.
//
//   1. learn a layout, and how far apart each pair of worlds looks, from a few runs with shared noise; keep the pair
//      that looks furthest apart to any observer
//   2. calibrate: runs with noise of their own, on which every observer's attack is learnt
//   3. test: fresh runs, counted at a few looks that were fixed before. The significance is shared out among looks,
//      observers and estimators, so that a claim that holds is called violated at most with chance 1 - confidence,
//      however soon the game stops.
//
// A violation is a lower bound above the claim: by Clopper and Pearson for any mechanism, by the Gaussian trade-off
// where everything the plan draws is Gaussian noise. That no bound is above the claim says nothing more than that.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "parley/audits/estimators.h"
#include "parley/audits/stage.h"
#include "parley/core/result.h"

namespace parley::audits {

struct GameSettings {
  std::int64_t runs = 2000;  // in all, at most
  double seconds = 60;       // likewise
  double confidence = 0.999;
  std::function<bool()> stop = {};
};

enum class Verdict { kConsistent, kViolated, kInconclusive };
std::string_view name(Verdict verdict);

struct Finding {
  std::string observer;
  bool covered = true;
  std::string attack;
  Counts counts;       // of the Clopper-Pearson bound
  double epsilon = 0;  // lower bound
  double epsilon_gaussian = 0;
  std::optional<Guesses> guesses{};  // where many canaries were guessed at once
  bool violated = false;
};

struct Audited {
  Verdict verdict = Verdict::kInconclusive;
  std::string why;  // of an inconclusive one
  Claim claim;      // the largest of any run; where it is Gaussian, bounds by the Gaussian trade-off count
  std::string pair;
  std::vector<Finding> findings;
  std::int64_t runs = 0, tested = 0;  // of these, after calibration
  double power =
      0;  // an attack as good as any would have shown a violation by a mechanism of this epsilon, with chance 0.9
  double confidence = 0;
  double seconds = 0;
};

Result<Audited> play(Stage& stage, const std::vector<Pair>& pairs, const GameSettings& settings);

}  // namespace parley::audits
