// Whose a column is, and the sets that columns move in (bcfw.h): balls of parties, of groups, one of all columns, or a
// box. Columns are numbered from 0 through all parties, in their order; a party's constant comes after its columns.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "parley/algorithms/vertical/bcfw_settings.h"
#include "parley/algorithms/vertical/block_sampling.h"
#include "parley/core/result.h"
#include "parley/glm/objective.h"
#include "parley/linalg/matrix.h"

namespace parley::algorithms {

class BlockLayout {
 public:
  // Columns that a round takes of one party.
  struct Sampled {
    bool none = true, all = false;
    std::vector<linalg::Index> columns{};  // by the party's own numbers, where they are some
  };

  BlockLayout() = default;
  // `columns`: of each party, its constant included.
  static Result<BlockLayout> make(const glm::Objective& objective, const BcfwSettings& settings,
                                  std::span<const std::size_t> columns);

  [[nodiscard]] std::size_t parties() const { return first_.size() - 1; }
  [[nodiscard]] std::size_t columns() const { return first_.back(); }
  [[nodiscard]] std::size_t begin(std::size_t party) const { return first_[party]; }
  [[nodiscard]] std::size_t end(std::size_t party) const { return first_[party + 1]; }
  [[nodiscard]] std::size_t party_of(std::size_t column) const;

  [[nodiscard]] bool box() const { return balls_.empty(); }
  [[nodiscard]] std::size_t balls() const { return balls_.empty() ? 0 : balls_.size() - 1; }
  [[nodiscard]] std::size_t ball_of(std::size_t column) const;
  [[nodiscard]] std::size_t ball_begin(std::size_t ball) const { return balls_[ball]; }
  [[nodiscard]] std::size_t ball_end(std::size_t ball) const { return balls_[ball + 1]; }
  [[nodiscard]] double radius_of(std::size_t column) const;
  // Own columns of a party that begin another ball than the one before.
  [[nodiscard]] std::vector<linalg::Index> borders_of(std::size_t party) const;

  // How many blocks each party has for a sampling to take.
  [[nodiscard]] std::vector<std::size_t> blocks() const;
  // The columns of a block.
  [[nodiscard]] std::size_t block_begin(std::size_t block) const;
  [[nodiscard]] std::size_t block_end(std::size_t block) const;
  // Whether the sampling never takes a part of a ball.
  [[nodiscard]] bool whole_balls(const BlockSampling& sampling) const;
  [[nodiscard]] Sampled sampled(const BlockSampling& sampling, std::int64_t step, std::size_t party) const;

 private:
  Result<void> lay_out_groups(const std::vector<int>& sizes);

  BcfwSettings::Blocks what_ = BcfwSettings::Blocks::kParties;  // is sampled
  bool global_ = false;
  std::vector<std::size_t> first_ = {0};  // of each party's columns; then their number
  std::vector<std::size_t> balls_{};      // the first column of each ball, then the number of columns; none: a box
  std::vector<double> radii_{};           // of each ball, or of each column of a box; none: radius_
  double radius_ = 0;
};

}  // namespace parley::algorithms
