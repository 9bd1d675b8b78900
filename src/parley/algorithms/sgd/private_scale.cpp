#include "parley/algorithms/sgd/private_scale.h"

#include <cmath>
#include <utility>

#include "parley/privacy/accounting/calibration.h"
#include "parley/privacy/sensitivity/batch_sum.h"

namespace parley::algorithms {

namespace {

using privacy::BinRule;
using privacy::Contributions;
using privacy::Private;

constexpr double kAbove = 0.02;            // share of the records that may be above a number's scale
constexpr double kMostNoise = 0.2;         // of the records, in the sum of all bins of a number
constexpr double kMostNoiseOfRows = 0.25;  // likewise of the rows' norms: half of the records is far from noise
constexpr int kNumberEdges = 21;           // 2^(-k/2): down to 1/1024 of a bound
constexpr int kLabelBins = 32;
constexpr int kRowEdges = 33;  // 2^(-k/4): down to 1/256

std::vector<double> edges_below(double largest, int count, double octave) {
  std::vector<double> edges;
  for (int k = count - 1; k >= 0; --k) edges.push_back(largest * std::exp2(-octave * k));
  return edges;
}

Result<std::optional<Look>> look_at(const PrivateTerms& terms, BinRule rule, double share, double most_noise) {
  rule.neighbours = terms.target.neighbours;
  rule.unit = terms.unit;
  PARLEY_TRY(const double whole_target, privacy::gaussian_noise(terms.target, 1));
  const double sensitivity = privacy::bin_counts_sensitivity(rule);
  Look look{.rule = std::move(rule), .noise = {whole_target / std::sqrt(share) * sensitivity}};
  const double of_all_bins = look.noise.sigma * std::sqrt(static_cast<double>(look.rule.edges.size()));
  if (!(of_all_bins <= most_noise * terms.records())) return std::optional<Look>();
  PARLEY_TRY(look.event, privacy::Gate::gaussian_event(sensitivity, privacy::kOneRecord, look.noise));
  return std::optional(std::move(look));
}

}  // namespace

std::vector<privacy::Event> Looks::events() const {
  std::vector<privacy::Event> all;
  if (numbers) all.push_back(numbers->event);
  if (labels) all.push_back(labels->event);
  if (rows) all.push_back(rows->event);
  return all;
}

Result<Looks> plan_looks(const PrivateTerms& terms, const Wanted& wanted) {
  Looks looks;
  if (wanted.numbers && !terms.numbers.empty()) {
    BinRule rule{.edges = edges_below(1, kNumberEdges, 0.5), .quantities = terms.numbers.size()};
    PARLEY_TRY(looks.numbers, look_at(terms, std::move(rule), kNumbersShare, kMostNoise));
  }
  if (wanted.labels) {
    BinRule rule;
    for (int b = 1; b < kLabelBins; ++b)
      rule.edges.push_back(terms.label_middle + terms.label_reach() * (2.0 * b / kLabelBins - 1));
    PARLEY_TRY(looks.labels, look_at(terms, std::move(rule), kLabelsShare, kMostNoise));
  }
  if (wanted.rows && terms.finds_row_norm) {
    BinRule rule{.edges = edges_below(terms.row_bound, kRowEdges, 0.25)};
    PARLEY_TRY(looks.rows, look_at(terms, std::move(rule), kRowsShare, kMostNoiseOfRows));
  }
  return looks;
}

Result<std::vector<double>> scales_of_numbers(const PrivateTerms& terms, const Look& look) {
  const privacy::GridFeatures& features = *terms.features;
  const std::size_t p = terms.numbers.size();
  Contributions sizes{std::vector<double>(features.rows() * p, 0.0), p};
  for (std::size_t k = 0; k < p; ++k) {
    const std::size_t column = terms.numbers[k];
    const double bound = features.bound(column);
    features.matrix().for_each_in_column(static_cast<linalg::Index>(column), [&](linalg::Index i, double x) {
      sizes.values[static_cast<std::size_t>(i) * p + k] = std::abs(x) / bound;
    });
  }
  PARLEY_TRY(const auto counts, privacy::bin_counts(Private<Contributions>(std::move(sizes)), look.rule));
  PARLEY_TRY(const auto told, terms.gate->release(counts, look.noise));
  const std::vector<double>& edges = look.rule.edges;
  std::vector<double> scales;
  for (std::size_t k = 0; k < p; ++k) {
    const double* bins = told.value().data() + k * (edges.size() + 1);
    // From above, while at most a share of the records is; the bin above the last edge is empty but for rounding.
    std::size_t scale = edges.size() - 1;
    double above = bins[scale + 1];
    while (scale > 0 && above + bins[scale] <= kAbove * terms.records()) above += bins[scale--];
    scales.push_back(edges[scale]);
  }
  return scales;
}

Result<LabelRange> range_of_labels(const PrivateTerms& terms, std::span<const double> labels, const Look& look) {
  Contributions values{{labels.begin(), labels.end()}, 1};
  PARLEY_TRY(const auto counts, privacy::bin_counts(Private<Contributions>(std::move(values)), look.rule));
  PARLEY_TRY(const auto told, terms.gate->release(counts, look.noise));
  const std::vector<double>& bins = told.value();
  const double most = kAbove * terms.records();
  std::size_t first = 0;
  std::size_t last = bins.size() - 1;
  double cut = 0;
  while (last > 0 && cut + bins[last] <= most) cut += bins[last--];
  cut = 0;
  while (first < last && cut + bins[first] <= most) cut += bins[first++];
  const double width = 2 * terms.label_reach() / static_cast<double>(bins.size());
  const double low = terms.label_middle - terms.label_reach() + width * static_cast<double>(first);
  const double reach = 0.5 * width * static_cast<double>(last + 1 - first);
  return LabelRange{low + reach, reach};
}

Result<double> norm_of_rows(const PrivateTerms& terms, const Look& look) {
  Contributions norms{privacy::row_norms_upward(*terms.features, false), 1};
  PARLEY_TRY(const auto counts, privacy::bin_counts(Private<Contributions>(std::move(norms)), look.rule));
  PARLEY_TRY(const auto told, terms.gate->release(counts, look.noise));
  double up_to = 0;
  for (std::size_t b = 0; b < look.rule.edges.size(); ++b) {
    up_to += told.value()[b];
    if (up_to >= 0.5 * terms.records()) return look.rule.edges[b];
  }
  return look.rule.edges.back();
}

}  // namespace parley::algorithms
