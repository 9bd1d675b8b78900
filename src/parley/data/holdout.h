// Train/test split by seed. Row i goes to the test side when its hash, a function of the seed and i
// alone, is among the smallest round(fraction * n): the same rows on every machine.
//
//   h(seed, i) = mix(mix(seed) + i * 0x9e3779b97f4a7c15),  mix = the finaliser of SplitMix64
//   (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014)
#pragma once
#include <cstdint>
#include <vector>

#include "parley/core/result.h"
#include "parley/data/dataset.h"

namespace parley::data {

struct Holdout {
  std::vector<linalg::Index> train;  // ascending
  std::vector<linalg::Index> test;   // ascending
};

// 0 < fraction < 1 and both sides get at least one row, else an error.
Result<Holdout> hold_out(std::size_t rows, double fraction, std::uint64_t seed);

struct TrainTest {
  Dataset train;
  Dataset test;
};
Result<TrainTest> hold_out(const Dataset& all, double fraction, std::uint64_t seed);

}  // namespace parley::data
