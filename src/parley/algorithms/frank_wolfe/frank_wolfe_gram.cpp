// Frank-Wolfe's point for least squares, without margins. Write F(w) = 1/2 w'Qw - <c, w> + |y|^2/(2n) with
// Q = X'X/n + l2 I and c = X'y/n. With w = s v the step keeps, exactly,
//
//   alpha = Qv     p = v'Qv     q = <c, v>
//
//   grad F = s alpha - c      F = s^2 p/2 - s q + |y|^2/(2n)      <grad F, w> = s^2 p - s q
//   curvature towards rho e_j:  (rho e_j - w)'Q(rho e_j - w) = rho^2 Q_jj - 2 rho s alpha_j + s^2 p
//
// Adding a to v_j:  p += 2 a alpha_j + a^2 Q_jj,  q += a c_j,  alpha += a Q_j. Column Q_j is cached; when the rows of
// column j hold few nonzeros altogether, it is added straight from them the first times and kept by its nonzeros after.
// The next selection adds a cached column in the same pass in which it reads alpha and c.
//
// A free intercept centres columns and labels: Q_jl loses mean_j mean_l. A penalised one adds a column of ones.
#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <utility>

#include "parley/algorithms/frank_wolfe/frank_wolfe_iterate.h"
#include "parley/algorithms/frank_wolfe/frank_wolfe_scan.h"
#include "parley/linalg/gram.h"
#include "parley/linalg/memory.h"
#include "parley/linalg/vectors.h"

namespace parley::algorithms {

namespace {

using glm::Intercept;
using linalg::Index;

constexpr std::size_t kLine = 64;  // bytes
// So many times a Gram column with few nonzeros is added from rows: it pays to make it when it is used several times
// more.
constexpr int kFromRows = 2;
constexpr std::size_t kMostAtOnce = 16;  // Gram columns of one pass

class GramIterate final : public FrankWolfeIterate {
 public:
  GramIterate(const Problem& problem, const FrankWolfeSettings& settings)
      : problem_(problem),
        columns_(static_cast<std::size_t>(problem.features.cols())),
        n_(static_cast<double>(problem.labels.size())),
        constant_(problem.objective.intercept == Intercept::kPenalised),
        free_(problem.objective.intercept == Intercept::kFree),
        cache_left_(settings.gram_cache_bytes),
        weights_(columns_ + (constant_ ? 1 : 0)),
        scanned_(2 * linalg::aligned(weights_.unscaled().size() * sizeof(double), kLine)),
        alpha_(reinterpret_cast<double*>(scanned_.data()), weights_.unscaled().size()),
        correlation_(reinterpret_cast<double*>(scanned_.data() + scanned_.size() / 2), alpha_.size()),
        gradient_(alpha_.size()),
        diagonal_(alpha_.size(), std::numeric_limits<double>::quiet_NaN()),
        chosen_(alpha_.size()),
        sum_(alpha_.size()) {
    std::vector<double> labels(problem.labels.begin(), problem.labels.end());
    if (constant_ || free_) {
      means_.assign(alpha_.size(), 1.0);
      const std::vector<double> share(labels.size(), 1.0 / n_);
      problem.features.multiply_transposed(share, std::span(means_).first(columns_));
      for (const double y : labels) mean_label_ += y / n_;
    }
    if (free_)
      for (double& y : labels) y -= mean_label_;
    label_square_ = linalg::squared_norm(labels) / n_;
    linalg::scale(1.0 / n_, labels);
    problem.features.multiply_transposed(labels, correlation_.first(columns_));
    if (constant_) correlation_[columns_] = mean_label_;
  }

  double objective() override {
    const double s = weights_.scale();
    return 0.5 * (s * (s * square_ - 2.0 * cross_) + label_square_);
  }
  double gradient_dot_weights() override {
    const double s = weights_.scale();
    return s * (s * square_ - cross_);
  }
  double gradient_at(std::size_t j) override {
    settle();
    return weights_.scale() * alpha_[j] - correlation_[j];
  }
  std::span<const double> gradient() override {
    settle();
    const double s = weights_.scale();
    for (std::size_t j = 0; j < gradient_.size(); ++j) gradient_[j] = s * alpha_[j] - correlation_[j];
    return gradient_;
  }
  glm::Vertex steepest(const glm::L1Ball& ball) override {
    const double s = weights_.scale();
    const PackedColumn* const cached = added_ == 0 ? nullptr : cached_column(added_at_);
    if (cached == nullptr) settle();
    const Largest largest = cached == nullptr
                                ? largest_difference(s, alpha_, correlation_)
                                : cached->add_and_find_largest(alpha_, std::exchange(added_, 0.0), s, correlation_);
    return {largest.index, gradient_at(largest.index) > 0 ? -ball.radius : ball.radius};
  }

