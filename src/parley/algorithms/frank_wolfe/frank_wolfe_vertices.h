// How private Frank-Wolfe looks at the data: it draws a vertex through the gate, and is told where the point went.
#pragma once
#include <cstdint>
#include <memory>

#include "parley/algorithms/frank_wolfe/frank_wolfe_iterate.h"
#include "parley/algorithms/frank_wolfe/frank_wolfe_settings.h"
#include "parley/algorithms/parts/fit.h"
#include "parley/core/result.h"
#include "parley/glm/sets.h"
#include "parley/privacy/units.h"

namespace parley::algorithms {

class PrivateVertices {
 public:
  virtual ~PrivateVertices() = default;
  virtual Result<glm::Vertex> select() = 0;
  // W = weights, which changed as `change` says, towards the vertex, in step t.
  virtual Result<void> follow(const ScaledWeights& weights, const ScaledWeights::Change& change, std::size_t coordinate,
                              int t) = 0;
  // The objective as far as it is known without another pass.
  virtual double objective() = 0;
};

// What `steps` selections will cost each; the plan is reserved by then.
struct VertexPlan {
  privacy::Epsilon epsilon;
  std::int64_t steps = 1;
};

// Any loss: derivatives of records, clipped to R (kept_margins.h, privacy/sensitivity/exact_sums.h).
Result<std::unique_ptr<PrivateVertices>> margin_vertices(const Problem& problem, const FrankWolfeSettings& settings,
                                                         const VertexPlan& plan);

// Least squares without an intercept, when no derivative can exceed R (privacy/sensitivity/residual_sums.h): exact at
// every step, at the cost of the nonzeros in the rows of the chosen column.
bool residuals_need_no_clip(const Problem& problem);
Result<std::unique_ptr<PrivateVertices>> residual_vertices(const Problem& problem, const FrankWolfeSettings& settings,
                                                           const VertexPlan& plan);

}  // namespace parley::algorithms
