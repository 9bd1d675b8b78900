// Which blocks of a block-coordinate method move in a round. Lou & Cheung, Section III, over blocks 1..D that lie at K
// parties, d_k of them at party k.
//
//   sampling         a round takes                                        p_i = P(i is taken)
//   all              every block                                          1
//   uniform-serial   one block, each as likely                            1 / D
//   tau-nice         tau blocks, each set of tau as likely                tau / D
//   distributed      tau blocks of every party, likewise                  tau / d_k
//   stratified       tau_k blocks of party k, likewise                    tau_k / d_k
//   importance       one block, block i with probability p_i              p_i
//   custom           one of the sets S given, with probability q_S        sum of q_S over the sets that hold i
//
// p_min is the smallest p_i. A method whose step is 2 / (p_min t + 2) is covered by its bound with any p at most p_min;
// what the paper prints for `distributed`, (K tau / D)^2, is not the probability of a block and is one of them.
//
// Rounds draw from streams of their own of the public seed: the same round is the same set, whoever asks.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "parley/core/result.h"
#include "parley/core/toml.h"

namespace parley::algorithms {

enum class Sampling { kAll, kUniformSerial, kTauNice, kDistributed, kStratified, kImportance, kCustom };

struct SamplingSettings {
  Sampling kind = Sampling::kAll;
  std::vector<double> tau;                // one number, or one for each party; empty: a quarter of what is sampled from
  std::vector<double> probabilities;      // of blocks (importance) or sets (custom)
  std::vector<std::vector<double>> sets;  // of blocks, numbered from 1 in the parties' order

  static SamplingSettings read(Toml& settings);
};

class BlockSampling {
 public:
  // `blocks`: how many each party has.
  static Result<BlockSampling> make(const SamplingSettings& settings, std::span<const std::size_t> blocks,
                                    std::uint64_t seed);

  // Sets that are given round by round, from 0, and again from the first: to repeat a run that is written down.
  static BlockSampling in_turn(std::vector<std::vector<std::size_t>> sets, double p_min);

  // Numbered from 0, ascending.
  [[nodiscard]] std::vector<std::size_t> draw(std::int64_t round) const;
  // p_i of every block.
  [[nodiscard]] std::vector<double> inclusion() const;
  // P(i and j are taken) of every pair, row by row: for few blocks.
  [[nodiscard]] std::vector<double> pairs() const;
  [[nodiscard]] Sampling kind() const { return kind_; }
  [[nodiscard]] std::size_t tau() const { return tau_.empty() ? 0 : tau_.front(); }
  [[nodiscard]] double p_min() const { return p_min_; }
  [[nodiscard]] double printed_p_min() const { return printed_; }
  [[nodiscard]] bool takes_all() const { return p_min_ == 1; }
  // The most blocks of a round.
  [[nodiscard]] std::size_t largest_round() const;
  // Whether every pair of blocks is taken as often, whosever they are.
  [[nodiscard]] bool takes_pairs_alike() const { return sizes_.size() == 1; }

 private:
  BlockSampling() = default;
  Result<void> take_tau(const std::vector<double>& tau);
  Result<void> take_importance(const std::vector<double>& probabilities);
  Result<void> take_sets(const SamplingSettings& settings);

  Sampling kind_ = Sampling::kAll;
  std::uint64_t seed_ = 0;
  std::vector<std::size_t> sizes_;  // of what is sampled from: all blocks, or those of each party
  std::vector<std::size_t> tau_;    // of each
  std::vector<double> cumulated_;   // probabilities, summed up
  std::vector<std::vector<std::size_t>> sets_;
  std::size_t blocks_ = 0;
  double p_min_ = 1, printed_ = 1;
  bool in_turn_ = false;
};

}  // namespace parley::algorithms
