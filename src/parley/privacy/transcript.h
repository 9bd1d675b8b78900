// Everything that a gate released, in order, as numbers: what a replay repeats.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "parley/privacy/masking/one_time_mask.h"

namespace parley::privacy {

using Transcript = std::vector<double>;

// An index is one number; a word of a masked vector is two, its upper and its lower half.
void write_down(double value, Transcript& transcript);
void write_down(std::size_t index, Transcript& transcript);
void write_down(const std::vector<double>& values, Transcript& transcript);
void write_down(const std::vector<std::size_t>& indices, Transcript& transcript);
void write_down(const MaskedVector& masked, Transcript& transcript);

void read_back(std::span<const double> told, double& value);
void read_back(std::span<const double> told, std::size_t& index);
void read_back(std::span<const double> told, std::vector<double>& values);
void read_back(std::span<const double> told, std::vector<std::size_t>& indices);
void read_back(std::span<const double> told, MaskedVector& masked);

}  // namespace parley::privacy
