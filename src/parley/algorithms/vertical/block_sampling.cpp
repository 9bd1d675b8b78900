#include "parley/algorithms/vertical/block_sampling.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "parley/algorithms/parts/check.h"
#include "parley/data/random.h"

namespace parley::algorithms {

namespace {

constexpr std::uint64_t kPurpose = 0x626c6f636b;  // a stream of its own
constexpr double kSumRoom = 1e-9;

Result<void> check_probabilities(const std::vector<double>& probabilities, std::size_t expected) {
  const std::string field = "algorithm.probabilities";
  PARLEY_CHECK(require(probabilities.size() == expected, field, fmt::format("needs {} numbers, one for each", expected),
                       probabilities.size()));
  for (const double p : probabilities) PARLEY_CHECK(require(p >= 0 && p <= 1, field, "must lie between 0 and 1", p));
  const double sum = std::accumulate(probabilities.begin(), probabilities.end(), 0.0);
  return require(std::abs(sum - 1) <= kSumRoom, field, "must sum to 1", sum);
}

}  // namespace

SamplingSettings SamplingSettings::read(Toml& settings) {
  SamplingSettings sampling;
  settings.choice<Sampling>("sampling", sampling.kind,
                            {{"all", Sampling::kAll},
                             {"uniform-serial", Sampling::kUniformSerial},
                             {"tau-nice", Sampling::kTauNice},
                             {"distributed", Sampling::kDistributed},
                             {"stratified", Sampling::kStratified},
                             {"importance", Sampling::kImportance},
                             {"custom", Sampling::kCustom}});
  if (settings.kind("tau") == Toml::Kind::kArray) {
    settings.numbers("tau", sampling.tau);
  } else {
    double tau = 0;
    if (settings.number("tau", tau, at_least(1))) sampling.tau = {tau};
  }
  settings.numbers("probabilities", sampling.probabilities);
  settings.number_lists("sets", sampling.sets);
  return sampling;
}

Result<BlockSampling> BlockSampling::make(const SamplingSettings& settings, std::span<const std::size_t> blocks,
                                          std::uint64_t seed) {
  BlockSampling sampling;
  sampling.kind_ = settings.kind;
  sampling.seed_ = seed;
  sampling.blocks_ = std::accumulate(blocks.begin(), blocks.end(), std::size_t{0});
  for (const std::size_t size : blocks) PARLEY_CHECK(require(size >= 1, "party", "has no column to learn from", size));
  const bool takes_tau = settings.kind == Sampling::kTauNice || settings.kind == Sampling::kDistributed ||
                         settings.kind == Sampling::kStratified;
  const bool takes_sets = settings.kind == Sampling::kCustom;
  const bool takes_probabilities = takes_sets || settings.kind == Sampling::kImportance;
  PARLEY_CHECK(require(takes_tau || settings.tau.empty(), "algorithm.tau",
                       "belongs to the samplings tau-nice, distributed and stratified", settings.tau.size()));
  PARLEY_CHECK(require(takes_probabilities || settings.probabilities.empty(), "algorithm.probabilities",
                       "belong to the samplings importance and custom", settings.probabilities.size()));
  PARLEY_CHECK(require(takes_sets || settings.sets.empty(), "algorithm.sets", "belong to the sampling custom",
                       settings.sets.size()));
  switch (settings.kind) {
    case Sampling::kAll:
      return sampling;
    case Sampling::kUniformSerial:
      sampling.sizes_ = {sampling.blocks_};
      PARLEY_CHECK(sampling.take_tau({1}));
      return sampling;
    case Sampling::kTauNice:
      sampling.sizes_ = {sampling.blocks_};
      PARLEY_CHECK(sampling.take_tau(settings.tau));
      return sampling;
    case Sampling::kDistributed:
      PARLEY_CHECK(require(settings.tau.size() <= 1, "algorithm.tau",
                           "is one number for all parties; sampling = \"stratified\" takes one for each",
                           settings.tau.size()));
      [[fallthrough]];
    case Sampling::kStratified:
      sampling.sizes_.assign(blocks.begin(), blocks.end());
      PARLEY_CHECK(sampling.take_tau(settings.tau));
      return sampling;
    case Sampling::kImportance:
      PARLEY_CHECK(sampling.take_importance(settings.probabilities));
      return sampling;
    case Sampling::kCustom:
      PARLEY_CHECK(sampling.take_sets(settings));
      return sampling;
  }
  return sampling;
}

BlockSampling BlockSampling::in_turn(std::vector<std::vector<std::size_t>> sets, double p_min) {
  BlockSampling sampling;
  sampling.kind_ = Sampling::kCustom;
  sampling.sets_ = std::move(sets);
  for (auto& set : sampling.sets_) std::sort(set.begin(), set.end());
  sampling.p_min_ = sampling.printed_ = p_min;
  sampling.in_turn_ = true;
  return sampling;
}

Result<void> BlockSampling::take_tau(const std::vector<double>& tau) {
  PARLEY_CHECK(require(tau.size() <= 1 || tau.size() == sizes_.size(), "algorithm.tau",
                       fmt::format("is one number, or one for each of the {} parties", sizes_.size()), tau.size()));
  for (std::size_t k = 0; k < sizes_.size(); ++k) {
    const double quarter = std::max(1.0, std::floor(static_cast<double>(sizes_[k]) / 4));
    const double taken = tau.empty() ? quarter : tau.size() == 1 ? tau[0] : tau[k];
    PARLEY_CHECK(require(taken >= 1 && taken == std::floor(taken) && taken <= static_cast<double>(sizes_[k]),
                         "algorithm.tau", fmt::format("must be a whole number from 1 to {}", sizes_[k]), taken));
    tau_.push_back(static_cast<std::size_t>(taken));
    p_min_ = std::min(p_min_, taken / static_cast<double>(sizes_[k]));
  }
  printed_ = p_min_;
  if (kind_ == Sampling::kDistributed) {
    const double share = static_cast<double>(sizes_.size() * tau_[0]) / static_cast<double>(blocks_);
    printed_ = share * share;
  }
  return {};
}

Result<void> BlockSampling::take_importance(const std::vector<double>& probabilities) {
  PARLEY_CHECK(check_probabilities(probabilities, blocks_));
  p_min_ = *std::min_element(probabilities.begin(), probabilities.end());
  printed_ = p_min_;
  PARLEY_CHECK(require(p_min_ > 0, "algorithm.probabilities", "must be above 0, or a block would never move", p_min_));
  cumulated_.resize(blocks_);
  std::partial_sum(probabilities.begin(), probabilities.end(), cumulated_.begin());
  return {};
}

Result<void> BlockSampling::take_sets(const SamplingSettings& settings) {
  PARLEY_CHECK(require(!settings.sets.empty(), "algorithm.sets", "are needed by the sampling custom", 0));
  PARLEY_CHECK(check_probabilities(settings.probabilities, settings.sets.size()));
  for (const std::vector<double>& given : settings.sets) {
    PARLEY_CHECK(require(!given.empty(), "algorithm.sets", "must not be empty", given.size()));
    std::vector<std::size_t>& set = sets_.emplace_back();
    for (const double block : given) {
      PARLEY_CHECK(require(block >= 1 && block == std::floor(block) && block <= static_cast<double>(blocks_),
                           "algorithm.sets", fmt::format("hold blocks, numbered from 1 to {}", blocks_), block));
      set.push_back(static_cast<std::size_t>(block) - 1);
    }
    std::sort(set.begin(), set.end());
    PARLEY_CHECK(require(std::adjacent_find(set.begin(), set.end()) == set.end(), "algorithm.sets",
                         "hold each block once", given.size()));
  }
  cumulated_.resize(sets_.size());
  std::partial_sum(settings.probabilities.begin(), settings.probabilities.end(), cumulated_.begin());
  const std::vector<double> p = inclusion();
  const auto rarest = std::min_element(p.begin(), p.end());
  p_min_ = std::min(1.0, *rarest);
  printed_ = p_min_;
  return require(*rarest > 0, "algorithm.sets", "must reach every block; this one is in none of them",
                 rarest - p.begin() + 1);
}

std::size_t BlockSampling::largest_round() const {
  if (takes_all()) return blocks_;
  if (kind_ == Sampling::kImportance) return 1;
  std::size_t largest = std::accumulate(tau_.begin(), tau_.end(), std::size_t{0});
  for (const auto& set : sets_) largest = std::max(largest, set.size());
  return largest;
}

std::vector<double> BlockSampling::inclusion() const {
  if (kind_ == Sampling::kAll) return std::vector<double>(blocks_, 1.0);
  std::vector<double> p(blocks_, 0.0);
  const auto weight = [&](std::size_t k) { return cumulated_[k] - (k == 0 ? 0 : cumulated_[k - 1]); };
  if (kind_ == Sampling::kImportance) {
    for (std::size_t i = 0; i < blocks_; ++i) p[i] = weight(i);
  } else if (kind_ == Sampling::kCustom) {
    for (std::size_t s = 0; s < sets_.size(); ++s)
      for (const std::size_t block : sets_[s]) p[block] += weight(s);
  } else {
    std::size_t block = 0;
    for (std::size_t k = 0; k < sizes_.size(); ++k)
      for (std::size_t i = 0; i < sizes_[k]; ++i)
        p[block++] = static_cast<double>(tau_[k]) / static_cast<double>(sizes_[k]);
  }
  return p;
}

std::vector<double> BlockSampling::pairs() const {
  const std::vector<double> p = inclusion();
  std::vector<double> pairs(blocks_ * blocks_, kind_ == Sampling::kAll ? 1.0 : 0.0);
  for (std::size_t i = 0; i < blocks_; ++i) pairs[i * blocks_ + i] = p[i];
  if (kind_ == Sampling::kCustom) {
    for (std::size_t s = 0; s < sets_.size(); ++s)
      for (const std::size_t i : sets_[s])
        for (const std::size_t j : sets_[s])
          if (i != j) pairs[i * blocks_ + j] += cumulated_[s] - (s == 0 ? 0 : cumulated_[s - 1]);
    return pairs;
  }
  std::vector<std::size_t> part;  // of each block: what it is sampled from
  for (std::size_t k = 0; k < sizes_.size(); ++k) part.insert(part.end(), sizes_[k], k);
  for (std::size_t i = 0; i < part.size(); ++i)
    for (std::size_t j = 0; j < part.size(); ++j) {
      if (i == j) continue;
      const auto tau = static_cast<double>(tau_[part[i]]), size = static_cast<double>(sizes_[part[i]]);
      pairs[i * blocks_ + j] = part[i] == part[j] ? tau * (tau - 1) / (size * (size - 1)) : p[i] * p[j];
    }
  return pairs;
}

std::vector<std::size_t> BlockSampling::draw(std::int64_t round) const {
  if (in_turn_) return sets_[static_cast<std::size_t>(round) % sets_.size()];
  std::vector<std::size_t> blocks;
  if (kind_ == Sampling::kAll) {
    blocks.resize(blocks_);
    std::iota(blocks.begin(), blocks.end(), std::size_t{0});
    return blocks;
  }
  data::Random random(seed_, kPurpose, static_cast<std::uint64_t>(round));
  if (!cumulated_.empty()) {
    // The last one, also when rounding left the sum below the draw.
    const double at = random.uniform() * cumulated_.back();
    const auto found =
        static_cast<std::size_t>(std::upper_bound(cumulated_.begin(), cumulated_.end() - 1, at) - cumulated_.begin());
    return kind_ == Sampling::kCustom ? sets_[found] : std::vector<std::size_t>{found};
  }
  std::size_t first = 0;
  for (std::size_t k = 0; k < sizes_.size(); ++k) {
    for (const std::uint64_t block : data::distinct_numbers(random, tau_[k], sizes_[k]))
      blocks.push_back(first + static_cast<std::size_t>(block));
    first += sizes_[k];
  }
  return blocks;
}

}  // namespace parley::algorithms
