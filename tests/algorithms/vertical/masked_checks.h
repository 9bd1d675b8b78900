// What the tests of a masked descent hold it against.
#pragma once
#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tests/algorithms/vertical/masked_run.h"

namespace parley::tests {

using algorithms::MaskedNumbers;
using algorithms::MaskedSettings;
using algorithms::PartyFacts;
using algorithms::Problem;
using algorithms::TestSite;

// Private parties, each with a site of its own, whose budgets hold the run.
struct PrivateParties {
  std::vector<std::unique_ptr<TestSite>> sites;
  std::vector<ColumnShare> shares;
  PrivateParties(const MaskedData& data, double epsilon) {
    for (std::size_t p = 0; p < data.features.size(); ++p) {
      const double row_bound = std::sqrt(static_cast<double>(data.features[p].cols()));
      sites.push_back(std::make_unique<TestSite>(
          data.features[p], TestSite::Limits{.epsilon = epsilon, .seed = 11 + p, .row_bound = row_bound}));
      const Problem problem = sites.back()->problem({}, {});
      shares.push_back({problem.features, p == 0 ? data.labels : std::vector<double>(), false, problem.privacy});
    }
  }
  [[nodiscard]] std::vector<PartyFacts> facts(const MaskedSettings& settings) const {
    std::vector<PartyFacts> facts = masked_facts(shares);
    for (PartyFacts& fact : facts) {
      const auto noise = masked_noise(settings, shares[0].privacy->target, settings.iterations);
      const int contributors = static_cast<int>(shares.size()) + 1;
      fact.plan = {privacy::Neighbours::kReplaceOne,
                   {*privacy::Gate::shared_event({(*noise)[0], contributors}),
                    *privacy::Gate::shared_event({(*noise)[1], contributors})}};
      fact.plan.events[1].count = settings.iterations;
    }
    return facts;
  }
};

inline std::int64_t modulo(std::int64_t value, int bits) {
  return privacy::centred(static_cast<std::uint64_t>(value), bits);
}

// X_k' r of every party's columns, from nothing but its features and these numbers.
inline std::vector<std::int64_t> sums_of(const std::vector<MaskedDescent::Memory>& memories,
                                         const std::vector<std::int64_t>& r) {
  std::vector<std::int64_t> sums;
  for (const auto& memory : memories)
    for (std::size_t c = 0; c < memory.columns->columns(); ++c) {
      const auto column = memory.columns->column<std::uint64_t>(c);
      std::int64_t sum = 0;
      for (std::size_t i = 0; i < r.size(); ++i) sum += static_cast<std::int64_t>(column[i]) * r[i];
      sums.push_back(sum);
    }
  return sums;
}

// What a round should open: from the margins that the parties have, the dealer's deltas and the tables.
inline std::vector<std::int64_t> expected_residuals(const MaskedDescent::Iterate& iterate,
                                                    const std::vector<MaskedDescent::Memory>& memories,
                                                    const std::vector<double>& labels) {
  const MaskedNumbers& numbers = *memories[0].numbers;
  const std::size_t n = numbers.records;
  std::vector<std::int64_t> r(n);
  if (iterate.index == 0) {
    for (std::size_t i = 0; i < n; ++i) r[i] = static_cast<std::int64_t>(labels[i] * numbers.labels.factor);
    return r;
  }
  std::vector<std::uint32_t> margin(n), delta(n), part(n);
  for (std::size_t k = 0; k < memories.size(); ++k) {
    const std::span<const double> weights =
        std::span(memories[k].asked).subspan(numbers.first[k], memories[k].columns->columns());
    const auto words = memories[k].columns->margin_words(weights, numbers.margins);
    privacy::DealtStream(privacy::dealt_seed(iterate.secret, static_cast<int>(k)), privacy::Dealt::kMargin,
                         iterate.index)
        .fill(part);
    for (std::size_t i = 0; i < n; ++i) {
      margin[i] += words[i];
      delta[i] += part[i];
    }
  }
  for (std::size_t i = 0; i < n; ++i)
    for (int k = 0; k < numbers.series->harmonics(); ++k) {
      const auto [of_cosine, of_sine] = numbers.series->brackets(k, margin[i] + delta[i]);
      const auto [cosine, sine] = numbers.series->cosine_and_sine(k, delta[i]);
      r[i] += of_cosine * cosine + of_sine * sine;
    }
  return r;
}

// Words that nobody should be able to tell from uniform ones: chi-squared over the highest four bits and over the
// lowest, with a false alarm of 1e-6.
inline bool looks_uniform(const std::vector<std::uint64_t>& words, int bits) {
  for (const int shift : {bits - 4, 0}) {
    std::vector<double> counts(16);
    for (const std::uint64_t word : words) counts[(word >> shift) & 15] += 1;
    const double expected = static_cast<double>(words.size()) / 16;
    double chi = 0;
    for (const double count : counts) chi += (count - expected) * (count - expected) / expected;
    if (chi > 58) return false;  // 15 degrees of freedom
  }
  return true;
}

// No two masks agree in more places than chance explains: with 16 bits and n places, n/65536 are expected.
inline bool all_fresh(const std::vector<std::vector<std::uint64_t>>& masks) {
  for (std::size_t a = 0; a < masks.size(); ++a)
    for (std::size_t b = a + 1; b < masks.size(); ++b) {
      std::size_t same = 0;
      for (std::size_t i = 0; i < std::min(masks[a].size(), masks[b].size()); ++i) same += masks[a][i] == masks[b][i];
      if (same > 8) return false;
    }
  return true;
}

// All columns in one place.
inline linalg::Matrix whole_of(const MaskedData& data) {
  std::vector<double> dense;
  for (const auto& part : data.features)
    for (linalg::Index j = 0; j < part.cols(); ++j)
      for (linalg::Index i = 0; i < part.rows(); ++i) dense.push_back(part.at(i, j));
  const linalg::Index rows = data.features[0].rows();
  return linalg::Matrix::from_dense(rows, static_cast<linalg::Index>(dense.size()) / rows, dense);
}

inline double variance(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return sum / static_cast<double>(values.size());
}

// Of a sample variance of Gaussian numbers; a false alarm of about 1e-6.
inline bool has_variance(const std::vector<double>& values, double expected) {
  return std::abs(variance(values) / expected - 1) < 5 * std::sqrt(2.0 / static_cast<double>(values.size()));
}

inline std::vector<std::uint64_t> words_of(const std::string& bytes, int bits) {
  const auto count = bytes.size() / static_cast<std::size_t>(bits / 8);
  return *privacy::unpacked<std::uint64_t>(bytes, count, bits);
}

}  // namespace parley::tests
