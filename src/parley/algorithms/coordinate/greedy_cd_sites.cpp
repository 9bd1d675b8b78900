#include "parley/algorithms/coordinate/greedy_cd_sites.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "parley/algorithms/parts/private_steps.h"

namespace parley::algorithms {

using namespace privacy;

Result<GatedSite> GatedSite::reserve(const Problem& problem, std::int64_t steps, std::optional<double> share,
                                     const std::optional<SmoothnessRelease>& smoothness) {
  const PrivateTerms& terms = *problem.privacy;
  PARLEY_TRY(ExactSums sums, exact_sums_of(problem));
  GatedSite site(*terms.gate, std::move(sums));
  const std::vector<Event> once = smoothness ? std::vector{smoothness->event} : std::vector<Event>{};
  PARLEY_TRY(site.noise_, greedy_noise(terms, {.steps = steps,
                                               .coordinates = site.sums_.coordinates(),
                                               .value_sensitivity = site.sums_.value_sensitivity(),
                                               .share = share,
                                               .once = once}));
  PARLEY_TRY(site.steps_,
             terms.gate->reserve({.once = once, .step = site.noise_.step, .steps = steps}, terms.target.delta));
  return site;
}

Result<void> GatedSite::rank_by(const GreedyScores& scores) {
  if (noise_.noisy_max) return {};
  PARLEY_TRY(const Epsilon epsilon, Epsilon::make(noise_.selection_epsilon));
  PARLEY_TRY(board_, ScoreBoard::open(*gate_, {epsilon, sums_.score_sensitivity(scores)}, sums_.coordinates()));
  return {};
}

Result<std::size_t> GatedSite::select(const GreedyScores& scores) {
  if (board_) {
    PARLEY_TRY(const Released<std::size_t> chosen, board_->select());
    return chosen.value();
  }
  PARLEY_TRY(const Epsilon epsilon, Epsilon::make(noise_.selection_epsilon));
  PARLEY_TRY(const Released<std::size_t> chosen, gate_->release(sums_.scores(scores), ByNoisyMax{epsilon}));
  return chosen.value();
}

Result<double> GatedSite::partial(std::size_t coordinate) {
  if (noise_.laplace) {
    PARLEY_TRY(const Released<double> told,
               gate_->release(sums_.value<L1>(coordinate), LaplaceScale{noise_.value_noise}));
    return told.value() * sums_.contribution(coordinate);
  }
  PARLEY_TRY(const Released<double> told, gate_->release(sums_.value<L2>(coordinate), Deviation{noise_.value_noise}));
  return told.value() * sums_.contribution(coordinate);
}

double GatedSite::largest_weight(const GreedyScores& scores) const {
  double limit = std::numeric_limits<double>::infinity();
  for (std::size_t c = 0; c < scores.smoothness().size(); ++c) {
    const double room = 0.5 * kLargestOffset * sums_.contribution(c) - scores.penalty().l1;
    limit = std::min(limit, room / (scores.penalty().l2 + scores.smoothness()[c]));
  }
  return std::max(limit, 0.0);
}

}  // namespace parley::algorithms