  Segment segment(const glm::Vertex& vertex) override {
    const double s = weights_.scale();
    const double rho = vertex.value;
    const std::size_t j = vertex.coordinate;
    return {rho * gradient_at(j) - gradient_dot_weights(),
            rho * (rho * diagonal(j) - 2.0 * s * alpha_[j]) + s * s * square_};
  }

  double line_search(const glm::Vertex& vertex) override {
    const Segment along = segment(vertex);
    if (along.slope >= 0) return 0;
    return -along.slope >= along.curvature ? 1.0 : -along.slope / along.curvature;
  }

  void move(const glm::Vertex& vertex, double gamma) override {
    settle();
    const std::size_t j = vertex.coordinate;
    const auto [fold, added] = weights_.move(vertex, gamma);
    if (fold != 1) {
      linalg::scale(fold, alpha_);
      square_ *= fold * fold;
      cross_ *= fold;
    }
    square_ += added * (2.0 * alpha_[j] + added * diagonal(j));
    cross_ += added * correlation_[j];
    added_at_ = j;
    added_ = added;
  }

  void place(ScaledWeights weights) override { weights_ = std::move(weights); }

  void finish(Fit& fit) override {
    split(problem_, weights_.values(), fit);
    if (free_) fit.intercepts = {mean_label_ - linalg::dot(means_, fit.weights)};
    std::vector<double> margins(problem_.labels.size(), fit.intercepts.empty() ? 0.0 : fit.intercepts[0]);
    for (std::size_t j = 0; j < columns_; ++j)
      if (fit.weights[j] != 0) problem_.features.column_axpy(static_cast<Index>(j), fit.weights[j], margins);
    fit.objective = glm::evaluate(problem_.objective, margins, problem_.labels, fit.weights, fit.intercepts);
  }

 private:
  [[nodiscard]] double l2() const { return problem_.objective.l2; }

  double diagonal(std::size_t j) {
    double& known = diagonal_[j];
    if (std::isnan(known)) {
      const double square = j < columns_ ? problem_.features.column_squared_norm(static_cast<Index>(j)) / n_ : 1.0;
      known = square + l2() - (free_ ? means_[j] * means_[j] : 0.0);
    }
    return known;
  }

  const PackedColumn* cached_column(std::size_t j) {
    const auto at = cached_.find(j);
    return at == cached_.end() ? nullptr : &at->second;
  }

  // Makes alpha what it is after the last step.
  void settle() {
    if (added_ == 0) return;
    const std::size_t j = added_at_;
    const double a = std::exchange(added_, 0.0);
    if (const PackedColumn* const cached = cached_column(j); cached != nullptr) return cached->add_to(alpha_, a);
    const bool few = j < columns_ && !free_ && has_few_neighbours(j);
    if (few && (cache_full_ || chosen_[j]++ < kFromRows))
      return for_each_neighbour(j, [&](std::size_t l, double entry) { alpha_[l] += a * entry; });
    if (!few && takes_a_pass(j)) make_likely_columns(j);
    if (const PackedColumn* const cached = cached_column(j); cached != nullptr) return cached->add_to(alpha_, a);
    PackedColumn made = few ? pack(j) : PackedColumn(compute(j));
    made.add_to(alpha_, a);
    keep(j, std::move(made));
  }

  void keep(std::size_t j, PackedColumn made) {
    cache_full_ = made.bytes() > cache_left_;
    if (cache_full_) return;
    cache_left_ -= made.bytes();
    cached_.emplace(j, std::move(made));
  }

  // Q_j needs every row, or nearly so.
  [[nodiscard]] bool takes_a_pass(std::size_t j) const {
    return j < columns_ && 8 * problem_.features.column(static_cast<Index>(j)).count >
                               static_cast<std::size_t>(problem_.features.rows());
  }

