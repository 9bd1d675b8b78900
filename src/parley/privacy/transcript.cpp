#include "parley/privacy/transcript.h"

#include <cstdint>

namespace parley::privacy {

void write_down(double value, Transcript& transcript) {
  transcript.push_back(value);
}

void write_down(std::size_t index, Transcript& transcript) {
  transcript.push_back(static_cast<double>(index));
}

void write_down(const std::vector<double>& values, Transcript& transcript) {
  transcript.insert(transcript.end(), values.begin(), values.end());
}

void write_down(const std::vector<std::size_t>& indices, Transcript& transcript) {
  for (const std::size_t index : indices) write_down(index, transcript);
}

void write_down(const MaskedVector& masked, Transcript& transcript) {
  for (const std::int64_t word : masked.words) {
    transcript.push_back(static_cast<double>(static_cast<std::uint64_t>(word) >> 32));
    transcript.push_back(static_cast<double>(static_cast<std::uint64_t>(word) & 0xffffffff));
  }
}

void read_back(std::span<const double> told, double& value) {
  value = told.front();
}

void read_back(std::span<const double> told, std::size_t& index) {
  index = static_cast<std::size_t>(told.front());
}

void read_back(std::span<const double> told, std::vector<double>& values) {
  values.assign(told.begin(), told.end());
}

void read_back(std::span<const double> told, std::vector<std::size_t>& indices) {
  for (const double number : told) indices.push_back(static_cast<std::size_t>(number));
}

void read_back(std::span<const double> told, MaskedVector& masked) {
  for (std::size_t k = 0; k + 1 < told.size(); k += 2)
    masked.words.push_back(
        static_cast<std::int64_t>(static_cast<std::uint64_t>(told[k]) << 32 | static_cast<std::uint64_t>(told[k + 1])));
}

}  // namespace parley::privacy
