#include "parley/algorithms/vertical/masked_dealer.h"

#include "parley/algorithms/parts/ring_products.h"

namespace parley::algorithms {

using privacy::Dealt;
using privacy::DealtStream;

MaskedDealer::MaskedDealer(std::string secret, const MaskedNumbers& numbers) : numbers_(numbers) {
  for (std::size_t p = 0; p < numbers.shapes.size(); ++p)
    seeds_.push_back(privacy::dealt_seed(secret, static_cast<int>(p)));
}

template <class Word>
std::string MaskedDealer::cosines_in(std::int64_t index) const {
  const std::size_t n = numbers_.records;
  std::vector<std::uint32_t> delta(n), part(n);
  for (const std::string& seed : seeds_) {
    DealtStream(seed, Dealt::kMargin, index).fill(part);
    for (std::size_t i = 0; i < n; ++i) delta[i] += part[i];
  }
  std::string corrections;
  std::vector<Word> cosines(n), sines(n), share(n);
  const privacy::OddSeries& series = *numbers_.series;
  for (int k = 0; k < series.harmonics(); ++k) {
    for (std::size_t i = 0; i < n; ++i) {
      const auto [cosine, sine] = series.cosine_and_sine(k, delta[i]);
      cosines[i] = static_cast<Word>(cosine);
      sines[i] = static_cast<Word>(sine);
    }
    for (std::size_t p = 0; p + 1 < seeds_.size(); ++p)
      for (const bool of_sine : {false, true}) {
        std::vector<Word>& sum = of_sine ? sines : cosines;
        DealtStream(seeds_[p], Dealt::kCosines, index, 2 * k + (of_sine ? 1 : 0)).fill(share);
        for (std::size_t i = 0; i < n; ++i) sum[i] -= share[i];
      }
    corrections += privacy::packed<Word>(cosines, numbers_.ring_bits);
    corrections += privacy::packed<Word>(sines, numbers_.ring_bits);
  }
  return corrections;
}

std::string MaskedDealer::cosines(std::int64_t index) const {
  return numbers_.ring_bits == 32 ? cosines_in<std::uint32_t>(index) : cosines_in<std::uint64_t>(index);
}

template <class Word>
std::vector<std::uint64_t> MaskedDealer::products_in(std::int64_t indices) const {
  const std::size_t n = numbers_.records, vectors = static_cast<std::size_t>(indices);
  std::vector<std::uint64_t> all;
  for (std::size_t k = 0; k < seeds_.size(); ++k) {
    const auto columns = static_cast<std::size_t>(numbers_.shapes[k].columns);
    std::vector<DealtStream> matrix, residuals;
    for (std::size_t c = 0; c < columns; ++c) matrix.emplace_back(seeds_[k], Dealt::kMatrix, 0, c);
    for (std::size_t t = 0; t < vectors; ++t)
      for (std::size_t j = 0; j < seeds_.size(); ++j)
        if (j != k) residuals.emplace_back(seeds_[j], Dealt::kResidual, static_cast<std::int64_t>(t));
    const std::size_t others = seeds_.size() - 1;
    const std::vector<Word> products =
        ring_products<Word>({.rows = n,
                             .columns = columns,
                             .vectors = vectors,
                             .column = [&](std::size_t c, std::size_t, std::span<Word> out) { matrix[c].fill(out); },
                             .vector =
                                 [&](std::size_t t, std::size_t, std::span<Word> out) {
                                   residuals[t * others].fill(out);
                                   std::vector<Word> more(out.size());
                                   for (std::size_t j = 1; j < others; ++j) {
                                     residuals[t * others + j].fill(more);
                                     for (std::size_t i = 0; i < out.size(); ++i) out[i] += more[i];
                                   }
                                 }});
    all.insert(all.end(), products.begin(), products.end());
  }
  return all;
}

std::vector<std::uint64_t> MaskedDealer::products(std::int64_t indices) const {
  return numbers_.ring_bits == 32 ? products_in<std::uint32_t>(indices) : products_in<std::uint64_t>(indices);
}

std::string MaskedDealer::share(std::int64_t index, std::span<const std::uint64_t> products,
                                std::span<const std::int64_t> noise) const {
  const std::size_t indices = products.size() / numbers_.columns;
  std::vector<std::uint64_t> words(numbers_.columns), share(numbers_.columns);
  for (std::size_t c = 0; c < words.size(); ++c) {
    words[c] = products[c * indices + static_cast<std::size_t>(index)];
    if (!noise.empty()) words[c] += static_cast<std::uint64_t>(noise[c]);
  }
  for (std::size_t p = 0; p + 1 < seeds_.size(); ++p) {
    DealtStream(seeds_[p], Dealt::kProducts, index).fill(share);
    for (std::size_t c = 0; c < words.size(); ++c) words[c] -= share[c];
  }
  return privacy::packed<std::uint64_t>(words, numbers_.ring_bits);
}

}  // namespace parley::algorithms