  // A pass over the matrix is bound by memory, so that Q_j and the columns that the next steps are likely to choose,
  // those of the largest gradient, cost little more together than Q_j alone. A guess that fails costs only time, and
  // little of it early on.
  void make_likely_columns(std::size_t j) {
    const std::size_t room = cache_left_ / (alpha_.size() * sizeof(double));
    const std::size_t wanted = std::min({std::exchange(batch_, std::min(2 * batch_, kMostAtOnce)), room, columns_});
    if (wanted < 2) return;
    std::vector<double> likely(columns_);
    for (std::size_t l = 0; l < columns_; ++l)
      if (takes_a_pass(l) && !cached_.contains(l)) likely[l] = weights_.scale() * alpha_[l] - correlation_[l];
    likely[j] = std::numeric_limits<double>::infinity();
    const std::vector<Index> chosen = linalg::top_k(likely, wanted);
    std::vector<double> made(wanted * columns_);
    linalg::gram_columns(problem_.features, chosen, made);
    for (std::size_t k = 0; k < wanted; ++k) {
      const auto l = static_cast<std::size_t>(chosen[k]);
      if (likely[l] != 0) keep(l, PackedColumn(finished(l, std::span(made).subspan(k * columns_, columns_))));
    }
  }

  // The rows of column j hold fewer nonzeros than half a Gram column.
  [[nodiscard]] bool has_few_neighbours(std::size_t j) const {
    const linalg::Matrix& x = problem_.features;
    return static_cast<double>(x.column(static_cast<Index>(j)).count) * static_cast<double>(x.nonzeros()) / n_ <=
           0.5 * static_cast<double>(columns_);
  }

  // add(l, e) with entries e that add up to Q_lj.
  template <class Add>
  void for_each_neighbour(std::size_t j, const Add& add) const {
    const linalg::Matrix& x = problem_.features;
    x.for_each_in_column(static_cast<Index>(j), [&](Index i, double value) {
      const double share = value / n_;
      x.for_each_in_row_by_kind(i, [&](Index l, double other) { add(static_cast<std::size_t>(l), share * other); });
    });
    add(j, l2());
    if (constant_) add(columns_, means_[j]);
  }

  PackedColumn pack(std::size_t j) {
    for_each_neighbour(j, [&](std::size_t l, double entry) { sum_.add(l, entry); });
    return sum_.take();
  }

  [[nodiscard]] std::vector<double> compute(std::size_t j) const {
    if (j == columns_) {  // the column of ones
      std::vector<double> made = means_;
      made[j] += l2();
      return made;
    }
    std::vector<double> made(columns_);
    linalg::gram_column(problem_.features, static_cast<Index>(j), made);
    return finished(j, made);
  }

  // Q_j from X'X_j.
  [[nodiscard]] std::vector<double> finished(std::size_t j, std::span<const double> products) const {
    std::vector<double> made(alpha_.size());
    std::copy(products.begin(), products.end(), made.begin());
    linalg::scale(1.0 / n_, made);
    if (constant_) made[columns_] = means_[j];
    if (free_) linalg::axpy(-means_[j], means_, made);
    made[j] += l2();
    return made;
  }

  const Problem& problem_;
  const std::size_t columns_;
  const double n_;
  const bool constant_;
  const bool free_;
  std::size_t cache_left_;
  bool cache_full_ = false;
  std::size_t batch_ = 1;  // Gram columns of the next pass

  ScaledWeights weights_;
  // Selection reads both from end to end: a wide register that is spread over two lines of the cache is read twice.
  linalg::Memory scanned_;
  std::span<double> alpha_;
  std::span<double> correlation_;  // c
  std::vector<double> gradient_;
  std::vector<double> diagonal_;                          // Q_jj where known, else NaN
  std::unordered_map<std::size_t, PackedColumn> cached_;  // Q_j where known
  std::vector<std::uint8_t> chosen_;                      // times that Q_j was added from rows, and a few more
  SparseSum sum_;
  // What the last step added to v and alpha does not have yet: the next selection adds it as it reads alpha anyway.
  std::size_t added_at_ = 0;
  double added_ = 0;
  std::vector<double> means_;  // of the columns; empty without an intercept
  double square_ = 0;          // p
  double cross_ = 0;           // q
  double label_square_ = 0;    // |y|^2/n
  double mean_label_ = 0;
};

}  // namespace

std::unique_ptr<FrankWolfeIterate> gram_iterate(const Problem& problem, const FrankWolfeSettings& settings) {
  return std::make_unique<GramIterate>(problem, settings);
}

}  // namespace parley::algorithms
