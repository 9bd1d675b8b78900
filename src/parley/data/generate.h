// Makes the synthetic data of a recipe (recipes.h), with the model that made it.
//
// The same recipe and seed give the same bytes on every machine and with any number of threads (packed files: with the
// same version of the packing library).
#pragma once
#include <cstdint>
#include <string>

#include "parley/core/result.h"
#include "parley/data/recipes.h"

namespace parley::data {

std::string kind_of(const Recipe& recipe);
Result<Generated> generate(const Recipe& recipe, std::uint64_t seed, const Destination& destination);

}  // namespace parley::data
