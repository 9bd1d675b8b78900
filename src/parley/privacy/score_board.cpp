#include "parley/privacy/score_board.h"

#include <fmt/format.h>

namespace parley::privacy {

Result<ScoreBoard> ScoreBoard::open(Gate& gate, const Settings& settings, std::size_t candidates) {
  if (candidates == 0) return fail(bad_input({.field = "candidates"}, "must be at least 1", "0"));
  PARLEY_CHECK(gate.selection(settings.epsilon.value(), settings.sensitivity));
  return ScoreBoard(gate, settings, candidates);
}

Result<void> ScoreBoard::set(std::size_t candidate, const Sensitive<double, Linf>& score) {
  if (!(score.sensitivity_ <= settings_.sensitivity))
    return fail(failed(fmt::format("a score of sensitivity {} on a board for {}", score.sensitivity_, settings_.sensitivity)));
  PARLEY_CHECK(gate_->check(score));
  if (tree_) return tree_->update(candidate, score.value_);
  if (candidate >= first_.size())
    return fail(bad_input({.field = "candidate"}, fmt::format("must be below {}", first_.size()), fmt::format("{}", candidate)));
  unset_ -= first_[candidate] == kUnset ? 1 : 0;
  first_[candidate] = score.value_;
  return {};
}

Result<Released<std::size_t>> ScoreBoard::select() {
  if (!tree_) {
    if (unset_ > 0) return fail(failed(fmt::format("{} scores were never set; nothing was selected", unset_)));
    PARLEY_TRY(const ExponentialSelection* selection, gate_->selection(settings_.epsilon.value(), settings_.sensitivity));
    PARLEY_TRY(tree_, ExponentialTree::make(*selection, first_));
    first_ = {};
  }
  PARLEY_CHECK(gate_->draw_from_plan(tree_->event()));
  return gate_->released_index([this] { return tree_->select(*gate_->bits_); });
}

}  // namespace parley::privacy
