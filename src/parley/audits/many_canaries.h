// One game with many canaries: every label of a table is a coin of its own, and each is guessed from what an observer sees
// of one run (Steinke, Nasr, Jagielski 2023). The theory wants what changes with a coin to be one unit, and that the
// coins are independent; labels are that. Guesses of several runs, each with coins of its own, count together: runs side
// by side are one mechanism, and a coin is in one of them.
//
// Which part of a view a label moves is learnt from runs before, as a score of every label by itself.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "parley/audits/game.h"

namespace parley::audits {

// A world in which these are the labels: true is the positive class.
using WorldOf = std::function<World(const std::vector<bool>& coins)>;

struct ManyCanaries {
  std::size_t canaries = 0;
  WorldOf world;
};

// Adds a finding for every observer; `settings` are this game's own, and so is its share of the confidence.
Result<void> play_many(Stage& stage, const ManyCanaries& many, const GameSettings& settings, Audited& audited);

}  // namespace parley::audits
