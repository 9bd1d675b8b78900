#include "parley/privacy/score_board.h"

#include <fmt/format.h>

#include <cmath>

namespace parley::privacy {

Result<ScoreBoard> ScoreBoard::open(Gate& gate, const Settings& settings, std::size_t candidates) {
  if (candidates == 0) return fail(bad_input({.field = "candidates"}, "must be at least 1", "0"));
  PARLEY_CHECK(gate.selection(settings.epsilon.value(), settings.sensitivity));
  return ScoreBoard(gate, settings, candidates);
}

namespace {

Error too_sensitive(double sensitivity, double board) {
  return failed(fmt::format("a score of sensitivity {} on a board for {}", sensitivity, board));
}

}  // namespace

Result<void> ScoreBoard::set(std::size_t candidate, const Sensitive<double, Linf>& score) {
  if (!(score.sensitivity_ <= settings_.sensitivity))
    return fail(too_sensitive(score.sensitivity_, settings_.sensitivity));
  PARLEY_CHECK(gate_->check(score));
  if (tree_) return tree_->update(candidate, score.value_);
  if (candidate >= first_.size())
    return fail(bad_input({.field = "candidate"}, fmt::format("must be below {}", first_.size()),
                          fmt::format("{}", candidate)));
  unset_ -= first_[candidate] == kUnset ? 1 : 0;
  first_[candidate] = score.value_;
  return {};
}

Result<void> ScoreBoard::set_all(const Sensitive<ScoreList, Linf>& scores) {
  if (!(scores.sensitivity_ <= settings_.sensitivity))
    return fail(too_sensitive(scores.sensitivity_, settings_.sensitivity));
  PARLEY_CHECK(gate_->check(scores));
  const std::span<const double> values = scores.value_.values();
  if (tree_) return tree_->assign(values);
  if (values.size() != first_.size())
    return fail(
        bad_input({.field = "scores"}, fmt::format("must be {}", first_.size()), fmt::format("{}", values.size())));
  first_.assign(values.begin(), values.end());
  unset_ = 0;
  return {};
}

Result<void> ScoreBoard::set_some(std::span<const std::uint32_t> candidates, const Sensitive<ScoreList, Linf>& scores) {
  if (!(scores.sensitivity_ <= settings_.sensitivity))
    return fail(too_sensitive(scores.sensitivity_, settings_.sensitivity));
  PARLEY_CHECK(gate_->check(scores));
  const std::span<const double> values = scores.value_.values();
  if (!tree_) return fail(failed("a first draw comes before some scores change; nothing was changed"));
  return tree_->update(candidates, values);
}

Result<Released<std::size_t>> ScoreBoard::select() {
  if (!tree_) {
    if (unset_ > 0) return fail(failed(fmt::format("{} scores were never set; nothing was selected", unset_)));
    PARLEY_TRY(const ExponentialSelection* selection,
               gate_->selection(settings_.epsilon.value(), settings_.sensitivity));
    PARLEY_TRY(tree_, ExponentialTree::make(*selection, first_));
    first_ = {};
  }
  PARLEY_CHECK(gate_->draw_from_plan({tree_->event(), 1}));
  return gate_->released<std::size_t>(1, [this](Bits& bits) { return tree_->select(bits); });
}

Result<SignedBoard> SignedBoard::open(Gate& gate, const ScoreBoard::Settings& settings, std::size_t pairs) {
  if (pairs == 0) return fail(bad_input({.field = "candidates"}, "must be at least 1", "0"));
  PARLEY_CHECK(gate.selection(settings.epsilon.value(), settings.sensitivity));
  return SignedBoard(gate, settings, pairs);
}

Result<void> SignedBoard::set_all(const Sensitive<ScoreList, Linf>& scores) {
  if (!(scores.sensitivity_ <= settings_.sensitivity))
    return fail(too_sensitive(scores.sensitivity_, settings_.sensitivity));
  PARLEY_CHECK(gate_->check(scores));
  const std::span<const double> values = scores.value_.values();
  if (values.size() != sizes_.size())
    return fail(
        bad_input({.field = "scores"}, fmt::format("must be {}", sizes_.size()), fmt::format("{}", values.size())));
  for (std::size_t i = 0; i < sizes_.size(); ++i) {
    sizes_[i] = std::abs(values[i]);
    negative_[i] = values[i] < 0 ? 1 : 0;
  }
  if (tree_) return tree_->assign(sizes_);
  PARLEY_TRY(const ExponentialSelection* selection, gate_->selection(settings_.epsilon.value(), settings_.sensitivity));
  PARLEY_TRY(tree_, ExponentialTree::make(*selection, sizes_));
  return {};
}

Result<void> SignedBoard::set(std::size_t pair, const Sensitive<double, Linf>& score) {
  if (!(score.sensitivity_ <= settings_.sensitivity))
    return fail(too_sensitive(score.sensitivity_, settings_.sensitivity));
  PARLEY_CHECK(gate_->check(score));
  if (!tree_) return fail(failed("the scores were never set all at once; nothing was changed"));
  PARLEY_CHECK(tree_->update(pair, std::abs(score.value_)));
  negative_[pair] = score.value_ < 0 ? 1 : 0;
  return {};
}

Result<void> SignedBoard::set_some(std::span<const std::uint32_t> pairs, const Sensitive<ScoreList, Linf>& scores) {
  if (!(scores.sensitivity_ <= settings_.sensitivity))
    return fail(too_sensitive(scores.sensitivity_, settings_.sensitivity));
  PARLEY_CHECK(gate_->check(scores));
  const std::span<const double> values = scores.value_.values();
  if (!tree_) return fail(failed("the scores were never set all at once; nothing was changed"));
  if (pairs.size() != values.size() || pairs.size() > sizes_.size())
    return fail(
        bad_input({.field = "scores"}, fmt::format("must be {}", pairs.size()), fmt::format("{}", values.size())));
  const std::span<double> sizes = std::span(sizes_).first(pairs.size());
  for (std::size_t i = 0; i < pairs.size(); ++i) sizes[i] = std::abs(values[i]);
  PARLEY_CHECK(tree_->update(pairs, sizes));
  for (std::size_t i = 0; i < pairs.size(); ++i) negative_[pairs[i]] = values[i] < 0 ? 1 : 0;
  return {};
}

Result<Released<std::size_t>> SignedBoard::select() {
  if (!tree_) return fail(failed("the scores were never set; nothing was selected"));
  PARLEY_CHECK(gate_->draw_from_plan({tree_->event(), 1}));
  return gate_->released<std::size_t>(1, [this](Bits& bits) -> Result<std::size_t> {
    PARLEY_TRY(const ExponentialTree::Side side, tree_->select_side(bits));
    const bool positive = (negative_[side.index] == 0) == side.with;
    return 2 * side.index + (positive ? 0 : 1);
  });
}

Result<ShrinkingBoard> ShrinkingBoard::open(Gate& gate, const ScoreBoard::Settings& settings, std::size_t pairs) {
  if (pairs == 0) return fail(bad_input({.field = "candidates"}, "must be at least 1", "0"));
  PARLEY_CHECK(gate.selection(settings.epsilon.value(), settings.sensitivity));
  return ShrinkingBoard(gate, settings, pairs);
}

Result<void> ShrinkingBoard::check(const Sensitive<double, Linf>& score) const {
  if (!(score.sensitivity_ <= settings_.sensitivity))
    return fail(too_sensitive(score.sensitivity_, settings_.sensitivity));
  return gate_->check(score);
}

Result<void> ShrinkingBoard::set_ceilings(const Sensitive<ScoreList, Linf>& ceilings) {
  PARLEY_TRY(const ExponentialSelection* selection, gate_->selection(settings_.epsilon.value(), settings_.sensitivity));
  const std::span<const double> values = ceilings.value_.values();
  if (values.size() != pairs_)
    return fail(bad_input({.field = "ceilings"}, fmt::format("must be {}", pairs_), fmt::format("{}", values.size())));
  raised_.resize(pairs_);
  const double grain = selection->grid().grain().value();
  for (std::size_t i = 0; i < raised_.size(); ++i) raised_[i] = values[i] + grain;
  if (tree_) return tree_->assign(raised_);
  PARLEY_TRY(tree_, ExponentialTree::make(*selection, raised_));
  return {};
}

Result<void> ShrinkingBoard::set_some(std::span<const std::uint32_t> pairs,
                                      const Sensitive<ScoreList, Linf>& ceilings) {
  if (!tree_) return fail(failed("the ceilings were never set all at once; nothing was changed"));
  const std::span<const double> values = ceilings.value_.values();
  const std::size_t count = values.size();
  if (pairs.size() != count)
    return fail(bad_input({.field = "ceilings"}, fmt::format("must be {}", pairs.size()), fmt::format("{}", count)));
  if (count > raised_.size()) raised_.resize(count);  // a pair may be listed twice
  const double grain = tree_->grain();
  for (std::size_t i = 0; i < count; ++i) raised_[i] = values[i] + grain;
  return tree_->update(pairs, std::span(raised_).first(count));
}

Result<void> ShrinkingBoard::pay() {
  if (!tree_) return fail(failed("the ceilings were never set; nothing was selected"));
  if (paid_) return {};
  PARLEY_CHECK(gate_->draw_from_plan({tree_->event(), 1}));
  paid_ = true;
  return {};
}

bool ShrinkingBoard::replays() const {
  return gate_->replays();
}

Result<Released<std::size_t>> ShrinkingBoard::release(std::size_t candidate) {
  return gate_->released<std::size_t>(1, [candidate](Bits&) -> Result<std::size_t> { return candidate; });
}

}  // namespace parley::privacy
