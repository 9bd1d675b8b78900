// The current point of Frank-Wolfe and what a step needs to know about it.
//
// Two forms with the same meaning: MarginIterate keeps the margins XW and works for every loss; GramIterate
// keeps X'(Xw), for least squares only.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "parley/algorithms/frank_wolfe/frank_wolfe_settings.h"
#include "parley/algorithms/parts/fit.h"
#include "parley/glm/sets.h"

namespace parley::algorithms {

// F along W + gamma (vertex - W): its slope at 0 and a bound of its second derivative.
struct Segment {
  double slope = 0;
  double curvature = 0;
};

// W = scale * V, so that shrinking W costs one multiplication.
class ScaledWeights {
 public:
  explicit ScaledWeights(std::size_t size) : values_(size) {}

  // How V and the scale changed: V <- fold * V (fold != 1 only when the scale was folded back), then
  // V[coordinate] += added.
  struct Change {
    double fold = 1;
    double added = 0;
  };
  // W <- (1 - gamma) W + gamma * vertex.
  Change move(const glm::Vertex& vertex, double gamma);

  [[nodiscard]] double operator[](std::size_t coordinate) const { return scale_ * values_[coordinate]; }
  [[nodiscard]] double scale() const { return scale_; }
  [[nodiscard]] std::span<const double> unscaled() const { return values_; }
  [[nodiscard]] std::vector<double> values() const;
  [[nodiscard]] double squared_norm() const { return scale_ * scale_ * squared_; }
  // ||vertex - W||^2
  [[nodiscard]] double squared_distance(const glm::Vertex& vertex) const;

 private:
  std::vector<double> values_;
  double scale_ = 1;
  double squared_ = 0;  // ||V||^2
};

class FrankWolfeIterate {
 public:
  virtual ~FrankWolfeIterate() = default;

  virtual double objective() = 0;
  virtual std::span<const double> gradient() = 0;
  virtual double gradient_dot_weights() = 0;
  virtual glm::Vertex steepest(const glm::L1Ball& ball) = 0;
  virtual double gradient_at(std::size_t coordinate) = 0;
  virtual Segment segment(const glm::Vertex& vertex) = 0;
  virtual double line_search(const glm::Vertex& vertex) = 0;  // the best gamma in [0, 1]
  virtual void move(const glm::Vertex& vertex, double gamma) = 0;

  // Goes to another point, for finish() alone.
  virtual void place(ScaledWeights weights) = 0;
  // Weights and intercepts as Fit holds them, and the objective there computed afresh.
  virtual void finish(Fit& fit) = 0;
};

std::unique_ptr<FrankWolfeIterate> margin_iterate(const Problem& problem);
std::unique_ptr<FrankWolfeIterate> gram_iterate(const Problem& problem, const FrankWolfeSettings& settings);

}  // namespace parley::algorithms
