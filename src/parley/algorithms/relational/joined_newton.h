// The objective of a join as Newton's method sees it (algorithms/exact/newton.h), from the tables alone: factorised_newton.h has
// the formulas. Values of rows and slots lie class by class: plane k is [k * length, (k + 1) * length).
#pragma once
#include <span>
#include <vector>

#include "parley/algorithms/exact/newton.h"
#include "parley/algorithms/relational/joined_problem.h"

namespace parley::algorithms {

inline constexpr std::size_t kLargestJoinedHessian = 3000;  // 72 MB

class JoinedNewton : public NewtonProblem {
 public:
  explicit JoinedNewton(const JoinedProblem& problem);

  [[nodiscard]] std::span<const double> penalties() const override { return penalties_; }
  void set_weights(std::span<const double> weights) override;
  void set_line(std::span<const double> step) override { multiply(step, line_); }
  LinePoint look(double t) override;
  void move(double t) override;
  void loss_gradient(std::span<double> gradient) override { multiply_transposed(derivatives_, gradient); }
  void newton_step(std::span<const double> gradient, double forcing, std::span<double> step) override;
  // Every weight is penalised, so the gradient certifies and the last three are not asked.
  double duality_gap(std::span<const double>) override { return 0; }
  [[nodiscard]] bool separated() const override { return false; }
  [[nodiscard]] double line_size() const override { return 0; }

  // At the point of the last look, with the penalties; the lower triangle alone.
  [[nodiscard]] std::vector<double> hessian();

 private:
  struct Block {
    linalg::Matrix features;  // a row for each slot
    JoinedTable rows;
    std::size_t first = 0;      // of its columns among those of all tables
    std::vector<double> dense;  // the features again, slot by slot; empty where that would be large

    [[nodiscard]] std::size_t columns() const { return static_cast<std::size_t>(features.cols()); }
    [[nodiscard]] std::size_t slots() const { return rows.tuples.size(); }
  };
  struct Place {
    std::size_t of_class = 0;
    std::size_t table = 0;
  };

  [[nodiscard]] double rows() const { return static_cast<double>(labels_.size()); }
  [[nodiscard]] std::span<const double> plane(std::span<const double> values, std::size_t k) const {
    return values.subspan(k * labels_.size(), labels_.size());
  }
  void multiply(std::span<const double> weights, std::span<double> out) const;
  void multiply_transposed(std::span<const double> by_row, std::span<double> out) const;
  void find_curvatures();
  [[nodiscard]] std::vector<double> row_weights(std::size_t k, std::size_t l) const;
  [[nodiscard]] bool factored_step(std::span<const double> gradient, std::span<double> step);
  void add_block(Place rows_of, Place columns_of, std::span<const double> weights, std::span<double> hessian);
  static void add_tuple(const Block& block, linalg::Index slot, double weight, std::span<double> sum);
  [[nodiscard]] std::vector<double> weighted_sums(const Block& outer, const Block& inner,
                                                  std::span<const double> weights) const;
  void hessian_product(std::span<const double> v, std::span<double> out) const;
  [[nodiscard]] std::vector<double> diagonal() const;

  glm::Objective objective_;
  std::span<const double> labels_;
  std::size_t classes_;
  std::size_t columns_ = 0;
  std::vector<Block> blocks_;
  std::vector<double> penalties_, margins_, line_, point_, derivatives_, curvatures_;
};

}  // namespace parley::algorithms
